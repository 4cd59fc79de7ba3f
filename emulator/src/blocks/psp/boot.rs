// SPDX-License-Identifier: MIT OR Apache-2.0

//! The boot loader: it takes one component after the other, and starts the secure OS.
//!
//! Source: Linux, `amdgpu/amdgpu_psp.c` (`psp_hw_start`, the order), `amdgpu/psp_v13_0.c`
//! (`psp_v13_0_bootloader_load_component`: bits 7:0 of the answer are an error). Which error has which
//! number is not public; this model has one.

use super::image::{Bad, Header};
use super::{undefined, READY, VMID};
use crate::device::{Env, Refused};
use crate::memory::Hub;
use crate::trace::Value;
use rkfd_hw::psp::boot;

/// The components in the order in which they come; a chip's file may lack some.
const ORDER: [u32; 10] = [
    boot::KEY_DATABASE,
    boot::SPL_TABLE,
    boot::SYSTEM_DRIVER,
    boot::SOC_DRIVER,
    boot::INTERFACE_DRIVER,
    boot::DEBUG_DRIVER,
    boot::RAS_DRIVER,
    boot::KEY_MANAGER,
    boot::SPDM_DRIVER,
    boot::SECURE_OS,
];
/// What each secure OS needs.
const NEEDED: [u32; 2] = [boot::KEY_DATABASE, boot::SYSTEM_DRIVER];
/// The answer to what it refuses.
const ERROR: u32 = 1;

/// What the boot loader has.
#[derive(Default)]
pub(super) struct Boot {
    loaded: Vec<u32>,
    error: u32,
    /// Somebody has seen that it is ready.
    seen: bool,
}

impl Boot {
    /// C2PMSG_35.
    pub fn look(&mut self) -> u32 {
        self.seen = true;
        READY | self.error
    }

    /// Takes a component from an address; the version of the secure OS once that is started.
    ///
    /// # Errors
    /// It comes out of order, is none, or is not there.
    pub fn load(
        &mut self,
        env: &dyn Env,
        command: u32,
        address: u64,
    ) -> Result<Option<u32>, Refused> {
        // `psp_v13_0_wait_for_bootloader`, before each component.
        if !std::mem::take(&mut self.seen) {
            return undefined(format!(
                "component {command:#x} comes before anybody has waited for the boot loader"
            ));
        }
        let taken = self.check(env, command, address);
        self.error = if taken.is_err() { ERROR } else { 0 };
        let version = taken?;
        self.loaded.push(command);
        let members = [
            ("command", Value::Hex(command.into())),
            ("address", Value::Hex(address)),
        ];
        env.trace().event("psp_boot", &members);
        Ok((command == boot::SECURE_OS).then_some(version))
    }

    fn check(&self, env: &dyn Env, command: u32, address: u64) -> Result<u32, Refused> {
        let place = |command: &u32| ORDER.iter().position(|known| known == command);
        let Some(now) = place(&command) else {
            return undefined(format!("the boot loader has no command {command:#x}"));
        };
        if self
            .loaded
            .iter()
            .filter_map(place)
            .any(|before| before >= now)
        {
            return undefined(format!("component {command:#x} comes too late"));
        }
        let missing = NEEDED.iter().find(|needed| !self.loaded.contains(needed));
        if let Some(missing) = missing.filter(|_| command == boot::SECURE_OS) {
            return undefined(format!("the secure OS comes before component {missing:#x}"));
        }
        let space = env.memory().space(Hub::Mm(0), VMID);
        let header = match Header::read(&space, address) {
            Ok(header) => header,
            Err(Bad::Fault(fault)) => return undefined(format!("component {command:#x}: {fault}")),
            Err(Bad::NoImage) => {
                return undefined(format!(
                    "component {command:#x} at {address:#x} is no image"
                ))
            }
        };
        let version = header.version;
        // A secure OS shows that it lives by a number that is not zero.
        Ok(version.max(1))
    }
}
