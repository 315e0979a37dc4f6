#!/usr/bin/env python3
"""Fails when a row of the mission map has a check that does not exist, unless the row is listed as pending.

    check_mission_map.py --build BUILD [--ctest CTEST] [--list]

Reads tests/neuron/mission-map.md (a copy whose SHA-256 stands in mission-map.md.sha256) and mission_pending.txt (one id a
line). A check is looked up, not run:
  * `ctest -R NAME`, and NAME alone behind it: a test of the build whose name is NAME or starts with NAME and one of / [ .
  * `ctest -L LABEL`, `ctest -N -L LABEL`: a test with that label;
  * `run_all GROUP STAGE...`: tests/neuron/run_all.sh lists every stage; without a stage, or a summary line: it exists;
  * `deepinfer COMMAND ...`, `graph check ...`: a command of apps/deepinfer/commands.inc that is not marked as later, with
    no flag or value that the program marks as later;
  * DEEPINFER_NAME inside a span: a variable of src/base/environ.def;
  * a log line behind "run log": a string of the sources that starts the same way, up to its first value;
  * `setup_trn2.sh`, and "step N" in the meaning: the script exists.
A cell without any of these takes them from what it refers to: "same" = the row before, an id such as M4.13, "stage X",
"DP-nn" (a row of `verify primitives`).
A row is met when all its checks exist. Met and pending, or not met and not pending, is a failure; so is an unknown id, a
row without a check, and a copy that differs from its hash. Only the Python standard library is used.
"""
import argparse
import fnmatch
import hashlib
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ROW = re.compile(r"^\| ((?:M[1-4]|I)\.\d+) \|")
FILE_SUFFIXES = (".graph", ".sh", ".md", ".py", ".txt", ".json", ".bin", ".pb", ".mlir")


class Build:
    """What exists: test names, labels, commands with what is marked as later, stages, scripts, variables, sources."""

    def __init__(self, **parts):
        self.tests = parts.get("tests", set())
        self.labels = parts.get("labels", set())
        self.commands = parts.get("commands", set())
        self.later = parts.get("later", set())
        self.stages = parts.get("stages", set())
        self.scripts = parts.get("scripts", set())
        self.variables = parts.get("variables", set())
        self.sources = parts.get("sources", "")

    def is_later(self, text):
        return any(part in self.later for part in re.split(r"[ =]", text))

    def has(self, check):
        kind, value = check
        if kind == "test":
            pattern = re.compile(f"(?:{value})(?:$|[/\\[.])")
            return any(pattern.match(name) for name in self.tests)
        if kind == "label":
            return any(label == value or label.startswith(value + ".") for label in self.labels)
        if kind == "stage":
            return any(fnmatch.fnmatch(stage, value) for stage in self.stages)
        if kind == "script":
            return value in self.scripts
        if kind == "variable":
            return value in self.variables
        if kind == "log":
            return '"' + value.split("=")[0] + "=" in self.sources and not self.is_later(value)
        words = [word for word in value.split() if not word.startswith("-")]
        known = any(" ".join(words[:n]) in self.commands for n in (1, 2))
        return known and not self.is_later(value)


def read_build(build, ctest):
    listed = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    tests = json.loads(listed.stdout)["tests"]
    labels = set()
    for test in tests:
        for prop in test.get("properties", []):
            if prop["name"] == "LABELS":
                labels.update(prop["value"])
    app = ROOT / "apps/deepinfer"
    sources = [path.read_text() for top in ("apps", "src") for path in sorted((ROOT / top).rglob("*.cc"))]
    later = set()
    for text in sources:
        for group in re.findall(r"later\(\{([^}]*)\}", text) + re.findall(r"\{\{[^{}]*\}, \{([^{}]*)\}\}", text):
            later.update(re.findall(r'"([^"]+)"', group))
        later.update(re.findall(r'add\(\{"(--[a-z-]+)", "1"[^;]*!= 1\) usage_error', text))  # only the value 1 yet
    run_all = HERE / "run_all.sh"
    stages = set()
    if run_all.exists():
        stages = set(subprocess.run(["bash", run_all, "--list"], capture_output=True, text=True, check=True).stdout.split())
    return Build(tests={test["name"] for test in tests}, labels=labels, later=later, stages=stages,
                 commands=set(re.findall(r'^DI_COMMAND\("([^"]+)"', (app / "commands.inc").read_text(), re.M)),
                 scripts={path.name for path in HERE.glob("*.sh")}, sources="\n".join(sources),
                 variables={"DEEPINFER_" + name for name in
                            re.findall(r'^DI_ENV\("([^"]+)"', (ROOT / "src/base/environ.def").read_text(), re.M)})


def rows_of(text):
    """[(id, cells)] of all tables with an id column; the check is the last cell, the meaning the third."""
    rows = []
    for line in text.splitlines():
        if ROW.match(line):
            cells = [cell.replace("\0", "|").strip() for cell in line.strip().strip("|").replace(r"\|", "\0").split("|")]
            rows.append((cells[0], cells))
    return rows


def checks_in(cell):
    """The checks written in a cell, as (kind, value)."""
    found = []
    for match in re.finditer(r"`([^`]+)`", cell):
        found += [("variable", name) for name in re.findall(r"DEEPINFER_[A-Z0-9_]+", match.group(1))]
        span = re.sub(r"^(?:[A-Z_]+=\S+ )+", "", match.group(1).strip())
        words = span.split()
        if span.startswith("ctest -R "):
            found.append(("test", words[2]))
        elif words[0] == "ctest" and "-L" in words:
            found.append(("label", words[words.index("-L") + 1]))
        elif words[0] == "run_all" and "--list" in words:
            found += [("stage", stage) for stage in re.findall(r"dev-[a-z0-9_*-]+", cell)]
        elif words[0] == "run_all" and len(words) > 1:
            stages = [word for word in words[2:] if not word.startswith("-")]
            found += [("stage", stage) for stage in stages] or [("script", "run_all.sh")]
        elif words[0] == "deepinfer" and len(words) > 1:
            found.append(("command", " ".join(words[1:])))
        elif span.startswith("graph check"):
            found.append(("command", span))
        elif words[0] == "setup_trn2.sh":
            found.append(("script", words[0]))
        elif words[0] == "SUMMARY":
            found.append(("script", "run_all.sh"))
        elif re.fullmatch(r"[a-z0-9_]+\.[a-z0-9_*]+", span) and not span.endswith(FILE_SUFFIXES):
            found.append(("test", span))
        elif "=" in span and re.search(r"run log(?: line)? $", cell[:match.start()]):
            found.append(("log", span))
    return found


def references(cell, meaning, by_id):
    """Checks of a cell that only refers to others."""
    for text in (cell, meaning):
        ids = re.findall(r"\b((?:M[1-4]|I)\.\d+)\b", text)
        if ids:
            return [check for i in ids for check in by_id.get(i, [])]
    stages = re.findall(r"\bstage ([a-z0-9_-]+)", meaning)
    if stages:
        return [("stage", stage) for stage in stages]
    return [("command", "verify primitives")] if re.search(r"\bDP-\d+", meaning) else []


def resolve(rows):
    """{id: checks} in table order."""
    by_id = {}
    before = []
    forward = []
    for i, cells in rows:
        by_id[i] = checks_in(cells[-1])
        if cells[-1].startswith("same"):
            by_id[i] = before + by_id[i]
        if not by_id[i]:
            by_id[i] = references(cells[-1], cells[2], by_id)
            forward.append((i, cells))
        if re.search(r"\bstep \d", cells[2]):
            by_id[i] = by_id[i] + [("script", "setup_trn2.sh")]
        before = by_id[i]
    for i, cells in forward:  # references to rows further down
        if not by_id[i]:
            by_id[i] = references(cells[-1], cells[2], by_id)
    return by_id


def problems_of(rows, pending, build):
    problems = []
    by_id = resolve(rows)
    if len(by_id) != len(rows):
        problems.append("an id occurs twice")
    for i in sorted(pending - set(by_id)):
        problems.append(f"{i}: pending, but no such row")
    for i, checks in by_id.items():
        if not checks:
            problems.append(f"{i}: no check that can be looked up")
            continue
        missing = [f"{kind} {value}" for kind, value in checks if not build.has((kind, value))]
        if missing and i not in pending:
            problems.append(f"{i}: not pending, but missing: {', '.join(missing)}")
        if not missing and i in pending:
            problems.append(f"{i}: pending, but its checks exist: {', '.join(f'{k} {v}' for k, v in checks)}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--ctest", default="ctest")
    parser.add_argument("--list", action="store_true", help="print every row with its checks and whether they exist")
    arguments = parser.parse_args()
    text = (HERE / "mission-map.md").read_bytes()
    recorded = (HERE / "mission-map.md.sha256").read_text().split()[0]
    rows = rows_of(text.decode())
    pending = {line.strip() for line in (HERE / "mission_pending.txt").read_text().splitlines() if line.strip()}
    build = read_build(arguments.build, arguments.ctest)
    if arguments.list:
        for i, checks in resolve(rows).items():
            print(i, "; ".join(f"{'+' if build.has(c) else '-'} {c[0]} {c[1]}" for c in checks))
    problems = problems_of(rows, pending, build)
    if hashlib.sha256(text).hexdigest() != recorded:
        problems.append("mission-map.md differs from the recorded hash")
    for problem in problems:
        print(problem)
    print(f"{len(rows)} rows, {len(pending)} pending, {len(problems)} problems")
    return 1 if problems or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
