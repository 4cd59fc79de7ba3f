// SPDX-License-Identifier: MIT OR Apache-2.0

//! The security processor's mailboxes: whether firmware runs.
//!
//! Sources: Linux, `amdgpu/amdgpu_discovery.c` (C2PMSG_33 bit 31: the boot firmware has finished),
//! `amdgpu/psp_v13_0.c`, `amdgpu/psp_v14_0.c` (C2PMSG_81: not zero while sOS runs; C2PMSG_35 bit 31:
//! the boot loader is ready for a command). Commands to it are not modelled. The registers' names
//! differ by generation, and a chip has those of its table.

use super::store::Store;
use crate::device::Env;
use crate::device::{IpBlock, Refused};
use crate::rules::is_cold;
use rkfd_hw::regs::RegInfo;
use std::sync::Arc;

/// C2PMSG_81 while sOS runs.
const SOS: u32 = 0x0038_0000;

/// The mailboxes.
pub struct Mp0 {
    env: Arc<dyn Env>,
    store: Store,
}

impl Mp0 {
    /// Firmware that runs, or, for a cold device, none.
    pub fn new(env: Arc<dyn Env>) -> Self {
        let mp0 = Self {
            env,
            store: Store::new(&[
                ("MP0_SMN_C2PMSG_33", 1 << 31),
                ("MP0_SMN_C2PMSG_81", 0),
                ("MPASP_SMN_C2PMSG_33", 1 << 31),
                ("MPASP_SMN_C2PMSG_35", 1 << 31),
                ("MPASP_SMN_C2PMSG_81", 0),
            ]),
        };
        mp0.start();
        mp0
    }

    /// A cold device has finished its boot firmware (discovery can be read), but has no sOS.
    fn start(&self) {
        if !is_cold(self.env.rules()) {
            self.store.set("MP0_SMN_C2PMSG_81", SOS);
            self.store.set("MPASP_SMN_C2PMSG_81", SOS);
        }
    }
}

impl IpBlock for Mp0 {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        self.store.read(reg)
    }

    fn write(&self, reg: &'static RegInfo, _: u32) -> Result<(), Refused> {
        match self.store.get(reg.reg.name) {
            Some(_) => Err(Refused::ReadOnly),
            None => Err(Refused::NotModelled),
        }
    }

    fn reset(&self) {
        self.store.reset();
        self.start();
    }
}
