#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compare what requests cost with two drivers: rivals.py FOLDER [--docs FILE]

FOLDER has a CHIP.json for each chip, as `rkfd-vm bench-amdgpu --out` writes it: the same requests with our driver, with
Linux's, and with Linux's loaded anew, in one machine, each as a multiple of a floor that knows no driver. Printed is a table
in Markdown; --docs puts it between the marks in FILE.

A difference counts where it is larger than twice what the two runs of Linux's driver differ by.
"""
import math

import report

BEGIN, END = "<!-- rivals -->", "<!-- end of rivals -->"
OURS = "rkfd"
# Below this a difference says nothing on a machine that others use.
LEAST = 1.1


def compared(theirs, ours, again):
    """How many times as long as theirs ours takes, and what that says."""
    ratio = ours / math.sqrt(theirs * again)
    noise = max(theirs / again, again / theirs)
    limit = max(noise * noise, LEAST)
    if 1 / limit <= ratio <= limit:
        return ratio, "no difference beyond noise"
    return ratio, "slower" if ratio > 1 else "faster"


def rows(run):
    """A row for each request."""
    runs = run["runs"]
    drivers = [one["driver"] for one in runs]
    if len(runs) != 3 or drivers[0] != OURS or drivers[1] == OURS or drivers[1] != drivers[2]:
        raise SystemExit(f"{run['chip']}: not measured with our driver, and twice with another")
    ours, theirs, again = (one["costs"] for one in runs)
    for name in ours:
        ratio, verdict = compared(theirs[name], ours[name], again[name])
        yield [name, *(report.short(costs[name]) for costs in (theirs, again, ours)), f"{ratio:.2f}", verdict]


def text(runs):
    """Everything, in Markdown."""
    parts = []
    for run in runs:
        heads = [f"{run['chip']} by {run['accel']}", "amdgpu", "amdgpu again", "rkfd", "rkfd / amdgpu", "rkfd is"]
        parts.append(report.table(heads, rows(run)))
    return "\n\n".join(parts) + "\n"


def main():
    given = report.arguments(__doc__)
    written = text(report.load(given.folder))
    report.give(given, BEGIN, END, written)


if __name__ == "__main__":
    main()
