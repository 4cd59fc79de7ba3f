// SPDX-License-Identifier: MIT OR Apache-2.0
//! What waves that have ended left in a compute unit's registers and LDS.
//!
//! Hardware clears none of it: a wave begins with what was there, but for the registers that its launch sets. Not modelled
//! is which banks of the register file a wave is given: it has the registers of one that ended before, the longest ago first.
//! How many registers a compute unit of gfx942 has is said in Linux's `amdgpu/gfx_v9_4_3_cleaner_shader.asm`; gfx1201 is
//! given as many.

use crate::decode::code;
use crate::target::Scalars;
use crate::wave::Wave;
use std::any::Any;
use std::collections::VecDeque;

/// LDS of a compute unit.
pub const LDS_SIZE: u32 = 64 * 1024;

/// Waves that a compute unit holds at once: ten or fewer in each of four SIMDs.
const SLOTS: usize = 40;
/// Scalar registers of a wave: s0 to s101 (gfx12 has four more), and VCC.
const GENERAL: std::ops::Range<usize> = 0..102;
const VCC: std::ops::Range<usize> = code::VCC as usize..code::VCC as usize + 2;
/// Vector registers of a compute unit, of 64 lanes: 512 in each of four SIMDs.
const VECTORS: usize = 2048;

/// What is there.
pub(crate) struct Leftovers {
    lds: Vec<u8>,
    scalars: Vec<Scalars>,
    /// The slot that the next wave takes.
    slot: usize,
    /// Vector registers of waves that have ended, the last one at the end: each a `Vec<[u32; L]>`, of 32 lanes and of 64.
    vectors: [VecDeque<Held>; 2],
}

/// So many vector registers.
struct Held {
    count: usize,
    values: Box<dyn Any + Send>,
}

impl Default for Leftovers {
    fn default() -> Self {
        Self {
            lds: vec![0; LDS_SIZE as usize],
            scalars: vec![[0; 256]; SLOTS],
            slot: 0,
            vectors: Default::default(),
        }
    }
}

impl Leftovers {
    /// Scalar registers for a wave.
    pub(crate) fn scalars(&mut self) -> Scalars {
        let slot = self.slot;
        self.slot = (slot + 1) % SLOTS;
        self.scalars[slot]
    }

    /// So many vector registers for a wave.
    pub(crate) fn vectors<const L: usize>(&mut self, count: usize) -> Vec<[u32; L]> {
        let held = self.of::<L>().pop_front();
        let held = held.and_then(|held| held.values.downcast::<Vec<[u32; L]>>().ok());
        let mut vectors = held.map_or_else(Vec::new, |held| *held);
        vectors.resize(count, [0; L]);
        vectors
    }

    /// So many bytes of LDS, at most [`LDS_SIZE`].
    pub(crate) fn lds(&self, bytes: usize) -> Vec<u8> {
        let mut lds = Vec::with_capacity(bytes);
        lds.extend_from_slice(self.lds.get(..bytes).unwrap_or(&self.lds));
        lds
    }

    /// What a workgroup had, whose waves have ended.
    pub(crate) fn keep<const L: usize>(&mut self, lds: &[u8], waves: Vec<Wave<L>>) {
        self.keep_scalars(&waves);
        for (to, from) in self.lds.iter_mut().zip(lds) {
            *to = *from;
        }
        let all = self.of::<L>();
        for wave in waves {
            let mut vectors = wave.v;
            vectors.truncate(vectors.len().saturating_sub(Wave::<L>::STAGES));
            all.push_back(Held {
                count: vectors.len(),
                values: Box::new(vectors),
            });
        }
        let mut count: usize = all.iter().map(|held| held.count).sum();
        while count > VECTORS * 64 / L {
            count -= all.pop_front().map_or(count, |oldest| oldest.count);
        }
    }

    fn of<const L: usize>(&mut self) -> &mut VecDeque<Held> {
        let [wave32, wave64] = &mut self.vectors;
        if L == 32 {
            wave32
        } else {
            wave64
        }
    }

    /// Its scalar registers, in the slots that its waves took if none began meanwhile.
    pub(crate) fn keep_scalars<const L: usize>(&mut self, waves: &[Wave<L>]) {
        let first = self.slot + SLOTS - waves.len().min(SLOTS);
        for (n, wave) in waves.iter().enumerate() {
            let slot = &mut self.scalars[(first + n) % SLOTS];
            for range in [GENERAL, VCC] {
                slot[range.clone()].copy_from_slice(&wave.s[range]);
            }
        }
    }

    /// A workgroup of a cleaner shader comes, whose waves take the slots from this one on.
    pub(crate) fn seat(&mut self, slot: usize) {
        self.slot = slot % SLOTS;
    }

    /// All vector registers were given to waves: of those that were there before nothing is left.
    pub(crate) fn occupied(&mut self) {
        self.vectors.iter_mut().for_each(VecDeque::clear);
    }

    /// Everything becomes zero, as by firmware that clears a compute unit.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
