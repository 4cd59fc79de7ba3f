// SPDX-License-Identifier: GPL-2.0

//! A job of the kernel's: an indirect buffer, which the driver's own queue is told to run, and a fence.
//!
//! It is what `DRM_IOCTL_AMDGPU_CS` becomes in the end (`amdgpu_ib_schedule`, `sdma_v4_4_2_ring_emit_ib`),
//! to compare queues of programs with. What the buffer holds is the driver's own: one packet, which fills a
//! part of a page of the driver's. No address and no packet comes from who asks.
//!
//! Lock order: no lock is held while the engine works.

use super::{
    copier::Killable,
    running::Running,
    Copier, //
};
use crate::{
    glue::linux,
    gmc::KernelBuf,
    hw::value::Bounded, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    time::{
        Instant,
        Monotonic, //
    }, //
};

/// The words of a page, of which a job fills some.
const PAGE_WORDS: u32 = 1024;
/// Bytes of its memory: a page of packets, and the page that they fill.
const BYTES: usize = 8192;
/// The first word of the page that is filled.
const TARGET: usize = 1024;
/// Words of an indirect buffer: the packet and fillers (`sdma_v4_4_2_ring_pad_ib`).
const BUFFER: usize = 8;

/// What a job fills words with, and how many.
#[derive(Clone, Copy)]
pub(crate) struct Fill {
    word: u32,
    /// Bytes from the first word to the last, as the packet counts.
    to_last: Bounded<30>,
    words: u32,
}

impl Fill {
    /// # Errors
    ///
    /// EINVAL: no words, or more than a page has.
    pub(crate) fn new(word: u32, words: u32) -> Result<Self> {
        if words == 0 || words > PAGE_WORDS {
            return Err(EINVAL);
        }
        let last = u64::from(words.saturating_sub(1));
        let to_last = last
            .checked_mul(4)
            .and_then(Bounded::try_new)
            .ok_or(EINVAL)?;
        Ok(Self {
            word,
            to_last,
            words,
        })
    }

    /// The words to be filled, by their places.
    fn places(self) -> impl Iterator<Item = usize> {
        // CAST: No more than a page has.
        (TARGET..).take(self.words as usize)
    }
}

/// What a job did.
#[derive(Clone, Copy)]
pub(crate) struct Filled {
    /// What was asked for.
    pub(crate) word: u32,
    pub(crate) words: u32,
    /// Words that have it.
    pub(crate) right: u32,
    /// The value of its fence.
    pub(crate) fence: u32,
    /// From the doorbell to the fence, in nanoseconds.
    pub(crate) nanos: i64,
}

impl Copier {
    /// Runs a job and waits for its fence.
    ///
    /// # Errors
    ///
    /// EINTR when the caller is killed, EIO when the engine doesn't answer or was reset meanwhile, ENODEV
    /// when the device is gone, ENOMEM.
    pub(crate) fn run(self: &Arc<Self>, fill: Fill) -> Result<Filled> {
        let memory = match self.take_spare() {
            Some(memory) => memory,
            None => KernelBuf::new(&self.parts.gart, BYTES)?,
        };
        let mut job = Running::new(self, memory);
        match job.fill(fill) {
            Ok(filled) => {
                if let (Some(memory), Some(ticket)) = (job.memory.take(), job.ticket) {
                    self.give_spare(ticket, memory);
                }
                Ok(filled)
            }
            Err(error) => {
                if error == EINTR {
                    job.finish_late();
                }
                Err(error)
            }
        }
    }
}

impl Running<KernelBuf> {
    fn fill(&mut self, fill: Fill) -> Result<Filled> {
        let copier = &self.copier;
        let memory = self.memory.as_ref().ok_or(EINVAL)?;
        let hal = copier.parts.hal;
        for place in fill.places() {
            memory.write(place, !fill.word)?;
        }
        let target = memory.gpu_addr().word(TARGET);
        let packet = hal.fill_words(target, fill.word, fill.to_last);
        memory.write_slice(0, &[hal.filler(); BUFFER])?;
        memory.write_slice(0, &packet)?;
        // The buffer is there before the packet that names it.
        linux::write_barrier();
        let indirect = hal.indirect(memory.gpu_addr(), Bounded::new::<{ BUFFER as u64 }>());
        let start = Instant::<Monotonic>::now();
        let ticket = copier.submit(&indirect, Killable::Yes)?;
        self.ticket = Some(ticket);
        copier.wait(ticket, Killable::Yes)?;
        let nanos = start.elapsed().as_nanos();
        let mut right = 0_u32;
        for place in fill.places() {
            right = right.saturating_add((memory.read(place)? == fill.word).into());
        }
        Ok(Filled {
            word: fill.word,
            words: fill.words,
            right,
            fence: ticket.fence(),
            nanos,
        })
    }
}
