// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the frames do: resources, rings of the kernel, register access, TLBs; user queues are in
//! [`super::queues`] and [`super::gangs`].
//!
//! A frame that can't be carried out fails with an error word whose code is one of [`code`]. One
//! that the interface does not allow is recorded, too.

use super::firmware::{Firmware, Outcome};
use super::frame::{ErrorWord, Frame, CATEGORY_API, CATEGORY_SCHEDULING};
use super::ring::Ring;
use super::slot::{Bank, Pipe, PIPES};
use crate::cp::generation::GFX12;
use crate::cp::hqd::Image as Mqd;
use crate::cp::mec::NOT_RUNG;
use crate::cp::turns::{Entry, Turns};
use crate::memory::{Hub, VmFault};
use rkfd_hw::mes::op;
use rkfd_hw::mes::v12::*;
use rkfd_hw::mqd::COMPUTE_HEADER;
use rkfd_hw::regs::Block;
use std::time::{Duration, Instant};

/// Codes of error words; the firmware's own are not public.
pub(super) mod code {
    /// A field has a value that the interface does not allow.
    pub const VALUE: u8 = 2;
    /// The frame is out of order.
    pub const ORDER: u8 = 3;
    /// What it names does not exist.
    pub const NOT_FOUND: u8 = 4;
    /// The model lacks it.
    pub const NOT_MODELLED: u8 = 5;
    /// Memory that it names can't be reached.
    pub const MEMORY: u8 = 6;
    /// A queue does not leave its HQD.
    pub const HUNG: u8 = 7;
}

/// Queue types (`enum MES_QUEUE_TYPE`): the scheduler's own ring.
const TYPE_SCHEDULER_RING: u64 = 3;
/// MISC's sub-opcodes (`enum MESAPI_MISC_OPCODE`).
mod misc {
    pub const WRITE_REG: u64 = 0;
    pub const INV_GART: u64 = 1;
    pub const READ_REG: u64 = 3;
    pub const WAIT_REG_MEM: u64 = 4;
    pub const NOTIFY_WORK: u64 = 6;
    pub const CHANGE_CONFIG: u64 = 9;
}

/// The time for an unmap if no frame says it.
const PATIENCE: Duration = Duration::from_secs(1);
/// The unit of `mes_kiq_unmap_timeout`.
const PATIENCE_UNIT: Duration = Duration::from_millis(100);

/// What a frame that waits has begun.
#[derive(Clone, Default)]
struct Begun {
    /// WAIT_REG_MEM has written its register.
    written: bool,
    /// Until when queues have to leave.
    deadline: Option<Instant>,
    /// RESET found these queues: MQDs of those that ran before, and of hung ones.
    running: Option<Vec<u64>>,
    hung: Option<Vec<u64>>,
}

/// What the frames have set up.
pub(super) struct Control {
    resources: [bool; PIPES],
    begun: [Begun; PIPES],
    /// The time for an unmap.
    pub patience: Duration,
    /// HQDs of all types that the scheduler may use.
    pub hqds: u32,
    /// Of each SDMA engine, the queues that it may use.
    pub sdma_hqds: [u32; 2],
    /// It hears doorbells of queues without an HQD.
    pub hears: bool,
    /// Doorbells that tell of work of a level.
    pub aggregated: [u32; 5],
}

impl Default for Control {
    fn default() -> Self {
        Self {
            resources: Default::default(),
            begun: Default::default(),
            patience: PATIENCE,
            hqds: 0,
            sdma_hqds: [0; 2],
            hears: false,
            aggregated: Default::default(),
        }
    }
}

/// Why a frame fails.
pub(super) struct Failure {
    code: u8,
    category: u8,
    what: String,
    /// The interface does not allow it, so it is recorded.
    recorded: bool,
}

pub(super) fn api<T>(code: u8, what: impl Into<String>) -> Result<T, Failure> {
    let (category, what) = (CATEGORY_API, what.into());
    Err(Failure {
        code,
        category,
        what,
        recorded: true,
    })
}

pub(super) fn not_modelled<T>(what: &str) -> Result<T, Failure> {
    Err(Failure {
        code: code::NOT_MODELLED,
        category: CATEGORY_SCHEDULING,
        what: format!("{what}, which is not modelled"),
        recorded: true,
    })
}

/// A failure that is no mistake of the driver.
pub(super) fn refused<T>(code: u8, category: u8, what: &str) -> Result<T, Failure> {
    Err(Failure {
        code,
        category,
        what: what.into(),
        recorded: false,
    })
}

/// What memory that a frame names gave.
pub(super) fn memory<T>(name: &str, done: Result<T, VmFault>) -> Result<T, Failure> {
    done.or_else(|fault| api(code::MEMORY, format!("{name}: {fault}")))
}

impl Control {
    /// A pipe's ring is gone, and what was set up by it.
    pub(super) fn forget(&mut self, pipe: Pipe) {
        if let Some(set) = self.resources.get_mut(pipe.index()) {
            *set = false;
        }
        *self.begun(pipe) = Begun::default();
    }

    fn begun(&mut self, pipe: Pipe) -> &mut Begun {
        &mut self.begun[pipe.index()]
    }

    /// Until when queues have to leave for a pipe's frame.
    pub(super) fn deadline(&mut self, pipe: Pipe) -> &mut Option<Instant> {
        &mut self.begun(pipe).deadline
    }

    /// Hung queues that a pipe's frame has found.
    pub(super) fn hung(&mut self, pipe: Pipe) -> &mut Option<Vec<u64>> {
        &mut self.begun(pipe).hung
    }

    /// Queues that ran when a pipe's frame began: `now` if it begins.
    pub(super) fn running(&mut self, pipe: Pipe, now: Vec<u64>) -> Vec<u64> {
        self.begun(pipe).running.get_or_insert(now).clone()
    }
}

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
                    self.shared.soc.report.violation(format_args!(
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
                let units = p.get(SetHwResources1::MES_KIQ_UNMAP_TIMEOUT) as u32;
                if pipe == Pipe::Scheduler && units != 0 {
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

    fn set_resources(&mut self, pipe: Pipe, p: &SetHwResources) -> Result<(), Failure> {
        use SetHwResources as R;
        for (block, first) in [
            (Block::Gc, R::GC_BASE_0),
            (Block::Mmhub, R::MMHUB_BASE_0),
            (Block::Osssys, R::OSSSYS_BASE_0),
        ] {
            let ips = self.shared.soc.chip.ips;
            let bases = ips.iter().find(|ip| ip.hw_id == block as u16);
            let given = p.0.iter().skip(first.word());
            let bases = bases.map_or(&[][..], |ip| ip.bases);
            if bases.iter().zip(given).any(|(base, given)| base != given) {
                return api(
                    code::VALUE,
                    format!("the bases of {block:?} are not the chip's"),
                );
            }
        }
        for (name, field) in [
            ("g_sch_ctx_gpu_mc_ptr", R::G_SCH_CTX_GPU_MC_PTR),
            (
                "query_status_fence_gpu_mc_ptr",
                R::QUERY_STATUS_FENCE_GPU_MC_PTR,
            ),
        ] {
            if let Err(fault) = self.space().load_u64(p.get(field)) {
                return api(code::MEMORY, format!("{name}: {fault}"));
            }
        }
        if p.get(R::UNMAPPED_DOORBELL_HANDLING) > 2 {
            return api(code::VALUE, "unmapped_doorbell_handling has no mode 3");
        }
        let vmids = p.get(R::VMID_MASK_GFXHUB) | p.get(R::VMID_MASK_MMHUB);
        let masks: Vec<u32> =
            p.0.iter()
                .copied()
                .skip(R::COMPUTE_HQD_MASK_0.word())
                .take(8)
                .collect();
        let absent = masks.iter().enumerate().any(|(pipe, mask)| {
            let there = pipe < GFX12.slots.pipes[0] as usize;
            mask & !(if there {
                (1 << GFX12.slots.queues) - 1
            } else {
                0
            }) != 0
        });
        if absent {
            return api(
                code::VALUE,
                "compute_hqd_mask names HQDs that the chip lacks",
            );
        }
        if vmids & 1 == 1 || vmids >> 16 != 0 {
            return api(
                code::VALUE,
                "a VMID mask has the kernel's VMID 0, or one beyond 15",
            );
        }
        if pipe == Pipe::Scheduler
            && (p.get(R::VMID_MASK_GFXHUB) == 0 || masks.iter().all(|mask| *mask == 0))
        {
            return api(code::VALUE, "nothing is left to the scheduler");
        }
        if pipe == Pipe::Scheduler {
            if !self.members.queues.is_empty() {
                return api(code::ORDER, "queues are mapped");
            }
            self.give_out(p, &masks);
        }
        if let Some(set) = self.control.resources.get_mut(pipe.index()) {
            *set = true;
        }
        Ok(())
    }

    /// What the scheduler has from now on.
    fn give_out(&mut self, p: &SetHwResources, compute: &[u32]) {
        use SetHwResources as R;
        // Slots are numbered as if pipes had eight queues.
        let slots = compute.iter().take(4).enumerate();
        let slots = slots.fold(0, |all, (pipe, mask)| {
            all | (u64::from(*mask) << (pipe * 8))
        });
        self.mec.slots.allow(slots);
        let vmids = p.get(R::VMID_MASK_GFXHUB);
        self.mec.vmids.allow(vmids);
        let concurrent = match p.get(R::LIMIT_SINGLE_PROCESS) {
            0 => vmids.count_ones() as usize,
            _ => 1,
        };
        self.mec.turns = Turns::new(Vec::new(), concurrent, true);
        let masks = R::COMPUTE_HQD_MASK_0.word()..R::AGGREGATED_DOORBELLS_0.word();
        let masks = p.0.get(masks).unwrap_or_default();
        self.control.hqds = masks.iter().map(|mask| mask.count_ones()).sum();
        self.control.sdma_hqds =
            [R::SDMA_HQD_MASK_0, R::SDMA_HQD_MASK_1].map(|mask| p.get(mask) as u32);
        self.control.hears = p.get(R::UNMAPPED_DOORBELL_HANDLING) != 0;
        let first = R::AGGREGATED_DOORBELLS_0.word();
        for (to, from) in self
            .control
            .aggregated
            .iter_mut()
            .zip(p.0.iter().skip(first))
        {
            *to = *from;
        }
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
        if let Err(fault) = self.space().read_words(at, &mut image.0) {
            return api(code::MEMORY, format!("the MQD: {fault}"));
        }
        if image.0[0] != COMPUTE_HEADER || image.get(Mqd::CP_MQD_BASE_ADDR) != at {
            return api(
                code::VALUE,
                "the MQD has another header, or another address",
            );
        }
        let mut ring = Ring::from_hqd(&image).or_else(|what| api(code::VALUE, what))?;
        if u64::from(ring.doorbell) != p.get(A::DOORBELL_OFFSET) {
            return api(code::VALUE, "the MQD has another doorbell");
        }
        if ring.poll != p.get(A::WPTR_ADDR) {
            return api(code::VALUE, "the MQD has another write pointer's address");
        }
        let soc = &self.shared.soc;
        if ring.doorbell >= soc.doorbells.words() {
            return api(code::VALUE, "the doorbell is beyond the BAR");
        }
        soc.doorbells.store(ring.doorbell, NOT_RUNG);
        match self.space().load_u64(ring.poll) {
            Ok(wptr) if ring.advance(wptr) => {}
            Ok(_) => return api(code::VALUE, "the write pointer is beyond the ring"),
            Err(fault) => return api(code::MEMORY, format!("the write pointer: {fault}")),
        }
        *self.shared.regs().image_mut(Bank::Mes(Pipe::Scheduler)) = *image;
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
            0 => Hub::Gfx,
            1 => Hub::Mm,
            other => return api(code::VALUE, format!("hub {other}")),
        };
        let id = p.get(I::INVALIDATE_TLBS_INV_SEL_ID);
        let soc = &self.shared.soc;
        let vmids = match p.get(I::INVALIDATE_TLBS_INV_SEL) {
            0 => soc.pasids.vmids_of(id as u16),
            1 if id < 16 => 1 << id,
            _ => return api(code::VALUE, "neither a process nor a VMID"),
        };
        if p.get(I::INVALIDATE_TLBS_FLUSH_TYPE) > 3 {
            return api(code::VALUE, "flush type beyond 3");
        }
        soc.memory.hub(hub).invalidate(vmids);
        Ok(())
    }

    fn misc(&mut self, pipe: Pipe, p: &Misc) -> Result<bool, Failure> {
        use Misc as M;
        match p.get(M::OPCODE) {
            misc::WRITE_REG => {
                let at = p.get(M::WRITE_REG_REG_OFFSET);
                self.write_register(at, p.get(M::WRITE_REG_REG_VALUE) as u32)?;
            }
            misc::READ_REG => {
                if p.get(M::READ_REG_OPTION_BITS_READ64BITS) != 0 {
                    return not_modelled("a read of 64 bits");
                }
                let value = self.read_register(p.get(M::READ_REG_REG_OFFSET))?;
                let at = p.get(M::READ_REG_BUFFER_ADDR);
                if let Err(fault) = self.space().write_words(at, &[value]) {
                    return api(code::MEMORY, format!("the buffer: {fault}"));
                }
            }
            misc::WAIT_REG_MEM => return self.wait(pipe, p),
            misc::INV_GART => {
                for hub in [Hub::Gfx, Hub::Mm] {
                    self.shared.soc.memory.hub(hub).invalidate(1);
                }
            }
            // LIMIT_SINGLE_PROCESS: one process at a time.
            misc::CHANGE_CONFIG if p.get(M::CHANGE_CONFIG_OPCODE) == 0 => {
                let single = p.get(M::CHANGE_CONFIG_OPTION_BITS_LIMIT_SINGLE_PROCESS) == 1;
                self.mec.turns.concurrent = if single { 1 } else { usize::MAX };
            }
            misc::NOTIFY_WORK => {
                let bell = p.get(M::DOORBELL_OFFSET);
                let chosen = |e: &Entry| u64::from(e.queue.doorbell) == bell;
                self.mec.turns.change(chosen, Entry::wake);
            }
            other => return not_modelled(&format!("sub-opcode {other}")),
        }
        Ok(true)
    }

    /// WAIT_REG_MEM: 0 waits for the first register, 1 writes it and waits for the second.
    fn wait(&mut self, pipe: Pipe, p: &Misc) -> Result<bool, Failure> {
        use Misc as M;
        let first = p.get(M::WAIT_REG_MEM_REG_OFFSET1);
        let (reference, mask) = (
            p.get(M::WAIT_REG_MEM_REFERENCE) as u32,
            p.get(M::WAIT_REG_MEM_MASK) as u32,
        );
        let written = self.control.begun(pipe).written;
        let at = match p.get(M::WAIT_REG_MEM_OP) {
            0 => first,
            1 => {
                if !written {
                    self.write_register(first, reference)?;
                }
                p.get(M::WAIT_REG_MEM_REG_OFFSET2)
            }
            other => return api(code::VALUE, format!("operation {other}")),
        };
        let open = self.read_register(at)? & mask == reference & mask;
        self.control.begun(pipe).written = true;
        Ok(open)
    }

    fn read_register(&self, word: u64) -> Result<u32, Failure> {
        match self.shared.soc.registers() {
            Some(device) => Ok(device.read(word * 4)),
            None => api(code::ORDER, "the device ends"),
        }
    }

    fn write_register(&self, word: u64, value: u32) -> Result<(), Failure> {
        match self.shared.soc.registers() {
            Some(device) => {
                device.write(word * 4, value);
                Ok(())
            }
            None => api(code::ORDER, "the device ends"),
        }
    }
}
