// SPDX-License-Identifier: GPL-2.0

//! Memory calls: operations on a process' address spaces and buffer objects, below `ioctl`.
//!
//! | file | what |
//! |---|---|
//! | [`space`] | taking an address space (ACQUIRE_VM) |
//! | [`alloc`] | making buffer objects |
//! | [`mapping`] | putting them into the address space and taking them out |
//! | [`restore`] | what happens when the program's own memory changes |
//! | [`dmabuf`] | giving buffer objects to others and taking theirs |
//! | [`eviction`] | moving those of GEM's out of VRAM and back |
//! | [`object`], [`gem`] | buffer objects that files of the DRM device have handles to |
//! | [`userptr`] | those of a program's own memory |
//! | [`place`] | putting those into a file's address space |
//! | [`spaces`] | the address spaces that an object may be in |
//!
//! What they work on is kept in `process`. Source: Linux, `amdgpu/amdgpu_amdkfd_gpuvm.c`.
//!
//! Lock order: process state -> (vm -> scheduler -> ring), mmap objects.

mod alloc;
mod dmabuf;
mod eviction;
mod gem;
mod mapping;
mod object;
pub(crate) mod place;
mod restore;
mod space;
mod spaces;
mod userptr;

pub(crate) use alloc::{
    alloc,
    AllocRequest, //
};
pub(crate) use dmabuf::{
    export,
    import,
    info, //
};
pub(crate) use eviction::MovableHandle;
pub(crate) use gem::{
    create,
    create_user,
    of_foreign,
    CreateRequest, //
};
pub(crate) use mapping::{
    map,
    unmap,
    unmap_all, //
};
pub(crate) use object::{
    Created,
    Metadata,
    Object, //
};
pub(crate) use space::{
    acquire,
    release, //
};
pub(crate) use userptr::{
    UserHandle,
    UserRequest, //
};
