// SPDX-License-Identifier: GPL-2.0

//! The machine doesn't sleep while a GPU is in use by this driver.
//!
//! Upstream saves VRAM and loads all firmware anew (`amdgpu_pmops_suspend`, `amdgpu_pmops_resume`). A GPU
//! that loses its power loses its firmware, which this driver can't load yet, so it refuses.

use crate::{
    device::Handle,
    glue::sleep::{
        SleepWatch,
        Sleeper, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A GPU that can't sleep.
pub(super) struct Awake {
    dev: Arc<Handle>,
}

impl Awake {
    /// From now on the machine doesn't sleep.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(super) fn new(dev: &Arc<Handle>) -> Result<SleepWatch<Self>> {
        SleepWatch::new(Self { dev: dev.clone() })
    }
}

impl Sleeper for Awake {
    /// A device that has gone doesn't mind.
    fn may_sleep(&self) -> Result {
        if self.dev.alive().is_err() {
            return Ok(());
        }
        dev_err!(
            self.dev.device(),
            "the GPU can't sleep: its firmware would be lost; unload the module (rmmod rkfd) before\n"
        );
        Err(EBUSY)
    }
}
