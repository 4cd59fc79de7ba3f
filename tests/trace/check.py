#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""check.py TRACE SUMMARY: reads a Perfetto trace by Perfetto's own schema, and compares it with the summary.

Needs the packages perfetto and protobuf of PyPI.
"""
import collections
import re
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema


def unknown(packet):
    """Fields that the schema doesn't have."""
    parts = [packet, packet.track_event, packet.track_descriptor, *packet.track_event.debug_annotations]
    return sum(len(UnknownFieldSet(part)) for part in parts)


def main():
    path, summary = sys.argv[1:]
    trace = schema.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    with open(summary, encoding="utf-8") as file:
        facts = {k: int(v) for k, v in re.findall(r"^(\w[\w ]*?) {2,}(\d+)", file.read(), re.M)}
    tracks, depth, flows = {}, collections.Counter(), collections.defaultdict(list)
    slices = collections.Counter()
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        track = tracks[event.track_uuid]
        if event.type == event.TYPE_SLICE_BEGIN:
            depth[track] += 1
            slices["dispatch" if track.startswith("me1") else track.split()[0]] += 1
        elif event.type == event.TYPE_SLICE_END:
            depth[track] -= 1
            assert depth[track] >= 0, f"a slice of {track} ends that has not begun"
        for flow in event.flow_ids:
            flows[flow].append((packet.timestamp, event.name))
    checks = [
        ("dispatches", slices["dispatch"], facts["launches"]),
        ("requests", slices["thread"], facts["ioctls"]),
        ("dispatches with arrows", len(flows), facts["launches"]),
        ("slices that don't end", sum(depth.values()), 0),
        ("unknown fields", sum(map(unknown, trace.packet)), 0),
    ]
    for what, found, wanted in checks:
        if found != wanted:
            sys.exit(f"{path}: {found} {what}, wanted {wanted}")
    for steps in flows.values():
        names = [name for _, name in sorted(steps)]
        wanted = ["enqueue", "doorbell", "aql KERNEL_DISPATCH", None, "signal", "interrupt", "ih_entry", "signal", "woken"]
        if len(names) != len(wanted) or any(w not in (None, n) for n, w in zip(names, wanted)):
            sys.exit(f"{path}: a dispatch goes through {names}")
    print(f"Perfetto's schema reads it: {len(trace.packet)} packets, {len(tracks)} tracks, as counted")


if __name__ == "__main__":
    main()
