// SPDX-License-Identifier: GPL-2.0

//! VRAM that can be had back: objects that give way to others, the oldest first.
//!
//! Lock order: the list's lock is a leaf, held for a look only.

use kernel::{
    new_mutex,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNodeReservation, //
    },
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

/// What has VRAM that it can do without.
pub(crate) trait Yields: Send + Sync {
    /// Gives its VRAM back.
    ///
    /// # Errors
    ///
    /// EINTR when the caller is killed; others, when it keeps it: somebody else may give way.
    fn give_way(&self) -> Result;
}

struct List {
    next: u64,
    by_age: RBTree<u64, Arc<dyn Yields>>,
}

/// The list of a GPU's.
#[pin_data]
pub(crate) struct Yielding {
    #[pin]
    list: Mutex<List>,
    /// Bytes that they have in VRAM.
    bytes: Atomic<u64>,
    /// How often one of them gave way.
    evictions: Atomic<u64>,
    /// Bytes that were moved, either way.
    moved: Atomic<u64>,
}

/// A place in the list.
#[derive(Clone, Copy)]
pub(crate) struct Place(u64);

impl Yielding {
    /// Nothing yields yet.
    pub(super) fn new() -> impl PinInit<Self> {
        let list = List {
            next: 0,
            by_age: RBTree::new(),
        };
        pin_init!(Self {
            list <- new_mutex!(list, "rkfd yielding objects"),
            bytes: Atomic::new(0),
            evictions: Atomic::new(0),
            moved: Atomic::new(0),
        })
    }

    /// Bytes of VRAM that can be had back.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// How often one of them gave way.
    pub(crate) fn evictions(&self) -> u64 {
        self.evictions.load(Relaxed)
    }

    /// Bytes that were moved, either way.
    pub(crate) fn moved(&self) -> u64 {
        self.moved.load(Relaxed)
    }

    /// So much of VRAM is one of them's from now on.
    pub(crate) fn enter(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// So much of VRAM isn't one of them's any more, or yields no more.
    pub(crate) fn leave(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    /// One of them was moved out of VRAM.
    pub(crate) fn went(&self, bytes: u64) {
        self.leave(bytes);
        self.evictions.fetch_add(1, Relaxed);
        self.moved.fetch_add(bytes, Relaxed);
    }

    /// One of them was moved to VRAM.
    pub(crate) fn came(&self, bytes: u64) {
        self.enter(bytes);
        self.moved.fetch_add(bytes, Relaxed);
    }

    /// Adds one, the youngest.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(crate) fn add(&self, what: Arc<dyn Yields>) -> Result<Place> {
        let reserved = RBTreeNodeReservation::new(GFP_KERNEL_ACCOUNT)?;
        let mut list = self.list.lock();
        let place = list.next;
        list.next = place.wrapping_add(1);
        list.by_age.insert(reserved.into_node(place, what));
        Ok(Place(place))
    }

    /// Removes one.
    pub(crate) fn remove(&self, place: Place) {
        let removed = self.list.lock().by_age.remove_node(&place.0);
        drop(removed);
    }

    /// The oldest behind a place, and its own.
    pub(crate) fn next(&self, behind: Option<Place>) -> Option<(Place, Arc<dyn Yields>)> {
        let from = behind.map_or(0, |Place(place)| place.wrapping_add(1));
        let list = self.list.lock();
        let (place, what) = list
            .by_age
            .cursor_lower_bound(&from)
            .map(|cursor| (*cursor.current().0, cursor.current().1.clone()))?;
        Some((Place(place), what))
    }
}
