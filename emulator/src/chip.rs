// SPDX-License-Identifier: MIT OR Apache-2.0

//! What makes a chip: constants in one table per chip.
//!
//! Another chip is another table (and, where its hardware differs in kind, another block); no code
//! elsewhere asks which chip it is.

mod blocks;
pub mod device;
pub mod mi308x;
pub mod navi48;
pub mod router;

use crate::chip::device::Soc;
use crate::device::IpBlock;
use crate::engines::sdma;
use crate::memory::generation::Generation;
use crate::memory::Hub;
use clap::ValueEnum;
use rkfd_hw::regs::{Block, Table};
use std::sync::Arc;

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
}

impl Name {
    /// The chip's table.
    pub fn chip(self) -> &'static Chip {
        match self {
            Self::Mi308x => &mi308x::SPX,
            Self::Mi308xCpx => &mi308x::CPX,
            Self::Navi48 => &navi48::CHIP,
        }
    }
}

/// An IP block as the discovery table lists it.
#[derive(Clone, Copy, Debug)]
pub struct Ip {
    /// Hardware id (`include/soc15_hw_ip.h`).
    pub hw_id: u16,
    /// Which of several equal ones.
    pub instance: u8,
    /// Version: major, minor, revision.
    pub version: (u8, u8, u8),
    /// Base addresses of its register segments, in 32-bit words.
    pub bases: &'static [u32],
}

/// A register block: where its registers lie and which ones it has.
#[derive(Clone, Copy)]
pub struct RegisterBlock {
    /// The block.
    pub block: Block,
    /// Its registers.
    pub table: &'static Table,
}

/// How doorbells get to a client other than the command processor: by registers of NBIO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// The range is in one register, the port that must be open in another.
    RangeAndPort {
        /// `DOORBELL0_CTRL_ENTRY_n`.
        range: &'static str,
        /// `S2A_DOORBELL_ENTRY_n_CTRL`.
        port: &'static str,
    },
    /// The port's register holds the range, too.
    Port(&'static str),
}

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
    /// Size of the doorbell BAR in bytes.
    pub doorbell_size: u64,
    /// Size of the register BAR in bytes.
    pub mmio_size: u64,
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
    /// What its VM hubs and page tables look like.
    pub vm: &'static Generation,
    /// How doorbells get to the interrupt handler.
    pub ih_route: Route,
    /// The SDMA engines.
    pub sdma: sdma::Shape,
    /// How doorbells get to each of them.
    pub sdma_routes: &'static [Route],
    /// Makes the GC table of the discovery binary: its words.
    pub gc_table: fn(&Chip) -> Vec<u32>,
    /// Makes the blocks, one for each XCC, that answer for the graphics core's registers apart from
    /// its VM hub: the command processor and the firmware that schedules its queues.
    pub scheduler: fn(Arc<Soc>) -> Vec<Arc<dyn IpBlock>>,
}

impl Chip {
    /// How many XCCs there are: all of them are in one partition.
    pub fn xccs(&self) -> u8 {
        let cores = self.ips.iter().filter(|ip| ip.hw_id == Block::Gc as u16);
        cores.count() as u8
    }

    /// The number of the die that a hub is on, in interrupts.
    pub fn node(&self, hub: Hub) -> u8 {
        match hub {
            Hub::Gfx(xcc) => self.xcc_nodes.get(usize::from(xcc)).copied().unwrap_or(0),
            Hub::Mm => 0,
        }
    }
}

/// The graphics core of one XCC.
#[derive(Clone, Copy, Debug)]
pub struct GcShape {
    /// Shader engines.
    pub engines: u32,
    /// Shader arrays in an engine.
    pub arrays_per_engine: u32,
    /// Compute units in an array, of which some may be fused off.
    pub cus_per_array: u32,
    /// Mask of the compute units that are fused off, per engine.
    pub inactive_cus: &'static [u32],
    /// Lanes in a wave.
    pub wave_size: u32,
    /// Waves that a SIMD holds.
    pub waves_per_simd: u32,
    /// SIMDs in a compute unit.
    pub simds_per_cu: u32,
    /// Local data share of a compute unit in bytes.
    pub lds_size: u32,
}

impl GcShape {
    /// Compute units that work.
    pub fn active_cus(&self) -> u32 {
        let all = self.cus_per_array * self.arrays_per_engine;
        (0..self.engines as usize)
            .map(|se| {
                all - self
                    .inactive_cus
                    .get(se)
                    .map_or(0, |mask| mask.count_ones())
            })
            .sum()
    }
}
