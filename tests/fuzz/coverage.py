#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""coverage.py MODULE LOG: the share of each source file's basic blocks that a run of the fuzzer reached.

MODULE was built with RKFD_COVERAGE=1: each block calls __sanitizer_cov_trace_pc, and the relocations of
these calls tell where all blocks are. LOG has the lines `kcov OFFSET...` of rkfd-fuzz, whose offsets are
the calls' return addresses. A block that was made from inlined code counts for the innermost of the
module's own files.
"""
import collections
import os
import re
import subprocess
import sys

CALL = "__sanitizer_cov_trace_pc"
# Folders (or files) whose share is summed up, since requests reach them directly.
FOLDERS = ["rust/ioctl", "rust/process", "rust/queue", "rust/event", "rust/bo"]


def blocks(module):
    """Offsets in .text of the return addresses of all reports."""
    text = subprocess.run(
        ["llvm-readobj-19", "-r", module], check=True, capture_output=True, text=True
    ).stdout
    section, found = "", set()
    for line in text.splitlines():
        if start := re.match(r"\s*Section \(\d+\) (\S+) \{", line):
            section = start[1]
        elif section == ".rela.text" and CALL in line:
            found.add(int(line.split()[0], 16) + 4)
    return found


def sources(module, offsets):
    """The file in the module's sources to which each offset belongs."""
    # A call's return address can be the next line's.
    asked = "".join(f"{offset - 1:#x}\n" for offset in offsets)
    command = ["llvm-symbolizer-19", f"--obj={module}", "--inlines", "--functions=none"]
    answer = subprocess.run(command, input=asked, check=True, capture_output=True, text=True).stdout
    for offset, frames in zip(offsets, answer.split("\n\n")):
        # The kernel's crates lie under rust/ too, in its tree.
        files = re.findall(r"\b((?:rust|hw|uapi)/[^:\n]*\.rs):", frames)
        yield offset, next((name for name in files if os.path.exists(name)), None)


def main():
    module, log = sys.argv[1:]
    points = blocks(module)
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = re.findall(r"\bkcov((?: [0-9a-f]+)+)", file.read())
    reached = {int(offset, 16) for line in lines for offset in line.split()}
    strange = reached - points
    if not points or not reached or len(strange) > len(reached) // 100:
        sys.exit(f"coverage: {len(reached)} blocks reached, {len(strange)} of them not among the module's {len(points)}")
    count = collections.defaultdict(lambda: [0, 0])
    for offset, name in sources(module, sorted(points)):
        if name:
            count[name][0] += offset in reached
            count[name][1] += 1
    for folder in FOLDERS:
        own = [n for f, n in count.items() if f.startswith((folder + "/", folder + ".rs")) and "kunit" not in f]
        count[folder + "*"] = [sum(n[0] for n in own), sum(n[1] for n in own)]
    for name, (hit, all_) in sorted(count.items()):
        if all_ and "kunit" not in name:
            print(f"{name:<44} {hit:6} of {all_:6} {100 * hit / all_:6.1f} %")


if __name__ == "__main__":
    main()
