# SPDX-License-Identifier: MIT OR Apache-2.0
"""How LLVM writes an encoding: what follows the mnemonic, as the pieces of src/text/.

A piece is a text or an operand: which form it takes, and from which bits of the words it comes.
Forms follow the operand's print and decode methods (AMDGPUInstPrinter.cpp and
AMDGPUDisassembler.cpp); what a piece prints is written by hand in src/text/.
"""
import re

# The type that each of AMDGPUInstPrinter's immediate printers stands for.
NUMBERS = {"INT16": "I16", "FP16": "F16", "BF16": "B16", "V2INT16": "V2I16", "V2FP16": "V2F16", "V2BF16": "V2B16",
           "INT64": "I64", "FP64": "F64"}
# Print methods whose operand is a form without more.
PLAIN = {"printDPP8": "Eights", "printSWaitCnt": "Waits", "printHwreg": "Hardware",
         "printSendMsg": "Message", "printSDelayALU": "Delay", "printDepCtr": "Dependencies",
         "printGPRIdxMode": "Indexed", "printSDWADstUnused": "Unused", "printSwizzle": "Swizzle",
         "printOModSI": "Multiply"}
# Print methods of a number after a text, shown unless it is zero.
VALUES = {"printOffset0": " offset0:", "printOffset1": " offset1:", "printCBSZ": " cbsz:", "printABID": " abid:",
          "printBLGP": " blgp:", "printIndexKey16bit": " index_key:", "printByteSel": " byte_sel:",
          "printEndpgm": " "}
HEXADECIMAL = {"printDppRowMask": (" row_mask:", 4), "printDppBankMask": (" bank_mask:", 4),
               "printU16ImmOperand": ("", 16), "printU32ImmOperand": ("", 32)}
FLAGS = {"printDppBoundCtrl": " bound_ctrl:1", "printDppFI": " fi:1"}
PARTS = {"printSDWADstSel": "dst_sel:", "printSDWASrc0Sel": "src0_sel:", "printSDWASrc1Sel": "src1_sel:"}
# Bits of a source's modifiers (SISrcMods).
NEG, ABS, OP_SEL, OP_SEL_HI, DST_OP_SEL = 0, 1, 2, 3, 3
MODIFIERS = {"printNegLo": (" neg_lo:[", NEG), "printNegHi": (" neg_hi:[", ABS), "printOpSel": (" op_sel:[", OP_SEL),
             "printOpSelHi": (" op_sel_hi:[", OP_SEL_HI)}
# Where an instruction's flags are (SIInstrFormats.td).
FLAG_BITS = {"VOP1": 7, "VOP2": 8, "VOPC": 9, "VOP3": 10, "SDWA": 14, "DPP": 15, "MUBUF": 17, "MTBUF": 18, "SMRD": 19, "SOPK": 5,
             "VOP3_OPSEL": 42, "IsPacked": 49, "FlatGlobal": 51, "FlatScratch": 56, "IsAtomicNoRet": 57,
             "IsAtomicRet": 58, "IsWMMA": 59, "IsSWMMAC": 63}
# In place of a bit of the words: what LLVM assumes where an encoding has no such bit.
ZERO, ONE = 254, 255


def quoted(text):
    return '"' + text.replace('"', '\\"') + '"'


class Syntax:
    """The pieces of one record."""

    def __init__(self, records, record, mnemonic, value, mask, width_of):
        self.records, self.record, self.width_of = records, record, width_of
        self.value, self.mask = value, mask
        self.text = re.sub(r"[{}]", "", record["AsmString"][len(mnemonic):])
        self.names = [(name, argument["def"]) for group in ("OutOperandList", "InOperandList")
                      for argument, name in record[group]["args"]]
        self.classes = dict(self.names)
        self.bits = {}
        for at, content in enumerate(record["Inst"]):
            if isinstance(content, dict) and content["kind"] in ("var", "varbit"):
                self.bits.setdefault(content["var"], {})[content.get("index", 0)] = at
        # Two instructions in one share their literal.
        if "immDeferred" in self.classes:
            self.bits["immDeferred"] = self.bits["imm"]
        # SMEM's offset goes by another name in the encoding, and its sign is kept apart.
        if "offset" in self.classes and "offset" not in self.bits and "Offset" in self.bits:
            self.bits["offset"] = self.bits["Offset"]

    def flag(self, name):
        return self.record["TSFlags"][FLAG_BITS[name]] == 1

    def runs(self, name):
        """An operand's bits as runs of (bit of the words, count, bit of the operand)."""
        bits, runs = self.bits.get(name, {}), []
        for to, at in sorted(bits.items()):
            if runs and runs[-1][0] + runs[-1][1] == at and runs[-1][2] + runs[-1][1] == to:
                runs[-1][1] += 1
            else:
                runs.append([at, 1, to])
        return "&[" + ", ".join(f"({at}, {count}, {to})" for at, count, to in runs) + "]"

    def bit(self, name, index):
        return self.bits.get(name, {}).get(index, ZERO)

    def uses(self, which, register):
        return any(r["def"] == register for r in self.record.get(which) or [])

    def suffix(self):
        """AMDGPUInstPrinter::printVOPDst before a first operand."""
        record = self.record
        if self.flag("VOP3") and self.flag("DPP"):
            return "_e64_dpp "
        single = record.get("IsSingle")
        if self.flag("VOP3"):
            return " " if single else "_e64 "
        if self.flag("DPP"):
            return "_dpp "
        if self.flag("SDWA"):
            return "_sdwa "
        return "_e32 " if (self.flag("VOP1") or self.flag("VOP2")) and not single else " "

    def number(self, kind):
        kind = re.sub(r"^OPERAND_(REG_(IMM|INLINE_A?C)_)?|_DEFERRED$", "", kind or "")
        return NUMBERS.get(kind, "B32")

    def register(self, name):
        """The piece of an operand that is a register or a source."""
        kind = self.classes[name]
        operand, width = self.records[kind], self.width_of(self.records, kind)
        bits, number = self.runs(name), self.number(operand.get("OperandType"))
        decode = operand.get("DecoderMethod") or ""
        group = kind if "RegTypes" in operand else (operand.get("RegClass") or {}).get("def", "")
        if decode == "decodeOperandVOPDDstY":
            return f"Odd({bits}, {self.runs('vdstX')})"
        if decode == "decodeSDWAVopcDst":
            return f"MaskOrVcc({bits})"
        if decode == "decodeBoolReg":
            return f"Mask({bits})"
        if decode.startswith("decodeSDWASrc"):
            return f"Parts({number}, {bits})"
        if "VGPR_16" in group or "VSrcT16" in decode:
            return None
        if decode.startswith("decodeAVLdSt"):
            # Data registers that come together are all of one kind, which one of them shows.
            own = dict(self.bits.get(name, {}))
            for other in ("vdst", "data0", "vdata"):
                if 9 not in own and 9 in self.bits.get(other, {}):
                    own[9] = self.bits[other][9]
            saved, self.bits[name] = self.bits.get(name, {}), own
            bits, self.bits[name] = self.runs(name), saved
            return f"Vector({width}, {bits})"
        if decode.startswith("decodeAV10"):
            return f"Vector({width}, {bits})"
        if decode.startswith(("decodeSrcRegOrImmA9", "decodeSrcA9")):
            return f"Accumulated({width}, {number}, {bits})"
        if group.startswith(("AReg", "AGPR")):
            return f"Accumulation({width}, {bits})"
        if not decode.startswith(("decodeSrc", "decodeOperand_", "decodeSplit")) and group.startswith(("VReg", "VGPR")):
            return f"Vector({width}, {bits})"
        return f"Source({width or 1}, {number}, {bits})"

    def modifiers(self, method):
        """AMDGPUInstPrinter::printPackedModifier: one bit for each source."""
        prefix, index = MODIFIERS[method]
        record, absent = self.record, ONE if index == OP_SEL_HI else ZERO
        name = record["!name"]
        sources = ("src0", "src1", "src2")
        if method == "printOpSel" and re.match(r"V_CVT_(PK_)?F32_[FB][PF]8_e64", name):
            bits = [self.bit("src0_modifiers", OP_SEL), self.bit("src0_modifiers", OP_SEL_HI)]
            return f"Halves({quoted(prefix)}, 0, &{bits})"
        if method == "printOpSel" and re.match(r"V_PERMLANEX?16_(VAR_)?B32_e64_gfx12$", name):
            bits = [self.bit(f"{s}_modifiers", OP_SEL) for s in sources[:2]]
            return f"Halves({quoted(prefix)}, 0, &{bits})"
        matrix = self.flag("IsWMMA") or self.flag("IsSWMMAC")
        bits = []
        for source in sources:
            if source not in self.classes and not matrix:
                break
            known = f"{source}_modifiers" in self.classes
            bits.append(self.bit(f"{source}_modifiers", index) if known else absent)
        default = 1 if index == OP_SEL_HI and self.flag("IsPacked") else 0
        if method == "printOpSel" and bits and self.flag("VOP3_OPSEL"):
            bits.append(self.bit("src0_modifiers", DST_OP_SEL))
        return f"Halves({quoted(prefix)}, {default}, &{bits})"

    def cache(self, cpu):
        record, bits = self.record, self.runs("cpol")
        returns = 1 if self.flag("IsAtomicRet") else 0
        if cpu == "gfx942":
            how = "Scalar" if self.flag("SMRD") else "Scope"
        elif self.flag("IsAtomicRet") or self.flag("IsAtomicNoRet"):
            how = "Atomic"
        else:
            how = "Store" if record.get("mayStore") else "Load"
        return f"Cache(Policy::{how}, {returns}, {bits})"

    def operand(self, name, cpu):
        """The pieces of $name; None where a form is not known."""
        operand = self.records[self.classes[name]]
        method = operand.get("PrintMethod") or "printOperand"
        bits = self.runs(name)
        named = re.search(r'printNamedBit\(MI, OpNo, O, "(\w+)"\)', method)
        if named:
            return [f"Flag({quoted(' ' + named.group(1))}, {bits})"]
        if method in ("printOperandAndFPInputMods", "printOperandAndIntInputMods"):
            source = self.register(name.removesuffix("_modifiers"))
            form = "Float" if "FP" in method else "Integer"
            return source and [f"{form}({bits}, &{source})"]
        if method == "printBLGP" and self.record["!name"].startswith("V_MFMA_F64"):
            return [f"Halves({quoted(' neg:[')}, 0, &{[self.bit(name, n) for n in range(3)]})"]
        if method == "printDppFI" and len(self.bits.get(name, {})) > 1:
            # DPP8: one of two codes in the first source's place.
            codes = {index: (self.value >> at) & 1 for index, at in self.bits[name].items()}
            return [f"Text({quoted(' fi:1')})"] if sum(v << i for i, v in codes.items()) == 0xea else []
        if method == "printDPPCtrl":
            doubles = cpu == "gfx942" and any(self.width_of(self.records, kind) == 2 for n, kind in self.names
                                              if not n.endswith("_modifiers"))
            return [f"Lanes({bits}, {str(doubles).lower()})"]
        if operand.get("DecoderMethod") == "decodeVersionImm":
            return [f"Version({bits})"]
        if method == "printFORMAT":
            return []
        if method in PLAIN:
            return [f"{PLAIN[method]}({bits})"]
        if method in VALUES:
            return [f"Value({quoted(VALUES[method])}, {bits})"]
        if method in HEXADECIMAL:
            prefix, width = HEXADECIMAL[method]
            return [f"Hex({quoted(prefix)}, {width}, {bits})"]
        if method in FLAGS:
            return [f"Flag({quoted(FLAGS[method])}, {bits})"]
        if method in PARTS:
            return [f"Part({quoted(PARTS[method])}, {bits})"]
        if method in MODIFIERS:
            return [self.modifiers(method)]
        if method == "printCPol":
            return [self.cache(cpu)]
        if method in ("printOffset", "printFlatOffset"):
            segment = self.flag("FlatGlobal") or self.flag("FlatScratch")
            signed = {"gfx942": 13 if method == "printFlatOffset" and segment else 0,
                      "gfx1201": 24 if method == "printFlatOffset" or self.flag("MUBUF") or self.flag("MTBUF") else 0}[cpu]
            form = f"Signed({quoted(' offset:')}, {signed}, {bits})"
            return [form if signed else f"Value({quoted(' offset:')}, {bits})"]
        if method in ("printSMEMOffset", "printSMEMOffsetMod"):
            prefix = " offset:" if method.endswith("Mod") else ""
            return [f"SignedHex({quoted(prefix)}, {21 if cpu == 'gfx942' else 24}, {bits})"]
        if method in ("printOperand", "printVOPDst", "printRegularOperand"):
            if "RegTypes" not in operand and not operand.get("RegClass") and \
                    operand.get("OperandType") in ("OPERAND_IMMEDIATE", "OPERAND_PCREL"):
                return [f"{'Target' if operand['OperandType'].endswith('PCREL') else 'Immediate'}({bits})"]
            piece = self.register(name)
            return piece and [piece]
        return None

    def pieces(self, cpu):
        """All pieces, or None if one of them is of graphics."""
        record, out = self.record, []
        # An implied vcc is part of the text on gfx9, and not on gfx12, where it may be vcc_lo.
        short = self.flag("VOP2") or (self.flag("DPP") and not self.flag("VOP3"))
        implied = short and "vcc" not in self.text
        for at, part in enumerate(re.split(r"\$(\w+)", self.text)):
            if at % 2 == 0:
                if part:
                    out.append(f"Text({quoted(part)})")
                continue
            if part not in self.classes:
                return None
            first = self.names[0][0] == part
            method = self.records[self.classes[part]].get("PrintMethod") or ""
            if method == "printVOPDst" and first:
                out.append(f"Text({quoted(self.suffix())})")
            if part in ("src0", "src0_modifiers") and self.flag("VOPC") and self.uses("Defs", "VCC") \
                    and "sdst" not in self.classes:
                out += ["Vcc", 'Text(", ")']
            pieces = self.operand(part, cpu)
            if pieces is None:
                return None
            out += pieces
            # AMDGPUInstPrinter::printOperand writes a typed buffer's format here.
            if part == "soffset" and "format" in self.classes:
                out.append(f"Format({self.runs('format')})")
            if implied and ((part == "vdst" and self.uses("Defs", "VCC"))
                            or (part in ("src1", "src1_modifiers") and self.uses("Uses", "VCC"))):
                out += ['Text(", ")', "Vcc"]
        # Where the literal is: within the encoding, or after it.
        size = record["Size"] // 4
        inside = "imm" in self.bits and not self.flag("SOPK")
        return f"Layout {{ literal: {size - 1 if inside else size}, pieces: &[{', '.join(out)}] }}"


GRAPHICS = ("Mimg", "Exp", "Vintrp")


def layouts_of(records, rows, cpu, width_of):
    """Number each row's layout; 0 is that of rows which have none."""
    found = {"Layout { literal: 0, pieces: &[] }": 0}
    unknown = 0
    for row in rows:
        text = None
        if row["family"] not in GRAPHICS:
            syntax = Syntax(records, records[row["name"]], row["mnemonic"], row["value"], row["mask"], width_of)
            text = syntax.pieces(cpu)
            unknown += text is None
        row["layout"] = found.setdefault(text, len(found)) if text else 0
    return list(found), unknown
