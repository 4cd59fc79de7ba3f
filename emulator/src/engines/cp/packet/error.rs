// SPDX-License-Identifier: MIT OR Apache-2.0

//! Why a packet is not processed.
//!
//! Source: Linux, `include/uapi/linux/kfd_ioctl.h` (`enum kfd_dbg_trap_exception_code`).

use super::pm4::Bad;
use crate::memory::VmFault;

/// Exception codes that CP_BAD_OPCODE carries.
pub(crate) mod code {
    pub const DIM: u32 = 16;
    pub const LDS: u32 = 17;
    pub const CODE: u32 = 18;
    pub const RESERVED: u32 = 19;
    pub const UNSUPPORTED: u32 = 20;
    pub const GROUP_SIZE: u32 = 21;
    pub const REGISTER: u32 = 22;
    pub const VENDOR: u32 = 23;
}

/// Why a packet is not processed.
#[derive(Clone, Debug)]
pub(crate) enum PacketError {
    /// It is malformed.
    Bad(u32, String),
    /// The packet, or what it points at, can't be reached.
    Memory(VmFault),
    /// Waves of so many lanes need more scratch memory than the queue has.
    Scratch(u32),
}

impl PacketError {
    /// A malformed packet: exception code and what is wrong.
    pub(crate) fn bad(code: u32, what: impl Into<String>) -> Self {
        Self::Bad(code, what.into())
    }
}

impl From<Bad> for PacketError {
    fn from(bad: Bad) -> Self {
        match bad {
            Bad::Opcode(what) => Self::bad(code::UNSUPPORTED, what),
            Bad::Content(what) => Self::bad(code::RESERVED, what),
        }
    }
}

impl From<VmFault> for PacketError {
    fn from(fault: VmFault) -> Self {
        Self::Memory(fault)
    }
}
