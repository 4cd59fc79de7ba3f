// SPDX-License-Identifier: GPL-2.0

//! Calls that give buffer objects to others as DMA-bufs and take them.

use super::memory::Handle;
use crate::{
    glue::dma_buf::DmaBuf,
    process::{
        self,
        Process, //
    },
    uapi::memory as abi,
};
use kernel::prelude::*;

/// GET_DMABUF_INFO. There is no metadata: that comes with a render node's request of its own.
pub(super) fn info(process: &Process, args: &mut abi::GetDmabufInfoArgs) -> Result {
    if process.devices().is_empty() {
        return Err(EINVAL);
    }
    let info = process::dmabuf_info(&DmaBuf::get(args.dmabuf_fd)?)?;
    args.size = info.size;
    args.metadata_size = 0;
    args.flags = info.flags;
    args.gpu_id = info.gpu_id;
    Ok(())
}

/// EXPORT_DMABUF.
pub(super) fn export(process: &Process, args: &mut abi::ExportDmabufArgs) -> Result {
    let handle = Handle::parse(args.handle);
    let dmabuf = process.export(handle.gpu_id, handle.index)?;
    args.dmabuf_fd = dmabuf.fd(args.flags)?;
    Ok(())
}

/// IMPORT_DMABUF.
pub(super) fn import(process: &Process, args: &mut abi::ImportDmabufArgs) -> Result {
    process.with_device(args.gpu_id, |_, state| state.bound().map(|_| ()))?;
    let dmabuf = DmaBuf::get(args.dmabuf_fd)?;
    let index = process.import(args.gpu_id, dmabuf, args.va_addr)?;
    args.handle = u64::from(args.gpu_id) << 32 | u64::from(index);
    Ok(())
}
