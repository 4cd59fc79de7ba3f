// SPDX-License-Identifier: MIT OR Apache-2.0
//! Look an encoding up in a chip's generated table.

use crate::target::gfx942::{Op, NAMES, ROWS};
use std::sync::OnceLock;

/// Encoding families of gfx9 (AMD CDNA3 ISA, section 13, "Microcode Formats").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are the manual's
pub enum Family {
    Sop1,
    Sop2,
    Sopc,
    Sopk,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3,
    Vop3p,
    Sdwa,
    Dpp,
    Ds,
    Flat,
    Mubuf,
    Mtbuf,
    Mimg,
    Exp,
    Vintrp,
}

/// One encoding.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Bits that the encoding fixes.
    pub mask: u64,
    /// Their values.
    pub value: u64,
    /// Bytes, without a literal that an operand may ask for.
    pub size: u8,
    /// How to read the operands.
    pub family: Family,
    /// What it does.
    pub op: Op,
    /// Registers spanned by destination, three sources and scalar destination; 0 is absent.
    pub widths: [u8; 5],
}

impl Row {
    /// A row of the generated table.
    pub const fn new(
        mask: u64,
        value: u64,
        size: u8,
        family: Family,
        op: Op,
        widths: [u8; 5],
    ) -> Self {
        Self {
            mask,
            value,
            size,
            family,
            op,
            widths,
        }
    }
}

impl Op {
    /// The mnemonic as LLVM prints it, without encoding suffix.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

// Rows by the top nine bits of the first word: that is where every gfx9 family keeps its number
// and most keep their opcode.
const KEY_SHIFT: u32 = 23;

fn buckets() -> &'static [Vec<u16>] {
    static BUCKETS: OnceLock<Vec<Vec<u16>>> = OnceLock::new();
    BUCKETS.get_or_init(|| {
        (0u64..512)
            .map(|key| {
                let matches = |row: &Row| {
                    let (mask, value) = (row.mask & 0xff80_0000, row.value & 0xff80_0000);
                    (key << KEY_SHIFT) & mask == value
                };
                (0..ROWS.len())
                    .filter(|&i| matches(&ROWS[i]))
                    .map(|i| i as u16)
                    .collect()
            })
            .collect()
    })
}

/// The first encoding that matches `low`, or `low` and `high`, in the table's order.
pub fn find(low: u32, high: u32) -> Option<&'static Row> {
    let word = u64::from(low) | (u64::from(high) << 32);
    let bucket = &buckets()[(low >> KEY_SHIFT) as usize];
    bucket
        .iter()
        .map(|&i| &ROWS[i as usize])
        .find(|row| word & row.mask == row.value)
}

/// Encodings in the table.
pub fn len() -> usize {
    ROWS.len()
}
