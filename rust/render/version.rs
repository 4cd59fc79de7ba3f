// SPDX-License-Identifier: GPL-2.0

//! The DRM version: who we are, in the words of amdgpu (`drm_version`).

use crate::uapi::drm as abi;
use kernel::{
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

/// DRM_IOCTL_VERSION.
pub(super) fn version(v: &mut abi::DrmVersion) -> Result {
    v.version_major = 3;
    v.version_minor = 64;
    v.version_patchlevel = 0;
    copy_string(&mut v.name_len, v.name, b"amdgpu")?;
    copy_string(&mut v.date_len, v.date, b"0")?;
    copy_string(&mut v.desc_len, v.desc, b"AMD GPU")
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
