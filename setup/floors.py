#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Check that the rooms of each source tree stand on each other, and a few rules of the code.

usage: floors.py [--top FOLDER] [--report]

setup/floors.toml lists, for each tree, its floors from the ground up. A room is a module path
("sched", "engines::cp"); a file belongs to the room with the longest path that it starts with.
A room may import from rooms on lower floors only, so circles between rooms are impossible.
Files within one room may form circles only as far as `circles` of the tree allows.
Each finding names the file, the line and the rule; the exit status is 1 if there is one.
--report also prints the number of files, rooms and imports of each tree.
"""
import argparse
import pathlib
import re
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import rustread  # noqa: E402


class Findings:
    """Collects findings and prints each on a line of its own, as compilers do."""

    def __init__(self):
        self.count = 0

    def add(self, file, line, rule, text):
        self.count += 1
        print(f"{file}:{line}: {rule}: {text}")


def room_of(module, rooms):
    """The room with the longest path that the module path starts with, or None."""
    parts = module.split("::")
    for length in range(len(parts), 0, -1):
        name = "::".join(parts[:length])
        if name in rooms:
            return name
    return None


def check_tree(name, tree, top, findings, report):
    """Check the arrows between the rooms of one tree, and circles between files."""
    files = rustread.modules(top / tree["root"], top)
    floor = {room: height for height, rooms in enumerate(tree["floors"]) for room in rooms}
    arrows, count = {}, 0
    for module, file in files.items():
        home = room_of(module, floor)
        if home is None:
            if module:
                findings.add(file.path, 1, "no room", f"module '{module}' belongs to no room of tree '{name}' in setup/floors.toml")
            continue
        for line, target in file.imports(files):
            count += 1
            there = room_of(target, floor)
            if there == home:
                arrows.setdefault(module, set()).add(target)
            if there is None or there == home:
                continue
            if floor[there] > floor[home]:
                findings.add(file.path, line, "import goes up", f"room '{home}' imports '{target}' of the higher room '{there}'")
            elif floor[there] == floor[home]:
                findings.add(file.path, line, "import goes sideways", f"room '{home}' imports '{target}' of room '{there}' on the same floor")
    circles = rustread.circles(arrows)
    allowed = tree.get("circles", 0)
    if sum(map(len, circles)) > allowed:
        for circle in circles:
            findings.add(files[circle[0]].path, 1, "circle", f"{len(circle)} files import each other: {', '.join(circle)}")
    for room in floor:
        if not any(room_of(module, floor) == room for module in files):
            findings.add("setup/floors.toml", 1, "no such room", f"tree '{name}' has no module for room '{room}'")
    if report:
        print(f"{name}: {len(files)} files, {len(floor)} rooms on {len(tree['floors'])} floors, "
              f"{count} imports, {sum(map(len, circles))} files in circles within rooms")


def check_rule(rule, top, findings):
    """Check one rule of the form: no line of these files matches this pattern."""
    pattern = re.compile(rule["pattern"])
    for path in rustread.sources(top, rule["in"], rule.get("except", [])):
        file = rustread.File(path, path.relative_to(top), tests=rule.get("tests", False))
        for number, line in enumerate(file.code.split("\n"), 1):
            if pattern.search(line) and not re.search(rule.get("unless", r"(?!)"), file.lines[number - 1]):
                findings.add(file.path, number, rule["name"], line.strip()[:100])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--top", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments.add_argument("--report", action="store_true")
    options = arguments.parse_args()
    plan = tomllib.loads((options.top / "setup/floors.toml").read_text())
    findings = Findings()
    for name, tree in plan["tree"].items():
        check_tree(name, tree, options.top, findings, options.report)
    for rule in plan.get("rule", []):
        check_rule(rule, options.top, findings)
    if findings.count:
        print(f"{findings.count} findings; ARCHITECTURE.md explains the floors", file=sys.stderr)
    sys.exit(findings.count > 0)


if __name__ == "__main__":
    main()
