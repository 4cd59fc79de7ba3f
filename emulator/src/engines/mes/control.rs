// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the frames do. Here are the kernel's rings and TLBs; other files have resources
//! ([`super::resources`]), registers ([`super::misc`]) and user queues ([`super::queues`],
//! [`super::gangs`]).
//!
//! A frame that can't be carried out fails with an error word whose code is one of [`code`]. One
//! that the interface does not allow is recorded, too.

use super::failure::{api, code, memory, not_modelled, Failure};
use super::firmware::Firmware;
use super::frame::{ErrorWord, Frame};
use super::ring::Ring;
use super::slot::{Bank, Pipe};
use super::state::Begun;
use super::state::Outcome;
use crate::device::doorbell::NOT_RUNG;
use crate::engines::cp::front::hqd::Image as Mqd;
use crate::memory::tlb::Flush;
use crate::memory::Hub;
use rkfd_hw::mes::op;
use rkfd_hw::mes::v12::*;
use rkfd_hw::mqd::COMPUTE_HEADER;
use rkfd_hw::regs::{gc_12_0_0::CP_HQD_EOP_CONTROL, Value};
use std::time::Duration;

/// Queue types (`enum MES_QUEUE_TYPE`): the scheduler's own ring.
const TYPE_SCHEDULER_RING: u64 = 3;
/// The unit of `mes_kiq_unmap_timeout`.
const PATIENCE_UNIT: Duration = Duration::from_millis(100);

impl Firmware {
    /// Carries out a frame.
    pub(super) fn execute(&mut self, pipe: Pipe, frame: &Frame) -> Outcome {
        let (opcode, sub) = match frame {
            Frame::SetHwResources(_) => (op::SET_HW_RSRC, 0),
            Frame::SetHwResources1(_) => (op::SET_HW_RSRC_1, 0),
            Frame::SetSchedulingConfig(_) => (op::SET_SCHEDULING_CONFIG, 0),
            Frame::AddQueue(_) => (op::ADD_QUEUE, 0),
            Frame::RemoveQueue(_) => (op::REMOVE_QUEUE, 0),
            Frame::ChangeGangPriority(_) => (op::CHANGE_GANG_PRIORITY, 0),
            Frame::Suspend(_) => (op::SUSPEND, 0),
            Frame::Resume(_) => (op::RESUME, 0),
            Frame::Reset(_) => (op::RESET, 0),
            Frame::QueryStatus(_) => (op::QUERY_SCHEDULER_STATUS, 0),
            Frame::Misc(p) => (op::MISC, p.get(Misc::OPCODE) as u8),
            Frame::UpdateRootPageTable(_) => (op::UPDATE_ROOT_PAGE_TABLE, 0),
            Frame::SetLoggingBuffer(_) => (op::SET_LOG_BUFFER, 0),
            Frame::InvTlbs(_) => (op::INV_TLBS, 0),
        };
        let done = self.try_execute(pipe, frame);
        if !matches!(done, Ok(false)) {
            *self.control.begun(pipe) = Begun::default();
        }
        match done {
            Ok(true) => Outcome::Done,
            Ok(false) => Outcome::Wait,
            Err(failure) => {
                if failure.recorded {
                    self.shared.env.report().violation(format_args!(
                        "MES: {}: {}",
                        super::frame::name(opcode),
                        failure.what
                    ));
                }
                Outcome::Failed(ErrorWord {
                    code: failure.code,
                    opcode,
                    misc: sub,
                    category: failure.category,
                })
            }
        }
    }

    /// `false`: it has to wait.
    fn try_execute(&mut self, pipe: Pipe, frame: &Frame) -> Result<bool, Failure> {
        let (since, revision) = (frame.since(pipe), self.shared.regs().revision);
        if revision < since {
            let what =
                format!("revision {revision:#x} lacks it, which is there from {since:#x} on");
            return api(code::UNKNOWN, what);
        }
        if matches!(
            frame,
            Frame::AddQueue(_) | Frame::RemoveQueue(_) | Frame::Misc(_)
        ) {
            self.check_kept();
        }
        let set_up = self.control.resources.get(pipe.index()).copied();
        match frame {
            Frame::SetHwResources(p) => return self.set_resources(pipe, p).map(|()| true),
            Frame::QueryStatus(p) if p.get(QueryStatus::SUBOPCODE) == 0 => return Ok(true),
            Frame::QueryStatus(_) => return not_modelled("a sub-opcode"),
            _ if set_up != Some(true) => return api(code::ORDER, "before SET_HW_RSRC"),
            Frame::Misc(p) => return self.misc(pipe, p),
            Frame::SetHwResources1(p) => {
                if p.get(SetHwResources1::ENABLE_MES_DEBUG_CTX) != 0
                    || p.get(SetHwResources1::MES_COOP_MODE) != 0
                {
                    return not_modelled("a debug context or the mode of several dies");
                }
                let fence = p.get(SetHwResources1::CLEANER_SHADER_FENCE_MC_ADDR);
                memory("cleaner_shader_fence_mc_addr", self.space().load_u64(fence))?;
                let units = p.get(SetHwResources1::MES_KIQ_UNMAP_TIMEOUT) as u32;
                if units == 0 {
                    return not_modelled("mes_kiq_unmap_timeout 0");
                }
                if pipe == Pipe::Scheduler {
                    self.control.patience = PATIENCE_UNIT.saturating_mul(units);
                }
            }
            Frame::AddQueue(p) if p.get(AddQueue::MAP_LEGACY_KQ) == 0 => {
                self.add_user_queue(pipe, p)?;
            }
            Frame::AddQueue(p) => self.add_queue(pipe, p)?,
            Frame::RemoveQueue(p) if p.get(RemoveQueue::UNMAP_LEGACY_QUEUE) == 0 => {
                return self.remove_user_queue(pipe, p);
            }
            Frame::RemoveQueue(p) => self.remove_queue(pipe, p)?,
            Frame::Suspend(p) => return self.suspend(pipe, p),
            Frame::Resume(p) => self.resume(p)?,
            Frame::Reset(p) => return self.reset_queues(pipe, p),
            Frame::InvTlbs(p) => self.invalidate(p)?,
            // Each queue and process comes with its own quantum.
            Frame::SetSchedulingConfig(_) => {}
            Frame::ChangeGangPriority(p) => self.change_priority(p)?,
            Frame::UpdateRootPageTable(p) => self.update_page_table(p)?,
            Frame::SetLoggingBuffer(_) => return not_modelled("a log"),
        }
        Ok(true)
    }

    fn add_queue(&mut self, pipe: Pipe, p: &AddQueue) -> Result<(), Failure> {
        use AddQueue as A;
        if p.get(A::QUEUE_TYPE) != TYPE_SCHEDULER_RING {
            return not_modelled("a kernel's queue other than the scheduler's");
        }
        if pipe != Pipe::Kernel || p.get(A::PIPE_ID) != 0 || p.get(A::QUEUE_ID) != 0 {
            return api(
                code::VALUE,
                "the scheduler's ring is queue 0 of pipe 0, and mapped by pipe 1",
            );
        }
        if self.rings.first().is_some_and(Option::is_some) {
            return api(code::ORDER, "the scheduler's ring is mapped");
        }
        if !self.shared.regs().runs(Pipe::Scheduler) {
            return api(code::ORDER, "CP_MES_CNTL does not run pipe 0");
        }
        let at = p.get(A::MQD_ADDR);
        let mut image = Box::new(Mqd::zeroed());
        memory("the MQD", self.space().read_words(at, &mut image.0))?;
        if image.0[0] != COMPUTE_HEADER || image.get(Mqd::CP_MQD_BASE_ADDR) != at {
            return api(
                code::VALUE,
                "the MQD has another header, or another address",
            );
        }
        // `mes_v12_0_mqd_init`: it is active as soon as it is mapped, and says so of doorbells of queues that
        // are not (DB_UPDATED_MSG_EN of CP_HQD_GFX_CONTROL, which no header names).
        const GFX_CONTROL: usize = 184;
        if image.get(Mqd::CP_HQD_ACTIVE) != 1 || image.0[GFX_CONTROL] != 1 << 15 {
            return api(
                code::VALUE,
                "the MQD has no CP_HQD_ACTIVE, or no DB_UPDATED_MSG_EN",
            );
        }
        // Of the MQD only: who connects a ring by registers leaves these as they are
        // (`mes_v12_0_queue_init_register`).
        let eop = Value::new(image.get(Mqd::CP_HQD_EOP_CONTROL) as u32);
        let has_eop = eop.get(CP_HQD_EOP_CONTROL::EOP_SIZE) != 0;
        if has_eop != (image.get(Mqd::CP_HQD_EOP_BASE_ADDR) != 0) {
            return api(
                code::VALUE,
                "the MQD has CP_HQD_EOP_CONTROL.EOP_SIZE and CP_HQD_EOP_BASE_ADDR, one without the other",
            );
        }
        let mut ring = Ring::from_hqd(&image).or_else(|what| api(code::VALUE, what))?;
        if u64::from(ring.doorbell) != p.get(A::DOORBELL_OFFSET) {
            return api(code::VALUE, "the MQD has another doorbell");
        }
        if ring.poll != p.get(A::WPTR_ADDR) {
            return api(code::VALUE, "the MQD has another write pointer's address");
        }
        let env = &self.shared.env;
        if ring.doorbell >= env.doorbells().words() {
            return api(code::VALUE, "the doorbell is beyond the BAR");
        }
        env.doorbells().store(ring.doorbell, NOT_RUNG);
        match self.space().load_u64(ring.poll) {
            Ok(wptr) if ring.advance(wptr) => {}
            Ok(_) => return api(code::VALUE, "the write pointer is beyond the ring"),
            Err(fault) => return api(code::MEMORY, format!("the write pointer: {fault}")),
        }
        let bank = Bank::Mes(Pipe::Scheduler);
        let mut regs = self.shared.regs();
        *regs.image_mut(bank) = *image;
        ring.save_pointers(regs.image_mut(bank));
        regs.set_active(bank, true);
        drop(regs);
        self.connect(Pipe::Scheduler, ring);
        Ok(())
    }

    fn remove_queue(&mut self, pipe: Pipe, p: &RemoveQueue) -> Result<(), Failure> {
        use RemoveQueue as R;
        if p.get(R::QUEUE_TYPE) != TYPE_SCHEDULER_RING || pipe != Pipe::Kernel {
            return not_modelled("a kernel's queue other than the scheduler's");
        }
        let doorbell = p.get(R::DOORBELL_OFFSET);
        let ring = self.rings.first().and_then(Option::as_ref);
        if ring.is_none_or(|c| u64::from(c.ring.doorbell) != doorbell) {
            return api(code::NOT_FOUND, "no ring has the doorbell");
        }
        self.disconnect(Pipe::Scheduler);
        Ok(())
    }

    fn invalidate(&mut self, p: &InvTlbs) -> Result<(), Failure> {
        use InvTlbs as I;
        let hub = match p.get(I::INVALIDATE_TLBS_HUB_ID) {
            0 => Hub::Gfx(0),
            1 => Hub::Mm(0),
            other => return api(code::VALUE, format!("hub {other}")),
        };
        let id = p.get(I::INVALIDATE_TLBS_INV_SEL_ID);
        let env = &self.shared.env;
        let vmids = match p.get(I::INVALIDATE_TLBS_INV_SEL) {
            0 => env.pasids().vmids_of(id as u16),
            1 if id < 16 => 1 << id,
            _ => return api(code::VALUE, "neither a process nor a VMID"),
        };
        let kind = p.get(I::INVALIDATE_TLBS_FLUSH_TYPE);
        if kind > 3 {
            return api(code::VALUE, "flush type beyond 3");
        }
        env.memory().flush(hub, vmids, Flush::of(kind as u32));
        Ok(())
    }
}
