// SPDX-License-Identifier: GPL-2.0

//! What a hub's registers are on a chip, and which values they get: data, no code.
//!
//! Every hub has the same registers under other names, at other places and with fields that a
//! few chips lack; so the order of bring-up is code ([`super`]) and the rest is one [`Table`] for
//! each kind of hub.

use crate::hw::regs::{
    Bits,
    Block,
    Reg, //
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
    /// The range of address space 0 that isn't translated, and the page for stray accesses there.
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

/// The values that hubs of all generations get, as constants of the module that uses it. It has the
/// fields of its registers under the names `L1`, `L2`, `L2B`, `L2D`, `Context`, `Flush` and `Fault`,
/// and the constants `L2_CNTL4`, `DEPTH`, `BLOCK_SIZE` and `RETRY_FAULTS`.
macro_rules! values {
    () => {
        const FAULTS: [(Bits, u32); 11] = [
            (Fault::RANGE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Fault::PDE0_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Fault::PDE1_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Fault::PDE2_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Fault::TRANSLATE_FURTHER_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Fault::NACK_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Fault::DUMMY_PAGE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Fault::VALID_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Fault::READ_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Fault::WRITE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Fault::EXECUTE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
        ];
        /// The graphics hub's: nor does the GPU stop at a fault.
        const GC_FAULTS: [(Bits, u32); 13] = {
            let [a, b, c, d, e, f, g, h, i, j, k] = FAULTS;
            let no_retry = (Fault::CRASH_ON_NO_RETRY_FAULT, 0);
            let retry = (Fault::CRASH_ON_RETRY_FAULT, 0);
            [a, b, c, d, e, f, g, h, i, j, k, no_retry, retry]
        };
        const L1_OFF: Values = &[
            (L1::ENABLE_L1_TLB, 0),
            (L1::ENABLE_ADVANCED_DRIVER_MODEL, 0),
        ];
        const L2_OFF: Values = &[(L2::ENABLE_L2_CACHE, 0)];
        const L2_INVALIDATE: Values = &[
            (L2B::INVALIDATE_ALL_L1_TLBS, 1),
            (L2B::INVALIDATE_L2_CACHE, 1),
        ];
        const INTERRUPTS: &[Bits] = &[
            Context::RANGE_PROTECTION_FAULT_ENABLE_INTERRUPT,
            Context::DUMMY_PAGE_PROTECTION_FAULT_ENABLE_INTERRUPT,
            Context::PDE0_PROTECTION_FAULT_ENABLE_INTERRUPT,
            Context::VALID_PROTECTION_FAULT_ENABLE_INTERRUPT,
            Context::READ_PROTECTION_FAULT_ENABLE_INTERRUPT,
            Context::WRITE_PROTECTION_FAULT_ENABLE_INTERRUPT,
            Context::EXECUTE_PROTECTION_FAULT_ENABLE_INTERRUPT,
        ];
        const FLUSH: Values = &[
            (Flush::INVALIDATE_L2_PTES, 1),
            (Flush::INVALIDATE_L2_PDE0, 1),
            (Flush::INVALIDATE_L2_PDE1, 1),
            (Flush::INVALIDATE_L2_PDE2, 1),
            (Flush::INVALIDATE_L1_PTES, 1),
        ];
        const L2_REQUESTS: u32 = L2D::VMC_TAP_PTE_REQUEST_PHYSICAL
            .set(L2D::VMC_TAP_PDE_REQUEST_PHYSICAL.set(L2_CNTL4, 0), 0);
        const PROCESS: Values = &[
            (Context::ENABLE_CONTEXT, 1),
            (Context::PAGE_TABLE_DEPTH, DEPTH),
            (Context::RANGE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Context::DUMMY_PAGE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Context::PDE0_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Context::VALID_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Context::READ_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Context::WRITE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Context::EXECUTE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (Context::PAGE_TABLE_BLOCK_SIZE, BLOCK_SIZE),
            (
                Context::RETRY_PERMISSION_OR_INVALID_PAGE_FAULT,
                RETRY_FAULTS,
            ),
        ];
    };
}
pub(crate) use values;
