#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""How large the parts are: footprint.py MODULE TARGET

MODULE is rkfd.ko; TARGET has what cargo has built in release: the emulated GPU, and the library's example vector_add.
Printed are the module's bytes by kind, how long an emulated GPU takes until QEMU can connect and what it has of the
host's memory then, and by how much the example is larger than a program that does nothing.
"""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CHIPS = ("mi308x", "navi48")
# How often an emulated GPU is started.
STARTS = 9
NOTHING = "fn main() {}\n"


def output(*command):
    """What a program prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def module(path):
    """Bytes of code and constants, of data, and of what is zero at first: what stays in memory."""
    heads, figures = (line.split() for line in output("llvm-size-19", path).splitlines())
    sizes = dict(zip(heads, figures))
    return [int(sizes[kind]) for kind in ("text", "data", "bss")]


def started(emulator, chip, folder):
    """Seconds until an emulated GPU is ready, and KiB of the host's memory that it has then."""
    command = [emulator, "--chip", chip, "--socket", str(folder / "gpu.sock")]
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout.readline().strip() != "ready":
                sys.exit(f"footprint: {emulator} --chip {chip} doesn't start")
            took = time.monotonic() - begin
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        finally:
            process.terminate()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return took, int(fields["VmRSS"].split()[0])


def stripped(program, folder):
    """Bytes of a program without its symbols."""
    copy = folder / "stripped"
    output("llvm-strip-19", "-o", str(copy), str(program))
    return copy.stat().st_size


def library(example):
    """Bytes of the example, and of a program that does nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = folder / "nothing.rs"
        source.write_text(NOTHING, encoding="ascii")
        output("rustc", "-Copt-level=3", "-o", str(folder / "nothing"), str(source))
        return stripped(example, folder), stripped(folder / "nothing", folder)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n", maxsplit=1)[0])
    target = pathlib.Path(sys.argv[2])
    rows = [("module: code and constants, data, zeros", " + ".join(f"{size:,}" for size in module(sys.argv[1])) + " bytes")]
    for chip in CHIPS:
        found = []
        for _ in range(STARTS):
            with tempfile.TemporaryDirectory() as name:
                found.append(started(str(target / "rkfd-emulator"), chip, pathlib.Path(name)))
        took = statistics.median(took for took, _ in found)
        kib = statistics.median(kib for _, kib in found)
        rows.append((f"emulated {chip}: until it is ready, and memory then", f"{took * 1000:.0f} ms, {kib / 1024:.1f} MiB"))
    whole, nothing = library(target / "examples" / "vector_add")
    rows.append(("example vector_add of the library, beside a program that does nothing", f"{whole:,} and {nothing:,} bytes"))
    print("| | |\n| --- | --- |")
    for name, figure in rows:
        print(f"| {name} | {figure} |")


if __name__ == "__main__":
    main()
