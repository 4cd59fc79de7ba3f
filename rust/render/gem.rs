// SPDX-License-Identifier: GPL-2.0

//! amdgpu's requests about GEM objects: making, mapping by the CPU and the GPU, and what is noted of them.
//!
//! Handles, closing them, and DMA-bufs are requests of the DRM core. The kernel submits no work of
//! programs here, so there is nothing on an object to wait for.

use super::{
    device_info,
    Render, //
};
use crate::{
    bo::Bo,
    glue::{
        drm::{
            Gem,
            Opened, //
        },
        user, //
    },
    memory::{
        self,
        place::{
            self,
            Place, //
        },
        Created,
        Object,
        UserHandle, //
    },
    types::{
        GpuVa,
        PageRange, //
    },
    uapi::{
        abi::Abi,
        gem as abi, //
    },
    vm::MapFlags, //
};
use kernel::{
    prelude::*,
    transmute::AsBytes,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

type File<'a> = Opened<'a, Render>;

fn lookup(file: File<'_>, handle: u32) -> Result<Gem<Object>> {
    Gem::lookup(file, handle)
}

/// What may be asked for (`AMDGPU_GEM_CREATE_SETTABLE_MASK`).
const SETTABLE: u64 = abi::CREATE_CPU_ACCESS_REQUIRED
    | abi::CREATE_NO_CPU_ACCESS
    | abi::CREATE_CPU_GTT_USWC
    | abi::CREATE_VRAM_CLEARED
    | abi::CREATE_VM_ALWAYS_VALID
    | abi::CREATE_EXPLICIT_SYNC
    | abi::CREATE_VRAM_WIPE_ON_RELEASE
    | abi::CREATE_ENCRYPTED
    | abi::CREATE_GFX12_DCC
    | abi::CREATE_DISCARDABLE
    | abi::CREATE_COHERENT
    | abi::CREATE_UNCACHED
    | abi::CREATE_EXT_COHERENT;

/// What a buffer's alignment counts as, in bytes. Linux holds it as an `int`, rounds it up to pages and keeps
/// the number of pages in 32 bits (`amdgpu_gem_object_create`, `amdgpu_bo_create`), so nothing is refused:
/// upper bits are cut off, and what is negative wraps.
fn alignment(asked: u64) -> u64 {
    /// Of an address within a page.
    const WITHIN: u32 = PageRange::PAGE as u32 - 1;
    u64::from((asked as u32).wrapping_add(WITHIN) & !WITHIN)
}

/// GEM_CREATE.
///
/// # Errors
///
/// EINVAL for flags and places that don't exist or go together, for encrypted memory, and for memory of the
/// graphics engine, of which these chips have none; those of [`memory::create`].
pub(super) fn create(file: File<'_>, args: &mut abi::GemCreate) -> Result {
    let normal = u64::from(abi::DOMAIN_CPU | abi::DOMAIN_GTT | abi::DOMAIN_VRAM);
    let refused = abi::CREATE_ENCRYPTED;
    if args.domain_flags & (!SETTABLE | refused) != 0 || args.domains & !normal != 0 {
        return Err(EINVAL);
    }
    let request = memory::CreateRequest {
        size: args.bo_size,
        created: Created {
            alignment: alignment(args.alignment),
            domains: args.domains,
            // VRAM always is (`amdgpu_gem_create_ioctl`).
            flags: args.domain_flags | abi::CREATE_VRAM_CLEARED,
        },
    };
    let Render {
        processes, offsets, ..
    } = file.driver();
    let object = memory::create(offsets, processes, &request)?;
    *args = abi::GemCreate::of_handle(object.handle(file)?);
    Ok(())
}

/// GEM_MMAP.
///
/// # Errors
///
/// ENOENT for no handle, EPERM for an object that was made without access by the CPU, and for the program's own memory.
pub(super) fn mmap(file: File<'_>, args: &mut abi::GemMmap) -> Result {
    let handle = args.handle();
    *args = abi::GemMmap::default();
    let object = lookup(file, handle)?;
    let refused = object.created().flags & abi::CREATE_NO_CPU_ACCESS != 0;
    if refused || object.user().is_some() {
        return Err(EPERM);
    }
    args.addr_ptr = object.offset();
    Ok(())
}

/// GEM_WAIT_IDLE.
///
/// # Errors
///
/// ENOENT for no handle.
pub(super) fn wait_idle(file: File<'_>, args: &mut abi::GemWaitIdle) -> Result {
    lookup(file, args.handle)?;
    *args = abi::GemWaitIdle::default();
    Ok(())
}

/// Copies the first bytes of a buffer's words. Others stay as they are.
fn copy(to: &mut [[u32; 32]; 2], from: &[[u32; 32]; 2], bytes: u32) {
    let to = AsBytes::as_bytes_mut(to.as_flattened_mut());
    let from = AsBytes::as_bytes(from.as_flattened());
    for (to, from) in to.iter_mut().zip(from).take(bytes as usize) {
        *to = *from;
    }
}

/// GEM_METADATA. As upstream (`amdgpu_bo_set_metadata`, `amdgpu_bo_get_metadata`), of the words only what is said to be there
/// goes in and out, and to take them away leaves the flags.
///
/// # Errors
///
/// ENOENT for no handle, EINVAL for more words than there is room for.
pub(super) fn metadata(file: File<'_>, args: &mut abi::GemMetadata) -> Result {
    let object = lookup(file, args.handle)?;
    match args.op {
        abi::METADATA_GET => {
            let kept = *object.metadata().lock();
            args.tiling_info = kept.tiling;
            args.flags = kept.flags;
            args.data_size_bytes = kept.size;
            copy(&mut args.data, &kept.data, kept.size);
        }
        abi::METADATA_SET => {
            if args.data_size_bytes as usize > core::mem::size_of_val(&args.data) {
                return Err(EINVAL);
            }
            let mut kept = object.metadata().lock();
            kept.tiling = args.tiling_info;
            kept.size = args.data_size_bytes;
            kept.data = Default::default();
            copy(&mut kept.data, &args.data, args.data_size_bytes);
            if args.data_size_bytes > 0 {
                kept.flags = args.flags;
            }
        }
        // Upstream answers nothing to others, and finds no fault with them.
        _ => {}
    }
    Ok(())
}

/// GEM_USERPTR.
///
/// # Errors
///
/// EINVAL for what isn't whole pages and flags that don't exist, EFAULT for what is no memory of programs, EACCES for
/// writable memory that isn't to be watched; those of [`memory::create_user`].
pub(super) fn userptr(file: File<'_>, args: &mut abi::GemUserptr) -> Result {
    const KNOWN: u32 = abi::USERPTR_READONLY
        | abi::USERPTR_ANONONLY
        | abi::USERPTR_VALIDATE
        | abi::USERPTR_REGISTER;
    if (args.addr | args.size) % PageRange::PAGE != 0 {
        return Err(EINVAL);
    }
    if !user::access_ok(args.addr, args.size) {
        return Err(EFAULT);
    }
    if args.flags & !KNOWN != 0 {
        return Err(EINVAL);
    }
    let has = |flag| args.flags & flag != 0;
    if !has(abi::USERPTR_READONLY) && !has(abi::USERPTR_REGISTER) {
        return Err(EACCES);
    }
    let request = memory::UserRequest {
        address: args.addr,
        size: args.size,
        writable: !has(abi::USERPTR_READONLY),
        anonymous: has(abi::USERPTR_ANONONLY),
    };
    let Render {
        processes, offsets, ..
    } = file.driver();
    let validate = has(abi::USERPTR_VALIDATE);
    let object = memory::create_user(offsets, processes, &request, validate)?;
    args.handle = object.handle(file)?;
    Ok(())
}

/// Writes `entries` to an address of the program.
fn give<T: Abi>(address: u64, entries: &[T]) -> Result {
    let bytes = user::abi_bytes(entries);
    UserSlice::new(UserPtr::from_addr(address as usize), bytes.len())
        .writer()
        .write_slice(bytes)
}

/// GEM_OP.
///
/// # Errors
///
/// ENOENT for no handle, EFAULT when the answer can't be written, EINVAL for other questions, for more entries than
/// there can be, and to have another driver's memory in VRAM; EPERM to have a program's own elsewhere; ENOMEM.
pub(super) fn op(file: File<'_>, args: &mut abi::GemOp) -> Result {
    if args.padding != 0 {
        return Err(EINVAL);
    }
    let object = lookup(file, args.handle)?;
    match args.op {
        abi::OP_GET_GEM_CREATE_INFO => {
            let created = object.created();
            let info = abi::GemCreate {
                bo_size: object.memory().bo().size(),
                alignment: created.alignment,
                domains: created.domains,
                domain_flags: created.flags,
            };
            give(args.value, core::slice::from_ref(&info))
        }
        abi::OP_SET_PLACEMENT => {
            const DOMAINS: u32 = abi::DOMAIN_VRAM | abi::DOMAIN_GTT | abi::DOMAIN_CPU;
            let vram = args.value & u64::from(abi::DOMAIN_VRAM) != 0;
            if object.memory().bo().is_foreign() && vram {
                return Err(EINVAL);
            }
            if object.user().is_some() {
                return Err(EPERM);
            }
            object.set_domains(args.value & u64::from(DOMAINS));
            Ok(())
        }
        abi::OP_GET_MAPPING_INFO => {
            let size = core::mem::size_of::<abi::GemVmEntry>();
            let room = args.num_entries as usize;
            if room
                .checked_mul(size)
                .is_none_or(|bytes| bytes > i32::MAX as usize)
            {
                return Err(EINVAL);
            }
            let (found, count) = place::of_object(&file.file(), object.key(), room)?;
            args.num_entries = count;
            if found.is_empty() || found.len() < count as usize {
                return Ok(());
            }
            let mut entries = KVVec::with_capacity(found.len(), GFP_KERNEL_ACCOUNT)?;
            for placed in &found {
                let entry = abi::GemVmEntry {
                    addr: placed.at.start().get(),
                    size: placed.at.bytes(),
                    offset: placed.offset,
                    flags: placed.flags.into(),
                };
                entries.push(entry, GFP_KERNEL_ACCOUNT)?;
            }
            give(args.value, &entries)
        }
        _ => Err(EINVAL),
    }
}

/// GEM_LIST_HANDLES.
///
/// # Errors
///
/// EFAULT when the answer can't be written, EAGAIN when handles were made meanwhile, ENOMEM.
pub(super) fn list(file: File<'_>, args: &mut abi::GemListHandles) -> Result {
    let mut count: u32 = 0;
    file.each_object(|_, _, _| count = count.saturating_add(1));
    if args.num_entries < count || count == 0 {
        args.num_entries = count;
        return Ok(());
    }
    let mut entries = KVVec::with_capacity(count as usize, GFP_KERNEL_ACCOUNT)?;
    let mut more = false;
    file.each_object(|gem_handle, object, _| {
        let (created, bo) = (object.created(), object.memory().bo());
        let entry = abi::GemListHandlesEntry {
            gem_handle,
            flags: match bo.is_foreign() {
                true => abi::LIST_HANDLES_IS_IMPORT,
                false => 0,
            },
            size: bo.size(),
            preferred_domains: created.domains,
            alloc_flags: created.flags & SETTABLE,
            alignment: created.alignment,
        };
        more |= entries.push_within_capacity(entry).is_err();
    });
    if more {
        return Err(EAGAIN);
    }
    // CAST: No more than were counted.
    args.num_entries = entries.len() as u32;
    give(args.entries, &entries)
}

/// Flags of a mapping that has memory.
const VALID: u32 = abi::VM_DELAY_UPDATE
    | abi::VM_PAGE_READABLE
    | abi::VM_PAGE_WRITEABLE
    | abi::VM_PAGE_EXECUTABLE
    | abi::VM_MTYPE_MASK
    | abi::VM_PAGE_NOALLOC;
/// And of one without.
const VALID_PRT: u32 = abi::VM_DELAY_UPDATE | abi::VM_PAGE_PRT;

/// What stands for the object of pages that aren't resident: no object is there.
const NO_OBJECT: usize = 0;

/// The range of an address space that a request names.
///
/// # Errors
///
/// EINVAL for what is set aside or no address.
fn range(args: &abi::GemVa) -> Result<u64> {
    use device_info as space;
    let va = args.va_address;
    if va < space::RESERVED_BOTTOM || (space::HOLE_START..space::HOLE_END).contains(&va) {
        return Err(EINVAL);
    }
    let va = va & (space::VM_END - 1);
    match va.checked_add(args.map_size) {
        Some(end) if end <= space::VM_END - space::RESERVED_TOP => Ok(va),
        _ => Err(EINVAL),
    }
}

/// Waits for what the caller wants the update to wait for.
///
/// # Errors
///
/// EFAULT where there are no handles, ENOENT and EINVAL for those that name nothing to wait for, ENOMEM.
fn wait_for_fences(file: File<'_>, args: &abi::GemVa) -> Result {
    /// What `memdup_user` can have at once: KMALLOC_MAX_SIZE.
    const MOST: usize = 4 << 20;
    const SIZE: usize = core::mem::size_of::<u32>();
    let bytes = (args.num_syncobj_handles as usize).checked_mul(SIZE);
    let bytes = bytes.filter(|bytes| *bytes <= MOST).ok_or(ENOMEM)?;
    let mut handles = KVec::new();
    let from = UserPtr::from_addr(args.input_fence_syncobj_handles as usize);
    UserSlice::new(from, bytes).read_all(&mut handles, GFP_KERNEL_ACCOUNT | __GFP_NOWARN)?;
    for handle in handles.chunks_exact(SIZE) {
        match handle.try_into().map(u32::from_ne_bytes) {
            Ok(handle) if handle != 0 => file.wait_for(handle)?,
            _ => return Err(EINVAL),
        }
    }
    Ok(())
}

/// GEM_VA. Tables are written at once, also where the update may be delayed, so that what tells of the update is
/// signalled when the request ends.
///
/// # Errors
///
/// EINVAL for addresses, flags and operations that make no sense, ENOENT for no handle, also when it is closed meanwhile, for
/// no synchronisation object, or when nothing of it is mapped there; those of [`wait_for_fences`] and [`place`].
pub(super) fn va(file: File<'_>, args: &mut abi::GemVa) -> Result {
    let va = range(args)?;
    if args.flags & !VALID != 0 && args.flags & !VALID_PRT != 0 {
        return Err(EINVAL);
    }
    let operation = args.operation;
    if !(abi::VA_OP_MAP..=abi::VA_OP_REPLACE).contains(&operation) {
        return Err(EINVAL);
    }
    if args.flags & abi::VM_DELAY_UPDATE != 0 && args.vm_timeline_syncobj_out != 0 {
        return Err(EINVAL);
    }
    let has_object = operation != abi::VA_OP_CLEAR && !is_prt(args);
    let object = has_object.then(|| lookup(file, args.handle)).transpose()?;
    wait_for_fences(file, args)?;
    let notice = match args.vm_timeline_syncobj_out {
        0 => None,
        handle => Some(file.notice(handle, args.vm_timeline_point)?),
    };
    change(file, args, va, object)?;
    if let Some(notice) = notice {
        notice.done();
    }
    Ok(())
}

/// Whether it is about pages that aren't resident: they have no object.
fn is_prt(args: &abi::GemVa) -> bool {
    args.flags & abi::VM_PAGE_PRT != 0
}

/// Carries a checked GEM_VA out.
fn change(file: File<'_>, args: &abi::GemVa, va: u64, object: Option<Gem<Object>>) -> Result {
    let at = || PageRange::new(GpuVa::new(va), args.map_size);
    let opened = file.file();
    opened.gpu().alive()?;
    match (args.operation, object) {
        (abi::VA_OP_UNMAP, Some(object)) => place::unmap(&opened, object.key(), GpuVa::new(va)),
        (operation, Some(object)) => {
            let flags = object.memory().flags();
            let user = object.user();
            let writable = args.flags & abi::VM_PAGE_WRITEABLE != 0;
            let place = Place {
                object: object.key(),
                mapping: Some(object.mapping()),
                bo: object.memory().bo(),
                user,
                movable: object.movable(),
                at: at()?,
                offset: args.offset_in_bo,
                flags: MapFlags {
                    writable: writable && user.is_none_or(UserHandle::is_writable),
                    executable: args.flags & abi::VM_PAGE_EXECUTABLE != 0,
                    coherent: flags.coherent(),
                    uncached: flags.uncached()
                        || args.flags & abi::VM_MTYPE_MASK == abi::VM_MTYPE_UC,
                    ext_coherent: flags.ext_coherent(),
                },
                asked: args.flags,
            };
            place::map(&opened, &place, operation == abi::VA_OP_REPLACE)
        }
        (abi::VA_OP_CLEAR, None) => place::clear(&opened, at()?),
        (abi::VA_OP_UNMAP, None) => place::unmap(&opened, NO_OBJECT, GpuVa::new(va)),
        (operation, None) => {
            let at = at()?;
            let bo = Bo::nothing(opened.gpu().memory(), at.bytes())?;
            let place = Place {
                object: NO_OBJECT,
                mapping: None,
                bo: &bo,
                user: None,
                movable: None,
                at,
                offset: 0,
                flags: MapFlags::default(),
                asked: args.flags,
            };
            place::map(&opened, &place, operation == abi::VA_OP_REPLACE)
        }
    }
}
