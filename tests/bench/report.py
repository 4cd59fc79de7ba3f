#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Judge and draw what requests cost: report.py FOLDER [--docs FILE]

FOLDER has a CHIP.json for each chip, as `rkfd-vm bench --out` writes it. Printed are a table of aims, figures and
verdicts, one of all requests, and one of all curves, in Markdown. --docs puts them between the marks in FILE, with
curves as SVG files in a folder beside FILE that is called as FILE is.

A verdict compares figures of one run, or counts; none compares times of different runs.
"""
import argparse
import json
import math
import pathlib
import re
import statistics
import sys

import curves

# A curve's last stretch may be steeper than its aim by this: measured figures scatter.
NOISE = 1.25
# A point of fewer samples than this has no floor of its own.
FEW = 5
# The least factor between the two points that are compared.
STRETCH = 3
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
# Requests that make a queue, and those that end one, when nothing else is on the device.
IDLE = ("CREATE_QUEUE/idle", "DESTROY_QUEUE/idle")
# Curves whose request names, or ends, as many things as there are: each takes its time.
LINEAR = ("WAIT_EVENTS/events-asked-for", "exit/")
# Beside queues that are on, the protocol has the driver write all of them into the run list.
LISTED = re.compile(r"(CREATE|DESTROY)_QUEUE/queues-on-")
# What the driver itself does for such a request. Not how many registers it loads: it does so again until the device has
# answered.
OWN = ("register_stores", "table_words", "flushes", "packets", "maps", "unmaps", "copies")


def each(request, key):
    """How much of something a call causes, on average."""
    return request["counts"][key] / request["calls"]


def short(number):
    """A number with as many digits as say something."""
    if number == int(number) and number < 10_000:
        return str(int(number))
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def judged(found, figure, bad):
    """A row's figure and verdict: not measured if nothing was found, missed if something is bad."""
    if not found:
        return "not measured", "not measured"
    return figure, "missed: " + ", ".join(bad) if bad else "met"


def sleeps(requests):
    """No request sleeps but when it looked for an answer that had not come."""
    bad = [r["name"] for r in requests if r["counts"]["sleeps"] > r["counts"]["polls"]]
    slept = sum(r["counts"]["sleeps"] for r in requests)
    early = sum(min(r["counts"]["sleeps"], r["counts"]["polls"]) for r in requests)
    return judged(requests, f"{slept} sleeps in {sum(r['calls'] for r in requests)} calls, {early} before the answer", bad)


def local(requests):
    """What needs nothing of the hardware doesn't sleep."""
    quiet = [r for r in requests if not any(r["counts"][k] for k in ("packets", "flush_requests", "copies", "polls"))]
    bad = [r["name"] for r in quiet if r["counts"]["sleeps"]]
    return judged(quiet, f"{sum(r['counts']['sleeps'] for r in quiet)} sleeps in {len(quiet)} requests", bad)


def idle(requests):
    """A queue that is made or ended on an idle device is one map and one unmap at most, and one of them at least."""
    found = [r for r in requests if r["name"] in IDLE]
    bad = [r["name"] for r in found
           if max(each(r, "maps"), each(r, "unmaps")) > 1 or each(r, "maps") + each(r, "unmaps") == 0]
    figures = [f"{r['name'].split('/')[0]} {short(each(r, 'maps'))} and {short(each(r, 'unmaps'))}" for r in found]
    return judged(len(found) == len(IDLE), ", ".join(figures), bad)


def leaves(requests):
    """A map of 2 MiB, beside others, stores one word at most."""
    found = [r for r in requests if re.fullmatch(r"MAP_MEMORY_TO_GPU/\w+-2m", r["name"])]
    bad = [r["name"] for r in found if each(r, "table_words") > 1]
    return judged(found, ", ".join(f"{r['name'].split('/')[1]} {short(each(r, 'table_words'))}" for r in found), bad)


def cleared(requests):
    """The CPU clears no VRAM through the BAR for a program."""
    found = [r for r in requests if r["name"].startswith("ALLOC_MEMORY_OF_GPU/vram")]
    bad = [r["name"] for r in found if r["counts"]["cleared_bytes"]]
    return judged(found, f"{sum(r['counts']['cleared_bytes'] for r in found)} bytes", bad)


AIMS = [
    ("requests sleep only before the device has answered", sleeps),
    ("requests that need nothing of the device never sleep", local),
    ("CREATE_QUEUE and DESTROY_QUEUE on an idle device: at most one map and one unmap", idle),
    ("MAP of 2 MiB: at most one leaf", leaves),
    ("ALLOC of VRAM: no byte cleared by the CPU through the BAR", cleared),
]


def stretch(points):
    """The last point, the last one before that lies far enough below, and the most that one up to that took; None without these.

    What grows doesn't fall: what a point took beside fewer things is no growth in a later one.
    """
    if not points:
        return None
    last = points[-1]
    before = [p for p in points if p["n"] >= 1 and p["n"] * STRETCH <= last["n"]]
    return (before[-1], last, max(p["ratio"] for p in before)) if before else None


def grows(curve):
    """A curve's aim, figure and verdict."""
    name, points = curve["name"], curve["points"]
    # Firmware that is told of queues one by one has no lists: there time is what counts.
    if LISTED.match(name) and any(p["counts"]["list_words"] for p in points):
        aim = "the driver's own part constant, by counts"
        # Beside none there may be nothing to take off.
        there = [p for p in points if p["n"] >= 1]
        if len(there) < 2:
            return aim, "not measured", "not measured"
        first, last = there[0], there[-1]
        bad = [k for k in OWN if each(last, k) > each(first, k)]
        words = f"{short(each(first, 'list_words'))} to {short(each(last, 'list_words'))}"
        figure = f"{first['n']:,} to {last['n']:,}: run lists of {words} words, time ×{last['ratio'] / first['ratio']:.2f}"
        return aim, figure, "missed: " + ", ".join(bad) if bad else "met"
    linear = name.startswith(LINEAR)
    aim = "at most linear" if linear else "at most logarithmic"
    compared = stretch(points)
    if compared is None:
        return aim, "not measured", "not measured"
    first, last, most = compared
    much = last["n"] / first["n"] if linear else math.log2(last["n"] + 1) / math.log2(first["n"] + 1)
    grown = last["ratio"] / most
    allowed = much * NOISE
    figure = f"{first['n']:,} to {last['n']:,}: ×{grown:.2f}, allowed ×{allowed:.2f}"
    return aim, figure, "met" if grown <= allowed else "missed"


def table(heads, rows):
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def verdicts(runs):
    """The table of aims."""
    rows = []
    for aim, judge in AIMS:
        rows += [[aim, run["chip"], *judge(run["requests"])] for run in runs]
    names = dict.fromkeys(c["name"] for run in runs for c in run["curves"])
    for name in names:
        for run in runs:
            for curve in (c for c in run["curves"] if c["name"] == name):
                aim, figure, verdict = grows(curve)
                rows.append([f"{name}: {aim}", run["chip"], figure, verdict])
    return table(["aim", "chip", "figure", "verdict"], rows)


def requests(run):
    """The table of a chip's requests."""
    keys = [("packets", "packets"), ("maps", "maps"), ("unmaps", "unmaps"), ("flushes", "flushes"), ("table words", "table_words"),
            ("loads", "register_loads"), ("stores", "register_stores"), ("copies", "copies"), ("sleeps", "sleeps")]
    rows = [[r["name"], short(r["ratio"]), *(short(each(r, key)) for _, key in keys)] for r in run["requests"]]
    return table([run["chip"], "times the floor", *(head for head, _ in keys)], rows)


def points(runs):
    """The table of all curves' points."""
    rows = []
    for run in runs:
        for curve in run["curves"]:
            steps = ", ".join(f"{p['n']:,}: {short(p['ratio'])}" for p in curve["points"])
            rows.append([curve["name"], run["chip"], steps])
    return table(["curve", "chip", "things there: times the floor"], rows)


def takes(runs):
    """The table of what each thing takes: bytes of the kernel's memory, and of VRAM."""
    rows = []
    for run in runs:
        for taken in run.get("memory", []):
            count = taken["count"]
            rows.append([taken["name"], run["chip"], f"{count:,}", *(short(taken[key] / count) for key in ("kernel", "vram"))])
    return table(["one of", "chip", "made", "bytes of the kernel's memory", "bytes of VRAM"], rows)


def text(runs, folder):
    """Everything, in Markdown; `folder` is where the SVG files are, for links."""
    conditions = ", ".join(f"{run['chip']} by {run['accel']}" for run in runs)
    parts = [f"Of one run each: {conditions}.", verdicts(runs)]
    if folder:
        parts += [f"![{title}]({folder}/{name}.svg)" for name, title, _ in curves.drawings(runs)]
    parts += [points(runs), *(requests(run) for run in runs if run["requests"])]
    if any(run.get("memory") for run in runs):
        parts.append(takes(runs))
    return "\n\n".join(parts) + "\n"


def share_floor(curve):
    """Of a point with few samples one disturbed floor is the figure. Such a curve's points have the median of their floors."""
    few = [p for p in curve["points"] if p["samples"] < FEW]
    if len(few) == len(curve["points"]) > 0:
        floor = statistics.median(p["floor"] for p in few)
        for point in few:
            point["ratio"] *= point["floor"] / floor
            point["floor"] = floor


def load(folder):
    """The runs of a folder, in order of the chips' names."""
    runs = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    if not runs:
        raise SystemExit(f"{folder} has no figures")
    for run in runs:
        for curve in run.get("curves", []):
            share_floor(curve)
    return runs


def arguments(doc):
    """What the command line says: a folder, and a document."""
    parser = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path)
    return parser.parse_args()


def place(file, begin, end, written):
    """Puts a text between two marks of a document."""
    before, found, rest = file.read_text().partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        sys.exit(f"{file} has no place for figures: {begin} and {end}")
    file.write_text(f"{before}{begin}\n\n{written}\n{end}{after}")


def give(given, begin, end, written):
    """Prints a text, or puts it between the marks of the document that the command line names."""
    if given.docs:
        place(given.docs, begin, end, written)
    else:
        print(written, end="")


def main():
    given = arguments(__doc__)
    runs = load(given.folder)
    if not given.docs:
        print(text(runs, None), end="")
        return
    pictures = given.docs.with_suffix("")
    place(given.docs, BEGIN, END, text(runs, pictures.name))
    pictures.mkdir(exist_ok=True)
    for old in pictures.glob("*.svg"):
        old.unlink()
    for name, _, picture in curves.drawings(runs):
        (pictures / f"{name}.svg").write_text(picture)


if __name__ == "__main__":
    main()
