#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""coverage.py MODULE LOG: the share of each source file's lines that a run of the fuzzer reached.

MODULE was built with RKFD_COVERAGE=1: each block calls __sanitizer_cov_trace_pc, and the relocations of
these calls tell where all blocks are. LOG has the lines `kcov OFFSET...` of rkfd-fuzz, whose offsets are
the calls' return addresses. A line counts when a basic block of it was reached; a block that was made from
inlined code belongs to the innermost of the module's own files. MISSED=1 prints the lines that were not.
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
    """Offsets in .text of the return addresses of all reports, but of blocks that only panic: the compiler
    adds such to every operation that it checks.
    """
    text = subprocess.run(
        ["llvm-readobj-19", "-r", module], check=True, capture_output=True, text=True
    ).stdout
    section, relocations = "", []
    for line in text.splitlines():
        if start := re.match(r"\s*Section \(\d+\) (\S+) \{", line):
            section = start[1]
        elif section == ".rela.text" and line.lstrip().startswith("0x"):
            offset, _, symbol = line.split()[:3]
            relocations.append((int(offset, 16), symbol))
    relocations.sort()
    # What a panic is passed (its message, its place) lies in sections of data, whose names begin with a dot.
    named = [(offset, symbol) for offset, symbol in relocations if not symbol.startswith((".", "__asan"))]
    follows = zip(named, named[1:])
    return {at + 4 for (at, symbol), (_, next_) in follows if symbol == CALL and "panicking" not in next_}


def sources(module, offsets):
    """The file in the module's sources, and the line there, to which each offset belongs."""
    # A call's return address can be the next line's.
    asked = "".join(f"{offset - 1:#x}\n" for offset in offsets)
    command = ["llvm-symbolizer-19", f"--obj={module}", "--inlines", "--functions=none"]
    answer = subprocess.run(command, input=asked, check=True, capture_output=True, text=True).stdout
    for offset, frames in zip(offsets, answer.split("\n\n")):
        # The kernel's crates lie under rust/ too, in its tree.
        places = re.findall(r"\b((?:rust|hw|uapi)/[^:\n]*\.rs):(\d+)", frames)
        yield offset, next(((name, line) for name, line in places if os.path.exists(name)), None)


def main():
    module, log = sys.argv[1:]
    points = blocks(module)
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = re.findall(r"\bkcov((?: [0-9a-f]+)+)", file.read())
    reached = {int(offset, 16) for line in lines for offset in line.split()}
    if not points or not reached:
        sys.exit(f"coverage: the run reached {len(reached)} blocks of the module's {len(points)}")
    seen = collections.defaultdict(dict)
    for offset, place in sources(module, sorted(points)):
        if place and "kunit" not in place[0]:
            name, line = place
            seen[name][line] = seen[name].get(line, False) or offset in reached
    count = {name: (sum(lines.values()), len(lines)) for name, lines in seen.items()}
    for folder in FOLDERS:
        own = [n for name, n in count.items() if name.startswith((folder + "/", folder + ".rs"))]
        count[folder + " in all"] = tuple(map(sum, zip(*own)))
    for name, (hit, all_) in sorted(count.items()):
        print(f"{name:<44} {hit:6} of {all_:6} {100 * hit / all_:6.1f} %")
    if os.environ.get("MISSED"):
        for name in sorted(seen):
            if name.startswith(tuple(FOLDERS)):
                missed = sorted(int(line) for line, hit in seen[name].items() if not hit)
                print(f"{name} missed {' '.join(map(str, missed))}")


if __name__ == "__main__":
    main()
