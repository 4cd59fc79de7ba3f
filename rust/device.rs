// SPDX-License-Identifier: GPL-2.0

//! The handle by which everything that outlives the device reaches it.
//!
//! Open files, buffer objects and queues live on after the device was unbound or stopped answering.
//! They hold a [`Handle`]: it reports whether there still is a device, lends it out while it is bound,
//! and counts its resets, so that nobody waits for what an earlier life of it was to do.

use crate::{
    counts::Work,
    glue::{
        bound::{
            BoundDevice,
            WhileBound, //
        },
        dma::ResourceMapping, //
    },
    regs::Regs, //
};
use kernel::{
    device::{
        Bound,
        Device, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        Arc, //
    }, //
};

/// A piece of the device as page tables name it.
pub(crate) type DeviceMapping = Arc<WhileBound<ResourceMapping>>;

/// The handle of a device.
pub(crate) struct Handle {
    dev: ARef<Device>,
    regs: Arc<Regs>,
    bound: Arc<BoundDevice>,
    /// It was found not to answer.
    lost: Atomic<u32>,
    /// It is about to be unbound, or was.
    closed: Atomic<u32>,
    /// Resets the device went through: a fence of an earlier one never completes.
    generation: Atomic<u32>,
    /// How often VRAM has lost what was in it.
    losses: Atomic<u32>,
    /// How often the device or queues of it were reset.
    resets: Atomic<u32>,
    /// Its engines are being reset.
    resetting: Atomic<u32>,
}

/// The engines are being reset, until it is dropped.
pub(crate) struct Resetting<'a>(&'a Handle);

impl Drop for Resetting<'_> {
    fn drop(&mut self) {
        self.0.resetting.store(0, Release);
    }
}

impl Handle {
    /// The handle of a device with these registers.
    pub(crate) fn new(dev: &Device<Bound>, regs: &Arc<Regs>) -> Result<Arc<Self>> {
        let plain: &Device = dev;
        let this = Self {
            dev: plain.into(),
            regs: regs.clone(),
            bound: BoundDevice::new(dev)?,
            lost: Atomic::new(0),
            closed: Atomic::new(0),
            generation: Atomic::new(0),
            losses: Atomic::new(0),
            resets: Atomic::new(0),
            resetting: Atomic::new(0),
        };
        Ok(Arc::new(this, GFP_KERNEL)?)
    }

    /// The device, for messages.
    pub(crate) fn device(&self) -> &Device {
        &self.dev
    }

    /// What is done to it, counted.
    pub(crate) fn work(&self) -> &Work {
        self.regs.work()
    }

    /// ENODEV from when the device is being unbound, or when it was found not to answer.
    pub(crate) fn alive(&self) -> Result {
        match self.closed.load(Relaxed) {
            0 => self.check_there(),
            _ => Err(ENODEV),
        }
    }

    /// ENODEV from when the device is being unbound, or when it was found not to answer. Looks at no register, so
    /// that requests which need nothing of the hardware don't wait for the bus.
    pub(crate) fn check_open(&self) -> Result {
        match self.closed.load(Relaxed) {
            0 => self.check_lost(),
            _ => Err(ENODEV),
        }
    }

    /// ENODEV when the device doesn't answer. One that is being unbound does: what is taken from it then
    /// is taken with its acknowledgement. Nobody takes one for gone that is being reset as a whole.
    pub(crate) fn check_there(&self) -> Result {
        self.check_lost()?;
        match self.regs.here() {
            Some(_here) if self.regs.gone() => {
                self.set_lost();
                Err(ENODEV)
            }
            _ => Ok(()),
        }
    }

    /// ENODEV when the device was found not to answer. Looks at no register.
    pub(crate) fn check_lost(&self) -> Result {
        match self.lost.load(Relaxed) {
            0 => Ok(()),
            _ => Err(ENODEV),
        }
    }

    /// From now on the device counts as gone.
    fn set_lost(&self) {
        self.lost.store(1, Relaxed);
    }

    /// The generation that fences made now belong to.
    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Relaxed)
    }

    /// The device is about to be reset: nobody goes on waiting for what it was to do. Returns the
    /// generation that begins, which is also how many resets there were.
    pub(crate) fn next_generation(&self) -> u32 {
        self.generation.fetch_add(1, Relaxed).wrapping_add(1)
    }

    /// How often the device or queues of it were reset (`gpu_reset_counter`).
    pub(crate) fn resets(&self) -> u32 {
        self.resets.load(Relaxed)
    }

    /// The device, or queues of it, are about to be reset, or were.
    pub(crate) fn note_reset(&self) {
        self.resets.fetch_add(1, Relaxed);
    }

    /// The engines are about to be reset.
    pub(crate) fn resetting(&self) -> Resetting<'_> {
        self.resetting.store(1, Release);
        Resetting(self)
    }

    /// Whether the engines are being reset (`amdgpu_in_reset`).
    pub(crate) fn is_resetting(&self) -> bool {
        self.resetting.load(Acquire) != 0
    }

    /// Whether the device is being reset as a whole.
    pub(crate) fn is_away(&self) -> bool {
        self.regs.is_away()
    }

    /// How often VRAM has lost what was in it: page tables that were made before don't map anything any more.
    pub(crate) fn losses(&self) -> u32 {
        self.losses.load(Relaxed)
    }

    /// VRAM has lost what was in it. Comes before the device is there again.
    pub(crate) fn note_loss(&self) {
        self.losses.fetch_add(1, Relaxed);
    }

    /// Runs `f` while the device can't be unbound.
    ///
    /// # Errors
    ///
    /// ENODEV when it was, and what `f` returns.
    pub(crate) fn while_bound<R>(&self, f: impl FnOnce(&Device<Bound>) -> Result<R>) -> Result<R> {
        self.bound.with(f)
    }

    /// Makes a thing that is undone at the latest when the device is unbound.
    ///
    /// # Errors
    ///
    /// ENODEV when it was, ENOMEM, and what `make` returns.
    pub(crate) fn hold<T: Send + Unpin + 'static>(
        &self,
        make: impl FnOnce(&Device<Bound>) -> Result<T>,
    ) -> Result<WhileBound<T>> {
        self.bound.hold(make)
    }

    /// Maps `len` bytes of the device at a physical address for DMA: once for all who show that piece, since
    /// the DMA API's checks object to an address that is mapped more than seven times.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV when the device is gone.
    pub(crate) fn map(&self, phys: u64, len: usize) -> Result<DeviceMapping> {
        let map = self.hold(|dev| ResourceMapping::new(dev, phys, len))?;
        Ok(Arc::new(map, GFP_KERNEL_ACCOUNT)?)
    }

    /// The device is about to be unbound: nothing is added to its resources any more.
    pub(crate) fn unbind(&self) {
        self.closed.store(1, Relaxed);
        self.bound.revoke();
    }
}
