#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which functions of a module take much of the kernel's stack: setup/frames.py MODULE.ko

A kernel stack has 16 KiB on x86-64, for all functions on the way to one, and the kernel's own. Linux warns of
more than 2 KiB of one function in C (CONFIG_FRAME_WARN); the driver's largest hold an image of 2 KiB. Fails, and
names them, if functions take more than LIMIT."""
import re
import subprocess
import sys

# A sixth of a stack.
LIMIT = 16384 // 6
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
TAKES = re.compile(r"\bsub\s+\$0x([0-9a-f]+),%rsp$")


def frames(lines):
    """The bytes that each function of a disassembly takes at its begin, besides saved registers."""
    function, found = None, {}
    for line in lines:
        begins = FUNCTION.match(line)
        takes = TAKES.search(line.rstrip())
        if begins:
            function = begins[1]
        elif takes and function:
            found.setdefault(function, int(takes[1], 16))
    return found


def main():
    command = ["objdump", "--disassemble", "--no-show-raw-insn", sys.argv[1]]
    found = frames(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())
    if not found:
        sys.exit(f"{sys.argv[1]}: no function takes any stack")
    large = {name: size for name, size in found.items() if size > LIMIT}
    for name, size in large.items():
        print(f"{name} takes {size} bytes of stack, more than {LIMIT}")
    sys.exit(bool(large))


if __name__ == "__main__":
    main()
