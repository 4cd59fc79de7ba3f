#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Drivers are compared as tests/bench/rivals.py says, on figures made here."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import rivals


def run(*costs, drivers=("rkfd", "amdgpu", "amdgpu")):
    """One request with each driver."""
    runs = [{"driver": driver, "costs": {"GET_VERSION": cost}} for driver, cost in zip(drivers, costs)]
    return {"chip": "navi48", "accel": "TCG", "runs": runs}


class Compared(unittest.TestCase):
    def test_noise(self):
        # Linux's own runs differ by a tenth, so that a fifth says nothing, and a half does.
        self.assertEqual(rivals.compared(10, 12, 11)[1], "no difference beyond noise")
        self.assertEqual(rivals.compared(10, 16, 11)[1], "slower")
        self.assertEqual(rivals.compared(10, 7, 11)[1], "faster")
        # Two runs that agree by chance don't make one of a twentieth count.
        self.assertEqual(rivals.compared(10, 10.5, 10)[1], "no difference beyond noise")
        self.assertAlmostEqual(rivals.compared(10, 20, 10)[0], 2)

    def test_order(self):
        self.assertEqual([row[0] for row in rivals.rows(run(1, 1, 1))], ["GET_VERSION"])
        for drivers in (("rkfd", "amdgpu"), ("amdgpu", "rkfd", "amdgpu"), ("rkfd", "amdgpu", "other")):
            with self.assertRaises(SystemExit):
                list(rivals.rows(run(1, 1, 1, drivers=drivers)))

    def test_document(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "navi48.json").write_text(json.dumps(run(1, 2, 2)))
            document = folder / "p.md"
            document.write_text(f"# P\n{rivals.BEGIN}\nold\n{rivals.END}\nmore\n")
            subprocess.run([sys.executable, rivals.__file__, name, "--docs", document], check=True)
            text = document.read_text()
            self.assertNotIn("old", text)
            self.assertIn("| GET_VERSION | 2 | 2 | 1 | 0.50 | faster |", text)


if __name__ == "__main__":
    unittest.main()
