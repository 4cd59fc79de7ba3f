// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which firmware the chip's engines have been given.
//!
//! The device executes none of it and stands in for what it does, so all that matters is whether it is
//! there: an engine starts only with its firmware. It comes through the security processor, or through an
//! engine's own ports. A device that starts warm has all of it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Firmware of an engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Firmware {
    /// The run list controller's of an XCC.
    Rlc(u8),
    /// The same, and the controller runs.
    RlcStarted(u8),
    /// The compute micro engine's of an XCC.
    Mec(u8),
    /// The jump table of the compute micro engine of an XCC.
    MecJumpTable(u8),
    /// A copy engine's.
    Sdma(u8),
    /// The same, and the security processor lets the engine run.
    SdmaStarted(u8),
    /// The management unit's.
    Smu,
}

/// What there is of it.
#[derive(Default)]
pub struct Inventory(Mutex<Held>);

#[derive(Default)]
struct Held {
    /// All of it, since the device started warm.
    all: bool,
    some: BTreeSet<Firmware>,
    /// It keeps parts of VRAM.
    keeps: bool,
}

impl Inventory {
    /// None of it, or all.
    pub fn new(all: bool) -> Self {
        let inventory = Self::default();
        inventory.reset(all);
        inventory
    }

    /// Whether all of it was there from the start.
    pub fn was_there(&self) -> bool {
        self.held().all
    }

    /// Whether it is there.
    pub fn has(&self, firmware: Firmware) -> bool {
        let held = self.held();
        held.all || held.some.contains(&firmware)
    }

    /// It has come.
    pub fn add(&self, firmware: Firmware) {
        self.held().some.insert(firmware);
    }

    /// It is lost: what was there is written over. Returns whether it was there.
    pub fn remove(&self, firmware: Firmware) -> bool {
        self.held().some.remove(&firmware)
    }

    /// Whether it keeps parts of VRAM for itself, which nobody else may write.
    pub fn keeps(&self) -> bool {
        self.held().keeps
    }

    /// From now on it does, or doesn't.
    pub fn keep(&self, keeps: bool) {
        self.held().keeps = keeps;
    }

    /// Start-up state: none of it, or all.
    pub fn reset(&self, all: bool) {
        *self.held() = Held {
            all,
            ..Held::default()
        };
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
