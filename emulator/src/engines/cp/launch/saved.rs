// SPDX-License-Identifier: MIT OR Apache-2.0

//! A workgroup that was saved, as the packet processor knows it.
//!
//! What its waves are lies in the save area, where their trap handler has stored it. This is what is needed to
//! launch them again: how many registers each had, and where it was stored. Part of that the control stack has,
//! too ([`crate::engines::cp::front::relaunch`]); how the chip keeps the rest isn't published.

use rkfd_isa::SavedWave;
use std::num::NonZeroU32;

/// A workgroup that was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedGroup {
    /// Its place in its dispatch's scratch memory.
    pub place: u32,
    /// Its number in its grid.
    pub id: [u32; 3],
    /// Bytes of its LDS.
    pub lds: u32,
    /// Its waves that have not ended.
    pub waves: Vec<SavedWave>,
}

/// Words of a workgroup without its waves, and of a wave.
const GROUP: usize = 5;
const WAVE: usize = 4;

/// Words before each one's, where it is kept: what it is, and how many words.
pub(crate) const ENTRY: usize = 2;

/// Words that [`SavedGroup::words`] makes of a workgroup of so many waves.
pub(crate) fn words_of(waves: usize) -> usize {
    GROUP + waves * WAVE
}

impl SavedGroup {
    /// As words; places are counted from the save area's base.
    pub fn words(&self, base: u64) -> Vec<u32> {
        let [x, y, z] = self.id;
        let mut words = vec![self.place, x, y, z, self.lds];
        for wave in &self.waves {
            let registers = u32::from(wave.registers) | (u32::from(wave.acc_base) << 16);
            let ticket = wave.ticket.map_or(0, NonZeroU32::get);
            // The area's size has 32 bits.
            let offset = wave.place.wrapping_sub(base) as u32;
            words.extend([wave.index, registers, ticket, offset]);
        }
        words
    }

    /// One of words. Where its waves' scratch lies depends on its dispatch. `None` if they are not its words.
    pub fn of(words: &[u32], base: u64) -> Option<Self> {
        let (&[place, x, y, z, lds], waves) = words.split_first_chunk::<GROUP>()?;
        if waves.is_empty() || waves.len() % WAVE != 0 {
            return None;
        }
        let wave = |words: &[u32]| {
            let &[index, registers, ticket, offset] = words else {
                return None;
            };
            Some(SavedWave {
                registers: registers as u16,
                acc_base: (registers >> 16) as u16,
                scratch: (0, 0),
                index,
                ticket: NonZeroU32::new(ticket),
                place: base.wrapping_add(offset.into()),
            })
        };
        Some(Self {
            place,
            id: [x, y, z],
            lds,
            waves: waves.chunks_exact(WAVE).map(wave).collect::<Option<_>>()?,
        })
    }
}
