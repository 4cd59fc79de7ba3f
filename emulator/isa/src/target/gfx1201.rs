// SPDX-License-Identifier: MIT OR Apache-2.0
//! gfx1201 (Navi 48): RDNA4, waves of 32 lanes or 64, pairs of vector operations.
//!
//! From AMD's RDNA4 ISA, sections 3 and 15, and LLVM's SMInstructions.td, FLATInstructions.td and
//! VOPDInstructions.td. Operands of 16 bits are a register's lower half, or its upper one: by op_sel in
//! VOP3, by a register's highest bit in VOP1, VOP2 and VOPC.

#[rustfmt::skip]
mod layouts;
mod names;
pub(crate) mod pairs;
#[rustfmt::skip]
mod table;

use super::{Scalars, Start, Target};
use crate::decode::buffer::form;
use crate::decode::counters;
use crate::decode::families::{ds, literal, operands, ranges, special};
use crate::decode::kind::{Kind, Register};
use crate::decode::table::{Family, Index, Row};
use crate::decode::Op;
use crate::decode::{bits, code, halves, select, vgpr, DecodeError, Inst, Scope};
use crate::kernel::mode;
use crate::kernel::{Allocation, DescriptorError, InOrder, Registers};
use crate::target::TrapLayout;
use crate::text::Syntax;

/// The chip.
pub static GFX1201: Target = Target {
    name: "gfx1201",
    rows: &table::ROWS,
    later: &LATER,
    index: Index::new(),
    syntax: Syntax {
        chip: "gfx1201",
        layouts: &layouts::LAYOUTS,
        names: &names::NAMES,
    },
    ignored,
    operands: decode,
    // RDNA4 ISA, section 3.3.3.
    lds_granule: 1024,
    registers,
    // TTMP1: the trap's number in bits 31:28. EXCP_FLAG_PRIV: ADDR_WATCH 3:0, MEMVIOL 4,
    // SAVE_CONTEXT 5, ILLEGAL_INST 6, WAVE_START 8.
    traps: TrapLayout {
        id: (60, 4),
        memory_violation: 1 << 4,
        translation: 1 << 12,
        watched: [1, 2, 4, 8],
        stepped: 1 << 11,
        start: 1 << 8,
        enables_in_mode: false,
        illegal_instruction: 1 << 6,
        save_context: 1 << 5,
        split_barrier: true,
        mode: mode::DX10_CLAMP,
        scalars: 512,
        unused: 0,
    },
    counters: counters::gfx12,
    start,
};

/// ds_bpermute_fi_b32, opcode 205 (RDNA4 ISA, chapter 16): ds_bpermute_b32 that reads lanes which are not active,
/// too. Its text has the layout of that one.
static LATER: [Row; 1] = [Row::new(
    0x00ff_0000_fffe_0000,
    0xdb34_0000,
    8,
    Family::Ds,
    FETCH_INACTIVE,
    Op::DsBpermuteB32,
    [1, 1, 1, 0, 0],
    459,
)];
const FETCH_INACTIVE: &str = "ds_bpermute_fi_b32";

/// NULL and M0 as this chip numbers them.
const NULL: u16 = 124;
const M0: u16 = 125;

/// LDS operations that return nothing have a destination's field, and a pair's move a second source's (RDNA4
/// ISA, section 7.8: "ignored"; cards of the generation before execute both).
fn ignored([low, mut high, third]: [u32; 3]) -> [u32; 3] {
    const VDS: u32 = 0x36;
    const PAIR: u32 = 0x32;
    const MOVE: u32 = 8;
    let mut first = low;
    match low >> 26 {
        VDS => high &= 0x00ff_ffff,
        PAIR => {
            if bits(low, 22, 4) == MOVE {
                first &= !(0xff << 9);
            }
            if bits(low, 17, 5) == MOVE {
                high &= !(0xff << 9);
            }
        }
        _ => {}
    }
    [first, high, third]
}

fn decode(row: &'static Row, words: [u32; 3]) -> Result<Inst, DecodeError> {
    let mut i = Inst::new(row);
    let [low, high, third] = words;
    i.keep = true;
    i.ocp = true;
    // The records call packed operations VOP3; their words are VOP3P's.
    if row.family == Family::Vop3 && low >> 24 == 0xcc {
        i.family = Family::Vop3p;
    }
    match i.family {
        Family::Smem => smem(&mut i, low, high),
        Family::Ds => {
            ds(&mut i, low, high, code::VGPR);
            i.op_sel = u8::from(row.mnemonic == FETCH_INACTIVE);
        }
        Family::Flat => flat(&mut i, low, high, third),
        Family::Mubuf => buffer(&mut i, low, high, third),
        Family::Mtbuf => {
            buffer(&mut i, low, high, third);
            i.op_sel_hi = bits(high, 23, 7) as u8;
        }
        Family::Vopd => return pairs::decode(i, words),
        _ => {
            if !operands(&mut i, words) && !select::decode(&mut i, words) {
                // Known by name, not executed.
                return Ok(i);
            }
        }
    }
    literal(&mut i, words);
    i.src = i.src.map(source);
    i.dst = destination(i.dst);
    i.sdst = destination(i.sdst);
    halves::choose(&mut i);
    special(&mut i);
    i.family = row.family.executed(i.family);
    match (i.op, i.kind) {
        // v_cmpx writes EXEC alone.
        (_, Kind::Compare { exec: true, .. } | Kind::Class(_, true)) => i.sdst = code::EXEC,
        // The manual reserves these numbers, which LLVM still has.
        (Op::STtracedata | Op::STtracedataImm | Op::SAtcProbe | Op::SAtcProbeBuffer, _) => {
            i.kind = Kind::Plain;
        }
        // MSG_DEALLOC_VGPRS: the wave's registers may go to others, which is nothing to see.
        (Op::SSendmsg, _) if i.imm == 3 => i.kind = Kind::Hint,
        (Op::SGetregB32 | Op::SSetregB32 | Op::SSetregImm32B32, _) => {
            i.kind = Kind::Hardware(hardware_register(low & 63));
        }
        _ => {}
    }
    ranges(&mut i, reserved)?;
    Ok(i)
}

fn reserved(operand: u16) -> bool {
    matches!(operand, 209..=234 | 249..=252 | 254)
}

fn source(operand: u16) -> u16 {
    match operand {
        NULL => code::ZERO,
        M0 => code::M0,
        other => other,
    }
}

fn destination(operand: u16) -> u16 {
    match operand {
        NULL => code::NOWHERE,
        M0 => code::M0,
        other => other,
    }
}

/// hwreg: no dx10_clamp and ieee in MODE.
fn hardware_register(number: u32) -> Register {
    match number {
        // Rounding, denormals and FP16_OVFL.
        1 => Register::Mode(0xff | mode::FP16_OVFL),
        2 => Register::Status { scc: false },
        4 => Register::StatePrivate,
        5 => Register::GprAlloc,
        // In units of 128 dwords, by which Linux's handler reads it.
        6 => Register::LdsAlloc(512),
        17 => Register::TrapStatus(0),
        // IB_STS.
        7 => Register::Nothing,
        18 => Register::UserFlags,
        19 => Register::TrapControl,
        20 => Register::ScratchBase { high: false },
        21 => Register::ScratchBase { high: true },
        n @ 23..=24 => Register::HardwareId { second: n == 24 },
        26 => Register::Scheduling,
        29 => Register::CyclesLow,
        30 => Register::CyclesHigh,
        _ => Register::Unknown,
    }
}

fn smem(i: &mut Inst, low: u32, high: u32) {
    i.dst = bits(low, 6, 7) as u16;
    i.src[0] = (bits(low, 0, 6) * 2) as u16;
    // A 24-bit signed byte offset and a register.
    i.imm = (((high << 8) as i32) >> 8) as u32;
    i.src[1] = bits(high, 25, 7) as u16;
}

fn flat(i: &mut Inst, low: u32, high: u32, third: u32) {
    i.dst = vgpr(bits(high, 0, 8));
    i.src = [
        vgpr(bits(third, 0, 8)),
        vgpr(bits(high, 23, 8)),
        bits(low, 0, 7) as u16,
    ];
    // A 24-bit signed byte offset.
    i.imm = ((third as i32) >> 8) as u32;
    // flat 0, scratch 1, global 2.
    i.op_sel = bits(low, 24, 2) as u8;
    if i.op_sel == 0 || i.src[2] == NULL {
        i.src[2] = code::NONE;
    }
    // Scratch has a bit that shows whether there is a vector address.
    if i.op_sel == 1 && bits(high, 17, 1) == 0 {
        i.src[0] = code::NONE;
    }
    // The temporal hint, whose lowest bit makes an atomic return the old value.
    i.cache = bits(high, 20, 3) as u8;
    i.scope = Scope::of(bits(high, 18, 2));
}

fn buffer(i: &mut Inst, low: u32, high: u32, third: u32) {
    let data = vgpr(bits(high, 0, 8));
    i.dst = data;
    i.src = [vgpr(bits(third, 0, 8)), data, bits(low, 0, 7) as u16];
    i.sdst = bits(high, 9, 7) as u16;
    // A 24-bit offset.
    i.imm = third >> 8;
    for (bit, flag) in [(30, form::OFFEN), (31, form::IDXEN)] {
        i.op_sel |= if bits(high, bit, 1) == 1 { flag } else { 0 };
    }
    i.cache = bits(high, 20, 3) as u8;
    i.scope = Scope::of(bits(high, 18, 2));
}

/// compute_pgm_rsrc1 and 3, from LLVM's tables for GFX12.
fn registers(r: &Registers) -> Result<Allocation, DescriptorError> {
    use DescriptorError::Unsupported;
    // VGPRs 5:0, priority 11:10, float mode 19:12, priv 20, round robin of workgroups 21, debug
    // 22, no performance counters 23, bulky 24, cdbg_user 25, fp16_ovfl 26, WGP mode 29, memory
    // ordered 30, forward progress 31. What was the SGPR count, 9:6, is not looked at: LLVM 19
    // still sets it.
    r.zero(r.rsrc1, 10, 2, "compute_pgm_rsrc1.PRIORITY")?;
    r.zero(r.rsrc1, 20, 1, "compute_pgm_rsrc1.PRIV")?;
    r.zero(r.rsrc1, 22, 1, "compute_pgm_rsrc1.DEBUG_MODE")?;
    r.zero(r.rsrc1, 24, 2, "compute_pgm_rsrc1.BULKY or CDBG_USER")?;
    r.zero(r.rsrc1, 27, 2, "compute_pgm_rsrc1 bits 28:27")?;
    // INST_PREF_SIZE 11:4, GLG_EN 13, IMAGE_OP 31.
    r.zero(r.rsrc3, 0, 4, "compute_pgm_rsrc3")?;
    r.zero(r.rsrc3, 12, 1, "compute_pgm_rsrc3")?;
    r.zero(r.rsrc3, 14, 17, "compute_pgm_rsrc3")?;
    if bits(r.rsrc3, 13, 1) == 1 {
        return Err(Unsupported("GLG_EN"));
    }
    if bits(r.rsrc3, 31, 1) == 1 {
        return Err(Unsupported("IMAGE_OP"));
    }
    if r.preload != 0 {
        return Err(DescriptorError::Reserved("kernarg_preload"));
    }
    let (lanes, granule) = if r.wave32 { (32, 8) } else { (64, 4) };
    Ok(Allocation {
        lanes,
        vgprs: (bits(r.rsrc1, 0, 6) as u16 + 1) * granule,
        accum_offset: 0,
        // No dx10_clamp and ieee: a clamped NaN is always zero.
        mode: bits(r.rsrc1, 12, 8) | mode::DX10_CLAMP | (bits(r.rsrc1, 26, 1) * mode::FP16_OVFL),
        in_order: match bits(r.rsrc1, 29, 1) {
            1 => InOrder::Waited,
            _ => InOrder::Unknown,
        },
    })
}

/// Where the workgroup is, in trap handler registers: x in ttmp9, y and z in ttmp7, the wave in
/// ttmp8.
fn start(s: &mut Scalars, start: &Start<'_>) {
    const TTMP: usize = 108;
    s[TTMP + 9] = start.id[0];
    s[TTMP + 7] = start.id[1] & 0xffff | (start.id[2] << 16);
    // Bit 30: the kernel asked for y or z, so that TTMP7 is valid; 24:0 the packet's number (RDNA4 ISA,
    // section 3.5).
    let [_, y, z] = start.kernel.workgroup_id;
    let number = start.dispatch.dispatch_id as u32 & 0x1ff_ffff;
    s[TTMP + 8] = (u32::from(y || z) << 30) | ((start.wave & 31) << 25) | number;
}
