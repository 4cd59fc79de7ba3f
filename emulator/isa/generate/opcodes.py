#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Generate the chips' opcode tables from LLVM's TableGen records.

    opcodes.py RECORDS.json TARGET_FOLDER

RECORDS.json is `llvm-tblgen -dump-json AMDGPU.td`. Only facts leave it: which bits of which words
make which mnemonic, how long the encoding is, which encoding family it belongs to and how many
32-bit registers each operand spans. Operand positions are properties of the family and written by
hand in decode/.

What is taken: records that are real encodings (not pseudo, not for the code generator or the
assembler parser only) whose assembler predicates hold for CPU. The order of the rows is the order
in which AMDGPUDisassembler.cpp tries its decoder tables, the more specific encoding first.

Every chip has a table of its own, CPU/table.rs. The operations are shared, in ../decode/ops.rs: what one chip
does exactly as an older one under another name is one operation with two mnemonics.

How LLVM writes an encoding's operands is in CPU/layouts.rs: see syntax.py.
"""
import json
import os
import re
import sys

import syntax

# AMDGPUDisassembler::getInstruction: the decoder tables that a chip reaches by encoding size, in
# order; and features that a chip has when nothing else is asked for.
CHIPS = {
    "gfx942": {
        "order": {
            8: ["GFX9_DL", "GFX940", "GFX90A", "GFX8", "GFX9"],
            4: ["GFX8", "AMDGPU", "GFX9", "GFX90A"],
        },
        "features": set(),
    },
    "gfx1201": {
        "order": {size: ["GFX12", "GFX12_FAKE16"] for size in (12, 8, 4)},
        "features": {"FeatureWavefrontSize32"},
    },
}
FAMILIES = ["SDWA", "DPP", "SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "VOP3P", "VINTERP", "VOP3", "VOP1",
            "VOP2", "VOPC", "SMRD", "DS", "FLAT", "MUBUF", "MTBUF", "MIMG", "VIMAGE", "VSAMPLE", "EXP",
            "VINTRP", "LDSDIR"]
RUST_FAMILY = {"SMRD": "Smem", "VINTERP": "Vintrp", "LDSDIR": "Vintrp", "VIMAGE": "Mimg", "VSAMPLE": "Mimg"}

# Mnemonics of later chips for operations that gfx942 knows by another name.
SAME = [(re.compile(f"^{pattern}$"), name) for pattern, name in [
    (r"v_dual_(.*)", r"v_\1"),
    (r"s_(add|sub)_co_([iu]32)", r"s_\1_\2"),
    (r"s_add_co_ci_u32", "s_addc_u32"),
    (r"s_sub_co_ci_u32", "s_subb_u32"),
    (r"s_addk_co_i32", "s_addk_i32"),
    (r"s_(and|or)_not1_(.*)", r"s_\1n2_\2"),
    (r"s_(and|or)_not0_(.*)", r"s_\1n1_\2"),
    (r"s_ctz_i32_(.*)", r"s_ff1_i32_\1"),
    (r"s_clz_i32_u(32|64)", r"s_flbit_i32_b\1"),
    (r"s_cls_(i32|i32_i64)", r"s_flbit_\1"),
    (r"v_(add|sub|subrev)_nc_([iu]\d+)", r"v_\1_\2"),
    (r"v_add_co_ci_u32", "v_addc_co_u32"),
    (r"v_(sub|subrev)_co_ci_u32", r"v_\1b_co_u32"),
    (r"v_subrevb_co_u32", "v_subbrev_co_u32"),
    (r"v_mad_co_(.*)", r"v_mad_\1"),
    (r"v_clz_i32_u32", "v_ffbh_u32"),
    (r"v_cls_i32", "v_ffbh_i32"),
    (r"v_ctz_i32_b32", "v_ffbl_b32"),
    (r"v_mul_dx9_zero_f32", "v_mul_legacy_f32"),
    (r"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"),
    (r"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"),
    (r"ds_load_2addr_stride64_(.*)", r"ds_read2st64_\1"),
    (r"ds_load_2addr_(.*)", r"ds_read2_\1"),
    (r"ds_store_2addr_stride64_(.*)", r"ds_write2st64_\1"),
    (r"ds_store_2addr_(.*)", r"ds_write2_\1"),
]]


def operation_of(mnemonic, cpu):
    """The shared operation's name."""
    if cpu != "gfx942":
        for pattern, name in SAME:
            mnemonic = pattern.sub(name, mnemonic)
    return mnemonic


def features_of(records, cpu):
    """The CPU's features and everything that they imply."""
    model = next(r for r in records.values()
                 if isinstance(r, dict) and r.get("Name") == cpu and "ProcessorModel" in r["!superclasses"])
    todo, have = [f["def"] for f in model["Features"]], set(CHIPS[cpu]["features"])
    while todo:
        name = todo.pop()
        if name not in have:
            have.add(name)
            todo += [f["def"] for f in records[name]["Implies"]]
    return have


def holds(dag, have):
    """Evaluate an AssemblerCondDag."""
    if dag["kind"] == "def":
        return dag["def"] in have
    parts = [holds(argument, have) for argument, _ in dag["args"]]
    return {"all_of": all, "any_of": any, "not": lambda p: not p[0]}[dag["operator"]["def"]](parts)


def family_of(record):
    found = next((f for f in FAMILIES if record.get(f)), None)
    if record["!name"].startswith("V_DUAL_"):
        found = "VOPD"
    if found is None:
        raise SystemExit(f"{record['!name']}: no encoding family")
    return RUST_FAMILY.get(found, found.capitalize())


def width_of(records, operand):
    """Registers that an operand spans: the digits that end its register class's name or type."""
    name = operand
    record = records[operand]
    if "RegClass" in record and isinstance(record["RegClass"], dict):
        name = record["RegClass"]["def"]
    if "RegTypes" in records[name]:
        size = records[name].get("Size") or 0
        sizes = {"i1": 0, "i16": 1, "f16": 1, "bf16": 1, "i32": 1, "f32": 1}
        if not size:
            kind = records[name]["RegTypes"][0]["def"]
            digits = re.findall(r"\d+", kind)
            bits = int(digits[0]) if digits else 0
            if kind.startswith("v") and len(digits) > 1:
                bits *= int(digits[1])
            return sizes.get(kind, (bits + 31) // 32)
        return (size + 31) // 32
    return 0


def operands_of(records, record):
    out = {}
    for group in ("OutOperandList", "InOperandList"):
        for argument, name in record[group]["args"]:
            if name and argument["def"] in records:
                width = width_of(records, argument["def"])
                if width:
                    out.setdefault(name, width)
    return out


# No chip needs a third word to distinguish encodings.
WORDS = (1 << 64) - 1


def encoding_of(record):
    """(mask, value) of the bits that the record fixes."""
    mask = value = 0
    for bit, content in enumerate(record["Inst"]):
        if content in (0, 1):
            mask |= 1 << bit
            value |= content << bit
    return mask, value


def lane_permutations(name, size, mask, value):
    """DPP8's first source is one of two codes, which the record leaves to its fetch-inactive bit."""
    if "_dpp8" not in name:
        return [(mask, value)]
    shift = 32 if size == 12 else 0
    return [(mask | 0x1ff << shift, value | code << shift) for code in (0xe9, 0xea)]


def camel(mnemonic):
    return "".join(part.capitalize() for part in mnemonic.split("_"))


def rows_of(records, cpu):
    have, order = features_of(records, cpu), CHIPS[cpu]["order"]
    held = {}

    def predicate(name):
        if name not in held:
            record = records[name]
            held[name] = not record.get("AssemblerCondDag") or holds(record["AssemblerCondDag"], have)
        return held[name]

    rows = []
    for name, record in records.items():
        if not isinstance(record, dict) or "Instruction" not in record.get("!superclasses", ()):
            continue
        size, space = record["Size"], record["DecoderNamespace"]
        if record.get("Namespace") != "AMDGPU" or record["isPseudo"] or record["isCodeGenOnly"] \
                or record.get("isAsmParserOnly") or space not in order.get(size, ()):
            continue
        if not all(predicate(p["def"]) for p in record["Predicates"]):
            continue
        mask, value = encoding_of(record)
        if not mask:
            continue
        mnemonic = re.match(r"[a-z0-9_]+", record["AsmString"]).group()
        if mnemonic == "v_illegal":  # zero, to which LLVM gives a name
            continue
        mnemonic = re.sub(r"_(e32|e64|sdwa|dpp)$", "", mnemonic)
        for mask, value in lane_permutations(name, size, mask, value):
            rows.append({
                "name": name, "key": (-size, order[size].index(space), -bin(mask).count("1"), value, name),
                "mask": mask & WORDS, "value": value & WORDS, "size": size, "mnemonic": mnemonic,
                "family": family_of(record), "operands": operands_of(records, record),
            })
    rows.sort(key=lambda row: row["key"])
    seen, unique = set(), []
    for row in rows:
        # v_mul_lo_i32 is v_mul_lo_u32's encoding under a second name; LLVM prints the second.
        if row["mnemonic"] == "v_mul_lo_i32":
            continue
        what = (row["mask"], row["value"], row["size"])
        if what not in seen:
            seen.add(what)
            unique.append(row)
    return unique


def widths(row):
    """Spans of destination, first, second and third source; scalar destination last."""
    operands, family = row["operands"], row["family"]

    def first(*names):
        return next((operands[n] for n in names if n in operands), 0)
    if family in ("Flat",):
        return [first("vdst"), first("vaddr"), first("vdata"), first("saddr"), 0]
    if family == "Ds":
        return [first("vdst"), first("addr"), first("data0"), first("data1"), 0]
    if family == "Smem":
        return [first("sdst", "sdata"), first("sbase"), 0, 0, first("sdata")]
    return [first("vdst", "sdst"), first("src0", "ssrc0"), first("src1", "ssrc1"), first("src2"),
            first("sdst") if "vdst" in operands else 0]


HEAD = """// SPDX-License-Identifier: MIT OR Apache-2.0
//! %s
//!
//! Written by generate/opcodes.py from LLVM 19.1.7's AMDGPU records; do not edit.
"""


def write_operations(path, names):
    with open(path, "w") as out:
        print(HEAD % f"The {len(names)} operations of all chips.", file=out)
        print("/// Every operation that a chip knows, implemented here or not.", file=out)
        print("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]", file=out)
        print("#[repr(u16)]\n#[rustfmt::skip]\n#[expect(missing_docs, reason = \"the names are LLVM's\")]\npub enum Op {", file=out)
        for name in names:
            print(f"    {camel(name)},", file=out)
        print("}\n\n/// The operations' names, indexed by `Op`: the mnemonic of the oldest chip.", file=out)
        print(f"#[rustfmt::skip]\npub static NAMES: [&str; {len(names)}] = [", file=out)
        for name in names:
            print(f'    "{name}",', file=out)
        print("];", file=out)


def write_table(path, cpu, rows):
    mnemonics = len({row["mnemonic"] for row in rows})
    with open(path, "w") as out:
        print(HEAD % f"{cpu}'s opcodes: {mnemonics} mnemonics in {len(rows)} encodings.", file=out)
        print("use crate::decode::table::{Family::*, Row};\nuse crate::decode::ops::Op;\n", file=out)
        print("/// Encodings in the order in which they are tried: mask, value, bytes, family, mnemonic,", file=out)
        print("/// operation, the registers spanned by destination, three sources and scalar destination, and the", file=out)
        print("/// layout of the text.", file=out)
        print(f"#[rustfmt::skip]\npub static ROWS: [Row; {len(rows)}] = [", file=out)
        for row in rows:
            print(f"    Row::new({row['mask']:#x}, {row['value']:#x}, {row['size']}, {row['family']}, "
                  f"\"{row['mnemonic']}\", Op::{camel(row['operation'])}, {widths(row)}, {row['layout']}),", file=out)
        print("];", file=out)
    print(f"{cpu}: {mnemonics} mnemonics, {len(rows)} encodings", file=sys.stderr)


def write_layouts(path, cpu, layouts):
    with open(path, "w") as out:
        print(HEAD % f"{cpu}'s {len(layouts)} ways to write operands.", file=out)
        print("use crate::text::{Layout, Number::*, Piece::*, Policy};\n", file=out)
        print("/// By the number in the table of encodings.", file=out)
        print(f"#[rustfmt::skip]\npub static LAYOUTS: [Layout; {len(layouts)}] = [", file=out)
        for layout in layouts:
            print(f"    {layout},", file=out)
        print("];", file=out)


def main():
    source, folder = sys.argv[1:3]
    with open(source) as file:
        records = json.load(file)
    operations = set()
    for cpu in CHIPS:
        rows = rows_of(records, cpu)
        for row in rows:
            row["operation"] = operation_of(row["mnemonic"], cpu)
        operations |= {row["operation"] for row in rows}
        os.makedirs(f"{folder}/{cpu}", exist_ok=True)
        layouts, unknown = syntax.layouts_of(records, rows, cpu, width_of)
        print(f"{cpu}: {len(layouts)} layouts, {unknown} encodings without one", file=sys.stderr)
        write_layouts(f"{folder}/{cpu}/layouts.rs", cpu, layouts)
        write_table(f"{folder}/{cpu}/table.rs", cpu, rows)
    write_operations(f"{folder}/../decode/ops.rs", sorted(operations))
    print(f"{len(operations)} operations", file=sys.stderr)


if __name__ == "__main__":
    main()
