#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plant what setup/floors.py must find into small trees, and see that it finds just that."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
PLAN = """
[tree.toy]
root = "toy/lib.rs"
floors = [["ground"], ["left", "right"], ["roof"]]
[[rule]]
name = "panic path"
in = ["toy"]
pattern = '\\.unwrap\\(\\)'
unless = 'PANIC:'
"""
# A rule of the real plan, for the toy tree.
OVERFLOW = next(rule for rule in re.split(r"(?m)^(?=\[\[rule\]\])", (TOP / "setup/floors.toml").read_text())
                if 'name = "panics on overflow"' in rule).split("\n\n")[0]
PLAN += re.sub(r"(?m)^in = .*", 'in = ["toy"]', OVERFLOW) + "\n"
CLEAN = {
    "lib.rs": "mod ground; mod left; mod right; mod roof;\npub use roof::Roof;\n",
    "ground.rs": "pub struct Stone;\n",
    "left.rs": "use crate::ground::Stone;\n// use crate::roof::Roof; in a comment\nfn f() { g(\"crate::roof\") }\n",
    "right.rs": "#[cfg(test)]\nmod tests { use crate::roof::Roof; fn t() { x.unwrap() } }\n",
    "roof.rs": "use crate::{ground::{self, Stone}, left, right};\npub struct Roof;\n",
}


class Floors(unittest.TestCase):
    def check(self, changed):
        """Run the check on the clean tree with some files changed: exit status and findings."""
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder)
            (top / "setup").mkdir()
            (top / "setup/floors.toml").write_text(PLAN)
            for name, text in {**CLEAN, **changed}.items():
                path = top / "toy" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            run = subprocess.run([sys.executable, TOP / "setup/floors.py", "--top", top],
                                 capture_output=True, text=True)
            return run.returncode, run.stdout.splitlines()

    def finds(self, changed, *findings):
        status, lines = self.check(changed)
        self.assertEqual(status, 1)
        self.assertEqual([line.split(": ")[:2] for line in lines], [list(f) for f in findings])

    def test_a_clean_tree_has_no_finding(self):
        self.assertEqual(self.check({}), (0, []))

    def test_an_import_that_goes_up(self):
        self.finds({"ground.rs": "\nuse crate::roof::Roof;\n"}, ("toy/ground.rs:2", "import goes up"))

    def test_an_import_in_a_list(self):
        self.finds({"ground.rs": "use crate::{\n    roof::{\n        Roof, //\n    },\n};\n"},
                   ("toy/ground.rs:3", "import goes up"))

    def test_a_path_in_an_expression(self):
        self.finds({"ground.rs": "fn f() -> super::roof::Roof {\n    crate::roof::make()\n}\n"},
                   ("toy/ground.rs:1", "import goes up"), ("toy/ground.rs:2", "import goes up"))

    def test_a_name_that_the_root_exports(self):
        self.finds({"ground.rs": "use crate::Roof;\n"}, ("toy/ground.rs:1", "import goes up"))

    def test_a_neighbour_on_the_same_floor(self):
        self.finds({"left.rs": "use crate::right;\n"}, ("toy/left.rs:1", "import goes sideways"))

    def test_files_of_a_room_that_import_each_other(self):
        self.finds({"roof/a.rs": "use super::b::B;\n", "roof/b.rs": "use crate::roof::a;\n"},
                   ("toy/roof/a.rs:1", "circle"))

    def test_a_file_without_a_room(self):
        self.finds({"cellar.rs": "\n"}, ("toy/cellar.rs:1", "no room"))

    def test_a_panic_path(self):
        self.finds({"left.rs": "fn f() {\n    a.unwrap();\n    b.unwrap(); // PANIC: b is Some by construction.\n}\n"},
                   ("toy/left.rs:2", "panic path"))

    def test_a_method_that_panics_on_overflow(self):
        for call in ("size.next_multiple_of(PAGE)", "n.next_power_of_two()", "base.pow(2)", "sign.abs()",
                     "size.ilog2()", "sizes.iter().sum()", "sizes.iter().sum::<u64>()", "words.split_at(n)"):
            with self.subTest(call=call):
                self.finds({"left.rs": f"fn f() {{\n    {call};\n}}\n"}, ("toy/left.rs:2", "panics on overflow"))

    def test_a_method_that_says_so_or_that_the_compiler_computes(self):
        self.assertEqual(self.check({"left.rs": "fn f() {\n    size.checked_next_multiple_of(PAGE);\n"
                                     "    base.wrapping_pow(2);\n    one.abs_diff(other);\n    B::new::<{ SIZE.ilog2() as u64 }>();\n"
                                     "    const N: u32 = SIZE.ilog2();\n}\n"}), (0, []))


if __name__ == "__main__":
    unittest.main()
