// SPDX-License-Identifier: GPL-2.0

//! Memory controller of gfx942: graphics hub 1.2, multimedia hub 1.8.
//!
//! Source: Linux, `gmc_v9_0.c`, `gfxhub_v1_2.c`, `mmhub_v1_8.c`.
//!
//! Processes have four levels of page tables of 512 entries with "translate further": the walker
//! is told of three levels whose last has 2 MiB pages, and an entry there with TF leads on to a
//! table of 4 KiB pages.

use super::{
    hub::table::{table, Table, Values},
    Hal, Placement,
};
use crate::{
    gpu::Hw,
    hw::{
        pte::{mtype, Mtype, EXECUTABLE, READABLE, SNOOPED, SYSTEM, VALID, WRITEABLE},
        regs::{athub_1_8_0 as athub, gc_9_4_3 as gc, hdp_4_4_2 as hdp, mmhub_1_8_0 as mm, Bits},
    },
    regs::Regs,
};
use gc::{
    MC_VM_MX_L1_TLB_CNTL as L1, VM_CONTEXT1_CNTL as Context, VM_INVALIDATE_ENG0_REQ as Flush,
    VM_L2_CNTL as L2, VM_L2_CNTL2 as L2B, VM_L2_CNTL3 as L2C, VM_L2_CNTL4 as L2D,
    VM_L2_PROTECTION_FAULT_CNTL as Fault, VM_L2_PROTECTION_FAULT_CNTL2 as Fault2,
};

/// Levels below the root that the walker is told of, see the module's documentation.
const DEPTH: u32 = 2;
const BLOCK_SIZE: u32 = 9;
/// `regVM_L2_CNTL3_DEFAULT` and `regVM_L2_CNTL4_DEFAULT`.
const L2_CNTL3: u32 = 0x8010_0007;
const L2_CNTL4: u32 = 0x0000_00c1;
/// `MTYPE_UC`.
const MTYPE_UC: u32 = 3;

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
    let mut all = [(Fault::CRASH_ON_NO_RETRY_FAULT, 0); 13];
    let mut i = 0;
    while i < FAULTS.len() {
        all[i] = FAULTS[i];
        i += 1;
    }
    all[12] = (Fault::CRASH_ON_RETRY_FAULT, 0);
    all
};
const L1_ON: Values = &[
    (L1::ENABLE_L1_TLB, 1),
    (L1::SYSTEM_ACCESS_MODE, 3),
    (L1::ENABLE_ADVANCED_DRIVER_MODEL, 1),
    (L1::SYSTEM_APERTURE_UNMAPPED_ACCESS, 0),
    (L1::MTYPE, MTYPE_UC),
    (L1::ATC_EN, 1),
];
const L1_OFF: Values = &[
    (L1::ENABLE_L1_TLB, 0),
    (L1::ENABLE_ADVANCED_DRIVER_MODEL, 0),
];
const L2_ON: Values = &[
    (L2::ENABLE_L2_CACHE, 1),
    (L2::ENABLE_L2_FRAGMENT_PROCESSING, 1),
    (L2::L2_PDE0_CACHE_TAG_GENERATION_MODE, 0),
    (L2::PDE_FAULT_CLASSIFICATION, 0),
    (L2::CONTEXT1_IDENTITY_ACCESS_MODE, 1),
    (L2::IDENTITY_MODE_FRAGMENT_SIZE, 0),
];
const L2_OFF: Values = &[(L2::ENABLE_L2_CACHE, 0)];
const L2_INVALIDATE: Values = &[
    (L2B::INVALIDATE_ALL_L1_TLBS, 1),
    (L2B::INVALIDATE_L2_CACHE, 1),
];
/// Both for "translate further".
const L2_BANKS: u32 = L2C::L2_CACHE_BIGK_FRAGMENT_SIZE.set(L2C::BANK_SELECT.set(L2_CNTL3, 12), 9);
const L2_REQUESTS: u32 =
    L2D::VMC_TAP_PTE_REQUEST_PHYSICAL.set(L2D::VMC_TAP_PDE_REQUEST_PHYSICAL.set(L2_CNTL4, 0), 0);
const KERNEL: Values = &[
    (Context::ENABLE_CONTEXT, 1),
    (Context::PAGE_TABLE_DEPTH, 0),
    (Context::PAGE_TABLE_BLOCK_SIZE, 0),
    (Context::RETRY_PERMISSION_OR_INVALID_PAGE_FAULT, 0),
];
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
    // XNACK may be on in a process; then faults are retried.
    (Context::RETRY_PERMISSION_OR_INVALID_PAGE_FAULT, 1),
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

static GFXHUB: Table = table! {
    gc, Gc, [], status: VM_L2_PROTECTION_FAULT_STATUS,
    {
    fault_cntl: (gc::VM_L2_PROTECTION_FAULT_CNTL, &GC_FAULTS),
    fault_cntl2: Some((
        gc::VM_L2_PROTECTION_FAULT_CNTL2,
        &[(Fault2::ACTIVE_PAGE_MIGRATION_PTE_READ_RETRY, 1)]
    )),
    fault_clear: Fault::CLEAR_PROTECTION_FAULT_STATUS_ADDR,
    l1_tlb: (gc::MC_VM_MX_L1_TLB_CNTL, L1_ON, L1_OFF),
    l2_cntl: (gc::VM_L2_CNTL, L2_ON, L2_OFF),
    l2_cntl2: (gc::VM_L2_CNTL2, L2_INVALIDATE),
    l2_cntl3: (gc::VM_L2_CNTL3, L2_BANKS),
    l2_cntl4: (gc::VM_L2_CNTL4, L2_REQUESTS),
    l2_cntl5: None,
    context0: (gc::VM_CONTEXT0_CNTL, KERNEL),
    context1: (gc::VM_CONTEXT1_CNTL, PROCESS),
    fault_interrupts: INTERRUPTS,
    flush_semaphore: None,
    flush_vmids: Flush::PER_VMID_INVALIDATE_REQ,
    flush_type: None,
    flush_what: FLUSH,
    flush_private: None,
    also: |_, _| {},
    }
};

static MMHUB: Table = table! {
    mm, Mmhub, [], status: VM_L2_PROTECTION_FAULT_STATUS,
    {
    fault_cntl: (mm::VM_L2_PROTECTION_FAULT_CNTL, &FAULTS),
    fault_cntl2: Some((
        mm::VM_L2_PROTECTION_FAULT_CNTL2,
        &[(Fault2::ACTIVE_PAGE_MIGRATION_PTE_READ_RETRY, 1)]
    )),
    fault_clear: Fault::CLEAR_PROTECTION_FAULT_STATUS_ADDR,
    l1_tlb: (mm::MC_VM_MX_L1_TLB_CNTL, L1_ON, L1_OFF),
    l2_cntl: (mm::VM_L2_CNTL, L2_ON, L2_OFF),
    l2_cntl2: (mm::VM_L2_CNTL2, L2_INVALIDATE),
    l2_cntl3: (mm::VM_L2_CNTL3, L2_BANKS),
    l2_cntl4: (mm::VM_L2_CNTL4, L2_REQUESTS),
    l2_cntl5: None,
    context0: (mm::VM_CONTEXT0_CNTL, KERNEL),
    context1: (mm::VM_CONTEXT1_CNTL, PROCESS),
    fault_interrupts: INTERRUPTS,
    flush_semaphore: None,
    flush_vmids: Flush::PER_VMID_INVALIDATE_REQ,
    flush_type: None,
    flush_what: FLUSH,
    flush_private: None,
    also: snoop_override,
    }
};

/// Bit of HDP_MISC_CNTL (`hdp_4_0_sh_mask.h`; the header of 4.4.2 has no fields of it).
const HDP_FLUSH_INVALIDATE_CACHE: u32 = 1;

/// The memory controller.
pub(crate) static HAL: Hal = Hal {
    hubs: &[&GFXHUB, &MMHUB],
    fb_location: (
        mm::MC_VM_FB_LOCATION_BASE,
        mm::MC_VM_FB_LOCATION_BASE::FB_BASE,
    ),
    fb_offset: gc::MC_VM_FB_OFFSET,
    gart: Placement::BestFit,
    // `amdgpu_ttm_tt_pte_flags` for cached system memory and `gart_pte_flags`.
    gart_flags: VALID | SYSTEM | SNOOPED | READABLE | WRITEABLE | EXECUTABLE | mtype(Mtype::Uc),
    prepare: |hw: &Hw| {
        let regs = &hw.regs;
        regs.update_at(0, hdp::HDP_MISC_CNTL, |old| {
            old | HDP_FLUSH_INVALIDATE_CACHE
        });
        regs.write(hdp::HDP_NONSURFACE_BASE, (hw.layout.fb_start >> 8) as u32);
        regs.write(
            hdp::HDP_NONSURFACE_BASE_HI,
            (hw.layout.fb_start >> 40) as u32,
        );
    },
    pasid_of,
};

/// The process that has an address space now, from ATHUB.
fn pasid_of(regs: &Regs, vmid: u32) -> Option<u32> {
    use athub::ATC_VMID0_PASID_MAPPING as F;
    let mapping = regs.read(athub::ATC_VMID0_PASID_MAPPING.at(vmid, 1));
    (mapping != u32::MAX && F::VALID.get(mapping) == 1).then(|| F::PASID.get(mapping))
}

/// Lets writes of SDMA invalidate lines that others have cached.
fn snoop_override(regs: &Regs, instance: u8) {
    const SDMA_CLIENT: u32 = 1 << 15;
    let stride =
        mm::DAGB1_WRCLI_GPU_SNOOP_OVERRIDE.offset - mm::DAGB0_WRCLI_GPU_SNOOP_OVERRIDE.offset;
    for dagb in 0..5 {
        for reg in [
            mm::DAGB0_WRCLI_GPU_SNOOP_OVERRIDE,
            mm::DAGB0_WRCLI_GPU_SNOOP_OVERRIDE_VALUE,
        ] {
            regs.update_at(instance, reg.at(dagb, stride), |old| old | SDMA_CLIENT);
        }
    }
}
