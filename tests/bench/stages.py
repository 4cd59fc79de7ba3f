#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Show where the time of a dispatch goes: stages.py FOLDER [--docs FILE]

FOLDER has a JSON file for each chip, as `make bench ARGS=stages` leaves it in target/bench/stages. Prints a table in
Markdown: of each stage the percentiles in microseconds, and the median as a multiple of the floor. --docs puts it between
the marks in FILE."""
import report

BEGIN, END = "<!-- stages -->", "<!-- end of stages -->"
SHOWN = ["p50", "p90", "p99", "p99.9", "max"]
WAYS = {"polled": "The program polls", "event": "The program sleeps until its event"}


def micros(nanos):
    """Nanoseconds as microseconds, to three digits or so."""
    value = nanos / 1000
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def rows(run, way):
    """A line for each stage, in the order of the run."""
    for times in run[way]:
        yield [times["stage"], *[micros(times[name]) for name in SHOWN], f"{times['p50'] / run['floor']:.1f}"]


def text(runs):
    """The tables of all chips."""
    parts = []
    for run in runs:
        for way, title in WAYS.items():
            heads = [f"{title}: {run['dispatches']:,} dispatches, {run['chip']} by {run['accel']}", *SHOWN, "p50 / floor"]
            parts.append(report.table(heads, rows(run, way)))
        floor, awake = micros(run["floor"]), run["awake"]
        parts.append(f"A request that there is not took {floor} µs. {awake} dispatches ended before the program slept, and don't count.")
    return "\n\n".join(parts) + "\n"


def main():
    given = report.arguments(__doc__)
    runs = report.load(given.folder)
    if given.docs:
        report.place(given.docs, BEGIN, END, text(runs))
    else:
        print(text(runs), end="")


if __name__ == "__main__":
    main()
