// SPDX-License-Identifier: GPL-2.0

//! Whether the caller's cgroup lets it use a device node.
//!
//! The kernel crate of 7.3 has no device cgroups, and `bindings` lacks <linux/device_cgroup.h>.

/// The number of a character device, as inodes have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DeviceNumber {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

#[cfg(any(CONFIG_CGROUP_DEVICE, CONFIG_CGROUP_BPF))]
extern "C" {
    fn devcgroup_check_permission(kind: i16, major: u32, minor: u32, access: i16) -> i32;
}

/// Whether the caller may read and write the device (`kfd_devcgroup_check_permission`).
#[cfg(any(CONFIG_CGROUP_DEVICE, CONFIG_CGROUP_BPF))]
pub(crate) fn may_use(device: DeviceNumber) -> bool {
    /// `DEVCG_DEV_CHAR`.
    const CHAR: i16 = 2;
    /// `DEVCG_ACC_READ | DEVCG_ACC_WRITE`.
    const READ_WRITE: i16 = 2 | 4;
    // SAFETY: Takes nothing but numbers, and looks at the calling task's cgroup.
    unsafe { devcgroup_check_permission(CHAR, device.major, device.minor, READ_WRITE) == 0 }
}

/// Without device cgroups everyone may.
#[cfg(not(any(CONFIG_CGROUP_DEVICE, CONFIG_CGROUP_BPF)))]
pub(crate) fn may_use(_: DeviceNumber) -> bool {
    true
}
