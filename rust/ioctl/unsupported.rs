// SPDX-License-Identifier: GPL-2.0

//! Calls that exist but do nothing here: each with the errno that upstream gives on a build or a
//! GPU without the feature, after the checks that come first there.

use super::{
    gpu_id,
    Argument, //
};
use crate::{
    glue::user,
    process::Process,
    uapi::{
        criu,
        ioctl::nr,
        smi,
        svm, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The errno of a call.
pub(super) fn answer(process: &Arc<Process>, number: u8, a: &mut Argument<'_>) -> Result {
    debug_assert!(a.user_size <= a.bytes.len());
    match number {
        // Deprecated.
        nr::DBG_REGISTER_DEPRECATED
        | nr::DBG_UNREGISTER_DEPRECATED
        | nr::DBG_ADDRESS_WATCH_DEPRECATED
        | nr::DBG_WAVE_CONTROL_DEPRECATED => Err(EPERM),
        // CONFIG_HSA_AMD_SVM=n, and with it goes the mode that only SVM needs.
        nr::SVM | nr::SET_XNACK_MODE => Err(EPERM),
        nr::CRIU_OP => a.with(|args| criu_op(process, args)),
        nr::SMI_EVENTS => a.with(|args: &mut smi::SmiEventsArgs| {
            let device = process.device(gpu_id(args.gpuid)?)?;
            args.anon_fd = process.shared().clients.open(&device.gpu)?;
            Ok(())
        }),
        // Only one compute process for each address space: what a file that has a secondary one
        // gets.
        nr::CREATE_PROCESS => Err(EINVAL),
        _ => Err(ENOTTY),
    }
}

/// The SVM call's own check: its attributes must be there.
pub(super) fn check_svm(bytes: &[u8], user_size: usize) -> Result {
    let args: svm::SvmArgs = user::read_abi(bytes)?;
    let attributes = (args.nattr as usize).checked_mul(core::mem::size_of::<svm::SvmAttribute>());
    match attributes.and_then(|size| size.checked_add(core::mem::size_of::<svm::SvmArgs>())) {
        Some(expected) if user_size >= expected => Ok(()),
        _ => Err(EINVAL),
    }
}

fn criu_op(process: &Process, args: &mut criu::CriuArgs) -> Result {
    match args.op {
        // The plain checks of each stage, all of which need a paused process.
        criu::OP_PROCESS_INFO | criu::OP_CHECKPOINT | criu::OP_UNPAUSE | criu::OP_RESTORE => {
            Err(EINVAL)
        }
        // No process is being restored.
        // CAST: What a pid_t is in the structure.
        criu::OP_RESUME if process.processes().is_pid(args.pid as i32) => Err(EINVAL),
        criu::OP_RESUME => Err(ESRCH),
        _ => Err(EINVAL),
    }
}
