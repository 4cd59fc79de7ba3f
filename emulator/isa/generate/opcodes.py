#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Generate a chip's opcode table from LLVM's TableGen records.

    opcodes.py RECORDS.json CPU OUT.rs

RECORDS.json is `llvm-tblgen -dump-json AMDGPU.td`. Only facts leave it: which bits of which words
make which mnemonic, how long the encoding is, which encoding family it belongs to and how many
32-bit registers each operand spans. Operand positions are properties of the family and written by
hand in decode/.

What is taken: records that are real encodings (not pseudo, not for the code generator or the
assembler parser only) whose assembler predicates hold for CPU. The order of the rows is the order
in which AMDGPUDisassembler.cpp tries its decoder tables, the more specific encoding first.
"""
import json
import re
import sys

# AMDGPUDisassembler::getInstruction, the calls that a gfx9 part with gfx90a and gfx940
# instructions reaches, in order.
ORDER = {
    8: ["GFX9_DL", "GFX940", "GFX90A", "GFX8", "GFX9"],
    4: ["GFX8", "AMDGPU", "GFX9", "GFX90A"],
}
FAMILIES = ["SDWA", "DPP", "SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "VOP3P", "VOP3", "VOP1", "VOP2",
            "VOPC", "SMRD", "DS", "FLAT", "MUBUF", "MTBUF", "MIMG", "EXP", "VINTRP", "VINTERP"]
RUST_FAMILY = {"SMRD": "Smem", "VINTERP": "Vintrp"}


def features_of(records, cpu):
    """The CPU's features and everything that they imply."""
    model = next(r for r in records.values()
                 if isinstance(r, dict) and r.get("Name") == cpu and "ProcessorModel" in r["!superclasses"])
    todo, have = [f["def"] for f in model["Features"]], set()
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


def encoding_of(record):
    """(mask, value) of the bits that the record fixes."""
    mask = value = 0
    for bit, content in enumerate(record["Inst"]):
        if content in (0, 1):
            mask |= 1 << bit
            value |= content << bit
    return mask, value


def camel(mnemonic):
    return "".join(part.capitalize() for part in mnemonic.split("_"))


def rows_of(records, cpu):
    have = features_of(records, cpu)
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
                or record.get("isAsmParserOnly") or space not in ORDER.get(size, ()):
            continue
        if not all(predicate(p["def"]) for p in record["Predicates"]):
            continue
        mask, value = encoding_of(record)
        if not mask:
            continue
        mnemonic = re.match(r"[a-z0-9_]+", record["AsmString"]).group()
        mnemonic = re.sub(r"_(e32|e64|sdwa|dpp)$", "", mnemonic)
        rows.append({
            "key": (-size, ORDER[size].index(space), -bin(mask).count("1"), value, name),
            "mask": mask, "value": value, "size": size, "mnemonic": mnemonic,
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


def main():
    source, cpu, target = sys.argv[1:4]
    with open(source) as file:
        records = json.load(file)
    rows = rows_of(records, cpu)
    names = sorted({row["mnemonic"] for row in rows})
    with open(target, "w") as out:
        say = lambda line="": print(line, file=out)
        say("// SPDX-License-Identifier: MIT OR Apache-2.0")
        say(f"//! {cpu}'s opcodes: {len(names)} mnemonics in {len(rows)} encodings.")
        say("//!")
        say("//! Written by generate/opcodes.py from LLVM 19.1.7's AMDGPU records; do not edit.")
        say()
        say("use crate::decode::table::{Family::*, Row};")
        say()
        say("/// Every operation that the chip knows, implemented here or not.")
        say("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]")
        say("#[repr(u16)]")
        say("#[rustfmt::skip]")
        say("#[allow(missing_docs)]")
        say("pub enum Op {")
        for name in names:
            say(f"    {camel(name)},")
        say("}")
        say()
        say("/// Mnemonics, indexed by `Op`.")
        say("#[rustfmt::skip]")
        say(f"pub static NAMES: [&str; {len(names)}] = [")
        for name in names:
            say(f'    "{name}",')
        say("];")
        say()
        say("/// Encodings in the order in which they are tried: mask, value, bytes, family, operation,")
        say("/// and the registers spanned by destination, three sources and scalar destination.")
        say("#[rustfmt::skip]")
        say(f"pub static ROWS: [Row; {len(rows)}] = [")
        for row in rows:
            say(f"    Row::new({row['mask']:#x}, {row['value']:#x}, {row['size']}, {row['family']}, "
                f"Op::{camel(row['mnemonic'])}, {widths(row)}),")
        say("];")
    print(f"{cpu}: {len(names)} mnemonics, {len(rows)} encodings", file=sys.stderr)


if __name__ == "__main__":
    main()
