#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report of benchmarks judges as it says: tests/bench/report.py, on figures made here."""
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import report

KEYS = ("register_loads", "register_stores", "table_words", "cleared_bytes", "polls", "sleeps", "flushes", "flush_requests",
        "packets", "maps", "unmaps", "list_words", "copies", "interrupts")


def figure(ratio=2.0, calls=1, **counts):
    """A figure with these counts and no others."""
    return {"ratio": ratio, "floor": 800.0, "samples": 7, "calls": calls, "counts": {key: counts.get(key, 0) for key in KEYS}}


def request(name, calls=1, **counts):
    return {"name": name, **figure(calls=calls, **counts)}


def curve(name, *points, **counts):
    """A curve of (number, ratio)."""
    return {"name": name, "points": [{"n": n, **figure(ratio, **counts)} for n, ratio in points]}


class Verdicts(unittest.TestCase):
    """Each aim is met, missed, or not measured."""

    def verdict(self, judge, *requests):
        return judge(list(requests))[1].split(":")[0]

    def test_sleeps(self):
        self.assertEqual(self.verdict(report.sleeps, request("A", sleeps=2, polls=2, packets=1)), "met")
        self.assertEqual(self.verdict(report.sleeps, request("A", sleeps=2, polls=1, packets=1)), "missed")
        self.assertEqual(self.verdict(report.sleeps), "not measured")
        self.assertEqual(self.verdict(report.local, request("A"), request("B", sleeps=2, polls=2, packets=1)), "met")
        self.assertEqual(self.verdict(report.local, request("A", sleeps=1)), "missed")

    def test_idle(self):
        made, ended = request("CREATE_QUEUE/idle", maps=1), request("DESTROY_QUEUE/idle", unmaps=1)
        self.assertEqual(self.verdict(report.idle, made, ended), "met")
        self.assertEqual(self.verdict(report.idle, made), "not measured")
        self.assertEqual(self.verdict(report.idle, request("CREATE_QUEUE/idle", maps=2), ended), "missed")
        self.assertEqual(self.verdict(report.idle, made, request("DESTROY_QUEUE/idle")), "missed")

    def test_memory(self):
        two = "MAP_MEMORY_TO_GPU/vram-2m"
        self.assertEqual(self.verdict(report.leaves, request(two, calls=4, table_words=4)), "met")
        self.assertEqual(self.verdict(report.leaves, request(two, calls=4, table_words=5)), "missed")
        self.assertEqual(self.verdict(report.leaves, request("MAP_MEMORY_TO_GPU/vram-256m", table_words=128)), "not measured")
        self.assertEqual(self.verdict(report.cleared, request("ALLOC_MEMORY_OF_GPU/vram-4k", copies=1)), "met")
        self.assertEqual(self.verdict(report.cleared, request("ALLOC_MEMORY_OF_GPU/vram-4k", cleared_bytes=4096)), "missed")

    def test_growth(self):
        numbers = (0, 250, 1000, 4000, 16_000, 61_440)
        shapes = {"level": lambda n: 5.0, "logarithmic": lambda n: math.log2(n + 2), "linear": lambda n: 100 + n / 100}
        for name, shape, verdict in [("MAP/objects", "level", "met"), ("MAP/objects", "logarithmic", "met"),
                                     ("MAP/objects", "linear", "missed"), ("exit/objects", "linear", "met")]:
            points = [(n, shapes[shape](n)) for n in numbers]
            self.assertEqual(report.grows(curve(name, *points))[2], verdict, (name, shape))
        steep = [(n, n ** 1.5 + 1) for n in numbers]
        self.assertEqual(report.grows(curve("exit/objects", *steep))[2], "missed")
        self.assertEqual(report.grows(curve("MAP/objects", (0, 1.0), (1, 1.0)))[2], "not measured")
        # A machine that others use took as long beside fewer.
        up_and_down = [(1, 1.0), (4000, 1.9), (16000, 1.0), (60000, 1.6)]
        self.assertEqual(report.grows(curve("MAP/objects", *up_and_down))[2], "met")
        self.assertEqual(report.grows(curve("MAP/objects", *up_and_down[:1], (4000, 1.1), *up_and_down[2:]))[2], "missed")

    def test_own_part(self):
        name = "CREATE_QUEUE/queues-on-of-this-process"
        few, many = figure(3, list_words=50, packets=4), figure(9, list_words=900, packets=4)
        self.assertEqual(report.grows({"name": name, "points": [{"n": 1, **few}, {"n": 64, **many}]})[2], "met")
        # Without run lists all that grows is the driver's.
        alone = [(n, 3 + n / 8) for n in (1, 4, 16, 64, 254)]
        self.assertEqual(report.grows(curve(name, *alone))[2], "missed")
        many["counts"]["packets"] = 5
        self.assertEqual(report.grows({"name": name, "points": [{"n": 1, **few}, {"n": 64, **many}]})[2], "missed: packets")


class Floors(unittest.TestCase):
    """What a point's time is compared with."""

    def test_few_samples_share_a_floor(self):
        disturbed = curve("exit/objects", (0, 10.0), (4000, 10.0), (16_000, 120.0))
        for point, floor in zip(disturbed["points"], (1000.0, 4000.0, 1000.0)):
            point.update(samples=3, floor=floor)
        self.assertEqual(report.grows(disturbed)[2], "missed")
        report.share_floor(disturbed)
        self.assertEqual([p["ratio"] for p in disturbed["points"]], [10.0, 40.0, 120.0])
        self.assertEqual(report.grows(disturbed)[2], "met")
        # Many samples have many floors.
        many = curve("MAP/objects", (1, 5.0), (4, 5.0))
        many["points"][1]["floor"] = 400.0
        report.share_floor(many)
        self.assertEqual([p["ratio"] for p in many["points"]], [5.0, 5.0])


class Document(unittest.TestCase):
    """What the document gets."""

    def test_figures_are_put_in(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for chip in ("navi48", "mi308x"):
                run = {"chip": chip, "accel": "TCG", "requests": [request("GET_VERSION")],
                       "curves": [curve("exit/queues", (0, 3.0), (4, 5.0), (16, 18.0))],
                       "memory": [{"name": "event", "count": 4000, "kernel": 512_000, "vram": 0}]}
                (folder / f"{chip}.json").write_text(json.dumps(run))
            document = folder / "performance.md"
            document.write_text(f"# P\n\n{report.BEGIN}\nold\n{report.END}\n\nmore\n")
            script = pathlib.Path(report.__file__)
            for _ in range(2):
                subprocess.run([sys.executable, script, name, "--docs", document], check=True)
            text = document.read_text()
            self.assertNotIn("old", text)
            self.assertTrue(text.startswith("# P\n") and text.endswith("\n\nmore\n"))
            self.assertEqual(text.count("| GET_VERSION |"), 2)
            self.assertIn("| event | navi48 | 4,000 | 128 | 0 |", text)
            self.assertIn("](performance/exits.svg)", text)
            picture = xml.etree.ElementTree.parse(folder / "performance" / "exits.svg")
            lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
            self.assertEqual([len(line.get("points").split()) for line in lines], [3, 3])

    def test_no_place(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "navi48.json").write_text(json.dumps({"chip": "navi48", "accel": "TCG", "requests": [], "curves": []}))
            (folder / "p.md").write_text("# P\n")
            done = subprocess.run([sys.executable, report.__file__, name, "--docs", folder / "p.md"], capture_output=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertEqual((folder / "p.md").read_text(), "# P\n")


if __name__ == "__main__":
    unittest.main()
