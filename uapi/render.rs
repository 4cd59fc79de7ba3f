// SPDX-License-Identifier: MIT OR Apache-2.0

//! The render node: the DRM requests that compute programs need of it.
//!
//! Its file descriptor names the address space (ACQUIRE_VM), and buffer objects are mapped on it at
//! the offsets that ALLOC_MEMORY_OF_GPU returns. Offsets in a DRM file start at 2^32 pages.

use super::ioctl::{Request, READ_WRITE};

/// Type byte of the DRM ioctls.
pub const TYPE: u8 = b'd';
/// First minor of the render nodes: `/dev/dri/renderD128`.
pub const FIRST_MINOR: u32 = 128;
/// Last minor that is a render node.
pub const LAST_MINOR: u32 = 191;

structs! {
    /// Argument of [`VERSION`].
    pub struct DrmVersion = "struct drm_version" {
        version_major: i32,
        version_minor: i32,
        version_patchlevel: i32,
        pad: u32 = "",
        /// In: bytes of room at `name`. Out: bytes there are.
        name_len: u64,
        name: u64,
        date_len: u64,
        date: u64,
        desc_len: u64,
        desc: u64,
    }
}

/// Name and version of the DRM driver.
pub const VERSION: Request<DrmVersion> = Request::new(
    "VERSION",
    "DRM_IOCTL_VERSION",
    "DrmVersion",
    READ_WRITE,
    TYPE,
    0x00,
);
