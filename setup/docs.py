#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Check that every file that a document names or links to is there.

usage: docs.py [--top FOLDER]

Looked at are links `[text](path)` and code in backticks that starts with a folder of the checkout,
such as `rust/sched/`. A name in angle brackets, `hw/regs/<block>.rs`, and a star stand for any.
In `rust/queue.rs::create` the file has to define the function, type or constant, too, and each step of
docs/dispatch.md has to name one. A link's `#heading` has to be in the document that it leads to.
Each missing file is reported with its document and line; the exit status is 1 if there is one. So it is if a text that
the tables of guards and of planted faults take out of a file isn't there exactly once.
"""
import argparse
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")
CODE = re.compile(r"`([^`\s]+)`")
FOLDERS = ("rust", "hw", "uapi", "emulator", "userspace", "tests", "setup", "docs")
TABLES = ("tests/guards/guards.txt", "tests/kunit/mutants.txt")
BUILT = re.compile(r"\.(ko|html)$|target/")


DEFINES = r"\b(?:fn|struct|enum|trait|mod|const|static|type|union)\s+{}\b"


def undefined(name, top):
    """Whether a Rust file that is there lacks what stands behind `::`."""
    path, _, symbol = name.rstrip(".,").partition("::")
    if not path.endswith(".rs") or not re.fullmatch(r"\w+", symbol) or not (top / path).exists():
        return False
    return not re.search(DEFINES.format(symbol), (top / path).read_text())


def headings(document):
    """The anchors of a document's headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.*)$", document.read_text(), re.M)
    plain = [re.sub(r"[`*\[]|\]\([^)]*\)", "", text).strip().lower() for text in found]
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in plain}


def steps_without_function(document):
    """The numbers of the steps that name no function."""
    steps = re.split(r"^(?=\d+\. )", document.read_text(), flags=re.M)[1:]
    return [step.split(".")[0] for step in steps if not re.search(r"`[\w/]+\.rs::\w+`", step.split("\n#")[0])]


def names(document, top):
    """Yield (line, name, folder that it is relative to) for each file that the document names."""
    for number, line in enumerate(document.read_text().split("\n"), 1):
        for found in LINK.finditer(line):
            if found.group(1):
                yield number, found.group(1), document.parent
            there = document.parent / found.group(1) if found.group(1) else document
            if found.group(2) and there.suffix == ".md" and there.exists() and found.group(2) not in headings(there):
                yield number, f"{found.group(1)}#{found.group(2)}", document.parent
        for found in CODE.finditer(line):
            if found.group(1).split("/")[0] in FOLDERS and "/" in found.group(1):
                yield number, found.group(1), top


def missing(name, folder):
    """Whether no file has that name."""
    name = name.split("::")[0].rstrip(".,")
    if BUILT.search(name):
        return False
    pattern = re.sub(r"<[^>]*>|\{[^}]*\}", "*", name).rstrip("/")
    if "*" in pattern:
        return not any(folder.glob(pattern))
    return not (folder / pattern).exists()


def not_once(table):
    """Yield (name, file, how often) for each text of a table's blocks that isn't in its file exactly once."""
    top = table.parents[2]
    for block in table.read_text().split("\n\n") if table.exists() else []:
        head = re.search(r"^(\S+) (\S+\.rs)\n- (.*)$", block, re.M)
        if head:
            file = top / head.group(2)
            count = file.read_text().count(head.group(3)) if file.exists() else 0
            if count != 1:
                yield head.group(1), head.group(2), count


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--top", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    top = arguments.parse_args().top
    documents = [*top.glob("*.md"), *top.glob("docs/**/*.md"), *top.glob("userspace/**/*.md")]
    bad = 0
    for document in sorted(documents):
        for line, name, folder in names(document, top):
            if missing(name, folder):
                print(f"{document.relative_to(top)}:{line}: no such file: {name}")
                bad += 1
            elif undefined(name, top):
                print(f"{document.relative_to(top)}:{line}: not defined there: {name}")
                bad += 1
    for step in steps_without_function(top / "docs/dispatch.md"):
        print(f"docs/dispatch.md: step {step} names no function")
        bad += 1
    for table in TABLES:
        for name, file, count in not_once(top / table):
            print(f"{table}: {name}: its text is {count} times in {file}")
            bad += 1
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
