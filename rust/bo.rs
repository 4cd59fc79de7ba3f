// SPDX-License-Identifier: GPL-2.0

//! Buffer objects: memory that the GPU and user programs share.
//!
//! A buffer object is pages of VRAM, pages of system memory mapped for DMA ([`home`]), or a piece of the
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
        dma_buf::{
            Attachment,
            DmaBuf, //
        },
        owned_pages::OwnedPages, //
    },
    vram::{
        Cleared,
        Vram,
        VramRange, //
    }, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        atomic::{
            AtomicFlag,
            Relaxed, //
        },
        Arc, //
    }, //
};

mod cpu;
pub(crate) mod home;
pub(crate) mod user;
mod words;
pub(crate) mod yielding;

pub(crate) use words::Words;

use home::{
    Home,
    Movable,
    System, //
};
use yielding::Yielding;

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
    /// Which of the two.
    pub(crate) placement: Placement,
}

enum Backing {
    /// Memory that stays where it is.
    Fixed(Home),
    /// Memory that may give way to others.
    Movable(Pin<KBox<Movable>>),
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
#[pin_data]
pub(crate) struct Memory {
    pub(crate) dev: Arc<Handle>,
    pub(crate) vram: Arc<Vram>,
    /// Physical address of the page of HDP flush registers.
    flush_phys: u64,
    flush_map: DeviceMapping,
    /// Objects that may be moved out of VRAM.
    #[pin]
    pub(crate) yielding: Yielding,
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
        let flush_map = dev.map(flush_phys, PAGE_SIZE)?;
        let (dev, vram) = (dev.clone(), vram.clone());
        Arc::pin_init(
            pin_init!(Self {
                dev,
                vram,
                flush_phys,
                flush_map,
                yielding <- Yielding::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// Physical address of the page of HDP flush registers.
    pub(crate) fn flush_page(&self) -> u64 {
        self.flush_phys
    }
}

/// A buffer object.
pub(crate) struct Bo {
    memory: Arc<Memory>,
    /// A program touched a page of it by a mapping.
    touched: AtomicFlag,
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
                touched: AtomicFlag::new(false),
                size: pieces
                    .iter()
                    .map(VramRange::len)
                    .fold(0, u64::saturating_add),
                backing: Backing::Fixed(Home::Vram(pieces)),
            },
            GFP_KERNEL_ACCOUNT,
        )?)
    }

    /// VRAM that may be moved to system memory and back.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(crate) fn movable(memory: &Arc<Memory>, vram: Cleared) -> Result<Arc<Self>> {
        let pieces = vram.into_pieces();
        let lengths = pieces.iter().map(VramRange::len);
        let size = lengths.fold(0, u64::saturating_add);
        Ok(Arc::new(
            Self {
                memory: memory.clone(),
                touched: AtomicFlag::new(false),
                size,
                backing: Backing::Movable(Movable::new(Home::Vram(pieces))?),
            },
            GFP_KERNEL_ACCOUNT,
        )?)
    }

    /// Allocates system memory, cleared: whole pages, for which there is room within the limits.
    ///
    /// # Errors
    ///
    /// ENOMEM when there is no such memory, ENODEV when the device is gone.
    pub(crate) fn gtt(memory: &Arc<Memory>, size: u64) -> Result<Arc<Self>> {
        memory.dev.alive()?;
        let system = System::new(memory, size)?;
        Ok(Arc::new(
            Self {
                memory: memory.clone(),
                touched: AtomicFlag::new(false),
                size,
                backing: Backing::Fixed(Home::System(system)),
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
                touched: AtomicFlag::new(false),
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
                touched: AtomicFlag::new(false),
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
    /// EINVAL when it isn't made of such, or not for good.
    pub(crate) fn pages(&self) -> Result<&OwnedPages> {
        match &self.backing {
            Backing::Fixed(Home::System(system)) => Ok(system.pages()),
            _ => Err(EINVAL),
        }
    }

    /// Whether the kernel can load and store it.
    pub(crate) fn has_words(&self) -> bool {
        matches!(self.backing, Backing::Fixed(_) | Backing::Movable(_))
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
        match &self.backing {
            Backing::Fixed(home) => Some(home.placement()),
            Backing::Movable(movable) => Some(movable.placement()),
            Backing::User(_) | Backing::Foreign(_) => Some(Placement::Gtt),
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
            // Pages of the system's are cached whatever a mapping asks for (`pfnmap_setup_cachemode`).
            Backing::Fixed(Home::Vram(_)) | Backing::Movable(_) => Caching::WriteCombine,
            Backing::Fixed(Home::System(_)) | Backing::User(_) | Backing::Foreign(_) => {
                Caching::Cached
            }
            Backing::Device { .. } | Backing::Nothing => Caching::Uncached,
        }
    }

    /// Calls `f` with the page frame at a byte offset, for a user program's page fault. Until it has
    /// returned the device isn't unbound, and no page is inserted afterwards.
    ///
    /// # Errors
    ///
    /// EINVAL beyond the end, EBUSY while it is moved, ENODEV when the device is gone, and what `f` returns.
    pub(crate) fn with_pfn(&self, offset: u64, f: impl FnOnce(usize) -> Result) -> Result {
        if offset >= self.size {
            return Err(EINVAL);
        }
        self.memory.dev.while_bound(|_| match &self.backing {
            Backing::Fixed(home) => f(home.pfn(&self.memory, offset)?),
            // Whoever moves it takes what is inserted away afterwards.
            Backing::Movable(movable) => movable.reach(|home| f(home.pfn(&self.memory, offset)?)),
            Backing::Device { phys, .. } => {
                f((phys.checked_add(offset).ok_or(EINVAL)? >> 12) as usize)
            }
            Backing::User(_) | Backing::Foreign(_) | Backing::Nothing => Err(EPERM),
        })
    }

    /// Runs `f` with where it lies, if it may be moved.
    ///
    /// # Errors
    ///
    /// EINVAL when it may not.
    pub(crate) fn with_home<R>(&self, f: impl FnOnce(&Home) -> Result<R>) -> Result<R> {
        match &self.backing {
            Backing::Movable(movable) => movable.with(f),
            _ => Err(EINVAL),
        }
    }

    /// The processor can't reach it from now on, since it is going to be moved; or can again.
    pub(crate) fn set_leaving(&self, leaves: bool) {
        if let Backing::Movable(movable) = &self.backing {
            movable.set_leaving(leaves);
        }
    }

    /// Whether a program touched a page of it by a mapping, since it came to VRAM last.
    pub(crate) fn is_touched(&self) -> bool {
        self.touched.load(Relaxed)
    }

    /// A program touched a page of it; or none did since it came to VRAM.
    pub(crate) fn set_touched(&self, touched: bool) {
        self.touched.store(touched, Relaxed);
    }

    /// Exchanges the memory of an object that may be moved. What was in it was copied before.
    pub(crate) fn exchange(&self, home: &mut Home) {
        if let Backing::Movable(movable) = &self.backing {
            movable.exchange(home);
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
            Backing::Fixed(home) => home.segments(offset, len, f),
            // `f` may sleep, and whoever moves it waits for that.
            Backing::Movable(movable) => movable.with(|home| home.segments(offset, len, f)),
            Backing::Foreign(map) => runs(offset, len, f, |at, end| {
                map.try_access_with(|map| run(map.bus(), at, end))
            }),
            Backing::User(user) => user.segments(offset, len, f),
            Backing::Nothing => f(Segment {
                addr: 0,
                len,
                placement: Placement::Gtt,
            }),
            Backing::Device { map, .. } => {
                let bus = map.try_access_with(|map| map.bus()).ok_or(ENODEV)?;
                f(Segment {
                    addr: bus.checked_add(offset).ok_or(EINVAL)?,
                    len,
                    placement: Placement::Gtt,
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
        placement: Placement::Gtt,
    })
}
