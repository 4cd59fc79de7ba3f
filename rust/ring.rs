// SPDX-License-Identifier: GPL-2.0

//! Rings of packets for the scheduling firmware and for the copy engines.
//!
//! A kernel ring is a row of words in system memory, a write pointer that the firmware polls or that
//! comes by a doorbell, and a read pointer that it reports. Schedulers ([`crate::sched`]) give such
//! rings to their firmware, and [`crate::sdma`] one to a copy engine.
//!
//! Lock order: a ring's lock is below all others but the leaves.

use crate::{
    doorbell::Doorbells,
    glue::{
        linux,
        trace, //
    },
    gmc::{
        Gart,
        KernelBuf, //
    },
    hw::{
        pm4,
        sdma,
        value::Bounded, //
    },
    types::{
        DoorbellWord,
        GpuVa, //
    }, //
};
use core::num::NonZero;
use kernel::{
    prelude::*,
    sync::Arc,
    time::Delta, //
};

mod poll;

pub(crate) use poll::Poll;

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

/// What rings differ in.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    /// Bytes that a pointer counts in, as a power of two.
    unit: u32,
    /// A packet of one word that is skipped.
    filler: u32,
    /// The opcode of packets that have to end on a boundary of [`BOUNDARY`] words.
    bounded: Option<u8>,
}

/// "IB packet must end on a 8 DW boundary" (`sdma_v4_4_2_ring_emit_ib`).
const BOUNDARY: usize = 8;

impl Format {
    /// Of the command processor: pointers count words.
    pub(crate) const PM4: Self = Self {
        unit: 2,
        filler: pm4::FILLER,
        bounded: None,
    };
    /// Of the copy engines: pointers count bytes.
    pub(crate) const SDMA: Self = Self {
        unit: 0,
        filler: sdma::op::NOP as u32,
        bounded: Some(sdma::op::INDIRECT),
    };

    /// The boundary on which a packet has to end, in words.
    fn boundary(self, packet: &[u32]) -> usize {
        // CAST: The low byte of a first word is the opcode where any is bounded.
        let opcode = packet.first().map(|&word| word as u8);
        match self.bounded {
            bounded @ Some(_) if bounded == opcode => BOUNDARY,
            _ => 1,
        }
    }

    /// The pointer that a count of words is.
    fn pointer(self, words: u64) -> u64 {
        words << 2 >> self.unit
    }

    /// The words that a pointer counts.
    fn words(self, pointer: u32) -> u64 {
        u64::from(pointer) << self.unit >> 2
    }
}

/// A ring of packets.
pub(crate) struct Ring {
    gart: Arc<Gart>,
    doorbells: Arc<Doorbells>,
    buf: KernelBuf,
    format: Format,
    words: NonZero<u32>,
    /// In words, never wrapping.
    wptr: u64,
    doorbell: DoorbellWord,
}

impl Ring {
    /// A ring of `bytes` (a power of two of at least a kilobyte) with a doorbell.
    pub(crate) fn new(
        gart: &Arc<Gart>,
        doorbells: &Arc<Doorbells>,
        format: Format,
        bytes: usize,
        doorbell: DoorbellWord,
    ) -> Result<Self> {
        if !bytes.is_power_of_two() || bytes < 1024 {
            return Err(EINVAL);
        }
        let words = u32::try_from(bytes / 4)
            .ok()
            .and_then(NonZero::new)
            .ok_or(EINVAL)?;
        let size = bytes.checked_add(place::RING * 4).ok_or(EINVAL)?;
        let buf = KernelBuf::new(gart, size)?;
        Ok(Self {
            gart: gart.clone(),
            doorbells: doorbells.clone(),
            buf,
            format,
            words,
            wptr: 0,
            doorbell,
        })
    }

    fn addr(&self, place: usize) -> GpuVa {
        self.buf.gpu_addr().word(place)
    }

    /// Address of the packets.
    pub(crate) fn ring_addr(&self) -> GpuVa {
        self.addr(place::RING)
    }

    /// Bytes of the packets.
    pub(crate) fn bytes(&self) -> usize {
        self.words() << 2
    }

    /// Words of the packets.
    fn words(&self) -> usize {
        // CAST: Numbers of 32 bits fit.
        self.words.get() as usize
    }

    /// The place in the ring that a count of words comes to.
    fn place_of(&self, count: u64) -> usize {
        // CAST: Less than the words of the ring.
        (count % NonZero::<u64>::from(self.words)) as usize
    }

    /// Logarithm of the words of the packets to base 2, as the copy engines take a ring's size.
    pub(crate) fn words_log2(&self) -> Bounded<5> {
        Bounded::<5>::log2_of(self.words)
    }

    /// Address where the read pointer is reported.
    pub(crate) fn rptr_addr(&self) -> GpuVa {
        self.addr(place::RPTR)
    }

    /// Address where the write pointer is polled.
    pub(crate) fn wptr_addr(&self) -> GpuVa {
        self.addr(place::WPTR)
    }

    /// Address of the ring's fence.
    pub(crate) fn fence_addr(&self) -> GpuVa {
        self.addr(place::FENCE)
    }

    /// Its doorbell.
    pub(crate) fn doorbell(&self) -> DoorbellWord {
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
            let at = self.place_of(wptr);
            // Reported modulo the size; the device's word, so taken modulo once more.
            let rptr = self.place_of(self.format.words(self.buf.read(place::RPTR)?));
            let boundary = self.format.boundary(packet);
            for _ in 0..filler(self.words(), at, rptr, packet.len(), boundary)? {
                let word = self.place_of(wptr).saturating_add(place::RING);
                self.buf.write(word, self.format.filler)?;
                wptr = wptr.wrapping_add(1);
            }
            let at = self.place_of(wptr).saturating_add(place::RING);
            self.buf.write_slice(at, packet)?;
            wptr = wptr.wrapping_add(packet.len() as u64);
            trace::packet_written(self.doorbell.get(), packet);
        }
        self.wptr = wptr;
        // The packets are there before the pointer that covers them, and that before the ring.
        linux::write_barrier();
        let pointer = self.format.pointer(wptr);
        self.buf.write64(place::WPTR, pointer)?;
        linux::full_barrier();
        self.doorbells.ring64(self.doorbell, pointer);
        Ok(())
    }

    /// Stores the fence's value before packets that will change it.
    pub(crate) fn set_fence(&self, value: u32) -> Result {
        self.buf.write64(place::FENCE, u64::from(value))?;
        linux::full_barrier();
        Ok(())
    }

    /// The fence's value.
    pub(crate) fn fence(&self) -> Result<u32> {
        self.buf.read(place::FENCE)
    }

    /// Waits until the fence has a value.
    ///
    /// # Errors
    ///
    /// ETIME after `timeout` or when the device was reset, ENODEV when it is gone.
    pub(crate) fn wait_fence(&self, value: u32, timeout: Delta) -> Result {
        let mut poll = Poll::new(self.gart.dev(), timeout);
        while self.fence()? != value {
            poll.pause()?;
        }
        Ok(())
    }
}

/// Words to fill up before a packet of `len` words at `at`, in a ring of `words` that was read up
/// to `rptr`, so that the packet doesn't wrap and ends on a multiple of `boundary`, a power of two.
/// One word stays free, because a full ring would look empty.
fn filler(words: usize, at: usize, rptr: usize, len: usize, boundary: usize) -> Result<usize> {
    let mask = boundary.checked_sub(1).ok_or(EINVAL)?;
    let pad = |at: usize| at.wrapping_add(len).wrapping_neg() & mask;
    let rest = words.checked_sub(at).ok_or(EINVAL)?;
    let here = pad(at);
    let filler = if len.saturating_add(here) >= rest {
        rest.saturating_add(pad(0))
    } else {
        here
    };
    let unread = match at.checked_sub(rptr) {
        Some(unread) => unread,
        None => at
            .checked_add(words)
            .and_then(|end| end.checked_sub(rptr))
            .ok_or(EINVAL)?,
    };
    if unread.saturating_add(filler).saturating_add(len) >= words {
        Err(ENOMEM)
    } else {
        Ok(filler)
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
