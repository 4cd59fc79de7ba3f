// SPDX-License-Identifier: GPL-2.0

//! What differs between copy engines.

use crate::{
    hw::{
        regs::AnyReg,
        sdma::op,
        value::Bounded, //
    },
    regs::{
        Regs,
        Tables, //
    },
    ring::Ring,
    smu::Smu,
    types::{
        DoorbellWord,
        GpuVa,
        SdmaPlace,
        SdmaVersion, //
    }, //
};
use kernel::{
    device::Device,
    prelude::*,
    str::CStr,
    time::Delta, //
};

mod v4_4;
mod v7_0;

/// How long a queue that is turned off may go on: as long as a packet.
const IDLE: Delta = Delta::from_secs(2);

/// The halves of an address, the low one first, for two registers.
fn halves(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

/// Where an engine counts for how long a queue was at work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counts {
    /// In the process' memory, behind the queue's read pointer.
    Memory,
    /// In registers while the queue is on the engine, and in its MQD while it is not.
    Registers,
    /// Nowhere: the firmware doesn't keep it.
    Nowhere,
}

/// The copy engines of a version.
pub(crate) trait Hal: Sync {
    /// The tables of the registers that it uses.
    fn tables(&self) -> Tables;

    /// The file with which the driver starts the engines; `None` when it can't.
    fn file(&self) -> Option<&'static CStr> {
        None
    }

    /// Sees that an engine's firmware runs, and sets what must be before any queue is on it.
    ///
    /// # Errors
    ///
    /// ENODEV when it doesn't run and the driver can't start it.
    fn prepare(&self, dev: &Device, regs: &Regs, engine: u32) -> Result;

    /// Where the engine counts what a process' queue did, with that version of the compute firmware; 0 is unknown.
    fn counts(&self, mec: u32) -> Counts;

    /// What it has counted in registers of a queue that is on it. `None`: none is there, or it counts in memory.
    fn count(&self, _regs: &Regs, _place: SdmaPlace) -> Option<u64> {
        None
    }

    /// Takes every queue off an engine, and resets it if registers or the management unit can. It is to be
    /// prepared and enabled again.
    ///
    /// # Errors
    ///
    /// ETIME when the engine goes on with a queue, ENODEV.
    fn reset(&self, regs: &Regs, smu: &Smu, engine: u32) -> Result;

    /// Resets the kernel's queue of an engine, which gets no further; with it the engine where that is all that
    /// can be reset. The queue is to be set up again.
    ///
    /// # Errors
    ///
    /// As of [`Hal::reset`].
    fn reset_own(&self, regs: &Regs, smu: &Smu, engine: u32) -> Result {
        self.reset(regs, smu, engine)
    }

    /// The doorbell of a process' queue that is in the engine. `None`: none is, or the scheduling firmware
    /// looks after that.
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone.
    fn selected(&self, regs: &Regs, engine: u32) -> Result<Option<DoorbellWord>> {
        let _ = (regs, engine);
        Ok(None)
    }

    /// The registers that are shown of a queue, as runs: the first of a run in queue 0 of engine 0, and how many
    /// follow each other (`hqd_sdma_dump`).
    fn shown(&self) -> &'static [(AnyReg, u32)];

    /// The word of a register, of queue 0 of engine 0, in another queue. `None`: there is no such engine.
    fn word(&self, regs: &Regs, reg: AnyReg, place: SdmaPlace) -> Option<u32>;

    /// Turns on what an engine has as long as the driver has the engine, or off.
    fn enable(&self, regs: &Regs, engine: u32, on: bool);

    /// Sets the kernel's queue of an engine up, whose ring is empty, and turns it on.
    fn start_queue(&self, regs: &Regs, engine: u32, ring: &Ring);

    /// Turns the kernel's queue of an engine off, and waits until nothing of it is in progress.
    ///
    /// # Errors
    ///
    /// ETIME when that doesn't come, ENODEV when the device is gone.
    fn stop_queue(&self, regs: &Regs, engine: u32) -> Result;

    /// A packet that fills VRAM from an address on with zeroes: as many bytes as the number says, and one
    /// more, which are at most 1 GiB.
    fn fill(&self, at: GpuVa, bytes_less_one: Bounded<30>) -> [u32; 5];

    /// A packet that fills system memory from one word to another with a word; the last is so many bytes
    /// behind the first.
    fn fill_words(&self, at: GpuVa, word: u32, to_last: Bounded<30>) -> [u32; 5];

    /// A packet that copies bytes, as many as the number says and one more, at most 1 GiB; what is left of the words is
    /// skipped.
    fn copy(&self, from: GpuVa, to: GpuVa, bytes_less_one: Bounded<30>) -> [u32; 8];

    /// A packet of one word that is skipped.
    fn filler(&self) -> u32 {
        op::NOP.into()
    }

    /// A packet that has the engine run an indirect buffer of so many words, at an address that is a multiple
    /// of 32.
    fn indirect(&self, at: GpuVa, words: Bounded<20>) -> [u32; 6];

    /// A packet that stores a word after all that is before it.
    fn fence(&self, at: GpuVa, value: u32) -> [u32; 4];
}

/// The one of a version (`amdgpu_discovery_set_sdma_ip_blocks`).
pub(crate) fn hal(sdma: SdmaVersion) -> &'static dyn Hal {
    match sdma {
        SdmaVersion::V4_4_2 => &v4_4::Hal,
        SdmaVersion::V7_0_1 => &v7_0::Hal,
        #[cfg(rkfd_stub_chip)]
        SdmaVersion::Stub => &v7_0::Hal,
    }
}
