// SPDX-License-Identifier: GPL-2.0

//! DBG_TRAP: a debugger's operations about a process, and RUNTIME_ENABLE of the process itself.
//!
//! A program may debug itself, whom it traces (ptrace), and who was attached to when it traced them. Whoever it
//! attaches to needs no `/dev/kfd` open yet.
//!
//! Waves can't be made to do one operation at a time (SET_FLAGS): that gets what hardware gives that can't.
//!
//! Source: Linux, `kfd_ioctl_set_debug_trap` of `amdkfd/kfd_chardev.c`.

use super::{
    info,
    Argument, //
};
use crate::{
    debug,
    glue::{
        task,
        user, //
    },
    process::Process,
    topology,
    types::GpuId,
    uapi::{
        abi::Abi,
        debug as abi, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

/// `KFD_MAX_NUM_OF_QUEUES_PER_PROCESS`.
const MAX_QUEUES: u32 = 1024;
/// Bytes before the operation's own arguments: the process and the operation.
const HEAD: usize = 8;

/// RUNTIME_ENABLE: the program has a runtime, which wants errors reported to it, or has none any more.
pub(super) fn runtime(process: &Process, args: &mut abi::RuntimeEnableArgs) -> Result {
    let keeps_temporaries = args.mode_mask & abi::RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK != 0;
    match args.mode_mask & abi::RUNTIME_ENABLE_MODE_ENABLE_MASK {
        0 => debug::runtime::disable(process),
        _ => debug::runtime::enable(process, args.r_debug, keeps_temporaries),
    }
}

/// DBG_TRAP. Returns the number of queues for the operations that have one.
///
/// # Errors
///
/// In this order: ESRCH for a process that isn't there or has nothing to do with GPUs; EPERM when the caller may not
/// debug it; EINVAL when it isn't debugged; EPERM when its runtime isn't there, for what needs that; ENODEV for
/// a GPU that it doesn't have; and those of the operation.
pub(super) fn trap(process: &Arc<Process>, a: &mut Argument<'_>) -> Result<usize> {
    let args: abi::DbgTrapArgs = user::read_abi(a.bytes)?;
    let thread = task::find(args.pid)?;
    // It goes after the process: the address space may end with it.
    let mm = task::mm(&thread)?;
    let attaches = args.op == abi::OP_ENABLE;
    let target = match attaches && !task::is_current(&thread) && user::traces(&thread) {
        true => process.processes().of(&thread, &mm)?,
        false => process.processes().by_mm(&mm).ok_or(ESRCH)?,
    };
    let is_self = Arc::ptr_eq(&target, process);
    if !is_self && !target.is_traced() && !target.debugging.is_by(process) {
        return Err(EPERM);
    }
    if !attaches && !target.debugging.is_on() {
        return Err(EINVAL);
    }
    match args.op {
        abi::OP_ENABLE => with(a, |args| {
            enable(&target, (!is_self).then_some(process), args)
        }),
        abi::OP_DISABLE => {
            debug::disable(&target);
            Ok(0)
        }
        abi::OP_SEND_RUNTIME_EVENT => with(a, |args: &mut abi::DbgTrapSendRuntimeEventArgs| {
            let (gpu, queue) = (args.gpu_id, args.queue_id);
            debug::send_to_runtime(&target, gpu, queue, args.exception_mask)
        }),
        abi::OP_SET_EXCEPTIONS_ENABLED => {
            with(a, |args: &mut abi::DbgTrapSetExceptionsEnabledArgs| {
                debug::set_enabled(&target, args.exception_mask)
            })
        }
        abi::OP_QUERY_DEBUG_EVENT => with(a, |args| query(&target, args)),
        abi::OP_QUERY_EXCEPTION_INFO => with(a, |args| exception_info(&target, args)),
        abi::OP_GET_QUEUE_SNAPSHOT => with(a, |args| queues(&target, args)),
        abi::OP_GET_DEVICE_SNAPSHOT => with(a, |args| devices(&target, args)),
        abi::OP_SET_WAVE_LAUNCH_OVERRIDE..=abi::OP_SET_FLAGS => {
            debug::check_runtime(&target)?;
            control(&target, args.op, a)
        }
        _ => Err(EINVAL),
    }
}

/// Operations on queues and waves, which need the program's runtime.
fn control(target: &Arc<Process>, op: u32, a: &mut Argument<'_>) -> Result<usize> {
    let mut count = 0;
    match op {
        abi::OP_SUSPEND_QUEUES => with(a, |args| {
            count = suspend(target, args)?;
            Ok(())
        }),
        abi::OP_RESUME_QUEUES => with(a, |args| {
            count = resume(target, args)?;
            Ok(())
        }),
        abi::OP_SET_FLAGS => with(a, |args| flags(target, args)),
        abi::OP_SET_WAVE_LAUNCH_OVERRIDE => with(a, |args| launch_override(target, args)),
        abi::OP_SET_WAVE_LAUNCH_MODE => with(a, |args: &mut abi::DbgTrapSetWaveLaunchModeArgs| {
            // CAST: Upstream takes a byte of it.
            debug::launch_mode(target, (args.launch_mode as u8).into())
        }),
        abi::OP_SET_NODE_ADDRESS_WATCH => {
            with(a, |args: &mut abi::DbgTrapSetNodeAddressWatchArgs| {
                let device = device(target, args.gpu_id)?;
                // No watch, if there will be none.
                args.id = u32::MAX;
                args.id = debug::watch(target, device, args.address, args.mask, args.mode)?;
                Ok(())
            })
        }
        abi::OP_CLEAR_NODE_ADDRESS_WATCH => {
            with(a, |args: &mut abi::DbgTrapClearNodeAddressWatchArgs| {
                debug::clear_watch(target, device(target, args.gpu_id)?, args.id)
            })
        }
        _ => Err(EINVAL),
    }?;
    Ok(count)
}

/// Calls `f` with an operation's own arguments, and keeps what it changed, even if it fails.
fn with<T: Abi>(a: &mut Argument<'_>, f: impl FnOnce(&mut T) -> Result) -> Result<usize> {
    let bytes = a.bytes.get_mut(HEAD..).ok_or(EINVAL)?;
    let mut value = user::read_abi::<T>(bytes)?;
    let result = f(&mut value);
    user::write_abi(bytes, &value)?;
    result.map(|()| 0)
}

fn device(target: &Process, gpu_id: u32) -> Result<usize> {
    let id = GpuId::from_user(gpu_id).ok_or(ENODEV)?;
    target.device_index(id).map_err(|_| ENODEV)
}

/// Writes as much of a structure as there is room for.
fn give<T: Abi>(address: u64, room: usize, value: &T) -> Result {
    let bytes = user::abi_bytes(core::slice::from_ref(value));
    let bytes = bytes.get(..room).unwrap_or(bytes);
    UserSlice::new(UserPtr::from_addr(address as usize), bytes.len())
        .writer()
        .write_slice(bytes)
}

/// How long an entry is in memory, and how much of it is written: of ours, what the caller has room for.
fn entry_size<T>(size: &mut u32) -> Result<u64> {
    let apart = u64::from(*size);
    // CAST: The size of a structure of the ABI.
    *size = (*size).min(size_of::<T>() as u32);
    Ok(apart)
}

fn enable(
    target: &Process,
    debugger: Option<&Arc<Process>>,
    args: &mut abi::DbgTrapEnableArgs,
) -> Result {
    let runtime = debug::enable(target, debugger, args.exception_mask, args.dbg_fd)?;
    let given = give(args.rinfo_ptr, args.rinfo_size as usize, &runtime);
    // CAST: As above.
    args.rinfo_size = size_of::<abi::RuntimeInfo>() as u32;
    given.inspect_err(|_| debug::disable(target))
}

fn query(target: &Process, args: &mut abi::DbgTrapQueryDebugEventArgs) -> Result {
    let raised = debug::query(target, args.exception_mask);
    let (result, raised) = match raised {
        Ok(raised) => (Ok(()), raised),
        Err(error) => (Err(error), Default::default()),
    };
    args.exception_mask = raised.exceptions;
    args.gpu_id = raised.gpu_id;
    args.queue_id = raised.queue_id;
    result
}

/// The exception is dismissed when what is known about it has reached the debugger.
fn exception_info(target: &Process, args: &mut abi::DbgTrapQueryExceptionInfoArgs) -> Result {
    if args.info_ptr == 0 {
        return Err(EINVAL);
    }
    let (source, code) = (args.source_id, args.exception_code);
    let room = args.info_size as usize;
    let size = match debug::exception_info(target, source, code, false)? {
        debug::Info::Nothing => 0,
        debug::Info::Fault(fault) => {
            give(args.info_ptr, room, &fault)?;
            size_of_val(&fault)
        }
        debug::Info::Runtime(runtime) => {
            give(args.info_ptr, room, &runtime)?;
            size_of_val(&runtime)
        }
    };
    // CAST: As above.
    args.info_size = size as u32;
    if args.clear_exception != 0 {
        // Another thread may have dismissed it meanwhile.
        let _ = debug::exception_info(target, source, code, true);
    }
    Ok(())
}

fn queues(target: &Process, args: &mut abi::DbgTrapQueueSnapshotArgs) -> Result {
    let room = core::mem::take(&mut args.num_queues);
    if args.entry_size == 0 {
        return Err(EINVAL);
    }
    let apart = entry_size::<abi::QueueSnapshotEntry>(&mut args.entry_size)?;
    let (entries, count) = debug::snapshot(target, args.exception_mask, room)?;
    let mut at = args.snapshot_buf_ptr;
    for entry in &entries {
        give(at, args.entry_size as usize, entry)?;
        args.num_queues = args.num_queues.saturating_add(1);
        at = at.wrapping_add(apart);
    }
    args.num_queues = count;
    Ok(())
}

fn devices(target: &Process, args: &mut abi::DbgTrapDeviceSnapshotArgs) -> Result {
    if args.snapshot_buf_ptr == 0 {
        return Err(EINVAL);
    }
    let room = args.num_devices as usize;
    // CAST: There are as many GPUs as have numbers of 16 bits, at most.
    args.num_devices = target.devices().len() as u32;
    let apart = entry_size::<abi::DbgDeviceInfoEntry>(&mut args.entry_size)?;
    let mut at = args.snapshot_buf_ptr;
    for (index, device) in target.devices().iter().enumerate().take(room) {
        let gpu = &device.gpu;
        let apertures = info::apertures_of(gpu.id().get().into());
        let (chip, pci) = (gpu.chip(), gpu.pci());
        let entry = abi::DbgDeviceInfoEntry {
            exception_status: debug::take_device(target, index, args.exception_mask)?,
            lds_base: apertures.lds_base,
            lds_limit: apertures.lds_limit,
            scratch_base: apertures.scratch_base,
            scratch_limit: apertures.scratch_limit,
            gpuvm_base: apertures.gpuvm_base,
            gpuvm_limit: apertures.gpuvm_limit,
            gpu_id: apertures.gpu_id,
            location_id: pci.location_id(),
            vendor_id: pci.vendor.into(),
            device_id: pci.device.into(),
            revision_id: pci.revision.into(),
            subsystem_vendor_id: pci.subsystem_vendor.into(),
            subsystem_device_id: pci.subsystem_device.into(),
            fw_version: chip.mec_fw_version,
            gfx_target_version: chip.family.gfx_target_version,
            simd_count: chip.simd_count(),
            max_waves_per_simd: chip.waves_per_simd,
            array_count: topology::array_count(chip),
            simd_arrays_per_engine: chip.shader_arrays_per_engine,
            num_xcc: chip.num_xcc,
            capability: topology::capability(chip),
            debug_prop: topology::debug_prop(gpu),
            capability2: topology::CAPABILITY2,
            pad: 0,
        };
        give(at, args.entry_size as usize, &entry)?;
        at = at.wrapping_add(apart);
    }
    Ok(())
}

/// The numbers of queues that a debugger lists.
fn list(address: u64, count: u32) -> Result<KVVec<u32>> {
    if (address == 0 && count != 0) || count > MAX_QUEUES {
        return Err(EINVAL);
    }
    let mut list = KVVec::with_capacity(count as usize, GFP_KERNEL_ACCOUNT)?;
    let bytes = (count as usize).checked_mul(4).ok_or(EINVAL)?;
    let mut reader = UserSlice::new(UserPtr::from_addr(address as usize), bytes).reader();
    for _ in 0..count {
        list.push(reader.read::<u32>()?, GFP_KERNEL_ACCOUNT)?;
    }
    Ok(list)
}

/// Gives the list back with its marks. That it can't be written changes nothing (`suspend_queues`).
fn give_list(address: u64, list: &[u32]) {
    let address = UserPtr::from_addr(address as usize);
    let mut writer = UserSlice::new(address, size_of_val(list)).writer();
    let _ = list.iter().try_for_each(|entry| writer.write(entry));
}

fn suspend(target: &Process, args: &mut abi::DbgTrapSuspendQueuesArgs) -> Result<usize> {
    let mut list = list(args.queue_array_ptr, args.num_queues)?;
    let count = debug::suspend(target, &mut list, args.grace_period, args.exception_mask)?;
    give_list(args.queue_array_ptr, &list);
    Ok(count)
}

/// Without a list every queue is resumed.
fn resume(target: &Process, args: &mut abi::DbgTrapResumeQueuesArgs) -> Result<usize> {
    if args.queue_array_ptr == 0 {
        return debug::resume(target, None);
    }
    let mut list = list(args.queue_array_ptr, args.num_queues)?;
    let count = debug::resume(target, Some(&mut list))?;
    give_list(args.queue_array_ptr, &list);
    Ok(count)
}

/// SET_FLAGS: what waves do after each instruction, which needs chips that announce it.
fn flags(target: &Process, args: &mut abi::DbgTrapSetFlagsArgs) -> Result {
    const UNSUPPORTED: u32 =
        abi::FLAG_SINGLE_MEM_OP | abi::FLAG_SINGLE_ALU_OP | abi::FLAG_LDS_OUT_OF_ADDR_RANGE;
    target.debugging.with(|session| {
        let flags = core::mem::replace(&mut args.flags, session.flags);
        if flags & UNSUPPORTED != 0 && !target.devices().is_empty() {
            return Err(EACCES);
        }
        session.flags = flags;
        Ok(())
    })
}

/// Which exceptions make waves trap.
fn launch_override(target: &Process, args: &mut abi::DbgTrapSetWaveLaunchOverrideArgs) -> Result {
    let mut wanted = debug::Override {
        mode: args.override_mode,
        chosen: args.support_request_mask,
        on: args.enable_mask,
    };
    let result = debug::launch_override(target, &mut wanted);
    args.support_request_mask = wanted.chosen;
    args.enable_mask = wanted.on;
    result
}
