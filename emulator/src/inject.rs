// SPDX-License-Identifier: MIT OR Apache-2.0

//! Faults on request (`--inject NAME`): a broken device, or a mutation that proves that a test
//! which compares results would notice.

use clap::ValueEnum;

/// One fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Fault {
    /// The device falls off the bus: after some accesses all register reads give ffffffff.
    DeadReads,
    /// The device is pulled out of its slot while programs use it: after some interrupts it falls off
    /// the bus.
    PulledOut,
    /// The scheduling firmware never reports that queues are off: the command processor does not
    /// complete QUERY_STATUS, MES does not get beyond a user queue's REMOVE_QUEUE.
    NoFence,
    /// The discovery binary has a wrong signature.
    BadDiscoverySignature,
    /// The discovery binary has a wrong checksum.
    BadDiscoveryChecksum,
    /// The discovery binary lists a graphics core of an unknown version.
    UnknownGcVersion,
    /// The firmware does not run, as before PSP load.
    Cold,
    /// MES never writes a completion fence.
    MesNoFence,
    /// MES fails every frame but QUERY_SCHEDULER_STATUS.
    MesFailFrame,
    /// MES fails every REMOVE_QUEUE.
    MesRefuseRemove,
    /// MES fails the first ADD_QUEUE of a user queue.
    MesRefuseAdd,
    /// The first user queue does not leave its HQD when it is asked to, which run lists do often:
    /// there, not while waves of it run. It has to be reset.
    HangQueue,
    /// As `HangQueue`, and a reset of the queue does not end it: its pipe has to be reset.
    WedgeQueue,
    /// Mutation: the first page walk of a user VMID for a write gets a wrong page address.
    StalePte,
    /// Mutation: one bit of the second fetched instruction word is flipped.
    FlipInstructionBit,
    /// Mutation: the last body word of an AQL packet is hidden until the next fetch.
    DropRelease,
}

/// The faults of this run.
#[derive(Clone, Default, Debug)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// A set of faults.
    pub fn new(faults: &[Fault]) -> Self {
        Self(faults.to_vec())
    }

    /// Whether a fault was asked for.
    pub fn has(&self, fault: Fault) -> bool {
        self.0.contains(&fault)
    }
}
