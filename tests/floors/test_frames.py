#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""setup/frames.py finds the functions that take much of a stack."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "setup"))
import frames

LISTING = """
0000000000000010 <small>:
      10:\tsub    $0x18,%rsp
      14:\tsub    $0x7fff,%rax
0000000000000020 <large>:
      20:\tpush   %rbx
      21:\tsub    $0xe58,%rsp
      28:\tsub    $0x8,%rsp
0000000000000030 <none>:
      30:\tret
"""


class Frames(unittest.TestCase):
    def test_what_a_function_takes_at_its_begin(self):
        self.assertEqual(frames.frames(LISTING.splitlines()), {"small": 0x18, "large": 0xe58})

    def test_the_limit_is_between_an_image_and_two(self):
        self.assertTrue(2048 < frames.LIMIT < 4096)


if __name__ == "__main__":
    unittest.main()
