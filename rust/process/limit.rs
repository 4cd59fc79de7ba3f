// SPDX-License-Identifier: GPL-2.0

//! How much system memory buffer objects may take in all: half of what there is, as upstream's TTM
//! limit. Without it a program could drive the machine out of memory.

use crate::glue::user::total_memory;
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

static USED: Atomic<i64> = Atomic::new(0);

/// A buffer object's part of the limit; given back when dropped.
pub(super) struct GttShare(i64);

impl GttShare {
    /// Takes `size` bytes of the limit.
    ///
    /// # Errors
    ///
    /// ENOMEM when that is more than is left.
    pub(super) fn new(size: u64) -> Result<Self> {
        let limit = total_memory() / 2;
        let size = i64::try_from(size).map_err(|_| ENOMEM)?;
        let used = USED.fetch_add(size, Relaxed);
        let share = Self(size);
        match u64::try_from(used.saturating_add(size)) {
            Ok(used) if used <= limit => Ok(share),
            _ => Err(ENOMEM),
        }
    }
}

impl Drop for GttShare {
    fn drop(&mut self) {
        USED.fetch_sub(self.0, Relaxed);
    }
}
