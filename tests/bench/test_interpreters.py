#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Interpreters are compared as tests/bench/interpreters.py says, on outputs made here."""
import unittest

import interpreters

SPEED = """gfx1201
collatz              1 wave instructions   9.000 s    0.1 M/s, 2048 waves, 1 translations
gfx942
collatz              2 wave instructions   0.250 s    0.1 M/s, {} waves, 1 translations
"""


class Outputs(unittest.TestCase):
    def setUp(self):
        self.vadd, self.collatz, self.matmul = interpreters.KERNELS

    def test_ours(self):
        """The chip with waves of 64, and only if as many work-items ran."""
        self.assertEqual(interpreters.ours(SPEED.format(65536 // 64), self.collatz), 0.25)
        with self.assertRaises(SystemExit):
            interpreters.ours(SPEED.format(65536 // 32), self.collatz)
        with self.assertRaises(SystemExit):
            interpreters.ours(SPEED.format(1024), self.vadd)

    def test_results(self):
        """Each of the first work-group's results counts; 27 takes 111 steps."""
        self.assertEqual(interpreters.steps(27), 111)
        lines = [f"  out[{at}] = {interpreters.steps(at + 1)}" for at in range(256)]
        self.collatz.check("\n".join(lines))
        for wrong in (lines[1:], lines[:-1], [*lines[:26], "  out[26] = 110", *lines[27:]]):
            with self.assertRaises(SystemExit):
                self.collatz.check("\n".join(wrong))

    def test_places(self):
        """The first square of a matrix."""
        self.assertEqual(self.matmul.places()[15:17], [15, 256])
        self.assertEqual(len(set(self.matmul.places())), 256)

    def test_told(self):
        """Results are printed of one work-group only."""
        self.assertIn("\n256 1 1\n256 1 1\n", self.vadd.sim(False, True))
        self.assertNotIn("dump", self.vadd.sim(True, False))
        self.assertIn("\n1048576 1 1\n256 1 1\n", self.vadd.sim(True, False))


if __name__ == "__main__":
    unittest.main()
