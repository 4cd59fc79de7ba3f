// SPDX-License-Identifier: MIT OR Apache-2.0

//! The address translation hub: which process (PASID) each VMID serves.
//!
//! The scheduler's firmware, or the driver, writes `ATC_VMIDn_PASID_MAPPING`; the interrupt
//! handler's tables (`IH_VMID_n_LUT`) have the same content for interrupts.
//! Without CG_ENABLE and CG_MEM_LS_ENABLE of ATHUB_MISC_CNTL it takes power while it is idle.
//! Sources: Linux, `amdgpu/amdgpu_amdkfd_gfx_v9.c` (`kgd_gfx_v9_set_pasid_vmid_mapping`), `amdgpu/athub_v4_1_0.c`.

use super::store::Store;
use crate::device::load::awake;
use crate::device::Env;
use crate::device::{IpBlock, Refused};
use rkfd_hw::regs::athub_1_8_0::ATC_VMID0_PASID_MAPPING as Mapping;
use rkfd_hw::regs::athub_4_1_0::ATHUB_MISC_CNTL as Gating;
use rkfd_hw::regs::{RegInfo, Value};
use std::sync::Arc;

/// The registers.
pub struct Athub {
    env: Arc<dyn Env>,
    /// What gates its clocks.
    store: Store,
    /// Drivers gate them: those of Navi 48 (`soc24_common_early_init`).
    is_gated: bool,
}

impl Athub {
    /// The block, whose clocks drivers gate or not.
    pub fn new(env: Arc<dyn Env>, is_gated: bool) -> Self {
        let store = Store::zeroed(&["ATHUB_MISC_CNTL"]);
        let block = Self {
            env,
            store,
            is_gated,
        };
        block.gate();
        block
    }

    /// Tells whether it takes power without work.
    fn gate(&self) {
        let word = Value::<Gating>::new(self.store.get("ATHUB_MISC_CNTL").unwrap_or(0));
        let sleeps = word.is_set(Gating::CG_ENABLE) && word.is_set(Gating::CG_MEM_LS_ENABLE);
        let awake = self.is_gated && !sleeps;
        self.env.load().set_awake(awake::TRANSLATION, awake);
    }

    fn vmid(reg: &RegInfo) -> Option<u8> {
        reg.reg
            .name
            .strip_prefix("ATC_VMID")?
            .strip_suffix("_PASID_MAPPING")?
            .parse()
            .ok()
    }
}

impl IpBlock for Athub {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        let pasids = self.env.pasids();
        if reg.reg.name == "ATC_VMID_PASID_MAPPING_UPDATE_STATUS" {
            return Ok(pasids.updated());
        }
        let mapping = Self::vmid(reg).and_then(|vmid| pasids.mapping(vmid));
        mapping.map_or_else(|| self.store.read(reg), Ok)
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        if reg.reg.name == "ATC_VMID_PASID_MAPPING_UPDATE_STATUS" {
            // Write one to clear.
            self.env.pasids().clear_updated(value);
            return Ok(());
        }
        let Some(vmid) = Self::vmid(reg) else {
            self.store.write(reg, value)?;
            self.gate();
            return Ok(());
        };
        let known = Mapping::PASID.mask() | Mapping::NO_INVALIDATION.mask() | Mapping::VALID.mask();
        if value & !known != 0 {
            return Err(Refused::Undefined("reserved bits".into()));
        }
        self.env.pasids().set_mapping(vmid, value);
        Ok(())
    }

    fn reset(&self) {
        self.env.pasids().reset();
        self.store.reset();
        self.gate();
    }
}
