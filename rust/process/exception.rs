// SPDX-License-Identifier: GPL-2.0

//! Errors of queues and of waves in them, and page faults, reported to a debugger or to the program's own
//! runtime.
//!
//! A debugger that wants an exception hears of it first, and the program only if the debugger passes it on
//! (SEND_RUNTIME_EVENT). A runtime that asked for them (RUNTIME_ENABLE) has written into the header of a queue's save area
//! where it wants the errors and which event to be woken by. Other programs find the queue stopped,
//! or get the event that their trap handler names.
//!
//! Source: Linux, `kfd_set_dbg_ev_from_interrupt` of `amdkfd/kfd_debug.c`,
//! `kfd_send_exception_to_runtime` of `amdkfd/kfd_process.c`.

use super::Process;
use crate::{
    glue::{
        trace,
        user, //
    },
    gpu::Gpu,
    types::{
        EventId,
        QueueError,
        VmFault, //
    },
    uapi::{
        debug as abi,
        event, //
    }, //
};
use kernel::{
    impl_has_work,
    mm::{
        MmWithUser,
        MmWithUserAsync, //
    },
    new_work,
    prelude::*,
    sync::{
        aref::ARef,
        Arc, //
    },
    workqueue::{
        Work,
        WorkItem, //
    }, //
};

/// The work item by which a debugger passes exceptions on.
#[pin_data]
pub(super) struct Passing {
    process: Arc<Process>,
    header: u64,
    exceptions: u64,
    #[pin]
    work: Work<Passing>,
}

impl_has_work! {
    impl HasWork<Self> for Passing { self.work }
}

impl WorkItem for Passing {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        // Upstream doesn't notice either when it fails.
        let _ = this.process.notify(this.header, this.exceptions);
    }
}

impl Process {
    /// Reports what is wrong with a queue: false when no debugger and no runtime wants it, or there is no such
    /// queue. To be called by a kernel thread, which may have to wait for the process' state.
    pub(crate) fn queue_error(&self, gpu: &Gpu, error: &QueueError) -> bool {
        let reported = self.with(|state| {
            let index = self.device_index(gpu.id())?;
            let mut queues = state.queues.iter_mut().map(|(_, queue)| queue);
            let queue = queues.find(|q| q.device == index && q.doorbell.get() == error.doorbell_id);
            let Some(queue) = queue else {
                return Ok(false);
            };
            queue.errors |= error.exceptions;
            let told = self.tell_of_queue(error.exceptions);
            if told.is_some() {
                queue.raised |= error.exceptions;
            }
            if told == Some(true) {
                return Ok(true);
            }
            if state.runtime.runtime_state != abi::RUNTIME_STATE_ENABLED {
                return Ok(false);
            }
            // Upstream doesn't notice when the program has its save area elsewhere by now.
            let _ = self.notify(queue.save.at.get(), error.exceptions);
            Ok(true)
        });
        reported.unwrap_or(false)
    }

    /// A page fault that the process' debugger wants to hear of: true, and the program is left alone. Otherwise its
    /// queues are to be taken off, and stay off from now on.
    pub(crate) fn is_debugged_fault(&self, gpu: &Gpu, fault: &VmFault) -> bool {
        let exception = abi::exception_mask(abi::EC_DEVICE_MEMORY_VIOLATION);
        let Ok(index) = self.device_index(gpu.id()) else {
            return false;
        };
        let Some(device) = self.devices().get(index) else {
            return false;
        };
        device.note_told(fault);
        let debugged = self.raise_of_device(index, exception, Some(described(gpu, fault)));
        match debugged {
            true => self.shared().clients.vm_fault(gpu, &self.who),
            false => device.note_fault(fault),
        }
        debugged
    }

    /// Tells everybody of a page fault for which the program's queues are off already.
    pub(crate) fn fault(&self, gpu: &Gpu, fault: &VmFault) {
        self.tell_of_fault(gpu, fault);
        self.shared().clients.vm_fault(gpu, &self.who);
    }

    /// Tells the program of a page fault. Its queues are off already.
    pub(crate) fn tell_of_fault(&self, gpu: &Gpu, fault: &VmFault) {
        let (pasid, va) = (fault.pasid.get().into(), fault.va.get());
        trace::page_faulted(pasid, va, fault.not_present, fault.write, fault.execute);
        self.events.memory_exception(described(gpu, fault));
    }

    /// Adds exceptions to those that the program has, whose header is there, and wakes it, soon.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(crate) fn pass_on(self: &Arc<Self>, header: u64, exceptions: u64) -> Result {
        let passing = Arc::pin_init(
            pin_init!(Passing {
                process: self.clone(),
                header,
                exceptions,
                work <- new_work!("rkfd passing"),
            }),
            GFP_KERNEL_ACCOUNT,
        )?;
        self.shared().works.pass(passing);
        Ok(())
    }

    /// Adds exceptions to those that the program has, and wakes it.
    ///
    /// # Errors
    ///
    /// ESRCH when the program ended; EFAULT when its addresses are wrong; EINVAL when its event is.
    fn notify(&self, header: u64, exceptions: u64) -> Result {
        let mm = self.mm_ref.mmget_not_zero().ok_or(ESRCH)?;
        // If it is the last user, the end of the process runs elsewhere.
        let mm: ARef<MmWithUserAsync> = MmWithUser::into_mmput_async(mm);
        let event = user::with_mm(&mm, || add(header, exceptions))?;
        self.events.set(EventId::new(event))
    }
}

/// A page fault as programs get it.
fn described(gpu: &Gpu, fault: &VmFault) -> event::MemoryExceptionData {
    event::MemoryExceptionData {
        failure: event::MemoryExceptionFailure {
            not_present: fault.not_present.into(),
            read_only: fault.write.into(),
            no_execute: fault.execute.into(),
            imprecise: 0,
        },
        va: fault.va.get(),
        gpu_id: gpu.id().get().into(),
        error_type: 0,
    }
}

/// Adds exceptions to the word that the header names, and gives the event to wake the program by.
/// What the program put there it has touched; nothing here waits for a page, and so for the program.
fn add(header: u64, exceptions: u64) -> Result<u32> {
    let mut bytes = [0; core::mem::size_of::<abi::ContextSaveAreaHeader>()];
    user::read_present(header, &mut bytes)?;
    let header: abi::ContextSaveAreaHeader = user::read_abi(&bytes)?;
    let mut word = [0; 8];
    user::read_present(header.err_payload_addr, &mut word)?;
    let word = u64::from_ne_bytes(word) | exceptions;
    user::write_present(header.err_payload_addr, &word.to_ne_bytes())?;
    Ok(header.err_event_id)
}
