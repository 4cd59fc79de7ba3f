// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is done to gangs and processes: SUSPEND, RESUME, RESET, CHANGE_GANG_PRIORITY,
//! UPDATE_ROOT_PAGE_TABLE.
//!
//! Sources: Linux, `include/mes_v12_api_def.h` (SUSPEND has a bit for all compute gangs and one for all SDMA
//! gangs, RESUME one for both); `amdgpu/amdgpu_gfx.c`
//! (`amdgpu_gfx_reset_mes_compute`: how hung queues are found and reset), `amdgpu/amdgpu_mes.c`
//! (`amdgpu_mes_detect_and_reset_hung_queues`, which can ask for either type).

use super::failure::{api, code, memory, not_modelled, refused, Failure};
use super::firmware::Firmware;
use super::frame::CATEGORY_SCHEDULING;
use super::members::Member;
use super::queues::{quantum, LEVELS, TYPE_COMPUTE, TYPE_SDMA};
use super::slot::Pipe;
use crate::engines::cp::mec::line::Entry;
use crate::engines::cp::mec::Stop;
use crate::memory::Hub;
use rkfd_hw::layout::Field;
use rkfd_hw::mes::v12::{ChangeGangPriority, Reset, Resume, Suspend, UpdateRootPageTable};
use rkfd_hw::mes::HungQueue;
use rkfd_hw::pte;
use rkfd_hw::value::Bounded;

impl Firmware {
    /// MQDs of the queues that pass a test.
    fn mqds(&self, test: impl Fn(&Member) -> bool) -> Vec<u64> {
        let queues = self.members.queues.iter();
        queues.filter(|q| test(q)).map(|q| q.mqd).collect()
    }

    /// MQDs of all queues or of one gang's.
    fn chosen(&self, all: bool, gang: u64) -> Result<Vec<u64>, Failure> {
        let mqds = self.mqds(|q| all || q.gang == gang);
        match mqds.is_empty() && !all {
            true => api(code::NOT_FOUND, "no gang has the context"),
            false => Ok(mqds),
        }
    }

    /// `false`: it has to wait.
    pub(super) fn suspend(&mut self, pipe: Pipe, p: &Suspend) -> Result<bool, Failure> {
        use Suspend as S;
        if p.get(S::QUERY_STATUS) == 1 {
            return not_modelled("query_status");
        }
        let (computing, copying) = (
            p.is_set(S::SUSPEND_ALL_GANGS),
            p.is_set(S::SUSPEND_ALL_SDMA_GANGS),
        );
        let mqds = match computing || copying {
            true => self.mqds(|q| match q.kind {
                TYPE_SDMA => copying,
                _ => computing,
            }),
            false => self.chosen(false, p.get(S::GANG_CONTEXT_ADDR))?,
        };
        if !self.leave(pipe, &mqds)? {
            return Ok(false);
        }
        let at = p.get(S::SUSPEND_FENCE_ADDR);
        if at != 0 {
            let value = p.get(S::SUSPEND_FENCE_VALUE) as u32;
            memory("the fence", self.space().write_words(at, &[value]))?;
        }
        Ok(true)
    }

    pub(super) fn resume(&mut self, p: &Resume) -> Result<(), Failure> {
        let all = p.get(Resume::RESUME_ALL_GANGS) == 1;
        let mqds = self.chosen(all, p.get(Resume::GANG_CONTEXT_ADDR))?;
        let chosen = |e: &Entry| mqds.contains(&e.queue.mqd);
        self.mec.turns.change(chosen, |e| e.hold(false));
        self.mec.fill();
        Ok(())
    }

    /// `false`: it has to wait.
    pub(super) fn reset_queues(&mut self, pipe: Pipe, p: &Reset) -> Result<bool, Failure> {
        use Reset as R;
        let bit = |field: Field<Reset, 1>| p.is_set(field);
        match [
            R::RESET_QUEUE_ONLY,
            R::HANG_DETECT_THEN_RESET,
            R::HANG_DETECT_ONLY,
            R::RESET_LEGACY_GFX,
        ]
        .map(bit)
        {
            [true, false, false, false] => {
                let bell = p.get(R::DOORBELL_OFFSET);
                let queues = self.members.queues.iter();
                let found = queues.copied().find(|q| u64::from(q.doorbell) == bell);
                match found {
                    Some(queue) => self.reset_queue(pipe, queue.mqd),
                    None => api(code::NOT_FOUND, "no user queue has the doorbell"),
                }
            }
            [false, reset, detect, false] if reset != detect => self.find_hung(pipe, p, reset),
            [false, false, false, true] => not_modelled("a graphics queue"),
            _ => api(code::VALUE, "not one of the things that it does"),
        }
    }

    /// Ends a queue's waves and takes it off; `false` while that goes on.
    ///
    /// # Errors
    /// It does not end in time.
    fn reset_queue(&mut self, pipe: Pipe, mqd: u64) -> Result<bool, Failure> {
        if self.members.is_wedged(mqd) && self.is_connected(mqd) {
            return match self.is_late(pipe) {
                true => refused(
                    code::HUNG,
                    CATEGORY_SCHEDULING,
                    "a reset does not end the queue",
                ),
                false => Ok(false),
            };
        }
        let mut connected = self.mec.hqds.iter().flatten();
        let found = connected.find(|h| h.q.mqd == mqd);
        if let Some((slot, stop)) = found.map(|h| (h.slot, h.stop)) {
            if stop != Some(Stop::Reset) {
                self.mec.stop(slot, Stop::Reset);
            }
            return Ok(false);
        }
        if self.mec.stop_copies(Stop::Reset, |q| q.mqd == mqd) > 0 {
            return Ok(false);
        }
        self.mec.forget(Stop::Reset, |e| e.queue.mqd == mqd);
        let queues = self.members.queues.iter_mut();
        queues.filter(|q| q.mqd == mqd).for_each(|q| q.hung = false);
        Ok(true)
    }

    /// Hung queues of a type are those that do not leave their HQDs: they are listed, and reset if asked.
    fn find_hung(&mut self, pipe: Pipe, p: &Reset, reset: bool) -> Result<bool, Failure> {
        let kind = p.get(Reset::QUEUE_TYPE);
        if kind != TYPE_COMPUTE && kind != TYPE_SDMA {
            return not_modelled("a hang of another type of queue");
        }
        if self.control.hung(pipe).is_none() {
            self.check_list(p.get(Reset::DOORBELL_OFFSET_ADDR))?;
            let mqds = self.mqds(|q| q.kind == kind && self.is_connected(q.mqd));
            // Who was not suspended goes on afterwards.
            let running: Vec<u64> = (mqds.iter().copied())
                .filter(|mqd| !self.mec.turns.is_held(*mqd))
                .collect();
            let running = self.control.running(pipe, running);
            if matches!(self.leave(pipe, &mqds), Ok(false)) {
                return Ok(false);
            }
            let go_on = |e: &Entry| running.contains(&e.queue.mqd);
            self.mec.turns.change(go_on, |e| e.hold(false));
            let queues = self.members.queues.iter();
            let hung: Vec<Member> = queues
                .filter(|q| q.hung && q.kind == kind)
                .copied()
                .collect();
            self.list_hung(p.get(Reset::DOORBELL_OFFSET_ADDR), &hung)?;
            *self.control.hung(pipe) = Some(hung.iter().map(|q| q.mqd).collect());
        }
        let mut done = true;
        if reset {
            for mqd in self.control.hung(pipe).clone().unwrap_or_default() {
                done &= self.reset_queue(pipe, mqd)?;
            }
        }
        Ok(done)
    }

    /// That a list of doorbells has none yet: MES writes those that it finds, and so those of a list before would be
    /// taken for them (`amdgpu_mes_detect_and_reset_hung_queues`). Linux's has four.
    fn check_list(&self, at: u64) -> Result<(), Failure> {
        let mut words = vec![0; self.control.hqds.min(4) as usize];
        let read = self.space().read_words(at, &mut words);
        memory("doorbell_offset_addr", read)?;
        match words.iter().all(|word| *word == u32::MAX) {
            true => Ok(()),
            false => api(
                code::VALUE,
                "the list at doorbell_offset_addr has something in it, which is taken for hung queues",
            ),
        }
    }

    /// Doorbells of hung queues, then their HQDs, in an array of all HQDs' size; the rest of it
    /// stays as it is.
    fn list_hung(&self, at: u64, hung: &[Member]) -> Result<(), Failure> {
        if hung.is_empty() {
            return Ok(());
        }
        let placed = hung
            .iter()
            .filter_map(|q| Some((q.doorbell, self.place_of(q)?)));
        let (bells, places): (Vec<u32>, Vec<u32>) = placed.unzip();
        let second = at.wrapping_add(u64::from(self.control.hqds) * 4);
        let space = self.space();
        let written = space
            .write_words(at, &bells)
            .and_then(|()| space.write_words(second, &places));
        memory("doorbell_offset_addr", written)
    }

    /// Type, pipe and queue of a queue's HQD, as in the list. The pipe of a copy queue is its engine, as in the masks of
    /// SET_HW_RSRC.
    fn place_of(&self, queue: &Member) -> Option<u32> {
        let (pipe, number) = match queue.kind {
            TYPE_SDMA => {
                let mut copies = self.mec.copies.iter();
                let slot = copies.find(|c| c.mqd == queue.mqd)?.slot;
                (slot.engine.into(), slot.queue)
            }
            _ => {
                let mut hqds = self.mec.hqds.iter().flatten();
                let slot = hqds.find(|h| h.q.mqd == queue.mqd)?.slot;
                (slot.pipe().into(), slot.queue() as u8)
            }
        };
        let place = HungQueue::zeroed()
            .with(HungQueue::QUEUE_TYPE, Bounded::low_bits_of(queue.kind))
            .with(HungQueue::PIPE_INDEX, Bounded::low_bits_of(pipe))
            .with(HungQueue::QUEUE_INDEX, number);
        let [word] = place.0;
        Some(word)
    }

    pub(super) fn change_priority(&mut self, p: &ChangeGangPriority) -> Result<(), Failure> {
        use ChangeGangPriority as C;
        let mqds = self.chosen(false, p.get(C::GANG_CONTEXT_ADDR))?;
        let level = p.get(C::GANG_GLOBAL_PRIORITY_LEVEL);
        if level >= LEVELS || p.get(C::INPROCESS_GANG_PRIORITY) >= LEVELS {
            return api(code::VALUE, "a priority level beyond 4");
        }
        let quantum = quantum(p.get(C::GANG_QUANTUM));
        let chosen = |e: &Entry| mqds.contains(&e.queue.mqd);
        self.mec.turns.change(chosen, |e| {
            e.queue.level = level as u8;
            e.queue.quantum = Some(quantum);
        });
        let hqds = self.mec.hqds.iter_mut().flatten();
        for h in hqds.filter(|h| mqds.contains(&h.q.mqd)) {
            (h.level, h.quantum) = (level as u8, quantum);
        }
        Ok(())
    }

    pub(super) fn update_page_table(&mut self, p: &UpdateRootPageTable) -> Result<(), Failure> {
        use UpdateRootPageTable as U;
        let (context, base) = (
            p.get(U::PROCESS_CONTEXT_ADDR),
            p.get(U::PAGE_TABLE_BASE_ADDR),
        );
        if base & pte::VALID == 0 {
            return api(code::VALUE, "the page table base is not valid");
        }
        let mut known = self.members.processes.iter_mut();
        let Some(process) = known.find(|k| k.context == context) else {
            return api(code::NOT_FOUND, "no process has the context");
        };
        process.page_table_base = base;
        let pasid = process.pasid;
        let chosen = |e: &Entry| e.pasid() == pasid;
        self.mec
            .turns
            .change(chosen, |e| e.process.page_table_base = base);
        let mapped = self.mec.processes.iter().filter(|k| k.owner.pasid == pasid);
        for process in mapped {
            for hub in [Hub::Gfx(0), Hub::Mm(0)] {
                let memory = &self.shared.env.memory();
                memory.hub(hub).bind(process.owner.vmid, base);
            }
        }
        Ok(())
    }
}
