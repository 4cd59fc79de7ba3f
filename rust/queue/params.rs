// SPDX-License-Identifier: GPL-2.0

//! What programs ask for in a queue, checked once, in upstream's order
//! (`set_queue_properties_from_user`).

use crate::{
    glue::user::access_ok,
    sched::Format,
    sdma::Wanted,
    types::{
        Buffer,
        GpuVa,
        Percentage,
        Priority,
        RingParams,
        RingSize,
        SaveArea, //
    },
    uapi::queue as abi, //
};
use kernel::prelude::*;

/// What a queue is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    ComputePm4,
    ComputeAql,
    /// Copies.
    Sdma(Wanted),
}

impl Kind {
    /// Its packets.
    pub(crate) fn format(self) -> Format {
        match self {
            Self::ComputePm4 => Format::Pm4,
            Self::ComputeAql => Format::Aql,
            Self::Sdma(_) => Format::Sdma,
        }
    }
}

/// Checks what UPDATE_QUEUE can change.
///
/// # Errors
///
/// EINVAL for share, priority and size, EFAULT for an address that can't be user memory.
pub(crate) fn ring_params(
    address: u64,
    size: u32,
    percentage: u32,
    priority: u32,
) -> Result<RingParams> {
    let percent = Percentage::new(percentage)?;
    let priority = Priority::new(priority)?;
    if address != 0 && !access_ok(address, 8) {
        return Err(EFAULT);
    }
    Ok(RingParams {
        address: GpuVa::new(address),
        size: RingSize::new(size)?,
        percent,
        priority,
        // CAST: Bits 15:8.
        pm4_target_xcc: (percentage >> 8) as u8,
    })
}

/// All that CREATE_QUEUE takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueParams {
    pub(crate) kind: Kind,
    pub(crate) ring: RingParams,
    pub(crate) metadata_size: u64,
    pub(crate) rptr: GpuVa,
    pub(crate) wptr: GpuVa,
    pub(crate) eop: Buffer,
    pub(crate) save: SaveArea,
}

impl QueueParams {
    /// Checks them. A small ring size is raised in `args` too: programs see it.
    ///
    /// # Errors
    ///
    /// EINVAL, EFAULT; ENOTSUPP (524) for an unknown type.
    pub(crate) fn new(args: &mut abi::CreateQueueArgs) -> Result<Self> {
        let ring = ring_params(
            args.ring_base_address,
            args.ring_size,
            args.queue_percentage,
            args.queue_priority,
        )?;
        args.ring_size = ring.size.raw();
        let metadata = args.metadata_ring_size;
        if metadata != 0 && !metadata.is_power_of_two() {
            return Err(EINVAL);
        }
        for pointer in [args.read_pointer_address, args.write_pointer_address] {
            if !access_ok(pointer, 4) {
                return Err(EFAULT);
            }
        }
        for buffer in [args.eop_buffer_address, args.ctx_save_restore_address] {
            if buffer != 0 && !access_ok(buffer, 4) {
                return Err(EFAULT);
            }
        }
        let kind = match args.queue_type {
            abi::QUEUE_TYPE_COMPUTE => Kind::ComputePm4,
            abi::QUEUE_TYPE_COMPUTE_AQL => Kind::ComputeAql,
            abi::QUEUE_TYPE_SDMA => Kind::Sdma(Wanted::Bus),
            abi::QUEUE_TYPE_SDMA_XGMI => Kind::Sdma(Wanted::Link),
            abi::QUEUE_TYPE_SDMA_BY_ENG_ID => Kind::Sdma(Wanted::Engine(args.sdma_engine_id)),
            _ => return Err(ENOTSUPP),
        };
        Ok(Self {
            kind,
            ring,
            metadata_size: if kind == Kind::ComputeAql {
                metadata.into()
            } else {
                0
            },
            rptr: GpuVa::new(args.read_pointer_address),
            wptr: GpuVa::new(args.write_pointer_address),
            eop: Buffer {
                at: GpuVa::new(args.eop_buffer_address),
                // CAST: Upstream keeps the low half too.
                bytes: args.eop_buffer_size as u32,
            },
            save: SaveArea {
                at: GpuVa::new(args.ctx_save_restore_address),
                bytes: args.ctx_save_restore_size,
                stack_bytes: args.ctl_stack_size,
            },
        })
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
