// SPDX-License-Identifier: GPL-2.0

//! A table that gives each object the lowest free number, as the kernel's IDR does.
//!
//! The kernel crate's `IdPool` has the numbers, its `RBTree` the things: each is an allocation of its
//! own, counted to the program that asked for it, so that no array grows with what programs name. The
//! crate's `XArray` can neither find a free number nor be iterated.
//!
//! Whoever shares a table's lock with others gets the memory before taking it: [`Room`].

use kernel::{
    id_pool::{
        IdPool,
        PoolResizer,
        ReallocRequest,
        UnusedId, //
    },
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNodeReservation, //
    }, //
};

/// A table of things by number. Numbers start at `first`.
pub(crate) struct IdTable<T> {
    first: u32,
    /// The numbers that are in use, less `first`.
    used: IdPool,
    /// All numbers below are in use, less `first`: where a search for a free one begins.
    full: usize,
    things: RBTree<u32, T>,
    len: usize,
}

/// Memory for one more thing in a table.
pub(crate) struct Room<T> {
    node: RBTreeNodeReservation<u32, T>,
    numbers: Option<PoolResizer>,
}

impl<T> Room<T> {
    /// Gets the memory, with what [`IdTable::growth`] answered.
    pub(crate) fn new(growth: Option<ReallocRequest>) -> Result<Self> {
        let flags = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;
        Ok(Self {
            node: RBTreeNodeReservation::new(flags)?,
            numbers: growth.map(|request| request.realloc(flags)).transpose()?,
        })
    }
}

impl<T> IdTable<T> {
    /// An empty table.
    pub(crate) fn new(first: u32) -> Self {
        Self {
            first,
            used: IdPool::new(),
            full: 0,
            things: RBTree::new(),
            len: 0,
        }
    }

    /// What more numbers take, if all there are now are in use.
    pub(crate) fn growth(&mut self) -> Option<ReallocRequest> {
        match self.find_unused() {
            Some(_) => None,
            None => self.used.grow_request(),
        }
    }

    /// The lowest free number, less `first`.
    fn find_unused(&mut self) -> Option<UnusedId<'_>> {
        // The search has to begin at a number that there is.
        let last = self.used.capacity().saturating_sub(1);
        self.used.find_unused_id(self.full.min(last))
    }

    /// Puts a thing under the lowest free number below `end`.
    ///
    /// # Errors
    ///
    /// ENOSPC when there is none, ENOMEM.
    pub(crate) fn insert(&mut self, end: u32, value: T) -> Result<u32> {
        self.insert_with(end, || Some(value))
    }

    /// Like [`insert`](Self::insert), but asks for the thing only when there is a place for it.
    pub(crate) fn insert_with(
        &mut self,
        end: u32,
        value: impl FnOnce() -> Option<T>,
    ) -> Result<u32> {
        let room = Room::new(self.growth())?;
        self.insert_in(room, end, value)
    }

    /// Like [`insert_with`](Self::insert_with), with memory that was got before.
    ///
    /// # Errors
    ///
    /// ENOSPC when there is no free number, EAGAIN when somebody else took the room's last number
    /// meanwhile: another room has more.
    pub(crate) fn insert_in(
        &mut self,
        room: Room<T>,
        end: u32,
        value: impl FnOnce() -> Option<T>,
    ) -> Result<u32> {
        if let Some(numbers) = room.numbers {
            self.used.grow(numbers);
        }
        let (first, capacity) = (self.first, self.used.capacity());
        let free = self.find_unused();
        let index = free.as_ref().map_or(capacity, |slot| slot.as_usize());
        let id = u32::try_from(index)
            .ok()
            .and_then(|index| first.checked_add(index))
            .filter(|id| *id < end)
            .ok_or(ENOSPC)?;
        let slot = free.ok_or(EAGAIN)?;
        let value = value().ok_or(EINVAL)?;
        slot.acquire();
        self.full = index.saturating_add(1);
        self.things.insert(room.node.into_node(id, value));
        self.len = self.len.saturating_add(1);
        Ok(id)
    }

    /// The thing with this number.
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        self.things.get(&id)
    }

    /// The thing with this number.
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.things.get_mut(&id)
    }

    /// Takes a thing out; its number is free again.
    pub(crate) fn remove(&mut self, id: u32) -> Option<T> {
        let value = self.things.remove(&id)?;
        if let Some(index) = id.checked_sub(self.first) {
            let index = index as usize;
            self.used.release_id(index);
            self.full = self.full.min(index);
        }
        self.len = self.len.saturating_sub(1);
        Some(value)
    }

    /// The highest number in use.
    pub(crate) fn last_id(&self) -> Option<u32> {
        Some(*self.things.cursor_back()?.current().0)
    }

    /// Takes the thing with the highest number out.
    pub(crate) fn pop(&mut self) -> Option<(u32, T)> {
        let id = self.last_id()?;
        Some((id, self.remove(id)?))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The numbers in use and their things, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.things.iter().map(|(id, value)| (*id, value))
    }

    /// The numbers in use and their things, to be changed, in order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.things.iter_mut().map(|(id, value)| (*id, value))
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
