// SPDX-License-Identifier: GPL-2.0

//! Linux 7.3, and later ones as long as nothing changes.

use super::OnInterrupt;
use kernel::{
    bindings,
    device::Bound,
    dma::{
        Coherent,
        DmaAddress, //
    },
    error::Error,
    io::{
        io_read,
        io_write, //
    },
    irq::{
        self,
        Flags,
        IrqReturn, //
    },
    module::this_module,
    pci,
    prelude::*,
    sync::{
        barrier,
        poll::PollCondVarBox, //
    }, //
};

pub(crate) use kernel::error::code::{
    EALREADY,
    ENODATA,
    ENOTRECOVERABLE,
    EOPNOTSUPP,
    ETIME, //
};
/// A BAR that stays mapped until the device is unbound.
pub(crate) use kernel::pci::DevresBar;

/// What probe is told of a device's entry in the table.
pub(crate) type Info<'a, T> = Option<&'a T>;

/// The table of devices, for the kernel and for modprobe.
pub(crate) use kernel::pci_device_table;

/// Stores before it are seen before those after it.
pub(crate) fn write_barrier() {
    barrier::smp_mb(barrier::Write);
}

/// Loads before it are done before those after it.
pub(crate) fn read_barrier() {
    barrier::smp_mb(barrier::Read);
}

/// Both, and loads and stores among each other.
pub(crate) fn full_barrier() {
    barrier::smp_mb(barrier::Full);
}

/// The device reads.
pub(crate) const TO_DEVICE: bindings::dma_data_direction =
    bindings::dma_data_direction::DMA_TO_DEVICE;
/// It reads and writes.
pub(crate) const BOTH_WAYS: bindings::dma_data_direction =
    bindings::dma_data_direction::DMA_BIDIRECTIONAL;

/// This module, to be held by what refers to its code.
pub(crate) const fn this() -> *mut bindings::module {
    this_module::<crate::LocalModule>().as_ptr()
}

/// Bus address of coherent words.
pub(crate) fn bus(words: &Coherent<[u32]>) -> DmaAddress {
    words.dma_address()
}

/// Loads one of them.
///
/// # Errors
///
/// EINVAL beyond the end.
pub(crate) fn read(words: &Coherent<[u32]>, index: usize) -> Result<u32> {
    Ok(io_read!(words, [try: index]))
}

/// Stores one of them.
///
/// # Errors
///
/// EINVAL beyond the end.
pub(crate) fn write(words: &Coherent<[u32]>, index: usize, value: u32) -> Result {
    io_write!(words, [try: index], value);
    Ok(())
}

/// Where pollers of a file wait, whose end waits for nobody: its memory goes after a grace period of RCU.
pub(crate) type Pollers = PollCondVarBox;

/// Nobody waits yet.
///
/// # Errors
///
/// ENOMEM.
pub(crate) fn pollers(name: &'static CStr) -> Result<Pollers> {
    Ok(PollCondVarBox::new(name, kernel::static_lock_class!())?)
}

/// What the kernel calls.
struct Handler<T>(T);

impl<T: OnInterrupt> irq::Handler for Handler<T> {
    fn handle(&self) -> IrqReturn {
        self.0.interrupt();
        IrqReturn::Handled
    }
}

/// A device's message-signalled interrupt, which is on; dropped, it is off and no handler runs any more.
///
/// The kernel crate has vectors and a registration that borrows from them, but no owner of both: a struct can't
/// borrow from itself. Here one value owns both.
#[pin_data]
pub(crate) struct Msi<'bound, T: OnInterrupt + 'bound> {
    // Fields are dropped in this order.
    #[pin]
    line: irq::Registration<'bound, Handler<T>>,
    vectors: pci::IrqVectorRegistration<'bound>,
}

impl<'bound, T: OnInterrupt + 'bound> Msi<'bound, T> {
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
                    let handler = Ok(Handler(handler));
                    // SAFETY: The value is made in place in the driver's data of the device, which
                    // the driver core drops when the device is unbound.
                    unsafe { irq::Registration::new(request, Flags::TRIGGER_NONE, name, handler) }
                },
            }))
        })
    }
}
