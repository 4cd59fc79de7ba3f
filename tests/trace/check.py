#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""check.py TRACE SUMMARY: asks a Perfetto trace by SQL what it counts, and compares that with the summary.

Needs the packages perfetto and protobuf of PyPI.
"""
import pathlib
import re
import sys

from tables import Tables

# The way of a dispatch, from its packet's store to whoever waited; the kernel's own name stands for itself.
STEPS = ["enqueue", "doorbell", "aql KERNEL_DISPATCH", None, "signal", "interrupt", "ih_entry", "signal", "woken"]
WAYS = """
WITH RECURSIVE way (first, id, nth) AS (
    SELECT slice_out, slice_out, 0 FROM flow WHERE slice_out NOT IN (SELECT slice_in FROM flow)
    UNION SELECT first, slice_in, nth + 1 FROM way JOIN flow ON slice_out = way.id)
SELECT first, slice.name FROM way JOIN slice USING (id) ORDER BY first, nth
"""


def facts():
    """Each query of facts.sql with its name."""
    text = pathlib.Path(__file__).with_name("facts.sql").read_text(encoding="utf-8")
    return re.findall(r"^-- ([\w ]+)\n((?:SELECT|WITH)[^;]*);", text, re.M)


def main():
    path, summary = sys.argv[1:]
    lines = pathlib.Path(summary).read_text(encoding="utf-8").splitlines()
    tables = Tables(path)
    ask = lambda query: tables.db.execute(query).fetchall()
    queries = facts()
    for name, query in queries:
        line = next((line for line in lines if re.match(rf"{name} {{2,}}", line)), "")
        wanted = [int(number) for number in re.findall(r"(?<![\w.])\d+", line[len(name):])]
        found = [number or 0 for number in ask(query)[0]]
        if not wanted or found != wanted:
            sys.exit(f"{path}: {name}: the trace has {found}, the summary {wanted}")
    ways = {}
    for first, name in ask(WAYS):
        ways.setdefault(first, []).append(name)
    launches = ask(dict(queries)["launches"])[0][0]
    if len(ways) != launches:
        sys.exit(f"{path}: {len(ways)} of {launches} dispatches have arrows")
    for names in ways.values():
        if len(names) != len(STEPS) or any(step not in (None, name) for step, name in zip(STEPS, names)):
            sys.exit(f"{path}: a dispatch goes through {names}")
    tracks = ask("SELECT COUNT(*) FROM track")[0][0]
    print(f"Perfetto's schema reads it: {tables.packets} packets, {tracks} tracks; SQL counts the {len(queries)} facts as the summary")


if __name__ == "__main__":
    main()
