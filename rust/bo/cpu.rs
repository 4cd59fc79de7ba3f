// SPDX-License-Identifier: GPL-2.0

//! The kernel's own way to buffer objects: words of the driver's, and what debuggers read and write.

use super::{
    find,
    Backing,
    Bo,
    PAGE, //
};
use crate::glue::{
    dma,
    transfer::Transfer, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

/// 64-bit words in a page.
pub(super) const WORDS: usize = PAGE_SIZE / 8;

impl Bo {
    /// Loads the 64-bit word number `index`. The GPU may store to it at any time.
    pub(crate) fn read_u64(&self, index: usize) -> Result<u64> {
        let offset = (index as u64).checked_mul(8).ok_or(EINVAL)?;
        match &self.backing {
            Backing::Vram(pieces) => {
                let (piece, at) = find(pieces, offset).ok_or(EINVAL)?;
                piece.read64(at)
            }
            Backing::Gtt { pages, .. } => {
                let page = pages.get(index / WORDS).ok_or(EINVAL)?;
                dma::read_u64(page, index % WORDS)
            }
            Backing::Device { .. } | Backing::User(_) | Backing::Foreign(_) | Backing::Nothing => {
                Err(EINVAL)
            }
        }
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
        let offset = (index as u64).checked_mul(8).ok_or(EINVAL)?;
        match &self.backing {
            Backing::Vram(pieces) => {
                let (piece, at) = find(pieces, offset).ok_or(EINVAL)?;
                piece.write64(at, value)
            }
            Backing::Gtt { pages, .. } => {
                let page = pages.get(index / WORDS).ok_or(EINVAL)?;
                dma::write_u64(page, index % WORDS, value)
            }
            Backing::Device { .. } | Backing::User(_) | Backing::Foreign(_) | Backing::Nothing => {
                Err(EINVAL)
            }
        }
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
    /// while it is being reset as a whole: BAR 0 has nothing then.
    pub(crate) fn transfer(&self, offset: u64, transfer: &Transfer<'_>) -> Result {
        match &self.backing {
            Backing::Vram(pieces) => {
                let (piece, at) = find(pieces, offset).ok_or(EINVAL)?;
                self.check_reachable()?;
                piece.transfer(at, transfer)?;
                if transfer.is_write() {
                    self.memory.vram.flush_hdp();
                }
                // What was read of a device that went meanwhile is all ones.
                self.check_reachable()
            }
            Backing::Gtt { pages, .. } => {
                let page = pages.get((offset / PAGE) as usize).ok_or(EINVAL)?;
                dma::transfer(page, (offset % PAGE) as usize, transfer)
            }
            Backing::Device { .. } | Backing::User(_) | Backing::Foreign(_) | Backing::Nothing => {
                Err(EIO)
            }
        }
    }

    /// Whether VRAM can be reached through BAR 0.
    fn check_reachable(&self) -> Result {
        self.memory.dev.alive()?;
        match self.memory.dev.is_away() {
            true => Err(EBUSY),
            false => Ok(()),
        }
    }
}
