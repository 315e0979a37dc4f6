#!/usr/bin/env python3
"""Tests of the program `deepinfer` from outside: exit codes, messages, JSON shapes, files (cli.md).

    cli_test.py PROGRAM SOURCE_DIR [unittest arguments, e.g. BadCheckpoint]

Standard library only. Broken checkpoints are made from tests/golden/model/micro/checkpoint in a scratch folder.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = ""
SOURCE = pathlib.Path()
MODEL = "tests/golden/model/micro/checkpoint"
COMMANDS = ["run", "chat", "logits", "verify kernels", "verify model", "verify tokenizer", "verify encoding", "verify all",
            "tokenize", "detokenize", "render", "parse", "inspect", "doctor", "bench decode", "bench prefill", "bench load",
            "bench kernels", "bench layer", "graph dump", "graph plan", "completion", "env", "help", "version"]
LATER = ["verify primitives", "verify sweep", "bench comm", "graph check", "graph compile", "graph emit-nki",
         "graph cache list", "device-diff", "bisect", "simulate", "convert"]


def clean_environment(extra):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("DEEPINFER_") and k != "NO_COLOR"}
    return {**kept, **extra}


class Done:
    """A finished run."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return f"exit {self.code}\nstdout: {self.out[-1500:]}\nstderr: {self.err[-1500:]}"


def run(*arguments, stdin=b"", env=None, timeout=300):
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, timeout=timeout,
                          env=clean_environment(env or {}), cwd=SOURCE)
    return Done(done.returncode, done.stdout.decode("utf-8", "strict"), done.stderr.decode("utf-8", "strict"))


class Case(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="deepinfer-cli-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)

    def expect(self, done, code, *parts):
        """Exit code, and every part in the message on standard error."""
        self.assertEqual(done.code, code, str(done))
        for part in parts:
            self.assertIn(part, done.err, str(done))
        return done

    def ok(self, done):
        self.assertEqual(done.code, 0, str(done))
        return done


class Help(Case):
    def test_every_command_has_help_with_an_example(self):
        for command in COMMANDS:
            with self.subTest(command):
                done = self.ok(run(*command.split(), "--help"))
                self.assertIn("Usage: deepinfer " + command, done.out)
                self.assertIn("Examples:", done.out)
                self.assertIn("deepinfer " + command, done.out.split("Examples:")[1])
                self.assertEqual(done.err, "")
                self.assertEqual(run("help", *command.split()).code, 0)

    def test_overview_and_groups(self):
        overview = self.ok(run("--help")).out
        for command in COMMANDS:
            self.assertRegex(overview, rf"(?m)^  {command}  ")
        for group in ["verify", "bench", "graph"]:
            self.assertIn(group + " ", self.ok(run(group, "--help")).out)
        self.assertEqual(run().code, 2)

    def test_completion_scripts_name_every_command(self):
        for shell in ["bash", "zsh", "fish"]:
            script = self.ok(run("completion", shell)).out
            for command in COMMANDS:
                for word in command.split():
                    self.assertIn(word, script)
            self.assertIn("max-tokens", script)
        self.assertEqual(subprocess.run(["bash", "-n"], input=run("completion", "bash").out.encode()).returncode, 0)
        self.expect(run("completion", "tcsh"), 2, "tcsh", "bash, zsh, fish")

    def test_version(self):
        self.assertRegex(self.ok(run("--version")).out, r"^deepinfer \d+\.\d+\.\d+")
        self.assertIn("scalar", self.ok(run("version", "--json")).json()["isa"])


class Usage(Case):
    def test_unknown_commands(self):
        self.expect(run("logit"), 2, '"logit"', "logits")
        self.expect(run("verify"), 2, "kernels", "model")
        self.expect(run("verify", "kernel"), 2, '"kernel"', "kernels")

    def test_later_commands_say_so(self):
        for command in LATER:
            with self.subTest(command):
                self.expect(run(*command.split()), 2, "not part of this build yet", "logits")

    def test_later_flags_and_values_say_so(self):
        for words in [["run", "--prompt", "x", "--grammar", "f"], ["run", "--prompt", "x", "--json-schema", "f"],
                      ["run", "--prompt", "x", "--record", "d"], ["graph", "dump", "--region", "r"]]:
            with self.subTest(words):
                self.expect(run(*words), 2, words[-2], "not part of this build yet", "options:")
        base = ["logits", "--token-ids", "1"]
        for flag, value, accepted in [("--backend", "trn2", "host"), ("--backend", "pjrt", "host"), ("--backend", "nrt", "host"),
                                      ("--graph-mode", "regions", "eager, graph"), ("--numerics", "deepinfer", "official"),
                                      ("--profile", "trn2", "ocp448"), ("--ep", "2", "accepted: 1")]:
            with self.subTest(flag + value):
                self.expect(run(*base, flag, value), 2, flag, value, "not part of this build yet", accepted)
        self.expect(run("graph", "dump", "--format", "stablehlo"), 2, "stablehlo", "text, json, dot")

    def test_unknown_flags_and_values(self):
        self.expect(run("run", "--promt", "x"), 2, "--promt", "near: --prompt", "--max-tokens")
        self.expect(run("run", "--prompt", "x", "y"), 2, '"y"')
        self.expect(run("run", "--prompt"), 2, "--prompt")
        for flag, value, accepted in [("--max-tokens", "0", "1 to 393216"), ("--max-tokens", "x", "1 to 393216"),
                                      ("--temperature", "2.5", "0 to 2"), ("--temperature", "nan", "0 to 2"),
                                      ("--top-p", "0", "to 1"), ("--min-p", "-1", "0 to 1"), ("--seed", "-3", "0 to"),
                                      ("--drafts", "many", "0 to 64"), ("--thinking", "maybe", "on, off"),
                                      ("--effort", "101", "1 to 100"), ("--threads", "-1", "0 to 1024"),
                                      ("--isa", "mmx", "scalar, avx2, avx512"), ("--log-level", "loud", "trace, debug"),
                                      ("--set", "index_scores=fp8", "official, fp32"), ("--set", "speed=1", "index_scores"),
                                      ("--set", "draw", "KEY=VALUE"), ("--set", "draw=dice", "gumbel, cdf")]:
            with self.subTest(f"{flag} {value}"):
                self.expect(run("run", "--prompt", "x", flag, value), 2, flag, accepted)
        self.expect(run("logits", "--token-ids", "1,x"), 2, "--token-ids", '"x"')

    def test_combinations(self):
        self.expect(run("run"), 2, "--prompt", "--token-ids")
        self.expect(run("run", "--prompt", "x", "--token-ids", "1"), 2, "exactly one")
        self.expect(run("run", "--raw", "--prompt", "x", "--thinking", "on"), 2, "--thinking")
        self.expect(run("logits"), 2, "--token-ids")
        self.expect(run("logits", "--token-ids", "1", "--capture", "embed"), 2, "--out")

    def test_environment(self):
        self.expect(run("version", env={"DEEPINFER_NEURON_GRAPHMODE": "off"}), 2, "DEEPINFER_NEURON_GRAPHMODE",
                    "DEEPINFER_NEURON_GRAPH_MODE")
        done = run("version", env={"DEEPINFER_COLOUR": "1"})
        self.assertEqual((done.code, done.err.count("DEEPINFER_COLOUR")), (0, 1), str(done))
        base = ["logits", "--token-ids", "1"]
        for name, value, accepted in [("CPU_ISA", "mmx", "scalar, avx2"), ("USE_NEXTN_DECODE", "65", "0 .. 64"),
                                      ("ENFORCE_EAGER", "maybe", "0, 1"), ("NEURON_GRAPH_MODE", "some", "off, whole, regions"),
                                      ("NEURON_GRAPH_MODE", "regions", "not part of this build yet"),
                                      ("ACCELERATOR", "neuron", "not part of this build yet")]:
            with self.subTest(name):
                self.expect(run(*base, env={"DEEPINFER_" + name: value}), 2, "DEEPINFER_" + name, value, accepted)

    def test_precedence_of_flag_environment_and_file(self):
        config = self.scratch / "c.json"
        config.write_text('{"isa": "avx2", "log_level": "error"}')

        def origins(*words, env=None):
            table = self.ok(run("env", "--json", *words, env=env)).json()
            return [(table["DEEPINFER_" + n]["value"], table["DEEPINFER_" + n]["origin"]) for n in ["CPU_ISA", "MODEL"]]

        self.assertEqual(origins(), [("", "default"), ("", "default")])
        self.assertEqual(origins("--config", config), [("avx2", "file"), ("", "default")])
        self.assertEqual(origins("--config", config, env={"DEEPINFER_CPU_ISA": "avx512"})[0], ("avx512", "environment"))
        self.assertEqual(origins("--config", config, "--isa", "scalar", env={"DEEPINFER_CPU_ISA": "avx512"})[0],
                         ("scalar", "flag"))
        self.assertEqual(origins(env={"DEEPINFER_MODEL": "x"})[1], ("x", "environment"))

    def test_configuration_file(self):
        config = self.scratch / "c.json"
        config.write_text('{"max_tokens": 3, "temperatur": 0}')
        self.expect(run("run", "--prompt", "x", "--config", config), 2, "temperatur", "temperature")
        config.write_text('{"max_tokens": "many"}')
        self.expect(run("run", "--prompt", "x", "--config", config), 2, "--max-tokens", "--config", "many")
        config.write_text("[1]")
        self.expect(run("run", "--prompt", "x", "--config", config), 3, str(config), "object")
        config.write_text("{")
        self.expect(run("run", "--prompt", "x", "--config", config), 3, str(config))
        self.expect(run("run", "--prompt", "x", "--config", self.scratch / "none.json"), 3, "none.json")
        config.write_text(json.dumps({"max-tokens": 3, "greedy": True, "json": True, "set": {"prefill_tail": "full"}}))
        self.assertEqual(self.ok(run("run", "--prompt", "Hello", "--config", config)).json()["usage"]["completion_tokens"], 3)

    def test_env_lists_every_variable_with_its_meaning(self):
        table = self.ok(run("env", "--json")).json()
        rows = re.findall(r'DI_ENV\("([A-Z0-9_]+)"', (SOURCE / "src/base/environ.def").read_text())
        self.assertEqual(["DEEPINFER_" + row for row in rows], list(table))
        for name, row in table.items():
            self.assertEqual(set(row), {"value", "origin", "default", "accepted", "meaning"})
            self.assertTrue(row["meaning"], name)
        text = self.ok(run("env")).out
        self.assertEqual(len(text.splitlines()), len(rows) + 1)


class Checkpoint:
    """An editable copy of a checkpoint folder."""

    def __init__(self, folder):
        self.dir = folder / "model"
        shutil.copytree(SOURCE / MODEL, self.dir)

    def shard(self, number=1):
        return self.dir / f"model-0000{number}-of-00003.safetensors"

    def read(self, number=1):
        data = self.shard(number).read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        return json.loads(data[8:8 + size]), data[8 + size:]

    def write(self, header, data, number=1):
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        self.shard(number).write_bytes(struct.pack("<Q", len(text)) + text + data)

    def edit(self, change, number=1):
        header, data = self.read(number)
        data = change(header, bytearray(data)) or data
        self.write(header, bytes(data), number)

    def index(self, change):
        path = self.dir / "model.safetensors.index.json"
        index = json.loads(path.read_text())
        change(index)
        path.write_text(json.dumps(index))

    def config(self, change):
        path = self.dir / "config.json"
        config = json.loads(path.read_text())
        change(config)
        path.write_text(json.dumps(config))


class BadCheckpoint(Case):
    """Every broken checkpoint: exit 3, the message names the thing, nothing is written."""
    TENSOR = "layers.0.attn.wq_a.weight"
    SCALE = "layers.0.attn.wq_a.scale"

    def setUp(self):
        super().setUp()
        self.model = Checkpoint(self.scratch)

    def refused(self, *parts):
        out = self.scratch / "out.safetensors"
        for command in (["logits", "--token-ids", "1,2,3", "--out", out], ["run", "--raw", "--prompt", "a"], ["inspect"]):
            done = self.expect(run(*command, "--model", self.model.dir), 3, *map(str, parts))
            self.assertEqual(done.out, "")
        self.assertEqual([p.name for p in self.scratch.iterdir()], ["model"])

    def test_the_copy_itself_is_fine(self):
        out = self.scratch / "out.safetensors"
        self.ok(run("logits", "--token-ids", "1,2,3", "--model", self.model.dir, "--out", out))
        self.assertTrue(out.exists())
        header, data = self.model.read()
        self.model.write(header, data)
        self.ok(run("inspect", "--model", self.model.dir))

    def test_truncated_by_one_byte(self):
        data = self.model.shard().read_bytes()
        self.model.shard().write_bytes(data[:-1])
        self.refused(self.model.shard().name)

    def test_truncated_in_the_middle_of_a_tensor(self):
        header, data = self.model.read()
        begin, end = header[self.TENSOR]["data_offsets"]
        whole = self.model.shard().read_bytes()
        self.model.shard().write_bytes(whole[:len(whole) - len(data) + (begin + end) // 2])
        self.refused(self.model.shard().name)

    def test_one_byte_too_many(self):
        with open(self.model.shard(), "ab") as file:
            file.write(b"\0")
        self.refused(self.model.shard().name)

    def test_empty_file(self):
        self.model.shard().write_bytes(b"")
        self.refused(self.model.shard().name)

    def test_header_length_beyond_the_file(self):
        data = bytearray(self.model.shard().read_bytes())
        data[:8] = struct.pack("<Q", len(data) + 1)
        self.model.shard().write_bytes(data)
        self.refused(self.model.shard().name, len(data) + 1)

    def test_header_length_of_64_bits(self):
        data = bytearray(self.model.shard().read_bytes())
        data[:8] = b"\xff" * 8
        self.model.shard().write_bytes(data)
        self.refused(self.model.shard().name)

    def test_header_is_no_json(self):
        data = bytearray(self.model.shard().read_bytes())
        data[8:9] = b"["
        self.model.shard().write_bytes(data)
        self.refused(self.model.shard().name)

    def test_overlapping_offsets(self):
        def change(header, data):
            begin, end = header[self.TENSOR]["data_offsets"]
            header[self.TENSOR]["data_offsets"] = [begin - 8, end - 8]
        self.model.edit(change)
        self.refused(self.model.shard().name, self.TENSOR)

    def test_offsets_out_of_range(self):
        def change(header, data):
            begin, end = header[self.TENSOR]["data_offsets"]
            header[self.TENSOR]["data_offsets"] = [begin + 2**40, end + 2**40]
        self.model.edit(change)
        self.refused(self.model.shard().name, self.TENSOR)

    def test_unknown_dtype(self):
        self.model.edit(lambda h, d: h[self.TENSOR].update(dtype="F7"))
        self.refused(self.TENSOR, "F7")

    def test_wrong_dtype(self):
        self.model.edit(lambda h, d: h[self.TENSOR].update(dtype="I8"))
        self.refused(self.TENSOR, "I8")

    def test_wrong_shape(self):
        def change(header, data):
            rows, columns = header[self.TENSOR]["shape"]
            header[self.TENSOR]["shape"] = [rows * 2, columns // 2]
        self.model.edit(change)
        self.refused(self.TENSOR)

    def test_missing_tensor(self):
        def change(header, data):
            header["layers.0.attn.renamed.weight"] = header.pop(self.TENSOR)
        self.model.edit(change)
        self.model.index(lambda i: i["weight_map"].update({"layers.0.attn.renamed.weight": i["weight_map"].pop(self.TENSOR)}))
        self.refused(self.TENSOR, "layers.0.attn.renamed.weight")

    def test_extra_tensor(self):
        def change(header, data):
            header["layers.0.attn.surplus"] = {"dtype": "F32", "shape": [1], "data_offsets": [len(data), len(data) + 4]}
            return data + b"\0\0\0\0"
        self.model.edit(change)
        self.model.index(lambda i: i["weight_map"].update({"layers.0.attn.surplus": self.model.shard().name}))
        self.refused("layers.0.attn.surplus")

    def test_nan_scale(self):
        def change(header, data):
            data[header[self.SCALE]["data_offsets"][0]] = 255
            return data
        self.model.edit(change)
        self.refused(self.SCALE, "NaN")

    def test_missing_shard(self):
        self.model.shard(2).unlink()
        self.refused(self.model.shard(2).name)

    def test_missing_folder_and_tokenizer(self):
        self.expect(run("inspect", "--model", self.scratch / "nowhere"), 3, "nowhere")
        (self.model.dir / "tokenizer.json").unlink()
        self.expect(run("run", "--prompt", "a", "--model", self.model.dir), 3, "tokenizer.json")

    def test_config_contradictions(self):
        def heads(config):
            config["text_config"]["num_attention_heads"] = 3
        self.model.config(heads)
        self.refused("num_attention_heads", "3")

    def test_config_forms_that_disagree(self):
        path = self.model.dir / "inference/config.json"
        flat = json.loads(path.read_text())
        key = next(k for k in ("vocab_size", "dim", "n_layers") if k in flat)
        flat[key] += 1
        path.write_text(json.dumps(flat))
        self.refused(str(flat[key]), str(flat[key] - 1))

    def test_config_is_no_json(self):
        (self.model.dir / "config.json").write_text("{")
        self.refused("config.json")

    def test_config_lacks_a_key(self):
        self.model.config(lambda c: c["text_config"].pop("index_topk"))
        self.refused("index_topk")

    def test_doctor_names_the_damage(self):
        data = self.model.shard().read_bytes()
        self.model.shard().write_bytes(data[:-1])
        done = run("doctor", "--model", self.model.dir)
        self.assertEqual(done.code, 3, str(done))
        self.assertIn("does not fit", done.out)
        self.assertIn(self.model.shard().name, done.out)


class BadInput(Case):
    """Bad requests, texts and ids: exit 3, nothing on standard output, no file."""

    def refused(self, words, *parts, stdin=b""):
        out = self.scratch / "out.safetensors"
        words = words + (["--out", out] if words[0] == "logits" else [])
        done = self.expect(run(*words, stdin=stdin), 3, *map(str, parts))
        self.assertEqual(done.out, "")
        self.assertFalse(out.exists())
        self.assertEqual(list(self.scratch.glob("*.tmp*")), [])

    def file(self, name, content):
        path = self.scratch / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    def test_token_ids_out_of_range(self):
        self.refused(["logits", "--token-ids", "1,2,2048"], "2048", "position 2", "0 .. 2047")
        self.refused(["logits", "--token-ids=-1,2"], "-1", "position 0")
        self.refused(["run", "--token-ids", "5,9999"], "9999", "position 1", "0 .. 2047")
        self.refused(["logits", "--token-ids-file", self.file("i.json", [1, 2, 70000])], "70000", "position 2", "i.json")
        self.refused(["logits", "--token-ids-file", self.file("i.json", [1, "2"])], '"2"', "entry 1")
        self.refused(["logits", "--token-ids-file", self.file("i.json", {"ids": [1]})], "object", "i.json")
        self.refused(["logits", "--token-ids-file", self.file("i.json", [])], "i.json")
        self.refused(["logits", "--token-ids", "1", "--batch-with", self.file("b.json", [[1], [4096]])], "b.json list 1", "4096")

    def test_prompt_longer_than_the_context(self):
        model = ["--model", MODEL]
        ids = self.file("long.json", [1] * 4097)
        self.refused(["logits", "--token-ids-file", ids, *model], "4097", "4096")
        self.refused(["run", "--token-ids", ",".join(["1"] * 4097), *model], "4097", "4096")
        self.refused(["run", "--token-ids", "1,2", "--max-tokens", "4095", *model], "2", "4095", "4096")

    def test_invalid_utf8(self):
        self.refused(["run", "--prompt-file", self.file("p.txt", b"abc\xff")], "p.txt", "UTF-8", "byte 3")
        self.refused(["run", "--prompt-file", "-"], "UTF-8", "byte 1", stdin=b"a\xc0\x80")
        self.refused(["tokenize"], "line 1", "UTF-8", stdin=b'{"text": "a\xff"}\n')
        self.refused(["run", "--messages", self.file("m.json", b'[{"role": "user", "content": "\xed\xa0\x80"}]')], "m.json")

    def test_empty_prompt(self):
        self.refused(["run", "--raw", "--prompt", ""], "empty")

    def test_missing_files(self):
        for words in (["run", "--prompt-file"], ["run", "--messages"], ["logits", "--token-ids-file"], ["tokenize"],
                      ["run", "--prompt", "x", "--tools"], ["graph", "dump", "--graph"], ["verify", "model"]):
            with self.subTest(words):
                self.refused(words + [self.scratch / "none.json"], "none.json")

    def test_unknown_fields(self):
        request = {"messages": [{"role": "user", "content": "Hi"}], "temprature": 0.25}
        self.refused(["run", "--messages", self.file("r.json", request)], "temprature", "0.25", "temperature")
        self.refused(["render"], "line 1", "temprature", "0.25", "temperature", stdin=json.dumps(request).encode())
        self.refused(["tokenize"], '"txt"', "text", stdin=b'{"txt": "a"}')
        self.refused(["detokenize"], '"id"', "ids", stdin=b'{"id": [1]}')

    def test_bad_requests(self):
        user = {"role": "user", "content": "Hi"}
        for request, parts in [({"messages": []}, ["messages"]), ({"messages": [{"role": "judge", "content": "x"}]}, ["judge"]),
                               ({"messages": [user], "temperature": 3}, ["temperature", "3"]),
                               ({"messages": [user], "top_p": 0}, ["top_p"]), ({"messages": [user], "stop": [""]}, ["stop"]),
                               ({"messages": [user], "reasoning_effort": "huge"}, ["huge"]),
                               ({"messages": [user], "n": 2}, ["2"]),
                               ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {
                                   "url": "https://example.org/a.png"}}]}]}, ["image"]),
                               ({"messages": [{"role": "user", "content": "json"}],
                                 "response_format": {"type": "json_object"}}, ["response_format", "grammar"])]:
            with self.subTest(request):
                self.refused(["run", "--messages", self.file("r.json", request)], *parts)
        self.refused(["run", "--messages", self.file("r.json", b'[{"role"')], "r.json")

    def test_bad_lines_name_their_number(self):
        done = run("tokenize", stdin=b'{"text": "a"}\n\n{"text": 1}\n')
        self.expect(done, 3, "line 3", "number")
        self.assertEqual(len(done.out.splitlines()), 1)
        self.refused(["parse"], "line 1", stdin=b'{"text": "a", "stage": "middle"}')
        self.refused(["detokenize"], "5000", stdin=b'{"ids": [5000]}')

    def test_unknown_capture_name(self):
        done = run("logits", "--token-ids", "1,2", "--capture", "layers.0.attn.wq_aa", "--out", self.scratch / "o")
        self.expect(done, 2, "layers.0.attn.wq_aa", "near:", "layers.0.attn.wq_a")
        self.assertFalse((self.scratch / "o").exists())

    def test_graph_text(self):
        self.refused(["graph", "plan", "--graph", self.file("g.txt", b"graph \"x\" target=any {\n  %0 = nonsense\n")], "g.txt:2")

    def test_folder_that_cannot_be_written(self):
        self.expect(run("logits", "--token-ids", "1", "--out", self.scratch / "no/such/file"), 4, "no/such/file")

    def test_instruction_set_that_is_missing(self):
        usable = self.ok(run("version", "--json")).json()["isa"]
        for name in {"avx2", "avx512"} - set(usable):
            self.expect(run("logits", "--token-ids", "1", "--isa", name), 4, name)


class Outputs(Case):
    def test_logits_file_and_modes(self):
        files = []
        for extra in ([], ["--chunk", "2"], ["--decode-from", "1"], ["--graph-mode", "eager", "--isa", "scalar", "--threads", "1"]):
            path = self.scratch / f"{len(files)}.safetensors"
            self.ok(run("logits", "--token-ids", "0,5,9,33,7", "--out", path, *extra))
            files.append(path.read_bytes())
        neighbours = self.scratch / "n.json"
        neighbours.write_text("[[1,2,3,4,5,6,7,8], [9]]")
        path = self.scratch / "batch.safetensors"
        self.ok(run("logits", "--token-ids", "0,5,9,33,7", "--decode-from", "2", "--batch-with", neighbours, "--out", path))
        files.append(path.read_bytes())
        self.assertEqual(len(set(files)), 1)
        (size,) = struct.unpack("<Q", files[0][:8])
        header = json.loads(files[0][8:8 + size])
        self.assertEqual(header["logits"]["dtype"], "F32")
        self.assertEqual(header["logits"]["shape"], [5, 2048])

    def test_logits_json(self):
        found = self.ok(run("logits", "--token-ids", "0,5,9", "--json")).json()
        self.assertEqual((found["positions"], found["vocab_size"], len(found["top"])), (3, 2048, 3))
        self.assertRegex(found["sha256"], "^[0-9a-f]{64}$")

    def test_capture_is_the_same_for_chunks_and_decode(self):
        def tensors(*extra):
            path = self.scratch / "c.safetensors"
            self.ok(run("logits", "--token-ids", "0,5,9,33", "--capture", "layers.0.attn.wq_a,layers.1.ffn.*", "--out", path, *extra))
            data = path.read_bytes()
            (size,) = struct.unpack("<Q", data[:8])
            header = json.loads(data[8:8 + size])
            at = 8 + size
            return {k: data[at + v["data_offsets"][0]:at + v["data_offsets"][1]] for k, v in header.items() if "step" not in k}
        whole, decoded = tensors(), tensors("--decode-from", "2")
        self.assertGreater(len(whole), 3)
        for name in ("logits", "layers.0.attn.wq_a"):
            self.assertEqual(whole[name], decoded[name], name)

    def test_files_replace_whole(self):
        path = self.scratch / "l.safetensors"
        path.write_text("old")
        self.expect(run("logits", "--token-ids", "99999", "--out", path), 3)
        self.assertEqual(path.read_text(), "old")
        self.ok(run("logits", "--token-ids", "1", "--out", path))
        self.assertNotEqual(path.read_bytes(), b"old")
        self.assertEqual([p.name for p in self.scratch.iterdir()], ["l.safetensors"])

    def test_full_disk_is_a_failure(self):
        for words in (["run", "--prompt", "Hello", "--greedy"], ["version"], ["graph", "dump"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, env=clean_environment({}))
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(b"standard output", done.stderr)

    def test_output_through_links_and_pipes(self):
        link, pipe = self.scratch / "link", self.scratch / "pipe"
        link.symlink_to("target")
        os.mkfifo(pipe)
        self.ok(run("logits", "--token-ids", "1,2", "--out", link))
        self.assertTrue(link.is_symlink() and (self.scratch / "target").is_file())
        reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self.ok(run("logits", "--token-ids", "1,2", "--out", pipe))
        self.assertTrue(pipe.is_fifo())
        self.assertEqual(os.read(reader, 1 << 20), (self.scratch / "target").read_bytes())
        os.write(reader, b"Hello")
        os.close(reader)

    def test_prompt_from_a_pipe(self):
        pipe = self.scratch / "prompt"
        os.mkfifo(pipe)
        words = ["run", "--max-tokens", "2", "--greedy"]
        with subprocess.Popen([PROGRAM, *words, "--prompt-file", pipe], stdout=subprocess.PIPE, env=clean_environment({})) as p:
            pipe.write_text("Hello")
            piped = p.communicate()[0].decode()
        self.assertEqual(piped, self.ok(run(*words, "--prompt", "Hello")).out)

    def test_standard_streams_that_are_closed_or_folders(self):
        def start(redirection, *words):
            done = subprocess.run(["sh", "-c", f'exec "$0" "$@" {redirection}', PROGRAM, *map(str, words)],
                                  capture_output=True, env=clean_environment({}))
            return done.returncode
        self.assertEqual(start("<&-", "tokenize"), 3)
        self.assertEqual(start("</tmp", "tokenize"), 3)
        self.assertEqual(start("</tmp", "run", "--prompt-file", "-"), 3)
        self.assertEqual(start(">&-", "run", "--prompt", "Hello", "--max-tokens", "2"), 1)
        path = self.scratch / "l.safetensors"
        self.assertEqual(start("<&- >&- 2>&-", "logits", "--token-ids", "1,2", "--out", path), 1)
        size = struct.unpack("<Q", path.read_bytes()[:8])[0]
        self.assertEqual(path.stat().st_size, 8 + size + 2 * 4 * 2048)

    def test_file_that_shrinks_in_use(self):
        folder = self.scratch / "model"
        shutil.copytree(SOURCE / "models/tiny-chat", folder)
        with subprocess.Popen([PROGRAM, "run", "--model", folder, "--raw", "--prompt", "The", "--max-tokens", "60000", "--temperature",
                               "2", "--seed", "3"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment({})) as p:
            p.stdout.read(1)  # generation runs
            os.truncate(folder / "model-00001-of-00002.safetensors", 100000)
            err = p.communicate()[1].decode()
        self.assertEqual(p.returncode, 3, err)
        self.assertIn("became shorter", err)

    def test_generation_config_is_checked(self):
        folder = self.scratch / "model"
        shutil.copytree(SOURCE / "models/tiny-chat", folder)
        file = folder / "generation_config.json"
        words = ["run", "--model", folder, "--prompt", "Hello", "--max-tokens", "2"]
        for text in ("[]", "{", '{"temperature": "x"}', '{"temperature": 3}', '{"top_k": 1e300}', '{"top_p": 0}'):
            file.write_text(text)
            self.expect(run(*words), 3)
        file.unlink()
        os.mkfifo(file)
        self.expect(run(*words, timeout=20), 3, "not a regular file")

    def test_texts_and_values_that_are_refused(self):
        words = ["run", "--prompt", "Hello", "--max-tokens", "2"]
        for extra in (["--stop", ""], ["--stop", "\udcff"], ["--stop", "x" * 1025], ["--set", "index_scores=zzz"]):
            self.expect(run(*words, *extra), 2, extra[0])
        self.expect(run(*words, "--system", "\udcff"), 3, "--system")
        self.expect(run("logits", "--token-ids", "1,2", "--decode-from", "3"), 2, "--decode-from 3")
        config = self.scratch / "c.json"
        for text in ('{"model": {"a": 1}}', '{"threads": []}'):
            config.write_text(text)
            self.expect(run(*words, "--config", config), 2, "one value")
        self.expect(run("parse", stdin=b'{"text": "a", "zz": 1}'), 3, "zz")
        self.expect(run("parse", stdin=b'{"text": "a", "chunks": ["a"]}'), 3, "chunks")

    def test_no_escape_codes_in_pipes(self):
        for words in (["doctor"], ["version"], ["env"], ["inspect"], ["run", "--prompt", "Hello", "--greedy"], ["graph", "plan"]):
            done = self.ok(run(*words, env={"TERM": "xterm-256color"}))
            self.assertNotIn("\033", done.out + done.err, words)
            self.assertEqual(done.err, "", words)

    def test_tokenize_round_trip(self):
        texts = ["Hello world", "ä€😀 </think>", ""]
        lines = "".join(json.dumps({"text": t}) + "\n" for t in texts).encode()
        ids = self.ok(run("tokenize", stdin=lines)).out
        back = self.ok(run("detokenize", stdin=ids.encode())).out
        self.assertEqual([json.loads(line)["text"] for line in back.splitlines()], texts)
        parsed = self.ok(run("tokenize", "--special", "parse", stdin=b'{"text": "a</think>"}')).json()["ids"]
        plain = self.ok(run("tokenize", stdin=b'{"text": "a</think>"}')).json()["ids"]
        self.assertLess(len(parsed), len(plain))

    def test_render_and_parse(self):
        line = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "thinking": {"type": "disabled"}}).encode()
        rendered = self.ok(run("render", stdin=line)).json()
        self.assertTrue(rendered["prompt"].endswith("<｜User｜>Hi<｜Assistant｜></think>"))
        self.assertTrue(rendered["ids"])
        done = self.ok(run("parse", stdin=b'{"text": "Sure.</think>Hi", "stage": "reasoning_start", "finish": "stop"}')).json()
        self.assertEqual(done, {"reasoning": "Sure.", "content": "Hi", "tool_calls": [], "finish_reason": "stop"})

    def test_graph_dump_and_plan(self):
        text = self.ok(run("graph", "dump", "--batch", "2")).out
        self.assertTrue(text.startswith('graph "decode.b2"'))
        path = self.scratch / "g.txt"
        path.write_text(text)
        found = self.ok(run("graph", "plan", "--batch", "2", "--json")).json()
        again = self.ok(run("graph", "plan", "--graph", path, "--json")).json()
        self.assertEqual(found["hash"], again["hash"])
        self.assertEqual((found["breaks"], found["host_reads"]), (0, 1))
        self.assertLess(found["arena_bytes"], found["naive_bytes"])
        self.assertIn("breaks=0", self.ok(run("graph", "plan", "--summary")).out)
        dumped = self.ok(run("graph", "dump", "--json")).json()
        self.assertEqual(set(dumped), {"name", "target", "hash", "inputs", "nodes", "outputs"})
        self.assertTrue(self.ok(run("graph", "dump", "--format", "dot", "--pass", "draft")).out.startswith("digraph"))

    def test_inspect_and_doctor_json(self):
        found = self.ok(run("inspect", "--json", "--hash")).json()
        for key in ("config", "files", "groups", "layers", "memory", "tensors"):
            self.assertTrue(found[key], key)
        self.assertRegex(found["files"][0]["sha256"], "^[0-9a-f]{64}$")
        report = self.ok(run("doctor", "--json")).json()
        self.assertEqual(report["verdict"], "fits")
        for key in ("memory_bytes", "read_bytes_per_s", "disk_bytes_per_s", "resident_bytes", "cache_bytes", "tokens_per_s"):
            self.assertGreater(report[key], 0, key)

    def test_bench_shapes(self):
        for words in (["decode", "--context", "32", "--rows", "2"], ["prefill", "--tokens", "64"], ["load"], ["layer", "--context", "16"]):
            found = self.ok(run("bench", *words, "--seconds", "0.01", "--json")).json()
            self.assertGreater(found["limits"]["read_bytes_per_s"], 0)
            self.assertTrue(found["rows"])
            for row in found["rows"]:
                self.assertGreater(row["median_s"], 0)
        lines = self.ok(run("bench", "prefill", "--tokens", "64", "--seconds", "0.01", "--csv")).out.splitlines()
        self.assertEqual(lines[0].split(",")[0], "name")

    def test_verify_reports(self):
        done = self.ok(run("verify", "model", "tests/golden/model/micro", "--only", "prefill/p7"))
        self.assertRegex(done.out.splitlines()[-1], r"^\d+ passed, 0 failed, \d+ skipped$")
        report = self.ok(run("verify", "kernels", "--only", "quant*", "--json")).json()
        self.assertEqual(report["failed"], 0)
        self.assertGreater(report["passed"], 0)
        self.assertEqual(set(report["cases"][0]) - {"detail"}, {"op", "case", "worst", "bound", "outcome"})

    def test_verify_fails_with_exit_code_1(self):
        golden = self.scratch / "golden"
        shutil.copytree(SOURCE / "tests/golden/model/micro", golden)
        path = golden / "prefill.safetensors"
        data = bytearray(path.read_bytes())
        (size,) = struct.unpack("<Q", data[:8])
        begin, end = json.loads(data[8:8 + size])["p7.logits"]["data_offsets"]
        data[8 + size + begin:8 + size + end] = struct.pack("<f", 3.0) * ((end - begin) // 4)
        path.write_bytes(data)
        done = run("verify", "model", golden, "--only", "prefill/p7")
        self.assertEqual(done.code, 1, str(done))
        self.assertIn("FAIL", done.out)
        self.assertRegex(done.out.splitlines()[-1], r"^\d+ passed, [1-9]\d* failed, \d+ skipped$")


class Generation(Case):
    CAPITAL = ["run", "--prompt", "What is the capital of France?"]

    def test_the_first_command_of_the_readme(self):
        self.assertIn("Paris", self.ok(run(*self.CAPITAL)).out)

    def test_json_object(self):
        found = self.ok(run(*self.CAPITAL, "--greedy", "--json", "--logprobs", "2")).json()
        self.assertEqual(set(found), {"text", "reasoning", "tool_calls", "token_ids", "finish_reason", "seed", "usage", "timings",
                                      "logprobs"})
        self.assertEqual(set(found["usage"]), {"prompt_tokens", "completion_tokens", "cached_tokens"})
        self.assertEqual(set(found["timings"]), {"load_s", "prefill_s", "decode_s", "tokens_per_s", "mean_accepted_len"})
        self.assertEqual(found["text"], "The capital of France is Paris.")
        self.assertTrue(found["reasoning"])
        self.assertEqual(found["finish_reason"], "stop")
        self.assertEqual(len(found["token_ids"]), found["usage"]["completion_tokens"])
        self.assertEqual(len(found["logprobs"]), len(found["token_ids"]))
        self.assertGreaterEqual(len(found["logprobs"][0]["top"]), 2)

    def test_drafts_do_not_change_the_text(self):
        base = ["run", "--prompt", "Tell me a story.", "--seed", "11", "--temperature", "1", "--json", "--max-tokens", "60"]
        found = [self.ok(run(*base, "--drafts", d)).json() for d in ("off", "auto", "3")]
        self.assertEqual(len({tuple(f["token_ids"]) for f in found}), 1)
        self.assertEqual({f["seed"] for f in found}, {11})
        self.assertEqual(found[0]["timings"]["mean_accepted_len"], 1)
        self.assertGreater(found[1]["timings"]["mean_accepted_len"], 1)

    def test_limits_stops_and_raw_text(self):
        found = self.ok(run(*self.CAPITAL, "--greedy", "--json", "--max-tokens", "2")).json()
        self.assertEqual((found["finish_reason"], found["usage"]["completion_tokens"]), ("length", 2))
        found = self.ok(run(*self.CAPITAL, "--greedy", "--json", "--stop", " of France")).json()
        self.assertEqual((found["text"], found["finish_reason"]), ("The capital", "stop"))
        self.assertTrue(found["reasoning"])
        raw = ["run", "--raw", "--greedy", "--json", "--prompt", "<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜></think>"]
        marked = self.ok(run(*raw, "--max-tokens", "8")).json()
        plain = self.ok(run(*raw, "--special", "text", "--max-tokens", "8")).json()
        self.assertLess(marked["usage"]["prompt_tokens"], plain["usage"]["prompt_tokens"])
        self.assertEqual(marked["reasoning"], "")

    def test_forms_of_one_prompt_agree(self):
        request = self.scratch / "r.json"
        request.write_text(json.dumps({"messages": [{"role": "user", "content": "What is the capital of France?"}],
                                       "max_tokens": 40, "temperature": 0}))
        messages = self.scratch / "m.json"
        messages.write_text(json.dumps([{"role": "user", "content": "What is the capital of France?"}]))
        prompt = self.scratch / "p.txt"
        prompt.write_text("What is the capital of France?")
        rendered = self.ok(run("render", stdin=request.read_bytes())).json()["ids"]
        answers = [self.ok(run("run", *words, "--json")).json()["token_ids"] for words in (
            ["--messages", request], ["--messages", messages, "--greedy"], ["--prompt-file", prompt, "--greedy"],
            ["--token-ids", ",".join(map(str, rendered)), "--greedy"])]
        self.assertEqual(len({tuple(a) for a in answers}), 1)

    def test_tool_calls(self):
        tools = self.scratch / "t.json"
        tools.write_text(json.dumps([{"type": "function", "function": {
            "name": "calculator", "description": "Evaluate an arithmetic expression.",
            "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}}}]))
        words = ["run", "--prompt", "Use the calculator: 174 * 130", "--tools", tools, "--thinking", "off", "--greedy",
                 "--system", "You are a tiny assistant."]
        found = self.ok(run(*words, "--json")).json()
        self.assertEqual(found["finish_reason"], "tool_calls")
        self.assertEqual(found["tool_calls"][0]["name"], "calculator")
        self.assertEqual(json.loads(found["tool_calls"][0]["arguments"]), {"expression": "174 * 130"})
        self.assertIn("[call calculator ", self.ok(run(*words)).out)

    def test_chat_over_a_pipe(self):
        saved = self.scratch / "s.json"
        lines = f"/thinking off\nWhat is the capital of France?\n/stats\n/nonsense\n/save {saved}\n/reset\n/help\n"
        done = self.ok(run("chat", "--greedy", stdin=lines.encode()))
        self.assertIn("The capital of France is Paris.", done.out)
        self.assertIn("tokens/s", done.out)
        self.assertIn("/nonsense", done.err)
        body = json.loads(saved.read_text())
        self.assertEqual([m["role"] for m in body["messages"]], ["user", "assistant"])

    def test_interrupt(self):
        for words in (["run", "--prompt", "Tell me a story.", "--max-tokens", "2000", "--temperature", "2"], ["tokenize"]):
            process = subprocess.Popen([PROGRAM, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=clean_environment({}))
            if words[0] == "run":
                process.stdout.read(1)  # the answer has begun
            else:
                time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            # A story may end by itself before the signal arrives.
            self.assertIn(process.returncode, (130, 0) if words[0] == "run" else (130,), words)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    SOURCE = pathlib.Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
