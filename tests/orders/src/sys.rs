// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory of the process in place of buffer objects.

use std::sync::atomic::Ordering::AcqRel;
use std::sync::{Arc, PoisonError};

use crate::driver::Link;
use crate::error::Result;

use map::Mapping;

/// Words that can be accessed, at the start of each object: as many as two signals have.
const WORDS: usize = 16;

/// The flags that are asked for, which mean nothing here.
pub(crate) mod flags {
    pub(crate) const SHARED: u32 = 0;
}

/// Bytes of addresses from one object to the next.
const APART: u64 = 1 << 16;

/// An object.
#[derive(Debug)]
pub(crate) struct Bo {
    link: Arc<Link>,
    map: Arc<Mapping>,
    address: u64,
}

impl Bo {
    pub(crate) fn new(link: &Arc<Link>, _size: usize, _flags: u32) -> Result<Self> {
        let map = Arc::new(Mapping::new(WORDS));
        let mut objects = link.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.push(map.clone());
        Ok(Self {
            link: link.clone(),
            map,
            address: objects.len() as u64 * APART,
        })
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn handle(&self) -> u64 {
        0
    }

    pub(crate) fn host(&self) -> Result<&Mapping> {
        Ok(&self.map)
    }
}

/// What the GPU does with the value of a signal at the end of a packet.
pub(crate) fn decrement(link: &Link, address: u64) {
    let objects = link.objects.lock().unwrap_or_else(PoisonError::into_inner);
    let map = objects.get((address / APART) as usize - 1).cloned();
    drop(objects);
    if let Some(word) = map
        .as_ref()
        .and_then(|map| map.word64((address % APART) as usize))
    {
        word.fetch_sub(1, AcqRel);
    }
}

/// The memory of an object.
pub(crate) mod map {
    use std::sync::atomic::Ordering::Relaxed;

    use crate::sync::AtomicU64;

    /// Words.
    #[derive(Debug)]
    pub(crate) struct Mapping(Vec<AtomicU64>);

    impl Mapping {
        pub(crate) fn new(words: usize) -> Self {
            Self((0..words).map(|_| AtomicU64::new(0)).collect())
        }

        pub(crate) fn word64(&self, offset: usize) -> Option<&AtomicU64> {
            self.0.get(offset / 8)
        }

        /// Copies bytes in by whole words, with the library's order.
        pub(crate) fn write(&self, offset: usize, from: &[u8]) -> Option<()> {
            let words = self.0.get(offset / 8..)?;
            for (word, bytes) in words.iter().zip(from.chunks_exact(8)) {
                word.store(u64::from_le_bytes(bytes.try_into().ok()?), Relaxed);
            }
            Some(())
        }
    }
}
