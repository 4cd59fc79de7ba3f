// SPDX-License-Identifier: MIT OR Apache-2.0

//! A ring of the interrupt handler, as its registers say.

use rkfd_hw::ih::ENTRY_SIZE;
use rkfd_hw::layout::Field;
use rkfd_hw::regs::osssys_4_4_2::{IH_RB_CNTL, IH_RB_WPTR};
use rkfd_hw::regs::Value as Contents;

/// Which of the two rings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// Ring 0: its entries raise the message.
    Zero,
    /// Ring 1: an entry in ring 0 tells of its entries.
    One,
}

/// A ring's registers.
#[derive(Clone, Copy, Default)]
pub struct Ring {
    /// `IH_RB_CNTL`.
    pub cntl: u32,
    /// `IH_RB_BASE`: address bits 39:8.
    pub base: u32,
    /// `IH_RB_BASE_HI`: address bits 47:40.
    pub base_hi: u32,
    /// `IH_RB_RPTR`, in bytes.
    pub rptr: u32,
    /// `IH_RB_WPTR`, in bytes, bit 0 is RB_OVERFLOW.
    pub wptr: u32,
    /// `IH_RB_WPTR_ADDR_{LO,HI}`, of ring 0.
    pub wptr_addr: [u32; 2],
    /// `IH_DOORBELL_RPTR`.
    pub doorbell: u32,
    /// The doorbell's value when it was last looked at.
    pub(super) rung: u32,
    /// It was told that there are entries, and the read pointer has not moved since.
    pub(super) sent: bool,
    /// Entries were overwritten, and the driver has not caught up since.
    pub(super) lost: bool,
    /// Time of the last entry.
    pub(super) time: u64,
}

/// The largest ring: its write pointer has 18 bits.
const MAX_SIZE_FIELD: u32 = 16;

impl Ring {
    /// Size in bytes, if it is one that the write pointer can count.
    pub fn size(&self) -> Option<u32> {
        let field = Contents::new(self.cntl).get(IH_RB_CNTL::RB_SIZE);
        ((3..=MAX_SIZE_FIELD).contains(&field)).then_some(4 << field)
    }

    pub(super) fn address(&self) -> u64 {
        (u64::from(self.base) << 8) | (u64::from(self.base_hi & 0xff) << 40)
    }

    /// Where the device writes its write pointer.
    pub(super) fn pointer_address(&self) -> u64 {
        let [lo, hi] = self.wptr_addr;
        u64::from(lo & !3) | (u64::from(hi & 0xffff) << 32)
    }

    /// The write pointer without its flags.
    pub(super) fn offset(&self) -> u32 {
        self.wptr & IH_RB_WPTR::OFFSET.mask()
    }

    pub(in crate::blocks) fn has(&self, field: Field<IH_RB_CNTL, 1>) -> bool {
        Contents::new(self.cntl).is_set(field)
    }

    /// Whether it is on and the driver has not taken all of its entries.
    pub(in crate::blocks) fn has_entries(&self) -> bool {
        let size = self.size().filter(|_| self.has(IH_RB_CNTL::RB_ENABLE));
        size.is_some_and(|size| self.rptr % size != self.offset() % size)
    }

    /// Whether all entries up to a read pointer were written. A driver whose entries were overwritten goes on somewhere
    /// behind them.
    pub(super) fn covers(&self, rptr: u32) -> bool {
        let size = self.size().filter(|_| self.has(IH_RB_CNTL::RB_ENABLE));
        let from_last = |at: u32, size| at.wrapping_sub(self.rptr) % size;
        self.lost || size.is_none_or(|size| from_last(rptr, size) <= from_last(self.offset(), size))
    }

    /// Whether a value is one for the read pointer: an entry's beginning.
    pub(super) fn has_place(&self, rptr: u32) -> bool {
        rptr % ENTRY_SIZE as u32 == 0 && self.size().is_none_or(|size| rptr < size)
    }
}
