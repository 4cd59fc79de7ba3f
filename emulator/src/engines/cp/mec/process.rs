// SPDX-License-Identifier: MIT OR Apache-2.0

//! Processes, as a scheduler lists them and while they have a VMID.

use super::Owner;
use crate::engines::cp::front::registers::Vmid;
use rkfd_isa::Handler;
use std::time::{Duration, Instant};

/// A process as the driver has described it to the scheduler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    pub pasid: u16,
    /// With its flags, as for a hub's context.
    pub page_table_base: u64,
    /// How long it may keep a VMID when others wait.
    pub quantum: Duration,
    /// VM_CONTEXT_CNTL of its VMID in the graphics hub, where the scheduler sets it.
    pub control: Option<u32>,
    /// The registers of its VMID's bank that the scheduler sets.
    pub bank: Bank,
    /// The driver's cleaner shader runs before its waves.
    pub cleans: bool,
    /// Its trap handler, which the scheduler sets in the bank, too.
    pub handler: Handler,
}

/// What a scheduler sets of a VMID's bank; the rest stays as the driver has written it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bank {
    Whole(Vmid),
    /// SPI_GDBG_PER_VMID_CNTL, and TCP_WATCH0_CNTL to 3.
    Debug(u32, [u32; 4]),
}

/// A process that has a VMID.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    pub owner: Owner,
    pub queues: u32,
    /// When it got its VMID.
    pub since: Instant,
    /// How long it may keep it when others wait.
    pub quantum: Duration,
    /// Its queues are asked to leave, for its VMID.
    pub leaving: bool,
}
