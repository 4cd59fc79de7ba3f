// SPDX-License-Identifier: MIT OR Apache-2.0
//! gfx12's operands of 16 bits where an encoding has no op_sel (VOP1, VOP2 and VOPC): v0 to v127 are
//! registers' lower halves, and the codes of v128 to v255 are the upper halves of v0 to v127 (RDNA4 ISA,
//! section 7.4; what llvm-mc encodes with real-true16, as compilers do).

use super::table::Family;
use super::{code, Inst, Op};

/// Which operands of a mnemonic have 16 bits: destination, first and second source. Of packed and
/// converting ones those that LLVM 19 refuses to be v128 or above.
pub fn operands(mnemonic: &str) -> [bool; 3] {
    match mnemonic {
        "v_cvt_f16_f32" | "v_sat_pk_u8_i16" => [true, false, false],
        "v_cvt_f32_f16" | "v_cvt_i32_i16" | "v_cvt_u32_u16" => [false, true, false],
        name if !name.ends_with("16") || name.contains("_pk_") => [false; 3],
        name if name.starts_with("v_cmp") => [false, true, true],
        _ => [true; 3],
    }
}

/// Take the upper halves out of the registers' codes: op_sel chooses them, as it does in VOP3.
pub(crate) fn choose(i: &mut Inst) {
    const FIRST_UPPER: u16 = code::VGPR + 128;
    if !matches!(i.family, Family::Vop1 | Family::Vop2 | Family::Vopc) {
        return;
    }
    let [to, first, second] = operands(i.row.mnemonic);
    let upper = FIRST_UPPER..code::AGPR;
    if to && upper.contains(&i.dst) {
        i.dst -= 128;
        i.op_sel |= 8;
    }
    for (n, half) in [first, second].into_iter().enumerate() {
        if half && upper.contains(&i.src[n]) {
            i.src[n] -= 128;
            i.op_sel |= 1 << n;
        }
    }
    match i.op {
        // The third source is the destination's old value.
        Op::VFmacF16 => i.op_sel |= (i.op_sel & 8) >> 1,
        // The second field is the third source: the literal is the second.
        Op::VFmamkF16 => i.op_sel = i.op_sel & !2 | ((i.op_sel & 2) << 1),
        _ => {}
    }
}
