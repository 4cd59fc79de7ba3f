// SPDX-License-Identifier: MIT OR Apache-2.0
//! What differs between chips, each in a file of its own: which words are which operation, where
//! the operands are, what a kernel descriptor asks for, and what registers hold when a wave starts.
//!
//! What an operation does is in `exec`, once for all chips: a decoder makes each chip's operand
//! codes and implied operands the same, so that running code never depends on the chip. The
//! number of lanes is the kernel's, not the chip's.

pub mod gfx1201;
pub mod gfx942;

pub use crate::decode::Op;
pub use gfx1201::GFX1201;
pub use gfx942::GFX942;

use crate::decode::counters::{Counted, Waits};
use crate::decode::table::{Index, Row};
use crate::decode::{DecodeError, Inst};
use crate::dispatch::Dispatch;
use crate::kernel::{Allocation, DescriptorError, Kernel, Registers, DESCRIPTOR_SIZE};
use crate::text::{Syntax, Text};
use std::fmt;

/// Lanes of a wave on gfx942.
pub const GFX942_LANES: usize = 64;

/// Scalar registers by operand code.
pub type Scalars = [u32; 256];

/// What a wave's first registers are made from.
pub struct Start<'a> {
    /// The descriptor.
    pub kernel: &'a Kernel,
    /// The packet.
    pub dispatch: &'a Dispatch,
    /// The workgroup in its grid.
    pub id: [u32; 3],
    /// The wave in its workgroup.
    pub wave: u32,
    /// Waves of the workgroup.
    pub waves: u32,
    /// Address of the wave's scratch.
    pub scratch: u64,
}

/// Where a chip stores why a wave is in its handler.
#[derive(Clone, Copy, Debug)]
pub struct TrapLayout {
    /// The number of a trap in TTMP1 and TTMP0: first bit, and bits.
    pub(crate) id: (u32, u32),
    /// MEM_VIOL.
    pub(crate) memory_violation: u32,
    /// XNACK_ERROR: beside MEM_VIOL, that an address of the process' space doesn't translate.
    pub(crate) translation: u32,
    /// ILLEGAL_INST.
    pub(crate) illegal_instruction: u32,
    /// Those of watched addresses.
    pub(crate) watched: [u32; 4],
    /// TRAP_AFTER_INST: the wave goes on by single instructions, and has executed one.
    pub(crate) stepped: u32,
    /// WAVE_BEGIN, WAVE_START: the wave has executed nothing yet.
    pub(crate) start: u32,
    /// Which exceptions trap is in MODE, and not in a register of its own.
    pub(crate) enables_in_mode: bool,
    /// SAVECTX, SAVE_CONTEXT: the wave is to be saved.
    pub(crate) save_context: u32,
    /// A wave arrives at its barrier by one instruction and waits by another.
    pub(crate) split_barrier: bool,
    /// Bits of MODE that the chip doesn't have, and behaves as if they were set.
    pub(crate) mode: u32,
    /// Bytes of a stored wave's scalar registers.
    pub(crate) scalars: u64,
    /// Bytes that nobody uses between a stored wave and the next (AMD's debugger library, librocm-dbgapi 6.4.3, where it finds a
    /// wave's registers).
    pub(crate) unused: u64,
}

/// A chip's instruction set.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Its encodings, in the order in which they are tried.
    pub rows: &'static [Row],
    pub(crate) index: Index,
    /// How its instructions are written.
    pub(crate) syntax: Syntax,
    /// Encodings that the manual has and LLVM 19's records lack, tried last.
    pub(crate) later: &'static [Row],
    /// Clear the fields that an instruction's hardware ignores, where no encoding has them set.
    pub(crate) ignored: fn([u32; 3]) -> [u32; 3],
    /// Take the operands apart.
    pub(crate) operands: fn(&'static Row, [u32; 3]) -> Result<Inst, DecodeError>,
    /// Check a descriptor's program resource registers.
    pub(crate) registers: fn(&Registers) -> Result<Allocation, DescriptorError>,
    /// Bytes of LDS that are allocated at once.
    pub lds_granule: u32,
    /// How it reports the reason of a trap to its handler.
    pub(crate) traps: TrapLayout,
    /// Which counters an instruction waits for, and which count it.
    pub(crate) counters: fn(&Inst) -> (Option<Waits>, Counted),
    /// Set the scalar registers that follow the user SGPRs or that are always there.
    pub(crate) start: fn(&mut Scalars, &Start<'_>),
}

impl Target {
    /// The first encoding that matches.
    pub fn find(&self, words: [u32; 3]) -> Option<&'static Row> {
        let known = self.index.find(self.rows, words[0], words[1]);
        let word = u64::from(words[0]) | (u64::from(words[1]) << 32);
        let later = || self.later.iter().find(|row| word & row.mask == row.value);
        known.or_else(later)
    }

    /// The first encoding that matches, and the words without the fields that it ignores.
    fn look(&self, words: [u32; 3]) -> Option<(&'static Row, [u32; 3])> {
        let known = self.find(words).map(|row| (row, words));
        known.or_else(|| {
            let words = (self.ignored)(words);
            self.find(words).map(|row| (row, words))
        })
    }

    /// Decode one instruction. `words` are the next three; those past the end of code may be
    /// anything.
    pub fn decode(&self, words: [u32; 3]) -> Result<Inst, DecodeError> {
        let (row, words) = self.look(words).ok_or(DecodeError::Undecodable)?;
        (self.operands)(row, words)
    }

    /// The text of one instruction of a wave with 32 lanes or 64; nothing if no encoding matches.
    pub fn text(&'static self, words: [u32; 3], lanes: u32) -> Option<Text> {
        let (row, words) = self.look(words)?;
        Some(Text::new(&self.syntax, row, words, lanes))
    }
}

impl Kernel {
    /// Take apart the descriptor of a gfx942 kernel that lies at `va`.
    pub fn parse(va: u64, bytes: &[u8; DESCRIPTOR_SIZE]) -> Result<Self, DescriptorError> {
        Self::parse_for(&GFX942, va, bytes)
    }

    /// Take apart the descriptor of a chip's kernel that lies at `va`.
    pub fn parse_for(
        target: &Target,
        va: u64,
        bytes: &[u8; DESCRIPTOR_SIZE],
    ) -> Result<Self, DescriptorError> {
        Self::parse_with(target.registers, va, bytes)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
