#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Write the SDMA packet tables of this folder from Linux's packet headers.

usage: generate.py LINUX-SOURCE-TREE

Facts only: names and places. The headers give a field in pieces of a word (`_31_0`, `_63_32`); pieces
that continue each other become one field. A packet's data that follows its last fixed word
(`data0`) is left out.
"""
import pathlib, re, sys

AMDGPU = pathlib.Path(sys.argv[1]) / "drivers/gpu/drm/amd/amdgpu"
HERE = pathlib.Path(__file__).parent

# Packet in the header, type here, what it does.
PACKETS = [
    ("NOP", "Nop", "Skipped, with the words that it counts."),
    ("COPY_LINEAR", "CopyLinear", "Copies bytes."),
    ("COPY_BROADCAST_LINEAR", "CopyBroadcast", "Copies bytes to two places."),
    ("COPY_LINEAR_SUBWIN", "CopyRect", "Copies a box of elements between two pitched images."),
    ("WRITE_UNTILED", "WriteLinear", "Writes the words that follow."),
    ("WRITE_INCR", "WriteIncremented", "Writes words of 64 bits that grow by a constant, with bits set in each: page table entries."),
    ("INDIRECT", "Indirect", "Executes the packets of an indirect buffer."),
    ("FENCE", "Fence", "Writes a word after everything before has arrived."),
    ("TRAP", "Trap", "Raises an interrupt."),
    ("POLL_REGMEM", "PollRegmem", "Waits for a value in memory or in a register."),
    ("COND_EXE", "CondExe", "Skips words unless a word in memory has a value."),
    ("ATOMIC", "Atomic", "Changes memory atomically."),
    ("CONSTANT_FILL", "ConstantFill", "Fills memory with a pattern."),
    ("TIMESTAMP_GET_GLOBAL", "TimestampGlobal", "Writes the device's clock."),
    ("SRBM_WRITE", "SrbmWrite", "Writes a register."),
    ("GCR_REQ", "GcrReq", "Writes back and invalidates the graphics caches."),
]
# What is not as the header has it: (table, packet) -> {field: (word, hi, lo)}, and the source. A field
# that the header lacks comes last.
COUNT_30 = "30 bits: `sdma_v4_4_2_buffer_funcs` copies and fills up to `1 << 30` bytes at once."
GFX12_RECT = ("gfx12 has wider fields than SDMA 6.0, whose header Linux uses for 7.0 too: "
              "ROCr, `core/inc/sdma_registers.h`, `SDMA_PKT_COPY_LINEAR_RECT_GFX12`.")
RECT = dict(src_x=(3, 15, 0), src_y=(3, 31, 16), src_z=(4, 13, 0), src_pitch=(4, 31, 16), src_slice_pitch=(5, 31, 0),
            dst_x=(8, 15, 0), dst_y=(8, 31, 16), dst_z=(9, 13, 0), dst_pitch=(9, 31, 16), dst_slice_pitch=(10, 31, 0),
            rect_x=(11, 15, 0), rect_y=(11, 31, 16), rect_z=(12, 13, 0), dst_sw=None, src_sw=None,
            dst_cache_policy=(12, 22, 20), src_cache_policy=(12, 30, 28))
COMPRESS = ("SDMA 7.0 has a bit for compressed memory where the header has the low bit of `sw`: Linux, "
            "`sdma_v7_0.c`, `SDMA_PKT_CONSTANT_FILL_HEADER_COMPRESS`.")
OTHER = {("v4_4", "COPY_LINEAR"): (COUNT_30, dict(count=(1, 29, 0))),
         ("v4_4", "COPY_BROADCAST_LINEAR"): (COUNT_30, dict(count=(1, 29, 0))),
         ("v4_4", "CONSTANT_FILL"): (COUNT_30, dict(count=(4, 29, 0))),
         ("v7_0", "COPY_LINEAR_SUBWIN"): (GFX12_RECT, RECT),
         ("v7_0", "CONSTANT_FILL"): (COMPRESS, dict(sw=None, compress=(0, 16, 16)))}
TABLES = [("v4_4", "vega10_sdma_pkt_open.h"), ("v7_0", "sdma_v6_0_0_pkt_open.h")]


def merged(fields):
    """Joins the pieces of a field: [(word, hi, lo, name, c)], hi counted from bit 0 of word."""
    out = []
    for word, hi, lo, name, c in fields:
        m = re.match(r"(.*)_(\d+)_(\d+)$", name)
        if m and out and out[-1][5] == (m[1], int(m[3])) and (out[-1][0] * 32 + out[-1][1] + 1) == word * 32 + lo:
            first = out[-1]
            out[-1] = (first[0], first[1] + hi - lo + 1, first[2], m[1], f"{first[4]}+{c}", (m[1], int(m[2]) + 1))
        else:
            out.append((word, hi, lo, m[1] if m else name, c, (m[1], int(m[2]) + 1) if m else None))
    return [f[:5] for f in out]


def packet(table, header, name):
    """The size of a packet in words and its fields' lines, or None."""
    sections = {s.split()[0]: s for s in (AMDGPU / header).read_text().split("** Definitions for ")[1:]}
    if f"SDMA_PKT_{name}" not in sections:
        return None
    pieces, words, seen = [], 0, set()
    _, other = OTHER.get((table, name), (None, {}))
    for m in re.finditer(r"#define SDMA_PKT_%s_(\w+)_offset (\d+)\n#define \S+_mask\s+(0x\w+)\n#define \S+_shift\s+(\d+)" % name,
                         sections[f"SDMA_PKT_{name}"]):
        c, word, mask, lo = m[1], int(m[2]), int(m[3], 16), int(m[4])
        field = re.match(r"[A-Z]+(?:_?[A-Z0-9]+)*_([a-z]\w*)$", c)[1]
        if field == "data0":
            continue
        words = max(words, word + 1)
        seen.add(field)
        if field in other:
            if other[field]:
                pieces.append((*other[field], field, ""))
        else:
            pieces.append((word, lo + mask.bit_length() - 1, lo, field, c))
    pieces += [(*place, field, "") for field, place in other.items() if place and field not in seen]
    return words, [f'        {field.upper()}: {word}[{hi}:{lo}] = "{c}";' for word, hi, lo, field, c in merged(pieces)]


out = ["// SPDX-License-Identifier: MIT OR Apache-2.0", "// Generated by hw/sdma/generate.py: change that, not this.", "",
       "//! Packets of SDMA: what all generations have at the same place, and what each adds.", "//!",
       "//! Source: Linux, " + ", ".join(f"`drivers/gpu/drm/amd/amdgpu/{header}`" for _, header in TABLES) + ".", "", "packets! {"]
for name, here, doc in PACKETS:
    found = {table: p for table, header in TABLES if (p := packet(table, header, name))}
    common = [f for f in found[max(found)][1] if all(f in lines for _, lines in found.values())]
    out += [f"    /// {doc}", f"    pub struct {here} = \"SDMA_PKT_{name}\" {{", *common, "    }"]
    for table, (words, lines) in found.items():
        note = OTHER.get((table, name), (None,))[0]
        note = f', "{note}"' if note else ""
        only = [f for f in lines if f not in common]
        out += [f"    {table} [{words}{note}] {{", *only, "    }"]
    out.append("")
out[-1] = "}\n"
(HERE / "tables.rs").write_text("\n".join(out))
print(f"{len(PACKETS)} packets")
