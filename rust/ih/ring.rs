// SPDX-License-Identifier: GPL-2.0

//! One of the rings: its memory, its registers, and where reading stands.

use super::{
    hal::Registers,
    Hal, //
};
use crate::{
    device::Handle,
    glue::{
        linux,
        ratelimit::ratelimited, //
    },
    gmc::{
        Gart,
        KernelBuf, //
    },
    hw::{
        ih::{
            Entry,
            ENTRY_SIZE, //
        },
        regs::AnyField,
        value::Bounded, //
    },
    regs::Regs, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// `IH_RING_SIZE`.
pub(super) const RING_BYTES: usize = 256 << 10;
const ENTRY_WORDS: usize = ENTRY_SIZE / 4;
/// Entries handled before the room is handed back.
pub(super) const BATCH: usize = 32;

/// A ring.
pub(super) struct Ring {
    registers: &'static Registers,
    entries: KernelBuf,
    /// The device stores its write pointer here, in bytes. Only ring 0 has that: of the other the register is read.
    wptr: Option<KernelBuf>,
    /// In bytes.
    rptr: usize,
}

impl Ring {
    /// Ring 0.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(super) fn first(gart: &Arc<Gart>, hal: &dyn Hal) -> Result<Self> {
        let mut ring = Self::second(gart, &hal.registers().ring)?;
        ring.wptr = Some(KernelBuf::new(gart, 4096)?);
        Ok(ring)
    }

    /// Ring 1, by its registers.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(super) fn second(gart: &Arc<Gart>, registers: &'static Registers) -> Result<Self> {
        Ok(Self {
            registers,
            entries: KernelBuf::new(gart, RING_BYTES)?,
            wptr: None,
            rptr: 0,
        })
    }

    /// Where the device stores the write pointer, as registers take it; `None` where it doesn't.
    pub(super) fn pointer_place(&self, hal: &dyn Hal) -> Option<u64> {
        self.wptr.as_ref().map(|wptr| place(wptr, hal))
    }

    /// Nothing is in it any more.
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone.
    pub(super) fn forget(&mut self) -> Result {
        self.rptr = 0;
        self.wptr.as_ref().map_or(Ok(()), |wptr| wptr.write(0, 0))
    }

    /// It was turned off, with which the device's pointers are 0. Of ring 0 what the device has stored counts, and is still
    /// read; of another nothing is left.
    pub(super) fn turned_off(&mut self) {
        if self.wptr.is_none() {
            self.rptr = 0;
        }
    }

    /// Tells the device of the ring, which is off and empty (`vega20_ih_enable_ring`, `ih_v7_0_enable_ring`).
    pub(super) fn set_up(&self, regs: &Regs, hal: &dyn Hal) {
        let (table, at) = (self.registers, place(&self.entries, hal));
        regs.write(table.base, (at >> 8) as u32);
        regs.write(table.base_high, (at >> 40) as u32 & 0xff);
        let size = Bounded::new::<{ (RING_BYTES / 4).ilog2() as u64 }>();
        regs.update(table.cntl.reg(), |old| {
            table.cntl_size.set(table.cntl.apply(old), size)
        });
    }

    /// Copies entries out, as many as fit, and returns how many. Their room is handed back by the caller.
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone.
    pub(super) fn take(
        &mut self,
        regs: &Regs,
        dev: &Handle,
        batch: &mut [Entry; BATCH],
    ) -> Result<usize> {
        let wptr = self.write_pointer(regs, dev)?;
        let mut count = 0usize;
        while self.rptr != wptr && count < BATCH {
            let mut words = [0u32; ENTRY_WORDS];
            for (at, word) in (self.rptr / 4..).zip(words.iter_mut()) {
                *word = self.entries.read(at)?;
            }
            if let Some(slot) = batch.get_mut(count) {
                *slot = Entry(words);
            }
            self.rptr = after(self.rptr);
            count = count.saturating_add(1);
        }
        Ok(count)
    }

    /// How many entries wait to be taken.
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone.
    pub(super) fn unread(&mut self, regs: &Regs, dev: &Handle) -> Result<usize> {
        let wptr = self.write_pointer(regs, dev)?;
        Ok(wptr.wrapping_sub(self.rptr) % RING_BYTES / ENTRY_SIZE)
    }

    /// Where reading stands, in bytes.
    pub(super) fn read_pointer(&self) -> u32 {
        self.rptr as u32
    }

    /// Hands room back by the register.
    pub(super) fn hand_back(&self, regs: &Regs) {
        regs.write(self.registers.rptr, self.read_pointer());
    }

    /// `vega20_ih_get_wptr`.
    fn write_pointer(&mut self, regs: &Regs, dev: &Handle) -> Result<usize> {
        let overflow = self.registers.wptr_overflow;
        if let Some(wptr) = &self.wptr {
            let wptr = wptr.read(0)?;
            // Entries are read after the pointer that covers them.
            linux::read_barrier();
            if overflow.get(wptr) == 0 {
                return Ok(at_entry(wptr));
            }
        }
        let wptr = regs.read(overflow.reg());
        if wptr == u32::MAX {
            // It is gone, or is being reset as a whole: there is nothing to be read, and no overflow.
            return Ok(self.rptr);
        }
        if overflow.get(wptr) == 1 {
            // The oldest entry that was not overwritten.
            self.rptr = after(at_entry(wptr));
            ratelimited!(
                dev_warn,
                dev.device(),
                "the interrupt ring overflowed; events were lost\n"
            );
            let clear = self.registers.cntl_clear;
            for edge in [true, false] {
                regs.update(clear.reg(), |old| clear.set(old, edge));
            }
        }
        Ok(at_entry(wptr))
    }
}

/// Where a buffer lies, as the ring's registers take it.
fn place(buffer: &KernelBuf, hal: &dyn Hal) -> u64 {
    match hal.bus_addresses() {
        true => buffer.bus().get(),
        false => buffer.gpu_addr().get(),
    }
}

/// Turns the rings on or off.
pub(super) fn toggle(regs: &Regs, hal: &dyn Hal, on: bool) {
    let first = hal.registers();
    toggle_one(regs, hal, &first.ring, Some(first.cntl_interrupt), on);
    if let Some(second) = hal.second() {
        toggle_one(regs, hal, second, None, on);
    }
}

/// `vega20_ih_toggle_ring_interrupts`. Only ring 0 raises any.
fn toggle_one(
    regs: &Regs,
    hal: &dyn Hal,
    table: &Registers,
    interrupt: Option<AnyField<1>>,
    on: bool,
) {
    let reg = table.cntl.reg();
    let cntl = table.cntl_on.set(regs.read(reg), on);
    let cntl = hal.toggle(regs, cntl, on);
    let cntl = interrupt.map_or(cntl, |interrupt| interrupt.set(cntl, on));
    regs.write(reg, cntl);
    if !on {
        regs.write(table.rptr, 0);
        regs.write(table.wptr_overflow.reg(), 0);
    }
}

/// The place of an entry that the device's pointer, in bytes, names.
pub(super) fn at_entry(pointer: u32) -> usize {
    pointer as usize % RING_BYTES & !(ENTRY_SIZE - 1)
}

/// The place after an entry's.
pub(super) fn after(place: usize) -> usize {
    place.wrapping_add(ENTRY_SIZE) % RING_BYTES
}
