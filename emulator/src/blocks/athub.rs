// SPDX-License-Identifier: MIT OR Apache-2.0

//! The address translation hub: which process (PASID) each VMID serves.
//!
//! The scheduler's firmware, or the driver, writes `ATC_VMIDn_PASID_MAPPING`; the interrupt
//! handler's tables (`IH_VMID_n_LUT`) have the same content for interrupts.
//! Source: Linux, `amdgpu/amdgpu_amdkfd_gfx_v9.c` (`kgd_gfx_v9_set_pasid_vmid_mapping`).

use crate::chip::device::Soc;
use crate::device::{IpBlock, Refused};
use rkfd_hw::regs::athub_1_8_0::ATC_VMID0_PASID_MAPPING as Mapping;
use rkfd_hw::regs::RegInfo;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// The mappings, and the interrupt handler's tables for both hubs.
#[derive(Default)]
pub struct Pasids {
    atc: [AtomicU32; 16],
    /// Which mappings were updated; the driver clears them.
    updated: AtomicU32,
    gfx: [AtomicU32; 16],
    mm: [AtomicU32; 16],
}

impl Pasids {
    /// The process of a VMID, if it has one.
    pub fn get(&self, vmid: u8) -> Option<u16> {
        let value = self.atc.get(usize::from(vmid))?.load(Ordering::Acquire);
        (Mapping::VALID.get(value) != 0).then_some(Mapping::PASID.get(value) as u16)
    }

    /// The VMIDs that serve a process: a bit mask.
    pub fn vmids_of(&self, pasid: u16) -> u16 {
        (0..16u8)
            .filter(|&vmid| self.get(vmid) == Some(pasid))
            .fold(0, |mask, vmid| mask | (1 << vmid))
    }

    /// Gives a VMID to a process, or takes it away, everywhere: as the scheduler's firmware does.
    pub fn bind(&self, vmid: u8, pasid: Option<u16>) {
        let value = pasid.map_or(0, |p| Mapping::VALID.set(u32::from(p), 1));
        self.set_mapping(vmid, value);
        for table in [&self.gfx, &self.mm] {
            if let Some(slot) = table.get(usize::from(vmid)) {
                slot.store(pasid.unwrap_or(0).into(), Ordering::Release);
            }
        }
    }

    /// The process that an interrupt of a VMID names: the interrupt handler's table.
    pub fn of_interrupt(&self, vmid: u8, mm: bool) -> u16 {
        let table = if mm { &self.mm } else { &self.gfx };
        table
            .get(usize::from(vmid))
            .map_or(0, |slot| slot.load(Ordering::Acquire) as u16)
    }

    /// Writes an entry of the interrupt handler's table.
    pub fn set_of_interrupt(&self, vmid: u8, mm: bool, value: u32) {
        let table = if mm { &self.mm } else { &self.gfx };
        if let Some(slot) = table.get(usize::from(vmid)) {
            slot.store(value, Ordering::Release);
        }
    }

    fn set_mapping(&self, vmid: u8, value: u32) {
        if let Some(slot) = self.atc.get(usize::from(vmid)) {
            slot.store(value, Ordering::Release);
            self.updated.fetch_or(1 << vmid, Ordering::AcqRel);
        }
    }

    /// Start-up state: no process anywhere.
    pub fn reset(&self) {
        for slot in self.atc.iter().chain(&self.gfx).chain(&self.mm) {
            slot.store(0, Ordering::Release);
        }
        self.updated.store(0, Ordering::Release);
    }
}

/// The registers.
pub struct Athub {
    soc: Arc<Soc>,
}

impl Athub {
    /// The block.
    pub fn new(soc: Arc<Soc>) -> Self {
        Self { soc }
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
        let pasids = &self.soc.pasids;
        if reg.reg.name == "ATC_VMID_PASID_MAPPING_UPDATE_STATUS" {
            return Ok(pasids.updated.load(Ordering::Acquire));
        }
        let slot = Self::vmid(reg).and_then(|vmid| pasids.atc.get(usize::from(vmid)));
        slot.map(|slot| slot.load(Ordering::Acquire))
            .ok_or(Refused::NotModelled)
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        if reg.reg.name == "ATC_VMID_PASID_MAPPING_UPDATE_STATUS" {
            // Write one to clear.
            self.soc.pasids.updated.fetch_and(!value, Ordering::AcqRel);
            return Ok(());
        }
        let vmid = Self::vmid(reg).ok_or(Refused::NotModelled)?;
        let known = Mapping::PASID.mask() | Mapping::NO_INVALIDATION.mask() | Mapping::VALID.mask();
        if value & !known != 0 {
            return Err(Refused::Undefined("reserved bits".into()));
        }
        self.soc.pasids.set_mapping(vmid, value);
        Ok(())
    }

    fn reset(&self) {
        self.soc.pasids.reset();
    }
}
