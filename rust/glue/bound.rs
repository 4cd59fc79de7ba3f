// SPDX-License-Identifier: GPL-2.0

//! A bound device, and what ends with its being bound.
//!
//! The kernel crate's `Devres` puts each thing on the device's own list, which is walked under a spin
//! lock with interrupts off. Nothing may be on it of which programs can make any number: each would
//! make everybody's next removal slower. Here one entry ([`End`]) stands for all of them: things are
//! in a tree of ours, found in logarithmic time, and [`WhileBound`] is undone when it is dropped or
//! when the device is unbound, whichever comes first. Unlike `Revocable`, its holder may sleep.
//!
//! Nobody who uses the device waits for another who does; only unbinding waits for all of them.
//!
//! Lock order: a thing's mutex -> locks of the driver core and of memory management. The device's two
//! mutexes are leaves.

use core::ptr::NonNull;
use kernel::{
    device::{
        Bound,
        Device, //
    },
    devres,
    new_condvar,
    new_mutex,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNodeReservation, //
    },
    sync::{
        Arc,
        CondVar,
        Mutex, //
    }, //
};

/// A device that is bound, as long as it is.
#[derive(Clone, Copy)]
struct Ptr(NonNull<Device<Bound>>);

// SAFETY: A `Device<Bound>` may be used from any thread.
unsafe impl Send for Ptr {}

/// The device, and how many use it now.
struct Use {
    dev: Option<Ptr>,
    users: usize,
}

/// What is to be undone with the device's being bound.
struct Things {
    by_number: RBTree<u64, Arc<dyn Undo>>,
    next: u64,
}

/// The way to a device while it is bound to its driver.
#[pin_data]
pub(crate) struct BoundDevice {
    #[pin]
    state: Mutex<Use>,
    #[pin]
    unused: CondVar,
    #[pin]
    things: Mutex<Things>,
}

impl BoundDevice {
    /// A reference that ends at the latest when the device is unbound.
    pub(crate) fn new(dev: &Device<Bound>) -> Result<Arc<Self>> {
        let state = Use {
            dev: Some(Ptr(NonNull::from(dev))),
            users: 0,
        };
        let things = Things {
            by_number: RBTree::new(),
            next: 0,
        };
        let this = Arc::pin_init(
            pin_init!(Self {
                state <- new_mutex!(state, "rkfd bound"),
                unused <- new_condvar!("rkfd unused"),
                things <- new_mutex!(things, "rkfd bound things"),
            }),
            GFP_KERNEL,
        )?;
        devres::register(dev, End(this.clone()), GFP_KERNEL)?;
        Ok(this)
    }

    /// Runs `f` while the device can't be unbound.
    ///
    /// # Errors
    ///
    /// ENODEV when it was, and what `f` returns.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&Device<Bound>) -> Result<R>) -> Result<R> {
        let ptr = {
            let mut state = self.state.lock();
            let ptr = state.dev.ok_or(ENODEV)?;
            state.users = state.users.checked_add(1).ok_or(ENODEV)?;
            ptr
        };
        let _user = User(self);
        // SAFETY: The device is bound: before it isn't, `End` takes it away and waits for its users.
        f(unsafe { ptr.0.as_ref() })
    }

    /// Makes a thing that ends with the device's being bound.
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone, ENOMEM, and those of `make`.
    pub(crate) fn hold<T: Send + Unpin + 'static>(
        self: &Arc<Self>,
        make: impl FnOnce(&Device<Bound>) -> Result<T>,
    ) -> Result<WhileBound<T>> {
        self.with(|dev| {
            let reserved = RBTreeNodeReservation::new(GFP_KERNEL_ACCOUNT)?;
            let thing = make(dev)?;
            let place = Arc::pin_init(
                pin_init!(Place { thing <- new_mutex!(Some(thing), "rkfd bound thing") }),
                GFP_KERNEL_ACCOUNT,
            )?;
            let mut things = self.things.lock();
            let number = things.next;
            things.next = number.wrapping_add(1);
            let undo: Arc<dyn Undo> = place.clone();
            let node = reserved.into_node(number, undo);
            things.by_number.insert(node);
            Ok(WhileBound {
                device: self.clone(),
                place,
                number,
            })
        })
    }

    /// Ends the reference. Waits for whoever uses it now.
    pub(crate) fn revoke(&self) {
        let mut state = self.state.lock();
        state.dev = None;
        while state.users > 0 {
            self.unused.wait(&mut state);
        }
    }

    /// Takes any of the things that are left.
    fn take(&self) -> Option<Arc<dyn Undo>> {
        let mut things = self.things.lock();
        let (_, node) = things.by_number.cursor_front_mut()?.remove_current();
        Some(node.to_key_value().1)
    }
}

/// Someone uses the device until this is dropped.
struct User<'a>(&'a BoundDevice);

impl Drop for User<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.users = state.users.saturating_sub(1);
        if state.users == 0 && state.dev.is_none() {
            self.0.unused.notify_all();
        }
    }
}

/// Held by the device's own list of resources, which it gives up when it is unbound.
struct End(Arc<BoundDevice>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.revoke();
        while let Some(thing) = self.0.take() {
            thing.undo();
        }
    }
}

/// Something that can be undone before its owner gives it up.
trait Undo: Send + Sync {
    /// Returns when it is undone, whoever does it.
    fn undo(&self);
}

/// Where a thing is, if it is there.
#[pin_data]
struct Place<T> {
    #[pin]
    thing: Mutex<Option<T>>,
}

impl<T: Send + Unpin> Undo for Place<T> {
    fn undo(&self) {
        // It is dropped under the mutex, so that whoever comes second waits for it.
        *self.thing.lock() = None;
    }
}

/// A thing that is there at most as long as its device is bound.
pub(crate) struct WhileBound<T: Send + Unpin + 'static> {
    device: Arc<BoundDevice>,
    place: Arc<Place<T>>,
    number: u64,
}

impl<T: Send + Unpin + 'static> WhileBound<T> {
    /// Runs `f` with the thing, if it is still there. `f` may sleep.
    pub(crate) fn try_access_with<R>(&self, f: impl FnOnce(&T) -> R) -> Option<R> {
        self.place.thing.lock().as_ref().map(f)
    }
}

impl<T: Send + Unpin + 'static> Drop for WhileBound<T> {
    fn drop(&mut self) {
        // In this order: as long as it isn't undone, the end of the device finds it.
        self.place.undo();
        let removed = self
            .device
            .things
            .lock()
            .by_number
            .remove_node(&self.number);
        drop(removed);
    }
}
