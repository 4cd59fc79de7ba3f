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
    bo::Words,
    device::Handle,
    glue::ratelimit::ratelimited,
    hw::regs::Block,
    kept::Kept,
    types::{
        HubStatus,
        VmFault, //
    },
    vram::Vram, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

pub(crate) mod gart;
mod hal;
mod hub;
mod kernel_buf;
mod layout;
mod tlb;

pub(crate) use gart::{
    Gart,
    Window, //
};
pub(crate) use hal::{
    hal,
    mmhub,
    Hal,
    Mmhub, //
};
pub(crate) use hub::Hubs;
pub(crate) use kernel_buf::KernelBuf;
pub(crate) use layout::read_layout;
pub(crate) use tlb::{
    Firmware,
    FlushCounts,
    RegWait,
    Tlb,
    Unanswered,
    HEAVY, //
};

/// Size of the GART, as `gmc_v9_0_mc_init` chooses it.
const GART_SIZE: u64 = 512 << 20;

/// Logs a page fault, and readies the hub to report the next. Returns what the hub says of this one.
pub(crate) fn report_fault(dev: &Handle, hubs: &Hubs, fault: &VmFault) -> Option<HubStatus> {
    ratelimited!(
        dev_err,
        dev.device(),
        "page fault of pasid {} at {}: {} a page that {}\n",
        fault.pasid.get(),
        fault.va,
        if fault.write { "store to" } else { "load of" },
        if fault.not_present {
            "isn't mapped"
        } else {
            "doesn't allow it"
        }
    );
    hubs.take_status()
}

/// Address translation is on; dropped, it is off.
pub(crate) struct Enabled {
    hubs: Hubs,
    vram: Arc<Vram>,
    tlb: Arc<Tlb>,
    gart: Arc<Gart>,
    kept: Arc<Kept>,
    strays: hub::Strays,
}

impl Enabled {
    /// Sets up the hubs and the GART, in the order of `gmc_v9_0_hw_init`. When it is undone nothing
    /// translates addresses of processes any more: then what was kept for want of an
    /// acknowledgement is freed.
    pub(crate) fn new(
        dev: &Handle,
        hubs: &Hubs,
        vram: &Arc<Vram>,
        tlb: &Arc<Tlb>,
        gart: &Arc<Gart>,
        kept: &Arc<Kept>,
    ) -> Result<Self> {
        let strays = hub::Strays {
            system: Words::new(dev, 1024)?,
            vram: vram.alloc_forever(4096)?,
        };
        let enabled = Self {
            hubs: hubs.clone(),
            vram: vram.clone(),
            tlb: tlb.clone(),
            gart: gart.clone(),
            kept: kept.clone(),
            strays,
        };
        enabled.set_up()?;
        Ok(enabled)
    }

    fn set_up(&self) -> Result {
        self.hubs.prepare(self.vram.layout());
        self.vram.flush_hdp();
        self.turn_on(None)
    }

    fn turn_on(&self, kind: Option<Block>) -> Result {
        let (layout, gart) = (self.vram.layout(), self.gart.table());
        self.hubs.set_fault_defaults(kind);
        self.hubs.enable(kind, layout, gart, &self.strays);
        // Linux flushes before: but until the engines know their address range, nothing happens.
        self.tlb.flush_vmid(0)
    }

    /// Sets them up again, after the device has lost everything.
    ///
    /// # Errors
    ///
    /// ETIME when a hub doesn't acknowledge a flush, ENODEV when the device is gone.
    pub(crate) fn renew(&self) -> Result {
        self.gart.restore()?;
        self.set_up()
    }

    /// Sets up the graphics hubs alone, whose core wasn't there before (`gfx_v12_0_gfxhub_enable`).
    ///
    /// # Errors
    ///
    /// As of [`Self::renew`].
    pub(crate) fn add_graphics(&self) -> Result {
        self.turn_on(Some(Block::Gc))
    }

    /// The memory that it translates to.
    pub(crate) fn vram(&self) -> &Vram {
        &self.vram
    }

    /// A page of system memory for accesses that lead nowhere.
    pub(crate) fn stray_page(&self) -> &Words {
        &self.strays.system
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        self.hubs.disable();
        self.kept.release();
    }
}

/// Page faults of processes raise interrupts; dropped, they don't.
pub(crate) struct FaultInterrupts(Hubs);

impl FaultInterrupts {
    /// Turns them on.
    pub(crate) fn new(hubs: &Hubs) -> Self {
        let on = Self(hubs.clone());
        on.renew();
        on
    }

    /// Turns them on again, after a reset turned them off.
    pub(crate) fn renew(&self) {
        self.0.set_fault_interrupts(true);
    }
}

impl Drop for FaultInterrupts {
    fn drop(&mut self) {
        self.0.set_fault_interrupts(false);
    }
}
