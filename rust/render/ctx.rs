// SPDX-License-Identifier: GPL-2.0

//! amdgpu's requests CTX and SCHED: contexts of files, and their priorities.
//!
//! Work can't be submitted: CS isn't among the requests and answers EINVAL, which is also what it answers upstream
//! for an engine that has no ring of the kernel's (`amdgpu_ctx_init_entity`), as all are that INFO reports here. So
//! no context ever makes the GPU hang, and none is guilty.

use super::Render;
use crate::{
    glue::{
        drm::{
            self,
            Opened, //
        },
        user, //
    },
    uapi::{
        amdgpu,
        ctx as abi, //
    }, //
};
use kernel::{
    fs::LocalFile,
    prelude::*, //
};

/// Whether the caller may have a context of this priority (`amdgpu_ctx_priority_permit`).
///
/// # Errors
///
/// EACCES.
fn permit(file: Opened<'_, Render>, priority: i32) -> Result {
    match priority <= abi::PRIORITY_NORMAL || user::may_be_nice() || file.is_master() {
        true => Ok(()),
        false => Err(EACCES),
    }
}

/// CTX.
///
/// # Errors
///
/// EINVAL for operations and flags that don't exist, for no context, and for clocks that can't be set; EACCES for a
/// priority that the caller may not have; ENOMEM.
pub(super) fn ctx(file: Opened<'_, Render>, args: &mut abi::Ctx) -> Result {
    let id = args.ctx_id;
    let opened = file.file();
    let (contexts, gpu) = (opened.contexts(), opened.gpu());
    match args.op {
        abi::OP_SET_STABLE_PSTATE => return set_clocks(file, args),
        _ if args.flags != 0 => return Err(EINVAL),
        abi::OP_ALLOC_CTX => {
            // Anything else counts as normal: old programs left it as it was.
            let priority = match abi::is_priority(args.priority) {
                true => args.priority,
                false => abi::PRIORITY_NORMAL,
            };
            let made = permit(file, priority).and_then(|()| contexts.alloc(gpu));
            // Upstream writes it also when it failed: then it is what was passed.
            args.answer_number(made.unwrap_or(id));
            made?;
        }
        abi::OP_FREE_CTX => contexts.free(id)?,
        abi::OP_QUERY_STATE => {
            let status = match contexts.was_reset(gpu, id)? {
                true => abi::UNKNOWN_RESET,
                false => abi::NO_RESET,
            };
            args.answer_state(0, Some(status));
        }
        abi::OP_QUERY_STATE2 => {
            let since = contexts.since(gpu, id)?;
            let flags = [
                (since.reset, abi::QUERY2_RESET),
                (since.lost, abi::QUERY2_VRAMLOST),
                (gpu.is_resetting(), abi::QUERY2_RESET_IN_PROGRESS),
            ];
            let set = flags.into_iter().filter(|(holds, _)| *holds);
            args.answer_state(set.fold(0, |all, (_, flag)| all | flag), None);
        }
        abi::OP_GET_STABLE_PSTATE => {
            contexts.find(id)?;
            args.answer_number(abi::PSTATE_NONE);
        }
        _ => return Err(EINVAL),
    }
    Ok(())
}

/// Clocks follow the load, and nothing else can be asked for: as upstream without power management, where forcing a
/// level fails (`amdgpu_dpm_force_performance_level`).
///
/// # Errors
///
/// EINVAL.
fn set_clocks(file: Opened<'_, Render>, args: &abi::Ctx) -> Result {
    file.file().contexts().find(args.ctx_id)?;
    match args.flags {
        abi::PSTATE_NONE => Ok(()),
        _ => Err(EINVAL),
    }
}

/// SCHED: the master of a screen changes the priority of another file's contexts. With no work there is nothing that it
/// would change.
///
/// # Errors
///
/// EINVAL for operations and priorities that don't exist, and for what isn't a file of such a device or its context.
pub(super) fn sched(_: Opened<'_, Render>, args: &mut amdgpu::Sched) -> Result {
    let one = match args.op {
        abi::SCHED_OP_PROCESS => false,
        abi::SCHED_OP_CONTEXT => true,
        _ => return Err(EINVAL),
    };
    if !abi::is_priority(args.priority) {
        return Err(EINVAL);
    }
    let file = LocalFile::fget(args.fd).map_err(|_| EINVAL)?;
    let other = drm::borrow::<Render>(&file).ok_or(EINVAL)?;
    match one {
        true => other.contexts().find(args.ctx_id),
        false => Ok(()),
    }
}
