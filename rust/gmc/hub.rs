// SPDX-License-Identifier: GPL-2.0

//! The hubs' registers: apertures, caches, the contexts of the 16 address spaces.
//!
//! Graphics and multimedia hub have the same registers at different offsets; [`reg!`] picks the
//! table. Order and values are those of `gart_enable` in `gfxhub_v1_2.c` and `mmhub_v1_8.c` for
//! a discrete GPU on bare metal.
//!
//! Processes have four levels of page tables of 512 entries with "translate further": the walker
//! is told of three levels whose last has 2 MiB pages, and an entry there with TF leads on to a
//! table of 4 KiB pages.

use crate::{
    gpu::Hw,
    hw::regs::{gc_9_4_3 as gc, mmhub_1_8_0 as mm, Bits, Block, Reg},
    regs::Regs,
};

/// A register that both kinds of hub have.
macro_rules! reg {
    ($hub:expr, $name:ident) => {
        match $hub.block {
            Block::Mmhub => mm::$name,
            _ => gc::$name,
        }
    };
}
pub(super) use reg;

/// Last page number of a process' 48-bit address space.
const LAST_PFN: u64 = (1 << 36) - 1;
/// Levels below the root that the walker is told of, see the module's documentation.
const DEPTH: u32 = 2;
const BLOCK_SIZE: u32 = 9;
/// Words from one context's address registers to the next's.
const CONTEXT_ADDR_STRIDE: u32 = 2;
const ENGINES: u32 = 18;
/// `regVM_L2_CNTL3_DEFAULT` and `regVM_L2_CNTL4_DEFAULT`.
const L2_CNTL3: u32 = 0x8010_0007;
const L2_CNTL4: u32 = 0x0000_00c1;
/// `MTYPE_UC`.
const MTYPE_UC: u32 = 3;

/// A hub.
#[derive(Clone, Copy)]
pub(super) struct Hub {
    pub(super) block: Block,
    pub(super) instance: u8,
}

impl Hub {
    fn write(self, regs: &Regs, reg: Reg, value: u32) {
        regs.write_at(self.instance, reg, value);
    }

    /// Stores a page number in a pair of registers.
    fn write_pair(self, regs: &Regs, lo: Reg, value: u64) {
        self.write(regs, lo, value as u32);
        self.write(regs, lo.at(1, 1), (value >> 32) as u32);
    }

    fn update(self, regs: &Regs, reg: Reg, fields: &[(Bits, u32)]) {
        regs.update_at(self.instance, reg, |old| {
            fields
                .iter()
                .fold(old, |value, (field, bits)| field.set(value, *bits))
        });
    }
}

/// All hubs: the graphics ones first.
pub(super) fn hubs(regs: &Regs) -> impl Iterator<Item = Hub> + '_ {
    [Block::Gc, Block::Mmhub]
        .into_iter()
        .flat_map(move |block| {
            regs.instances(block)
                .map(move |instance| Hub { block, instance })
        })
}

/// Sends faulting accesses to the default page instead of stopping the GPU.
pub(super) fn set_fault_defaults(regs: &Regs) {
    use gc::VM_L2_PROTECTION_FAULT_CNTL as F;
    for hub in hubs(regs) {
        let all = [
            (F::RANGE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (F::PDE0_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (F::PDE1_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (F::PDE2_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (F::TRANSLATE_FURTHER_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (F::NACK_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (F::DUMMY_PAGE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (F::VALID_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (F::READ_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (F::WRITE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
            (F::EXECUTE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
        ];
        let reg = reg!(hub, VM_L2_PROTECTION_FAULT_CNTL);
        hub.update(regs, reg, &all);
        if hub.block == Block::Gc {
            hub.update(
                regs,
                reg,
                &[
                    (F::CRASH_ON_NO_RETRY_FAULT, 0),
                    (F::CRASH_ON_RETRY_FAULT, 0),
                ],
            );
        }
    }
}

/// Turns translation on.
pub(super) fn enable(hw: &Hw) {
    for hub in hubs(&hw.regs) {
        gart(hw, hub);
        system_aperture(hw, hub);
        tlb_and_cache(&hw.regs, hub);
        if hub.block == Block::Mmhub {
            snoop_override(&hw.regs, hub);
        }
        context0(&hw.regs, hub);
        identity_aperture_off(&hw.regs, hub);
        process_contexts(&hw.regs, hub);
        invalidation_ranges(&hw.regs, hub);
    }
}

fn gart(hw: &Hw, hub: Hub) {
    let regs = &hw.regs;
    let table = hw.layout.vram_pte(hw.gart.table()) | crate::hw::pte::VALID;
    hub.write_pair(
        regs,
        reg!(hub, VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32),
        table,
    );
    let (start, end) = (hw.layout.gart_start >> 12, hw.layout.gart_end >> 12);
    hub.write_pair(
        regs,
        reg!(hub, VM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32),
        start,
    );
    hub.write_pair(regs, reg!(hub, VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32), end);
}

fn system_aperture(hw: &Hw, hub: Hub) {
    let regs = &hw.regs;
    // No AGP: start above end (`amdgpu_gmc_set_agp_default`).
    let (agp_start, agp_end) = (0xffff_ffff_ffff_u64, 0u64);
    hub.write(regs, reg!(hub, MC_VM_AGP_BASE), 0);
    hub.write(regs, reg!(hub, MC_VM_AGP_BOT), (agp_start >> 24) as u32);
    hub.write(regs, reg!(hub, MC_VM_AGP_TOP), (agp_end >> 24) as u32);
    let (low, high) = (
        hw.layout.fb_start.min(agp_start),
        hw.layout.fb_end.max(agp_end),
    );
    hub.write(
        regs,
        reg!(hub, MC_VM_SYSTEM_APERTURE_LOW_ADDR),
        (low >> 18) as u32,
    );
    hub.write(
        regs,
        reg!(hub, MC_VM_SYSTEM_APERTURE_HIGH_ADDR),
        (high >> 18) as u32,
    );
    let scratch = hw.layout.vram_pte(hw.scratch_page);
    hub.write_pair(
        regs,
        reg!(hub, MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB),
        scratch >> 12,
    );
    let dummy = hw.dummy_page.bus() >> 12;
    hub.write_pair(
        regs,
        reg!(hub, VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32),
        dummy,
    );
    use gc::VM_L2_PROTECTION_FAULT_CNTL2 as F;
    hub.update(
        regs,
        reg!(hub, VM_L2_PROTECTION_FAULT_CNTL2),
        &[(F::ACTIVE_PAGE_MIGRATION_PTE_READ_RETRY, 1)],
    );
}

fn tlb_and_cache(regs: &Regs, hub: Hub) {
    use gc::{
        MC_VM_MX_L1_TLB_CNTL as L1, VM_L2_CNTL as L2, VM_L2_CNTL2 as L2B, VM_L2_CNTL3 as L2C,
        VM_L2_CNTL4 as L2D,
    };
    hub.update(
        regs,
        reg!(hub, MC_VM_MX_L1_TLB_CNTL),
        &[
            (L1::ENABLE_L1_TLB, 1),
            (L1::SYSTEM_ACCESS_MODE, 3),
            (L1::ENABLE_ADVANCED_DRIVER_MODEL, 1),
            (L1::SYSTEM_APERTURE_UNMAPPED_ACCESS, 0),
            (L1::MTYPE, MTYPE_UC),
            (L1::ATC_EN, 1),
        ],
    );
    hub.update(
        regs,
        reg!(hub, VM_L2_CNTL),
        &[
            (L2::ENABLE_L2_CACHE, 1),
            (L2::ENABLE_L2_FRAGMENT_PROCESSING, 1),
            (L2::L2_PDE0_CACHE_TAG_GENERATION_MODE, 0),
            (L2::PDE_FAULT_CLASSIFICATION, 0),
            (L2::CONTEXT1_IDENTITY_ACCESS_MODE, 1),
            (L2::IDENTITY_MODE_FRAGMENT_SIZE, 0),
        ],
    );
    hub.update(
        regs,
        reg!(hub, VM_L2_CNTL2),
        &[
            (L2B::INVALIDATE_ALL_L1_TLBS, 1),
            (L2B::INVALIDATE_L2_CACHE, 1),
        ],
    );
    // Both for "translate further".
    let value = L2C::L2_CACHE_BIGK_FRAGMENT_SIZE.set(L2C::BANK_SELECT.set(L2_CNTL3, 12), 9);
    hub.write(regs, reg!(hub, VM_L2_CNTL3), value);
    let value = L2D::VMC_TAP_PTE_REQUEST_PHYSICAL
        .set(L2D::VMC_TAP_PDE_REQUEST_PHYSICAL.set(L2_CNTL4, 0), 0);
    hub.write(regs, reg!(hub, VM_L2_CNTL4), value);
}

/// Lets writes of SDMA invalidate lines that others have cached.
fn snoop_override(regs: &Regs, hub: Hub) {
    const SDMA_CLIENT: u32 = 1 << 15;
    let stride =
        mm::DAGB1_WRCLI_GPU_SNOOP_OVERRIDE.offset - mm::DAGB0_WRCLI_GPU_SNOOP_OVERRIDE.offset;
    for dagb in 0..5 {
        for reg in [
            mm::DAGB0_WRCLI_GPU_SNOOP_OVERRIDE,
            mm::DAGB0_WRCLI_GPU_SNOOP_OVERRIDE_VALUE,
        ] {
            regs.update_at(hub.instance, reg.at(dagb, stride), |old| old | SDMA_CLIENT);
        }
    }
}

fn context0(regs: &Regs, hub: Hub) {
    use gc::VM_CONTEXT0_CNTL as F;
    hub.update(
        regs,
        reg!(hub, VM_CONTEXT0_CNTL),
        &[
            (F::ENABLE_CONTEXT, 1),
            (F::PAGE_TABLE_DEPTH, 0),
            (F::PAGE_TABLE_BLOCK_SIZE, 0),
            (F::RETRY_PERMISSION_OR_INVALID_PAGE_FAULT, 0),
        ],
    );
}

fn identity_aperture_off(regs: &Regs, hub: Hub) {
    hub.write_pair(
        regs,
        reg!(hub, VM_L2_CONTEXT1_IDENTITY_APERTURE_LOW_ADDR_LO32),
        0xf_ffff_ffff,
    );
    hub.write_pair(
        regs,
        reg!(hub, VM_L2_CONTEXT1_IDENTITY_APERTURE_HIGH_ADDR_LO32),
        0,
    );
    hub.write_pair(
        regs,
        reg!(hub, VM_L2_CONTEXT_IDENTITY_PHYSICAL_OFFSET_LO32),
        0,
    );
}

fn process_contexts(regs: &Regs, hub: Hub) {
    use gc::VM_CONTEXT1_CNTL as F;
    for i in 0..15 {
        hub.update(
            regs,
            reg!(hub, VM_CONTEXT1_CNTL).at(i, 1),
            &[
                (F::ENABLE_CONTEXT, 1),
                (F::PAGE_TABLE_DEPTH, DEPTH),
                (F::RANGE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
                (F::DUMMY_PAGE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
                (F::PDE0_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
                (F::VALID_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
                (F::READ_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
                (F::WRITE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
                (F::EXECUTE_PROTECTION_FAULT_ENABLE_DEFAULT, 1),
                (F::PAGE_TABLE_BLOCK_SIZE, BLOCK_SIZE),
                // XNACK may be on in a process; then faults are retried.
                (F::RETRY_PERMISSION_OR_INVALID_PAGE_FAULT, 1),
            ],
        );
        let start = reg!(hub, VM_CONTEXT1_PAGE_TABLE_START_ADDR_LO32).at(i, CONTEXT_ADDR_STRIDE);
        let end = reg!(hub, VM_CONTEXT1_PAGE_TABLE_END_ADDR_LO32).at(i, CONTEXT_ADDR_STRIDE);
        hub.write_pair(regs, start, 0);
        hub.write_pair(regs, end, LAST_PFN);
    }
}

fn invalidation_ranges(regs: &Regs, hub: Hub) {
    for engine in 0..ENGINES {
        let range = reg!(hub, VM_INVALIDATE_ENG0_ADDR_RANGE_LO32).at(engine, 2);
        hub.write_pair(regs, range, 0x1f_ffff_ffff);
    }
}

/// Lets interrupts report faults, or not.
pub(super) fn set_fault_interrupts(regs: &Regs, on: bool) {
    use gc::VM_CONTEXT0_CNTL as F;
    let fields = [
        (F::RANGE_PROTECTION_FAULT_ENABLE_INTERRUPT, u32::from(on)),
        (
            F::DUMMY_PAGE_PROTECTION_FAULT_ENABLE_INTERRUPT,
            u32::from(on),
        ),
        (F::PDE0_PROTECTION_FAULT_ENABLE_INTERRUPT, u32::from(on)),
        (F::VALID_PROTECTION_FAULT_ENABLE_INTERRUPT, u32::from(on)),
        (F::READ_PROTECTION_FAULT_ENABLE_INTERRUPT, u32::from(on)),
        (F::WRITE_PROTECTION_FAULT_ENABLE_INTERRUPT, u32::from(on)),
        (F::EXECUTE_PROTECTION_FAULT_ENABLE_INTERRUPT, u32::from(on)),
    ];
    for hub in hubs(regs) {
        for i in 0..16 {
            hub.update(regs, reg!(hub, VM_CONTEXT0_CNTL).at(i, 1), &fields);
        }
    }
}

/// Turns translation off.
pub(super) fn disable(regs: &Regs) {
    use gc::{MC_VM_MX_L1_TLB_CNTL as L1, VM_L2_CNTL as L2};
    for hub in hubs(regs) {
        for i in 0..16 {
            hub.write(regs, reg!(hub, VM_CONTEXT0_CNTL).at(i, 1), 0);
        }
        hub.update(
            regs,
            reg!(hub, MC_VM_MX_L1_TLB_CNTL),
            &[
                (L1::ENABLE_L1_TLB, 0),
                (L1::ENABLE_ADVANCED_DRIVER_MODEL, 0),
            ],
        );
        hub.update(regs, reg!(hub, VM_L2_CNTL), &[(L2::ENABLE_L2_CACHE, 0)]);
        hub.write(regs, reg!(hub, VM_L2_CNTL3), 0);
    }
}

/// Clears the status of the last fault where there was one (`gmc_v9_0_process_interrupt`).
pub(super) fn clear_faults(hw: &Hw) {
    use gc::VM_L2_PROTECTION_FAULT_CNTL as F;
    for hub in hubs(&hw.regs) {
        let status = hw
            .regs
            .read_at(hub.instance, reg!(hub, VM_L2_PROTECTION_FAULT_STATUS));
        if status != 0 {
            hub.update(
                &hw.regs,
                reg!(hub, VM_L2_PROTECTION_FAULT_CNTL),
                &[(F::CLEAR_PROTECTION_FAULT_STATUS_ADDR, 1)],
            );
        }
    }
}
