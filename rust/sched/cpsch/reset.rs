// SPDX-License-Identifier: GPL-2.0

//! Taking back queues that didn't let go: after an unmap whatever is still active hangs.
//!
//! Each is ended by its registers or, if it goes on, with its pipe. Its waves are lost, and what the
//! other queues of the pipe saved is not, since they are off.
//!
//! Linux looks for the queue by the address of its ring, which two processes may have in common;
//! here it is the doorbell.
//!
//! Sources: `reset_hung_queues`, `detect_queue_hang`, `kgd_gfx_v9_hqd_get_pq_addr`,
//! `kgd_gfx_v9_hqd_reset`.

use crate::{
    glue::{
        linux::{
            ENOTRECOVERABLE,
            ETIME, //
        },
        ratelimit::ratelimited, //
    },
    hw::regs::{
        gc_9_4_3::{
            self as gc,
            CP_HQD_ACTIVE,
            CP_HQD_PQ_DOORBELL_CONTROL as Bell,
            CP_MEC_CNTL as Mec, //
        },
        Block,
        Value, //
    },
    sched::Parts,
    types::{
        DoorbellWord,
        HqdSlot, //
    }, //
};
use kernel::{
    prelude::*,
    time::Delta, //
};

/// TIMEOUT: `KFD_UNMAP_LATENCY_MS`.
const TIMEOUT: Delta = Delta::from_millis(4000);

/// A user queue that is still on the hardware.
pub(super) struct Occupied {
    xcc: u8,
    slot: HqdSlot,
    pub(super) doorbell: DoorbellWord,
}

/// The user queues that are on the hardware.
pub(super) fn occupied(parts: &Parts) -> Result<KVec<Occupied>> {
    let family = parts.chip.family;
    let mut found = KVec::new();
    for xcc in parts.gfx.regs().instances(Block::Gc) {
        for pipe in 0..family.mec_pipes {
            for queue in 0..family.mec_queues_per_pipe {
                let slot = HqdSlot::compute(pipe, queue).ok_or(EINVAL)?;
                let control = parts.gfx.select(xcc, slot, |regs| {
                    let active = regs.read_at(xcc, gc::CP_HQD_ACTIVE);
                    // Rings of the kernel's lie in the GART, below 2^40.
                    (active.is_set(CP_HQD_ACTIVE::ACTIVE)
                        && regs.read_at(xcc, gc::CP_HQD_PQ_BASE_HI).bits() != 0)
                        .then(|| regs.read_at(xcc, gc::CP_HQD_PQ_DOORBELL_CONTROL))
                });
                if let Some(control) = control {
                    let doorbell = DoorbellWord::new(control.get(Bell::DOORBELL_OFFSET))?;
                    let it = Occupied {
                        xcc,
                        slot,
                        doorbell,
                    };
                    found.push(it, GFP_KERNEL)?;
                }
            }
        }
    }
    parts.dev.check_there()?;
    Ok(found)
}

impl Occupied {
    /// Ends it.
    ///
    /// # Errors
    ///
    /// ENOTRECOVERABLE when it is active after all, ENODEV.
    pub(super) fn end(&self, parts: &Parts) -> Result {
        ratelimited!(
            dev_err,
            parts.dev.device(),
            "the queue with doorbell {:#x} hangs on pipe {} queue {} of XCC {}; resetting it\n",
            self.doorbell.get(),
            self.slot.pipe().get(),
            self.slot.queue().get(),
            self.xcc
        );
        let ended = parts.gfx.in_safe_mode(self.xcc, || self.end_now(parts));
        ended.and_then(|ended| ended).map_err(|error| match error {
            ENODEV => ENODEV,
            _ => ENOTRECOVERABLE,
        })
    }

    fn end_now(&self, parts: &Parts) -> Result {
        match self.wait(parts, true) {
            Err(error) if error == ETIME => {}
            result => return result,
        }
        ratelimited!(
            dev_err,
            parts.dev.device(),
            "it doesn't end; resetting pipe {}\n",
            self.slot.pipe().get()
        );
        self.reset_pipe(parts)?;
        self.wait(parts, false)
    }

    /// Waits until it is off; with `reset`, asks for that.
    fn wait(&self, parts: &Parts, reset: bool) -> Result {
        parts
            .gfx
            .select(self.xcc, self.slot, |regs| {
                if reset {
                    regs.write_at(self.xcc, gc::SPI_COMPUTE_QUEUE_RESET, Value::new(1));
                }
                regs.wait_at(self.xcc, gc::CP_HQD_ACTIVE, TIMEOUT, |value| {
                    !value.is_set(CP_HQD_ACTIVE::ACTIVE)
                })
            })
            .map(|_| ())
    }

    fn reset_pipe(&self, parts: &Parts) -> Result {
        let pipes = [
            Mec::MEC_ME1_PIPE0_RESET,
            Mec::MEC_ME1_PIPE1_RESET,
            Mec::MEC_ME1_PIPE2_RESET,
            Mec::MEC_ME1_PIPE3_RESET,
        ];
        let bit = *pipes.get(self.slot.pipe().get() as usize).ok_or(EINVAL)?;
        parts
            .gfx
            .regs()
            .write_at(self.xcc, gc::CP_MEC_CNTL, Value::zeroed().with(bit, true));
        parts
            .gfx
            .regs()
            .write_at(self.xcc, gc::CP_MEC_CNTL, Value::zeroed());
        Ok(())
    }
}
