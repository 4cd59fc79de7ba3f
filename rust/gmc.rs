// SPDX-License-Identifier: GPL-2.0

//! The memory controller (GMC): where things lie in the GPU's own address space.
//!
//! Address space 0 is the kernel's. VRAM appears in it at FB_LOCATION, where firmware put it, and
//! is reached without translation; the GART, one flat table of 4 KiB pages, makes system memory
//! visible in 512 MiB elsewhere. Address spaces 1 to 15 belong to processes ([`crate::vm`]) and
//! are handed out by the scheduler's firmware.
//!
//! Two kinds of hub translate: each XCC has a graphics hub, each base die a multimedia hub, used
//! by SDMA and the interrupt handler. Both are set up alike ([`hub`]); what differs between chips
//! is in [`Hal`].

use crate::{
    gpu::Hw,
    hw::regs::{Bits, Reg},
    regs::Regs,
    upcall::VmFault,
};
use kernel::{prelude::*, sync::Arc};

pub(crate) mod gart;
mod hub;
pub(crate) mod tlb;
pub(crate) mod v12;
pub(crate) mod v9;

/// Where the GART goes (`AMDGPU_GART_PLACEMENT_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// Below or above VRAM, where there is less room that still suffices.
    BestFit,
    /// At address 0.
    Low,
}

/// What differs between chips.
pub(crate) struct Hal {
    /// Kinds of hubs: the graphics ones first.
    hubs: &'static [&'static hub::table::Table],
    /// Where VRAM appears in address space 0, and what page table entries add; units of 16 MiB.
    fb_location: (Reg, Bits),
    fb_offset: Reg,
    gart: Placement,
    /// Flags of the GART's entries.
    gart_flags: u64,
    /// What is set up before the hubs.
    prepare: fn(&Hw),
    /// The process that has an address space now.
    pasid_of: fn(&Regs, u32) -> Option<u32>,
}

/// Size of the GART, as `gmc_v9_0_mc_init` chooses it.
const GART_SIZE: u64 = 512 << 20;
/// Below the hole of non-canonical addresses (`AMDGPU_GMC_HOLE_START`).
const HOLE_START: u64 = 0x8000_0000_0000;
const FOUR_GIB: u64 = 4 << 30;

/// Addresses in address space 0, and of VRAM in page tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// First and last byte of VRAM in address space 0.
    pub(crate) fb_start: u64,
    pub(crate) fb_end: u64,
    /// What page table entries add to an offset in VRAM.
    pub(crate) vram_base: u64,
    pub(crate) gart_start: u64,
    pub(crate) gart_end: u64,
}

impl Layout {
    /// Reads where firmware put VRAM, and places the GART as `amdgpu_gmc_gart_location` does.
    pub(crate) fn read(hal: &Hal, regs: &Regs, vram_size: u64) -> Result<Self> {
        let (location, base) = hal.fb_location;
        let base = base.get(regs.read(location));
        let fb_start = u64::from(base) << 24;
        let fb_end = fb_start
            .checked_add(vram_size)
            .ok_or(EINVAL)?
            .checked_sub(1)
            .ok_or(EINVAL)?;
        let vram_base = u64::from(regs.read(hal.fb_offset)) << 24;
        let before = fb_start;
        let after_start = (fb_end + 1)
            .checked_next_multiple_of(FOUR_GIB)
            .ok_or(EINVAL)?;
        let after = HOLE_START.checked_sub(after_start).ok_or(EINVAL)?;
        if GART_SIZE > before.max(after) {
            return Err(EINVAL);
        }
        let low = match hal.gart {
            Placement::BestFit => (before >= GART_SIZE && before < after) || after < GART_SIZE,
            Placement::Low if before < GART_SIZE => return Err(EINVAL),
            Placement::Low => true,
        };
        let start = if low { 0 } else { HOLE_START - GART_SIZE };
        let gart_start = start / FOUR_GIB * FOUR_GIB;
        Ok(Self {
            fb_start,
            fb_end,
            vram_base,
            gart_start,
            gart_end: gart_start + GART_SIZE - 1,
        })
    }

    /// Address in address space 0 of an offset in VRAM.
    pub(crate) fn vram_addr(&self, offset: u64) -> u64 {
        self.fb_start.wrapping_add(offset)
    }

    /// Address in page table entries of an offset in VRAM.
    pub(crate) fn vram_pte(&self, offset: u64) -> u64 {
        self.vram_base.wrapping_add(offset)
    }
}

/// Lets page faults of processes raise interrupts, or not.
pub(crate) fn set_fault_interrupts(hw: &Hw, on: bool) {
    hub::set_fault_interrupts(hw, on);
}

/// How faults of processes are handled, as firmware wants to be told.
pub(crate) fn process_context_control(hw: &Hw) -> u32 {
    hub::process_context_control(hw)
}

/// Logs a page fault, and readies the hub to report the next.
pub(crate) fn report_fault(hw: &Hw, fault: &VmFault) {
    dev_err!(
        hw.device(),
        "page fault of pasid {} at {:#x}: {} of a page that {}\n",
        fault.pasid.get(),
        fault.va,
        if fault.write { "store to" } else { "load" },
        if fault.not_present {
            "isn't mapped"
        } else {
            "doesn't allow it"
        }
    );
    hub::clear_faults(hw);
}

/// Address translation is on; dropped, it is off.
pub(crate) struct Enabled(Arc<Hw>);

impl Enabled {
    /// Sets up the hubs and the GART, in the order of `gmc_v9_0_hw_init`.
    pub(crate) fn new(hw: &Arc<Hw>) -> Result<Self> {
        (hw.chip.family.gmc.prepare)(hw);
        hw.flush_hdp();
        hub::set_fault_defaults(hw);
        let enabled = Self(hw.clone());
        hub::enable(hw);
        // Linux flushes before: but until the engines know their address range, nothing happens.
        tlb::flush_vmid(hw, 0)?;
        Ok(enabled)
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        hub::disable(&self.0);
        // Nothing translates addresses of processes any more: what an unanswered request left
        // behind can be freed.
        self.0.release_kept();
    }
}
