// SPDX-License-Identifier: MIT OR Apache-2.0

//! Hardware queue slots (HQDs): where a queue is loaded to run.
//!
//! A slot's number is its bit in the queue mask of SET_RESOURCES (Linux,
//! `amdgpu_queue_mask_bit_to_set_resource_bit`): `mec * 32 + pipe * 8 + queue`. Which ones there are
//! is the generation's. Every XCC has the same ones.

use rkfd_hw::regs::gc_9_4_3::GRBM_GFX_CNTL;
use rkfd_hw::regs::Value;
use std::fmt;

/// Numbers that a slot may have.
pub const SLOTS: usize = 64;

/// The slots of a generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slots {
    /// Pipes of both cores of the compute micro engine: MEC1 is `me` 1, MEC2 `me` 2.
    pub pipes: [u32; 2],
    /// Queues of a pipe, at most 8.
    pub queues: u32,
}

impl Slots {
    /// The slot of a micro engine, pipe and queue of the first XCC, if there is one.
    pub fn find(&self, me: u32, pipe: u32, queue: u32) -> Option<Slot> {
        let pipes = *self.pipes.get((me as usize).checked_sub(1)?)?;
        let there = queue < self.queues && pipe < pipes;
        there.then_some(Slot {
            xcc: 0,
            number: ((me - 1) * 32 + pipe * 8 + queue) as u8,
        })
    }

    /// The slot that GRBM_GFX_CNTL selects.
    pub fn selected(&self, grbm_gfx_cntl: u32) -> Option<Slot> {
        self.find(
            Value::new(grbm_gfx_cntl).get(GRBM_GFX_CNTL::MEID),
            Value::new(grbm_gfx_cntl).get(GRBM_GFX_CNTL::PIPEID),
            Value::new(grbm_gfx_cntl).get(GRBM_GFX_CNTL::QUEUEID),
        )
    }

    /// The slot of a bit of SET_RESOURCES' queue mask.
    pub fn from_bit(&self, bit: u32) -> Option<Slot> {
        self.find(bit / 32 + 1, bit % 32 / 8, bit % 8)
    }

    /// All of them.
    pub fn all(self) -> impl Iterator<Item = Slot> {
        (0..SLOTS as u32).filter_map(move |bit| self.from_bit(bit))
    }
}

/// One HQD.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    xcc: u8,
    number: u8,
}

impl Slot {
    /// Its number in its XCC, below [`SLOTS`].
    pub const fn index(self) -> usize {
        self.number as usize
    }

    /// Its number among those of all XCCs.
    pub const fn place(self) -> usize {
        self.xcc as usize * SLOTS + self.number as usize
    }

    /// The XCC that it is on.
    pub const fn xcc(self) -> u8 {
        self.xcc
    }

    /// The same slot of another XCC.
    pub const fn on(self, xcc: u8) -> Self {
        Self { xcc, ..self }
    }

    /// Micro engine: 1 or 2.
    pub const fn me(self) -> u32 {
        self.number as u32 / 32 + 1
    }

    /// Pipe in the micro engine.
    pub const fn pipe(self) -> u32 {
        self.number as u32 % 32 / 8
    }

    /// Queue in the pipe.
    pub const fn queue(self) -> u32 {
        self.number as u32 % 8
    }

    /// The ring id of its interrupts (Linux, `gfx_v9_4_3_eop_irq`, `gfx_v12_0_eop_irq`): pipe, me, queue.
    pub const fn ring_id(self) -> u8 {
        (self.pipe() | (self.me() << 2) | (self.queue() << 4)) as u8
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.xcc > 0 {
            write!(f, "xcc{} ", self.xcc)?;
        }
        write!(
            f,
            "me{} pipe{} queue{}",
            self.me(),
            self.pipe(),
            self.queue()
        )
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A set of up to 64 things that are given out and taken back: VMIDs or slots.
///
/// What may be given out is set by SET_RESOURCES; what is out stays out when the mask shrinks.
#[derive(Clone, Copy, Default, Debug)]
pub struct Pool {
    allowed: u64,
    taken: u64,
}

impl Pool {
    /// Sets what may be given out.
    pub fn allow(&mut self, mask: u64) {
        self.allowed = mask;
    }

    /// Gives out the lowest free number.
    pub fn take(&mut self) -> Option<u32> {
        let free = self.allowed & !self.taken;
        let bit = (free != 0).then(|| free.trailing_zeros())?;
        self.taken |= 1 << bit;
        Some(bit)
    }

    /// Takes out a number of the caller's choice; `false` when it is out already.
    pub fn take_this(&mut self, bit: u32) -> bool {
        let was = (self.taken >> bit) & 1;
        self.taken |= 1u64 << bit;
        was == 0
    }

    /// Takes a number back.
    pub fn give(&mut self, bit: u32) {
        self.taken &= !(1u64 << bit);
    }

    /// How many could be given out now.
    pub fn free(&self) -> u32 {
        (self.allowed & !self.taken).count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::cp::front::generation::{GFX12, GFX9_4_3};

    #[test]
    fn slots_are_the_bits_of_the_queue_mask() {
        let slots = GFX9_4_3.slots;
        assert_eq!(slots.all().count(), 48);
        for (i, slot) in slots.all().enumerate() {
            assert_eq!(slot.index(), i);
            let found = slots.find(slot.me(), slot.pipe(), slot.queue());
            assert_eq!(found, Some(slot));
        }
        assert_eq!(slots.find(2, 2, 0), None);
        assert_eq!(slots.find(0, 0, 0), None);
        assert_eq!(slots.find(1, 0, 8), None);
        assert_eq!(slots.find(2, 1, 3).map(Slot::ring_id), Some(0x39));
        assert_eq!(GFX12.slots.all().count(), 8);
        assert_eq!(GFX12.slots.find(2, 0, 0), None);
        assert_eq!(GFX12.slots.find(1, 1, 4), None);
    }

    #[test]
    fn a_pool_gives_each_number_once() {
        let mut pool = Pool::default();
        assert_eq!(pool.take(), None);
        pool.allow(0b1010);
        assert!(pool.take_this(1));
        assert!(!pool.take_this(1));
        assert_eq!((pool.take(), pool.take()), (Some(3), None));
        pool.give(1);
        assert_eq!((pool.free(), pool.take()), (1, Some(1)));
    }
}
