// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which process (PASID) each VMID serves: what the address translation hub and the interrupt handler
//! look up. Their registers show it; the scheduler's firmware changes it.

use rkfd_hw::regs::athub_1_8_0::ATC_VMID0_PASID_MAPPING as Mapping;
use rkfd_hw::regs::Value;
use std::sync::atomic::{AtomicU32, Ordering};

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
        let value = Value::<Mapping>::new(self.atc.get(usize::from(vmid))?.load(Ordering::Acquire));
        (value.get(Mapping::VALID) != 0).then_some(value.get(Mapping::PASID) as u16)
    }

    /// The VMIDs that serve a process: a bit mask.
    pub fn vmids_of(&self, pasid: u16) -> u16 {
        (0..16u8)
            .filter(|&vmid| self.get(vmid) == Some(pasid))
            .fold(0, |mask, vmid| mask | (1 << vmid))
    }

    /// Gives a VMID to a process, or takes it away, everywhere: as the scheduler's firmware does.
    pub fn bind(&self, vmid: u8, pasid: Option<u16>) {
        let value = pasid.map_or(0, |p| {
            Value::new(u32::from(p)).with(Mapping::VALID, true).bits()
        });
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

    /// `ATC_VMIDn_PASID_MAPPING`; `None` when there is no such VMID.
    pub fn mapping(&self, vmid: u8) -> Option<u32> {
        let slot = self.atc.get(usize::from(vmid))?;
        Some(slot.load(Ordering::Acquire))
    }

    /// Which mappings were updated: a bit mask.
    pub fn updated(&self) -> u32 {
        self.updated.load(Ordering::Acquire)
    }

    /// Clears bits of that mask.
    pub fn clear_updated(&self, mask: u32) {
        self.updated.fetch_and(!mask, Ordering::AcqRel);
    }

    /// Writes `ATC_VMIDn_PASID_MAPPING`.
    pub fn set_mapping(&self, vmid: u8, value: u32) {
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
