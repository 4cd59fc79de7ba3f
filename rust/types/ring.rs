// SPDX-License-Identifier: GPL-2.0

//! What a program chooses of a queue and can change later: its ring, its share of time, its priority.

use super::GpuVa;
use crate::uapi::queue as abi;
use kernel::prelude::*;

/// Bytes of a ring: a power of two, at least 1 KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RingSize(u32);

impl RingSize {
    /// 0 and small ones are raised to the smallest.
    ///
    /// # Errors
    ///
    /// EINVAL when it isn't a power of two.
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
    ///
    /// # Errors
    ///
    /// EINVAL when it is more than 100.
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
    /// # Errors
    ///
    /// EINVAL when it is more than 15.
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
    /// In the process' address space; 0 disables the queue.
    pub(crate) address: GpuVa,
    pub(crate) size: RingSize,
    pub(crate) percent: Percentage,
    pub(crate) priority: Priority,
    /// The XCC that runs PM4 packets.
    pub(crate) pm4_target_xcc: u8,
}

impl RingParams {
    /// Whether the queue should run (`QUEUE_IS_ACTIVE`).
    pub(crate) fn is_active(&self) -> bool {
        !self.address.is_null() && self.percent.get() != 0
    }
}
