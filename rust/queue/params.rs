// SPDX-License-Identifier: GPL-2.0

//! What programs say about a queue, checked once, in upstream's order
//! (`set_queue_properties_from_user`).

use crate::{
    glue::user::access_ok,
    sched::Format,
    sdma::Wanted,
    uapi::queue as abi, //
};
use kernel::prelude::*;

/// Bytes of a ring: a power of two, at least 1 KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RingSize(u32);

impl RingSize {
    /// 0 and small ones are raised to the smallest.
    pub(crate) fn new(bytes: u32) -> Result<Self> {
        if bytes != 0 && !bytes.is_power_of_two() {
            return Err(EINVAL);
        }
        Ok(Self(bytes.max(abi::MIN_RING_SIZE)))
    }

    pub(crate) fn raw(self) -> u32 {
        self.0
    }

    pub(crate) fn bytes(self) -> u64 {
        self.0.into()
    }
}

/// A share of 0 to 100; with 0 the queue is disabled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Percentage(u8);

impl Percentage {
    /// From the field that has the share in its low byte.
    pub(crate) fn new(field: u32) -> Result<Self> {
        match (field & 0xff) as u8 {
            share if u32::from(share) <= abi::MAX_PERCENTAGE => Ok(Self(share)),
            _ => Err(EINVAL),
        }
    }

    pub(crate) fn get(self) -> u8 {
        self.0
    }
}

/// A priority of 0 to 15.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Priority(u8);

impl Priority {
    pub(crate) fn new(priority: u32) -> Result<Self> {
        match u8::try_from(priority) {
            Ok(p) if priority <= abi::MAX_PRIORITY => Ok(Self(p)),
            _ => Err(EINVAL),
        }
    }

    pub(crate) fn get(self) -> u8 {
        self.0
    }
}

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

/// What UPDATE_QUEUE can change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingParams {
    /// 0 disables the queue.
    pub(crate) address: u64,
    pub(crate) size: RingSize,
    pub(crate) percent: Percentage,
    pub(crate) priority: Priority,
    /// The XCC that runs PM4 packets.
    pub(crate) pm4_target_xcc: u8,
}

impl RingParams {
    /// Checks them.
    ///
    /// # Errors
    ///
    /// EINVAL for share, priority and size, EFAULT for an address that can't be user memory.
    pub(crate) fn new(address: u64, size: u32, percentage: u32, priority: u32) -> Result<Self> {
        let percent = Percentage::new(percentage)?;
        let priority = Priority::new(priority)?;
        if address != 0 && !access_ok(address, 8) {
            return Err(EFAULT);
        }
        Ok(Self {
            address,
            size: RingSize::new(size)?,
            percent,
            priority,
            // CAST: Bits 15:8.
            pm4_target_xcc: (percentage >> 8) as u8,
        })
    }
}

/// All that CREATE_QUEUE takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueParams {
    pub(crate) kind: Kind,
    pub(crate) ring: RingParams,
    pub(crate) metadata_size: u64,
    pub(crate) rptr: u64,
    pub(crate) wptr: u64,
    pub(crate) eop: u64,
    pub(crate) eop_size: u32,
    pub(crate) cwsr: u64,
    pub(crate) cwsr_size: u32,
    pub(crate) ctl_stack_size: u32,
}

impl QueueParams {
    /// Checks them. A small ring size is raised in `args` too: programs see it.
    ///
    /// # Errors
    ///
    /// EINVAL, EFAULT; ENOTSUPP (524) for an unknown type.
    pub(crate) fn new(args: &mut abi::CreateQueueArgs) -> Result<Self> {
        let ring = RingParams::new(
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
            rptr: args.read_pointer_address,
            wptr: args.write_pointer_address,
            eop: args.eop_buffer_address,
            // CAST: Upstream keeps the low half too.
            eop_size: args.eop_buffer_size as u32,
            cwsr: args.ctx_save_restore_address,
            cwsr_size: args.ctx_save_restore_size,
            ctl_stack_size: args.ctl_stack_size,
        })
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
