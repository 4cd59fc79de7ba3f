// SPDX-License-Identifier: MIT OR Apache-2.0

//! The render node: what the DRM core gives to every driver.
//!
//! Its file descriptor names the address space (ACQUIRE_VM), and buffer objects are mapped on it at
//! the offsets that ALLOC_MEMORY_OF_GPU returns. Offsets in a DRM file start at 2^32.

use super::ioctl::{ioc, ioc_number, Request, NONE, READ, READ_WRITE, WRITE};

/// Type byte of the DRM ioctls.
pub const TYPE: u8 = b'd';
/// First and last minor of the render nodes that ROCm looks at: `/dev/dri/renderD128` and on.
pub const FIRST_MINOR: u32 = 128;
/// See [`FIRST_MINOR`].
pub const LAST_MINOR: u32 = 255;

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

    /// Argument of [`GET_CAP`].
    pub struct DrmGetCap = "struct drm_get_cap" {
        /// In: one of `CAP_`.
        capability: u64,
        /// Out.
        value: u64,
    }
}

constants! {
    /// Time stamps of events are those of CLOCK_MONOTONIC.
    CAP_TIMESTAMP_MONOTONIC: u64 = 0x6, "DRM_CAP_TIMESTAMP_MONOTONIC";
    /// Handles become DMA-bufs and back.
    CAP_PRIME: u64 = 0x5, "DRM_CAP_PRIME";
    /// There are synchronisation objects.
    CAP_SYNCOBJ: u64 = 0x13, "DRM_CAP_SYNCOBJ";
    /// And those with a time line.
    CAP_SYNCOBJ_TIMELINE: u64 = 0x14, "DRM_CAP_SYNCOBJ_TIMELINE";
    /// Buffers for a screen.
    CAP_DUMB_BUFFER: u64 = 0x1, "DRM_CAP_DUMB_BUFFER";
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

/// What the driver can.
pub const GET_CAP: Request<DrmGetCap> = Request::new(
    "GET_CAP",
    "DRM_IOCTL_GET_CAP",
    "DrmGetCap",
    READ_WRITE,
    TYPE,
    0x0c,
);

/// Which node's files may make a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// Only `card0` and its kin; a render node answers EACCES.
    Primary,
    /// Render nodes, too (`DRM_RENDER_ALLOW`).
    Render,
}

/// A request that the DRM core knows.
#[derive(Clone, Copy, Debug)]
pub struct DrmRequest {
    /// The C macro.
    pub c: &'static str,
    /// The encoded command, with the core's size of the argument.
    pub command: u32,
    /// Who may make it.
    pub node: Node,
}

macro_rules! requests {
    ($( $name:ident : $direction:ident $number:literal $size:literal $node:ident ; )*) => {
        /// The requests of the core, in order of their numbers, and the one of amdgpu that render
        /// nodes must not make.
        pub const REQUESTS: &[DrmRequest] = &[ $( DrmRequest {
            c: concat!("DRM_IOCTL_", stringify!($name)),
            command: ioc($direction, TYPE, $number, $size),
            node: Node::$node,
        }, )* ];
    };
}

requests! {
    VERSION: READ_WRITE 0x00 64 Render;
    GET_UNIQUE: READ_WRITE 0x01 16 Primary;
    GET_MAGIC: READ 0x02 4 Primary;
    GET_CLIENT: READ_WRITE 0x05 40 Primary;
    GET_STATS: READ 0x06 248 Primary;
    SET_VERSION: READ_WRITE 0x07 16 Primary;
    GEM_CLOSE: WRITE 0x09 8 Render;
    GEM_FLINK: READ_WRITE 0x0a 8 Primary;
    GEM_OPEN: READ_WRITE 0x0b 16 Primary;
    GET_CAP: READ_WRITE 0x0c 16 Render;
    SET_CLIENT_CAP: WRITE 0x0d 16 Primary;
    SET_UNIQUE: WRITE 0x10 16 Primary;
    AUTH_MAGIC: WRITE 0x11 4 Primary;
    BLOCK: READ_WRITE 0x12 4 Primary;
    UNBLOCK: READ_WRITE 0x13 4 Primary;
    SET_MASTER: NONE 0x1e 0 Primary;
    DROP_MASTER: NONE 0x1f 0 Primary;
    ADD_DRAW: READ_WRITE 0x27 4 Primary;
    RM_DRAW: READ_WRITE 0x28 4 Primary;
    FINISH: WRITE 0x2c 8 Primary;
    PRIME_HANDLE_TO_FD: READ_WRITE 0x2d 12 Render;
    PRIME_FD_TO_HANDLE: READ_WRITE 0x2e 12 Render;
    WAIT_VBLANK: READ_WRITE 0x3a 24 Primary;
    CRTC_GET_SEQUENCE: READ_WRITE 0x3b 24 Primary;
    CRTC_QUEUE_SEQUENCE: READ_WRITE 0x3c 24 Primary;
    UPDATE_DRAW: WRITE 0x3f 24 Primary;
    AMDGPU_INFO: WRITE 0x45 32 Render;
    AMDGPU_SCHED: WRITE 0x55 16 Primary;
    MODE_GETRESOURCES: READ_WRITE 0xa0 64 Primary;
    MODE_GETCRTC: READ_WRITE 0xa1 104 Primary;
    MODE_SETCRTC: READ_WRITE 0xa2 104 Primary;
    MODE_CURSOR: READ_WRITE 0xa3 28 Primary;
    MODE_GETGAMMA: READ_WRITE 0xa4 32 Primary;
    MODE_SETGAMMA: READ_WRITE 0xa5 32 Primary;
    MODE_GETENCODER: READ_WRITE 0xa6 20 Primary;
    MODE_GETCONNECTOR: READ_WRITE 0xa7 80 Primary;
    MODE_ATTACHMODE: READ_WRITE 0xa8 72 Primary;
    MODE_DETACHMODE: READ_WRITE 0xa9 72 Primary;
    MODE_GETPROPERTY: READ_WRITE 0xaa 64 Primary;
    MODE_SETPROPERTY: READ_WRITE 0xab 16 Primary;
    MODE_GETPROPBLOB: READ_WRITE 0xac 16 Primary;
    MODE_GETFB: READ_WRITE 0xad 28 Primary;
    MODE_ADDFB: READ_WRITE 0xae 28 Primary;
    MODE_RMFB: READ_WRITE 0xaf 4 Primary;
    MODE_PAGE_FLIP: READ_WRITE 0xb0 24 Primary;
    MODE_DIRTYFB: READ_WRITE 0xb1 24 Primary;
    MODE_CREATE_DUMB: READ_WRITE 0xb2 32 Primary;
    MODE_MAP_DUMB: READ_WRITE 0xb3 16 Primary;
    MODE_DESTROY_DUMB: READ_WRITE 0xb4 4 Primary;
    MODE_GETPLANERESOURCES: READ_WRITE 0xb5 16 Primary;
    MODE_GETPLANE: READ_WRITE 0xb6 32 Primary;
    MODE_SETPLANE: READ_WRITE 0xb7 48 Primary;
    MODE_ADDFB2: READ_WRITE 0xb8 104 Primary;
    MODE_OBJ_GETPROPERTIES: READ_WRITE 0xb9 32 Primary;
    MODE_OBJ_SETPROPERTY: READ_WRITE 0xba 24 Primary;
    MODE_CURSOR2: READ_WRITE 0xbb 36 Primary;
    MODE_ATOMIC: READ_WRITE 0xbc 56 Primary;
    MODE_CREATEPROPBLOB: READ_WRITE 0xbd 16 Primary;
    MODE_DESTROYPROPBLOB: READ_WRITE 0xbe 4 Primary;
    SYNCOBJ_CREATE: READ_WRITE 0xbf 8 Render;
    SYNCOBJ_DESTROY: READ_WRITE 0xc0 8 Render;
    SYNCOBJ_HANDLE_TO_FD: READ_WRITE 0xc1 24 Render;
    SYNCOBJ_FD_TO_HANDLE: READ_WRITE 0xc2 24 Render;
    SYNCOBJ_WAIT: READ_WRITE 0xc3 40 Render;
    SYNCOBJ_RESET: READ_WRITE 0xc4 16 Render;
    SYNCOBJ_SIGNAL: READ_WRITE 0xc5 16 Render;
    MODE_CREATE_LEASE: READ_WRITE 0xc6 24 Primary;
    MODE_LIST_LESSEES: READ_WRITE 0xc7 16 Primary;
    MODE_GET_LEASE: READ_WRITE 0xc8 16 Primary;
    MODE_REVOKE_LEASE: READ_WRITE 0xc9 4 Primary;
    SYNCOBJ_TIMELINE_WAIT: READ_WRITE 0xca 48 Render;
    SYNCOBJ_QUERY: READ_WRITE 0xcb 24 Render;
    SYNCOBJ_TRANSFER: READ_WRITE 0xcc 32 Render;
    SYNCOBJ_TIMELINE_SIGNAL: READ_WRITE 0xcd 24 Render;
    MODE_GETFB2: READ_WRITE 0xce 104 Primary;
    SYNCOBJ_EVENTFD: READ_WRITE 0xcf 24 Render;
    MODE_CLOSEFB: READ_WRITE 0xd0 8 Primary;
    SET_CLIENT_NAME: READ_WRITE 0xd1 16 Render;
    GEM_CHANGE_HANDLE: READ_WRITE 0xd2 8 Render;
}

/// The request with a number, if the core knows one.
pub fn find(number: u8) -> Option<&'static DrmRequest> {
    let at = REQUESTS
        .binary_search_by_key(&number, |request| ioc_number(request.command))
        .ok()?;
    REQUESTS.get(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_found_by_its_number() {
        for request in REQUESTS {
            let found = find(ioc_number(request.command)).expect("it is in the table");
            assert_eq!(found.c, request.c);
        }
        assert!(find(0xff).is_none() && find(0x40).is_none());
    }
}
