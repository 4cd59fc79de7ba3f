// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory as the device sees it: VRAM, guest RAM by bus address, and the GPU's address spaces.
//!
//! ```text
//! (hub, vmid, va) --space--> [ TLB | page walk ] --> VRAM offset or bus address --> HostPage
//! ```
//!
//! The address spaces are those of the VM hubs ([`Hub`]): 16 VMIDs each, of which VMID 0 is the
//! kernel's (frame buffer window, system aperture, GART) and the others are processes'. Their
//! registers are in [`hub`], the page walk is in [`walk`], and the translation cache, which stays
//! stale until it is invalidated, is in [`tlb`]; [`empty`] says how entries that map nothing are marked.
//!
//! A failed access is a [`VmFault`]; it has no effect by itself. Who made the access decides
//! whether it is reported to the hub ([`crate::chip::device::Soc::vm_fault`]).

pub mod bus;
pub mod empty;
pub mod generation;
pub mod hdp;
pub mod host;
pub mod hub;
mod reuse;
pub mod space;
pub mod tlb;
pub mod walk;

use crate::report::Report;
use crate::rules::Rules;
use bus::Bus;
use generation::Generation;
use hdp::HostPath;
use host::Mapping;
use hub::VmHub;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::Arc;
use std::{fmt, io};

pub use host::HostPage;
pub use space::Space;
pub use walk::{Access, FaultReason, VmFault};

/// Bytes in a page, the grain of every translation here.
pub const PAGE: u64 = rkfd_hw::pte::PAGE_SIZE;

/// A VM hub: one set of 16 address spaces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hub {
    /// The graphics hub of an XCC: its command processor and compute units.
    Gfx(u8),
    /// The multimedia hub of a base die: its SDMA engines, and the first one's interrupt handler.
    Mm(u8),
}

impl fmt::Display for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gfx(0) => f.write_str("Gfx"),
            Self::Gfx(xcc) => write!(f, "XCC {xcc}'s Gfx"),
            Self::Mm(0) => f.write_str("Mm"),
            Self::Mm(die) => write!(f, "die {die}'s Mm"),
        }
    }
}

/// A node of a hive: devices that see each other's memory by XGMI, as parts of one frame buffer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its number, from 0.
    pub id: u8,
    /// How many there are; 0 for a device that is in none.
    pub count: u8,
    /// Bytes of the frame buffer that are a node's.
    pub segment: u64,
}

impl Node {
    /// Where the node's part begins.
    pub fn offset(&self) -> u64 {
        u64::from(self.id) * self.segment
    }
}

/// Where memory lies, and which hubs there are.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Bytes of video memory.
    pub vram_size: u64,
    /// Its address in the kernel's address space, as firmware places it.
    pub fb_base: u64,
    /// Its physical address as page tables name it.
    pub fb_offset: u64,
    /// Its place in a hive.
    pub node: Node,
    /// XCCs, each with a graphics hub.
    pub xccs: u8,
    /// Base dies, each with a multimedia hub.
    pub dies: u8,
    /// What hubs and page tables look like.
    pub generation: &'static Generation,
}

/// All memory of the device.
pub struct Memory {
    /// Video memory.
    pub vram: Mapping,
    /// Guest RAM by bus address.
    pub bus: Bus,
    /// Two pages that stand for those that aren't resident.
    nothing: Mapping,
    host_path: HostPath,
    hdp_flushes: AtomicBool,
    gfx: Vec<VmHub>,
    mm: VmHub,
    /// Those of the other base dies.
    further: Vec<VmHub>,
    /// VMIDs of processes whose queues run, a bit each.
    users: AtomicU16,
    generation: &'static Generation,
    rules: Arc<Rules>,
    report: Arc<Report>,
}

impl Memory {
    /// Memory, with the hubs' registers as the chip's firmware leaves them.
    ///
    /// # Errors
    /// The host has no memory file for the VRAM.
    pub fn new(layout: &Layout, rules: Arc<Rules>, report: Arc<Report>) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            vram: Mapping::anonymous("rkfd-vram", layout.vram_size)?,
            bus: Bus::new(report.clone()),
            nothing: Mapping::anonymous("rkfd-nothing", 2 * PAGE)?,
            host_path: HostPath::default(),
            hdp_flushes: AtomicBool::new(true),
            gfx: (0..layout.xccs)
                .map(|xcc| VmHub::new(Hub::Gfx(xcc), layout))
                .collect(),
            mm: VmHub::new(Hub::Mm(0), layout),
            further: (1..layout.dies)
                .map(|die| VmHub::new(Hub::Mm(die), layout))
                .collect(),
            users: AtomicU16::new(0),
            generation: layout.generation,
            rules,
            report,
        }))
    }

    /// The registers and translation caches of a hub.
    pub fn hub(&self, hub: Hub) -> &VmHub {
        match hub {
            // Nobody names an XCC or a die that the chip lacks.
            Hub::Gfx(xcc) => self.gfx.get(usize::from(xcc)).unwrap_or(&self.mm),
            Hub::Mm(0) => &self.mm,
            Hub::Mm(die) => (self.further.get(usize::from(die) - 1)).unwrap_or(&self.mm),
        }
    }

    /// The graphics hubs.
    pub fn graphics_hubs(&self) -> impl Iterator<Item = Hub> {
        (0..self.gfx.len() as u8).map(Hub::Gfx)
    }

    /// The multimedia hubs.
    pub fn multimedia_hubs(&self) -> impl Iterator<Item = Hub> {
        (0..=self.further.len() as u8).map(Hub::Mm)
    }

    /// All hubs.
    pub fn hubs(&self) -> impl Iterator<Item = Hub> {
        self.graphics_hubs().chain(self.multimedia_hubs())
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

    /// Lets what the host has stored to VRAM through to the GPU: a flush of HDP.
    pub fn flush_hdp(&self) {
        if self.hdp_flushes.load(Ordering::Relaxed) {
            self.host_path.flush(self.vram);
        }
    }

    /// From now on a flush of HDP has an effect, or none.
    pub fn let_hdp_flush(&self, has_effect: bool) {
        self.hdp_flushes.store(has_effect, Ordering::Relaxed);
    }

    /// Lets an engine store to `bytes` bytes of VRAM from `offset` on, past HDP.
    pub fn engine_stores(&self, offset: u64, bytes: u64, store: impl FnOnce()) {
        self.host_path
            .engine_stores(self.vram, offset, bytes, store);
    }

    /// Start-up state: HDP holds nothing back.
    pub fn reset_hdp(&self) {
        self.host_path.reset();
    }

    /// The rules by which the device misbehaves.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Where violations of the guest are recorded.
    pub fn report(&self) -> &Report {
        &self.report
    }
}
