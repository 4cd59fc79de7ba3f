// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a block of the device is ([`IpBlock`]), and what it may reach of the rest ([`Env`]).
//!
//! A block names neither other blocks nor the chip that it is in. It is made with its own facts and
//! an [`Env`]; [`crate::chip`] implements that and puts the blocks together.

pub mod clock;
pub mod doorbell;
pub mod facts;
pub mod firmware;
pub mod interrupt;
pub mod load;
pub mod pasids;
pub mod start;
pub mod views;

use crate::memory::{Memory, VmFault};
use crate::pause::Pause;
use crate::report::Report;
use crate::rules::{Event, Rules};
use crate::trace::Trace;
use clock::Clock;
use doorbell::Doorbells;
use firmware::Inventory;
use interrupt::Interrupt;
use load::Load;
use pasids::Pasids;
use rkfd_hw::regs::RegInfo;
use start::Start;
use std::sync::Arc;
use views::Views;

/// What all parts of the device share and no block owns.
pub trait Services: Send + Sync {
    /// Video memory, guest memory and the address spaces.
    fn memory(&self) -> &Memory;
    /// The doorbell BAR.
    fn doorbells(&self) -> &Doorbells;
    /// Which process each VMID serves.
    fn pasids(&self) -> &Pasids;
    /// Which firmware the engines have.
    fn firmware(&self) -> &Inventory;
    /// What the chip's last start left for drivers to find.
    fn start(&self) -> Start;
    /// Its serial number.
    fn serial(&self) -> u64;
    /// How busy it is.
    fn load(&self) -> &Arc<Load>;
    /// The device's clock, for timestamps.
    fn clock(&self) -> &Clock;
    /// Records what the hardware does not define.
    fn report(&self) -> &Report;
    /// Records what the device sees and does.
    fn trace(&self) -> &Trace;
    /// The rules by which it misbehaves.
    fn rules(&self) -> &Rules;
    /// Whether it stands still.
    fn pause(&self) -> &Pause;
    /// What can be looked into meanwhile.
    fn views(&self) -> &Views;

    /// Something happens of which rules can do nothing but stop the device. The thread goes on until it holds.
    fn announce(&self, event: &Event<'_>) {
        self.rules().ask(event);
        if self.pause().steps() {
            self.pause().stop(&event.to_string());
        }
    }

    /// The same, and the thread waits while the device stands still.
    fn pass(&self, event: &Event<'_>) {
        self.announce(event);
        self.pause().hold();
    }
}

/// What a block may reach of the device: what all share, and what another block does for it.
pub trait Env: Services {
    /// Raises an interrupt. The interrupt handler adds the time, the process and the die.
    fn interrupt(&self, what: &Interrupt);

    /// Makes the interrupt handler look at its doorbell. Whoever polls doorbells calls it too.
    fn poll_interrupts(&self);

    /// Reports an access that failed to its VM hub, which captures status and address and raises
    /// the fault interrupt if the context enables it. `client` is the hub's number of who made the
    /// access (CID).
    fn vm_fault_of(&self, fault: &VmFault, client: u32);

    /// The same, for clients that have no number.
    fn vm_fault(&self, fault: &VmFault) {
        self.vm_fault_of(fault, 0);
    }

    /// The registers of all blocks; `None` while the device is made or ends.
    fn registers(&self) -> Option<Arc<dyn Registers>>;

    /// Resets the whole chip (mode 1): it is gone from now on, and comes back as from power-on.
    fn reset_chip(&self);
}

/// The registers of all blocks, as firmware reaches them.
pub trait Registers: Send + Sync {
    /// Reads the register at a byte offset in BAR5, or, beyond what BAR5 shows, at a byte address.
    fn read(&self, offset: u64) -> u32;

    /// Writes the register at a byte offset in BAR5, or, beyond what BAR5 shows, at a byte address.
    fn write(&self, offset: u64, value: u32);
}

/// Why a block refuses an access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The chip has the register, but it is not modelled.
    NotModelled,
    /// The register can't be written.
    ReadOnly,
    /// A value or a state that the hardware does not define, or that is not modelled.
    Undefined(String),
}

/// A block of the device.
///
/// An access that is refused has no effect and reads as zero; the device records it.
pub trait IpBlock: Send + Sync {
    /// Reads a register.
    ///
    /// # Errors
    /// The access is refused.
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused>;

    /// Writes a register.
    ///
    /// # Errors
    /// The access is refused.
    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused>;

    /// Returns to the start-up state. Work in progress ends before this returns.
    fn reset(&self);
}
