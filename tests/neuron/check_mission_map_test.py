#!/usr/bin/env python3
"""Shows that check_mission_map.py can fail, in each of its ways, and reads every form of a check."""
import unittest

import check_mission_map as mission

BUILD = mission.Build(
    tests={"kv.alias", "cs.rules/CS-01", "plan.snapshot.models", "e2e.tiny[eager]", "Default.Fault"}, labels={"unit", "neuron.compile"},
    commands={"verify model", "env"}, later={"regions", "trn2", "--region"}, stages={"compile", "deep_ep-2"},
    scripts={"run_all.sh"}, variables={"DEEPINFER_EP_REDUCE"}, sources='log_info("graph_mode={} eager={}")')


def table(*rows):
    return mission.rows_of("\n".join(f"| {i} | clause | {meaning} | spec | {check} |" for i, meaning, check in rows))


def problems(*rows, pending=()):
    return mission.problems_of(table(*rows), set(pending), BUILD)


class Lookup(unittest.TestCase):
    def test_test_names_are_whole(self):
        self.assertTrue(BUILD.has(("test", "kv.alias")))
        self.assertTrue(BUILD.has(("test", "e2e.tiny")))
        self.assertTrue(BUILD.has(("test", "plan.*")))
        self.assertFalse(BUILD.has(("test", "kv.ali")))
        self.assertFalse(BUILD.has(("test", "alias")))
        self.assertFalse(BUILD.has(("test", "fault.*")))

    def test_other_kinds(self):
        for check in (("label", "neuron"), ("stage", "deep_ep-*"), ("script", "run_all.sh"), ("variable", "DEEPINFER_EP_REDUCE"),
                      ("command", "verify model DIR --backend host"), ("command", "env"), ("log", "graph_mode=eager eager=1")):
            self.assertTrue(BUILD.has(check), check)
        for check in (("label", "neu"), ("stage", "dev-*"), ("script", "setup_trn2.sh"), ("variable", "DEEPINFER_X"),
                      ("command", "verify model DIR --backend trn2"), ("command", "graph check"),
                      ("log", "graph_mode=regions eager=1"), ("log", "decode graph size=8")):
            self.assertFalse(BUILD.has(check), check)

    def test_forms_of_a_cell(self):
        cell = "`ctest -R cc.driver`, `bisect.*`; `deepinfer bisect --graph G` → `DI_X`, `bad/x.graph`, `fused == unfused`"
        self.assertEqual(mission.checks_in(cell),
                         [("test", "cc.driver"), ("test", "bisect.*"), ("command", "bisect --graph G")])
        self.assertEqual(mission.checks_in("`run_all cpu deep_ep-1 deep_ep-2` → PASS"),
                         [("stage", "deep_ep-1"), ("stage", "deep_ep-2")])
        self.assertEqual(mission.checks_in("`run_all --list` shows dev-bucket-*, dev-x-16"),
                         [("stage", "dev-bucket-*"), ("stage", "dev-x-16")])
        self.assertEqual(mission.checks_in("`DEEPINFER_A=1 deepinfer run`; `setup_trn2.sh --dry-run`; `ctest -N -L neuron`"),
                         [("variable", "DEEPINFER_A"), ("command", "run"), ("script", "setup_trn2.sh"), ("label", "neuron")])
        self.assertEqual(mission.checks_in("run log line `a=1 b=2`"), [("log", "a=1 b=2")])

    def test_references(self):
        by_id = mission.resolve(table(("M1.1", "", "`ctest -R a.b`"), ("M1.2", "", "same, other rows"), ("M1.3", "", "as M1.4"),
                                      ("M1.4", "stage compile", "PASS"), ("M1.5", "DP-08", "row PASS"), ("M1.6", "step 4", "`ctest -R c.d`")))
        self.assertEqual(by_id["M1.2"], [("test", "a.b")])
        self.assertEqual(by_id["M1.3"], [("stage", "compile")])
        self.assertEqual(by_id["M1.5"], [("command", "verify primitives")])
        self.assertEqual(by_id["M1.6"], [("test", "c.d"), ("script", "setup_trn2.sh")])


class Rules(unittest.TestCase):
    def test_met_and_pending_rows_pass(self):
        self.assertEqual(problems(("M1.1", "", "`ctest -R kv.alias`"), ("M1.2", "", "`ctest -R x.y`"), pending=["M1.2"]), [])

    def test_missing_check_fails(self):
        self.assertIn("missing: test x.y", problems(("M1.1", "", "`ctest -R kv.alias`, `x.y`"))[0])

    def test_pending_row_whose_check_exists_fails(self):
        self.assertIn("checks exist", problems(("M1.1", "", "`ctest -R kv.alias`"), pending=["M1.1"])[0])

    def test_row_without_a_check_fails(self):
        self.assertIn("no check", problems(("M1.1", "", "PASS"))[0])
        self.assertIn("no check", problems(("M1.1", "", ""), pending=["M1.1"])[0])

    def test_unknown_and_repeated_ids_fail(self):
        self.assertIn("no such row", problems(("M1.1", "", "`ctest -R kv.alias`"), pending=["M9.9"])[0])
        row = ("M1.1", "", "`ctest -R kv.alias`")
        self.assertIn("twice", problems(row, row)[0])


if __name__ == "__main__":
    unittest.main()
