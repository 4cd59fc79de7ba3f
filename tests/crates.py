#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The crates' tests, in the Debian root: tests/crates.py [CARGO-ARGUMENT...]

Cargo runs test programs one after the other, and each of them ends with one long test. This builds
them as cargo does and runs as many side by side as there are processors, those that took longest
the last time first. What one prints comes out whole when it ends. Doc tests come last.
"""

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

TIMES = os.path.join(os.environ["CARGO_TARGET_DIR"], "test-times.json")
lock = threading.Lock()


def build(arguments):
    """Builds the test programs: pairs of a program and the folder of its package."""
    command = ["cargo", "test", "--no-run", "--message-format=json-render-diagnostics"]
    found = []
    with subprocess.Popen(command + arguments, stdout=subprocess.PIPE, text=True) as cargo:
        for line in cargo.stdout:
            message = json.loads(line)
            if message.get("executable") and message["profile"]["test"]:
                found.append((message["executable"], os.path.dirname(message["manifest_path"])))
    if cargo.returncode != 0:
        sys.exit(cargo.returncode)
    return found


def without_doc_tests():
    """Arguments that leave out packages whose library has `doctest = false`: `--doc` asks for them all
    the same."""
    metadata = ["cargo", "metadata", "--no-deps", "--format-version=1"]
    metadata = subprocess.run(metadata, stdout=subprocess.PIPE, text=True, check=True)
    off = []
    for package in json.loads(metadata.stdout)["packages"]:
        if any("lib" in target["kind"] and not target["doctest"] for target in package["targets"]):
            off.append(f"--exclude={package['name']}")
    return off


def name_of(program):
    """A program's name, without the hash of its build."""
    return os.path.basename(program).rsplit("-", 1)[0]


def run(program, folder):
    """Runs one program: whether it passed, and its time."""
    begin = time.monotonic()
    done = subprocess.run(
        [program, "--quiet"],
        cwd=folder,
        env=os.environ | {"CARGO_MANIFEST_DIR": folder},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    took = time.monotonic() - begin
    with lock:
        print(f"     Running {os.path.relpath(folder, '/rkfd')}: {name_of(program)} ({took:.1f} s)")
        print(done.stdout.rstrip(), flush=True)
    return done.returncode == 0, took


def main():
    programs = build(sys.argv[1:])
    try:
        with open(TIMES, encoding="utf-8") as file:
            times = json.load(file)
    except (OSError, ValueError):
        times = {}
    key = lambda pair: f"{pair[1]} {name_of(pair[0])}"
    programs.sort(key=lambda pair: -times.get(key(pair), 0))
    good = True
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {pool.submit(run, *pair): pair for pair in programs}
        for ended in as_completed(runs):
            passed, times[key(runs[ended])] = ended.result()
            good = good and passed
    with open(TIMES, "w", encoding="utf-8") as file:
        json.dump(times, file, indent=1)
    if "--workspace" in sys.argv:
        command = ["cargo", "test", "--quiet", "--doc"] + without_doc_tests() + sys.argv[1:]
        doc = subprocess.run(command, check=False)
        good = good and doc.returncode == 0
    sys.exit(not good)


if __name__ == "__main__":
    main()
