// SPDX-License-Identifier: GPL-2.0

//! Buffer objects: memory that the GPU and user programs share.
//!
//! A buffer object is pages of VRAM, pages of system memory mapped for DMA, or a piece of the
//! device itself (doorbells, the HDP flush registers). It is counted: user handles, mappings in
//! a VM, mappings in a user program and queues each hold a reference, and the last one frees it.
//!
//! When the device is unbound, DMA mappings and access to VRAM end at once; the object stays as
//! a shell until its last reference goes, and system memory with it.

use crate::{
    device::{
        DeviceMapping,
        Handle, //
    },
    doorbell::{
        Slice,
        SLICE_SIZE, //
    },
    glue::{
        bound::WhileBound,
        dma::{
            self,
            DeviceAccess,
            PageMapping, //
        },
        dma_buf::{
            Attachment,
            DmaBuf, //
        }, //
    },
    vram::{
        Cleared,
        Vram,
        VramRange, //
    }, //
};
use kernel::{
    page::{
        Page,
        PAGE_SIZE, //
    },
    prelude::*,
    sync::Arc, //
};

mod cpu;
pub(crate) mod user;
mod words;

pub(crate) use words::Words;

/// Largest buffer object: more than any GPU has memory.
const MAX_SIZE: u64 = 1 << 44;

/// Kind of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// The GPU's.
    Vram,
    /// The system's.
    Gtt,
}

/// How a user program's mapping is cached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Caching {
    /// As ordinary memory.
    Cached,
    /// Stores are gathered.
    WriteCombine,
    /// Each access goes to the device.
    Uncached,
}

/// A run of memory with consecutive addresses, as page table entries see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// An offset in VRAM, or a bus address.
    pub(crate) addr: u64,
    pub(crate) len: u64,
}

enum Backing {
    Vram(KVec<VramRange>),
    // The mapping is undone before the pages are freed: fields are dropped in order.
    Gtt {
        map: WhileBound<PageMapping>,
        pages: KVVec<Page>,
    },
    Device {
        map: DeviceMapping,
        phys: u64,
        _slice: Option<Arc<Slice>>,
    },
    User(Pin<KBox<user::User>>),
    /// Somebody else's memory.
    Foreign(WhileBound<Attachment>),
    /// None: pages that aren't resident.
    Nothing,
}

/// What buffer objects of a GPU are made from.
pub(crate) struct Memory {
    pub(crate) dev: Arc<Handle>,
    pub(crate) vram: Arc<Vram>,
    /// Physical address of the page of HDP flush registers.
    flush_phys: u64,
    flush_map: DeviceMapping,
}

impl Memory {
    /// Of a GPU whose BAR 5 lies at a physical address.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV when the device is gone, EINVAL when the BAR has no room for the register.
    pub(crate) fn new(dev: &Arc<Handle>, vram: &Arc<Vram>, mmio_phys: u64) -> Result<Arc<Self>> {
        let flush_phys = mmio_phys
            .checked_add(vram.flush_at().into())
            .ok_or(EINVAL)?;
        let memory = Self {
            dev: dev.clone(),
            vram: vram.clone(),
            flush_phys,
            flush_map: dev.map(flush_phys, PAGE_SIZE)?,
        };
        Ok(Arc::new(memory, GFP_KERNEL)?)
    }

    /// Physical address of the page of HDP flush registers.
    pub(crate) fn flush_page(&self) -> u64 {
        self.flush_phys
    }
}

/// A buffer object.
pub(crate) struct Bo {
    memory: Arc<Memory>,
    size: u64,
    backing: Backing,
}

impl Bo {
    /// VRAM.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(crate) fn of_vram(memory: &Arc<Memory>, vram: Cleared) -> Result<Arc<Self>> {
        let pieces = vram.into_pieces();
        Ok(Arc::new(
            Self {
                memory: memory.clone(),
                size: pieces
                    .iter()
                    .map(VramRange::len)
                    .fold(0, u64::saturating_add),
                backing: Backing::Vram(pieces),
            },
            GFP_KERNEL_ACCOUNT,
        )?)
    }

    /// Allocates system memory, cleared.
    ///
    /// # Errors
    ///
    /// EINVAL when `size` is 0 or not whole pages, ENOMEM when there is no such memory, ENODEV
    /// when the device is gone.
    pub(crate) fn gtt(memory: &Arc<Memory>, size: u64) -> Result<Arc<Self>> {
        if size == 0 || size % PAGE != 0 {
            return Err(EINVAL);
        }
        if size > MAX_SIZE {
            return Err(ENOMEM);
        }
        memory.dev.alive()?;
        let count = usize::try_from(size)? / PAGE_SIZE;
        let mut pages = KVVec::with_capacity(count, GFP_KERNEL_ACCOUNT | __GFP_NOWARN)?;
        for _ in 0..count {
            let flags = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;
            pages.push(Page::alloc_page(flags)?, GFP_KERNEL_ACCOUNT)?;
        }
        let map = memory
            .dev
            .hold(|dev| PageMapping::new(dev, pages.iter(), DeviceAccess::ReadWrite))?;
        Ok(Arc::new(
            Self {
                memory: memory.clone(),
                size,
                backing: Backing::Gtt { map, pages },
            },
            GFP_KERNEL_ACCOUNT,
        )?)
    }

    /// The page of HDP flush registers.
    pub(crate) fn mmio_remap(memory: &Arc<Memory>) -> Result<Arc<Self>> {
        let backing = Backing::Device {
            map: memory.flush_map.clone(),
            phys: memory.flush_phys,
            _slice: None,
        };
        Self::of_device(memory, PAGE_SIZE as u64, backing)
    }

    /// A slice of doorbells.
    pub(crate) fn of_doorbells(memory: &Arc<Memory>, slice: Arc<Slice>) -> Result<Arc<Self>> {
        let backing = Backing::Device {
            map: slice.mapping(),
            phys: slice.phys(),
            _slice: Some(slice),
        };
        Self::of_device(memory, SLICE_SIZE as u64, backing)
    }

    fn of_device(memory: &Arc<Memory>, size: u64, backing: Backing) -> Result<Arc<Self>> {
        memory.dev.alive()?;
        Ok(Arc::new(
            Self {
                memory: memory.clone(),
                size,
                backing,
            },
            GFP_KERNEL_ACCOUNT,
        )?)
    }

    /// Memory that somebody else exported.
    ///
    /// # Errors
    ///
    /// The exporter's error, EINVAL when it isn't whole pages, ENODEV when the device is gone.
    pub(crate) fn foreign(memory: &Arc<Memory>, dmabuf: DmaBuf) -> Result<Arc<Self>> {
        let size = dmabuf.size() as u64;
        if size == 0 || size % PAGE != 0 || size > MAX_SIZE {
            return Err(EINVAL);
        }
        let map = memory.dev.hold(|dev| Attachment::new(dmabuf, dev))?;
        Ok(Arc::new(
            Self {
                memory: memory.clone(),
                size,
                backing: Backing::Foreign(map),
            },
            GFP_KERNEL_ACCOUNT,
        )?)
    }

    /// No memory: where it is mapped the GPU loads zero, and what it stores is lost.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV when the device is gone.
    pub(crate) fn nothing(memory: &Arc<Memory>, size: u64) -> Result<Arc<Self>> {
        Self::of_device(memory, size, Backing::Nothing)
    }

    /// Whether it has no memory.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self.backing, Backing::Nothing)
    }

    /// Bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Its pages of system memory.
    ///
    /// # Errors
    ///
    /// EINVAL when it isn't made of such.
    pub(crate) fn pages(&self) -> Result<&[Page]> {
        match &self.backing {
            Backing::Gtt { pages, .. } => Ok(pages),
            _ => Err(EINVAL),
        }
    }

    /// Whether the kernel can load and store it.
    pub(crate) fn has_words(&self) -> bool {
        matches!(self.backing, Backing::Vram(_) | Backing::Gtt { .. })
    }

    /// Whether it is memory of a user program, whose pages can change.
    pub(crate) fn is_user_memory(&self) -> bool {
        matches!(self.backing, Backing::User(_))
    }

    /// Whether it is memory that somebody else exported.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self.backing, Backing::Foreign(_))
    }

    /// Kind of memory; `None` for a piece of the device.
    pub(crate) fn placement(&self) -> Option<Placement> {
        match self.backing {
            Backing::Vram(_) => Some(Placement::Vram),
            Backing::Gtt { .. } | Backing::User(_) | Backing::Foreign(_) => Some(Placement::Gtt),
            Backing::Device { .. } | Backing::Nothing => None,
        }
    }

    /// Whether the object is memory of this GPU or for it.
    pub(crate) fn belongs_to(&self, memory: &Arc<Memory>) -> bool {
        Arc::ptr_eq(&self.memory, memory)
    }

    /// How a user program maps it.
    pub(crate) fn caching(&self) -> Caching {
        match self.backing {
            Backing::Vram(_) => Caching::WriteCombine,
            Backing::Gtt { .. } | Backing::User(_) | Backing::Foreign(_) => Caching::Cached,
            Backing::Device { .. } | Backing::Nothing => Caching::Uncached,
        }
    }

    /// Calls `f` with the page frame at a byte offset, for a user program's page fault. Until it has
    /// returned the device isn't unbound, and no page is inserted afterwards.
    ///
    /// # Errors
    ///
    /// EINVAL beyond the end, ENODEV when the device is gone, and what `f` returns.
    pub(crate) fn with_pfn(&self, offset: u64, f: impl FnOnce(usize) -> Result) -> Result {
        if offset >= self.size {
            return Err(EINVAL);
        }
        self.memory.dev.while_bound(|_| f(self.pfn(offset)?))
    }

    fn pfn(&self, offset: u64) -> Result<usize> {
        match &self.backing {
            Backing::Vram(pieces) => {
                let (piece, at) = find(pieces, offset).ok_or(EINVAL)?;
                Ok((self.memory.vram.phys(piece.at(at)?) >> 12) as usize)
            }
            Backing::Gtt { pages, .. } => {
                let page = pages.get((offset / PAGE) as usize).ok_or(EINVAL)?;
                Ok(dma::pfn(page))
            }
            Backing::Device { phys, .. } => {
                Ok((phys.checked_add(offset).ok_or(EINVAL)? >> 12) as usize)
            }
            Backing::User(_) | Backing::Foreign(_) | Backing::Nothing => Err(EPERM),
        }
    }

    /// Calls `f` with each run of consecutive addresses in `offset..offset + len`, in order.
    ///
    /// # Errors
    ///
    /// EINVAL beyond the end, ENODEV when the device is gone, and what `f` returns.
    pub(crate) fn segments(
        &self,
        offset: u64,
        len: u64,
        mut f: impl FnMut(Segment) -> Result,
    ) -> Result {
        match offset.checked_add(len) {
            Some(end) if end <= self.size => {}
            _ => return Err(EINVAL),
        }
        match &self.backing {
            Backing::Vram(pieces) => {
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
                    })?;
                    left = left.saturating_sub(here);
                    at = 0;
                }
                Ok(())
            }
            Backing::Gtt { map, .. } => runs(offset, len, f, |at, end| {
                map.try_access_with(|map| run(map.bus(), at, end))
            }),
            Backing::Foreign(map) => runs(offset, len, f, |at, end| {
                map.try_access_with(|map| run(map.bus(), at, end))
            }),
            Backing::User(user) => user.segments(offset, len, f),
            Backing::Nothing => f(Segment { addr: 0, len }),
            Backing::Device { map, .. } => {
                let bus = map.try_access_with(|map| map.bus()).ok_or(ENODEV)?;
                f(Segment {
                    addr: bus.checked_add(offset).ok_or(EINVAL)?,
                    len,
                })
            }
        }
    }
}

/// Calls `f` with each of the runs that `next` finds from one page up to another. A run at a time is
/// copied, since `f` may sleep and what guards the addresses forbids it.
fn runs(
    offset: u64,
    len: u64,
    mut f: impl FnMut(Segment) -> Result,
    next: impl Fn(usize, usize) -> Option<Option<Segment>>,
) -> Result {
    let end = (offset.saturating_add(len) / PAGE) as usize;
    let mut at = (offset / PAGE) as usize;
    while at < end {
        let run = next(at, end).ok_or(ENODEV)?.ok_or(EINVAL)?;
        at = at.saturating_add((run.len / PAGE) as usize);
        f(run)?;
    }
    Ok(())
}

/// Bytes of a page.
const PAGE: u64 = PAGE_SIZE as u64;

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

/// The run of consecutive bus addresses from page `first` on, ending before page `end`.
fn run(bus: &[u64], first: usize, end: usize) -> Option<Segment> {
    let addr = *bus.get(first)?;
    let pages = bus
        .get(first..end)?
        .iter()
        .zip(0u64..)
        .take_while(|(&page, i)| page == addr.wrapping_add(i.wrapping_mul(PAGE)))
        .count();
    Some(Segment {
        addr,
        len: (pages as u64).checked_mul(PAGE)?,
    })
}
