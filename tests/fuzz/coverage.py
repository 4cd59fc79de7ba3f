#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""coverage.py MODULE LOG [--missed PATH]...: the share of each source file's lines that a run of the fuzzer reached.

MODULE was built with RKFD_COVERAGE=all: each basic block begins with a call of __sanitizer_cov_trace_pc, and the
relocations of these calls tell where the blocks are. LOG has the lines `reached OFFSET...` of rkfd-fuzz, whose
offsets are the calls' return addresses. A line counts as reached when a block with code of it was; code that was
inlined belongs to the innermost of the module's own files. The second figure of a file is its blocks'. --missed also
prints the lines of a file or folder that were not reached.
"""
import argparse
import bisect
import collections
import os
import re
import subprocess
import sys

CALL = "__sanitizer_cov_trace_pc"
# Bytes of such a call.
CALL_LENGTH = 5
# Folders (or files) whose share is summed up, since requests reach them directly.
FOLDERS = ["rust/ioctl", "rust/process", "rust/queue", "rust/event", "rust/bo"]


def output(*command, given=None):
    """What a program prints."""
    return subprocess.run(command, input=given, check=True, capture_output=True, text=True).stdout


def blocks(module):
    """The blocks of .text by the return address of their report, ascending: and whether it counts. Those that
    only panic don't: the compiler adds such to every operation that it checks.
    """
    section, relocations = "", []
    for line in output("llvm-readobj-19", "-r", module).splitlines():
        if start := re.match(r"\s*Section \(\d+\) (\S+) \{", line):
            section = start[1]
        elif section == ".rela.text" and line.lstrip().startswith("0x"):
            offset, _, symbol = line.split()[:3]
            relocations.append((int(offset, 16), symbol))
    relocations.sort()
    # What a panic is passed (its message, its place) lies in sections of data, whose names begin with a dot.
    named = [(offset, symbol) for offset, symbol in relocations if not symbol.startswith((".", "__asan"))]
    follows = zip(named, named[1:])
    return {at + 4: "panicking" not in next_ for (at, symbol), (_, next_) in follows if symbol == CALL}


def functions(module):
    """Where the functions of .text begin, ascending."""
    table = output("llvm-objdump-19", "--syms", module)
    return sorted({int(at, 16) for at in re.findall(r"^([0-9a-f]+) .{6}F \.text\t", table, re.M)})


def sources(module, offsets):
    """The file in the module's sources, and the line there, to which each offset belongs."""
    asked = "".join(f"{offset:#x}\n" for offset in offsets)
    answer = output("llvm-symbolizer-19", f"--obj={module}", "--inlines", "--functions=none", given=asked)
    for offset, frames in zip(offsets, answer.split("\n\n")):
        # The kernel's crates lie under rust/ too, in its tree. Code of no line has the number 0.
        places = re.findall(r"\b((?:rust|hw|uapi)/[^:\n]*\.rs):([1-9]\d*)", frames)
        own = [(name, int(line)) for name, line in places if os.path.exists(name)]
        yield offset, own[0] if own else None


def is_of(name, path):
    """Whether a file is PATH, the file of that room, or in its folder."""
    return name in (path, path + ".rs") or name.startswith(path.rstrip("/") + "/")


def print_missed(name, lines):
    """The lines of a file that were not reached, with their text."""
    with open(name, encoding="utf-8") as file:
        text = file.read().splitlines()
    for line in sorted(line for line, hit in lines.items() if not hit):
        print(f"{name}:{line}: {text[line - 1].strip() if line <= len(text) else ''}")


def share(hit, all_):
    """A share as people read it."""
    return f"{hit:6} of {all_:6} {100 * hit / all_:6.1f} %" if all_ else f"{'':23}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("log")
    parser.add_argument("--missed", action="append", default=[], metavar="PATH")
    options = parser.parse_args()
    counts = blocks(options.module)
    starts = sorted(counts)
    with open(options.log, encoding="utf-8", errors="replace") as file:
        found = re.findall(r"\breached((?: [0-9a-f]+)+)", file.read())
    reached = {int(offset, 16) for line in found for offset in line.split()}
    if not reached & counts.keys():
        sys.exit(f"coverage: the run reached {len(reached)} blocks, none of the module's {len(starts)}")
    # Where the line changes, and where blocks begin: behind their reports.
    rows = re.findall(r"^0x([0-9a-f]+) +[1-9]", output("llvm-dwarfdump-19", "--debug-line", options.module), re.M)
    points = sorted({int(row, 16) for row in rows} | counts.keys())
    lines = collections.defaultdict(dict)
    own_blocks = collections.defaultdict(dict)
    begins = functions(options.module)
    for offset, place in sources(options.module, points):
        # A report belongs to the block that it begins, and what a function does before its first to that.
        at = bisect.bisect_right(starts, offset + CALL_LENGTH) - 1
        function = bisect.bisect_right(begins, offset) - 1
        if function >= 0 and (at < 0 or starts[at] <= begins[function]):
            at = min(at + 1, len(starts) - 1)
        if at < 0 or not counts[starts[at]] or not place or "kunit" in place[0]:
            continue
        name, line = place
        hit = starts[at] in reached
        lines[name][line] = lines[name].get(line, False) or hit
        own_blocks[name][starts[at]] = hit
    count = {
        name: (sum(lines[name].values()), len(lines[name]), sum(own_blocks[name].values()), len(own_blocks[name]))
        for name in lines
    }
    for folder in FOLDERS:
        own = [n for name, n in count.items() if is_of(name, folder)]
        count[folder + " in all"] = tuple(map(sum, zip(*own)))
    print(f"{'':<44} {'lines':<25} blocks")
    for name, (hit, all_, hit_blocks, all_blocks) in sorted(count.items()):
        print(f"{name:<44} {share(hit, all_)}   {share(hit_blocks, all_blocks)}")
    for name in sorted(lines):
        if any(is_of(name, path) for path in options.missed):
            print_missed(name, lines[name])


if __name__ == "__main__":
    main()
