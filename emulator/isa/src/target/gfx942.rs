// SPDX-License-Identifier: MIT OR Apache-2.0
//! gfx942 (MI300X, MI308X): CDNA3, waves of 64 lanes, accumulation registers.
//!
//! From AMD's CDNA3 ISA, sections 3 and 13, and LLVM's SMInstructions.td and FLATInstructions.td.

#[rustfmt::skip]
mod layouts;
mod names;
#[rustfmt::skip]
mod table;

use super::{Scalars, Start, Target};
use crate::decode::buffer::form;
use crate::decode::counters;
use crate::decode::families::{ds, literal, operands, ranges, special};
use crate::decode::kind::{Kind, Register};
use crate::decode::table::{Family, Index, Row};
use crate::decode::Op;
use crate::decode::{bits, code, select, vgpr, DecodeError, Inst, Scope};
use crate::kernel::mode;
use crate::kernel::{Allocation, DescriptorError, InOrder, Registers};
use crate::target::TrapLayout;
use crate::text::Syntax;

/// The chip.
pub static GFX942: Target = Target {
    name: "gfx942",
    rows: &table::ROWS,
    later: &[],
    index: Index::new(),
    syntax: Syntax {
        chip: "gfx942",
        layouts: &layouts::LAYOUTS,
        names: &names::NAMES,
    },
    ignored: |words| words,
    operands: decode,
    // 128 dwords: CDNA3 ISA, chapter 3.
    lds_granule: 512,
    registers,
    // TTMP1: the trap's number in bits 23:16. TRAPSTS: MEM_VIOL 8, SAVECTX 10, ILLEGAL_INST 11,
    // WAVE_BEGIN 23; watched addresses in bit 7 and EXCP_HI. MODE 20:12 has which of bits 8:0 trap.
    traps: TrapLayout {
        id: (48, 8),
        memory_violation: 1 << 8,
        translation: 1 << 28,
        watched: [1 << 7, 1 << 12, 1 << 13, 1 << 14],
        stepped: 1 << 25,
        start: 1 << 23,
        enables_in_mode: true,
        illegal_instruction: 1 << 11,
        save_context: 1 << 10,
        split_barrier: false,
        mode: 0,
        scalars: 448,
        unused: 64,
    },
    counters: counters::gfx9,
    start,
};

fn decode(row: &'static Row, words: [u32; 3]) -> Result<Inst, DecodeError> {
    let mut i = Inst::new(row);
    let [low, high, _] = words;
    // The records call accumulation register moves and matrix operations VOP3; their words are
    // VOP3P's.
    if row.family == Family::Vop3 && low >> 23 == 0x1a7 {
        i.family = Family::Vop3p;
    }
    match i.family {
        Family::Smem => smem(&mut i, low, high),
        Family::Ds => {
            ds(&mut i, low, high, data(low, 25));
            // The global data share, which is gone, in cache bit 0.
            i.cache = bits(low, 16, 1) as u8;
        }
        Family::Flat => flat(&mut i, low, high),
        Family::Mubuf => buffer(&mut i, low, high),
        Family::Mtbuf => {
            buffer(&mut i, low, high);
            i.op_sel_hi = bits(low, 19, 7) as u8;
        }
        _ => {
            if !operands(&mut i, words) && !select::decode(&mut i, words) {
                // Known by name, not executed.
                return Ok(i);
            }
        }
    }
    if let Kind::Matrix(matrix) = i.kind {
        // Each operand has a bit that shows whether it lies in accumulation registers.
        let moved = |operand: u16, accumulation: bool| match operand {
            code::VGPR..code::AGPR if accumulation => operand + (code::AGPR - code::VGPR),
            other => other,
        };
        let third = i.clamp && !matrix.sparse;
        i.dst = moved(i.dst, i.clamp);
        let [a, b] = [1, 2].map(|bit| i.op_sel_hi & bit != 0);
        i.src = [
            moved(i.src[0], a),
            moved(i.src[1], b),
            moved(i.src[2], third),
        ];
    }
    match i.op {
        Op::VAccvgprReadB32 => i.src = [code::AGPR + (i.src[0] & 0xff), code::NONE, code::NONE],
        Op::VAccvgprWriteB32 => {
            i.dst = code::AGPR + (i.dst & 0xff);
            i.src = [i.src[0], code::NONE, code::NONE];
        }
        Op::SGetregB32 | Op::SSetregB32 | Op::SSetregImm32B32 => {
            i.kind = Kind::Hardware(match low & 63 {
                1 => Register::Mode(u32::MAX),
                2 => Register::Status { scc: true },
                // EXCP without ADDR_WATCH0 and MEM_VIOL.
                3 => Register::TrapStatus(0x7f),
                // IB_STS.
                7 => Register::Nothing,
                4 => Register::HardwareId { second: false },
                5 => Register::GprAlloc,
                // In units of 64 dwords, by which Linux's handler reads it.
                6 => Register::LdsAlloc(256),
                15 => Register::ShMemBases,
                n @ 16..=19 => Register::Handler {
                    memory: n >= 18,
                    high: n % 2 == 1,
                },
                20 => Register::XccId,
                _ => Register::Unknown,
            });
        }
        // MSG_GET_DOORBELL.
        Op::SSendmsg if i.imm & 15 == 10 => i.kind = Kind::Doorbell,
        // MSG_SAVEWAVE.
        Op::SSendmsg if i.imm & 15 == 4 => i.kind = Kind::SaveWave,
        _ => {}
    }
    literal(&mut i, words);
    special(&mut i);
    i.family = row.family.executed(i.family);
    let no_literal = matches!(row.family, Family::Vop3 | Family::Vop3p | Family::Smem);
    ranges(&mut i, |operand| {
        matches!(operand, 209..=234 | 249 | 250) || (operand == code::LITERAL && no_literal)
    })?;
    Ok(i)
}

/// Where data registers begin: a bit chooses accumulation registers.
fn data(word: u32, bit: u32) -> u16 {
    if bits(word, bit, 1) == 1 {
        code::AGPR
    } else {
        code::VGPR
    }
}

fn smem(i: &mut Inst, low: u32, high: u32) {
    i.dst = bits(low, 6, 7) as u16;
    i.src[0] = (bits(low, 0, 6) * 2) as u16;
    i.cache = bits(low, 16, 1) as u8;
    let (imm, soffset_en) = (bits(low, 17, 1) == 1, bits(low, 14, 1) == 1);
    // A 21-bit signed byte offset, a register, or both.
    if imm {
        i.imm = (((high << 11) as i32) >> 11) as u32;
    } else if !soffset_en {
        i.src[1] = bits(high, 0, 7) as u16;
    }
    if soffset_en {
        i.src[1] = bits(high, 25, 7) as u16;
    }
}

fn flat(i: &mut Inst, low: u32, high: u32) {
    let base = data(high, 23);
    i.dst = base + bits(high, 24, 8) as u16;
    i.src[0] = vgpr(bits(high, 0, 8));
    i.src[1] = base + bits(high, 8, 8) as u16;
    i.src[2] = bits(high, 16, 7) as u16;
    let segment = bits(low, 14, 2);
    i.op_sel = segment as u8;
    // flat: 12 bits unsigned; global and scratch: 13 bits signed.
    i.imm = if segment == 0 {
        low & 0xfff
    } else {
        (((low << 19) as i32) >> 19) as u32
    };
    if segment == 0 || i.src[2] == 0x7f {
        i.src[2] = code::NONE;
    }
    // Scratch has a bit that shows whether there is a vector address.
    if segment == 1 && bits(low, 13, 1) == 0 {
        i.src[0] = code::NONE;
    }
    i.cache = (bits(low, 16, 2) | (bits(low, 25, 1) << 2)) as u8;
    i.scope = Scope::of(bits(low, 16, 1) | (bits(low, 25, 1) << 1));
}

fn buffer(i: &mut Inst, low: u32, high: u32) {
    let data = data(high, 23) + bits(high, 8, 8) as u16;
    i.dst = data;
    i.src = [vgpr(bits(high, 0, 8)), data, bits(high, 24, 8) as u16];
    i.sdst = (bits(high, 16, 5) * 4) as u16;
    i.imm = bits(low, 0, 12);
    let flags = [(12, form::OFFEN), (13, form::IDXEN), (16, form::LDS)];
    // In typed buffers' words the last is part of the operation.
    let flags = &flags[..if i.family == Family::Mubuf { 3 } else { 2 }];
    for &(bit, flag) in flags {
        i.op_sel |= if bits(low, bit, 1) == 1 { flag } else { 0 };
    }
    i.cache = bits(low, 14, 1) as u8;
    i.scope = Scope::of(bits(low, 14, 2));
}

/// compute_pgm_rsrc1 and 3, from LLVM's tables for GFX9 and GFX940.
fn registers(r: &Registers) -> Result<Allocation, DescriptorError> {
    use DescriptorError::Unsupported;
    // VGPRs 5:0, SGPRs 9:6, priority 11:10, float mode 19:12, priv 20, dx10_clamp 21, debug 22,
    // ieee 23, bulky 24, cdbg_user 25, fp16_ovfl 26.
    r.zero(r.rsrc1, 10, 2, "compute_pgm_rsrc1.PRIORITY")?;
    r.zero(r.rsrc1, 20, 1, "compute_pgm_rsrc1.PRIV")?;
    r.zero(r.rsrc1, 22, 1, "compute_pgm_rsrc1.DEBUG_MODE")?;
    r.zero(r.rsrc1, 24, 2, "compute_pgm_rsrc1.BULKY or CDBG_USER")?;
    r.zero(r.rsrc1, 27, 5, "compute_pgm_rsrc1 bits 31:27")?;
    // ACCUM_OFFSET 5:0, TG_SPLIT 16.
    r.zero(r.rsrc3, 6, 10, "compute_pgm_rsrc3")?;
    r.zero(r.rsrc3, 17, 15, "compute_pgm_rsrc3")?;
    if bits(r.rsrc3, 16, 1) == 1 {
        return Err(Unsupported("TG_SPLIT"));
    }
    if r.wave32 {
        return Err(Unsupported("ENABLE_WAVEFRONT_SIZE32 on gfx942"));
    }
    Ok(Allocation {
        lanes: super::GFX942_LANES as u32,
        vgprs: (bits(r.rsrc1, 0, 6) as u16 + 1) * 8,
        accum_offset: (bits(r.rsrc3, 0, 6) as u16 + 1) * 4,
        // float mode, dx10_clamp, ieee and fp16_ovfl are MODE's bits 7:0, 8, 9 and 23.
        mode: bits(r.rsrc1, 12, 8)
            | (bits(r.rsrc1, 21, 1) << 8)
            | (bits(r.rsrc1, 23, 1) << 9)
            | (bits(r.rsrc1, 26, 1) * mode::FP16_OVFL),
        in_order: InOrder::Issued,
    })
}

/// System SGPRs follow the user SGPRs' count, not the last that was used. For debuggers TTMP8 to TTMP10 have the workgroup's
/// place, and TTMP11 the wave's in it (ROCdbgapi, `architecture.cpp`).
fn start(s: &mut Scalars, start: &Start<'_>) {
    const TTMP: usize = 108;
    s[TTMP + 8..TTMP + 11].copy_from_slice(&start.id);
    s[TTMP + 11] = start.wave & 0x3f;
    let kernel = start.kernel;
    let mut at = kernel.user_count as usize;
    for (wanted, id) in kernel.workgroup_id.into_iter().zip(start.id) {
        if wanted {
            s[at] = id;
            at += 1;
        }
    }
    if kernel.workgroup_info {
        s[at] = (u32::from(start.wave == 0) << 31) | start.waves;
    }
    // Architected flat scratch: the base in FLAT_SCRATCH.
    s[102] = start.scratch as u32;
    s[103] = (start.scratch >> 32) as u32;
}
