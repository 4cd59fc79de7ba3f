// SPDX-License-Identifier: MIT OR Apache-2.0

//! Synchronisation objects of a DRM device's files: handles of fences that programs wait for, signal, and pass on.
//!
//! The DRM core has them for each driver that says so. One without a time line has a fence or none; one with a time
//! line has a fence for each of its points.
//!
//! Source: Linux 7.3, `include/uapi/drm/drm.h`.

use super::{
    drm::TYPE,
    ioctl::{Request, READ_WRITE},
};

structs! {
    /// Argument of [`CREATE`].
    pub struct SyncobjCreate = "struct drm_syncobj_create" {
        /// Out.
        handle: u32,
        /// [`CREATE_SIGNALED`].
        flags: u32,
    }

    /// Argument of [`DESTROY`].
    pub struct SyncobjDestroy = "struct drm_syncobj_destroy" {
        handle: u32,
        pad: u32,
    }

    /// Argument of [`HANDLE_TO_FD`] and [`FD_TO_HANDLE`].
    pub struct SyncobjHandle = "struct drm_syncobj_handle" {
        handle: u32,
        flags: u32,
        fd: i32,
        pad: u32,
        point: u64,
    }

    /// Argument of [`WAIT`].
    pub struct SyncobjWait = "struct drm_syncobj_wait" {
        /// The address of handles, 32 bits each.
        handles: u64,
        /// Of CLOCK_MONOTONIC, in nanoseconds.
        timeout_nsec: i64,
        count_handles: u32,
        /// `WAIT_`.
        flags: u32,
        /// Out, when one is enough: its index.
        first_signaled: u32,
        pad: u32,
        deadline_nsec: u64,
    }

    /// Argument of [`RESET`] and [`SIGNAL`].
    pub struct SyncobjArray = "struct drm_syncobj_array" {
        handles: u64,
        count_handles: u32,
        pad: u32,
    }

    /// Argument of [`TIMELINE_WAIT`].
    pub struct SyncobjTimelineWait = "struct drm_syncobj_timeline_wait" {
        handles: u64,
        /// The address of points, 64 bits each.
        points: u64,
        timeout_nsec: i64,
        count_handles: u32,
        flags: u32,
        first_signaled: u32,
        pad: u32,
        deadline_nsec: u64,
    }

    /// Argument of [`QUERY`] and [`TIMELINE_SIGNAL`].
    pub struct SyncobjTimelineArray = "struct drm_syncobj_timeline_array" {
        handles: u64,
        points: u64,
        count_handles: u32,
        flags: u32,
    }

    /// Argument of [`TRANSFER`].
    pub struct SyncobjTransfer = "struct drm_syncobj_transfer" {
        src_handle: u32,
        dst_handle: u32,
        src_point: u64,
        dst_point: u64,
        flags: u32,
        pad: u32,
    }
}

constants! {
    /// It is made with a fence that is signalled.
    CREATE_SIGNALED: u32 = 1, "DRM_SYNCOBJ_CREATE_SIGNALED";
    /// Waits for all, not for one.
    WAIT_ALL: u32 = 1, "DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL";
    /// Waits for a fence to be there, too.
    WAIT_FOR_SUBMIT: u32 = 2, "DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT";
    /// Waits only for fences to be there.
    WAIT_AVAILABLE: u32 = 4, "DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE";
    /// The file descriptor is that of a fence, not of the object.
    EXPORT_SYNC_FILE: u32 = 1, "DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE";
    /// The same, the other way.
    IMPORT_SYNC_FILE: u32 = 1, "DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE";
}

macro_rules! requests {
    ($( $(#[$m:meta])* $name:ident $c:literal $number:literal $argument:ident ; )*) => {
        $(
            $(#[$m])*
            pub const $name: Request<$argument> = Request::new(
                stringify!($name), $c, stringify!($argument), READ_WRITE, TYPE, $number,
            );
        )*
        /// All of them.
        pub const ALL: &[&super::ioctl::IoctlInfo] = &[ $( &$name.info, )* ];
    };
}

requests! {
    /// Makes one.
    CREATE "DRM_IOCTL_SYNCOBJ_CREATE" 0xbf SyncobjCreate;
    /// Closes a handle.
    DESTROY "DRM_IOCTL_SYNCOBJ_DESTROY" 0xc0 SyncobjDestroy;
    /// A file descriptor of an object or of its fence.
    HANDLE_TO_FD "DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD" 0xc1 SyncobjHandle;
    /// The other way.
    FD_TO_HANDLE "DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE" 0xc2 SyncobjHandle;
    /// Waits for fences.
    WAIT "DRM_IOCTL_SYNCOBJ_WAIT" 0xc3 SyncobjWait;
    /// Takes fences away.
    RESET "DRM_IOCTL_SYNCOBJ_RESET" 0xc4 SyncobjArray;
    /// Gives signalled fences.
    SIGNAL "DRM_IOCTL_SYNCOBJ_SIGNAL" 0xc5 SyncobjArray;
    /// Waits for points.
    TIMELINE_WAIT "DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT" 0xca SyncobjTimelineWait;
    /// Asks which points were reached.
    QUERY "DRM_IOCTL_SYNCOBJ_QUERY" 0xcb SyncobjTimelineArray;
    /// Copies a fence from one to another.
    TRANSFER "DRM_IOCTL_SYNCOBJ_TRANSFER" 0xcc SyncobjTransfer;
    /// Signals points.
    TIMELINE_SIGNAL "DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL" 0xcd SyncobjTimelineArray;
}
