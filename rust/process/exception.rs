// SPDX-License-Identifier: GPL-2.0

//! Errors of queues, told to the program's own runtime.
//!
//! A runtime that said so (RUNTIME_ENABLE) has written into the header of a queue's save area where
//! it wants the error and which event to be woken by. Other programs aren't told: they find the
//! queue stopped.
//!
//! Source: Linux, `kfd_set_dbg_ev_from_interrupt` of `amdkfd/kfd_debug.c`,
//! `kfd_send_exception_to_runtime` of `amdkfd/kfd_process.c`.

use super::Process;
use crate::{
    glue::user,
    gpu::Gpu,
    uapi::debug as abi,
    upcall::QueueError, //
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
    /// Tells the runtime that a queue was stopped. To be called by a kernel thread.
    ///
    /// # Errors
    ///
    /// EINVAL when there is no such queue; EFAULT when the program's
    /// addresses are wrong; EBADF and ESRCH when it ended.
    pub(crate) fn queue_error(&self, gpu: &Gpu, error: &QueueError) -> Result {
        let index = self.device_index(gpu.id().get().into())?;
        let header = self.with(|state| {
            if !state.runtime_enabled {
                return Ok(None);
            }
            let mut queues = state.queues.iter().map(|(_, queue)| queue);
            let queue = queues.find(|q| q.device() == index && q.doorbell() == error.doorbell_id);
            Ok(Some(queue.ok_or(EINVAL)?.save_area()))
        })?;
        let Some(header) = header else {
            return Ok(());
        };
        let mm = self.mm_ref.mmget_not_zero().ok_or(ESRCH)?;
        // If it is the last user, the end of the process runs elsewhere.
        let mm: ARef<MmWithUserAsync> = MmWithUser::into_mmput_async(mm);
        let event = user::with_mm(&mm, || add_error(header, error.code))?;
        self.events.set(event)
    }
}

/// Adds an error to those that the program knows of, and gives the event to wake it by. What the
/// program put there it has touched; nothing here waits for a page, and so for the program.
fn add_error(header: u64, code: u32) -> Result<u32> {
    let mut bytes = [0; core::mem::size_of::<abi::ContextSaveAreaHeader>()];
    user::read_present(header, &mut bytes)?;
    let header: abi::ContextSaveAreaHeader = user::read_abi(&bytes)?;
    let mut errors = [0; 8];
    user::read_present(header.err_payload_addr, &mut errors)?;
    let bit = code.checked_sub(1).ok_or(EINVAL)?;
    let mask = 1u64.checked_shl(bit).ok_or(EINVAL)?;
    let errors = u64::from_ne_bytes(errors) | mask;
    user::write_present(header.err_payload_addr, &errors.to_ne_bytes())?;
    Ok(header.err_event_id)
}
