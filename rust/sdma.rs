// SPDX-License-Identifier: GPL-2.0

//! SDMA: the copy engines, and which of their queues are taken.
//!
//! Each engine has a few hardware queues (RLCs), and a user queue owns one of them from creation
//! to the end: there is no over-subscription. Engines come in two groups. The first two, or all
//! on a chip without links between GPUs, serve the bus; the others serve the links. Within a
//! group the numbers of queues go round the engines.
//!
//! The doorbell of such a queue follows from engine and queue ([`Slot::doorbell`]): the device
//! routes doorbells to engines by their place in the page.
//!
//! Source: Linux, `allocate_sdma_queue`, `allocate_doorbell` and `init_sdma_bitmaps` of
//! `kfd_device_queue_manager.c`, `kfd_get_num_sdma_engines` of `kfd_device.c`.
//!
//! Lock order: the lock of the free queues is a leaf.

use crate::{
    chip::{ChipInfo, Family},
    discovery::Discovery,
    doorbell::PAGE_DOORBELLS,
    gpu::Hw,
};
use kernel::{prelude::*, sync::Arc};

mod engine;

pub(crate) use engine::Enabled;

/// Discovery's numbers of engines (`SDMA0_HWID` to `SDMA3_HWID`).
const HW_IDS: [u16; 4] = [42, 43, 68, 69];
/// Doorbell (64-bit index) of engine 0 (`AMDGPU_DOORBELL_LAYOUT1_sDMA_ENGINE_START`,
/// `AMDGPU_NAVI10_DOORBELL_sDMA_ENGINE0`).
pub(crate) const FIRST_DOORBELL: u32 = 0x100;
/// Doorbells (64-bit indices) from one engine's to the next's: half of `sdma_doorbell_range`.
pub(crate) const DOORBELL_STRIDE: u32 = 10;

/// What differs between chips.
pub(crate) struct Hal {
    /// Engines for the bus, if there are as many; the others are for links.
    bus_engines: u32,
    /// Engines that can be used at most.
    max_engines: u32,
    queues_per_engine: u32,
    /// The first ones are not for user programs.
    reserved_queues: u32,
    /// What an engine's first doorbell is a multiple of.
    doorbell_align: u32,
    registers: &'static engine::Registers,
}

/// gfx942's, SDMA 4.4.2.
pub(crate) static V4_4: Hal = Hal {
    bus_engines: 2,
    // Those of the first AID; doorbells of the other AIDs' engines are routed by registers that
    // are not reached here.
    max_engines: 4,
    queues_per_engine: 8,
    reserved_queues: 0,
    // `KFD_SDMA_SHADER_DOORBELL_GRANULARITY`.
    doorbell_align: 4,
    registers: &engine::V4_4,
};

/// gfx12's, SDMA 7.
pub(crate) static V7_0: Hal = Hal {
    // No links.
    bus_engines: u32::MAX,
    max_engines: 2,
    queues_per_engine: 8,
    // One for paging, one for graphics.
    reserved_queues: 2,
    doorbell_align: 1,
    registers: &engine::V7_0,
};

impl Hal {
    /// Mask of an engine's queues that user programs get.
    pub(crate) fn user_queues(&self) -> u32 {
        let below = |count: u32| 1u32.checked_shl(count).map_or(u32::MAX, |bit| bit - 1);
        below(self.queues_per_engine) & !below(self.reserved_queues)
    }
}

/// How many engines and queues there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    /// Engines for the bus and for links.
    pub(crate) bus: u32,
    pub(crate) links: u32,
    /// Queues of an engine that processes get.
    pub(crate) queues_per_engine: u32,
}

impl Counts {
    /// What discovery lists.
    pub(crate) fn read(family: &Family, discovery: &Discovery) -> Self {
        let engines = HW_IDS
            .iter()
            .map(|&id| discovery.instances(id).count() as u32)
            .sum::<u32>()
            .min(family.sdma.max_engines);
        let bus = engines.min(family.sdma.bus_engines);
        Self {
            bus,
            links: engines - bus,
            queues_per_engine: family.sdma.queues_per_engine - family.sdma.reserved_queues,
        }
    }

    /// Engines of both kinds.
    pub(crate) fn engines(&self) -> u32 {
        self.bus + self.links
    }
}

/// Which engine a queue should be on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// Any for the bus.
    Bus,
    /// Any for links.
    Link,
    /// This one.
    Engine(u32),
}

/// Free queues of engines for the bus and for links: bit `q * engines + e` of each is queue `q`
/// of the group's engine `e`.
pub(crate) struct Free([u128; 2]);

impl Free {
    /// All but the reserved ones.
    pub(crate) fn new(chip: &ChipInfo) -> Self {
        let hal = chip.family.sdma;
        let group = |engines: u32| {
            let first = engines * hal.reserved_queues;
            let end = (engines * hal.queues_per_engine).min(128);
            (first..end).fold(0u128, |bits, bit| bits | 1 << bit)
        };
        Self([group(chip.sdma_counts.bus), group(chip.sdma_counts.links)])
    }
}

/// A queue of an engine; free again when dropped.
pub(crate) struct Slot {
    hw: Arc<Hw>,
    group: usize,
    bit: u32,
    engine: u32,
    queue: u32,
}

impl Slot {
    /// Takes the first free queue that will do.
    ///
    /// # Errors
    ///
    /// ENOMEM when there is none, EINVAL when there is no such engine.
    pub(crate) fn take(hw: &Arc<Hw>, wanted: Wanted) -> Result<Self> {
        let counts = &hw.chip.sdma_counts;
        let (group, first, on) = match wanted {
            Wanted::Bus => (0, 0, None),
            Wanted::Link => (1, counts.bus, None),
            Wanted::Engine(engine) if engine < counts.bus => (0, 0, Some(engine)),
            Wanted::Engine(engine) if engine < counts.engines() => {
                (1, counts.bus, Some(engine - counts.bus))
            }
            Wanted::Engine(_) => return Err(EINVAL),
        };
        let engines = if group == 0 { counts.bus } else { counts.links };
        let mut free = hw.sdma.lock();
        let bits = free.0.get_mut(group).ok_or(EINVAL)?;
        let bit = (0..u128::BITS)
            .filter(|bit| *bits >> bit & 1 == 1)
            .find(|bit| on.is_none_or(|engine| bit % engines.max(1) == engine))
            .ok_or(ENOMEM)?;
        *bits &= !(1 << bit);
        Ok(Self {
            hw: hw.clone(),
            group,
            bit,
            // A bit is only set when there are engines.
            engine: first + bit % engines.max(1),
            queue: bit / engines.max(1),
        })
    }

    /// Which of the engines.
    pub(crate) fn engine(&self) -> u32 {
        self.engine
    }

    /// Which of the engine's queues.
    pub(crate) fn queue(&self) -> u32 {
        self.queue
    }

    /// Index of its doorbell in a process' slice: even queues lie in the first page, odd ones in
    /// the second.
    pub(crate) fn doorbell(&self) -> u32 {
        let hal = self.hw.chip.family.sdma;
        let base =
            (FIRST_DOORBELL + self.engine * DOORBELL_STRIDE).next_multiple_of(hal.doorbell_align);
        base + (self.queue & 1) * PAGE_DOORBELLS + (self.queue >> 1)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut free = self.hw.sdma.lock();
        if let Some(bits) = free.0.get_mut(self.group) {
            *bits |= 1 << self.bit;
        }
    }
}
