// SPDX-License-Identifier: MIT OR Apache-2.0

//! Small pieces of shared memory: signals and kernel arguments.
//!
//! Pieces of one size are cut from objects of 64 KiB. Taking and returning one makes no system
//! call as long as there is a spare one. Objects are kept until the GPU's last user is gone.

use std::sync::Arc;

use super::{flags, Bo};
use crate::driver::{lock, Link};
use crate::error::{Error, Result};
use crate::sync::Mutex;
use crate::sys::map::Mapping;

const CHUNK: usize = 1 << 16;

/// Pieces of one size.
#[derive(Debug)]
pub(crate) struct Pool {
    link: Arc<Link>,
    piece: usize,
    spare: Mutex<Spare>,
}

#[derive(Debug, Default)]
struct Spare {
    pieces: Vec<(Arc<Bo>, usize)>,
    /// Pieces there are, taken or not: `pieces` has room for as many.
    total: usize,
}

/// A piece: returned to its pool when its last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    bo: Arc<Bo>,
    offset: usize,
    size: usize,
    /// Shared by the clones; one of its own object goes with that.
    _taken: Option<Arc<Taken>>,
}

/// Returns a piece to its pool when dropped.
#[derive(Debug)]
struct Taken {
    home: Arc<Pool>,
    bo: Arc<Bo>,
    offset: usize,
}

/// Memory of a piece, which may meanwhile belong to another user.
#[cfg(feature = "async")]
#[derive(Debug)]
pub(crate) struct Watch {
    bo: Arc<Bo>,
    offset: usize,
}

#[cfg(feature = "async")]
impl Watch {
    /// The word at an offset of the piece.
    pub(crate) fn word(&self, at: usize) -> Option<u64> {
        let word = self.bo.host().ok()?.word64(self.offset + at)?;
        Some(word.load(std::sync::atomic::Ordering::Acquire))
    }
}

impl Pool {
    /// A pool of pieces of `piece` bytes, a power of two up to 64 KiB.
    pub(crate) fn new(link: &Arc<Link>, piece: usize) -> Arc<Self> {
        Arc::new(Self {
            link: link.clone(),
            piece,
            spare: Mutex::default(),
        })
    }

    /// Takes a piece. Its bytes are what the last user left.
    pub(crate) fn take(self: &Arc<Self>) -> Result<Piece> {
        let mut spare = lock(&self.spare);
        if spare.pieces.is_empty() {
            let bo = Arc::new(Bo::new(&self.link, CHUNK, flags::SHARED)?);
            let pieces = CHUNK / self.piece;
            spare.total += pieces;
            let total = spare.total;
            spare.pieces.reserve(total);
            spare
                .pieces
                .extend((0..pieces).rev().map(|i| (bo.clone(), i * self.piece)));
        }
        let piece = spare.pieces.pop();
        let (bo, offset) = piece.ok_or(Error::Size {
            elements: 1,
            size: self.piece,
        })?;
        let taken = Taken {
            home: self.clone(),
            bo: bo.clone(),
            offset,
        };
        Ok(Piece {
            bo,
            offset,
            size: self.piece,
            _taken: Some(Arc::new(taken)),
        })
    }
}

impl Piece {
    /// A piece of its own object, for what no pool has.
    pub(crate) fn alone(link: &Arc<Link>, size: usize) -> Result<Self> {
        let bo = Arc::new(Bo::new(link, size, flags::SHARED)?);
        Ok(Self {
            bo,
            offset: 0,
            size,
            _taken: None,
        })
    }

    pub(crate) fn address(&self) -> u64 {
        self.bo.address() + self.offset as u64
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        self.bo.link()
    }

    /// The memory it lies in, and its offset there.
    pub(crate) fn place(&self) -> Result<(&Mapping, usize)> {
        Ok((self.bo.host()?, self.offset))
    }

    /// The memory it lies in, to be looked at by who does not hold the piece.
    #[cfg(feature = "async")]
    pub(crate) fn watch(&self) -> Watch {
        Watch {
            bo: self.bo.clone(),
            offset: self.offset,
        }
    }

    /// Copies bytes to the start of the piece.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<()> {
        let (map, offset) = self.place()?;
        let fits = bytes.len() <= self.size;
        fits.then(|| map.write(offset, bytes))
            .flatten()
            .ok_or(Error::NotHostVisible)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let piece = (self.bo.clone(), self.offset);
        lock(&self.home.spare).pieces.push(piece);
    }
}
