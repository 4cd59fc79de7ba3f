// SPDX-License-Identifier: GPL-2.0

//! MES: queues handed to the micro engine scheduler one by one.
//!
//! Each queue is a gang of its own. ADD_QUEUE names the process, its page tables, the MQD and two
//! pages that MES keeps for process and gang; REMOVE_QUEUE takes the queue back, and its
//! acknowledgement is the proof that the hardware let go. MES gives VMIDs and hardware queues by
//! itself, and takes turns if there are more queues than it has.
//! Accesses that the queue had made may still be under way then: a heavy flush of TLBs follows before memory moves.
//!
//! If MES refuses to give a queue back, hung queues are reset (`engine/reset.rs`). A queue that doesn't let
//! go even so is hung, alone; but a copy queue has its engine, which all share. Then, and if MES doesn't answer at all, the
//! scheduler is stuck: it takes nothing more, and what queues hold is kept until the GPU is reset.
//!
//! Sources: `mes_v12_0.c`, `add_queue_mes`.
//!
//! Who has which queues is kept in [`super::common`]; here is what goes to MES.

use super::{
    common::Common,
    queue::{
        HwQueue,
        QueueState, //
    },
    state::{
        Firmware,
        State, //
    },
    Contexts,
    Order,
    Parts,
    ProcessConfig,
    SchedProcess,
    Scheduler,
    Suspension, //
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
        HqdSlot,
        PageRange,
        Pasid,
        VramOffset, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

mod engine;
mod frame;
mod log;
mod microcode;
mod pipe;
mod resources;
mod state;

use engine::Engine;
use state::Taking;

/// `AMDGPU_MES_PROC_CTX_SIZE` and `AMDGPU_MES_GANG_CTX_SIZE`.
const CONTEXT_BYTES: usize = 4096;

/// MES, running.
struct Mes(Arc<Engine>);

/// What it has of a process.
#[derive(Clone)]
struct Known {
    context: Arc<KernelBuf>,
    /// It has not given back a queue, and so neither the process.
    held: bool,
}

/// Makes a scheduler that isn't started.
pub(super) fn new(parts: &Arc<Parts>) -> Result<Arc<dyn Scheduler>> {
    Common::<Mes>::make(parts)
}

impl Firmware for Mes {
    type Known = Known;

    const HANG_NAME: &'static str = "MES hang";

    const KIND: &'static str = "mes";

    const LEAVES_ACCESSES: bool = true;

    const RINGS: &'static [(&'static str, HqdSlot)] = &engine::RINGS;

    fn start(parts: &Arc<Parts>) -> Result<Self> {
        Ok(Self(Engine::start(parts)?))
    }

    /// It may still have a queue that hung.
    fn stop(self, _parts: &Parts) -> bool {
        self.0.stop();
        false
    }

    fn halt(&self, _parts: &Parts) {
        self.0.halt();
    }

    fn abandon(self) {}

    fn hung() -> Error {
        ETIMEDOUT
    }

    fn known(parts: &Parts) -> Result<Known> {
        let context = Arc::new(
            KernelBuf::new(&parts.gart, CONTEXT_BYTES)?,
            GFP_KERNEL_ACCOUNT,
        )?;
        Ok(Known {
            context,
            held: false,
        })
    }

    /// The pages that MES needs for a queue, and its write pointer in address space 0.
    fn contexts(
        parts: &Parts,
        process: &SchedProcess,
        known: &Known,
        wptr: GpuVa,
    ) -> Result<Option<Contexts>> {
        let mapped = process.vm().lookup(wptr)?;
        // MES would go on reading it after its pages went back to the program: upstream can't pin
        // such memory either (`amdgpu_bo_pin`).
        if mapped.bo.is_user_memory() {
            return Err(EPERM);
        }
        // MES reads it by the bus, by which a GPU doesn't reach its own doorbells and registers.
        let placement = mapped.bo.placement().ok_or(EINVAL)?;
        let page = PageRange::page_of(wptr)?;
        let offset = mapped.offset_of(page.start()).ok_or(EINVAL)?;
        let mut found = Err(EINVAL);
        mapped.bo.segments(offset, page.bytes(), |segment| {
            found = Ok(segment.addr);
            Ok(())
        })?;
        let (base, gart_page) = if placement == Placement::Vram {
            let offset = VramOffset::new(found?);
            (parts.vram.layout().vram_addr(offset), None)
        } else {
            let range = gart::Range::map(&parts.gart, BusAddr::new(found?), 1, 1)?;
            (range.addr(), Some(range))
        };
        Ok(Some(Contexts {
            gang: KernelBuf::new(&parts.gart, CONTEXT_BYTES)?,
            process: known.context.clone(),
            wptr: base.byte(page.offset_of(wptr).ok_or(EINVAL)?),
            _wptr_page: gart_page,
            _wptr_bo: mapped.bo,
        }))
    }

    fn add_process(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        process: &Arc<SchedProcess>,
    ) -> Result {
        match state.entry(process)?.config.runtime {
            true => state.set_debugger(parts, process),
            false => Ok(()),
        }
    }

    fn configure(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        process: &Arc<SchedProcess>,
        before: &ProcessConfig,
    ) -> Result {
        // MES was started anew since and knows nothing of it, of which nothing runs again: what it is told of now,
        // nobody would have it forget.
        if process.is_lost() {
            return Ok(());
        }
        // MES learns of a trap handler with the queues that it gets from now on.
        let its = |config: &ProcessConfig| {
            let control = config.spi_gdbg_per_vmid_cntl();
            (config.runtime, control, config.watches)
        };
        match its(&state.entry(process)?.config) == its(before) {
            true => Ok(()),
            false => state.set_debugger(parts, process),
        }
    }

    /// What MES didn't give back it can't forget, and the context is kept with the queue.
    fn forget_process(state: &mut State<Self>, parts: &Arc<Parts>, known: &Known) -> Result {
        match known.held {
            true => Ok(()),
            false => state.forget(parts, &known.context),
        }
    }

    fn lost_process(known: &mut Known) {
        known.held = true;
    }

    fn switch(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        process: &Arc<SchedProcess>,
        on: bool,
    ) -> Result {
        state.switch(parts, process, on)
    }

    fn suspend(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        queues: &mut [Suspension],
        order: Order,
    ) {
        state.suspend(parts, queues, order);
    }

    fn take_all_off(state: &mut State<Self>, parts: &Arc<Parts>) -> Result {
        let mut result = Ok(());
        for at in 0..state.entries.len() {
            let Some(process) = state.entries.get(at).map(|entry| entry.process.clone()) else {
                break;
            };
            result = result.and(state.switch(parts, &process, false));
        }
        result
    }

    fn put_on(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        queue: &Arc<HwQueue>,
        _off: bool,
    ) -> Result {
        state.add(parts, queue)
    }

    fn take_off(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        queue: &Arc<HwQueue>,
        next: QueueState,
    ) -> Result {
        state.remove(parts, queue, next, Taking::Asked)
    }

    fn may_run(queue: &HwQueue) -> Result<bool> {
        match queue.state() {
            QueueState::Hung => Err(ETIMEDOUT),
            // It had to be reset.
            QueueState::Gone if !queue.process().is_lost() => Err(EACCES),
            // One that was taken off for its bad packets stays off.
            state => Ok(state != QueueState::Evicted),
        }
    }

    fn stop_bad(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        pasid: Pasid,
        doorbell: u32,
    ) -> Result {
        state.stop_bad(parts, pasid, doorbell)
    }
}
