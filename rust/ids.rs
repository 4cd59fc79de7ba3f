// SPDX-License-Identifier: GPL-2.0

//! A table that gives each object the lowest free number, as the kernel's IDR does.
//!
//! The kernel crate's `IdPool` has the numbers. Its `XArray` could hold the things, but can neither
//! find a free number nor be iterated.

use kernel::{
    alloc::KVVec,
    id_pool::IdPool,
    prelude::*, //
};

/// A table of things by number. Numbers start at `first`.
pub(crate) struct IdTable<T> {
    first: u32,
    /// The slots that are in use.
    used: IdPool,
    /// None behind the last one in use.
    slots: KVVec<Option<T>>,
    len: usize,
}

impl<T> IdTable<T> {
    /// An empty table.
    pub(crate) fn new(first: u32) -> Self {
        Self {
            first,
            used: IdPool::new(),
            slots: KVVec::new(),
            len: 0,
        }
    }

    fn index(&self, id: u32) -> Option<usize> {
        Some(id.checked_sub(self.first)? as usize)
    }

    /// Puts a thing under the lowest free number below `end`.
    ///
    /// # Errors
    ///
    /// ENOSPC when there is none, ENOMEM.
    pub(crate) fn insert(&mut self, end: u32, value: T) -> Result<u32> {
        let mut value = Some(value);
        self.insert_with(end, || value.take())
    }

    /// Like [`insert`](Self::insert), but asks for the thing only when there is a place for it.
    pub(crate) fn insert_with(
        &mut self,
        end: u32,
        value: impl FnOnce() -> Option<T>,
    ) -> Result<u32> {
        let capacity = self.used.capacity();
        let free = self.used.find_unused_id(0);
        let index = free.map_or(capacity, |slot| slot.as_usize());
        let id = u32::try_from(index)
            .ok()
            .and_then(|index| self.first.checked_add(index))
            .filter(|id| *id < end)
            .ok_or(ENOSPC)?;
        self.slots.reserve(1, GFP_KERNEL)?;
        if index == capacity {
            let request = self.used.grow_request().ok_or(ENOSPC)?;
            self.used.grow(request.realloc(GFP_KERNEL)?);
        }
        let value = value().ok_or(EINVAL)?;
        match self.slots.get_mut(index) {
            Some(slot) => *slot = Some(value),
            None => self.slots.push(Some(value), GFP_KERNEL)?,
        }
        if let Some(slot) = self.used.find_unused_id(index) {
            slot.acquire();
        }
        self.len += 1;
        Ok(id)
    }

    /// The thing with this number.
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        self.slots.get(self.index(id)?)?.as_ref()
    }

    /// The thing with this number.
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        let index = self.index(id)?;
        self.slots.get_mut(index)?.as_mut()
    }

    /// Takes a thing out; its number is free again.
    pub(crate) fn remove(&mut self, id: u32) -> Option<T> {
        let index = self.index(id)?;
        let value = self.slots.get_mut(index)?.take()?;
        self.used.release_id(index);
        self.len -= 1;
        while let Some(None) = self.slots.last() {
            self.slots.pop();
        }
        Some(value)
    }

    /// The highest number in use.
    pub(crate) fn last_id(&self) -> Option<u32> {
        // `remove` leaves no free slot at the end.
        let index = self.slots.len().checked_sub(1)?;
        self.first.checked_add(u32::try_from(index).ok()?)
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
        let first = self.first;
        // CAST: An index of a slot fits, as `insert` sees to.
        self.slots
            .iter()
            .enumerate()
            .filter_map(move |(i, slot)| Some((first + i as u32, slot.as_ref()?)))
    }

    /// The numbers in use and their things, to be changed, in order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        let first = self.first;
        // CAST: An index of a slot fits, as `insert` sees to.
        self.slots
            .iter_mut()
            .enumerate()
            .filter_map(move |(i, slot)| Some((first + i as u32, slot.as_mut()?)))
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
