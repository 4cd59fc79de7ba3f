// SPDX-License-Identifier: GPL-2.0

//! Memory controller of gfx1201: graphics hub 12.0, multimedia hub 4.1.
//!
//! Source: Linux, `gmc_v12_0.c`, `gfxhub_v12_0.c`, `mmhub_v4_1_0.c`.
//!
//! Processes have four plain levels of page tables of 512 entries.

use super::Placement;
use crate::{
    gmc::hub::table::{
        table,
        values,
        Table,
        Values, //
    },
    hw::{
        pte::{
            gfx12,
            Mtype,
            EXECUTABLE,
            READABLE,
            SNOOPED,
            SYSTEM,
            VALID,
            WRITEABLE, //
        },
        regs::{
            gc_12_0_0 as gc,
            mmhub_4_1_0 as mm,
            osssys_7_0_0 as oss,
            Bits,
            Block, //
        }, //
    },
    regs::Regs, //
};
use gc::{
    GCMC_VM_MX_L1_TLB_CNTL as L1,
    GCVM_CONTEXT1_CNTL as Context,
    GCVM_INVALIDATE_ENG0_REQ as Flush,
    GCVM_L2_CNTL as L2,
    GCVM_L2_CNTL2 as L2B,
    GCVM_L2_CNTL3 as L2C,
    GCVM_L2_CNTL4 as L2D,
    GCVM_L2_CNTL5 as L2E,
    GCVM_L2_PROTECTION_FAULT_CNTL as Fault, //
};

/// Levels below the root.
const DEPTH: u32 = 3;
/// Log2 of the entries of a table, less 9.
const BLOCK_SIZE: u32 = 0;
/// `regGCVM_L2_CNTL3_DEFAULT` and so on; those of the multimedia hub are the same.
const L2_CNTL3: u32 = 0x8012_0007;
const L2_CNTL4: u32 = 0x0000_00c1;
const L2_CNTL5: u32 = 0x0000_3fe0;
/// There is no XNACK: a fault is final.
const RETRY_FAULTS: u32 = 0;
/// `MTYPE_UC`.
const MTYPE_UC: u32 = 3;

const L1_ON: Values = &[
    (L1::ENABLE_L1_TLB, 1),
    (L1::SYSTEM_ACCESS_MODE, 3),
    (L1::ENABLE_ADVANCED_DRIVER_MODEL, 1),
    (L1::SYSTEM_APERTURE_UNMAPPED_ACCESS, 0),
    (L1::ECO_BITS, 0),
    (L1::MTYPE, MTYPE_UC),
];
const L2_ON: Values = &[
    (L2::ENABLE_L2_CACHE, 1),
    (L2::ENABLE_L2_FRAGMENT_PROCESSING, 0),
    (L2::ENABLE_DEFAULT_PAGE_OUT_TO_SYSTEM_MEMORY, 1),
    (L2::L2_PDE0_CACHE_TAG_GENERATION_MODE, 0),
    (L2::PDE_FAULT_CLASSIFICATION, 0),
    (L2::CONTEXT1_IDENTITY_ACCESS_MODE, 1),
    (L2::IDENTITY_MODE_FRAGMENT_SIZE, 0),
];
const L2_BANKS: u32 = L2C::L2_CACHE_BIGK_FRAGMENT_SIZE.set(L2C::BANK_SELECT.set(L2_CNTL3, 9), 6);
const L2_SMALL: u32 = L2E::L2_CACHE_SMALLK_FRAGMENT_SIZE.set(L2_CNTL5, 0);
const KERNEL: Values = &[
    (Context::ENABLE_CONTEXT, 1),
    (Context::PAGE_TABLE_DEPTH, 0),
    (Context::RETRY_PERMISSION_OR_INVALID_PAGE_FAULT, 0),
];

values!();

static GFXHUB: Table = table! {
    gc, Gc, [GC], status: VM_L2_PROTECTION_FAULT_STATUS_LO32,
    {
    fault_cntl: (gc::GCVM_L2_PROTECTION_FAULT_CNTL, &GC_FAULTS),
    fault_cntl2: Some((
        gc::GCVM_L2_PROTECTION_FAULT_CNTL2,
        &[(READ_RETRY, 1)]
    )),
    fault_clear: Fault::CLEAR_PROTECTION_FAULT_STATUS_ADDR,
    l1_tlb: (gc::GCMC_VM_MX_L1_TLB_CNTL, L1_ON, L1_OFF),
    l2_cntl: (gc::GCVM_L2_CNTL, L2_ON, L2_OFF),
    l2_cntl2: (gc::GCVM_L2_CNTL2, L2_INVALIDATE),
    l2_cntl3: (gc::GCVM_L2_CNTL3, L2_BANKS),
    l2_cntl4: (gc::GCVM_L2_CNTL4, L2_REQUESTS),
    l2_cntl5: Some((gc::GCVM_L2_CNTL5, L2_SMALL)),
    context0: (gc::GCVM_CONTEXT0_CNTL, KERNEL),
    context1: (gc::GCVM_CONTEXT1_CNTL, PROCESS),
    fault_interrupts: INTERRUPTS,
    flush_semaphore: None,
    flush_vmids: Flush::PER_VMID_INVALIDATE_REQ,
    flush_type: Some(Flush::FLUSH_TYPE),
    flush_what: FLUSH,
    flush_private: None,
    }
};

static MMHUB: Table = table! {
    mm, Mmhub, [MM], status: VM_L2_PROTECTION_FAULT_STATUS_LO32,
    {
    fault_cntl: (mm::MMVM_L2_PROTECTION_FAULT_CNTL, &FAULTS),
    fault_cntl2: Some((
        mm::MMVM_L2_PROTECTION_FAULT_CNTL2,
        &[(READ_RETRY, 1)]
    )),
    fault_clear: Fault::CLEAR_PROTECTION_FAULT_STATUS_ADDR,
    l1_tlb: (mm::MMMC_VM_MX_L1_TLB_CNTL, L1_ON, L1_OFF),
    l2_cntl: (mm::MMVM_L2_CNTL, L2_ON, L2_OFF),
    l2_cntl2: (mm::MMVM_L2_CNTL2, L2_INVALIDATE),
    l2_cntl3: (mm::MMVM_L2_CNTL3, L2_BANKS),
    l2_cntl4: (mm::MMVM_L2_CNTL4, L2_REQUESTS),
    l2_cntl5: Some((mm::MMVM_L2_CNTL5, L2_SMALL)),
    context0: (mm::MMVM_CONTEXT0_CNTL, KERNEL),
    context1: (mm::MMVM_CONTEXT1_CNTL, PROCESS),
    fault_interrupts: INTERRUPTS,
    flush_semaphore: Some(mm::MMVM_INVALIDATE_ENG0_SEM),
    flush_vmids: Flush::PER_VMID_INVALIDATE_REQ,
    flush_type: None,
    flush_what: FLUSH,
    flush_private: Some(mm::MMVM_L2_BANK_SELECT_RESERVED_CID2),
    }
};

/// The header of the graphics hub has no name for it.
const READ_RETRY: Bits = mm::MMVM_L2_PROTECTION_FAULT_CNTL2::ACTIVE_PAGE_MIGRATION_PTE_READ_RETRY;

/// The memory controller.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn hubs(&self) -> &'static [&'static Table] {
        const HUBS: &[&Table] = &[&GFXHUB, &MMHUB];
        HUBS
    }

    fn vram_base(&self, regs: &Regs) -> (u64, u64) {
        let location = regs.read(mm::MMMC_VM_FB_LOCATION_BASE);
        let base = mm::MMMC_VM_FB_LOCATION_BASE::FB_BASE.get(location);
        let offset = regs.read(mm::MMMC_VM_FB_OFFSET);
        (u64::from(base) << 24, u64::from(offset) << 24)
    }

    fn gart(&self) -> Placement {
        Placement::Low
    }

    /// `amdgpu_ttm_tt_pte_flags` for cached system memory and `gart_pte_flags`.
    fn gart_flags(&self) -> u64 {
        VALID
            | SYSTEM
            | SNOOPED
            | READABLE
            | WRITEABLE
            | EXECUTABLE
            | gfx12::PDE_PTE
            | gfx12::mtype(Mtype::Uc)
    }

    fn prepare_hub(&self, regs: &Regs, block: Block, instance: u8) {
        if block == Block::Gc {
            dont_halt(regs, instance);
        }
    }

    /// From the interrupt handler's table.
    fn pasid_of(&self, regs: &Regs, vmid: u32) -> Option<u32> {
        match regs.read(oss::IH_VMID_0_LUT.at(vmid, 1)) {
            0 | u32::MAX => None,
            entry => Some(entry & 0xffff),
        }
    }
}

/// A page fault doesn't halt the command processor.
fn dont_halt(regs: &Regs, instance: u8) {
    regs.update_at(instance, gc::CP_DEBUG, |old| {
        gc::CP_DEBUG::CPG_UTCL1_ERROR_HALT_DISABLE.set(old, 1)
    });
}
