// SPDX-License-Identifier: GPL-2.0

//! Contexts of a DRM device's file. Programs submit work to the kernel's rings in their name, which this driver
//! doesn't take; and ask them whether a reset has hit the GPU, which is what is kept of one here. Its priority would
//! say which rings its work goes to.
//!
//! Source: Linux, `amdgpu_ctx.c`.
//!
//! Lock order: a file's table is a leaf. Memory is got without it.

use crate::{
    counts::{
        Count, //
        Counts,
        Thing,
    },
    gpu::Gpu,
    ids::{
        IdTable,
        Room, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// What counters of the GPU were when a context was made.
struct Context {
    resets: u32,
    losses: u32,
    /// Resets there had been at the last question for those since ([`Contexts::was_reset`]).
    seen: u32,
    _count: Count,
}

/// What happened to the GPU since a context was made.
pub(crate) struct Since {
    /// It, or queues of it, were reset.
    pub(crate) reset: bool,
    /// VRAM lost what was in it.
    pub(crate) lost: bool,
}

/// The contexts of a file.
#[pin_data]
pub(crate) struct Contexts {
    #[pin]
    table: Mutex<IdTable<Context>>,
    counts: Arc<Counts>,
}

impl Contexts {
    /// The least number, which none has less than (`XA_FLAGS_ALLOC1`).
    const FIRST: u32 = 1;

    /// None yet.
    pub(crate) fn new(counts: &Arc<Counts>) -> impl PinInit<Self> {
        let counts = counts.clone();
        pin_init!(Self {
            table <- new_mutex!(IdTable::new(Self::FIRST), "rkfd contexts"),
            counts,
        })
    }

    /// Makes a context, and returns its number: the lowest that is free.
    ///
    /// # Errors
    ///
    /// ENOMEM, EBUSY when all numbers are taken (`xa_alloc`).
    pub(crate) fn alloc(&self, gpu: &Gpu) -> Result<u32> {
        loop {
            let growth = self.table.lock().growth();
            let room = Room::new(growth)?;
            let resets = gpu.resets();
            let context = Context {
                resets,
                losses: gpu.vram_losses(),
                seen: resets,
                _count: self.counts.count(Thing::Context),
            };
            let made = self
                .table
                .lock()
                .insert_in(room, u32::MAX, || Some(context));
            match made {
                Err(EAGAIN) => {}
                result => return result.map_err(|e| if e == ENOSPC { EBUSY } else { e }),
            }
        }
    }

    /// Frees a context.
    ///
    /// # Errors
    ///
    /// EINVAL when there is none.
    pub(crate) fn free(&self, id: u32) -> Result {
        let context = self.table.lock().remove(id);
        context.map(drop).ok_or(EINVAL)
    }

    /// Whether the GPU was reset since the last time that this was asked.
    ///
    /// # Errors
    ///
    /// EINVAL when there is no such context.
    pub(crate) fn was_reset(&self, gpu: &Gpu, id: u32) -> Result<bool> {
        let mut table = self.table.lock();
        let context = table.get_mut(id).ok_or(EINVAL)?;
        let resets = gpu.resets();
        Ok(core::mem::replace(&mut context.seen, resets) != resets)
    }

    /// What happened since it was made.
    ///
    /// # Errors
    ///
    /// EINVAL when there is no such context.
    pub(crate) fn since(&self, gpu: &Gpu, id: u32) -> Result<Since> {
        let table = self.table.lock();
        let context = table.get(id).ok_or(EINVAL)?;
        Ok(Since {
            reset: context.resets != gpu.resets(),
            lost: context.losses != gpu.vram_losses(),
        })
    }

    /// Fails unless there is such a context.
    ///
    /// # Errors
    ///
    /// EINVAL.
    pub(crate) fn find(&self, id: u32) -> Result {
        self.table.lock().get(id).map(|_| ()).ok_or(EINVAL)
    }
}
