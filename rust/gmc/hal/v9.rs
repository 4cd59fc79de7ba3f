// SPDX-License-Identifier: GPL-2.0

//! Memory controller of gfx942: graphics hub 1.2, multimedia hub 1.8.
//!
//! Source: Linux, `gmc_v9_0.c`, `gfxhub_v1_2.c`, `mmhub_v1_8.c`.
//!
//! Processes have four levels of page tables of 512 entries with "translate further": the walker
//! is given three levels whose last has 2 MiB pages, and an entry there with TF leads on to a
//! table of 4 KiB pages.

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
            mtype,
            Mtype,
            EXECUTABLE,
            READABLE,
            SNOOPED,
            SYSTEM,
            VALID,
            WRITEABLE, //
        },
        regs::{
            athub_1_8_0 as athub,
            gc_9_4_3 as gc,
            hdp_4_4_2 as hdp,
            mmhub_1_8_0 as mm,
            Bits,
            Block, //
        }, //
    },
    regs::Regs, //
};
use gc::{
    MC_VM_MX_L1_TLB_CNTL as L1,
    VM_CONTEXT1_CNTL as Context,
    VM_INVALIDATE_ENG0_REQ as Flush,
    VM_L2_CNTL as L2,
    VM_L2_CNTL2 as L2B,
    VM_L2_CNTL3 as L2C,
    VM_L2_CNTL4 as L2D,
    VM_L2_PROTECTION_FAULT_CNTL as Fault,
    VM_L2_PROTECTION_FAULT_CNTL2 as Fault2, //
};

/// Levels below the root that the walker is given, see the module's documentation.
const DEPTH: u32 = 2;
const BLOCK_SIZE: u32 = 9;
/// `regVM_L2_CNTL3_DEFAULT` and `regVM_L2_CNTL4_DEFAULT`.
const L2_CNTL3: u32 = 0x8010_0007;
const L2_CNTL4: u32 = 0x0000_00c1;
/// XNACK may be on in a process; then faults are retried.
const RETRY_FAULTS: u32 = 1;
/// `MTYPE_UC`.
const MTYPE_UC: u32 = 3;

const L1_ON: Values = &[
    (L1::ENABLE_L1_TLB, 1),
    (L1::SYSTEM_ACCESS_MODE, 3),
    (L1::ENABLE_ADVANCED_DRIVER_MODEL, 1),
    (L1::SYSTEM_APERTURE_UNMAPPED_ACCESS, 0),
    (L1::MTYPE, MTYPE_UC),
    (L1::ATC_EN, 1),
];
const L2_ON: Values = &[
    (L2::ENABLE_L2_CACHE, 1),
    (L2::ENABLE_L2_FRAGMENT_PROCESSING, 1),
    (L2::L2_PDE0_CACHE_TAG_GENERATION_MODE, 0),
    (L2::PDE_FAULT_CLASSIFICATION, 0),
    (L2::CONTEXT1_IDENTITY_ACCESS_MODE, 1),
    (L2::IDENTITY_MODE_FRAGMENT_SIZE, 0),
];
/// Both for "translate further".
const L2_BANKS: u32 = L2C::L2_CACHE_BIGK_FRAGMENT_SIZE.set(L2C::BANK_SELECT.set(L2_CNTL3, 12), 9);
const KERNEL: Values = &[
    (Context::ENABLE_CONTEXT, 1),
    (Context::PAGE_TABLE_DEPTH, 0),
    (Context::PAGE_TABLE_BLOCK_SIZE, 0),
    (Context::RETRY_PERMISSION_OR_INVALID_PAGE_FAULT, 0),
];

values!();

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
    }
};

/// Bit of HDP_MISC_CNTL (`hdp_4_0_sh_mask.h`; the header of 4.4.2 has no fields of it).
const HDP_FLUSH_INVALIDATE_CACHE: u32 = 1;

/// The memory controller.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn hubs(&self) -> &'static [&'static Table] {
        const HUBS: &[&Table] = &[&GFXHUB, &MMHUB];
        HUBS
    }

    fn vram_base(&self, regs: &Regs) -> (u64, u64) {
        let location = regs.read(mm::MC_VM_FB_LOCATION_BASE);
        let base = mm::MC_VM_FB_LOCATION_BASE::FB_BASE.get(location);
        let offset = regs.read(gc::MC_VM_FB_OFFSET);
        (u64::from(base) << 24, u64::from(offset) << 24)
    }

    fn gart(&self) -> Placement {
        Placement::BestFit
    }

    /// `amdgpu_ttm_tt_pte_flags` for cached system memory and `gart_pte_flags`.
    fn gart_flags(&self) -> u64 {
        VALID | SYSTEM | SNOOPED | READABLE | WRITEABLE | EXECUTABLE | mtype(Mtype::Uc)
    }

    fn prepare(&self, regs: &Regs, vram_start: u64) {
        regs.update_at(0, hdp::HDP_MISC_CNTL, |old| {
            old | HDP_FLUSH_INVALIDATE_CACHE
        });
        regs.write(hdp::HDP_NONSURFACE_BASE, (vram_start >> 8) as u32);
        regs.write(hdp::HDP_NONSURFACE_BASE_HI, (vram_start >> 40) as u32);
    }

    fn prepare_hub(&self, regs: &Regs, block: Block, instance: u8) {
        if block == Block::Mmhub {
            snoop_override(regs, instance);
        }
    }

    /// From ATHUB.
    fn pasid_of(&self, regs: &Regs, vmid: u32) -> Option<u32> {
        use athub::ATC_VMID0_PASID_MAPPING as F;
        let mapping = regs.read(athub::ATC_VMID0_PASID_MAPPING.at(vmid, 1));
        (mapping != u32::MAX && F::VALID.get(mapping) == 1).then(|| F::PASID.get(mapping))
    }
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
