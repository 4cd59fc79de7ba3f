// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where a register access goes: from a byte offset in BAR5 to a block's register.
//!
//! A register lies at its segment's base address plus its offset, in words. BAR5 shows the first
//! 512 KiB of that space; what lies beyond is reached indirectly: its byte address is written to
//! `BIF_BX0_PCIE_INDEX2` (and `_INDEX2_HI`), then `BIF_BX0_PCIE_DATA2` is that register
//! (Linux, `amdgpu_device_indirect_wreg`). `MM_INDEX` and `MM_DATA` are another such [window](super::window).

use super::window::{Behind, Window};
use super::Chip;
use crate::engines::sdma::QueueRegister;
use rkfd_hw::mqd::HQD_WORDS;
use rkfd_hw::regs::{Block, RegInfo};
use std::collections::{HashMap, HashSet};

/// A register of a block.
#[derive(Clone, Copy)]
pub struct Place {
    /// The block.
    pub block: Block,
    /// Which of several equal ones.
    pub instance: u8,
    /// The register.
    pub reg: &'static RegInfo,
}

/// What lies at an offset.
pub enum Target {
    /// A register.
    Register(Place),
    /// The address of a window.
    Index(Behind),
    /// Its high word.
    IndexHigh(Behind),
    /// What lies at that address.
    Data(Behind),
    /// Nothing that the chip's tables know.
    Unknown,
}

/// What is added to byte addresses of a block on another base die than the first, where its bases are the same on all
/// (`amdgpu_reg_smn_v1_0_get_base`).
fn far(block: Block, die: u8) -> u64 {
    match block {
        Block::Nbio if die > 0 => (u64::from(die) << 32) | (1 << 34),
        _ => 0,
    }
}

/// The table of registers by word address, and the windows' addresses.
pub struct Router {
    by_word: HashMap<u64, Place>,
    holes: HashSet<u64>,
    of_queues: HashMap<u64, QueueRegister>,
    size: u64,
    chip: Window,
    rsmu: Window,
    memory: Window,
}

impl Router {
    /// The router of a chip.
    pub fn new(chip: &Chip) -> Self {
        let mut by_word = HashMap::new();
        for block in chip.blocks {
            let instances = chip.ips.iter().filter(|ip| ip.hw_id == block.block as u16);
            for (ip, reg) in instances.flat_map(|ip| block.table.regs.iter().map(move |r| (ip, r)))
            {
                if let Some(base) = ip.bases.get(usize::from(reg.reg.segment)) {
                    let word = far(block.block, ip.instance) / 4
                        + u64::from(*base)
                        + u64::from(reg.reg.offset);
                    let place = Place {
                        block: block.block,
                        instance: ip.instance,
                        reg,
                    };
                    by_word.insert(word, place);
                }
            }
        }
        let hqds = by_word.iter();
        let holes = hqds
            .filter(|(_, at)| at.reg.reg.name == "CP_MQD_BASE_ADDR")
            .flat_map(|(first, _)| (*first..).take(HQD_WORDS))
            .filter(|word| !by_word.contains_key(word))
            .collect();
        let generation = chip.sdma.generation;
        let of_queues = by_word.iter();
        let of_queues = of_queues
            .flat_map(|(first, at)| {
                let its = generation.registers_of(at.reg, at.instance);
                its.map(move |(n, reg)| (first + n, reg))
            })
            .filter(|(word, _)| !by_word.contains_key(word))
            .collect();
        Self {
            by_word,
            holes,
            of_queues,
            size: chip.mmio_size,
            chip: Window::default(),
            rsmu: Window::default(),
            memory: Window::default(),
        }
    }

    /// What lies at a byte offset of BAR5.
    pub fn resolve(&self, offset: u64) -> Target {
        if offset % 4 != 0 || offset >= self.size {
            return Target::Unknown;
        }
        match self.by_word.get(&(offset / 4)) {
            Some(at) => match at.reg.reg.name {
                "BIF_BX0_PCIE_INDEX2" => Target::Index(Behind::Chip),
                "BIF_BX0_PCIE_INDEX2_HI" => Target::IndexHigh(Behind::Chip),
                "BIF_BX0_PCIE_DATA2" => Target::Data(Behind::Chip),
                "BIF_BX_PF0_RSMU_INDEX" => Target::Index(Behind::Rsmu),
                "BIF_BX_PF0_RSMU_DATA" => Target::Data(Behind::Rsmu),
                "BIF_BX_PF0_MM_INDEX" => Target::Index(Behind::Memory),
                "BIF_BX_PF0_MM_INDEX_HI" => Target::IndexHigh(Behind::Memory),
                "BIF_BX_PF0_MM_DATA" => Target::Data(Behind::Memory),
                _ => Target::Register(*at),
            },
            None => Target::Unknown,
        }
    }

    /// The register at a byte address that BAR5 does not show: engines reach it all the same.
    pub fn beyond(&self, at: u64) -> Option<Place> {
        (at >= self.size && at % 4 == 0)
            .then(|| self.by_word.get(&(at / 4)).copied())
            .flatten()
    }

    /// Whether a byte address is between the registers of hardware queues, without being one: who shows
    /// these reads them all from the first to the last (Linux, `kgd_gfx_v9_hqd_dump`, `hqd_dump_v12`).
    pub fn is_hole(&self, at: u64) -> bool {
        at % 4 == 0 && self.holes.contains(&(at / 4))
    }

    /// The register of a copy engine's queue that is at a byte address where no table names any.
    pub fn unnamed_of_queue(&self, at: u64) -> Option<QueueRegister> {
        (at % 4 == 0)
            .then(|| self.of_queues.get(&(at / 4)).copied())
            .flatten()
    }

    /// A window's address.
    pub fn window(&self, behind: Behind) -> &Window {
        match behind {
            Behind::Chip => &self.chip,
            Behind::Rsmu => &self.rsmu,
            Behind::Memory => &self.memory,
        }
    }

    /// The register behind `PCIE_INDEX2` or `RSMU_INDEX`.
    pub fn indirect(&self, behind: Behind) -> Option<Place> {
        let at = self.window(behind).address();
        (at % 4 == 0)
            .then(|| self.by_word.get(&(at / 4)).copied())
            .flatten()
    }

    /// Start-up state.
    pub fn reset(&self) {
        self.chip.reset();
        self.rsmu.reset();
        self.memory.reset();
    }

    /// The byte address of a register by name: for tests and tools.
    pub fn address_of(&self, block: Block, name: &str) -> Option<u64> {
        self.address_in(block, 0, name)
    }

    /// The same, of one of several equal blocks.
    pub fn address_in(&self, block: Block, instance: u8, name: &str) -> Option<u64> {
        let found = self.by_word.iter().find(|(_, at)| {
            (at.block, at.instance) == (block, instance) && at.reg.reg.name == name
        });
        found.map(|(word, _)| word * 4)
    }
}
