// SPDX-License-Identifier: GPL-2.0

//! A GPU that is up.
//!
//! Two layers. [`Hw`] is what memory and address spaces need: registers, VRAM, GART, doorbells,
//! KIQ. [`Gpu`] is `Hw` with the scheduler and interrupts on top, and is what the user half
//! holds. Buffer objects, VMs and queues hold an `Arc<Hw>`, never an `Arc<Gpu>`, so that nothing
//! the scheduler owns leads back to it.
//!
//! Both outlive the device: after unbind or a lost device registers read as all ones, stores go
//! nowhere, [`Hw::alive`] says ENODEV, and memory is only given back to the CPU's side.

use kernel::prelude::*;

mod hw;
mod registry;

pub(crate) use hw::Hw;
pub(crate) use registry::{gpus, init, lookup};
