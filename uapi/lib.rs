// SPDX-License-Identifier: MIT OR Apache-2.0

//! The contract with user programs: the ioctls of `/dev/kfd`, the offsets at which its parts are
//! mapped, and the few requests of the render node.
//!
//! This is upstream's ABI, KFD 1.23, byte for byte: every structure and constant names its
//! counterpart in C, and [`STRUCTS`], [`CONSTANTS`] and [`ioctl::IOCTLS`] list them so that
//! `tests/abi` can compile Linux's header and compare every size, offset, value and number.
//!
//! Every structure is made of integers and has no padding that isn't a field, so any bytes are a
//! valid value and all bytes of a value are defined. A C union is the array of words that covers
//! it, with typed views beside it.
//!
//! Rules of this room: `core` only, no allocation, no panics, no `unsafe`, nothing that depends on
//! who includes it (`super::`, never `crate::`): the module includes it by path.
//!
//! Source: Linux 7.3, `include/uapi/linux/kfd_ioctl.h`, `include/uapi/drm/drm.h`,
//! `include/uapi/drm/amdgpu_drm.h`, `include/uapi/linux/kfd_sysfs.h`,
//! `drivers/gpu/drm/amd/amdkfd/kfd_priv.h` (mmap offsets).

#![cfg_attr(not(MODULE), no_std)]

#[macro_use]
pub mod abi;

pub mod amdgpu;
pub mod criu;
pub mod ctx;
pub mod debug;
pub mod device;
pub mod drm;
pub mod event;
pub mod gem;
pub mod ioctl;
pub mod memory;
pub mod metrics;
pub mod mmap;
pub mod queue;
pub mod smi;
pub mod svm;
pub mod syncobj;
pub mod topology;

/// Major version of the interface; a client refuses another.
pub const VERSION_MAJOR: u32 = 1;
/// Minor version of the interface: grows with every addition.
pub const VERSION_MINOR: u32 = 23;

/// The structures, by file.
pub const STRUCTS: &[&[abi::StructInfo]] = &[
    amdgpu::STRUCTS,
    criu::STRUCTS,
    ctx::STRUCTS,
    debug::STRUCTS,
    device::STRUCTS,
    drm::STRUCTS,
    event::STRUCTS,
    gem::STRUCTS,
    memory::STRUCTS,
    queue::STRUCTS,
    smi::STRUCTS,
    svm::STRUCTS,
    syncobj::STRUCTS,
];

/// The constants, by file.
pub const CONSTANTS: &[&[abi::ConstInfo]] = &[
    &[
        abi::ConstInfo {
            c: "KFD_IOCTL_MAJOR_VERSION",
            value: VERSION_MAJOR as u64,
        },
        abi::ConstInfo {
            c: "KFD_IOCTL_MINOR_VERSION",
            value: VERSION_MINOR as u64,
        },
    ],
    amdgpu::CONSTANTS,
    criu::CONSTANTS,
    ctx::CONSTANTS,
    debug::CONSTANTS,
    device::CONSTANTS,
    drm::CONSTANTS,
    event::CONSTANTS,
    gem::CONSTANTS,
    memory::CONSTANTS,
    queue::CONSTANTS,
    smi::CONSTANTS,
    svm::CONSTANTS,
    syncobj::CONSTANTS,
    topology::CONSTANTS,
];
