// SPDX-License-Identifier: GPL-2.0

//! The kernel's own way to buffer objects: words of it.

use super::{
    find,
    Backing,
    Bo, //
};
use crate::glue::dma;
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
            Backing::Device { .. } | Backing::User(_) | Backing::Foreign(_) => Err(EINVAL),
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
            Backing::Device { .. } | Backing::User(_) | Backing::Foreign(_) => Err(EINVAL),
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
}
