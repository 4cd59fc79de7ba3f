// SPDX-License-Identifier: GPL-2.0

//! Errors of queues and of waves in them, reported to the program's own runtime.
//!
//! A runtime that asked for them (RUNTIME_ENABLE) has written into the header of a queue's save area
//! where it wants the errors and which event to be woken by. Other programs find the queue stopped,
//! or get the event that their trap handler names.
//!
//! Source: Linux, `kfd_set_dbg_ev_from_interrupt` of `amdkfd/kfd_debug.c`,
//! `kfd_send_exception_to_runtime` of `amdkfd/kfd_process.c`.

use super::Process;
use crate::{
    glue::user,
    gpu::Gpu,
    types::{
        EventId,
        QueueError, //
    },
    uapi::debug as abi, //
};
use kernel::{
    mm::{
        MmWithUser,
        MmWithUserAsync, //
    },
    prelude::*,
    sync::aref::ARef, //
};

impl Process {
    /// Reports to the runtime what is wrong with a queue: false when no runtime wants it, or there is
    /// no such queue. To be called by a kernel thread, which may have to wait for the process' state.
    pub(crate) fn queue_error(&self, gpu: &Gpu, error: &QueueError) -> bool {
        let reported = self.with(|state| {
            let index = self.device_index(gpu.id())?;
            let runtime = state.runtime_enabled;
            let mut queues = state.queues.iter_mut().map(|(_, queue)| queue);
            let queue = queues.find(|q| q.device == index && q.doorbell.get() == error.doorbell_id);
            let Some(queue) = queue else {
                return Ok(false);
            };
            queue.errors |= error.exceptions;
            if !runtime {
                return Ok(false);
            }
            // Upstream doesn't notice when the program has its save area elsewhere by now.
            let _ = self.notify(queue.save_area.get(), error.exceptions);
            Ok(true)
        });
        reported.unwrap_or(false)
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
