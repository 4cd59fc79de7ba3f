// SPDX-License-Identifier: MIT OR Apache-2.0

//! An AMD GPU as a PCI device for QEMU's `vfio-user-pci`.
//!
//! ```text
//! guest driver -- MMIO --> transport -> chip (router) ---> blocks (nbio, psp, ih, hubs ...)
//!              -- doorbell page (shared) -----------------> engines::cp (compute) -> rkfd-isa
//!              -- doorbell page (shared) -----------------> engines::sdma (copies)
//!                                                           |  read and write through
//! guest RAM, VRAM <---- memory (VM hubs, page tables, TLB) <-+
//!              <-- MSI -- interrupts (IH ring) <-------------+
//! ```
//!
//! The device is written from the hardware's side, from Linux's register headers and what the
//! chip does; it knows nothing of the driver. Where the guest does what the hardware does not
//! define, nothing is guessed: it is recorded ([`report`]), the access has no effect, and the run
//! fails. Nothing here panics on what the guest does, and no code here is `unsafe`: host memory
//! is mapped and reached by `vm-memory`.

#![forbid(unsafe_code)]

pub mod blocks;
pub mod chip;
pub mod device;
pub mod engines;
pub mod inspect;
pub mod memory;
pub mod pause;
pub mod report;
pub mod rules;
pub mod trace;
pub mod transport;
