// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a block of the device is ([`IpBlock`]).

pub mod clock;
pub mod doorbell;

use rkfd_hw::regs::RegInfo;

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
