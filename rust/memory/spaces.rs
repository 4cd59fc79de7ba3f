// SPDX-License-Identifier: GPL-2.0

//! The address spaces that an object may be in.
//!
//! Whoever moves an object has it mapped anew in each of them, so that none may be missing in which it is. A request
//! that maps it counts as under way from before it looks for a handle of the file until the object is mapped or the
//! request failed. Closing the last handle forgets an address space only if no request is under way: one that finds
//! another handle of the file, which was opened meanwhile, still maps it there.

use kernel::{
    prelude::*,
    sync::Arc, //
};

struct Entry<T> {
    vm: Arc<T>,
    /// Requests that map it there.
    under_way: usize,
}

/// The list of an object. KUnit has others than address spaces in it.
pub(super) struct Known<T>(KVVec<Entry<T>>);

impl<T> Known<T> {
    pub(super) fn new() -> Self {
        Self(KVVec::new())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.0.iter().map(|entry| &entry.vm)
    }

    fn position(&self, vm: &Arc<T>) -> Option<usize> {
        self.0.iter().position(|entry| Arc::ptr_eq(&entry.vm, vm))
    }

    /// A request is under way from now on.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(super) fn begin(&mut self, vm: &Arc<T>) -> Result {
        match self.0.iter_mut().find(|entry| Arc::ptr_eq(&entry.vm, vm)) {
            Some(entry) => entry.under_way = entry.under_way.saturating_add(1),
            None => {
                let (vm, under_way) = (vm.clone(), 1);
                self.0.push(Entry { vm, under_way }, GFP_KERNEL_ACCOUNT)?;
            }
        }
        Ok(())
    }

    /// A request came to its end. What is given back is to be dropped without locks.
    pub(super) fn end(&mut self, vm: &Arc<T>, has_handle: impl FnOnce() -> bool) -> Option<Arc<T>> {
        let entry = self.0.iter_mut().find(|entry| Arc::ptr_eq(&entry.vm, vm))?;
        entry.under_way = entry.under_way.saturating_sub(1);
        self.remove(vm, has_handle)
    }

    /// Forgets an address space, unless the file has a handle or a request is under way. What is given back is to be
    /// dropped without locks.
    pub(super) fn remove(
        &mut self,
        vm: &Arc<T>,
        has_handle: impl FnOnce() -> bool,
    ) -> Option<Arc<T>> {
        let place = self.position(vm)?;
        let entry = self.0.get(place)?;
        if entry.under_way > 0 || has_handle() {
            return None;
        }
        Some(self.0.remove(place).ok()?.vm)
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
