// SPDX-License-Identifier: MIT OR Apache-2.0
//! SDWA: parts of sources and of the result.

use super::*;

pub fn add(add: &mut Add<'_>) {
    use Kind::*;
    add("v_add_u32_sdwa v0, v2, v4 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_3", "", Int, |x| { let mut d = (x.d as u32).to_le_bytes(); d[1] = (u32::from(x.halves()[0][1]) + u32::from(x.bytes()[1][3])) as u8; x.word(u32::from_le_bytes(d)) });
    add("v_add_u32_sdwa v0, sext(v2), v4 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD", "", Int, |x| x.word(((i128::from(x.bytes()[0][0] as i8) + x.u()[1]) as u32) << 16));
    add("v_mul_u32_u24_sdwa v0, v2, v4 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_2 src1_sel:BYTE_1", "", Int, |x| x.word(i32::from((u16::from(x.bytes()[0][2]) * u16::from(x.bytes()[1][1])) as i16) as u32));
    add("v_lshlrev_b32_sdwa v0, v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_0", "", Int, |x| x.word(u32::from(x.halves()[1][0]) << (x.bytes()[0][1] % 32)));
    add("v_add_f16_sdwa v0, v2, -v4 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0", "", Half, |x| { let v = x.halves().map(|p| p.map(|b| f16::from_bits(b).to_f64())); x.d & !0xffff_0000 | u64::from(h(v[0][1] - v[1][0])) << 16 });
}
