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
use kernel::prelude::*;

/// GET_DMABUF_INFO. There is no metadata: that comes with a render node's request of its own.
pub(super) fn info(process: &Process, args: &mut abi::GetDmabufInfoArgs) -> Result {
    if process.devices().is_empty() {
        return Err(EINVAL);
    }
    let info = memory::info(&DmaBuf::get(args.dmabuf_fd)?)?;
    args.size = info.size;
    args.metadata_size = 0;
    args.flags = info.flags.get();
    args.gpu_id = info.gpu_id.get().into();
    Ok(())
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
