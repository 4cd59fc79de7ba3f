// SPDX-License-Identifier: MIT OR Apache-2.0

//! Facts about a chip that more than one block needs, as data.

use rkfd_hw::regs::{Block, Table};
use rkfd_isa::Checks;

/// Copy engines of a base die, where a chip has several.
pub const COPY_ENGINES_PER_DIE: u8 = 4;

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

/// What the firmware of an engine knows about its chip.
#[derive(Clone, Copy)]
pub struct Facts {
    /// IP blocks in the discovery table.
    pub ips: &'static [Ip],
    /// How many XCCs there are: all of them are in one partition.
    pub xccs: u8,
    /// The counts of one XCC's graphics core.
    pub gc: GcShape,
    /// Registers that hold a constant of the chip at start-up: name and value.
    pub start_up: &'static [(&'static str, u32)],
    /// What its compute units look for in programs.
    pub checks: Checks,
}

impl Facts {
    /// Base addresses of the register segments of a block, of the first one of its kind.
    pub fn bases(&self, block: Block) -> &'static [u32] {
        let mut ips = self.ips.iter();
        let first = ips.find(|ip| ip.hw_id == block as u16 && ip.instance == 0);
        first.map_or(&[], |ip| ip.bases)
    }

    /// A register's value at start-up, if it is a constant of the chip.
    pub fn start_up(&self, name: &str) -> Option<u32> {
        let mut all = self.start_up.iter();
        all.find(|(n, _)| *n == name).map(|&(_, value)| value)
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
    /// Channels of the second-level cache.
    pub cache_channels: u32,
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
