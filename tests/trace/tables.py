# SPDX-License-Identifier: MIT OR Apache-2.0
"""A Perfetto trace as tables of SQL, with the names and columns that Perfetto's trace processor gives them.

The trace processor is no part of Perfetto's package in PyPI, which fetches it when it is first used, nor of
Debian's. So the file is read by Perfetto's own schema (`perfetto_trace_pb2`), and SQLite, on which the trace
processor is built too, answers the queries. Of its tables those are here that `facts.sql` needs:
https://perfetto.dev/docs/analysis/sql-tables
"""
import collections
import sqlite3

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

TABLES = """
CREATE TABLE track (id INTEGER PRIMARY KEY, name TEXT, parent_id INTEGER);
CREATE TABLE slice (id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, name TEXT, track_id INTEGER, arg_set_id INTEGER);
CREATE TABLE flow (slice_out INTEGER, slice_in INTEGER);
CREATE TABLE counter (ts INTEGER, value REAL, track_id INTEGER);
CREATE TABLE args (arg_set_id INTEGER, key TEXT, string_value TEXT);
"""


def unknown(packet):
    """How many fields the schema doesn't have."""
    parts = [packet, packet.track_event, packet.track_descriptor, *packet.track_event.debug_annotations]
    return sum(len(UnknownFieldSet(part)) for part in parts)


class Tables:
    """The tables of a file, in `self.db`; what is wrong with the file raises ValueError."""

    def __init__(self, path):
        self.db = sqlite3.connect(":memory:")
        self.db.executescript(TABLES)
        self.next, self.open, self.flows = 0, collections.defaultdict(list), collections.defaultdict(list)
        trace = schema.Trace()
        with open(path, "rb") as file:
            trace.ParseFromString(file.read())
        self.packets = len(trace.packet)
        if found := sum(map(unknown, trace.packet)):
            raise ValueError(f"{found} fields that Perfetto's schema doesn't have")
        for packet in trace.packet:
            if packet.HasField("track_descriptor"):
                track = packet.track_descriptor
                parent = track.parent_uuid if track.HasField("parent_uuid") else None
                self.db.execute("INSERT INTO track VALUES (?, ?, ?)", (track.uuid, track.name, parent))
            if packet.HasField("track_event"):
                self.event(packet.timestamp, packet.track_event)
        if left := {track: ids for track, ids in self.open.items() if ids}:
            raise ValueError(f"slices that don't end: {left}")
        for ids in self.flows.values():
            self.db.executemany("INSERT INTO flow VALUES (?, ?)", zip(ids, ids[1:]))

    def event(self, ts, event):
        """An event of a track."""
        track = event.track_uuid
        if event.type == event.TYPE_SLICE_END:
            if not self.open[track]:
                raise ValueError(f"a slice of track {track} ends that has not begun")
            self.db.execute("UPDATE slice SET dur = ? - ts WHERE id = ?", (ts, self.open[track].pop()))
        elif event.type == event.TYPE_COUNTER:
            self.db.execute("INSERT INTO counter VALUES (?, ?, ?)", (ts, event.counter_value, track))
        else:
            number, self.next = self.next, self.next + 1
            row = (number, ts, 0, event.name, track, number)
            self.db.execute("INSERT INTO slice VALUES (?, ?, ?, ?, ?, ?)", row)
            args = [(number, f"debug.{arg.name}", arg.string_value) for arg in event.debug_annotations]
            self.db.executemany("INSERT INTO args VALUES (?, ?, ?)", args)
            if event.type == event.TYPE_SLICE_BEGIN:
                self.open[track].append(number)
            for flow in event.flow_ids:
                self.flows[flow].append(number)
