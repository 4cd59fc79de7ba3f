// SPDX-License-Identifier: GPL-2.0

//! PASIDs: 16-bit numbers of address spaces, unique over all GPUs, never 0.
//!
//! A number isn't given out again before all others were, so that a late interrupt of an address
//! space that is gone doesn't reach its successor.

use crate::{bo::pages::PageMap, upcall::Pasid};
use core::num::NonZeroU16;
use kernel::prelude::*;

/// KFD's PASIDs have 15 bits upstream where an IOMMU limits them; 16 fit the packets.
const COUNT: usize = 1 << 16;

kernel::sync::global_lock! {
    // SAFETY: `init` is called once, by the module's initialiser, before any use.
    unsafe(uninit) static PASIDS: Mutex<Option<PageMap>> = None;
}

/// Prepares the numbers. Called once, by the module's initialiser.
pub(crate) fn init() {
    // SAFETY: Called once, before any use.
    unsafe { PASIDS.init() };
}

/// The numbers, as long as the module is there; dropped, the memory that holds them is freed.
pub(crate) struct Pasids;

impl Drop for Pasids {
    fn drop(&mut self) {
        *PASIDS.lock() = None;
    }
}

/// A PASID; free again when dropped.
pub(super) struct PasidGuard(Pasid);

impl PasidGuard {
    /// Takes a number.
    pub(super) fn new() -> Result<Self> {
        let mut pasids = PASIDS.lock();
        if pasids.is_none() {
            let mut map = PageMap::new(COUNT)?;
            map.reserve(0, 1);
            *pasids = Some(map);
        }
        let number = pasids
            .as_mut()
            .ok_or(ENOMEM)?
            .alloc(1, 1)
            .map_err(|_| ENOSPC)?;
        let number = u16::try_from(number)
            .ok()
            .and_then(NonZeroU16::new)
            .ok_or(ENOSPC)?;
        Ok(Self(Pasid::new(number)))
    }

    /// The number.
    pub(super) fn get(&self) -> Pasid {
        self.0
    }
}

impl Drop for PasidGuard {
    fn drop(&mut self) {
        if let Some(map) = PASIDS.lock().as_mut() {
            map.release(usize::from(self.0.get()), 1);
        }
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
