// SPDX-License-Identifier: GPL-2.0

//! What differs between interrupt handlers.

use crate::{
    hw::{
        regs::{
            AnyField,
            AnyReg,
            Change, //
        },
        value::Bounded, //
    },
    regs::{
        Regs,
        Tables, //
    },
    types::{
        GcVersion,
        OsssysVersion, //
    }, //
};

mod gfx12;
mod gfx9;
mod v4_4;
mod v7_0;

/// What encodes a message of a wave, and not one of the hardware's (`SQ_INTERRUPT_WORD_ENCODING_INST`).
pub(super) const ENCODING_WAVE: u32 = 1;
/// Bits of a message or of an error that have a queue's doorbell; behind them lies what is wrong.
pub(super) const DOORBELL_BITS: u32 = 10;

/// The registers that each ring has.
pub(crate) struct Registers {
    /// IH_RB_CNTL with all but its size.
    pub(super) cntl: Change,
    pub(super) cntl_on: AnyField<1>,
    pub(super) cntl_size: AnyField<5>,
    pub(super) cntl_clear: AnyField<1>,
    pub(super) rptr: AnyReg,
    pub(super) wptr_overflow: AnyField<1>,
    pub(super) base: AnyReg,
    pub(super) base_high: AnyReg,
}

/// Those of ring 0, which alone raises interrupts and has its write pointer stored to memory.
pub(crate) struct First {
    pub(super) ring: Registers,
    pub(super) cntl_interrupt: AnyField<1>,
    pub(super) wptr_addr_low: AnyReg,
    pub(super) wptr_addr_high: AnyReg,
    /// The doorbell, and its word.
    pub(super) doorbell_enable: AnyField<1>,
    pub(super) doorbell_offset: AnyField<26>,
}

/// The registers of a ring in the module `$oss`, by their names, and what its control register has.
macro_rules! registers {
    ($oss:ident: $cntl:ident, $wptr:ident, $rptr:ident, $base:ident, $base_high:ident;
     $($field:ident: $value:literal),+ $(,)?) => {
        $crate::ih::hal::Registers {
            cntl: $oss::$cntl.change(&[$($oss::$cntl::$field.is::<$value>()),+]),
            cntl_on: $oss::$cntl.field($oss::$cntl::RB_ENABLE),
            cntl_size: $oss::$cntl.field($oss::$cntl::RB_SIZE),
            cntl_clear: $oss::$cntl.field($oss::$cntl::WPTR_OVERFLOW_CLEAR),
            rptr: $oss::$rptr.any(),
            wptr_overflow: $oss::$wptr.field($oss::$wptr::RB_OVERFLOW),
            base: $oss::$base.any(),
            base_high: $oss::$base_high.any(),
        }
    };
}
pub(super) use registers;

/// The registers of ring 0 in the module `$oss`: `$space` is where the ring's addresses lead.
macro_rules! first {
    ($oss:ident, space: $space:literal) => {{
        use $oss::{
            IH_DOORBELL_RPTR as Bell,
            IH_RB_CNTL as Cntl, //
        };
        $crate::ih::hal::First {
            ring: $crate::ih::hal::registers!(
                $oss: IH_RB_CNTL, IH_RB_WPTR, IH_RB_RPTR, IH_RB_BASE, IH_RB_BASE_HI;
                MC_SPACE: $space,
                WPTR_OVERFLOW_CLEAR: 1,
                WPTR_OVERFLOW_ENABLE: 1,
                WPTR_WRITEBACK_ENABLE: 1,
                MC_SNOOP: 1,
                MC_RO: 0,
                MC_VMID: 0,
                // With MSI.
                RPTR_REARM: 1,
            ),
            cntl_interrupt: Cntl.field(Cntl::ENABLE_INTR),
            wptr_addr_low: $oss::IH_RB_WPTR_ADDR_LO.any(),
            wptr_addr_high: $oss::IH_RB_WPTR_ADDR_HI.any(),
            doorbell_enable: Bell.field(Bell::ENABLE),
            doorbell_offset: Bell.field(Bell::OFFSET),
        }
    }};
}
pub(super) use first;

/// A shader's message (s_sendmsg).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    /// The low 24 bits of its M0.
    pub(super) data: u32,
    /// What a trap handler states so of the queue that the data names, a bit for each exception.
    pub(super) exceptions: u32,
}

/// What an entry is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Topic {
    /// A page fault.
    Fault,
    /// A shader's message.
    Shader(Message),
    /// A packet of a copy engine that raises an interrupt.
    CopyTrap,
    /// The command processor.
    Processor,
}

/// The interrupt handler of a version.
pub(crate) trait Hal: Sync {
    /// The tables of the registers that it uses.
    fn tables(&self) -> Tables;

    /// Ring 0's registers.
    fn registers(&self) -> &'static First;

    /// Those of ring 1, where page faults of the graphics hub go to it. Its read pointer goes back by the register: the
    /// range of doorbells that Linux opens ends before ring 1's.
    fn second(&self) -> Option<&'static Registers> {
        None
    }

    /// Ring 0's doorbell: its word on the BAR, among the first 1,024 as routes of doorbells count.
    fn doorbell(&self) -> Bounded<10>;

    /// Whether the rings are given by bus addresses, and not by those of the GART.
    fn bus_addresses(&self) -> bool;

    /// Sets up what must be before the ring is.
    fn before(&self, _regs: &Regs) {}

    /// Sets up what comes after.
    fn after(&self, _regs: &Regs) {}

    /// What a ring's control register has besides, when it is turned on or off. It may store to ring 0's on the way.
    fn toggle(&self, _regs: &Regs, cntl: u32, _on: bool) -> u32 {
        cntl
    }
}

/// Those who put entries into the ring: each numbers its entries in its own way.
pub(crate) trait Clients: Sync {
    /// What an entry of a client and source with two words of data is about. `None` when it means
    /// nothing to KFD.
    fn topic(&self, client: u8, source: u8, data0: u32, data1: u32) -> Option<Topic>;
}

/// The one of a version (`amdgpu_discovery_set_ih_ip_blocks`).
pub(crate) fn hal(osssys: OsssysVersion) -> &'static dyn Hal {
    match osssys {
        OsssysVersion::V4_4_2 => &v4_4::Hal,
        OsssysVersion::V7_0_0 => &v7_0::Hal,
        #[cfg(rkfd_stub_chip)]
        OsssysVersion::Stub => &v7_0::Hal,
    }
}

/// Those of a GPU with this graphics core (`kfd_device_info_set_event_interrupt_class`).
pub(crate) fn clients(gc: GcVersion) -> &'static dyn Clients {
    match gc {
        GcVersion::V9_4_3 => &gfx9::Clients,
        GcVersion::V12_0_1 => &gfx12::Clients,
        #[cfg(rkfd_stub_chip)]
        GcVersion::Stub => &gfx12::Clients,
    }
}
