// SPDX-License-Identifier: MIT OR Apache-2.0

//! User queues: ADD_QUEUE and REMOVE_QUEUE.
//!
//! Sources: Linux, `include/mes_v12_api_def.h`; what KFD writes into frames for its queues:
//! `amdkfd/kfd_device_queue_manager.c` (`add_queue_mes`, `remove_queue_mes_on_reset_option`),
//! `amdgpu/mes_v12_0.c` (`mes_v12_0_add_hw_queue`, `mes_v12_0_unmap_legacy_queue`).
//!
//! A queue that is added is checked with its MQD at once, and runs when its turn comes. One that
//! does not leave its HQD in time is hung: REMOVE_QUEUE fails, and takes it only when it was reset.

use super::failure::{api, code, memory, not_modelled, refused, Failure};
use super::firmware::Firmware;
use super::frame::CATEGORY_SCHEDULING;
use super::members::{Member, Members, Process};
use super::slot::Pipe;
use crate::device::doorbell::NOT_RUNG;
use crate::engines::cp::front::hqd::Role;
use crate::engines::cp::mec::copying::{Copying, Engine};
use crate::engines::cp::mec::line::{Entry, Pointer, QueueMap};
use crate::engines::cp::mec::process::{Bank, Listed};
use crate::engines::cp::mec::{Mec, Owner, Stop};
use crate::engines::cp::sched::fetch::BadQueue;
use crate::report::Whose;
use crate::rules::{Event, Kind};
use rkfd_hw::mes::v12::{AddQueue, RemoveQueue};
use rkfd_hw::pte;
use rkfd_hw::regs::gc_12_0_0::GCVM_CONTEXT0_CNTL as CONTEXT;
use rkfd_hw::regs::Value;
use rkfd_isa::Handler;
use std::time::{Duration, Instant};

/// The unit of quanta.
const QUANTUM_UNIT: Duration = Duration::from_nanos(100);
/// The firmware's memory for a process or a gang (`AMDGPU_MES_PROC_CTX_SIZE`, `_GANG_CTX_SIZE`).
pub(super) const CONTEXT_SIZE: u64 = 0x1000;
/// `MAX_QUEUES_IN_A_GANG`.
const GANG: usize = 8;
/// Priority levels (`AMD_PRIORITY_NUM_LEVELS`).
pub(super) const LEVELS: u64 = 5;
/// Queue types (`enum MES_QUEUE_TYPE`).
pub(super) const TYPE_COMPUTE: u64 = 1;
/// A copy queue.
pub(super) const TYPE_SDMA: u64 = 2;

impl Firmware {
    /// Before there are queues, each level's doorbell that the frame with resources has named is enabled, and no other
    /// one (`mes_v12_0_init_aggregated_doorbell`), and doorbells of queues without an HQD reach MES as it expects them
    /// (`mes_v12_0_enable_unmapped_doorbell_handling`).
    fn check_doorbells(&self) {
        let report = self.shared.env.report();
        for (level, bell) in self.control.aggregated.into_iter().enumerate() {
            let enabled = self.shared.regs().aggregated(level).unwrap_or(0);
            let name = level + 1;
            if bell == 0 && enabled != 0 {
                report.violation(format_args!(
                    "a queue is added, and CP_MES_DOORBELL_CONTROL{name} enables doorbell {enabled:#x}, which SET_HW_RSRC doesn't name"
                ));
            } else if bell != enabled {
                report.violation(format_args!(
                    "a queue is added, and CP_MES_DOORBELL_CONTROL{name} doesn't enable doorbell {bell:#x} of its level"
                ));
            }
        }
        if let Err(what) = self.shared.regs().tells_unmapped(self.control.unmapped) {
            report.violation(format_args!("a queue is added, and {what}"));
        }
    }

    pub(super) fn add_user_queue(&mut self, pipe: Pipe, p: &AddQueue) -> Result<(), Failure> {
        use AddQueue as A;
        self.check_doorbells();
        if pipe != Pipe::Scheduler {
            return api(code::VALUE, "a user queue is for pipe 0");
        }
        let kind = p.get(A::QUEUE_TYPE);
        if kind != TYPE_COMPUTE && kind != TYPE_SDMA {
            return not_modelled("a user queue that neither computes nor copies");
        }
        for (name, zero) in [
            ("paging", A::PAGING.is::<0>()),
            ("debug_vmid", A::DEBUG_VMID.is::<0>()),
            ("program_gds", A::PROGRAM_GDS.is::<0>()),
            ("is_tmz_queue", A::IS_TMZ_QUEUE.is::<0>()),
            ("map_kiq_utility_queue", A::MAP_KIQ_UTILITY_QUEUE.is::<0>()),
            ("exclusively_scheduled", A::EXCLUSIVELY_SCHEDULED.is::<0>()),
            ("is_long_running", A::IS_LONG_RUNNING.is::<0>()),
            ("is_dwm_queue", A::IS_DWM_QUEUE.is::<0>()),
            ("gws_size", A::GWS_SIZE.is::<0>()),
            ("oa_mask", A::OA_MASK.is::<0>()),
        ] {
            if !p.has(zero) {
                return not_modelled(name);
            }
        }
        let aql = p.get(A::IS_AQL_QUEUE) == 1;
        if p.get(A::IS_KFD_PROCESS) == 0 || aql && kind != TYPE_COMPUTE {
            return not_modelled("a queue that is not KFD's, or copies by AQL");
        }
        let (level, inside) = (
            p.get(A::GANG_GLOBAL_PRIORITY_LEVEL),
            p.get(A::INPROCESS_GANG_PRIORITY),
        );
        if level >= LEVELS || inside >= LEVELS {
            return api(code::VALUE, "a priority level beyond 4");
        }
        if p.get(A::PROCESS_QUANTUM) == 0 || p.get(A::GANG_QUANTUM) == 0 {
            return api(code::VALUE, "a quantum of 0");
        }
        let control = p.get(A::VM_CONTEXT_CNTL) as u32;
        if Value::new(control).get(CONTEXT::ENABLE_CONTEXT) == 0 {
            return api(code::VALUE, "vm_context_cntl does not enable the context");
        }
        let process = self.check_process(p)?;
        let member = Member {
            process: process.context,
            gang: p.get(A::GANG_CONTEXT_ADDR),
            doorbell: p.get(A::DOORBELL_OFFSET) as u32,
            mqd: p.get(A::MQD_ADDR),
            kind,
            hung: false,
            number: self.members.asked + 1,
            fault: None,
        };
        self.check_member(&member)?;
        self.members.asked += 1;
        let map = QueueMap {
            by: "ADD_QUEUE",
            engine: match kind {
                TYPE_SDMA => Engine::Sdma(None),
                _ => Engine::Compute,
            },
            mqd: member.mqd,
            doorbell: member.doorbell,
            wptr: Pointer::Gart(p.get(A::WPTR_ADDR)),
            is_static: false,
            level: level as u8,
            quantum: Some(quantum(p.get(A::GANG_QUANTUM))),
            gws: 0,
        };
        match map.engine {
            Engine::Compute => self.check_mqd(p, &map)?,
            Engine::Sdma(_) => self.check_copies(p, &map)?,
        }
        self.clear_contexts(p, &process, &member)?;

        let (debug, watch) = self.members.debug_control(&process, p);
        let listed = Listed {
            pasid: process.pasid,
            page_table_base: process.page_table_base,
            quantum: quantum(p.get(A::PROCESS_QUANTUM)),
            control: Some(control),
            bank: Bank::Debug(debug, watch),
            cleans: false,
            handler: Handler::from_registers(
                p.get(A::TRAP_HANDLER_ADDR) >> 8,
                p.get(A::TMA_ADDR) >> 8,
            ),
        };
        if !self.members.processes.contains(&process) {
            self.members.processes.push(process);
        }
        self.members.queues.push(member);
        // What was rung before is in the write pointer's memory.
        let doorbells = &self.shared.env.doorbells();
        doorbells.store(member.doorbell, NOT_RUNG);
        let mut entry = Entry::new(listed, map);
        entry.hold(p.get(A::IS_GANG_SUSPENDED) == 1);
        self.mec.turns.add(entry);
        self.mec.fill();
        Ok(())
    }

    /// The process that a frame names, as it is known or would be.
    fn check_process(&self, p: &AddQueue) -> Result<Process, Failure> {
        use AddQueue as A;
        let (pasid, base) = (p.get(A::PROCESS_ID), p.get(A::PAGE_TABLE_BASE_ADDR));
        let context = p.get(A::PROCESS_CONTEXT_ADDR);
        if pasid == 0 || pasid > u64::from(u16::MAX) {
            return api(code::VALUE, format!("process id {pasid:#x}"));
        }
        if base & pte::VALID == 0 {
            return api(code::VALUE, "the page table base is not valid");
        }
        if p.get(A::PROCESS_VA_START) >= p.get(A::PROCESS_VA_END) {
            return api(code::VALUE, "process_va_start is not below process_va_end");
        }
        self.check_context("process_context_addr", context)?;
        let process = Process {
            context,
            pasid: pasid as u16,
            page_table_base: base,
        };
        let mut known = self.members.processes.iter();
        let clash =
            known.find(|k| **k != process && (k.context == context || k.pasid == process.pasid));
        match clash {
            Some(k) if k.context == context => api(
                code::VALUE,
                "the process context is that of another process, or of other page tables",
            ),
            Some(_) => api(code::VALUE, "the process has another context"),
            None => Ok(process),
        }
    }

    fn check_member(&self, new: &Member) -> Result<(), Failure> {
        self.check_context("gang_context_addr", new.gang)?;
        let queues = &self.members.queues;
        let contexts = |c: u64| queues.iter().any(|q| q.process == c);
        if new.gang == new.process || contexts(new.gang) {
            return api(code::VALUE, "the gang context is that of a process");
        }
        let mut gang = queues.iter().filter(|q| q.gang == new.gang);
        if gang.clone().count() >= GANG {
            return api(code::VALUE, "a gang of more than 8 queues");
        }
        if gang.any(|q| q.process != new.process) {
            return api(code::VALUE, "the gang is another process's");
        }
        if queues.iter().any(|q| q.doorbell == new.doorbell) {
            return api(code::VALUE, "the doorbell is that of another queue");
        }
        if queues.iter().any(|q| q.mqd == new.mqd) {
            return api(code::VALUE, "the MQD is that of another queue");
        }
        Ok(())
    }

    /// Checks that a context is memory of the firmware's size in VMID 0.
    pub(super) fn check_context(&self, name: &str, at: u64) -> Result<(), Failure> {
        if at == 0 || at % 8 != 0 {
            return api(code::VALUE, format!("{name} is {at:#x}"));
        }
        for end in [at, at.saturating_add(CONTEXT_SIZE - 8)] {
            memory(name, self.space().load_u64(end))?;
        }
        Ok(())
    }

    fn check_mqd(&mut self, p: &AddQueue, map: &QueueMap) -> Result<(), Failure> {
        use AddQueue as A;
        let queue = match self.mec.fetch_mqd(map, Role::User, 0) {
            Ok((queue, _)) => queue,
            Err(BadQueue::Memory(fault)) => return memory("the MQD", Err(fault)),
            // The frame is right. It is found, and recorded, when the queue's turn comes.
            Err(bad) if bad.whose() == Whose::Program => return Ok(()),
            Err(bad) => return api(code::VALUE, bad.to_string()),
        };
        match (p.get(A::IS_AQL_QUEUE) == 1, queue.aql) {
            (true, false) => {
                return api(code::VALUE, "is_aql_queue, but the MQD is of a PM4 queue");
            }
            (false, true) => {
                return api(
                    code::VALUE,
                    "the MQD is of an AQL queue, without is_aql_queue",
                );
            }
            _ => {}
        }
        if p.get(A::KFD_QUEUE_SIZE) != queue.size {
            return api(code::VALUE, "kfd_queue_size is not the MQD's");
        }
        let wptr = p.get(A::WPTR_ADDR);
        if wptr % 8 != 0 || wptr % 4096 != queue.poll % 4096 {
            return api(
                code::VALUE,
                "wptr_addr is not where the MQD has the write pointer in its page",
            );
        }
        memory("wptr_addr", self.space().load_u64(wptr)).map(|_| ())
    }

    /// The same for a copy queue's.
    fn check_copies(&self, p: &AddQueue, map: &QueueMap) -> Result<(), Failure> {
        // The process may have no VMID yet, and needs none here.
        let owner = Owner {
            vmid: u8::MAX,
            ..Owner::default()
        };
        let sdma = &self.shared.sdma;
        let (slot, size) = match sdma.check(&Mec::copy_mapping(map, owner)) {
            Ok(found) => found,
            Err(wrong) if wrong.whose == Whose::Program => return Ok(()),
            Err(wrong) => return api(code::VALUE, wrong.what),
        };
        let mask = self.control.sdma_hqds.get(usize::from(slot.engine));
        if mask.copied().unwrap_or(0) & (1 << slot.queue) == 0 {
            return api(code::VALUE, format!("{slot} is not in sdma_hqd_mask"));
        }
        if p.get(AddQueue::KFD_QUEUE_SIZE) != size / 4 {
            return api(code::VALUE, "kfd_queue_size is not the MQD's");
        }
        Ok(())
    }

    /// The memory of a process and of a gang is the firmware's from now on.
    fn clear_contexts(
        &mut self,
        p: &AddQueue,
        process: &Process,
        new: &Member,
    ) -> Result<(), Failure> {
        let zero = [0; CONTEXT_SIZE as usize / 4];
        let known = self.members.processes.contains(process);
        let at = process.context;
        let set = self.members.debuggers.iter().any(|d| d.context == at);
        let skip = p.get(AddQueue::SKIP_PROCESS_CTX_CLEAR) == 1;
        if skip && !known && !set {
            return api(code::ORDER, "nothing has cleared the process context");
        }
        if !known && !skip {
            self.members.debuggers.retain(|d| d.context != at);
            memory("process_context_addr", self.space().write_words(at, &zero))?;
        }
        if !self.members.queues.iter().any(|q| q.gang == new.gang) {
            let at = new.gang;
            memory("gang_context_addr", self.space().write_words(at, &zero))?;
        }
        Ok(())
    }

    /// `false`: it has to wait.
    pub(super) fn remove_user_queue(
        &mut self,
        pipe: Pipe,
        p: &RemoveQueue,
    ) -> Result<bool, Failure> {
        use RemoveQueue as R;
        let (bell, gang) = (p.get(R::DOORBELL_OFFSET), p.get(R::GANG_CONTEXT_ADDR));
        let found = self
            .members
            .queues
            .iter()
            .find(|q| u64::from(q.doorbell) == bell && q.gang == gang);
        let Some(&Member {
            mqd,
            doorbell,
            kind,
            ..
        }) = found
        else {
            return api(code::NOT_FOUND, "no queue of the gang has the doorbell");
        };
        if p.get(R::QUEUE_TYPE) != kind {
            return api(code::VALUE, "the queue has another type");
        }
        if p.get(R::REMOVE_QUEUE_AFTER_RESET) == 1 {
            // Whoever reset a copy queue by its engine's register didn't tell.
            self.mec.step_copies();
            if self.is_connected(mqd) {
                return api(code::ORDER, "the queue was not reset");
            }
        } else if !self.leave(pipe, &[mqd])? {
            return Ok(false);
        }
        self.mec.forget(Stop::Save, |e| e.queue.mqd == mqd);
        self.shared.env.doorbells().store(doorbell, 0);
        let Members {
            processes, queues, ..
        } = &mut self.members;
        queues.retain(|q| q.mqd != mqd);
        processes.retain(|p| queues.iter().any(|q| q.process == p.context));
        Ok(true)
    }

    /// What the rules make of a queue that is asked to leave its HQD.
    fn ask_of_stop(&mut self, mqd: u64) {
        let rules = self.shared.env.rules();
        let mut queues = self.members.queues.iter_mut();
        let Some(queue) = queues.find(|q| q.mqd == mqd && q.fault.is_none()) else {
            return;
        };
        let keys = [("queue", queue.number), ("doorbell", queue.doorbell.into())];
        queue.fault = rules.ask(&Event::of(Kind::Stop).with(&keys));
    }

    /// Whether a queue is on an HQD or an SDMA engine.
    pub(super) fn is_connected(&self, mqd: u64) -> bool {
        self.mec.hqds.iter().flatten().any(|h| h.q.mqd == mqd)
            || self.mec.copies.iter().any(|q| q.mqd == mqd)
    }

    /// Whether the time is up for what a pipe's frame waits for; the first look starts it.
    pub(super) fn is_late(&mut self, pipe: Pipe) -> bool {
        let deadline = Instant::now() + self.control.patience;
        Instant::now() >= *self.control.deadline(pipe).get_or_insert(deadline)
    }

    /// Takes queues off their HQDs and keeps them off; `false` while a frame has to wait for that.
    ///
    /// # Errors
    /// Some did not leave in time: they stay, and are hung.
    pub(super) fn leave(&mut self, pipe: Pipe, mqds: &[u64]) -> Result<bool, Failure> {
        let first = self.control.deadline(pipe).is_none();
        let late = self.is_late(pipe);
        let connected = self.mec.hqds.iter().flatten();
        let left: Vec<_> = connected
            .filter(|h| mqds.contains(&h.q.mqd))
            .map(|h| (h.slot, h.q.mqd, h.stop))
            .collect();
        if first {
            let chosen = |e: &Entry| mqds.contains(&e.queue.mqd);
            self.mec.turns.change(chosen, |e| e.hold(true));
        }
        let copies = |q: &Copying| mqds.contains(&q.mqd);
        let copying = self.mec.copies.iter().any(copies);
        if first {
            self.mec.stop_copies(Stop::Save, copies);
        }
        for &(_, mqd, _) in left.iter().filter(|_| first) {
            self.ask_of_stop(mqd);
        }
        if left.is_empty() && !copying {
            for queue in &mut self.members.queues {
                queue.hung &= !mqds.contains(&queue.mqd);
            }
            return Ok(true);
        }
        if late {
            let hung = self.mec.go_on_copies();
            let queues = self.members.queues.iter_mut();
            queues
                .filter(|q| hung.contains(&q.doorbell))
                .for_each(|q| q.hung = true);
        }
        for &(slot, mqd, stop) in &left {
            if late {
                self.mec.go_on(slot);
                let queues = self.members.queues.iter_mut();
                queues.filter(|q| q.mqd == mqd).for_each(|q| q.hung = true);
            } else if stop.is_none() && self.members.fault(mqd).is_none() {
                self.mec.stop(slot, Stop::Save);
            }
        }
        match late {
            true => refused(
                code::HUNG,
                CATEGORY_SCHEDULING,
                "a queue does not leave its HQD",
            ),
            false => Ok(false),
        }
    }
}

/// A quantum of a frame.
pub(super) fn quantum(units: u64) -> Duration {
    QUANTUM_UNIT.saturating_mul(u32::try_from(units).unwrap_or(u32::MAX))
}
