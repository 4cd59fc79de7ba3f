// SPDX-License-Identifier: GPL-2.0

//! A process' queues as it keeps them: what the program asked for, the hardware's part of it, and
//! the memory that it uses. What becomes of them is decided by the room `queue`.

use super::Pin;
use crate::{
    bo::Bo,
    counts::Count,
    sched::HwQueue,
    types::{
        DoorbellIndex,
        GpuVa, //
    },
    uapi::queue as abi, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

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

/// What UPDATE_QUEUE can change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingParams {
    /// 0 disables the queue.
    pub(crate) address: GpuVa,
    pub(crate) size: RingSize,
    pub(crate) percent: Percentage,
    pub(crate) priority: Priority,
    /// The XCC that runs PM4 packets.
    pub(crate) pm4_target_xcc: u8,
}

/// The memory that a queue uses, pinned.
pub(crate) struct Buffers {
    pub(crate) ring: Pin,
    pub(crate) others: KVec<Pin>,
}

impl Buffers {
    /// The buffer objects, for the scheduler to keep.
    pub(crate) fn bos(&self) -> Result<KVec<Arc<Bo>>> {
        let mut bos = KVec::with_capacity(self.others.len() + 1, GFP_KERNEL_ACCOUNT)?;
        bos.push(self.ring.bo().clone(), GFP_KERNEL_ACCOUNT)?;
        for pin in &self.others {
            bos.push(pin.bo().clone(), GFP_KERNEL_ACCOUNT)?;
        }
        Ok(bos)
    }
}

/// A queue of a process.
pub(crate) struct UserQueue {
    pub(crate) hw: Arc<HwQueue>,
    /// Index of its device in the process.
    pub(crate) device: usize,
    pub(crate) metadata_size: u64,
    pub(crate) ring: RingParams,
    /// Number of its doorbell in the process' slice: how interrupts name it.
    pub(crate) doorbell: DoorbellIndex,
    /// Where its waves are saved, in the program's address space.
    pub(crate) save_area: GpuVa,
    /// It has the process' global wave sync resources.
    pub(crate) gws: bool,
    pub(crate) buffers: Buffers,
    pub(crate) _count: Count,
}
