// SPDX-License-Identifier: MIT OR Apache-2.0
//! DPP and SDWA: vector operations whose first sources come from other lanes, or from parts of
//! registers (CDNA3 ISA, section 12.9 and 12.10; RDNA4 ISA, section 7.7).
//!
//! Such an instruction is one of another encoding, with a control word in place of its first source.

use super::families::operands;
use super::table::Family;
use super::{bits, vgpr, Inst};

/// Control word of a DPP or SDWA instruction, and the encoding that it extends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// Sources are taken as they are.
    None,
    /// DPP with rows of 16 lanes.
    Rows(Family, u32),
    /// DPP with groups of 8 lanes: a 3-bit lane for each, and whether inactive lanes are read.
    Eights(Family, u32, bool),
    /// SDWA.
    Parts(Family, u32),
}

/// Take a DPP or SDWA instruction apart; false if it is neither.
pub fn decode(i: &mut Inst, words: [u32; 3]) -> bool {
    let family = i.family;
    let base = match (i.row.size, words[0] >> 24) {
        (12, 0xcc) => Family::Vop3p,
        (12, _) => Family::Vop3,
        (_, 0x7e | 0x7f) => Family::Vop1,
        (_, 0x7c | 0x7d) => Family::Vopc,
        _ => Family::Vop2,
    };
    let control = words[if i.row.size == 12 { 2 } else { 1 }];
    let raw = if i.row.size == 12 { words[1] } else { words[0] } & 0x1ff;
    match family {
        Family::Dpp => {
            i.family = base;
            operands(i, words);
            i.src[0] = vgpr(bits(control, 0, 8));
            i.select = match raw {
                0xe9 | 0xea => Select::Eights(base, control >> 8, raw == 0xea),
                _ => {
                    // VOP3 has modifiers of its own.
                    if i.row.size == 8 {
                        i.neg = (bits(control, 20, 1) | (bits(control, 22, 1) << 1)) as u8;
                        i.abs = (bits(control, 21, 1) | (bits(control, 23, 1) << 1)) as u8;
                    }
                    Select::Rows(base, control)
                }
            };
        }
        Family::Sdwa => {
            i.family = base;
            operands(i, words);
            // Each source is a vector or, with a bit of its own, a scalar register.
            let register = |number: u32, scalar: u32| {
                if scalar == 1 {
                    number as u16
                } else {
                    vgpr(number)
                }
            };
            i.src[0] = register(bits(control, 0, 8), bits(control, 23, 1));
            if i.row.widths[2] > 0 {
                i.src[1] = register(bits(words[0], 9, 8), bits(control, 31, 1));
            }
            i.neg = (bits(control, 20, 1) | (bits(control, 28, 1) << 1)) as u8;
            i.abs = (bits(control, 21, 1) | (bits(control, 29, 1) << 1)) as u8;
            if base == Family::Vopc {
                if bits(control, 15, 1) == 1 {
                    i.sdst = bits(control, 8, 7) as u16;
                }
            } else {
                i.clamp = bits(control, 13, 1) == 1;
                i.omod = bits(control, 14, 2) as u8;
            }
            i.select = Select::Parts(base, control);
        }
        _ => return false,
    }
    true
}
