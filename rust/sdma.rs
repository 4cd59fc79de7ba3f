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
//! One queue of the first engine is the driver's own ([`Copier`]): it clears VRAM, and runs jobs of the
//! kernel's ([`job`]).
//!
//! Source: Linux, `allocate_sdma_queue`, `allocate_doorbell` and `init_sdma_bitmaps` of
//! `kfd_device_queue_manager.c`, `kfd_get_num_sdma_engines` of `kfd_device.c`.
//!
//! Lock order: the lock of the free queues is a leaf.

use crate::{
    chip::{
        ChipInfo,
        SdmaCounts, //
    },
    doorbell::{
        PAGE_DOORBELLS,
        SDMA_FIRST,
        SDMA_STRIDE, //
    },
    types::{
        DoorbellIndex,
        SdmaPlace, //
    }, //
};
use core::num::NonZero;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

mod clear;
mod copier;
mod engine;
mod hal;
mod hung;
mod job;
mod mover;
mod running;

pub(crate) use copier::{
    Copier,
    Parts, //
};
pub(crate) use engine::Enabled;
pub(crate) use hal::{
    hal,
    Counts,
    Hal, //
};
pub(crate) use job::{
    Fill,
    Filled, //
};

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
struct Free([u128; 2]);

/// The queues of a GPU's copy engines.
#[pin_data]
pub(crate) struct Queues {
    counts: SdmaCounts,
    doorbell_align: u32,
    #[pin]
    free: Mutex<Free>,
}

impl Queues {
    /// All are free but those that user programs don't get.
    pub(crate) fn new(chip: &ChipInfo) -> Result<Arc<Self>> {
        let (shape, counts) = (&chip.family.sdma, chip.sdma_counts);
        let doorbell_align = shape.doorbell_align;
        let group = |engines: u32| {
            let first = engines.saturating_mul(shape.reserved_queues);
            let end = engines.saturating_mul(shape.queues_per_engine).min(128);
            (first..end).fold(0u128, |bits, bit| bits | 1 << bit)
        };
        let free = Free([group(counts.bus), group(counts.links)]);
        Arc::pin_init(
            pin_init!(Self {
                counts,
                doorbell_align,
                free <- new_mutex!(free, "rkfd SDMA queues"),
            }),
            GFP_KERNEL,
        )
    }
}

/// A queue of an engine; free again when dropped.
pub(crate) struct Slot {
    queues: Arc<Queues>,
    group: usize,
    bit: u32,
    place: SdmaPlace,
}

impl Slot {
    /// Takes the first free queue that will do.
    ///
    /// # Errors
    ///
    /// ENOMEM when there is none, EINVAL when there is no such engine.
    pub(crate) fn take(queues: &Arc<Queues>, wanted: Wanted) -> Result<Self> {
        let counts = &queues.counts;
        let (group, first, on) = match wanted {
            Wanted::Bus => (0, 0, None),
            Wanted::Link => (1, counts.bus, None),
            Wanted::Engine(engine) if engine < counts.bus => (0, 0, Some(engine)),
            Wanted::Engine(engine) if engine < counts.engines() => {
                (1, counts.bus, Some(engine.saturating_sub(counts.bus)))
            }
            Wanted::Engine(_) => return Err(EINVAL),
        };
        let engines = if group == 0 { counts.bus } else { counts.links };
        let engines = NonZero::new(engines).ok_or(ENOMEM)?;
        let mut free = queues.free.lock();
        let bits = free.0.get_mut(group).ok_or(EINVAL)?;
        let bit = (0..u128::BITS)
            .filter(|bit| *bits >> bit & 1 == 1)
            .find(|bit| on.is_none_or(|engine| *bit % engines == engine))
            .ok_or(ENOMEM)?;
        *bits &= !(1 << bit);
        Ok(Self {
            queues: queues.clone(),
            group,
            bit,
            place: SdmaPlace {
                engine: first.saturating_add(bit % engines),
                queue: bit / engines,
            },
        })
    }

    /// Which engine's, and which of its queues.
    pub(crate) fn place(&self) -> SdmaPlace {
        self.place
    }

    /// Its doorbell in a process' slice: those of even queues lie in the first page, those of odd
    /// ones in the second.
    ///
    /// # Errors
    ///
    /// EINVAL: the engine's number is beyond any.
    pub(crate) fn doorbell(&self) -> Result<DoorbellIndex> {
        let SdmaPlace { engine, queue } = self.place;
        let in_page = if queue & 1 == 0 { 0 } else { PAGE_DOORBELLS };
        engine
            .checked_mul(SDMA_STRIDE)
            .and_then(|words| words.checked_add(SDMA_FIRST))
            .and_then(|base| base.checked_next_multiple_of(self.queues.doorbell_align))
            .and_then(|base| base.checked_add(in_page)?.checked_add(queue >> 1))
            .map(DoorbellIndex::new)
            .ok_or(EINVAL)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut free = self.queues.free.lock();
        if let Some(bits) = free.0.get_mut(self.group) {
            *bits |= 1 << self.bit;
        }
    }
}
