// SPDX-License-Identifier: GPL-2.0

//! The kernel's own way to buffer objects: words of the driver's, and what debuggers read and write.

use super::{
    home::Home,
    Backing,
    Bo, //
};
use crate::glue::transfer::Transfer;
use kernel::prelude::*;

impl Bo {
    /// Loads the 64-bit word number `index`. The GPU may store to it at any time.
    pub(crate) fn read_u64(&self, index: usize) -> Result<u64> {
        self.reach(|home| home.read_u64(index))
    }

    /// Loads the 64-bit word number `index`, for people to look at, whoever's memory it is. `None` where the
    /// kernel can't, and while somebody exchanges pages.
    pub(crate) fn peek_u64(&self, index: usize) -> Option<u64> {
        match &self.backing {
            Backing::User(user) => user.peek(index),
            _ => self.read_u64(index).ok(),
        }
    }

    /// Stores the 64-bit word number `index`.
    pub(crate) fn write_u64(&self, index: usize, value: u64) -> Result {
        self.reach(|home| home.write_u64(index, value))
    }

    /// Stores the 64-bit word number `index`, whoever's memory it is. Returns whether the kernel could; it can't
    /// while somebody exchanges pages.
    pub(crate) fn poke_u64(&self, index: usize, value: u64) -> bool {
        match &self.backing {
            Backing::User(user) => user.poke(index, value),
            _ => self.write_u64(index, value).is_ok(),
        }
    }

    /// Copies what a debugger reads or writes at a byte offset, in one page.
    ///
    /// Source: Linux, `amdgpu_ttm_access_memory`. HDP's read cache isn't invalidated, as upstream on HDP 4.4.2 and 7.0.
    ///
    /// # Errors
    ///
    /// EINVAL beyond the end, EIO for what isn't memory of the driver's, ENODEV when the device is gone, EBUSY
    /// while it is being reset as a whole: BAR 0 has nothing then; and while the object is moved.
    pub(crate) fn transfer(&self, offset: u64, transfer: &Transfer<'_>) -> Result {
        match self.has_words() {
            true => self.reach(|home| home.transfer(&self.memory, offset, transfer)),
            false => Err(EIO),
        }
    }

    /// Runs `f` with the driver's memory that it is made of.
    ///
    /// # Errors
    ///
    /// EINVAL when it isn't, EBUSY while it is moved.
    fn reach<R>(&self, f: impl FnOnce(&Home) -> Result<R>) -> Result<R> {
        match &self.backing {
            Backing::Fixed(home) => f(home),
            Backing::Movable(movable) => movable.reach(f),
            Backing::Device { .. } | Backing::User(_) | Backing::Foreign(_) | Backing::Nothing => {
                Err(EINVAL)
            }
        }
    }
}
