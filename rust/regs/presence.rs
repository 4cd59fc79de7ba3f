// SPDX-License-Identifier: GPL-2.0

//! Who reaches registers while the whole device may be reset.
//!
//! A device that is being reset must be left alone. Whoever may come at any time says so before it reaches registers
//! ([`Regs::here`]), and the reset waits for those who were first ([`Regs::away`]). Linux does the same by
//! `reset_domain->sem`: the former by `down_read_trylock`, the latter by `down_write`.

use super::Regs;
use kernel::{
    sync::atomic::{
        Acquire,
        Atomic,
        Full,
        Release, //
    },
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

/// Between two looks whether somebody still reaches registers.
const LOOK: Delta = Delta::from_millis(1);

/// Whether the device is there, and for how many it has to stay.
pub(super) struct Presence {
    away: Atomic<u32>,
    users: Atomic<u32>,
}

impl Presence {
    pub(super) fn new() -> Self {
        Self {
            away: Atomic::new(0),
            users: Atomic::new(0),
        }
    }
}

/// The device is being reset as a whole; dropped, it is there again.
pub(crate) struct Away<'a>(&'a Presence);

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.away.store(0, Release);
    }
}

/// The device is not reset as a whole until this is dropped.
pub(crate) struct Here<'a>(&'a Presence);

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Release);
    }
}

impl Regs {
    /// Keeps the device from being reset as a whole, for as long as it takes to reach a few registers or to wait for one.
    /// `None` while it is being reset: its registers read as all ones then, which means nothing, and stores are lost.
    /// Waits for nobody.
    pub(crate) fn here(&self) -> Option<Here<'_>> {
        // Each side stores first and loads then, in full order: one of the two sees the other.
        self.presence.users.fetch_add(1, Full);
        let here = Here(&self.presence);
        (!self.is_away()).then_some(here)
    }

    /// The same, and the graphics core is there, which on some chips is not so before its firmware was handed out
    /// ([`Regs::put_graphics_away`]).
    pub(crate) fn here_with_graphics(&self) -> Option<Here<'_>> {
        self.here().filter(|_| self.no_graphics.load(Acquire) == 0)
    }

    /// The device is about to be reset as a whole: nobody is [here](Self::here) any more. Waits for those who are, each
    /// of whom has a limit, so the caller holds no lock that one of them may want.
    pub(crate) fn away(&self) -> Away<'_> {
        self.presence.away.xchg(1, Full);
        while self.presence.users.load(Acquire) != 0 {
            fsleep(LOOK);
        }
        Away(&self.presence)
    }

    /// Whether the device is being reset as a whole.
    pub(crate) fn is_away(&self) -> bool {
        self.presence.away.load(Acquire) != 0
    }
}
