#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Check that every file that a document names or links to is there.

usage: docs.py [--top FOLDER]

Looked at are links `[text](path)` and code in backticks that starts with a folder of the checkout,
such as `rust/sched/`. A name in angle brackets, `hw/regs/<block>.rs`, and a star stand for any.
Each missing file is reported with its document and line; the exit status is 1 if there is one.
"""
import argparse
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
CODE = re.compile(r"`([^`\s]+)`")
FOLDERS = ("rust", "hw", "uapi", "emulator", "userspace", "tests", "setup", "docs")
BUILT = re.compile(r"\.(ko|html)$|target/")


def names(document, top):
    """Yield (line, name, folder that it is relative to) for each file that the document names."""
    for number, line in enumerate(document.read_text().split("\n"), 1):
        for found in LINK.finditer(line):
            yield number, found.group(1), document.parent
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
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
