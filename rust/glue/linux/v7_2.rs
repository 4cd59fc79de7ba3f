// SPDX-License-Identifier: GPL-2.0

//! Linux 7.2.

use super::OnInterrupt;
use core::{
    marker::PhantomData,
    num::NonZero, //
};
use kernel::{
    bindings,
    device::{
        Bound,
        Device, //
    },
    devres::Devres,
    dma::{
        Coherent,
        DmaAddress, //
    },
    dma_read,
    dma_write,
    error::Error,
    irq::{
        self,
        Flags,
        IrqReturn, //
    },
    pci,
    prelude::*,
    sync::{
        barrier,
        poll::PollCondVar, //
    }, //
};

/// An error of which the kernel crate has no constant.
const fn error(number: u32) -> Error {
    // CAST: Numbers of errors are small.
    match NonZero::new((number as i32).wrapping_neg()) {
        // SAFETY: All that an `Error` has is this number, and it is one of `errno.h`'s, negated.
        Some(errno) => unsafe { core::mem::transmute::<NonZero<i32>, Error>(errno) },
        None => EINVAL,
    }
}

pub(crate) const EALREADY: Error = error(bindings::EALREADY);
pub(crate) const ENODATA: Error = error(bindings::ENODATA);
pub(crate) const ENOTRECOVERABLE: Error = error(bindings::ENOTRECOVERABLE);
pub(crate) const EOPNOTSUPP: Error = error(bindings::EOPNOTSUPP);
pub(crate) const ETIME: Error = error(bindings::ETIME);

/// A BAR that stays mapped until the device is unbound.
pub(crate) type DevresBar = Devres<pci::Bar<'static>>;

/// What probe is told of a device's entry in the table.
pub(crate) type Info<'a, T> = &'a T;

/// The table of devices, for the kernel and for modprobe.
macro_rules! pci_device_table {
    ($name:ident, $info:ty, $devices:expr) => {
        kernel::pci_device_table!($name, MODULE_PCI_TABLE, $info, $devices);
    };
}
pub(crate) use pci_device_table;

/// Stores before it are seen before those after it.
pub(crate) fn write_barrier() {
    barrier::smp_wmb();
}

/// Loads before it are done before those after it.
pub(crate) fn read_barrier() {
    barrier::smp_rmb();
}

/// Both, and loads and stores among each other.
pub(crate) fn full_barrier() {
    barrier::smp_mb();
}

/// The device reads.
pub(crate) const TO_DEVICE: bindings::dma_data_direction =
    bindings::dma_data_direction_DMA_TO_DEVICE;
/// It reads and writes.
pub(crate) const BOTH_WAYS: bindings::dma_data_direction =
    bindings::dma_data_direction_DMA_BIDIRECTIONAL;

/// This module, to be held by what refers to its code.
pub(crate) const fn this() -> *mut bindings::module {
    crate::THIS_MODULE.as_ptr()
}

/// Bus address of coherent words.
pub(crate) fn bus(words: &Coherent<[u32]>) -> DmaAddress {
    words.dma_handle()
}

/// Loads one of them.
///
/// # Errors
///
/// EINVAL beyond the end.
pub(crate) fn read(words: &Coherent<[u32]>, index: usize) -> Result<u32> {
    Ok(dma_read!(words, [try: index]))
}

/// Stores one of them.
///
/// # Errors
///
/// EINVAL beyond the end.
pub(crate) fn write(words: &Coherent<[u32]>, index: usize, value: u32) -> Result {
    dma_write!(words, [try: index], value);
    Ok(())
}

/// Where pollers of a file wait. Its end waits for a grace period of RCU.
pub(crate) type Pollers = Pin<KBox<PollCondVar>>;

/// Nobody waits yet.
///
/// # Errors
///
/// ENOMEM.
pub(crate) fn pollers(name: &'static CStr) -> Result<Pollers> {
    KBox::pin_init(
        PollCondVar::new(name, kernel::static_lock_class!()),
        GFP_KERNEL_ACCOUNT,
    )
}

/// What the kernel calls.
struct Handler<T>(T);

impl<T: OnInterrupt + 'static> irq::Handler for Handler<T> {
    fn handle(&self, _dev: &Device<Bound>) -> IrqReturn {
        self.0.interrupt();
        IrqReturn::Handled
    }
}

/// A device's message-signalled interrupt, which is on; dropped, it is off and no handler runs any more. The kernel
/// frees the vector when the device is unbound.
#[pin_data]
pub(crate) struct Msi<'bound, T: OnInterrupt + 'static> {
    #[pin]
    line: irq::Registration<Handler<T>>,
    _device: PhantomData<&'bound pci::Device<Bound>>,
}

impl<'bound, T: OnInterrupt + 'static> Msi<'bound, T> {
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
            let handler = Ok(Handler(handler));
            Ok(try_pin_init!(Self {
                line <- pdev.request_irq(*vectors.start(), Flags::TRIGGER_NONE, name, handler),
                _device: PhantomData,
            }))
        })
    }
}
