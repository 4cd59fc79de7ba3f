// SPDX-License-Identifier: GPL-2.0

//! The memory that a queue uses: found by address in the process' mappings and pinned.
//!
//! Each must be a mapping of its own, that starts at the address and has exactly the size that the
//! queue needs: so that none of it can be unmapped under the hardware's hands.
//!
//! Source: Linux, `kfd_queue_acquire_buffers`.

use super::{
    Kind,
    QueueParams, //
};
use crate::{
    chip::ChipInfo,
    process::{
        Buffers,
        DeviceState, //
    }, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

fn page_align(size: u64) -> Result<u64> {
    size.checked_next_multiple_of(PAGE_SIZE as u64)
        .ok_or(EINVAL)
}

/// Finds and pins what `params` name, in upstream's order.
///
/// # Errors
///
/// EINVAL when something isn't mapped as it must be, or a size isn't the chip's.
pub(super) fn acquire(
    state: &DeviceState,
    chip: &ChipInfo,
    params: &QueueParams,
) -> Result<Buffers> {
    const PAGE: u64 = PAGE_SIZE as u64;
    let mut others = KVec::with_capacity(4, GFP_KERNEL_ACCOUNT)?;
    others.push(state.pin_exact(params.wptr, PAGE)?, GFP_KERNEL_ACCOUNT)?;
    others.push(state.pin_exact(params.rptr, PAGE)?, GFP_KERNEL_ACCOUNT)?;
    let ring_size = params
        .ring
        .size
        .bytes()
        .checked_add(params.metadata_size)
        .ok_or(EINVAL)?;
    let ring = state.pin_exact(params.ring.address, page_align(ring_size)?)?;
    if matches!(params.kind, Kind::Sdma(_)) {
        return Ok(Buffers { ring, others });
    }
    let (eop, save) = (params.eop, params.save);
    if !eop.at.is_null() {
        if eop.bytes < chip.family.eop_buffer_size {
            return Err(EINVAL);
        }
        let size = page_align(eop.bytes.into())?;
        others.push(state.pin_exact(eop.at, size)?, GFP_KERNEL_ACCOUNT)?;
    }
    let sizes = &chip.cwsr;
    if save.stack_bytes != sizes.ctl_stack_size || save.bytes < sizes.cwsr_size {
        return Err(EINVAL);
    }
    // Areas of all XCCs, one after the other.
    let area = u64::from(save.bytes)
        .checked_add(sizes.debug_memory_size.into())
        .and_then(|area| area.checked_mul(chip.num_xcc.into()))
        .ok_or(EINVAL)?;
    others.push(
        state.pin_exact(save.at, page_align(area)?)?,
        GFP_KERNEL_ACCOUNT,
    )?;
    Ok(Buffers { ring, others })
}
