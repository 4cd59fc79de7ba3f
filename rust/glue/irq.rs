// SPDX-License-Identifier: GPL-2.0

//! A device's message-signalled interrupt.
//!
//! The kernel crate of 7.3 has vectors and a registration that borrows from them, but no owner of
//! both: a struct can't borrow from itself. Here one value owns both.

use kernel::{
    device::Bound,
    irq::{
        self,
        Flags,
        Handler,
        Registration, //
    },
    pci,
    prelude::*, //
};

/// The interrupt is on; dropped, it is off and no handler runs any more.
#[pin_data]
pub(crate) struct Msi<'bound, T: Handler + 'bound> {
    // Fields are dropped in this order.
    #[pin]
    line: Registration<'bound, T>,
    vectors: pci::IrqVectorRegistration<'bound>,
}

impl<'bound, T: Handler + 'bound> Msi<'bound, T> {
    /// Gets one vector and turns the interrupt on.
    ///
    /// # Errors
    ///
    /// ENOSPC and others when the device gets no MSI, ENOMEM.
    pub(crate) fn new(
        pdev: &'bound pci::Device<Bound>,
        name: &'static CStr,
        handler: T,
    ) -> impl PinInit<Self, Error> + 'bound {
        pin_init::pin_init_scope(move || {
            let types = pci::IrqTypes::default().with(pci::IrqType::Msi);
            let vectors = pdev.alloc_irq_vectors(1, 1, types)?;
            Ok(try_pin_init!(Self {
                vectors,
                line <- {
                    // SAFETY: The vectors are initialized before, stay where they are since the
                    // value is pinned, and are dropped after the line.
                    let vectors: &'bound pci::IrqVectorRegistration<'bound> =
                        unsafe { &*core::ptr::from_ref(vectors) };
                    let request: irq::IrqRequest<'bound> = vectors.index(0)?.into();
                    // SAFETY: The value is made in place in the driver's data of the device, which
                    // the driver core drops when the device is unbound.
                    unsafe { Registration::new(request, Flags::TRIGGER_NONE, name, Ok(handler)) }
                },
            }))
        })
    }
}
