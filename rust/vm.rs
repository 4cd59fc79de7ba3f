// SPDX-License-Identifier: GPL-2.0

//! An address space on a GPU, of a process or of a file that no process took it from: its page tables and what is mapped where.
//!
//! The tables lie in VRAM ([`table`]); here is the record of mappings, each of a part of one
//! buffer object, none overlapping. A mapping holds a reference to its buffer object. Unmapping
//! clears the entries, but the GPU may have them in a TLB: the reference, and tables that became
//! empty, are in the token [`Unmapped`] and go only when the TLB was flushed. If a flush isn't
//! acknowledged, they are kept until the GPU was stopped.
//!
//! Lock order: a VM's lock is below process locks and above the scheduler's; under it only
//! leaf locks of the rooms below are taken.

use crate::{
    bo::{
        Bo,
        Memory, //
    },
    glue::ratelimit::ratelimited,
    gmc::{
        Tlb,
        HEAVY, //
    },
    kept::Kept,
    types::{
        GpuVa,
        PageRange,
        PageTableBase,
        Pasid, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNode,
        RBTreeNodeReservation, //
    },
    sync::{
        Arc,
        Mutex,
        SetOnce, //
    }, //
};

mod entry;
mod flags;
mod hal;
pub(crate) mod pasid;
mod table;

pub(crate) use flags::MapFlags;
pub(crate) use hal::{
    hal,
    Hal, //
};
use pasid::{
    PasidGuard,
    Pasids, //
};
use table::{
    Dead,
    Tables, //
};

/// What address spaces of a GPU are made from.
pub(crate) struct Spaces {
    pub(crate) memory: Arc<Memory>,
    pub(crate) tlb: Arc<Tlb>,
    pub(crate) hal: &'static dyn Hal,
    pub(crate) kept: Arc<Kept>,
}

impl Spaces {
    /// Flushes the TLBs of an address space. One without a number was never the hardware's.
    fn flush(&self, pasid: Option<Pasid>) -> Result {
        match pasid {
            Some(pasid) => self.tlb.flush_pasid(pasid, HEAVY),
            None => {
                self.memory.vram.flush_hdp();
                Ok(())
            }
        }
    }
}

/// What is mapped somewhere: a part of an object.
#[derive(Clone)]
pub(crate) struct Mapped {
    pub(crate) at: PageRange,
    pub(crate) bo: Arc<Bo>,
    /// Where the part begins in the object.
    offset: u64,
    flags: MapFlags,
}

impl Mapped {
    /// Bytes from the object's start to an address; `None` for one outside.
    pub(crate) fn offset_of(&self, va: GpuVa) -> Option<u64> {
        self.offset.checked_add(self.at.offset_of(va)?)
    }
}

struct Inner {
    tables: Tables,
    mappings: RBTree<GpuVa, Mapped>,
}

/// An address space.
#[pin_data]
pub(crate) struct Vm {
    spaces: Arc<Spaces>,
    /// Before it has one no queue can be in it, so that the hardware has nothing of it.
    pasid: SetOnce<PasidGuard>,
    base: PageTableBase,
    /// How often VRAM had lost what was in it before the tables were made.
    losses: u32,
    #[pin]
    inner: Mutex<Inner>,
}

impl Vm {
    /// An empty address space, in which no queue can be yet.
    pub(crate) fn new(spaces: &Arc<Spaces>) -> Result<Arc<Self>> {
        spaces.memory.dev.alive()?;
        let losses = spaces.memory.dev.losses();
        let tables = Tables::new(&spaces.memory.vram, spaces.hal)?;
        let base = PageTableBase::new(tables.root_entry());
        let inner = Inner {
            tables,
            mappings: RBTree::new(),
        };
        let spaces = spaces.clone();
        Arc::pin_init(
            pin_init!(Self {
                spaces,
                pasid: SetOnce::new(),
                base,
                losses,
                inner <- new_mutex!(inner, "rkfd VM"),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Gives it a number, if it has none: from now on queues can be in it.
    ///
    /// # Errors
    ///
    /// ENOSPC when all are taken.
    pub(crate) fn enlist(&self, pasids: &Arc<Pasids>) -> Result<Pasid> {
        if let Some(pasid) = self.pasid() {
            return Ok(pasid);
        }
        let pasid = pasids.take()?;
        // Not while memory is moved of which nobody has thought that queues could reach it.
        let inner = self.inner.lock();
        // Whoever comes second gives his back.
        self.pasid.populate(pasid);
        drop(inner);
        self.pasid().ok_or(ENOSPC)
    }

    /// Number of the address space in packets and interrupts, once it has one.
    pub(crate) fn pasid(&self) -> Option<Pasid> {
        self.pasid.as_ref().map(PasidGuard::get)
    }

    /// Whether its page tables were lost since: nothing may use it any more (`amdgpu_vm_generation`).
    pub(crate) fn is_lost(&self) -> bool {
        self.losses != self.spaces.memory.dev.losses()
    }

    /// The root of its page tables.
    pub(crate) fn page_table_base(&self) -> PageTableBase {
        self.base
    }

    /// Maps the first bytes of a buffer object of the same GPU, as many as there is room for.
    ///
    /// # Errors
    ///
    /// EINVAL when the object ends before, EEXIST when something is mapped there, ENOMEM, ENODEV.
    pub(crate) fn map(&self, at: PageRange, bo: &Arc<Bo>, flags: MapFlags) -> Result {
        self.map_part(at, bo, 0, flags)
    }

    /// Maps a part of a buffer object, from `offset` on. A program's own memory that isn't there now is mapped by
    /// [`renew`](Self::renew).
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map); EINVAL when the offset isn't whole pages.
    pub(crate) fn map_part(
        &self,
        at: PageRange,
        bo: &Arc<Bo>,
        offset: u64,
        flags: MapFlags,
    ) -> Result {
        if offset % PageRange::PAGE != 0 {
            return Err(EINVAL);
        }
        self.spaces.memory.dev.alive()?;
        let mapped = Mapped {
            at,
            bo: bo.clone(),
            offset,
            flags,
        };
        let node = RBTreeNode::new(at.start(), mapped.clone(), GFP_KERNEL_ACCOUNT)?;
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        if overlaps(&inner.mappings, at) {
            return Err(EEXIST);
        }
        let result = self.write(&mut inner.tables, &mapped);
        if let Err(error) = result {
            // No user program knows of the mapping, but one could guess: flush as well.
            let dead = inner.tables.unmap(at);
            let bo = Some(bo.clone());
            drop(Unmapped::new(&self.spaces, self.pasid(), bo, dead));
            return Err(error);
        }
        inner.mappings.insert(node);
        drop(guard);
        // Absent directory entries may be cached: flush, as `kfd_ioctl_map_memory_to_gpu` does
        // without looking at the result. A failure is logged below.
        let _ = self.flush_tlb();
        Ok(())
    }

    /// Writes the entries of a mapping.
    fn write(&self, tables: &mut Tables, mapped: &Mapped) -> Result {
        let Mapped {
            at,
            bo,
            offset,
            flags,
        } = mapped;
        let (hal, layout) = (self.spaces.hal, self.spaces.memory.vram.layout());
        let mut next = at.start();
        let written = bo.segments(*offset, at.bytes(), |segment| {
            let here = PageRange::new(next, segment.len)?;
            let (address, entry) = match bo.is_nothing() {
                true => entry::nothing(hal, next),
                false => (
                    entry::address(layout, segment),
                    entry::entry(hal, segment.placement, *flags),
                ),
            };
            tables.map(here, address, entry)?;
            next = here.end();
            Ok(())
        });
        match written {
            // Whoever takes a program's memory away empties afterwards what was written of it.
            Err(error) if error == EFAULT && bo.is_user() => Ok(()),
            written => written,
        }
    }

    /// Empties the entries of an object's mappings, which stay; then no TLB has them any more.
    ///
    /// # Errors
    ///
    /// ETIME when the GPU doesn't acknowledge: the object is kept until it was stopped.
    pub(crate) fn withdraw(&self, bo: &Arc<Bo>) -> Result {
        let mut guard = self.inner.lock();
        let Inner { tables, mappings } = &mut *guard;
        let mut dead = Dead::none();
        for mapped in mappings
            .values()
            .filter(|mapped| Arc::ptr_eq(&mapped.bo, bo))
        {
            dead.append(tables.unmap(mapped.at));
        }
        let unmapped = Unmapped::new(&self.spaces, self.pasid(), Some(bo.clone()), dead);
        drop(guard);
        unmapped.flush()
    }

    /// Writes the entries of an object's mappings, after [`withdraw`](Self::withdraw).
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV: some may be written then.
    pub(crate) fn renew(&self, bo: &Arc<Bo>) -> Result {
        {
            let mut guard = self.inner.lock();
            let Inner { tables, mappings } = &mut *guard;
            for mapped in mappings
                .values()
                .filter(|mapped| Arc::ptr_eq(&mapped.bo, bo))
            {
                self.write(tables, mapped)?;
            }
        }
        // As after mapping.
        let _ = self.flush_tlb();
        Ok(())
    }

    /// Writes the entries of an object's mappings anew, after it was moved; then no TLB has the old ones any more. The
    /// address space has the number that it had when nobody was let at the object.
    ///
    /// # Errors
    ///
    /// EBUSY when it got a number since, ENOMEM, ENODEV: some may be written then; ETIME when the GPU doesn't acknowledge.
    pub(crate) fn rehome(&self, bo: &Arc<Bo>, pasid: Option<Pasid>) -> Result {
        {
            let mut guard = self.inner.lock();
            if self.pasid() != pasid {
                return Err(EBUSY);
            }
            let Inner { tables, mappings } = &mut *guard;
            let mut all = mappings.values();
            all.try_for_each(|mapped| match Arc::ptr_eq(&mapped.bo, bo) {
                true => self.write(tables, mapped),
                false => Ok(()),
            })?;
        }
        match self.flush_tlb() {
            Err(error) if error != ENODEV => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes back a part of what one call of [`Vm::map`] mapped at `whole`. What is left of it are mappings of their own,
    /// and mapped all the time.
    ///
    /// # Errors
    ///
    /// EINVAL when there is no such mapping, or the part isn't one; ENOMEM, ENODEV: then it is mapped as before.
    pub(crate) fn unmap_part(&self, whole: PageRange, part: PageRange) -> Result<Unmapped> {
        let before = rest(whole.start(), part.start())?;
        let after = rest(part.end(), whole.end())?;
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let mapped = inner.mappings.get(&whole.start());
        let mapped = mapped.filter(|mapped| mapped.at == whole).ok_or(EINVAL)?;
        let mapped = mapped.clone();
        let of = |at: PageRange| {
            let offset = mapped.offset_of(at.start()).ok_or(EINVAL)?;
            let bo = mapped.bo.clone();
            Ok::<_, Error>(Mapped {
                at,
                bo,
                offset,
                ..mapped
            })
        };
        // The same memory once more, in pieces that don't reach into the part.
        for (at, _) in [&before, &after].into_iter().flatten() {
            self.write(&mut inner.tables, &of(*at)?)?;
        }
        let bo = inner
            .mappings
            .remove(&whole.start())
            .map(|mapped| mapped.bo);
        for (at, node) in [before, after].into_iter().flatten() {
            inner.mappings.insert(node.into_node(at.start(), of(at)?));
        }
        let dead = inner.tables.unmap(part);
        Ok(Unmapped::new(&self.spaces, self.pasid(), bo, dead))
    }

    /// Takes back exactly what one call of [`Vm::map`] mapped.
    ///
    /// # Errors
    ///
    /// EINVAL when there is no such mapping.
    pub(crate) fn unmap(&self, at: PageRange) -> Result<Unmapped> {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let mapped = inner.mappings.get(&at.start());
        if mapped.is_none_or(|mapped| mapped.at != at) {
            return Err(EINVAL);
        }
        let bo = inner.mappings.remove(&at.start()).map(|mapped| mapped.bo);
        let dead = inner.tables.unmap(at);
        Ok(Unmapped::new(&self.spaces, self.pasid(), bo, dead))
    }

    /// The mapping that contains an address.
    ///
    /// # Errors
    ///
    /// EINVAL when there is none.
    pub(crate) fn lookup(&self, va: GpuVa) -> Result<Mapped> {
        let inner = self.inner.lock();
        below(&inner.mappings, va)
            .filter(|mapped| mapped.at.offset_of(va).is_some())
            .cloned()
            .ok_or(EINVAL)
    }

    /// Flushes the TLBs of the address space.
    pub(crate) fn flush_tlb(&self) -> Result {
        self.spaces.flush(self.pasid())
    }
}

/// Where a rest of a mapping is, if there is one, and memory to note it.
type Rest = Option<(PageRange, RBTreeNodeReservation<GpuVa, Mapped>)>;

/// The rest of a mapping from one address to another.
///
/// # Errors
///
/// EINVAL when the second comes first, ENOMEM.
fn rest(from: GpuVa, to: GpuVa) -> Result<Rest> {
    match to.get().checked_sub(from.get()).ok_or(EINVAL)? {
        0 => Ok(None),
        bytes => Ok(Some((
            PageRange::new(from, bytes)?,
            RBTreeNodeReservation::new(GFP_KERNEL_ACCOUNT)?,
        ))),
    }
}

/// The last mapping that starts at `va` or below.
fn below(mappings: &RBTree<GpuVa, Mapped>, va: GpuVa) -> Option<&Mapped> {
    match mappings.cursor_lower_bound(&va) {
        Some(cursor) if *cursor.current().0 == va => mappings.get(&va),
        Some(cursor) => {
            let key = *cursor.peek_prev()?.0;
            mappings.get(&key)
        }
        None => {
            let key = *mappings.cursor_back()?.current().0;
            mappings.get(&key)
        }
    }
}

fn overlaps(mappings: &RBTree<GpuVa, Mapped>, at: PageRange) -> bool {
    // Mappings don't overlap each other: the last one that starts below the end reaches furthest.
    below(mappings, at.last()).is_some_and(|mapped| mapped.at.end() > at.start())
}

/// Memory that the GPU can't find any more, but may still have in a TLB.
#[must_use = "dropping it flushes the TLB; `flush` reports whether that worked"]
pub(crate) struct Unmapped {
    spaces: Arc<Spaces>,
    pasid: Option<Pasid>,
    held: Option<Held>,
}

/// What a flush frees.
struct Held {
    bo: Option<Arc<Bo>>,
    dead: Dead,
    /// Objects of others, for which the same flush is.
    others: KVec<Arc<Bo>>,
}

impl Unmapped {
    /// How many others are flushed with one, at most: their list is a page.
    const MOST: usize = 512;

    fn new(spaces: &Arc<Spaces>, pasid: Option<Pasid>, bo: Option<Arc<Bo>>, dead: Dead) -> Self {
        Self {
            spaces: spaces.clone(),
            pasid,
            held: Some(Held {
                bo,
                dead,
                others: KVec::new(),
            }),
        }
    }

    /// Takes over what another one of the same address space holds, so that one flush is for both. Where there
    /// are too many already, or no memory to note it, the other one is flushed by itself.
    pub(crate) fn join(&mut self, mut other: Self) {
        let is_same = Arc::ptr_eq(&self.spaces, &other.spaces) && self.pasid == other.pasid;
        let Some(held) = self.held.as_mut().filter(|_| is_same) else {
            return;
        };
        if held.others.len() >= Self::MOST || held.others.reserve(1, GFP_KERNEL).is_err() {
            return;
        }
        let Some(more) = other.held.take_if(|more| more.others.is_empty()) else {
            return;
        };
        held.dead.append(more.dead);
        if let Some(bo) = more.bo {
            // There is room for it.
            let _ = held.others.push_within_capacity(bo);
        }
    }

    /// Whether it takes no more.
    pub(crate) fn is_full(&self) -> bool {
        let count = |held: &Held| held.others.len() >= Self::MOST;
        self.held.as_ref().is_none_or(count)
    }

    /// Flushes the TLB; then the reference to the buffer object and empty tables go.
    ///
    /// # Errors
    ///
    /// ETIME when the GPU doesn't acknowledge: they are kept until it was stopped.
    pub(crate) fn flush(mut self) -> Result {
        self.finish()
    }

    fn finish(&mut self) -> Result {
        let Some(held) = self.held.take() else {
            return Ok(());
        };
        match self.spaces.flush(self.pasid) {
            // A device that is gone has no TLB.
            Ok(()) | Err(ENODEV) => Ok(()),
            Err(error) => {
                ratelimited!(
                    dev_err,
                    self.spaces.memory.dev.device(),
                    "a TLB flush was not acknowledged; its memory is kept\n"
                );
                self.spaces.kept.keep(held);
                Err(error)
            }
        }
    }
}

impl Drop for Unmapped {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}
