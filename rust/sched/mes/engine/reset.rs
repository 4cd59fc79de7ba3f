// SPDX-License-Identifier: GPL-2.0

//! Taking back a queue that MES refuses to take off: find out which queues hang, reset those, and
//! let all others go on.
//!
//! All compute gangs are suspended first. If that works none of them hangs, and the queue is taken off while it
//! stands still. If not, MES names the hung queues by doorbell and place; each is reset by its
//! registers, if need be with its pipe, and a frame makes MES forget it.
//!
//! A copy queue that hangs is not among them: upstream has MES suspend and look for those on gfx12.1 only
//! (`amdgpu_mes_suspend`), and says so to programs (`HSA_CAP2_PER_SDMA_QUEUE_RESET_SUPPORTED`). MES refuses to give it
//! back once more, and the GPU has to be reset.
//!
//! Sources: `amdgpu_gfx_reset_mes_compute`, `amdgpu_mes_detect_and_reset_hung_queues`,
//! `mes_v12_0_reset_queue_mmio`, `mes_v12_0_reset_compute_pipe_mmio`.

use super::{
    Engine,
    Victim,
    TYPE_COMPUTE, //
};
use crate::{
    glue::linux::{
        ENOTRECOVERABLE,
        ETIME, //
    },
    hw::{
        mes::{
            op,
            v12::{
                Reset,
                Resume,
                Suspend, //
            },
            HungQueue,
            FRAME_WORDS,
            TYPE_SCHEDULER, //
        },
        regs::{
            gc_12_0_0::{
                self as gc,
                CP_HQD_ACTIVE,
                CP_HQD_DEQUEUE_REQUEST,
                CP_MEC_RS64_CNTL as Mec, //
            },
            Value, //
        }, //
    },
    sched::{
        mes::{
            frame::{
                frame,
                report,
                run, //
            },
            pipe::{
                Failure,
                Pipe,
                NO_DOORBELL, //
            },
            resources::managed_queues, //
        },
        Parts, //
    },
    types::{
        DoorbellWord,
        HqdSlot, //
    }, //
};
use kernel::{
    prelude::*,
    time::Delta, //
};

/// TIMEOUT: `AMDGPU_MAX_USEC_TIMEOUT`.
const TIMEOUT: Delta = Delta::from_millis(100);
/// Firmware from which on Linux trusts the detection (`amdgpu_mes_queue_reset_by_mes_supported`).
const HAS_DETECTION: u32 = 0x8d;

/// The doorbells of queues that were reset.
pub(super) type WereReset = KVec<DoorbellWord>;

impl Engine {
    /// Takes back a queue whose REMOVE_QUEUE failed; `find` returns another queue by its doorbell.
    /// `done` gets the queues that were reset, which may be others than this one, or none.
    ///
    /// # Errors
    ///
    /// ENOTRECOVERABLE when the firmware is too old to report which queues hang.
    pub(super) fn recover(
        &self,
        pipe: &mut Pipe,
        victim: &Victim,
        find: &dyn Fn(DoorbellWord) -> Option<Victim>,
        done: &mut WereReset,
    ) -> Result<(), Failure> {
        if self.version() < HAS_DETECTION {
            return Err(Failure::Lost(ENOTRECOVERABLE));
        }
        let suspend = frame!(Suspend, SUSPEND).with(Suspend::SUSPEND_ALL_GANGS, true);
        let result = match run!(pipe, Suspend, suspend) {
            Ok(()) => self.take(pipe, victim, false),
            Err(Failure::Refused(_)) => self.reset_hung(pipe, victim, find, done),
            Err(lost) => return Err(lost),
        };
        // The others go on, whatever became of this one.
        let resume = frame!(Resume, RESUME).with(Resume::RESUME_ALL_GANGS, true);
        match run!(pipe, Resume, resume) {
            Ok(()) => result,
            // Nobody goes on: that counts more than what became of this one.
            Err(lost @ Failure::Lost(_)) => Err(lost),
            Err(refused) => {
                report(self.parts(), "RESUME", refused);
                result
            }
        }
    }

    fn reset_hung(
        &self,
        pipe: &mut Pipe,
        victim: &Victim,
        find: &dyn Fn(DoorbellWord) -> Option<Victim>,
        done: &mut WereReset,
    ) -> Result<(), Failure> {
        let hung = self.detect(pipe)?;
        done.reserve(hung.len(), GFP_KERNEL).map_err(Error::from)?;
        for (doorbell, info) in hung {
            // Only queues of this driver; the kernel has none.
            let Some(queue) = find(doorbell) else {
                continue;
            };
            // CAST: 4 and 8 bits.
            let of_pipe = info.get(HungQueue::PIPE_INDEX) as u32;
            let number = info.get(HungQueue::QUEUE_INDEX) as u32;
            dev_err!(
                self.parts().dev.device(),
                "the queue with doorbell {:#x} hangs on pipe {} queue {}; resetting it\n",
                doorbell.get(),
                of_pipe,
                number
            );
            let compute = info.get(HungQueue::QUEUE_TYPE) == TYPE_COMPUTE.into();
            if !compute || !self.parts().chip.has_hqd(of_pipe, number) {
                return Err(Failure::Lost(EINVAL));
            }
            let slot = HqdSlot::compute(of_pipe, number).ok_or(EINVAL)?;
            if let Err(error) = reset_by_registers(self.parts(), slot) {
                if error != ETIME {
                    return Err(error.into());
                }
                dev_err!(
                    self.parts().dev.device(),
                    "it doesn't end; resetting pipe {}\n",
                    of_pipe
                );
                reset_pipe(self.parts(), slot)?;
            }
            self.take(pipe, &queue, true)?;
            done.push(doorbell, GFP_KERNEL).map_err(Error::from)?;
        }
        // Upstream does so only if nothing was reset. But a copy queue's refusal has its own reason.
        match done.contains(&victim.doorbell) {
            true => Ok(()),
            false => self.take(pipe, victim, false),
        }
    }

    /// Doorbells and places of the compute queues that don't stop.
    fn detect(&self, pipe: &mut Pipe) -> Result<KVec<(DoorbellWord, HungQueue)>, Failure> {
        // As many as MES manages: those of the masks of SET_HW_RSRC.
        let length = managed_queues(self.parts()) as usize;
        pipe.clear_hung(length.saturating_mul(2))?;
        let detect = frame!(Reset, RESET)
            .with(Reset::QUEUE_TYPE, TYPE_COMPUTE)
            .with(Reset::HANG_DETECT_ONLY, true)
            .with(Reset::DOORBELL_OFFSET_ADDR, pipe.hung_addr().get());
        run!(pipe, Reset, detect)?;
        let mut hung = KVec::new();
        for index in 0..length {
            let doorbell = pipe.hung(index)?;
            if doorbell != NO_DOORBELL {
                let info = HungQueue([pipe.hung(length.saturating_add(index))?]);
                hung.push((DoorbellWord::new(doorbell)?, info), GFP_KERNEL)
                    .map_err(Error::from)?;
            }
        }
        Ok(hung)
    }
}

/// Ends a compute queue without its consent; its waves are lost.
///
/// # Errors
///
/// ETIME when it stays active, ENODEV.
fn reset_by_registers(parts: &Parts, slot: HqdSlot) -> Result {
    /// Drop the waves.
    const RESET: u64 = 2;
    let request = Value::zeroed().having(CP_HQD_DEQUEUE_REQUEST::DEQUEUE_REQ.is::<RESET>());
    let inactive = parts.gfx.in_safe_mode(0, || {
        parts.gfx.select(0, slot, |regs| {
            regs.write(gc::CP_HQD_DEQUEUE_REQUEST, request);
            regs.write(gc::SPI_COMPUTE_QUEUE_RESET, Value::new(1));
            regs.wait_at(0, gc::CP_HQD_ACTIVE, TIMEOUT, |value| {
                !value.is_set(CP_HQD_ACTIVE::ACTIVE)
            })
        })
    });
    inactive?.map(|_| ())
}

/// Restarts a pipe of the compute engine, with which its queues end
/// (`mes_v12_0_reset_compute_pipe_mmio`). All others are suspended meanwhile.
///
/// # Errors
///
/// EINVAL when there is no such pipe, ENODEV.
fn reset_pipe(parts: &Parts, slot: HqdSlot) -> Result {
    let bit = match slot.pipe().get() {
        0 => Mec::MEC_PIPE0_RESET,
        1 => Mec::MEC_PIPE1_RESET,
        _ => return Err(EINVAL),
    };
    let done = parts.gfx.in_safe_mode(0, || -> Result {
        let running = parts.gfx.regs().read(gc::CP_MEC_RS64_CNTL);
        parts
            .gfx
            .regs()
            .write(gc::CP_MEC_RS64_CNTL, running.with(bit, true));
        for queue in 0..parts.chip.family.mec_queues_per_pipe {
            let slot = HqdSlot::compute(slot.pipe().into(), queue).ok_or(EINVAL)?;
            parts.gfx.select(0, slot, |regs| {
                regs.write(gc::CP_HQD_ACTIVE, Value::zeroed());
                regs.write(gc::CP_HQD_DEQUEUE_REQUEST, Value::zeroed());
            });
        }
        parts
            .gfx
            .regs()
            .write(gc::CP_MEC_RS64_CNTL, running.with(bit, false));
        Ok(())
    });
    done??;
    parts.dev.check_there()
}
