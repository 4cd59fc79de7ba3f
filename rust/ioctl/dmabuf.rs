// SPDX-License-Identifier: GPL-2.0

//! Calls that give buffer objects to others as DMA-bufs and take them.

use super::{
    gpu_id,
    memory::Handle, //
};
use crate::{
    glue::dma_buf::DmaBuf,
    memory,
    process::Process,
    types::GpuVa,
    uapi::memory as abi, //
};
use kernel::{
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

/// GET_DMABUF_INFO, with the metadata that GEM_METADATA set.
///
/// # Errors
///
/// EINVAL without a GPU, for what [`memory::info`] can't describe, and for too little room for metadata, when the sizes of
/// both are told all the same; EBADF for no descriptor; EFAULT when the metadata can't be written.
pub(super) fn info(process: &Process, args: &mut abi::GetDmabufInfoArgs) -> Result {
    if process.devices().is_empty() {
        return Err(EINVAL);
    }
    let info = memory::info(&DmaBuf::get(args.dmabuf_fd)?)?;
    args.size = info.size;
    let room = core::mem::replace(&mut args.metadata_size, info.metadata.size);
    if info.metadata.size > room {
        return Err(EINVAL);
    }
    args.flags = info.flags.get();
    args.gpu_id = info.gpu_id.get().into();
    let bytes = info.metadata.bytes();
    if args.metadata_ptr == 0 || bytes.is_empty() {
        return Ok(());
    }
    UserSlice::new(UserPtr::from_addr(args.metadata_ptr as usize), bytes.len())
        .writer()
        .write_slice(bytes)
}

/// EXPORT_DMABUF.
pub(super) fn export(process: &Process, args: &mut abi::ExportDmabufArgs) -> Result {
    let handle = Handle::parse(args.handle)?;
    let dmabuf = memory::export(process, handle.gpu_id, handle.id)?;
    args.dmabuf_fd = dmabuf.fd(args.flags)?;
    Ok(())
}

/// IMPORT_DMABUF.
pub(super) fn import(process: &Process, args: &mut abi::ImportDmabufArgs) -> Result {
    let gpu_id = gpu_id(args.gpu_id)?;
    process.with_device(gpu_id, |_, state| state.bound().map(|_| ()))?;
    let dmabuf = DmaBuf::get(args.dmabuf_fd)?;
    let id = memory::import(process, gpu_id, dmabuf, GpuVa::new(args.va_addr))?;
    args.handle = Handle { gpu_id, id }.bits();
    Ok(())
}
