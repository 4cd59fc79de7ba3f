// SPDX-License-Identifier: GPL-2.0

//! What a hub's registers are on a chip, and which values they get: data, no code.
//!
//! Every hub has the same registers under other names, at other places and with fields that a
//! few chips lack; so the order of bring-up is code ([`super`]) and the rest is one [`Table`] for
//! each kind of hub. Most values are the same for all hubs: [`table`] has those.

use crate::hw::regs::{
    AnyField,
    AnyReg,
    Block,
    Change, //
};

/// A kind of hub. Pairs of registers (low and high word) are named by the first.
pub(crate) struct Table {
    pub(crate) block: Block,
    /// Root of the page tables, first and last page, of address space 0; the others follow.
    pub(crate) pt_base: AnyReg,
    pub(crate) pt_start: AnyReg,
    pub(crate) pt_end: AnyReg,
    pub(crate) agp_base: AnyReg,
    pub(crate) agp_bottom: AnyReg,
    pub(crate) agp_top: AnyReg,
    /// The range of address space 0 that isn't translated, and the page for stray accesses there.
    pub(crate) aperture_low: AnyReg,
    pub(crate) aperture_high: AnyReg,
    pub(crate) aperture_default: AnyReg,
    /// Where faulting accesses go.
    pub(crate) fault_default: AnyReg,
    /// Sends faulting accesses there.
    pub(crate) fault_cntl: Change,
    pub(crate) fault_cntl2: Change,
    pub(crate) fault_status: AnyReg,
    pub(crate) fault_clear: Change,
    pub(crate) l1_tlb_on: Change,
    pub(crate) l1_tlb_off: Change,
    pub(crate) l2_on: Change,
    pub(crate) l2_off: Change,
    pub(crate) l2_invalidate: Change,
    /// Whole values.
    pub(crate) l2_cntl3: (AnyReg, u32),
    pub(crate) l2_cntl4: (AnyReg, u32),
    pub(crate) l2_cntl5: Option<(AnyReg, u32)>,
    pub(crate) identity_low: AnyReg,
    pub(crate) identity_high: AnyReg,
    pub(crate) identity_offset: AnyReg,
    /// Of address space 0, and of 1, whose successors follow.
    pub(crate) context0: Change,
    pub(crate) context1: Change,
    /// Those of address space 0; the others follow.
    pub(crate) fault_interrupts_on: Change,
    pub(crate) fault_interrupts_off: Change,
    /// Of invalidation engine 0; the others follow.
    pub(crate) flush_ack: AnyReg,
    pub(crate) flush_range: AnyReg,
    /// Held over a flush.
    pub(crate) flush_semaphore: Option<AnyReg>,
    /// The request: what to flush, and in which address spaces.
    pub(crate) flush_what: Change,
    pub(crate) flush_vmids: AnyField<16>,
    /// Makes the request a heavy one; `None` on hubs that only know the type 0.
    pub(crate) flush_heavy: Option<Change>,
    /// Each flush needs a heavy one before it (`flush_tlb_needs_extra_type_2`): the data cache keeps
    /// page table entries, and an access meanwhile may bring back what it drops.
    pub(crate) flush_heavy_first: bool,
    /// Drops a cache of the hub's own after a flush.
    pub(crate) flush_private: Option<Change>,
}

/// A table of a chip whose register names have the prefix `$p`, from the module `$m`. Beside fields of
/// the table it takes what generations set in other ways than others: `levels` below the root of a
/// process' page tables, `block_size` (log2 of the entries of a table, less 9), whether faults are
/// retried, further fields of several registers, and start-up values.
macro_rules! table {
    (
        $m:ident, $block:ident, [$($p:ident)*], status: $status:ident,
        fault: { $($fault:ident: $fault_value:literal),* $(,)? },
        levels: $levels:literal, block_size: $size:literal, retry: $retry:literal,
        l1: { $($l1:ident: $l1_value:literal),* $(,)? },
        l2: { $($l2:ident: $l2_value:literal),* $(,)? },
        l2_cntl3: ($cntl3:literal, bank: $bank:literal, fragment: $fragment:literal),
        l2_cntl4: $cntl4:literal,
        context0: { $($context0:ident: $context0_value:literal),* $(,)? },
        { $($field:ident: $value:expr),* $(,)? }
    ) => {
        ::kernel::macros::paste! {{
            use $crate::hw::regs::{
                Block,
                Value, //
            };
            use $m::{
                [<$($p)* MC_VM_MX_L1_TLB_CNTL>] as L1,
                [<$($p)* VM_CONTEXT0_CNTL>] as Context0,
                [<$($p)* VM_CONTEXT1_CNTL>] as Context,
                [<$($p)* VM_INVALIDATE_ENG0_REQ>] as Flush,
                [<$($p)* VM_L2_CNTL>] as L2,
                [<$($p)* VM_L2_CNTL2>] as L2B,
                [<$($p)* VM_L2_CNTL3>] as L2C,
                [<$($p)* VM_L2_CNTL4>] as L2D,
                [<$($p)* VM_L2_PROTECTION_FAULT_CNTL>] as Fault,
                [<$($p)* VM_L2_PROTECTION_FAULT_CNTL2>] as Fault2,
            };
            $crate::gmc::hub::table::Table {
                block: Block::$block,
                pt_base: $m::[<$($p)* VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32>].any(),
                pt_start: $m::[<$($p)* VM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32>].any(),
                pt_end: $m::[<$($p)* VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32>].any(),
                agp_base: $m::[<$($p)* MC_VM_AGP_BASE>].any(),
                agp_bottom: $m::[<$($p)* MC_VM_AGP_BOT>].any(),
                agp_top: $m::[<$($p)* MC_VM_AGP_TOP>].any(),
                aperture_low: $m::[<$($p)* MC_VM_SYSTEM_APERTURE_LOW_ADDR>].any(),
                aperture_high: $m::[<$($p)* MC_VM_SYSTEM_APERTURE_HIGH_ADDR>].any(),
                aperture_default: $m::[<$($p)* MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB>].any(),
                fault_default: $m::[<$($p)* VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32>].any(),
                fault_cntl: Fault.change(&[
                    Fault::RANGE_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Fault::PDE0_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Fault::PDE1_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Fault::PDE2_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Fault::TRANSLATE_FURTHER_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Fault::NACK_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Fault::DUMMY_PAGE_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Fault::VALID_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Fault::READ_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Fault::WRITE_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Fault::EXECUTE_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    $(Fault::$fault.is::<$fault_value>(),)*
                ]),
                fault_cntl2: Fault2.change(&[
                    Fault2::ACTIVE_PAGE_MIGRATION_PTE_READ_RETRY.is::<1>(),
                ]),
                fault_status: $m::[<$($p)* $status>].any(),
                fault_clear: Fault.change(&[
                    Fault::CLEAR_PROTECTION_FAULT_STATUS_ADDR.is::<1>(),
                ]),
                l1_tlb_on: L1.change(&[
                    L1::ENABLE_L1_TLB.is::<1>(),
                    L1::SYSTEM_ACCESS_MODE.is::<3>(),
                    L1::ENABLE_ADVANCED_DRIVER_MODEL.is::<1>(),
                    L1::SYSTEM_APERTURE_UNMAPPED_ACCESS.is::<0>(),
                    // `MTYPE_UC`.
                    L1::MTYPE.is::<3>(),
                    $(L1::$l1.is::<$l1_value>(),)*
                ]),
                l1_tlb_off: L1.change(&[
                    L1::ENABLE_L1_TLB.is::<0>(),
                    L1::ENABLE_ADVANCED_DRIVER_MODEL.is::<0>(),
                ]),
                l2_on: L2.change(&[
                    L2::ENABLE_L2_CACHE.is::<1>(),
                    L2::L2_PDE0_CACHE_TAG_GENERATION_MODE.is::<0>(),
                    L2::PDE_FAULT_CLASSIFICATION.is::<0>(),
                    L2::CONTEXT1_IDENTITY_ACCESS_MODE.is::<1>(),
                    L2::IDENTITY_MODE_FRAGMENT_SIZE.is::<0>(),
                    $(L2::$l2.is::<$l2_value>(),)*
                ]),
                l2_off: L2.change(&[L2::ENABLE_L2_CACHE.is::<0>()]),
                l2_invalidate: L2B.change(&[
                    L2B::INVALIDATE_ALL_L1_TLBS.is::<1>(),
                    L2B::INVALIDATE_L2_CACHE.is::<1>(),
                ]),
                l2_cntl3: (
                    L2C.any(),
                    Value::<L2C>::new($cntl3)
                        .having(L2C::BANK_SELECT.is::<$bank>())
                        .having(L2C::L2_CACHE_BIGK_FRAGMENT_SIZE.is::<$fragment>())
                        .bits(),
                ),
                l2_cntl4: (
                    L2D.any(),
                    Value::<L2D>::new($cntl4)
                        .having(L2D::VMC_TAP_PDE_REQUEST_PHYSICAL.is::<0>())
                        .having(L2D::VMC_TAP_PTE_REQUEST_PHYSICAL.is::<0>())
                        .bits(),
                ),
                identity_low:
                    $m::[<$($p)* VM_L2_CONTEXT1_IDENTITY_APERTURE_LOW_ADDR_LO32>].any(),
                identity_high:
                    $m::[<$($p)* VM_L2_CONTEXT1_IDENTITY_APERTURE_HIGH_ADDR_LO32>].any(),
                identity_offset:
                    $m::[<$($p)* VM_L2_CONTEXT_IDENTITY_PHYSICAL_OFFSET_LO32>].any(),
                context0: Context0.change(&[
                    Context0::ENABLE_CONTEXT.is::<1>(),
                    Context0::PAGE_TABLE_DEPTH.is::<0>(),
                    Context0::RETRY_PERMISSION_OR_INVALID_PAGE_FAULT.is::<0>(),
                    $(Context0::$context0.is::<$context0_value>(),)*
                ]),
                context1: Context.change(&[
                    Context::ENABLE_CONTEXT.is::<1>(),
                    Context::PAGE_TABLE_DEPTH.is::<$levels>(),
                    Context::RANGE_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Context::DUMMY_PAGE_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Context::PDE0_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Context::VALID_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Context::READ_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Context::WRITE_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Context::EXECUTE_PROTECTION_FAULT_ENABLE_DEFAULT.is::<1>(),
                    Context::PAGE_TABLE_BLOCK_SIZE.is::<$size>(),
                    Context::RETRY_PERMISSION_OR_INVALID_PAGE_FAULT.is::<$retry>(),
                ]),
                fault_interrupts_on: table!(@interrupts Context0, 1),
                fault_interrupts_off: table!(@interrupts Context0, 0),
                flush_ack: $m::[<$($p)* VM_INVALIDATE_ENG0_ACK>].any(),
                flush_range: $m::[<$($p)* VM_INVALIDATE_ENG0_ADDR_RANGE_LO32>].any(),
                flush_what: Flush.change(&[
                    Flush::INVALIDATE_L2_PTES.is::<1>(),
                    Flush::INVALIDATE_L2_PDE0.is::<1>(),
                    Flush::INVALIDATE_L2_PDE1.is::<1>(),
                    Flush::INVALIDATE_L2_PDE2.is::<1>(),
                    Flush::INVALIDATE_L1_PTES.is::<1>(),
                ]),
                flush_vmids: Flush.field(Flush::PER_VMID_INVALIDATE_REQ),
                $($field: $value),*
            }
        }}
    };
    (@interrupts $context:ident, $on:literal) => {
        $context.change(&[
            $context::RANGE_PROTECTION_FAULT_ENABLE_INTERRUPT.is::<$on>(),
            $context::DUMMY_PAGE_PROTECTION_FAULT_ENABLE_INTERRUPT.is::<$on>(),
            $context::PDE0_PROTECTION_FAULT_ENABLE_INTERRUPT.is::<$on>(),
            $context::VALID_PROTECTION_FAULT_ENABLE_INTERRUPT.is::<$on>(),
            $context::READ_PROTECTION_FAULT_ENABLE_INTERRUPT.is::<$on>(),
            $context::WRITE_PROTECTION_FAULT_ENABLE_INTERRUPT.is::<$on>(),
            $context::EXECUTE_PROTECTION_FAULT_ENABLE_INTERRUPT.is::<$on>(),
        ])
    };
}
pub(crate) use table;
