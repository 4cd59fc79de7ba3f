// SPDX-License-Identifier: GPL-2.0

//! What hardware that didn't acknowledge may still touch: kept until it provably can't.
//!
//! Whoever asks the hardware to let go of something and gets no answer puts it here instead of
//! freeing it. It is freed when the GPU was stopped for good.
//!
//! Lock order: the lock is a leaf; nothing is freed under it.

use crate::glue::ratelimit::ratelimited;
use kernel::{
    device::Device,
    new_mutex,
    prelude::*,
    sync::{
        aref::ARef,
        Arc,
        Mutex, //
    }, //
};

/// Anything that must not be freed yet.
pub(crate) trait Thing: Send + Sync {}

impl<T: Send + Sync> Thing for T {}

/// The things of a device.
#[pin_data]
pub(crate) struct Kept {
    dev: ARef<Device>,
    #[pin]
    things: Mutex<KVec<KBox<dyn Thing>>>,
}

impl Kept {
    /// Nothing yet.
    pub(crate) fn new(dev: &Device) -> Result<Arc<Self>> {
        let dev = dev.into();
        Arc::pin_init(
            pin_init!(Self { dev, things <- new_mutex!(KVec::new(), "rkfd kept") }),
            GFP_KERNEL,
        )
    }

    /// Keeps something that the hardware may still touch.
    pub(crate) fn keep<T: Send + Sync + 'static>(&self, thing: T) {
        let Ok(place) = KBox::<T>::new_uninit(GFP_KERNEL) else {
            return self.leak(thing);
        };
        let mut things = self.things.lock();
        if things.reserve(1, GFP_KERNEL).is_err() {
            drop(things);
            return self.leak(thing);
        }
        let kept: KBox<dyn Thing> = KBox::<core::mem::MaybeUninit<T>>::write(place, thing);
        // There is room.
        let _ = things.push(kept, GFP_KERNEL);
    }

    /// Leaks it, since freeing it would hand memory to others that the GPU writes to.
    fn leak<T>(&self, thing: T) {
        ratelimited!(
            dev_err,
            self.dev,
            "no memory to keep track of what the GPU doesn't let go of; it is leaked\n"
        );
        core::mem::forget(thing);
    }

    /// The hardware was stopped for good: frees what was kept.
    pub(crate) fn release(&self) {
        drop(self.take());
    }

    /// Hands what was kept on, to whoever knows when the hardware is done with it.
    pub(crate) fn hand_to(&self, other: &Kept) {
        let things = self.take();
        if !things.is_empty() {
            other.keep(things);
        }
    }

    /// Takes what was kept, to be dropped where no lock is held.
    pub(crate) fn take(&self) -> KVec<KBox<dyn Thing>> {
        core::mem::replace(&mut *self.things.lock(), KVec::new())
    }
}
