// SPDX-License-Identifier: GPL-2.0

//! The hubs' bring-up: apertures, caches, the contexts of the 16 address spaces.
//!
//! Graphics and multimedia hub have the same registers at different offsets, and those of another
//! chip have other names and some other fields: what they are is in a [`table::Table`]. The order
//! is that of `gart_enable` in Linux, which is the same for all chips.

use super::hal::{
    Hal,
    Mmhub, //
};
use crate::{
    bo::Words,
    hw::regs::{
        AnyReg,
        Block,
        Change, //
    },
    regs::Regs,
    types::{
        HubStatus,
        Layout,
        VramOffset, //
    },
    uapi::amdgpu as abi, //
};
use kernel::sync::Arc;

pub(crate) mod table;

use table::Table;

/// Last page number of a process' 48-bit address space.
const LAST_PFN: u64 = (1 << 36) - 1;
/// Words from one context's address registers to the next's.
const CONTEXT_ADDR_STRIDE: u32 = 2;
const ENGINES: u32 = 18;

/// A hub.
#[derive(Clone, Copy)]
pub(super) struct Hub {
    pub(super) table: &'static Table,
    pub(super) instance: u8,
}

impl Hub {
    pub(super) fn write(self, regs: &Regs, reg: AnyReg, value: u32) {
        regs.write_at(self.instance, reg, value);
    }

    /// Stores a page number in a pair of registers.
    fn write_pair(self, regs: &Regs, lo: AnyReg, value: u64) {
        self.write(regs, lo, value as u32);
        self.write(regs, lo.at(1, 1), (value >> 32) as u32);
    }

    /// How amdgpu's ABI names it.
    fn number(self) -> u32 {
        let kind = match self.table.block {
            Block::Mmhub => abi::VMHUB_TYPE_MM0,
            _ => abi::VMHUB_TYPE_GFX,
        };
        kind | u32::from(self.instance) << abi::VMHUB_IDX_SHIFT
    }

    /// Makes a change to a register.
    pub(super) fn change(self, regs: &Regs, change: Change) {
        regs.update_at(self.instance, change.reg(), |old| change.apply(old));
    }
}

/// Where accesses go that lead nowhere.
pub(super) struct Strays {
    /// Those to system memory.
    pub(super) system: Words,
    /// Those to VRAM.
    pub(super) vram: VramOffset,
}

/// All hubs of a GPU.
#[derive(Clone)]
pub(crate) struct Hubs {
    regs: Arc<Regs>,
    hal: &'static dyn Hal,
    mmhub: &'static dyn Mmhub,
}

impl Hubs {
    /// Those of a device with these registers.
    pub(crate) fn new(regs: &Arc<Regs>, hal: &'static dyn Hal, mmhub: &'static dyn Mmhub) -> Self {
        Self {
            regs: regs.clone(),
            hal,
            mmhub,
        }
    }

    pub(super) fn regs(&self) -> &Regs {
        &self.regs
    }

    /// Each of them: the graphics ones first.
    pub(super) fn iter(&self) -> impl Iterator<Item = Hub> + '_ {
        let tables = [self.hal.hub(), self.mmhub.hub()];
        tables.into_iter().flat_map(move |table| {
            self.regs
                .instances(table.block)
                .map(move |instance| Hub { table, instance })
        })
    }

    /// Those of a kind, or all.
    fn of(&self, kind: Option<Block>) -> impl Iterator<Item = Hub> + '_ {
        self.iter()
            .filter(move |hub| kind.is_none_or(|kind| hub.table.block == kind))
    }

    /// The process that has an address space now; none has while the whole device is being reset.
    pub(crate) fn pasid_of(&self, vmid: u32) -> Option<u32> {
        let _here = self.regs.here()?;
        self.hal.pasid_of(&self.regs, vmid)
    }

    /// Sets up what must be before translation is.
    pub(super) fn prepare(&self, layout: &Layout) {
        self.hal.prepare(&self.regs, layout.vram_start);
    }

    /// Gates the clocks of what is idle around them, or has them run.
    pub(crate) fn gate_clocks(&self, on: bool) {
        self.hal.gate_clocks(&self.regs, on);
    }

    /// Has hubs of a kind, or all, send faulting accesses to the default page instead of stopping the GPU.
    pub(super) fn set_fault_defaults(&self, kind: Option<Block>) {
        for hub in self.of(kind) {
            hub.change(&self.regs, hub.table.fault_cntl);
        }
    }

    /// Turns translation on in hubs of a kind, or in all.
    pub(super) fn enable(
        &self,
        kind: Option<Block>,
        layout: &Layout,
        gart: VramOffset,
        strays: &Strays,
    ) {
        let regs = &self.regs;
        for hub in self.of(kind) {
            set_gart(regs, hub, layout, gart);
            system_aperture(regs, hub, layout, strays);
            tlb_and_cache(regs, hub);
            match hub.table.block {
                Block::Gc => self.hal.prepare_hub(regs, hub.instance),
                _ => self.mmhub.prepare(regs, hub.instance),
            }
            hub.change(regs, hub.table.context0);
            identity_aperture_off(regs, hub);
            process_contexts(regs, hub);
            invalidation_ranges(regs, hub);
        }
    }

    /// Sets up again what a soft reset of the graphics core takes away.
    pub(crate) fn restore_graphics(&self) {
        for hub in self.iter().filter(|hub| hub.table.block == Block::Gc) {
            self.hal.prepare_hub(&self.regs, hub.instance);
        }
    }

    /// Turns translation off.
    pub(super) fn disable(&self) {
        let regs = &self.regs;
        for hub in self.iter() {
            let table = hub.table;
            for i in 0..16 {
                hub.write(regs, table.context0.reg().at(i, 1), 0);
            }
            hub.change(regs, table.l1_tlb_off);
            hub.change(regs, table.l2_off);
            hub.write(regs, table.l2_cntl3.0, 0);
        }
    }

    /// Lets interrupts report faults, or not.
    pub(super) fn set_fault_interrupts(&self, on: bool) {
        for hub in self.iter() {
            let change = if on {
                hub.table.fault_interrupts_on
            } else {
                hub.table.fault_interrupts_off
            };
            for i in 0..16 {
                hub.change(&self.regs, change.at(i, 1));
            }
        }
    }

    /// How faults of processes are handled, as firmware takes it.
    pub(crate) fn process_context_control(&self) -> u32 {
        self.iter().next().map_or(0, |hub| {
            self.regs
                .read_at(hub.instance, hub.table.context1.reg().at(14, 1))
        })
    }

    /// Takes the status of the last fault, and clears it where there is one (`gmc_v9_0_process_interrupt`), so that the hub
    /// reports the next.
    pub(crate) fn take_status(&self) -> Option<HubStatus> {
        let mut first = None;
        for hub in self.iter() {
            let status = self.regs.read_at(hub.instance, hub.table.fault_status);
            if status != 0 {
                hub.change(&self.regs, hub.table.fault_clear);
                let hub = hub.number();
                first = first.or(Some(HubStatus { status, hub }));
            }
        }
        first
    }
}

fn set_gart(regs: &Regs, hub: Hub, layout: &Layout, gart: VramOffset) {
    let root = layout.vram_pte(gart) | crate::hw::pte::VALID;
    let (start, end) = (layout.gart_start >> 12, layout.gart_end >> 12);
    hub.write_pair(regs, hub.table.pt_base, root);
    hub.write_pair(regs, hub.table.pt_start, start);
    hub.write_pair(regs, hub.table.pt_end, end);
}

fn system_aperture(regs: &Regs, hub: Hub, layout: &Layout, strays: &Strays) {
    let table = hub.table;
    // No AGP: start above end (`amdgpu_gmc_set_agp_default`).
    let (agp_start, agp_end) = (0xffff_ffff_ffff_u64, 0u64);
    hub.write(regs, table.agp_base, 0);
    hub.write(regs, table.agp_bottom, (agp_start >> 24) as u32);
    hub.write(regs, table.agp_top, (agp_end >> 24) as u32);
    let (low, high) = (layout.fb_start.min(agp_start), layout.fb_end.max(agp_end));
    hub.write(regs, table.aperture_low, (low >> 18) as u32);
    hub.write(regs, table.aperture_high, (high >> 18) as u32);
    let scratch = layout.vram_pte(strays.vram);
    hub.write_pair(regs, table.aperture_default, scratch >> 12);
    hub.write_pair(regs, table.fault_default, strays.system.bus().get() >> 12);
    hub.change(regs, table.fault_cntl2);
}

fn tlb_and_cache(regs: &Regs, hub: Hub) {
    let table = hub.table;
    hub.change(regs, table.l1_tlb_on);
    hub.change(regs, table.l2_on);
    hub.change(regs, table.l2_invalidate);
    hub.write(regs, table.l2_cntl3.0, table.l2_cntl3.1);
    hub.write(regs, table.l2_cntl4.0, table.l2_cntl4.1);
    if let Some((reg, value)) = table.l2_cntl5 {
        hub.write(regs, reg, value);
    }
}

fn identity_aperture_off(regs: &Regs, hub: Hub) {
    hub.write_pair(regs, hub.table.identity_low, 0xf_ffff_ffff);
    hub.write_pair(regs, hub.table.identity_high, 0);
    hub.write_pair(regs, hub.table.identity_offset, 0);
}

fn process_contexts(regs: &Regs, hub: Hub) {
    for (i, vmid) in (0..15).zip(1..) {
        hub.change(regs, hub.table.context1.at(i, 1));
        let start = hub.table.pt_start.at(vmid, CONTEXT_ADDR_STRIDE);
        let end = hub.table.pt_end.at(vmid, CONTEXT_ADDR_STRIDE);
        hub.write_pair(regs, start, 0);
        hub.write_pair(regs, end, LAST_PFN);
    }
}

fn invalidation_ranges(regs: &Regs, hub: Hub) {
    for engine in 0..ENGINES {
        let range = hub.table.flush_range.at(engine, 2);
        hub.write_pair(regs, range, 0x1f_ffff_ffff);
    }
}
