// SPDX-License-Identifier: GPL-2.0

//! MES: queues handed to the micro engine scheduler one by one.
//!
//! Each queue is a gang of its own. ADD_QUEUE names the process, its page tables, the MQD and two
//! pages that MES keeps for process and gang; REMOVE_QUEUE takes the queue back, and its
//! acknowledgement is the proof that the hardware let go. MES gives VMIDs and hardware queues by
//! itself, and takes turns if there are more queues than it has.
//!
//! If MES refuses to give a queue back, hung queues are reset (`engine/reset.rs`). A queue that doesn't let
//! go even so is hung, alone. If MES doesn't answer at all, the scheduler is stuck: it takes
//! nothing more, and what queues hold is kept.
//!
//! Sources: `mes_v12_0.c`, `add_queue_mes`.
//!
//! Lock order: see [`super`]. The lock is held while waiting for MES, which needs no lock.

use super::{
    queue::{
        HwQueue,
        QueueState, //
    },
    Contexts,
    Parts,
    ProcessConfig,
    QueueHold,
    QueueSpec,
    QueueUpdate,
    SchedProcess,
    Scheduler,
    Unscheduled, //
};
use crate::{
    bo::Placement,
    gmc::{
        gart,
        KernelBuf, //
    },
    types::{
        BusAddr,
        GpuVa,
        PageRange,
        Pasid,
        VramOffset, //
    },
    vm::Vm, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

mod engine;
mod frame;
mod log;
mod microcode;
mod pipe;
mod resources;
mod state;

use engine::Engine;
use state::{
    Entry,
    State,
    Taking, //
};

/// `max_num_of_queues_per_device`.
const MAX_QUEUES: usize = 4096;
/// `AMDGPU_MES_PROC_CTX_SIZE` and `AMDGPU_MES_GANG_CTX_SIZE`.
const CONTEXT_BYTES: usize = 4096;

/// The scheduler.
#[pin_data]
struct Mes {
    parts: Arc<Parts>,
    #[pin]
    state: Mutex<State>,
}

/// Makes a scheduler that isn't started.
pub(super) fn new(parts: &Arc<Parts>) -> Result<Arc<dyn Scheduler>> {
    let parts = parts.clone();
    let state = State {
        engine: None,
        stuck: false,
        entries: KVec::new(),
    };
    let this: Arc<Mes> = Arc::pin_init(
        pin_init!(Mes { parts, state <- new_mutex!(state, "rkfd scheduler") }),
        GFP_KERNEL,
    )?;
    Ok(this)
}

impl Mes {
    /// The pages that MES needs for a queue. Takes the VM's lock, so the scheduler's isn't held.
    fn contexts(
        &self,
        process: &SchedProcess,
        context: &Arc<KernelBuf>,
        wptr: GpuVa,
    ) -> Result<Contexts> {
        let mapped = process.vm().lookup(wptr)?;
        // MES would go on reading it after its pages went back to the program: upstream can't pin
        // such memory either (`amdgpu_bo_pin`).
        if mapped.bo.is_user_memory() {
            return Err(EPERM);
        }
        let page = PageRange::page_of(wptr)?;
        let offset = mapped.at.offset_of(page.start()).ok_or(EINVAL)?;
        let mut found = Err(EINVAL);
        mapped.bo.segments(offset, page.bytes(), |segment| {
            found = Ok(segment.addr);
            Ok(())
        })?;
        let (base, gart_page) = if mapped.bo.placement() == Some(Placement::Vram) {
            let offset = VramOffset::new(found?);
            (self.parts.vram.layout().vram_addr(offset), None)
        } else {
            let range = gart::Range::map(&self.parts.gart, BusAddr::new(found?), 1)?;
            (range.addr(), Some(range))
        };
        Ok(Contexts {
            gang: KernelBuf::new(&self.parts.gart, CONTEXT_BYTES)?,
            process: context.clone(),
            wptr: base.byte(page.offset_of(wptr).ok_or(EINVAL)?),
            _wptr_page: gart_page,
            _wptr_bo: mapped.bo,
        })
    }
}

impl Scheduler for Mes {
    fn start(&self) -> Result {
        let engine = Engine::start(&self.parts)?;
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
                if let Err(error) = state.switch(&self.parts, &process, false) {
                    if !matches!(error, e if e == ENODEV || e == EIO) {
                        dev_err!(
                            self.parts.dev.device(),
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
                self.parts.kept.keep(queue.clone());
            }
            let _ = queue.enter(QueueState::Gone);
        }
    }

    fn add_process(&self, vm: &Arc<Vm>, config: ProcessConfig) -> Result<Arc<SchedProcess>> {
        let process = SchedProcess::new(vm)?;
        let context = Arc::new(KernelBuf::new(&self.parts.gart, CONTEXT_BYTES)?, GFP_KERNEL)?;
        let mut state = self.state.lock();
        state.engine(&self.parts)?;
        let entry = Entry {
            process: process.clone(),
            config,
            context,
            queues: KVec::new(),
            evicted: 0,
            held: false,
        };
        let context = entry.context.clone();
        state.entries.push(entry, GFP_KERNEL)?;
        if config.runtime {
            if let Err(error) = state.set_debugger(&self.parts, &context, &config) {
                state
                    .entries
                    .retain(|entry| !Arc::ptr_eq(&entry.process, &process));
                return Err(error);
            }
        }
        Ok(process)
    }

    fn configure(&self, process: &Arc<SchedProcess>, config: ProcessConfig) -> Result {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.engine(&self.parts)?;
        let entry = state.entry(process)?;
        // MES learns of a trap handler with the queues that it gets from now on.
        let change = (config.runtime, config.spi_gdbg_per_vmid_cntl)
            != (entry.config.runtime, entry.config.spi_gdbg_per_vmid_cntl);
        entry.config = config;
        let context = entry.context.clone();
        if change {
            state.set_debugger(&self.parts, &context, &config)?;
        }
        Ok(())
    }

    fn remove_process(&self, process: &Arc<SchedProcess>) -> Result {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let found = |entry: &Entry| Arc::ptr_eq(&entry.process, process);
        let Some(at) = state.entries.iter().position(found) else {
            return Ok(());
        };
        let mut result = state.switch(&self.parts, process, false);
        let entry = state.entries.remove(at).map_err(|_| EINVAL)?;
        // What MES didn't give back it can't forget, and the context is kept with the queue.
        if !entry.held {
            result = result.and(state.forget(&self.parts, &entry.context));
        }
        drop(guard);
        // A device that is gone has none of them.
        let gone = matches!(result, Err(ENODEV));
        for queue in entry.queues.iter() {
            if !gone && matches!(queue.state(), QueueState::Hung | QueueState::Mapped) {
                self.parts.kept.keep(queue.clone());
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

    fn create(
        &self,
        process: &Arc<SchedProcess>,
        spec: QueueSpec,
        hold: QueueHold,
    ) -> Result<Arc<HwQueue>> {
        self.parts.dev.alive()?;
        let context = {
            let mut state = self.state.lock();
            state.engine(&self.parts)?;
            state.entry(process)?.context.clone()
        };
        let contexts = self.contexts(process, &context, spec.wptr)?;
        let queue = HwQueue::new(&self.parts, process, spec, hold, 0, Some(contexts))?;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let count: usize = state.entries.iter().map(|entry| entry.queues.len()).sum();
        if count >= MAX_QUEUES {
            return Err(EPERM);
        }
        let entry = state.entry(process)?;
        queue.write_mqd(entry.config.has_trap(), true)?;
        entry.queues.push(queue.clone(), GFP_KERNEL)?;
        if entry.evicted > 0 {
            queue.enter(QueueState::Evicted)?;
        } else if !queue.wants_to_run() {
            queue.enter(QueueState::Disabled)?;
        } else if let Err(error) = state.add(&self.parts, &queue) {
            if queue.state() == QueueState::Hung {
                self.parts.kept.keep(queue.clone());
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
        self.parts.dev.alive()?;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.engine(&self.parts)?;
        let entry = state.entry(queue.process())?;
        let (trap, evicted) = (entry.config.has_trap(), entry.evicted > 0);
        match queue.state() {
            QueueState::Mapped => {
                state.remove(&self.parts, queue, QueueState::Disabled, Taking::Asked)?
            }
            QueueState::Hung => return Err(ETIMEDOUT),
            _ => {}
        }
        if queue.state() == QueueState::Gone && !queue.process().is_lost() {
            // It had to be reset.
            return Err(EACCES);
        }
        queue.change(update);
        let written = queue.write_mqd(trap, false);
        // One that was taken off for its bad packets stays off.
        let stays = evicted || queue.state() == QueueState::Evicted;
        if !stays && queue.wants_to_run() {
            state.add(&self.parts, queue)?;
        }
        written
    }

    fn unmap(&self, queue: &Arc<HwQueue>) -> Result<Unscheduled> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let result = match queue.state() {
            QueueState::Mapped => state.remove(&self.parts, queue, QueueState::Gone, Taking::Asked),
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
                self.parts.kept.keep(queue.clone());
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
        self.state.lock().count_eviction(&self.parts, find, 1)
    }

    fn restore(&self, process: &Arc<SchedProcess>) -> Result {
        let find = |entry: &Entry| Arc::ptr_eq(&entry.process, process);
        self.state.lock().count_eviction(&self.parts, find, -1)
    }

    fn hang_name(&self) -> &'static str {
        "MES hang"
    }

    fn halt(&self) -> bool {
        let state = self.state.lock();
        let Some(engine) = state.engine.as_ref().filter(|_| state.stuck) else {
            return false;
        };
        engine.halt();
        true
    }

    fn restart(&self) -> Result {
        let mut state = self.state.lock();
        let state = &mut *state;
        drop(state.engine.take());
        for entry in state.entries.iter_mut() {
            entry.evicted = entry.evicted.saturating_add(1);
            // A MES that starts anew doesn't know the process.
            entry.held = true;
            entry.process.note_lost();
            for queue in entry.queues.iter() {
                // One that was reset before is gone already.
                let _ = queue.enter(QueueState::Gone);
            }
        }
        state.engine = Some(Engine::start(&self.parts)?);
        state.stuck = false;
        Ok(())
    }

    fn evict_pasid(&self, pasid: Pasid) -> Result {
        let find = |entry: &Entry| entry.process.pasid() == pasid;
        match self.state.lock().count_eviction(&self.parts, find, 1) {
            // A late fault of a process that is gone.
            Err(EINVAL) => Ok(()),
            other => other,
        }
    }

    fn stop_bad_queue(&self, pasid: Pasid, doorbell: u32) -> Result {
        self.state.lock().stop_bad(&self.parts, pasid, doorbell)
    }
}
