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
        Metadata,
        Object, //
    },
    types::{
        GpuVa,
        PageRange, //
    },
    uapi::gem as abi,
    vm::MapFlags, //
};
use kernel::{
    prelude::*,
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
        counts,
        memory,
        offsets,
        ..
    } = file.driver();
    let object = memory::create(offsets, counts, memory, &request)?;
    *args = abi::GemCreate::of_handle(object.handle(file)?);
    Ok(())
}

/// GEM_MMAP.
///
/// # Errors
///
/// ENOENT for no handle, EPERM for an object that was made without access by the CPU.
pub(super) fn mmap(file: File<'_>, args: &mut abi::GemMmap) -> Result {
    let handle = args.handle();
    *args = abi::GemMmap::default();
    let object = lookup(file, handle)?;
    if object.created().flags & abi::CREATE_NO_CPU_ACCESS != 0 {
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

/// GEM_METADATA.
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
            args.data = kept.data;
        }
        abi::METADATA_SET => {
            if args.data_size_bytes as usize > core::mem::size_of_val(&args.data) {
                return Err(EINVAL);
            }
            *object.metadata().lock() = Metadata {
                tiling: args.tiling_info,
                flags: args.flags,
                size: args.data_size_bytes,
                data: args.data,
            };
        }
        // Upstream answers nothing to others, and finds no fault with them.
        _ => {}
    }
    Ok(())
}

/// GEM_OP.
///
/// # Errors
///
/// ENOENT for no handle, EFAULT when the answer can't be written, EINVAL for other questions.
pub(super) fn op(file: File<'_>, args: &mut abi::GemOp) -> Result {
    if args.padding != 0 {
        return Err(EINVAL);
    }
    let object = lookup(file, args.handle)?;
    if args.op != abi::OP_GET_GEM_CREATE_INFO {
        return Err(EINVAL);
    }
    let created = object.created();
    let info = abi::GemCreate {
        bo_size: object.memory().bo().size(),
        alignment: created.alignment,
        domains: created.domains,
        domain_flags: created.flags,
    };
    let bytes = user::abi_bytes(core::slice::from_ref(&info));
    UserSlice::new(UserPtr::from_addr(args.value as usize), bytes.len())
        .writer()
        .write_slice(bytes)
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

/// GEM_VA. Tables are written at once, also where the update may be delayed.
///
/// # Errors
///
/// EINVAL for addresses, flags and operations that make no sense, ENOENT for no handle, or when nothing of it
/// is mapped there, and for synchronisation objects, of which no file has any; EOPNOTSUPP for mappings
/// without memory; those of [`place`].
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
    if operation != abi::VA_OP_CLEAR && args.flags & abi::VM_PAGE_PRT != 0 {
        return Err(EOPNOTSUPP);
    }
    let object = match operation {
        abi::VA_OP_CLEAR => None,
        _ => Some(lookup(file, args.handle)?),
    };
    if args.num_syncobj_handles != 0 || args.vm_timeline_syncobj_out != 0 {
        return Err(ENOENT);
    }
    let at = || PageRange::new(GpuVa::new(va), args.map_size);
    let opened = file.file();
    opened.gpu().alive()?;
    match (operation, object) {
        (abi::VA_OP_UNMAP, Some(object)) => place::unmap(&opened, object.key(), GpuVa::new(va)),
        (_, Some(object)) => {
            let flags = object.memory().flags();
            let place = Place {
                object: object.key(),
                bo: object.memory().bo(),
                at: at()?,
                offset: args.offset_in_bo,
                flags: MapFlags {
                    writable: args.flags & abi::VM_PAGE_WRITEABLE != 0,
                    executable: args.flags & abi::VM_PAGE_EXECUTABLE != 0,
                    coherent: flags.coherent(),
                    uncached: flags.uncached()
                        || args.flags & abi::VM_MTYPE_MASK == abi::VM_MTYPE_UC,
                    ext_coherent: flags.ext_coherent(),
                },
            };
            let replace = operation == abi::VA_OP_REPLACE;
            place::map(&opened, &place, replace)
        }
        (_, None) => place::clear(&opened, at()?),
    }
}
