// SPDX-License-Identifier: GPL-2.0

//! A device's message-signalled interrupt.
//!
//! The `kernel` crate's registration borrows from the vectors and these from the bound device, so
//! neither can be kept beside the other in what lives as long as the device is used. Here one
//! value owns both and the handler.

use kernel::{bindings, device::Bound, error::to_result, pci, prelude::*, sync::aref::ARef};

/// What happens when the interrupt comes.
pub(crate) trait Handler: Send + Sync {
    /// Called with interrupts off: must not sleep.
    fn handle(&self);
}

/// The interrupt is on; dropped, it is off and no handler runs any more.
pub(crate) struct Msi<T: Handler> {
    // Fields are dropped in this order.
    _line: Line<T>,
    _vectors: Vectors,
}

impl<T: Handler> Msi<T> {
    /// Gets one vector and turns the interrupt on.
    ///
    /// # Errors
    ///
    /// ENOSPC and others when the device gets no MSI, ENOMEM.
    pub(crate) fn new(pdev: &pci::Device<Bound>, name: &'static CStr, handler: T) -> Result<Self> {
        let vectors = Vectors::new(pdev)?;
        Ok(Self {
            _line: Line::new(vectors.irq()?, name, handler)?,
            _vectors: vectors,
        })
    }
}

/// The device's interrupt vectors; given back when dropped.
struct Vectors(ARef<pci::Device>);

fn raw(pdev: &pci::Device) -> *mut bindings::pci_dev {
    // `pci::Device` is `repr(transparent)` over `Opaque<pci_dev>`.
    core::ptr::from_ref(pdev).cast_mut().cast()
}

impl Vectors {
    fn new(pdev: &pci::Device<Bound>) -> Result<Self> {
        let pdev: &pci::Device = pdev;
        // SAFETY: The device is valid and bound.
        let count =
            unsafe { bindings::pci_alloc_irq_vectors(raw(pdev), 1, 1, bindings::PCI_IRQ_MSI) };
        if count < 0 {
            return Err(Error::from_errno(count));
        }
        Ok(Self(pdev.into()))
    }

    fn irq(&self) -> Result<u32> {
        // SAFETY: The device is valid.
        let irq = unsafe { bindings::pci_irq_vector(raw(&self.0), 0) };
        u32::try_from(irq).map_err(|_| Error::from_errno(irq))
    }
}

impl Drop for Vectors {
    fn drop(&mut self) {
        // SAFETY: Allocated by `new`; whoever had a handler on them freed it first.
        unsafe { bindings::pci_free_irq_vectors(raw(&self.0)) };
    }
}

/// A handler on an interrupt.
struct Line<T: Handler> {
    irq: u32,
    handler: KBox<T>,
}

impl<T: Handler> Line<T> {
    fn new(irq: u32, name: &'static CStr, handler: T) -> Result<Self> {
        let handler = KBox::new(handler, GFP_KERNEL)?;
        let cookie = core::ptr::from_ref::<T>(&handler).cast_mut().cast();
        // SAFETY: The cookie is the boxed handler, which stays where it is until `drop` has freed
        // the interrupt; the name lives forever.
        to_result(unsafe {
            bindings::request_irq(irq, Some(handle::<T>), 0, name.as_char_ptr(), cookie)
        })?;
        Ok(Self { irq, handler })
    }
}

impl<T: Handler> Drop for Line<T> {
    fn drop(&mut self) {
        let cookie = core::ptr::from_ref::<T>(&self.handler).cast_mut().cast();
        // SAFETY: Requested with this cookie. Waits until no handler runs.
        unsafe { bindings::free_irq(self.irq, cookie) };
    }
}

extern "C" fn handle<T: Handler>(_: c_int, cookie: *mut c_void) -> bindings::irqreturn_t {
    // SAFETY: The cookie is a handler that lives until the interrupt is freed.
    let handler = unsafe { &*cookie.cast::<T>() };
    handler.handle();
    bindings::irqreturn::IRQ_HANDLED
}
