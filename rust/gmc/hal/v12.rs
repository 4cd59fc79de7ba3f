// SPDX-License-Identifier: GPL-2.0

//! Memory controller of GC 12.0: graphics hub 12.0.
//!
//! Source: Linux, `gmc_v12_0.c`, `gfxhub_v12_0.c`.
//!
//! Processes have four plain levels of page tables of 512 entries.

use super::{
    Mmhub,
    Placement, //
};
use crate::{
    gmc::hub::table::{
        table,
        Table, //
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
            athub_4_1_0 as athub,
            gc_12_0_0::{
                self as gc,
                GCVM_INVALIDATE_ENG0_REQ as Request, //
            },
            hdp_7_0_0 as hdp,
            osssys_7_0_0 as oss, //
        }, //
    },
    regs::{
        Regs,
        Tables, //
    }, //
};

mod clocks;

/// A hub's table: there is no XNACK, so a fault is final. The start-up values are
/// `regGCVM_L2_CNTL3_DEFAULT` and so on; those of the multimedia hub are the same.
macro_rules! hub {
    (
        $m:ident, $block:ident, $p:ident,
        { $($fault:ident: $fault_value:literal),* }, $semaphore:expr, $heavy:expr, $private:expr,
    ) => {
        ::kernel::macros::paste! { table! {
            $m, $block, [$p], status: VM_L2_PROTECTION_FAULT_STATUS_LO32,
            fault: { $($fault: $fault_value),* },
            levels: 3, block_size: 0, retry: 0,
            l1: { ECO_BITS: 0 },
            l2: {
                ENABLE_L2_FRAGMENT_PROCESSING: 0,
                ENABLE_DEFAULT_PAGE_OUT_TO_SYSTEM_MEMORY: 1,
            },
            l2_cntl3: (0x8012_0007, bank: 9, fragment: 6),
            l2_cntl4: 0x0000_00c1,
            context0: {},
            {
                l2_cntl5: Some((
                    $m::[<$p VM_L2_CNTL5>].any(),
                    Value::<$m::[<$p VM_L2_CNTL5>]>::new(0x0000_3fe0)
                        .having($m::[<$p VM_L2_CNTL5>]::L2_CACHE_SMALLK_FRAGMENT_SIZE.is::<0>())
                        .bits(),
                )),
                flush_semaphore: $semaphore,
                flush_heavy: $heavy,
                flush_heavy_first: false,
                flush_private: $private,
            }
        }}
    };
}
pub(super) use hub;

/// The GPU doesn't stop at a fault.
static HUB: Table = hub! {
    gc, Gc, GC,
    { CRASH_ON_NO_RETRY_FAULT: 0, CRASH_ON_RETRY_FAULT: 0 },
    None,
    Some(gc::GCVM_INVALIDATE_ENG0_REQ.change(&[Request::FLUSH_TYPE.is::<2>()])),
    None,
};
/// The memory controller.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&athub::TABLE, &gc::TABLE, &hdp::TABLE, &oss::TABLE]
    }

    fn hub(&self) -> &'static Table {
        &HUB
    }

    /// The multimedia hub's.
    fn vram_offset(&self, regs: &Regs, mmhub: &dyn Mmhub) -> u64 {
        mmhub.vram_offset(regs)
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

    fn prepare_hub(&self, regs: &Regs, instance: u8) {
        dont_halt(regs, instance);
    }

    fn gate_clocks(&self, regs: &Regs, on: bool) {
        clocks::gate(regs, on);
    }

    /// From the interrupt handler's table.
    fn pasid_of(&self, regs: &Regs, vmid: u32) -> Option<u32> {
        match regs.read(oss::IH_VMID_0_LUT.at(vmid, 1)).bits() {
            0 | u32::MAX => None,
            entry => Some(entry & 0xffff),
        }
    }
}

/// A page fault doesn't halt the command processor.
fn dont_halt(regs: &Regs, instance: u8) {
    regs.update_at(instance, gc::CP_DEBUG, |old| {
        old.with(gc::CP_DEBUG::CPG_UTCL1_ERROR_HALT_DISABLE, true)
    });
}
