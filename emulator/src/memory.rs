// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory as the device sees it: VRAM, guest RAM by bus address, and the GPU's address spaces.
//!
//! ```text
//! (hub, vmid, va) --space--> [ TLB | page walk ] --> VRAM offset or bus address --> HostPage
//! ```
//!
//! The address spaces are those of the two VM hubs ([`Hub`]): 16 VMIDs each, of which VMID 0 is the
//! kernel's (frame buffer window, system aperture, GART) and the others are processes'. Their
//! registers are in [`hub`], the page walk is in [`walk`], and the translation cache, which stays
//! stale until it is invalidated, is in [`tlb`].
//!
//! A failed access is a [`VmFault`]; it has no effect by itself. Who made the access decides
//! whether it is reported to the hub ([`crate::device::Soc::vm_fault`]).

pub mod bus;
pub mod generation;
pub mod host;
pub mod hub;
pub mod space;
pub mod tlb;
pub mod walk;

use crate::chip::Chip;
use crate::inject::Faults;
use crate::report::Report;
use bus::Bus;
use generation::Generation;
use host::Mapping;
use hub::VmHub;
use std::io;
use std::sync::Arc;

pub use host::HostPage;
pub use space::Space;
pub use walk::{Access, FaultReason, VmFault};

/// Bytes in a page, the grain of every translation here.
pub const PAGE: u64 = rkfd_hw::pte::PAGE_SIZE;

/// A VM hub: one set of 16 address spaces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hub {
    /// The graphics hub: command processor and compute units.
    Gfx,
    /// The multimedia hub: SDMA and the interrupt handler.
    Mm,
}

/// All memory of the device.
pub struct Memory {
    /// Video memory.
    pub vram: Mapping,
    /// Guest RAM by bus address.
    pub bus: Bus,
    gfx: VmHub,
    mm: VmHub,
    generation: &'static Generation,
    report: Arc<Report>,
}

impl Memory {
    /// Memory with `vram_size` bytes of VRAM and the hubs' registers as the chip's firmware
    /// leaves them.
    ///
    /// # Errors
    /// The host has no memory file for the VRAM.
    pub fn new(
        chip: &Chip,
        vram_size: u64,
        faults: &Faults,
        report: Arc<Report>,
    ) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            vram: Mapping::anonymous("rkfd-vram", vram_size)?,
            bus: Bus::new(report.clone()),
            gfx: VmHub::new(Hub::Gfx, chip, vram_size, faults),
            mm: VmHub::new(Hub::Mm, chip, vram_size, faults),
            generation: chip.vm,
            report,
        }))
    }

    /// The registers and translation caches of a hub.
    pub fn hub(&self, hub: Hub) -> &VmHub {
        match hub {
            Hub::Gfx => &self.gfx,
            Hub::Mm => &self.mm,
        }
    }

    /// What this generation's hubs and entries look like.
    pub fn generation(&self) -> &'static Generation {
        self.generation
    }

    /// The address space of a VMID (0 to 15; higher bits are dropped as the hardware's field does).
    pub fn space(&self, hub: Hub, vmid: u8) -> Space<'_> {
        Space::new(self, hub, vmid & 0xf)
    }

    /// The page that holds `va`, for accesses of one kind: [`Space::page`].
    ///
    /// # Errors
    /// The address does not translate or does not allow the access.
    pub fn page(&self, hub: Hub, vmid: u8, va: u64, access: Access) -> Result<HostPage, VmFault> {
        self.space(hub, vmid).page(va, access)
    }

    /// Where violations of the guest are recorded.
    pub fn report(&self) -> &Report {
        &self.report
    }
}
