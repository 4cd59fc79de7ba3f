// SPDX-License-Identifier: GPL-2.0

//! Where memory of the driver's lies: VRAM or pages of the system's.
//!
//! Most objects stay where they were made. One that may give way to others is [`Movable`]: whoever moves it exchanges
//! its home once nobody reaches the old one any more, and programs that touch it meanwhile touch it again.
//!
//! Lock order: a home's lock comes below a VM's, and is a leaf but for VRAM's and those of memory management.

use super::{
    run,
    runs,
    Memory,
    Placement,
    Segment,
    PAGE, //
};
use crate::{
    glue::{
        bound::WhileBound,
        dma::{
            self,
            DeviceAccess,
            PageMapping, //
        },
        owned_pages::OwnedPages,
        transfer::Transfer, //
    },
    vram::VramRange, //
};
use kernel::{
    new_mutex,
    page::{
        Page,
        PAGE_SIZE, //
    },
    prelude::*,
    sync::{
        atomic::{
            AtomicFlag,
            Relaxed, //
        },
        Mutex, //
    }, //
};

/// 64-bit words in a page.
pub(super) const WORDS: usize = PAGE_SIZE / 8;

/// Pages of the system's, and their bus addresses.
pub(crate) struct System {
    // The mapping is undone before the pages are freed: fields are dropped in order.
    map: WhileBound<PageMapping>,
    pages: OwnedPages,
}

impl System {
    /// Allocates whole pages, cleared.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV when the device is gone.
    pub(crate) fn new(memory: &Memory, size: u64) -> Result<Self> {
        let pages = OwnedPages::new(usize::try_from(size)? / PAGE_SIZE)?;
        let map = memory
            .dev
            .hold(|dev| PageMapping::new(dev, pages.iter(), DeviceAccess::ReadWrite))?;
        Ok(Self { map, pages })
    }

    pub(super) fn pages(&self) -> &OwnedPages {
        &self.pages
    }

    fn page(&self, offset: u64) -> Result<&Page> {
        self.pages.get((offset / PAGE) as usize).ok_or(EINVAL)
    }
}

/// Where memory lies.
pub(crate) enum Home {
    Vram(KVVec<VramRange>),
    System(System),
}

impl Home {
    pub(super) fn placement(&self) -> Placement {
        match self {
            Self::Vram(_) => Placement::Vram,
            Self::System(_) => Placement::Gtt,
        }
    }

    /// As [`Bo::with_pfn`](super::Bo::with_pfn).
    pub(super) fn pfn(&self, memory: &Memory, offset: u64) -> Result<usize> {
        match self {
            Self::Vram(pieces) => {
                let (piece, at) = find(pieces, offset).ok_or(EINVAL)?;
                Ok((memory.vram.phys(piece.at(at)?) >> 12) as usize)
            }
            Self::System(system) => Ok(dma::pfn(system.page(offset)?)),
        }
    }

    /// As [`Bo::segments`](super::Bo::segments), of a range that lies in it.
    pub(crate) fn segments(
        &self,
        offset: u64,
        len: u64,
        mut f: impl FnMut(Segment) -> Result,
    ) -> Result {
        let pieces = match self {
            Self::Vram(pieces) => pieces,
            Self::System(system) => {
                return runs(offset, len, f, |at, end| {
                    system.map.try_access_with(|map| run(map.bus(), at, end))
                })
            }
        };
        let (mut at, mut left) = (offset, len);
        for piece in pieces {
            if let Some(behind) = at.checked_sub(piece.len()) {
                at = behind;
                continue;
            }
            let here = left.min(piece.len().saturating_sub(at));
            if here == 0 {
                break;
            }
            f(Segment {
                addr: piece.at(at)?.get(),
                len: here,
                placement: Placement::Vram,
            })?;
            left = left.saturating_sub(here);
            at = 0;
        }
        Ok(())
    }

    /// Loads the 64-bit word number `index`.
    pub(super) fn read_u64(&self, index: usize) -> Result<u64> {
        let offset = (index as u64).checked_mul(8).ok_or(EINVAL)?;
        match self {
            Self::Vram(pieces) => {
                let (piece, at) = find(pieces, offset).ok_or(EINVAL)?;
                piece.read64(at)
            }
            Self::System(system) => dma::read_u64(system.page(offset)?, index % WORDS),
        }
    }

    /// Stores the 64-bit word number `index`.
    pub(super) fn write_u64(&self, index: usize, value: u64) -> Result {
        let offset = (index as u64).checked_mul(8).ok_or(EINVAL)?;
        match self {
            Self::Vram(pieces) => {
                let (piece, at) = find(pieces, offset).ok_or(EINVAL)?;
                piece.write64(at, value)
            }
            Self::System(system) => dma::write_u64(system.page(offset)?, index % WORDS, value),
        }
    }

    /// As [`Bo::transfer`](super::Bo::transfer).
    pub(super) fn transfer(&self, memory: &Memory, offset: u64, transfer: &Transfer<'_>) -> Result {
        match self {
            Self::Vram(pieces) => {
                let (piece, at) = find(pieces, offset).ok_or(EINVAL)?;
                check_reachable(memory)?;
                piece.transfer(at, transfer)?;
                if transfer.is_write() {
                    memory.vram.flush_hdp();
                }
                // What was read of a device that went meanwhile is all ones.
                check_reachable(memory)
            }
            Self::System(system) => {
                dma::transfer(system.page(offset)?, (offset % PAGE) as usize, transfer)
            }
        }
    }
}

/// Whether VRAM can be reached through BAR 0.
fn check_reachable(memory: &Memory) -> Result {
    memory.dev.alive()?;
    match memory.dev.is_away() {
        true => Err(EBUSY),
        false => Ok(()),
    }
}

/// The piece that holds a byte offset, and the offset in it.
fn find(pieces: &[VramRange], offset: u64) -> Option<(&VramRange, u64)> {
    let mut at = offset;
    for piece in pieces {
        let Some(behind) = at.checked_sub(piece.len()) else {
            return Some((piece, at));
        };
        at = behind;
    }
    None
}

/// The home of an object that may be moved.
#[pin_data]
pub(super) struct Movable {
    #[pin]
    state: Mutex<State>,
    /// Which kind of memory it is now, for those who may not wait.
    in_vram: AtomicFlag,
}

struct State {
    home: Home,
    /// It is being copied: the processor can't reach it.
    leaves: bool,
}

impl Movable {
    pub(super) fn new(home: Home) -> Result<Pin<KBox<Self>>> {
        let state = State {
            home,
            leaves: false,
        };
        KBox::pin_init(
            pin_init!(Self {
                in_vram: AtomicFlag::new(state.home.placement() == Placement::Vram),
                state <- new_mutex!(state, "rkfd home"),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// The kind of memory. Waits for nobody.
    pub(super) fn placement(&self) -> Placement {
        match self.in_vram.load(Relaxed) {
            true => Placement::Vram,
            false => Placement::Gtt,
        }
    }

    /// Runs `f` with the home, for the GPU's accesses.
    pub(super) fn with<R>(&self, f: impl FnOnce(&Home) -> R) -> R {
        f(&self.state.lock().home)
    }

    /// Runs `f` with the home, for the processor's accesses.
    ///
    /// # Errors
    ///
    /// EBUSY while it is copied.
    pub(super) fn reach<R>(&self, f: impl FnOnce(&Home) -> Result<R>) -> Result<R> {
        let state = self.state.lock();
        match state.leaves {
            true => Err(EBUSY),
            false => f(&state.home),
        }
    }

    /// From now on the processor can't reach it, or can again.
    pub(super) fn set_leaving(&self, leaves: bool) {
        self.state.lock().leaves = leaves;
    }

    /// Exchanges the home.
    pub(super) fn exchange(&self, home: &mut Home) {
        let mut state = self.state.lock();
        core::mem::swap(&mut state.home, home);
        let in_vram = state.home.placement() == Placement::Vram;
        self.in_vram.store(in_vram, Relaxed);
    }
}
