// SPDX-License-Identifier: GPL-2.0

//! A ring of MES: commands of 64 words, each followed by a status query.
//!
//! A command has two answers. MES stores 1 at an address that the command names, or, in the high
//! word and with 0 in the low one, why it refused ([`Refusal`]); then the query after it makes
//! MES store the ring's sequence number, which shows that the first answer is there. One command
//! is on its way at a time, so the ring never fills.
//!
//! If the second answer doesn't come, MES is stuck: the ring takes no more commands.

use crate::{
    glue::{
        linux,
        trace, //
    },
    gmc::KernelBuf,
    hw::{
        mes::{
            self,
            v12::QueryStatus,
            FRAME_WORDS, //
        },
        mqd::v12::ComputeMqd as M,
        regs::{
            gc_12_0_0::{
                self as gc,
                CP_HQD_PQ_DOORBELL_CONTROL as Bell, //
            },
            AnyReg,
            Value, //
        }, //
    },
    mqd::v12::KernelRing,
    regs::Regs,
    ring::Poll,
    sched::Parts,
    types::{
        DoorbellWord,
        GpuVa,
        HqdSlot, //
    },
    vram::VramRange, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    time::Delta, //
};

/// TIMEOUT: as `mes_v12_0_submit_pkt_and_poll_completion`.
const TIMEOUT: Delta = Delta::from_millis(2100);
/// TIMEOUT: `AMDGPU_MAX_USEC_TIMEOUT`.
const DEQUEUE_TIMEOUT: Delta = Delta::from_millis(100);
/// `MES_EOP_SIZE`.
const EOP_BYTES: u32 = 2048;
const RING_WORDS: usize = 1024;
const RING_BYTES: u32 = RING_WORDS as u32 * 4;

/// What the list of hung queues has where there is none.
pub(super) const NO_DOORBELL: u32 = u32::MAX;

/// Words in the buffer of a pipe.
mod place {
    pub(super) const RPTR: usize = 0;
    pub(super) const WPTR: usize = 16;
    pub(super) const FENCE: usize = 32;
    pub(super) const STATUS: usize = 48;
    /// What MES keeps for itself.
    pub(super) const CONTEXT: usize = 64;
    pub(super) const QUERY_FENCE: usize = 128;
    /// Where MES stores a register for us.
    pub(super) const REGISTER: usize = 144;
    /// Where it lists hung queues.
    pub(super) const HUNG: usize = 256;
    pub(super) const HUNG_WORDS: usize = 256;
    /// On pages of their own.
    pub(super) const RING: usize = 1024;
    pub(super) const MQD: usize = 2048;
    pub(super) const EOP: usize = 3072;
    pub(super) const END: usize = 4096;
}

/// Why a command failed.
pub(super) enum Failure {
    /// MES refused it, and goes on.
    Refused(Refusal),
    /// ETIMEDOUT when MES doesn't answer, EIO when it didn't before, ENODEV.
    Lost(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Lost(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            // As upstream, which doesn't distinguish this from no answer.
            Failure::Refused(_) => ETIMEDOUT,
            Failure::Lost(error) => error,
        }
    }
}

/// The high word of a failed command's status.
#[derive(Clone, Copy)]
pub(super) struct Refusal(u32);

impl Refusal {
    /// Whether MES has said nothing of the command, which it may have carried out or not.
    pub(super) fn is_silent(self) -> bool {
        self.0 >> 31 == 0
    }
}

impl kernel::fmt::Display for Refusal {
    fn fmt(&self, f: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        let byte = |shift: u32| self.0 >> shift & 0xff;
        if self.is_silent() {
            return write!(f, "no reason given");
        }
        write!(
            f,
            "error {} of command {}, category {}, {:#x}",
            byte(0),
            byte(8),
            byte(24) & 0x7f,
            byte(16)
        )
    }
}

/// A pipe of MES with its ring.
pub(super) struct Pipe {
    parts: Arc<Parts>,
    slot: HqdSlot,
    doorbell: DoorbellWord,
    mem: KernelBuf,
    /// For the fence of shaders that clean up.
    cleaner: VramRange,
    /// In words, never wrapping.
    wptr: u64,
    seq: u32,
    stuck: bool,
}

impl Pipe {
    /// The ring of a pipe, not known to MES yet, with a doorbell.
    pub(super) fn new(parts: &Arc<Parts>, slot: HqdSlot, doorbell: DoorbellWord) -> Result<Self> {
        let pipe = Self {
            parts: parts.clone(),
            slot,
            doorbell,
            mem: KernelBuf::new(&parts.gart, place::END * 4)?,
            cleaner: VramRange::new(&parts.vram, 4096)?,
            wptr: 0,
            seq: 0,
            stuck: false,
        };
        pipe.mem.write_slice(place::MQD, &pipe.image().0)?;
        Ok(pipe)
    }

    fn addr(&self, place: usize) -> GpuVa {
        self.mem.gpu_addr().word(place)
    }

    fn image(&self) -> M {
        KernelRing {
            mqd_addr: self.mqd_addr(),
            ring: self.addr(place::RING),
            bytes: RING_BYTES,
            rptr: self.addr(place::RPTR),
            wptr: self.wptr_addr(),
            eop: self.addr(place::EOP),
            eop_bytes: EOP_BYTES,
            doorbell: self.doorbell,
        }
        .build()
    }

    pub(super) fn slot(&self) -> HqdSlot {
        self.slot
    }

    pub(super) fn doorbell(&self) -> DoorbellWord {
        self.doorbell
    }

    pub(super) fn mqd_addr(&self) -> GpuVa {
        self.addr(place::MQD)
    }

    pub(super) fn wptr_addr(&self) -> GpuVa {
        self.addr(place::WPTR)
    }

    /// Where MES keeps its own state.
    pub(super) fn context_addr(&self) -> GpuVa {
        self.addr(place::CONTEXT)
    }

    pub(super) fn query_fence_addr(&self) -> GpuVa {
        self.addr(place::QUERY_FENCE)
    }

    /// Where a register is stored for us, and what was.
    pub(super) fn register_addr(&self) -> GpuVa {
        self.addr(place::REGISTER)
    }

    pub(super) fn register(&self) -> Result<u32> {
        self.mem.read(place::REGISTER)
    }

    /// The list of hung queues.
    pub(super) fn hung_addr(&self) -> GpuVa {
        self.addr(place::HUNG)
    }

    /// Empties the first words of the list.
    pub(super) fn clear_hung(&self, words: usize) -> Result {
        if words > place::HUNG_WORDS {
            return Err(EINVAL);
        }
        (place::HUNG..)
            .take(words)
            .try_for_each(|word| self.mem.write(word, NO_DOORBELL))
    }

    /// A word of the list.
    pub(super) fn hung(&self, word: usize) -> Result<u32> {
        self.mem.read(place::HUNG.checked_add(word).ok_or(EINVAL)?)
    }

    pub(super) fn cleaner_addr(&self) -> GpuVa {
        self.cleaner.gpu_addr()
    }

    /// It takes no more commands.
    pub(super) fn give_up(&mut self) {
        self.stuck = true;
    }

    /// Whether it takes no more commands.
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Version of the pipe's firmware, which leaves it in a register.
    pub(super) fn version(&self) -> u32 {
        self.parts
            .gfx
            .select(0, self.slot, |regs| regs.read(gc::CP_MES_GP3_LO).bits())
            & 0xfff
    }

    /// Runs a command, whose status is described from word `status` on, and waits for its end.
    pub(super) fn run(
        &mut self,
        mut frame: [u32; FRAME_WORDS],
        status: usize,
    ) -> Result<(), Failure> {
        self.parts.dev.check_lost()?;
        if self.stuck {
            return Err(Failure::Lost(EIO));
        }
        self.mem.write64(place::STATUS, 0)?;
        let addr = self.addr(place::STATUS).get();
        let answer = [addr as u32, (addr >> 32) as u32, 1, 0];
        frame
            .get_mut(status..)
            .and_then(|rest| rest.get_mut(..answer.len()))
            .ok_or(EINVAL)?
            .copy_from_slice(&answer);
        self.seq = self.seq.wrapping_add(1).max(1);
        let query = QueryStatus::zeroed()
            .with(QueryStatus::HEADER_OPCODE, mes::op::QUERY_SCHEDULER_STATUS)
            .having(QueryStatus::HEADER_TYPE.is::<{ mes::TYPE_SCHEDULER }>())
            .having(QueryStatus::HEADER_DWSIZE.is::<{ FRAME_WORDS as u64 }>())
            .with(
                QueryStatus::API_STATUS_API_COMPLETION_FENCE_ADDR,
                self.addr(place::FENCE).get(),
            )
            .with(
                QueryStatus::API_STATUS_API_COMPLETION_FENCE_VALUE,
                self.seq.into(),
            );
        for words in [&frame, &query.0] {
            trace::packet_written(self.doorbell.get(), words);
            let at = self.wptr as usize % RING_WORDS;
            self.mem
                .write_slice(at.saturating_add(place::RING), words)?;
            self.wptr = self.wptr.wrapping_add(FRAME_WORDS as u64);
        }
        // The frames are there before the pointer that covers them, and that before the ring.
        linux::write_barrier();
        self.mem.write64(place::WPTR, self.wptr)?;
        linux::full_barrier();
        self.parts.doorbells.ring64(self.doorbell, self.wptr);
        self.wait()?;
        // The status is older than the fence.
        linux::read_barrier();
        if self.mem.read(place::STATUS)? != 0 {
            return Ok(());
        }
        Err(Failure::Refused(Refusal(self.mem.read(place::STATUS + 1)?)))
    }

    fn wait(&mut self) -> Result {
        let mut poll = Poll::new(&self.parts.dev, TIMEOUT);
        while self.mem.read(place::FENCE)? != self.seq {
            if let Err(error) = poll.pause() {
                self.stuck = true;
                if error == ENODEV {
                    return Err(ENODEV);
                }
                dev_err!(
                    self.parts.dev.device(),
                    "pipe {} of the scheduler (MES) doesn't answer; it is stuck\n",
                    self.slot.pipe().get()
                );
                return Err(ETIMEDOUT);
            }
        }
        Ok(())
    }

    /// Writes the HQD's registers (`mes_v12_0_queue_init_register`).
    pub(super) fn load(&self) -> Result {
        let image = self.image();
        self.parts.gfx.select(0, self.slot, |regs| {
            // A queue that a driver before us left there.
            dequeue(regs)?;
            regs.update(gc::CP_HQD_VMID, |old| {
                old.having(gc::CP_HQD_VMID::VMID.is::<0>())
            });
            regs.update(gc::CP_HQD_PQ_DOORBELL_CONTROL, |old| {
                old.with(Bell::DOORBELL_EN, false)
            });
            let pair = |reg: AnyReg, value: u64| {
                regs.write(reg, value as u32);
                regs.write(reg.at(1, 1), (value >> 32) as u32);
            };
            pair(gc::CP_MQD_BASE_ADDR.any(), image.get(M::CP_MQD_BASE_ADDR));
            regs.write(gc::CP_MQD_CONTROL, Value::zeroed());
            pair(gc::CP_HQD_PQ_BASE.any(), image.get(M::CP_HQD_PQ_BASE));
            pair(
                gc::CP_HQD_PQ_RPTR_REPORT_ADDR.any(),
                image.get(M::CP_HQD_PQ_RPTR_REPORT_ADDR),
            );
            let one = |reg: AnyReg, value: u64| regs.write(reg, value as u32);
            one(gc::CP_HQD_PQ_CONTROL.any(), image.get(M::CP_HQD_PQ_CONTROL));
            pair(
                gc::CP_HQD_PQ_WPTR_POLL_ADDR.any(),
                image.get(M::CP_HQD_PQ_WPTR_POLL_ADDR),
            );
            one(
                gc::CP_HQD_PQ_DOORBELL_CONTROL.any(),
                image.get(M::CP_HQD_PQ_DOORBELL_CONTROL),
            );
            one(
                gc::CP_HQD_PERSISTENT_STATE.any(),
                image.get(M::CP_HQD_PERSISTENT_STATE),
            );
            // Linux trusts that whoever took a queue off has cleared them.
            pair(gc::CP_HQD_PQ_WPTR_LO.any(), 0);
            one(gc::CP_HQD_PQ_RPTR.any(), 0);
            one(gc::CP_HQD_ACTIVE.any(), 1);
            Ok(())
        })
    }

    /// Takes the ring off by registers (`mes_v12_0_kiq_dequeue_sched`).
    pub(super) fn unload(&self) {
        self.parts.gfx.select(0, self.slot, |regs| {
            if dequeue(regs).is_err_and(|error| error != ENODEV) {
                dev_err!(
                    self.parts.dev.device(),
                    "pipe {} of the scheduler (MES) doesn't stop; forcing it\n",
                    self.slot.pipe().get()
                );
                regs.write(gc::CP_HQD_ACTIVE, Value::zeroed());
            }
            regs.update(gc::CP_HQD_PQ_DOORBELL_CONTROL, |old| {
                old.with(Bell::DOORBELL_EN, false)
                    .with(Bell::DOORBELL_HIT, true)
            });
            for reg in [
                gc::CP_HQD_PQ_DOORBELL_CONTROL.any(),
                gc::CP_HQD_PQ_WPTR_LO.any(),
                gc::CP_HQD_PQ_WPTR_HI.any(),
                gc::CP_HQD_PQ_RPTR.any(),
            ] {
                regs.write(reg, 0);
            }
        });
    }
}

/// Asks the selected HQD to stop, and waits.
fn dequeue(regs: &Regs) -> Result {
    if !regs
        .read(gc::CP_HQD_ACTIVE)
        .is_set(gc::CP_HQD_ACTIVE::ACTIVE)
    {
        return Ok(());
    }
    regs.write(gc::CP_HQD_DEQUEUE_REQUEST, Value::new(1));
    regs.wait_at(0, gc::CP_HQD_ACTIVE, DEQUEUE_TIMEOUT, |value| {
        !value.is_set(gc::CP_HQD_ACTIVE::ACTIVE)
    })
    .map(|_| ())
}
