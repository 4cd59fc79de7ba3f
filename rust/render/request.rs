// SPDX-License-Identifier: GPL-2.0

//! A request of the render node, as the DRM core takes it (`drm_ioctl`): looked up by its number,
//! its argument copied in and out, refused where a render node's files may not make it.
//!
//! The core's requests for handles, synchronisation objects and the like answer EOPNOTSUPP, as of a
//! driver without those features; of amdgpu's own there is INFO alone, and the others answer EINVAL
//! as numbers do that a driver's table doesn't have.

use super::{
    info,
    version, //
};
use crate::{
    glue::user,
    gpu::Gpu,
    limit::SystemMemory,
    uapi::{
        amdgpu,
        drm as abi,
        ioctl as ioc, //
    }, //
};
use kernel::{
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

/// Bytes of an argument that need no allocation.
const ON_STACK: usize = 128;

/// A request of the table: its command and who may make it.
fn find(number: u8) -> Option<(u32, abi::Node)> {
    if number == amdgpu::INFO.info.number {
        return Some((amdgpu::INFO.command(), abi::Node::Render));
    }
    abi::find(number).map(|request| (request.command, request.node))
}

/// Takes a request.
///
/// # Errors
///
/// ENOTTY for another type's, EINVAL for an unknown number, EFAULT when the argument can't be
/// copied, EACCES for what only a primary node's files may ask, EOPNOTSUPP for features that are
/// not there; else the request's own.
pub(super) fn request(gpu: &Gpu, memory: &SystemMemory, cmd: u32, arg: usize) -> Result {
    if ioc::ioc_type(cmd) != abi::TYPE {
        return Err(ENOTTY);
    }
    let number = ioc::ioc_number(cmd);
    let (command, node) = find(number).ok_or(EINVAL)?;

    let user_size = ioc::ioc_size(cmd);
    let both = ioc::ioc_direction(cmd) & ioc::ioc_direction(command);
    let copied = |direction| {
        if both & direction == 0 {
            0
        } else {
            user_size
        }
    };
    let (in_size, out_size) = (copied(ioc::WRITE), copied(ioc::READ));
    let size = in_size.max(out_size).max(ioc::ioc_size(command));
    let mut stack = [0u8; ON_STACK];
    let mut heap;
    let bytes = match stack.get_mut(..size) {
        Some(bytes) => bytes,
        None => {
            heap = KVec::from_elem(0u8, size, GFP_KERNEL)?;
            heap.as_mut_slice()
        }
    };
    let user = |len| UserSlice::new(UserPtr::from_addr(arg), len);
    user(in_size)
        .reader()
        .read_slice(bytes.get_mut(..in_size).ok_or(EINVAL)?)?;
    let result = match node {
        abi::Node::Primary => Err(EACCES),
        abi::Node::Render => answer(gpu, memory, number, bytes),
    };
    // Written back whatever came of it.
    user(out_size)
        .writer()
        .write_slice(bytes.get(..out_size).ok_or(EINVAL)?)?;
    result
}

fn answer(gpu: &Gpu, memory: &SystemMemory, number: u8, bytes: &mut [u8]) -> Result {
    /// `DRM_IOCTL_GEM_CHANGE_HANDLE`, which the core itself took back (`drm_invalid_op`).
    const CHANGE_HANDLE: u8 = 0xd2;
    match number {
        n if n == abi::VERSION.info.number => {
            let mut v: abi::DrmVersion = user::read_abi(bytes)?;
            let result = version::version(&mut v);
            user::write_abi(bytes, &v)?;
            result
        }
        n if n == abi::GET_CAP.info.number => {
            let mut cap: abi::DrmGetCap = user::read_abi(bytes)?;
            let result = capability(&mut cap);
            user::write_abi(bytes, &cap)?;
            result
        }
        n if n == amdgpu::INFO.info.number => info::info(gpu, memory, &user::read_abi(bytes)?),
        CHANGE_HANDLE => Err(EINVAL),
        _ => Err(EOPNOTSUPP),
    }
}

/// DRM_IOCTL_GET_CAP (`drm_getcap`).
fn capability(cap: &mut abi::DrmGetCap) -> Result {
    cap.value = match cap.capability {
        abi::CAP_TIMESTAMP_MONOTONIC => 1,
        abi::CAP_PRIME | abi::CAP_SYNCOBJ | abi::CAP_SYNCOBJ_TIMELINE => 0,
        // The others are those of drivers with a screen.
        _ => {
            cap.value = 0;
            return Err(EOPNOTSUPP);
        }
    };
    Ok(())
}
