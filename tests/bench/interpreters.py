#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compare the emulated compute unit with Oclgrind: interpreters.py FOLDER [--docs FILE]

Oclgrind is a published interpreter of OpenCL kernels: it takes LLVM's code for them, work-item by work-item. FOLDER has
plain.txt and checked.txt, what the example `speed` of rkfd-isa prints without checks and with all of them (`--cached`).
Both sides are seconds of one processor for the same grids. Of Oclgrind's the time with a single work-group is taken off,
in which it compiles; what that group computed is compared with what it should. Printed is a table in Markdown; --docs puts it between
the marks in FILE.
"""
import re
import resource
import subprocess
import tempfile

import report

PROGRAM = __file__.removesuffix(".py") + ".cl"
BEGIN, END = "<!-- interpreters -->", "<!-- end of interpreters -->"
TARGET = "gfx942"
LANES = 64
RUNS = 3
# Its own checks of the same kind as ours.
CHECKS = ["--data-races", "--uninitialized"]
SIDE = 256


def steps(value):
    """How many steps a Collatz sequence takes to 1."""
    count = 0
    while value != 1:
        value, count = 3 * value + 1 if value & 1 else value >> 1, count + 1
    return count


class Kernel:
    """A kernel with the grid that emulator/isa/examples/speed/main.rs gives it."""

    def __init__(self, name, grid, group, inputs, n, result):
        self.name, self.grid, self.group, self.inputs, self.n, self.result = name, grid, group, inputs, n, result

    @property
    def items(self):
        return self.grid[0] * self.grid[1]

    def places(self):
        """Where the results of the first work-group are."""
        return [y * self.grid[0] + x for y in range(self.group[1]) for x in range(self.group[0])]

    def sim(self, is_whole, printed):
        """What oclgrind-kernel is told: the whole grid or one work-group, whose results can be printed."""
        grid = self.grid if is_whole else self.group
        kind = "uint" if self.name == "collatz" else "float"
        lines = [PROGRAM, self.name, "%d %d 1" % grid, "%d %d 1" % self.group]
        lines += [f"<size={4 * self.items} {values} {kind}>" for values in self.inputs]
        result = f"<size={4 * (max(self.places()) + 1)} fill=0 {kind} dump>" if printed else f"<size={4 * self.items} fill=0 {kind}>"
        return "\n".join([*lines, result, "<size=4 uint>", str(self.n)]) + "\n"

    def check(self, text):
        """That the first work-group's results are right, each of them."""
        got = {int(m[1]): float(m[2]) for m in re.finditer(r"\[(\d+)\] = (\S+)", text)}
        wrong = [at for at in self.places() if got.get(at) != self.result(at)]
        if wrong:
            raise SystemExit(f"Oclgrind's {self.name} has {got.get(wrong[0])} at {wrong[0]}, not {self.result(wrong[0])}")


KERNELS = (
    Kernel("vadd", (1 << 20, 1), (256, 1), [f"range=0:1:{(1 << 20) - 1}", "fill=2"], 1 << 20, lambda i: i + 2),
    Kernel("collatz", (65536, 1), (256, 1), ["range=1:1:65536"], 65536, lambda i: steps(i + 1)),
    Kernel("matmul_naive", (SIDE, SIDE), (16, 16), ["fill=2", "fill=0.5"], SIDE, lambda i: SIDE),
)


def oclgrind(kernel, is_whole, options, printed=False):
    """Seconds of the processor that a run takes, and what it prints."""
    with tempfile.NamedTemporaryFile("w", suffix=".sim") as sim:
        sim.write(kernel.sim(is_whole, printed))
        sim.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(["oclgrind-kernel", "--num-threads", "1", *options, sim.name], check=True, text=True,
                             capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, run.stdout


def measured(kernel, options):
    """Seconds of the whole grid without those of one work-group, the least of some runs."""
    kernel.check(oclgrind(kernel, False, options, printed=True)[1])
    whole, alone = (min(oclgrind(kernel, is_whole, options)[0] for _ in range(RUNS)) for is_whole in (True, False))
    return whole - alone


def ours(text, kernel):
    """Seconds of a kernel in what the example prints."""
    part = text.split(TARGET, 1)[1]
    found = re.search(rf"^{kernel.name} .* ([\d.]+) s .* (\d+) waves", part, re.M)
    if not found or int(found[2]) * LANES != kernel.items:
        raise SystemExit(f"{kernel.name} of {TARGET} wasn't measured with {kernel.items:,} work-items")
    return float(found[1])


def rows(plain, checked):
    for kernel in KERNELS:
        theirs, with_checks = measured(kernel, []), measured(kernel, CHECKS)
        own, own_checked = ours(plain, kernel), ours(checked, kernel)
        yield [f"{kernel.name}, {kernel.items:,} work-items", f"{theirs:.2f} s", f"{own:.3f} s", f"{theirs / own:.0f}",
               f"{with_checks:.2f} s", f"{own_checked:.3f} s", f"{with_checks / own_checked:.0f}"]


def main():
    given = report.arguments(__doc__)
    plain, checked = ((given.folder / name).read_text() for name in ("plain.txt", "checked.txt"))
    heads = ["kernel", "Oclgrind", "rkfd", "times as fast", "Oclgrind, races and uninitialized values",
             "rkfd, waits, races, schedule and caches", "times as fast"]
    written = report.table(heads, list(rows(plain, checked))) + "\n"
    report.give(given, BEGIN, END, written)


if __name__ == "__main__":
    main()
