// SPDX-License-Identifier: GPL-2.0

//! Rings of packets for the scheduling firmware.
//!
//! A kernel ring is a row of words in system memory, a write pointer the firmware polls or is
//! told of by a doorbell, and a read pointer it reports. KIQ ([`kiq`]), the kernel interface
//! queue, is written into an HQD by registers; it maps HIQ and flushes TLBs. HIQ
//! ([`crate::sched`]), the HSA interface queue, takes run lists.
//!
//! Lock order: a ring's lock is below all others but Hw's leaves.

use crate::{
    bo::kernel_mem::KernelBuf,
    glue::errno::etime,
    gpu::Hw,
    hw::{pm4, regs::Bits},
    regs::Regs,
    upcall::Pasid,
};
use kernel::{
    prelude::*,
    sync::{barrier, Arc},
    time::Delta,
};

mod kiq;
mod poll;

pub(crate) use kiq::Kiq;
pub(crate) use poll::Poll;

/// Firmware that runs small commands for the kernel. The methods sleep.
pub(crate) trait Firmware: Send + Sync {
    /// Flushes the TLBs of a process' address space in all hubs. `None` when it can't.
    fn invalidate_tlbs(&self, hw: &Hw, pasid: Pasid, kind: u32) -> Option<Result>;

    /// Stores a register and waits for another. `None` when the caller shall do that.
    fn write_and_wait(&self, _wait: &RegWait) -> Option<Result> {
        None
    }
}

/// A register to store to, and the bits of another that tell when it is done. Words on BAR 5.
pub(crate) struct RegWait {
    pub(crate) write: u32,
    pub(crate) value: u32,
    pub(crate) wait: u32,
    pub(crate) mask: u32,
}

/// A place for a hardware queue (HQD). MEs count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    pub(crate) me: u32,
    pub(crate) pipe: u32,
    pub(crate) queue: u32,
}

/// Runs `f` while the registers of HQDs are those of `slot` (`soc15_grbm_select`).
pub(crate) fn select<R>(hw: &Hw, xcc: u8, slot: Slot, f: impl FnOnce(&Regs) -> R) -> R {
    // The same on all chips.
    const PIPE: Bits = Bits { hi: 1, lo: 0 };
    const ME: Bits = Bits { hi: 3, lo: 2 };
    const QUEUE: Bits = Bits { hi: 10, lo: 8 };
    let value = QUEUE.set(PIPE.set(ME.set(0, slot.me), slot.pipe), slot.queue);
    let reg = hw.chip.family.core.grbm_cntl;
    let _lock = hw.grbm.lock();
    hw.regs.write_at(xcc, reg, value);
    let result = f(&hw.regs);
    hw.regs.write_at(xcc, reg, 0);
    result
}

/// Words in the buffer of a ring before its packets: read pointer, write pointer, fences.
mod place {
    pub(super) const RPTR: usize = 0;
    pub(super) const WPTR: usize = 8;
    pub(super) const FENCE: usize = 16;
    /// The packets, on a page of their own.
    pub(super) const RING: usize = 1024;
}

/// Longest packet that is written at once.
const MAX_PACKET: usize = 32;

/// A ring of packets.
pub(crate) struct Ring {
    hw: Arc<Hw>,
    buf: KernelBuf,
    words: usize,
    /// In words, never wrapping: what the doorbell takes.
    wptr: u64,
    doorbell: u32,
}

impl Ring {
    /// A ring of `bytes` (a power of two of at least a kilobyte), rung by the doorbell with the
    /// index `doorbell` in words on the BAR.
    pub(crate) fn new(hw: &Arc<Hw>, bytes: usize, doorbell: u32) -> Result<Self> {
        if !bytes.is_power_of_two() || bytes < 1024 {
            return Err(EINVAL);
        }
        let buf = KernelBuf::new(hw, place::RING * 4 + bytes)?;
        Ok(Self {
            hw: hw.clone(),
            buf,
            words: bytes / 4,
            wptr: 0,
            doorbell,
        })
    }

    fn addr(&self, place: usize) -> u64 {
        self.buf.gpu_addr() + place as u64 * 4
    }

    /// Address of the packets.
    pub(crate) fn ring_addr(&self) -> u64 {
        self.addr(place::RING)
    }

    /// Bytes of the packets.
    pub(crate) fn bytes(&self) -> usize {
        self.words * 4
    }

    /// Address where the read pointer is reported.
    pub(crate) fn rptr_addr(&self) -> u64 {
        self.addr(place::RPTR)
    }

    /// Address where the write pointer is polled.
    pub(crate) fn wptr_addr(&self) -> u64 {
        self.addr(place::WPTR)
    }

    /// Address of the ring's fence.
    pub(crate) fn fence_addr(&self) -> u64 {
        self.addr(place::FENCE)
    }

    /// Doorbell as a word index on the BAR.
    pub(crate) fn doorbell(&self) -> u32 {
        self.doorbell
    }

    /// Writes packets and rings the doorbell. A packet never wraps: the rest of the ring is
    /// filled up (`kq_acquire_packet_buffer`).
    ///
    /// # Errors
    ///
    /// ENOMEM when the firmware hasn't read enough of what is there, ENODEV.
    pub(crate) fn submit(&mut self, packets: &[&[u32]]) -> Result {
        let mut wptr = self.wptr;
        for packet in packets {
            if packet.len() > MAX_PACKET || packet.is_empty() {
                return Err(EINVAL);
            }
            let at = (wptr % self.words as u64) as usize;
            // Reported modulo the size; the device's word, so taken modulo once more.
            let rptr = self.buf.read(place::RPTR)? as usize % self.words;
            let filler = filler(self.words, at, rptr, packet.len())?;
            for i in 0..filler {
                self.buf.write(place::RING + at + i, pm4::FILLER)?;
            }
            wptr += filler as u64;
            let at = (wptr % self.words as u64) as usize;
            self.buf.write_slice(place::RING + at, packet)?;
            wptr += packet.len() as u64;
        }
        self.wptr = wptr;
        // The packets are there before the pointer that covers them, and that before the ring.
        barrier::smp_mb(barrier::Write);
        self.buf.write64(place::WPTR, wptr)?;
        barrier::smp_mb(barrier::Full);
        self.hw.doorbells.ring64(self.doorbell, wptr);
        Ok(())
    }

    /// Stores the fence's value before packets that will change it.
    pub(crate) fn set_fence(&self, value: u32) -> Result {
        self.buf.write64(place::FENCE, u64::from(value))?;
        barrier::smp_mb(barrier::Full);
        Ok(())
    }

    /// Waits until the fence has a value.
    ///
    /// # Errors
    ///
    /// ETIME after `timeout`, ENODEV when the device is gone.
    pub(crate) fn wait_fence(&self, value: u32, timeout: Delta) -> Result {
        let generation = self.hw.generation();
        let mut poll = Poll::new();
        loop {
            if self.buf.read(place::FENCE)? == value {
                return Ok(());
            }
            if self.hw.generation() != generation {
                return Err(etime());
            }
            if poll.elapsed() > timeout {
                self.hw.alive()?;
                return Err(etime());
            }
            poll.pause();
        }
    }
}

/// Words to fill up before a packet of `len` words at `at`, in a ring of `words` that was read up
/// to `rptr`. One word stays free, because a full ring would look empty.
fn filler(words: usize, at: usize, rptr: usize, len: usize) -> Result<usize> {
    let rest = words - at;
    let filler = if len >= rest { rest } else { 0 };
    let free = (rptr + words - 1 - at) % words;
    if filler + len > free {
        Err(ENOMEM)
    } else {
        Ok(filler)
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
