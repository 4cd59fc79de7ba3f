// SPDX-License-Identifier: MIT OR Apache-2.0
//! Look an encoding up in a chip's generated table.

use crate::decode::ops::{Op, NAMES};
use std::sync::OnceLock;

/// Encoding families (AMD CDNA3 and RDNA4 ISA, "Microcode Formats").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the manuals'")]
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
    Vopd,
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

impl Family {
    /// The family that executes what was decoded as `base`: DPP and SDWA come before it.
    pub fn executed(self, base: Self) -> Self {
        match self {
            Self::Dpp | Self::Sdwa => self,
            _ => base,
        }
    }
}

/// One encoding.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Bits of the first two words that the encoding fixes.
    pub mask: u64,
    /// Their values.
    pub value: u64,
    /// Bytes, without a literal that an operand may ask for.
    pub size: u8,
    /// How to read the operands.
    pub family: Family,
    /// The mnemonic as LLVM prints it for this chip, without encoding suffix.
    pub mnemonic: &'static str,
    /// What it does.
    pub op: Op,
    /// Registers spanned by destination, three sources and scalar destination; 0 is absent.
    pub widths: [u8; 5],
    /// Which of the chip's layouts its text has; 0 is the mnemonic alone.
    pub layout: u16,
}

impl Row {
    /// A row of the generated table.
    #[rustfmt::skip]
    #[expect(clippy::too_many_arguments, reason = "the arguments are the columns of the table")]
    pub const fn new(mask: u64, value: u64, size: u8, family: Family, mnemonic: &'static str, op: Op, widths: [u8; 5], layout: u16) -> Self {
        Self { mask, value, size, family, mnemonic, op, widths, layout }
    }
}

impl Op {
    /// The operation's name: its mnemonic on the oldest chip that has it.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

// Rows by the top nine bits of the first word: that is where every family keeps its number and
// most keep their opcode.
const KEY_SHIFT: u32 = 23;

/// An index of a table's rows, made at its first use.
pub struct Index(OnceLock<Vec<Vec<u16>>>);

impl Index {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    fn buckets(&self, rows: &[Row]) -> &[Vec<u16>] {
        self.0.get_or_init(|| {
            (0u64..512)
                .map(|key| {
                    let matches = |row: &Row| {
                        let (mask, value) = (row.mask & 0xff80_0000, row.value & 0xff80_0000);
                        (key << KEY_SHIFT) & mask == value
                    };
                    (0..rows.len())
                        .filter(|&i| matches(&rows[i]))
                        .map(|i| i as u16)
                        .collect()
                })
                .collect()
        })
    }

    /// The first encoding that matches `low`, or `low` and `high`, in the table's order.
    pub(crate) fn find(&self, rows: &'static [Row], low: u32, high: u32) -> Option<&'static Row> {
        let word = u64::from(low) | (u64::from(high) << 32);
        let bucket = &self.buckets(rows)[(low >> KEY_SHIFT) as usize];
        bucket
            .iter()
            .map(|&i| &rows[i as usize])
            .find(|row| word & row.mask == row.value)
    }
}
