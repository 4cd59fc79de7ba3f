// SPDX-License-Identifier: GPL-2.0

//! MES: queues handed to the micro engine scheduler one by one.
//!
//! Each queue is a gang of its own. ADD_QUEUE names the process, its page tables, the MQD and two
//! pages that MES keeps for process and gang; REMOVE_QUEUE takes the queue back, and its
//! acknowledgement is the proof that the hardware let go. MES gives VMIDs and hardware queues by
//! itself, and takes turns if there are more queues than it has.
//!
//! If MES refuses to give a queue back, hung queues are reset ([`reset`]). A queue that doesn't let
//! go even so is hung, alone. If MES doesn't answer at all, the scheduler is stuck: it takes
//! nothing more, and what queues hold is kept.
//!
//! Sources: `mes_v12_0.c`, `add_queue_mes`.
//!
//! Lock order: see [`super`]. The lock is held while waiting for MES, which needs no lock.

use super::{
    queue::{HwQueue, QueueState},
    Contexts, Format, Keep, ProcessConfig, QueueSpec, QueueUpdate, SchedProcess, Scheduler,
    Unscheduled,
};
use crate::{
    bo::{kernel_mem::KernelBuf, Placement},
    gmc::gart,
    gpu::Hw,
    upcall::Pasid,
    vm::Vm,
};
use kernel::{
    fmt, new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

mod engine;
mod microcode;
mod pipe;
mod reset;

use engine::{tell, Add, Engine, Victim, TYPE_COMPUTE, TYPE_SDMA};
use pipe::Failure;

/// `max_num_of_queues_per_device`.
const MAX_QUEUES: usize = 4096;
/// `AMDGPU_MES_PROC_CTX_SIZE` and `AMDGPU_MES_GANG_CTX_SIZE`.
const CONTEXT_BYTES: usize = 4096;
const PAGE: u64 = 4096;

/// A process.
struct Entry {
    process: Arc<SchedProcess>,
    config: ProcessConfig,
    context: Arc<KernelBuf>,
    queues: KVec<Arc<HwQueue>>,
    /// Times it was evicted and not restored.
    evicted: u32,
}

/// What the lock guards.
struct State {
    engine: Option<Arc<Engine>>,
    /// MES doesn't answer.
    stuck: bool,
    entries: KVec<Entry>,
}

/// The scheduler.
#[pin_data]
struct Mes {
    hw: Arc<Hw>,
    #[pin]
    state: Mutex<State>,
}

/// Makes a scheduler that isn't started.
pub(super) fn new(hw: &Arc<Hw>) -> Result<Arc<dyn Scheduler>> {
    let hw = hw.clone();
    let state = State {
        engine: None,
        stuck: false,
        entries: KVec::new(),
    };
    let this: Arc<Mes> = Arc::pin_init(
        pin_init!(Mes { hw, state <- new_mutex!(state, "rkfd scheduler") }),
        GFP_KERNEL,
    )?;
    Ok(this)
}

impl State {
    fn entry(&mut self, process: &Arc<SchedProcess>) -> Result<&mut Entry> {
        self.entries
            .iter_mut()
            .find(|entry| Arc::ptr_eq(&entry.process, process))
            .ok_or(EINVAL)
    }

    /// EIO when MES is stuck, ENODEV when it isn't there.
    fn engine(&self) -> Result<Arc<Engine>> {
        if self.stuck {
            return Err(EIO);
        }
        self.engine.clone().ok_or(ENODEV)
    }

    /// MES doesn't answer: whatever it had, it may still run.
    fn lose(&mut self, hw: &Arc<Hw>) {
        self.stuck = true;
        let queues = self.entries.iter().flat_map(|entry| entry.queues.iter());
        for queue in queues.filter(|queue| queue.state() == QueueState::Mapped) {
            let _ = queue.enter(QueueState::Hung);
        }
        hw.report_hang();
    }

    /// Hands a queue over.
    fn add(&mut self, hw: &Arc<Hw>, queue: &Arc<HwQueue>) -> Result {
        let engine = self.engine()?;
        let entry = self.entry(queue.process())?;
        let contexts = queue.contexts().ok_or(EINVAL)?;
        let vm = queue.process().vm();
        let add = queue.with_spec(|spec| Add {
            pasid: vm.pasid(),
            page_table_base: vm.page_table_base(),
            process_context: contexts.process.gpu_addr(),
            gang_context: contexts.gang.gpu_addr(),
            priority: spec.priority,
            doorbell: spec.doorbell.bar_word(),
            mqd: queue.mqd_addr(),
            wptr: contexts.wptr,
            tba: entry.config.tba,
            tma: entry.config.tma,
            kind: kind(spec.format),
            aql: spec.format == Format::Aql,
            ring_bytes: spec.ring_size,
        });
        match engine.add(&add) {
            Ok(()) => queue.enter(QueueState::Mapped),
            Err(Failure::Lost(error)) => {
                if error == ETIMEDOUT {
                    // It may have it or not.
                    queue.enter(QueueState::Hung)?;
                    self.lose(hw);
                }
                Err(error)
            }
            Err(failure) => {
                queue.enter(QueueState::Disabled)?;
                Err(tell(hw, "ADD_QUEUE", failure))
            }
        }
    }

    /// Takes a queue back that MES has, and notes where it stands then: where `next` says, or
    /// gone if it had to be reset, as other queues that hung may be.
    ///
    /// # Errors
    ///
    /// ENOTRECOVERABLE or ETIMEDOUT when it hangs, ETIMEDOUT when MES does.
    fn remove(&mut self, hw: &Arc<Hw>, queue: &Arc<HwQueue>, next: QueueState) -> Result {
        let it = victim(queue).ok_or(EINVAL)?;
        let removed = self.engine()?.remove(&it, &|doorbell| {
            self.mapped(doorbell).and_then(|queue| victim(queue))
        });
        match removed {
            Ok(reset) => {
                for doorbell in &reset {
                    if let Some(other) = self.mapped(*doorbell) {
                        other.process().note_reset();
                        other.enter(QueueState::Gone)?;
                    }
                }
                if !reset.is_empty() {
                    hw.report_hang();
                }
                match queue.state() {
                    QueueState::Gone => Ok(()),
                    _ => queue.enter(next),
                }
            }
            Err(failure) => {
                let answers = matches!(
                    &failure,
                    Failure::Refused(_) | Failure::Lost(ENOTRECOVERABLE)
                );
                let error = tell(hw, "to give a queue back", failure);
                if error == ENODEV || error == EIO {
                    return Err(error);
                }
                dev_err!(
                    hw.device(),
                    "the queue with doorbell {:#x} doesn't let go\n",
                    it.doorbell
                );
                if answers {
                    queue.process().note_reset();
                    queue.enter(QueueState::Hung)?;
                    hw.report_hang();
                } else {
                    self.lose(hw);
                }
                Err(error)
            }
        }
    }

    /// The queue that MES has by that doorbell.
    fn mapped(&self, doorbell: u32) -> Option<&Arc<HwQueue>> {
        let mut queues = self.entries.iter().flat_map(|entry| entry.queues.iter());
        queues.find(|q| q.state() == QueueState::Mapped && q.doorbell() == doorbell)
    }

    /// The queues of a process that pass a test.
    fn queues(
        &mut self,
        process: &Arc<SchedProcess>,
        test: impl Fn(&HwQueue) -> bool,
    ) -> Result<KVec<Arc<HwQueue>>> {
        let mut found = KVec::new();
        for queue in self.entry(process)?.queues.iter().filter(|q| test(q)) {
            found.push(queue.clone(), GFP_KERNEL)?;
        }
        Ok(found)
    }

    /// Takes the queues of a process off or puts them on. Every queue is tried.
    fn switch(&mut self, hw: &Arc<Hw>, process: &Arc<SchedProcess>, on: bool) -> Result {
        let mut result = Ok(());
        if on {
            let wanted =
                |queue: &HwQueue| queue.wants_to_run() && queue.state() != QueueState::Mapped;
            for queue in self.queues(process, wanted)? {
                result = result.and(self.add(hw, &queue));
            }
        } else {
            let mapped = |queue: &HwQueue| queue.state() == QueueState::Mapped;
            for queue in self.queues(process, mapped)? {
                result = result.and(self.remove(hw, &queue, QueueState::Evicted));
            }
        }
        result
    }

    fn count_eviction(
        &mut self,
        hw: &Arc<Hw>,
        find: impl Fn(&Entry) -> bool,
        change: i32,
    ) -> Result {
        self.engine()?;
        let entry = self.entries.iter_mut().find(|entry| find(entry));
        let entry = entry.ok_or(EINVAL)?;
        let before = entry.evicted;
        entry.evicted = before.checked_add_signed(change).ok_or(EINVAL)?;
        let after = entry.evicted;
        let process = entry.process.clone();
        if (before == 0) == (after == 0) {
            return Ok(());
        }
        self.switch(hw, &process, after == 0)
    }
}

/// MES' name for a kind of queue.
fn kind(format: Format) -> u64 {
    match format {
        Format::Aql | Format::Pm4 => TYPE_COMPUTE,
        Format::Sdma => TYPE_SDMA,
    }
}

/// What MES must be told to take a queue back.
fn victim(queue: &HwQueue) -> Option<Victim> {
    Some(Victim {
        doorbell: queue.doorbell(),
        gang_context: queue.contexts()?.gang.gpu_addr(),
        kind: queue.with_spec(|spec| kind(spec.format)),
    })
}

impl Mes {
    /// The pages that MES needs for a queue. Takes the VM's lock, so the scheduler's isn't held.
    fn contexts(
        &self,
        process: &SchedProcess,
        context: &Arc<KernelBuf>,
        wptr: u64,
    ) -> Result<Contexts> {
        let mapped = process.vm().lookup(wptr)?;
        // MES would go on reading it after its pages went back to the program: upstream can't pin
        // such memory either (`amdgpu_bo_pin`).
        if mapped.bo.is_user_memory() {
            return Err(EPERM);
        }
        let page = wptr / PAGE * PAGE;
        let offset = mapped
            .bo_offset
            .checked_add(page.checked_sub(mapped.va).ok_or(EINVAL)?)
            .ok_or(EINVAL)?;
        let mut found = Err(EINVAL);
        mapped.bo.segments(offset, PAGE, |segment| {
            found = Ok(segment.addr);
            Ok(())
        })?;
        let (base, page) = if mapped.bo.placement() == Some(Placement::Vram) {
            (self.hw.layout.vram_addr(found?), None)
        } else {
            let range = gart::Range::map(&self.hw, found?, 1)?;
            (range.addr(), Some(range))
        };
        Ok(Contexts {
            gang: KernelBuf::new(&self.hw, CONTEXT_BYTES)?,
            process: context.clone(),
            wptr: base + wptr % PAGE,
            _wptr_page: page,
            _wptr_bo: mapped.bo,
        })
    }
}

impl Scheduler for Mes {
    fn start(&self) -> Result {
        let engine = Engine::start(&self.hw)?;
        self.state.lock().engine = Some(engine);
        Ok(())
    }

    fn stop(&self) {
        let (engine, entries) = {
            let mut guard = self.state.lock();
            let state = &mut *guard;
            for at in 0..state.entries.len() {
                let Some(process) = state.entries.get(at).map(|entry| entry.process.clone()) else {
                    break;
                };
                if let Err(error) = state.switch(&self.hw, &process, false) {
                    if !matches!(error, e if e == ENODEV || e == EIO) {
                        dev_err!(
                            self.hw.device(),
                            "stopping the queues failed ({:?})\n",
                            error
                        );
                    }
                }
            }
            let entries = core::mem::replace(&mut state.entries, KVec::new());
            (state.engine.take(), entries)
        };
        if let Some(engine) = engine {
            engine.stop();
        }
        for queue in entries.iter().flat_map(|entry| entry.queues.iter()) {
            // MES may still have a hung one: it is kept until translation is off.
            if queue.state() == QueueState::Hung {
                self.hw.keep(Keep::Queue(queue.clone()));
            }
            let _ = queue.enter(QueueState::Gone);
        }
    }

    fn add_process(&self, vm: &Arc<Vm>, config: ProcessConfig) -> Result<Arc<SchedProcess>> {
        let process = SchedProcess::new(vm)?;
        let context = Arc::new(KernelBuf::new(&self.hw, CONTEXT_BYTES)?, GFP_KERNEL)?;
        let mut state = self.state.lock();
        state.engine()?;
        let entry = Entry {
            process: process.clone(),
            config,
            context,
            queues: KVec::new(),
            evicted: 0,
        };
        state.entries.push(entry, GFP_KERNEL)?;
        Ok(process)
    }

    fn configure(&self, process: &Arc<SchedProcess>, config: ProcessConfig) -> Result {
        let mut state = self.state.lock();
        state.engine()?;
        let entry = state.entry(process)?;
        entry.config = config;
        if entry.evicted > 0 {
            return Ok(());
        }
        state.switch(&self.hw, process, false)?;
        state.switch(&self.hw, process, true)
    }

    fn remove_process(&self, process: &Arc<SchedProcess>) -> Result {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let found = |entry: &Entry| Arc::ptr_eq(&entry.process, process);
        let Some(at) = state.entries.iter().position(found) else {
            return Ok(());
        };
        let result = state.switch(&self.hw, process, false);
        let entry = state.entries.remove(at).map_err(|_| EINVAL)?;
        drop(guard);
        for queue in entry.queues.iter() {
            if matches!(queue.state(), QueueState::Hung | QueueState::Mapped) {
                self.hw.keep(Keep::Queue(queue.clone()));
            } else {
                queue.enter(QueueState::Gone)?;
            }
        }
        match result {
            // The scheduler was stopped: nothing runs.
            Err(ENODEV) => Ok(()),
            other => other,
        }
    }

    fn create(&self, process: &Arc<SchedProcess>, spec: QueueSpec) -> Result<Arc<HwQueue>> {
        self.hw.alive()?;
        let context = {
            let mut state = self.state.lock();
            state.engine()?;
            state.entry(process)?.context.clone()
        };
        let contexts = self.contexts(process, &context, spec.wptr)?;
        let queue = HwQueue::new(&self.hw, process, spec, 0, Some(contexts))?;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let count: usize = state.entries.iter().map(|entry| entry.queues.len()).sum();
        if count >= MAX_QUEUES {
            return Err(EPERM);
        }
        let entry = state.entry(process)?;
        queue.write_mqd(entry.config.tba != 0, true)?;
        entry.queues.push(queue.clone(), GFP_KERNEL)?;
        if entry.evicted > 0 {
            queue.enter(QueueState::Evicted)?;
        } else if !queue.wants_to_run() {
            queue.enter(QueueState::Disabled)?;
        } else if let Err(error) = state.add(&self.hw, &queue) {
            if queue.state() == QueueState::Hung {
                self.hw.keep(Keep::Queue(queue.clone()));
            }
            let entry = state.entry(process)?;
            entry.queues.retain(|other| !Arc::ptr_eq(other, &queue));
            // Its last reference goes without the lock.
            drop(guard);
            return Err(error);
        }
        Ok(queue)
    }

    fn update(&self, queue: &Arc<HwQueue>, update: QueueUpdate) -> Result {
        self.hw.alive()?;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.engine()?;
        let entry = state.entry(queue.process())?;
        let (trap, evicted) = (entry.config.tba != 0, entry.evicted > 0);
        match queue.state() {
            QueueState::Mapped => state.remove(&self.hw, queue, QueueState::Disabled)?,
            QueueState::Hung => return Err(ETIMEDOUT),
            _ => {}
        }
        if queue.state() == QueueState::Gone {
            // It had to be reset.
            return Err(EACCES);
        }
        queue.change(update);
        let written = queue.write_mqd(trap, false);
        if !evicted && queue.wants_to_run() {
            state.add(&self.hw, queue)?;
        }
        written
    }

    fn unmap(&self, queue: &Arc<HwQueue>) -> Result<Unscheduled> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let result = match queue.state() {
            QueueState::Mapped => state.remove(&self.hw, queue, QueueState::Gone),
            QueueState::Hung => Err(ETIMEDOUT),
            _ => Ok(()),
        };
        if let Ok(entry) = state.entry(queue.process()) {
            entry.queues.retain(|other| !Arc::ptr_eq(other, queue));
        }
        match result {
            // The scheduler was stopped, and with it every queue.
            Ok(()) | Err(ENODEV) => {}
            Err(error) => {
                self.hw.keep(Keep::Queue(queue.clone()));
                return Err(error);
            }
        }
        if queue.state() != QueueState::Gone {
            queue.enter(QueueState::Gone)?;
        }
        Ok(Unscheduled {
            _queue: queue.clone(),
        })
    }

    fn evict(&self, process: &Arc<SchedProcess>) -> Result {
        let find = |entry: &Entry| Arc::ptr_eq(&entry.process, process);
        self.state.lock().count_eviction(&self.hw, find, 1)
    }

    fn restore(&self, process: &Arc<SchedProcess>) -> Result {
        let find = |entry: &Entry| Arc::ptr_eq(&entry.process, process);
        self.state.lock().count_eviction(&self.hw, find, -1)
    }

    fn evict_pasid(&self, pasid: Pasid) -> Result {
        let find = |entry: &Entry| entry.process.pasid() == pasid;
        match self.state.lock().count_eviction(&self.hw, find, 1) {
            // A late fault of a process that is gone.
            Err(EINVAL) => Ok(()),
            other => other,
        }
    }

    fn report(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        let state = self.state.lock();
        if state.stuck {
            writeln!(f, "stuck")?;
        }
        for entry in state.entries.iter() {
            writeln!(
                f,
                "pasid {} evicted {}",
                entry.process.pasid().get(),
                entry.evicted
            )?;
            for queue in entry.queues.iter() {
                queue.report(f)?;
            }
        }
        Ok(())
    }
}
