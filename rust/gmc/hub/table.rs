// SPDX-License-Identifier: GPL-2.0

//! What a hub's registers are on a chip, and which values they get: data, no code.
//!
//! Every hub has the same registers under other names, at other places and with fields that a
//! few chips lack; so the order of bring-up is code ([`super`]) and the rest is one [`Table`] for
//! each kind of hub.

use crate::{
    hw::regs::{Bits, Block, Reg},
    regs::Regs,
};

/// Fields, and the values they are set to.
pub(crate) type Values = &'static [(Bits, u32)];

/// A kind of hub. Pairs of registers (low and high word) are named by the first.
pub(crate) struct Table {
    pub(crate) block: Block,
    /// Root of the page tables, first and last page, of address space 0; the others follow.
    pub(crate) pt_base: Reg,
    pub(crate) pt_start: Reg,
    pub(crate) pt_end: Reg,
    pub(crate) agp_base: Reg,
    pub(crate) agp_bottom: Reg,
    pub(crate) agp_top: Reg,
    /// What of address space 0 isn't translated, and where stray accesses there go.
    pub(crate) aperture_low: Reg,
    pub(crate) aperture_high: Reg,
    pub(crate) aperture_default: Reg,
    /// Where faulting accesses go.
    pub(crate) fault_default: Reg,
    /// Sends faulting accesses there.
    pub(crate) fault_cntl: (Reg, Values),
    pub(crate) fault_cntl2: Option<(Reg, Values)>,
    pub(crate) fault_status: Reg,
    pub(crate) fault_clear: Bits,
    /// Values for on and for off.
    pub(crate) l1_tlb: (Reg, Values, Values),
    pub(crate) l2_cntl: (Reg, Values, Values),
    pub(crate) l2_cntl2: (Reg, Values),
    /// Whole values.
    pub(crate) l2_cntl3: (Reg, u32),
    pub(crate) l2_cntl4: (Reg, u32),
    pub(crate) l2_cntl5: Option<(Reg, u32)>,
    pub(crate) identity_low: Reg,
    pub(crate) identity_high: Reg,
    pub(crate) identity_offset: Reg,
    /// Of address space 0, and of 1, whose successors follow.
    pub(crate) context0: (Reg, Values),
    pub(crate) context1: (Reg, Values),
    pub(crate) fault_interrupts: &'static [Bits],
    /// Of invalidation engine 0; the others follow.
    pub(crate) flush_request: Reg,
    pub(crate) flush_ack: Reg,
    pub(crate) flush_range: Reg,
    /// Held over a flush.
    pub(crate) flush_semaphore: Option<Reg>,
    pub(crate) flush_vmids: Bits,
    /// Where the type of flush goes; `None` on hubs that only know the type 0.
    pub(crate) flush_type: Option<Bits>,
    pub(crate) flush_what: Values,
    /// Register with a bit that drops a cache of the hub's own after a flush.
    pub(crate) flush_private: Option<Reg>,
    /// What else is set up for an instance.
    pub(crate) also: fn(&Regs, u8),
}

/// A table of a chip whose register names have the prefix `$p`, from the module `$m`.
macro_rules! table {
    (
        $m:ident, $block:ident, [$($p:ident)*], status: $status:ident,
        { $($field:ident: $value:expr),* $(,)? }
    ) => {
        ::kernel::macros::paste! {
            $crate::gmc::hub::table::Table {
                block: $crate::hw::regs::Block::$block,
                pt_base: $m::[<$($p)* VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32>],
                pt_start: $m::[<$($p)* VM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32>],
                pt_end: $m::[<$($p)* VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32>],
                agp_base: $m::[<$($p)* MC_VM_AGP_BASE>],
                agp_bottom: $m::[<$($p)* MC_VM_AGP_BOT>],
                agp_top: $m::[<$($p)* MC_VM_AGP_TOP>],
                aperture_low: $m::[<$($p)* MC_VM_SYSTEM_APERTURE_LOW_ADDR>],
                aperture_high: $m::[<$($p)* MC_VM_SYSTEM_APERTURE_HIGH_ADDR>],
                aperture_default: $m::[<$($p)* MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB>],
                fault_default: $m::[<$($p)* VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32>],
                fault_status: $m::[<$($p)* $status>],
                identity_low: $m::[<$($p)* VM_L2_CONTEXT1_IDENTITY_APERTURE_LOW_ADDR_LO32>],
                identity_high: $m::[<$($p)* VM_L2_CONTEXT1_IDENTITY_APERTURE_HIGH_ADDR_LO32>],
                identity_offset: $m::[<$($p)* VM_L2_CONTEXT_IDENTITY_PHYSICAL_OFFSET_LO32>],
                flush_request: $m::[<$($p)* VM_INVALIDATE_ENG0_REQ>],
                flush_ack: $m::[<$($p)* VM_INVALIDATE_ENG0_ACK>],
                flush_range: $m::[<$($p)* VM_INVALIDATE_ENG0_ADDR_RANGE_LO32>],
                $($field: $value),*
            }
        }
    };
}
pub(crate) use table;
