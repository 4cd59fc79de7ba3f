// SPDX-License-Identifier: GPL-2.0

//! PASIDs: 16-bit numbers of address spaces, unique over all GPUs, never 0.
//!
//! A number isn't given out again before all others were, so that a late interrupt of an address
//! space that is gone doesn't reach its successor.

use crate::types::Pasid;
use core::num::NonZeroU16;
use kernel::{
    id_pool::IdPool,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// KFD's PASIDs have 15 bits upstream where an IOMMU limits them; 16 fit the packets.
const COUNT: usize = 1 << 16;

/// The numbers of the module.
#[pin_data]
pub(crate) struct Pasids {
    #[pin]
    pool: Mutex<Pool>,
}

struct Pool {
    used: IdPool,
    /// Where to look for the next one.
    next: usize,
}

impl Pool {
    /// Takes the next free number.
    fn take(&mut self) -> Option<usize> {
        let next = self.next;
        let id = match self.used.find_unused_id(next) {
            Some(id) => id.acquire(),
            // From the start again.
            None => self.used.find_unused_id(1)?.acquire(),
        };
        self.next = id.wrapping_add(1) % COUNT;
        Some(id)
    }
}

impl Pasids {
    /// All are free.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let mut used = IdPool::with_capacity(COUNT, GFP_KERNEL)?;
        // 0 is none.
        used.find_unused_id(0).ok_or(ENOMEM)?.acquire();
        let pool = Pool { used, next: 1 };
        Arc::pin_init(
            pin_init!(Self { pool <- new_mutex!(pool, "rkfd PASIDs") }),
            GFP_KERNEL,
        )
    }

    /// Takes a number.
    ///
    /// # Errors
    ///
    /// ENOSPC when all are taken.
    pub(super) fn take(self: &Arc<Self>) -> Result<PasidGuard> {
        let id = self.pool.lock().take().ok_or(ENOSPC)?;
        let number = u16::try_from(id).ok().and_then(NonZeroU16::new);
        Ok(PasidGuard {
            pasids: self.clone(),
            pasid: Pasid::new(number.ok_or(ENOSPC)?),
        })
    }
}

/// A PASID; free again when dropped.
pub(super) struct PasidGuard {
    pasids: Arc<Pasids>,
    pasid: Pasid,
}

impl PasidGuard {
    /// The number.
    pub(super) fn get(&self) -> Pasid {
        self.pasid
    }
}

impl Drop for PasidGuard {
    fn drop(&mut self) {
        let id = usize::from(self.pasid.get());
        self.pasids.pool.lock().used.release_id(id);
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
