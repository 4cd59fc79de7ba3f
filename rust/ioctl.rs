// SPDX-License-Identifier: GPL-2.0

//! The ioctls of `/dev/kfd`: from the number to a function with a typed argument.
//!
//! As upstream (`kfd_ioctl`): a call is known by its number alone; the caller's and our structure
//! may differ in size, missing bytes are zero; and what is given back is given back even when the
//! call fails. One file for each class of calls.

use crate::{
    glue::{
        trace,
        user, //
    },
    process::Process,
    types::GpuId,
    uapi::{
        abi::Abi,
        ioctl::{
            self as abi,
            nr, //
        }, //
    }, //
};
use kernel::{
    alloc::KVec,
    prelude::*,
    sync::Arc,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

mod debug;
mod dmabuf;
mod event;
mod info;
mod memory;
mod profiler;
mod queue;
mod unsupported;

/// The GPU that a program names.
///
/// # Errors
///
/// EINVAL when no GPU can have that name.
fn gpu_id(id: u32) -> Result<GpuId> {
    GpuId::from_user(id).ok_or(EINVAL)
}

/// Arguments up to this size stay on the stack.
const ON_STACK: usize = 128;

/// The argument of a call, as large as the larger of the caller's and our structure.
struct Argument<'a> {
    bytes: &'a mut [u8],
    /// How many of them are the caller's.
    user_size: usize,
    /// What a call that succeeds returns.
    returned: &'a mut usize,
}

impl Argument<'_> {
    /// Calls `f` with the argument as a `T`, and keeps what it changed.
    fn with<T: Abi>(&mut self, f: impl FnOnce(&mut T) -> Result) -> Result {
        let mut value = user::read_abi::<T>(self.bytes)?;
        let result = f(&mut value);
        user::write_abi(self.bytes, &value)?;
        result
    }
}

/// An ioctl of a process' file.
pub(crate) fn ioctl(process: &Arc<Process>, cmd: u32, arg: usize) -> Result<isize> {
    let (mut told, mut returned) = (false, 0);
    let result = answer(process, cmd, arg, &mut told, &mut returned);
    if !told {
        // It was refused before there was an argument to tell of.
        let number = abi::ioc_number(cmd);
        trace::ioctl_entered(number, &[]);
        trace::ioctl_left(number, errno(result), &[]);
    }
    // CAST: A number of queues.
    result.map(|()| returned as isize)
}

fn errno(result: Result) -> i32 {
    result.map_or_else(kernel::error::Error::to_errno, |()| 0)
}

/// Answers a request; `told` is set once whoever traces has heard of it, `returned` to what it returns.
fn answer(
    process: &Arc<Process>,
    cmd: u32,
    arg: usize,
    told: &mut bool,
    returned: &mut usize,
) -> Result {
    let number = abi::ioc_number(cmd);
    let info = abi::find(number).ok_or(ENOTTY)?;
    let traced = number == nr::CRIU_OP && process.is_traced();
    if !process.is_current() && !traced {
        return Err(EBADF);
    }
    if number == nr::CRIU_OP && !user::may_checkpoint() {
        return Err(EACCES);
    }
    process.check_open()?;

    let user_size = abi::ioc_size(cmd);
    let size = user_size.max(abi::ioc_size(info.command));
    let direction = abi::ioc_direction(info.command);
    let mut stack = [0u8; ON_STACK];
    let mut heap = KVec::new();
    let bytes = match stack.get_mut(..size) {
        Some(bytes) => bytes,
        None => {
            heap = KVec::from_elem(0u8, size, GFP_KERNEL)?;
            heap.as_mut_slice()
        }
    };
    let user = || UserSlice::new(UserPtr::from_addr(arg), user_size);
    if direction & abi::WRITE != 0 {
        user()
            .reader()
            .read_slice(bytes.get_mut(..user_size).ok_or(EINVAL)?)?;
    }
    if number == nr::SVM {
        // The one call with a check of its own, after which nothing is given back.
        unsupported::check_svm(bytes, user_size)?;
    }
    *told = true;
    trace::ioctl_entered(number, bytes);
    let mut result = dispatch(
        process,
        number,
        Argument {
            bytes: &mut *bytes,
            user_size,
            returned,
        },
    );
    if direction & abi::READ != 0 {
        let given = bytes.get(..user_size).ok_or(EINVAL);
        // As upstream's: what can't be given back is what the call fails with.
        result = given
            .and_then(|given| user().writer().write_slice(given))
            .and(result);
    }
    trace::ioctl_left(number, errno(result), bytes);
    drop(heap);
    result
}

fn dispatch(process: &Arc<Process>, number: u8, mut a: Argument<'_>) -> Result {
    let p = process;
    match number {
        nr::GET_VERSION => a.with(info::version),
        nr::GET_CLOCK_COUNTERS => a.with(|args| info::clocks(p, args)),
        nr::GET_PROCESS_APERTURES => a.with(|args| info::apertures(p, args)),
        nr::GET_PROCESS_APERTURES_NEW => a.with(|args| info::apertures_new(p, args)),
        nr::GET_TILE_CONFIG => a.with(|args| info::tile_config(p, args)),

        nr::RUNTIME_ENABLE => a.with(|args| debug::runtime(p, args)),
        nr::DBG_TRAP => {
            *a.returned = debug::trap(p, &mut a)?;
            Ok(())
        }

        nr::ACQUIRE_VM => a.with(|args| memory::acquire_vm(p, args)),
        nr::SET_MEMORY_POLICY => a.with(|args| memory::set_policy(p, args)),
        nr::SET_SCRATCH_BACKING_VA => a.with(|args| memory::set_scratch_backing_va(p, args)),
        nr::AVAILABLE_MEMORY => a.with(|args| memory::available(p, args)),
        nr::ALLOC_MEMORY_OF_GPU => a.with(|args| memory::alloc(p, args)),
        nr::FREE_MEMORY_OF_GPU => a.with(|args| memory::free(p, args)),
        nr::MAP_MEMORY_TO_GPU => a.with(|args| memory::map(p, args)),
        nr::UNMAP_MEMORY_FROM_GPU => a.with(|args| memory::unmap(p, args)),
        nr::GET_DMABUF_INFO => a.with(|args| dmabuf::info(p, args)),
        nr::EXPORT_DMABUF => a.with(|args| dmabuf::export(p, args)),
        nr::IMPORT_DMABUF => a.with(|args| dmabuf::import(p, args)),

        nr::CREATE_QUEUE => a.with(|args| queue::create(p, args)),
        nr::UPDATE_QUEUE => a.with(|args| queue::update(p, args)),
        nr::DESTROY_QUEUE => a.with(|args| queue::destroy(p, args)),
        nr::SET_CU_MASK => a.with(|args| queue::set_cu_mask(p, args)),
        nr::GET_QUEUE_WAVE_STATE => a.with(|args| queue::wave_state(p, args)),
        nr::ALLOC_QUEUE_GWS => a.with(|args| queue::alloc_gws(p, args)),
        nr::SET_TRAP_HANDLER => a.with(|args| queue::set_trap_handler(p, args)),

        nr::CREATE_EVENT => a.with(|args| event::create(p, args)),
        nr::DESTROY_EVENT => a.with(|args| event::destroy(p, args)),
        nr::SET_EVENT => a.with(|args| event::set(p, args)),
        nr::RESET_EVENT => a.with(|args| event::reset(p, args)),
        nr::WAIT_EVENTS => a.with(|args| event::wait(p, args)),

        nr::PROFILER => a.with(|args| profiler::profiler(p, args)),
        _ => unsupported::answer(p, number, &mut a),
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
