// SPDX-License-Identifier: MIT OR Apache-2.0

//! Firmware that the run list controller (RLC) hands out: it comes part by part into the trusted memory
//! region, and a command starts the unit that starts the graphics core (IMU) and the controller, which give
//! each engine its own.
//!
//! Sources: Linux, `amdgpu/amdgpu_psp.c` (`psp_load_non_psp_fw`, `psp_rlc_autoload_start`, `psp_load_toc`), `amdgpu/gfx_v12_0.c` (`gfx_v12_0_wait_for_rlc_autoload_complete`). What the
//! table of contents says, and how large the region is, is not public: the answer is this model's own.

use super::{Psp, State};
use crate::device::firmware::Firmware;
use rkfd_hw::psp::Command;

/// How the run list controller gives engines their firmware.
#[derive(Clone, Copy)]
pub struct Autoload {
    /// The parts without which an engine lacks something, by their numbers in LOAD_IP_FW.
    pub needs: &'static [u32],
    /// What the engines then have.
    pub gives: &'static [Firmware],
}

/// The trusted memory region's size that the table of contents has as its consequence.
const REGION: u32 = 32 << 20;

impl Psp {
    /// LOAD_TOC.
    pub(super) fn contents(&self, words: &mut Command) -> Result<(), String> {
        let (at, size) = (words.get(Command::TOC_ADDR), words.get(Command::TOC_SIZE));
        self.look_at("LOAD_TOC", 0, at, size)?;
        words.set(Command::TMR_NEEDED, REGION);
        Ok(())
    }

    /// AUTOLOAD_RLC. Where parts are missing it never completes.
    pub(super) fn autoload(&self, state: &State) -> Result<(), String> {
        let Some(autoload) = self.takes.autoload else {
            return Ok(());
        };
        let missing = autoload
            .needs
            .iter()
            .find(|part| !state.parts.contains(part));
        if let Some(missing) = missing {
            return Err(format!("AUTOLOAD_RLC without a part of type {missing:#x}"));
        }
        let firmware = self.env.firmware();
        autoload.gives.iter().for_each(|&one| firmware.add(one));
        Ok(())
    }
}
