// SPDX-License-Identifier: GPL-2.0

//! The DRM version: who we are, as amdgpu says it.

use crate::{
    glue::user,
    uapi::{
        ioctl as ioc,
        render as abi, //
    },
};
use kernel::{
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    },
};

/// DRM_IOCTL_VERSION.
pub(super) fn version(cmd: u32, arg: usize) -> Result {
    const SIZE: usize = core::mem::size_of::<abi::DrmVersion>();
    let user_size = ioc::ioc_size(cmd).min(SIZE);
    let address = UserPtr::from_addr(arg);
    let mut bytes = [0u8; SIZE];
    let user_bytes = bytes.get_mut(..user_size).ok_or(EINVAL)?;
    UserSlice::new(address, user_size)
        .reader()
        .read_slice(user_bytes)?;
    let mut v: abi::DrmVersion = user::read_abi(&bytes)?;
    v.version_major = 3;
    v.version_minor = 64;
    v.version_patchlevel = 0;
    copy_string(&mut v.name_len, v.name, b"amdgpu")?;
    copy_string(&mut v.date_len, v.date, b"0")?;
    copy_string(&mut v.desc_len, v.desc, b"AMD GPU")?;
    user::write_abi(&mut bytes, &v)?;
    let user_bytes = bytes.get(..user_size).ok_or(EINVAL)?;
    UserSlice::new(address, user_size)
        .writer()
        .write_slice(user_bytes)
}

/// As much of a string as there is room for, and its whole length.
fn copy_string(len: &mut u64, to: u64, s: &[u8]) -> Result {
    let room = core::mem::replace(len, s.len() as u64).min(s.len() as u64) as usize;
    if to == 0 || room == 0 {
        return Ok(());
    }
    let part = s.get(..room).ok_or(EINVAL)?;
    UserSlice::new(UserPtr::from_addr(to as usize), room)
        .writer()
        .write_slice(part)
}
