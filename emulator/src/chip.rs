// SPDX-License-Identifier: MIT OR Apache-2.0

//! What makes a chip, and the device that is assembled by it.
//!
//! Each chip is a table of constants; another chip is another table (and, where its hardware differs
//! in kind, another block). No code elsewhere asks which chip it is. [`device`] puts the blocks and
//! engines together, [`soc`] is what they share.

mod away;
mod blocks;
pub mod budget;
pub mod device;
pub mod mi308x;
pub mod navi48;
pub mod router;
pub mod soc;
mod window;

use crate::blocks::nbio::Route;
use crate::blocks::{discovery, nbio, psp, vbios};
use crate::device::facts::{Facts, GcShape, Ip, RegisterBlock};
use crate::device::{Env, IpBlock};
use crate::engines::sdma;
use crate::memory::generation::Generation;
use crate::memory::{Layout, Node};
use crate::rules::{node, Rules};
use clap::ValueEnum;
use rkfd_hw::regs::Block;
use rkfd_isa::Checks;
use router::Router;
use std::sync::Arc;

/// PCI vendor id of AMD (ATI).
pub const VENDOR: u16 = 0x1002;
/// Devices of a hive: those of an MI300X board.
const HIVE: u8 = 8;

/// The chips that can be emulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Name {
    /// AMD Instinct MI308X, its four XCCs in one partition (SPX): gfx942, scheduled by CPSCH (HIQ
    /// and run lists).
    Mi308x,
    /// One XCC of it, as a partition in CPX mode shows it.
    Mi308xCpx,
    /// AMD Radeon RX 9070 XT (Navi 48): gfx1201, scheduled by MES v12.
    Navi48,
    /// AMD Radeon RX 9070: the same chip with 56 of its 64 compute units.
    Navi48Xl,
}

impl Name {
    /// The chip's table.
    pub fn chip(self) -> &'static Chip {
        match self {
            Self::Mi308x => &mi308x::SPX,
            Self::Mi308xCpx => &mi308x::CPX,
            Self::Navi48 => &navi48::CHIP,
            Self::Navi48Xl => &navi48::XL,
        }
    }
}

/// Makes the blocks that answer for the graphics core's registers, one for each XCC.
pub type Scheduler = fn(Arc<dyn Env>, Facts, Arc<sdma::Engines>) -> Vec<Arc<dyn IpBlock>>;

/// Makes the management unit of so many XCCs.
pub type Management = fn(Arc<dyn Env>, Arc<sdma::Engines>, u8) -> Box<dyn IpBlock>;

/// A chip's constants.
pub struct Chip {
    /// Name of the product.
    pub name: &'static str,
    /// PCI device id; the vendor is 0x1002.
    pub device_id: u16,
    /// PCI revision id.
    pub revision: u8,
    /// PCI class code: class, subclass, interface.
    pub class: u32,
    /// PCI subsystem id.
    pub subsystem_id: u16,
    /// Silicon revision (`STRAP_ATI_REV_ID`): 0 is an early sample that drivers refuse.
    pub rev_id: u32,
    /// Video memory in bytes.
    pub vram_size: u64,
    /// What that is made of.
    pub memory: vbios::Memory,
    /// Size of the doorbell BAR in bytes.
    pub doorbell_size: u64,
    /// Size of the register BAR in bytes.
    pub mmio_size: u64,
    /// The page of BAR 5 in which no register lies, where flushes of HDP may appear (Linux, `MMIO_REG_HOLE_OFFSET`).
    pub hdp_hole: u64,
    /// Address of VRAM in the kernel's address space, as firmware places it.
    pub fb_base: u64,
    /// Physical address of VRAM as page tables name it.
    pub fb_offset: u64,
    /// Frequency of the device's clock (timestamps) in Hz.
    pub clock_hz: u64,
    /// IP blocks in the discovery table.
    pub ips: &'static [Ip],
    /// Register blocks that answer.
    pub blocks: &'static [RegisterBlock],
    /// The counts of one XCC's graphics core.
    pub gc: GcShape,
    /// The number of each XCC's die in interrupts (`node_id`). That of the base die is 0.
    pub xcc_nodes: &'static [u8],
    /// Registers that hold a constant of the chip at start-up: name and value.
    pub start_up: &'static [(&'static str, u32)],
    /// Its HDP flushes without a set-up by the driver.
    pub hdp_flushes_by_itself: bool,
    /// What its VM hubs and page tables look like.
    pub vm: &'static Generation,
    /// The value of XCC_DOORBELL_FENCE and the like, before doorbells may come: what is fenced are
    /// the XCCs that the chip lacks.
    pub before_doorbells: fn(xccs: u8) -> Vec<(&'static str, u32)>,
    /// The same on base dies but the first.
    pub before_on_further: Option<(&'static str, u32)>,
    /// Which bits of which registers let doorbells through to the graphics core.
    pub graphics_routes: &'static [(&'static str, u32)],
    /// How doorbells get to the interrupt handler.
    pub ih_route: Route,
    /// The SDMA engines.
    pub sdma: sdma::Shape,
    /// How doorbells get to each of them.
    pub sdma_routes: &'static [Route],
    /// What firmware its security processor takes.
    pub psp: psp::Takes,
    /// Makes its management unit.
    pub smu: Management,
    /// Makes the GC table of the discovery binary: its words.
    pub gc_table: fn(&GcShape) -> Vec<u32>,
    /// Makes the blocks, one for each XCC, that answer for the graphics core's registers apart from
    /// its VM hub: the command processor and the firmware that schedules its queues.
    pub scheduler: Scheduler,
}

impl Chip {
    /// How many XCCs there are: all of them are in one partition.
    pub fn xccs(&self) -> u8 {
        let cores = self.ips.iter().filter(|ip| ip.hw_id == Block::Gc as u16);
        cores.count() as u8
    }

    /// Its base dies: each has a multimedia hub.
    pub fn dies(&self) -> u8 {
        let hubs = self.ips.iter().filter(|ip| ip.hw_id == Block::Mmhub as u16);
        hubs.count() as u8
    }

    /// What the engines' firmware knows about it.
    pub fn facts(&self) -> Facts {
        Facts {
            ips: self.ips,
            xccs: self.xccs(),
            gc: self.gc,
            start_up: self.start_up,
            checks: Checks::default(),
        }
    }

    /// How its memory is laid out, with so much of it on the chip, under these rules.
    pub fn layout(&self, vram_size: u64, rules: &Rules) -> Layout {
        let node = match node(rules) {
            Some(id) => Node {
                id: id.min(HIVE - 1),
                count: HIVE,
                segment: self.vram_size,
            },
            None => Node::default(),
        };
        Layout {
            vram_size,
            node,
            fb_base: self.fb_base,
            fb_offset: self.fb_offset,
            xccs: self.xccs(),
            dies: self.dies(),
            generation: self.vm,
        }
    }

    /// Its discovery binary.
    pub fn discovery(&self, rules: &Rules) -> Vec<u8> {
        discovery::build(self.ips, &(self.gc_table)(&self.gc), rules)
    }

    /// The image in its expansion ROM.
    pub fn rom(&self) -> Vec<u8> {
        let scratch = Router::new(self).address_of(Block::Nbio, "BIF_BX0_BIOS_SCRATCH_0");
        let card = vbios::Card {
            id: (VENDOR, self.device_id),
            class: self.class,
            name: self.name,
            scratch: scratch.map_or(0, |at| (at / 4) as u32),
            memory: self.memory,
        };
        card.image()
    }

    /// What decides about its north bridge.
    pub fn nbio(&self) -> nbio::Wiring {
        let tables = self.blocks.iter().filter(|b| b.block == Block::Nbio);
        nbio::Wiring {
            tables: tables.map(|b| b.table).collect(),
            rev_id: self.rev_id,
            vram_vendor: self.memory.vendor,
            hole: self.hdp_hole,
            before_doorbells: (self.before_doorbells)(self.xccs()),
            before_on_further: self.before_on_further,
            dies: self.dies(),
            graphics: self.graphics_routes,
            ih_route: self.ih_route,
            sdma_routes: self.sdma_routes,
        }
    }
}
