// SPDX-License-Identifier: GPL-2.0

//! What differs between interrupt handlers.

use crate::{
    chip::Generation,
    hw::regs::{
        Bits,
        Reg, //
    },
    regs::Regs,
    types::DoorbellWord, //
};

mod v4_4;
mod v7_0;

/// What encodes a message of a wave, and not one of the hardware's (`SQ_INTERRUPT_WORD_ENCODING_INST`).
pub(super) const ENCODING_WAVE: u32 = 1;
/// Bits of a message or of an error that have a queue's doorbell; behind them lies what is wrong.
pub(super) const DOORBELL_BITS: u32 = 10;

/// The registers of the ring, and the fields that all generations have.
pub(crate) struct Registers {
    pub(super) cntl: Reg,
    /// Fields of IH_RB_CNTL and their values, but for its size.
    pub(super) cntl_values: &'static [(Bits, u32)],
    pub(super) cntl_on: Bits,
    pub(super) cntl_interrupt: Bits,
    pub(super) cntl_size: Bits,
    pub(super) cntl_clear: Bits,
    pub(super) rptr: Reg,
    pub(super) wptr: Reg,
    pub(super) wptr_overflow: Bits,
    pub(super) base: Reg,
    pub(super) base_high: Reg,
    pub(super) wptr_addr_low: Reg,
    pub(super) wptr_addr_high: Reg,
    /// The register that enables the doorbell, with its fields for that and for the doorbell's word.
    pub(super) doorbell: Reg,
    pub(super) doorbell_enable: Bits,
    pub(super) doorbell_offset: Bits,
}

/// The registers in the module `$oss`: `$space` is where the ring's addresses lead.
macro_rules! registers {
    ($oss:ident, space: $space:literal) => {
        $crate::ih::hal::Registers {
            cntl: $oss::IH_RB_CNTL,
            cntl_values: &[
                ($oss::IH_RB_CNTL::MC_SPACE, $space),
                ($oss::IH_RB_CNTL::WPTR_OVERFLOW_CLEAR, 1),
                ($oss::IH_RB_CNTL::WPTR_OVERFLOW_ENABLE, 1),
                ($oss::IH_RB_CNTL::WPTR_WRITEBACK_ENABLE, 1),
                ($oss::IH_RB_CNTL::MC_SNOOP, 1),
                ($oss::IH_RB_CNTL::MC_RO, 0),
                ($oss::IH_RB_CNTL::MC_VMID, 0),
                // With MSI.
                ($oss::IH_RB_CNTL::RPTR_REARM, 1),
            ],
            cntl_on: $oss::IH_RB_CNTL::RB_ENABLE,
            cntl_interrupt: $oss::IH_RB_CNTL::ENABLE_INTR,
            cntl_size: $oss::IH_RB_CNTL::RB_SIZE,
            cntl_clear: $oss::IH_RB_CNTL::WPTR_OVERFLOW_CLEAR,
            rptr: $oss::IH_RB_RPTR,
            wptr: $oss::IH_RB_WPTR,
            wptr_overflow: $oss::IH_RB_WPTR::RB_OVERFLOW,
            base: $oss::IH_RB_BASE,
            base_high: $oss::IH_RB_BASE_HI,
            wptr_addr_low: $oss::IH_RB_WPTR_ADDR_LO,
            wptr_addr_high: $oss::IH_RB_WPTR_ADDR_HI,
            doorbell: $oss::IH_DOORBELL_RPTR,
            doorbell_enable: $oss::IH_DOORBELL_RPTR::ENABLE,
            doorbell_offset: $oss::IH_DOORBELL_RPTR::OFFSET,
        }
    };
}
pub(super) use registers;

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

/// The interrupt handler of a generation.
pub(crate) trait Hal: Sync {
    /// The ring's registers.
    fn registers(&self) -> &'static Registers;

    /// The ring's doorbell.
    fn doorbell(&self) -> DoorbellWord;

    /// Whether the ring is given by bus addresses, and not by those of the GART.
    fn bus_addresses(&self) -> bool;

    /// Sets up what must be before the ring is.
    fn before(&self, _regs: &Regs) {}

    /// Sets up what comes after.
    fn after(&self, _regs: &Regs) {}

    /// What the ring's control register has besides, when it is turned on or off. It may store to
    /// the register on the way.
    fn toggle(&self, _regs: &Regs, cntl: u32, _on: bool) -> u32 {
        cntl
    }

    /// What an entry of a client and source with two words of data is about: clients number things in
    /// their own way. `None` when it means nothing to KFD.
    fn topic(&self, client: u8, source: u8, data0: u32, data1: u32) -> Option<Topic>;
}

/// The one of a generation.
pub(crate) fn hal(generation: Generation) -> &'static dyn Hal {
    match generation {
        Generation::Gfx942 => &v4_4::Hal,
        Generation::Gfx1201 => &v7_0::Hal,
        #[cfg(rkfd_stub_chip)]
        Generation::Stub => &v7_0::Hal,
    }
}
