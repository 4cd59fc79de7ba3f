// SPDX-License-Identifier: GPL-2.0

//! A bound device, for those who outlive its being bound.
//!
//! The kernel crate of 7.3 has no revocable reference whose holder may sleep: `Revocable`, and with
//! it `Devres`, is read under RCU. Here a mutex is held instead, as mapping memory for DMA and
//! allocating it take time.
//!
//! Lock order: only locks of the driver core and of memory management are taken under this one.

use core::ptr::NonNull;
use kernel::{
    device::{
        Bound,
        Device, //
    },
    devres,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// A device that is bound, as long as it is.
struct Ptr(NonNull<Device<Bound>>);

// SAFETY: A `Device<Bound>` may be used from any thread.
unsafe impl Send for Ptr {}

/// The way to a device while it is bound to its driver.
#[pin_data]
pub(crate) struct BoundDevice {
    #[pin]
    dev: Mutex<Option<Ptr>>,
}

impl BoundDevice {
    /// A reference that ends at the latest when the device is unbound.
    pub(crate) fn new(dev: &Device<Bound>) -> Result<Arc<Self>> {
        let ptr = Ptr(NonNull::from(dev));
        let this = Arc::pin_init(
            pin_init!(Self { dev <- new_mutex!(Some(ptr), "rkfd bound") }),
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
        let dev = self.dev.lock();
        let ptr = dev.as_ref().ok_or(ENODEV)?;
        // SAFETY: The device is bound: before it isn't, `End` takes the lock and empties the place.
        f(unsafe { ptr.0.as_ref() })
    }

    /// Ends the reference. Waits for whoever uses it now.
    pub(crate) fn revoke(&self) {
        *self.dev.lock() = None;
    }
}

/// Held by the device's own list of resources, which it gives up when it is unbound.
struct End(Arc<BoundDevice>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.revoke();
    }
}
