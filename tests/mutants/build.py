#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the module with all mutants planted: tests/mutants/build.py COPY KERNEL-TREE

Mutants that the compiler refuses (a statement that gives a variable its value, a constant) are taken
out, until it builds: these can't be faults of a driver that was built. They are noted in COPY/refused.txt, so
that the next build need not find them again. Prints how many are left.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def refused(log, rows):
    """The rows of the mutants at which errors point."""
    out = set()
    for error in re.split(r"\n(?=error)", log):
        if not error.startswith("error"):
            continue
        place = re.search(r"--> \S*?((?:rust|hw|uapi)/\S+?\.rs):(\d+)", error)
        if not place:
            continue
        of_file = [(int(r[3]), tuple(r)) for r in rows if r[2] == place[1]]
        lines = {int(place[2])} | {int(n) for n in re.findall(r"^ *(\d+) +[|/]", error, re.M)}
        hit = {row for line, row in of_file if line in lines}
        if not hit:
            at = max((line for line, _ in of_file if line <= int(place[2])), default=None)
            hit = {row for line, row in of_file if line == at}
        out |= hit
    return out


def main():
    copy, tree = pathlib.Path(sys.argv[1]), sys.argv[2]
    copy.mkdir(parents=True, exist_ok=True)
    noted = copy / "refused.txt"
    for _ in range(12):
        planted = subprocess.run([HERE / "plant.py", copy], check=True, capture_output=True, text=True).stdout
        made = subprocess.run(
            ["make", "-s", "--no-print-directory", "-C", tree, f"M={copy}", "modules"], capture_output=True, text=True
        )
        if made.returncode == 0:
            print(planted, end="")
            return
        rows = [line.split("\t") for line in (copy / "mutants.tsv").read_text().splitlines()]
        bad = refused(made.stdout + made.stderr, rows)
        if not bad:
            sys.exit(made.stderr[-4000:] + "\nthe module with mutants doesn't build, and no mutant is at fault")
        with noted.open("a") as file:
            file.writelines("\t".join((rule, name, text, nth)) + "\n" for _, rule, name, _, text, nth in bad)
        print(f"the compiler refuses {len(bad)} of them", flush=True)
    sys.exit("the module with mutants doesn't build after twelve rounds")


if __name__ == "__main__":
    main()
