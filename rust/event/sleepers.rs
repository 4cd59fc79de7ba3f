// SPDX-License-Identifier: GPL-2.0

//! Who sleeps on which events.
//!
//! A waiter brings the memory for its own entries, one for each event that it names, however often it
//! names it. So a wait takes what it can pay for, and no array grows with the waits of others
//! (upstream: a wait queue entry in the waiter).

use kernel::{
    new_condvar,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNodeReservation, //
    },
    sync::{
        Arc,
        CondVar, //
    }, //
};

/// A thread that waits.
#[pin_data]
pub(super) struct Sleeper {
    #[pin]
    pub(super) woken: CondVar,
}

impl Sleeper {
    pub(super) fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self { woken <- new_condvar!("rkfd waiter") }),
            GFP_KERNEL_ACCOUNT,
        )
    }
}

/// The serial number of the event, then that of the wait.
type Key = (u64, u64);

/// The sleepers of all events of a process.
pub(super) struct Sleepers(RBTree<Key, Arc<Sleeper>>);

/// Memory for the entries of a wait.
pub(super) struct Places(KVVec<RBTreeNodeReservation<Key, Arc<Sleeper>>>);

impl Places {
    /// For a wait for so many events.
    pub(super) fn new(events: usize) -> Result<Self> {
        let mut places = KVVec::with_capacity(events, GFP_KERNEL_ACCOUNT)?;
        for _ in 0..events {
            let place = RBTreeNodeReservation::new(GFP_KERNEL_ACCOUNT)?;
            places.push(place, GFP_KERNEL_ACCOUNT)?;
        }
        Ok(Self(places))
    }
}

impl Sleepers {
    pub(super) fn new() -> Self {
        Self(RBTree::new())
    }

    /// Puts a waiting thread on an event; once is enough.
    pub(super) fn add(&mut self, places: &mut Places, event: u64, wait: u64, who: &Arc<Sleeper>) {
        let key = (event, wait);
        if self.0.get(&key).is_none() {
            // A wait brings one for each event that it names.
            if let Some(place) = places.0.pop() {
                self.0.insert(place.into_node(key, who.clone()));
            }
        }
    }

    /// Takes it off; the memory goes back to the waiter, to be freed by it.
    pub(super) fn remove(&mut self, places: &mut Places, event: u64, wait: u64) {
        if let Some(node) = self.0.remove_node(&(event, wait)) {
            let _ = places.0.push_within_capacity(node.into_reservation());
        }
    }

    /// Whether somebody sleeps on an event.
    pub(super) fn any(&self, event: u64) -> bool {
        let first = self.0.cursor_lower_bound(&(event, 0));
        first.is_some_and(|at| at.current().0 .0 == event)
    }

    /// Makes everyone who sleeps on an event look again. The events' mutex is held, so nobody can
    /// miss this.
    pub(super) fn wake(&mut self, event: u64) {
        let mut next = self.0.cursor_lower_bound_mut(&(event, 0));
        while let Some(at) = next {
            let (key, sleeper) = at.current();
            if key.0 != event {
                return;
            }
            sleeper.woken.notify_all();
            next = at.move_next();
        }
    }

    /// Makes everyone look again.
    pub(super) fn wake_all(&self) {
        for sleeper in self.0.values() {
            sleeper.woken.notify_all();
        }
    }
}
