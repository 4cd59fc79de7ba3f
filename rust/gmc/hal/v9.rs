// SPDX-License-Identifier: GPL-2.0

//! Memory controller of GC 9.4.3: graphics hub 1.2.
//!
//! Source: Linux, `gmc_v9_0.c`, `gfxhub_v1_2.c`.
//!
//! Processes have four levels of page tables of 512 entries with "translate further": the walker
//! is given three levels whose last has 2 MiB pages, and an entry there with TF leads on to a
//! table of 4 KiB pages.

use super::{
    Hive,
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
            athub_1_8_0::{
                self as athub,
                ATC_VMID0_PASID_MAPPING as Mapping, //
            },
            gc_9_4_3::{
                self as gc,
                MC_VM_XGMI_LFB_CNTL as Place,
                MC_VM_XGMI_LFB_SIZE as Size, //
            },
            hdp_4_4_2 as hdp,
            Value, //
        }, //
    },
    regs::{
        Regs,
        Tables, //
    }, //
};
use kernel::prelude::*;

/// A hub's table: the walker is given two levels, see the module's documentation, and XNACK may be
/// on in a process, so faults are retried. The start-up values are `regVM_L2_CNTL3_DEFAULT` and
/// `regVM_L2_CNTL4_DEFAULT`; banks and fragments are for "translate further".
macro_rules! hub {
    ($m:ident, $block:ident, { $($fault:ident: $value:literal),* }) => {
        table! {
            $m, $block, [], status: VM_L2_PROTECTION_FAULT_STATUS,
            fault: { $($fault: $value),* },
            levels: 2, block_size: 9, retry: 1,
            l1: { ATC_EN: 1 },
            l2: { ENABLE_L2_FRAGMENT_PROCESSING: 1 },
            l2_cntl3: (0x8010_0007, bank: 12, fragment: 9),
            l2_cntl4: 0x0000_00c1,
            context0: { PAGE_TABLE_BLOCK_SIZE: 0 },
            {
                l2_cntl5: None,
                flush_semaphore: None,
                flush_heavy: Some($m::VM_INVALIDATE_ENG0_REQ.change(&[
                    $m::VM_INVALIDATE_ENG0_REQ::FLUSH_TYPE.is::<2>(),
                ])),
                flush_heavy_first: true,
                flush_private: None,
            }
        }
    };
}
pub(super) use hub;

/// The GPU doesn't stop at a fault.
static HUB: Table = hub! { gc, Gc, { CRASH_ON_NO_RETRY_FAULT: 0, CRASH_ON_RETRY_FAULT: 0 } };

/// Bit of HDP_MISC_CNTL (`hdp_4_0_sh_mask.h`; the header of 4.4.2 has no fields of it).
const HDP_FLUSH_INVALIDATE_CACHE: u32 = 1;

/// The memory controller.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&athub::TABLE, &gc::TABLE, &hdp::TABLE]
    }

    fn hub(&self) -> &'static Table {
        &HUB
    }

    /// The graphics hub's.
    fn vram_offset(&self, regs: &Regs, _mmhub: &dyn Mmhub) -> u64 {
        u64::from(regs.read(gc::MC_VM_FB_OFFSET).bits()) << 24
    }

    /// `gfxhub_v1_2_get_xgmi_info`.
    fn hive(&self, regs: &Regs) -> Result<Hive> {
        let place = regs.read(gc::MC_VM_XGMI_LFB_CNTL);
        let last = place.get(Place::PF_MAX_REGION);
        if last == 0 {
            return Ok(Hive::default());
        }
        let id = place.get(Place::PF_LFB_REGION);
        if last > 7 || id > 7 {
            return Err(EINVAL);
        }
        let segment = regs.read(gc::MC_VM_XGMI_LFB_SIZE).get(Size::PF_LFB_SIZE);
        Ok(Hive {
            nodes: last.saturating_add(1),
            offset: (u64::from(segment) << 24)
                .checked_mul(id.into())
                .ok_or(EINVAL)?,
        })
    }

    fn gart(&self) -> Placement {
        Placement::BestFit
    }

    /// `amdgpu_ttm_tt_pte_flags` for cached system memory and `gart_pte_flags`.
    fn gart_flags(&self) -> u64 {
        VALID | SYSTEM | SNOOPED | READABLE | WRITEABLE | EXECUTABLE | mtype(Mtype::Uc)
    }

    fn prepare(&self, regs: &Regs, vram_start: u64) {
        regs.update(hdp::HDP_MISC_CNTL, |old| {
            Value::new(old.bits() | HDP_FLUSH_INVALIDATE_CACHE)
        });
        let (low, high) = ((vram_start >> 8) as u32, (vram_start >> 40) as u32);
        regs.write(hdp::HDP_NONSURFACE_BASE, Value::new(low));
        regs.write(hdp::HDP_NONSURFACE_BASE_HI, Value::new(high));
    }

    /// From ATHUB.
    fn pasid_of(&self, regs: &Regs, vmid: u32) -> Option<u32> {
        let mapping = regs.read(athub::ATC_VMID0_PASID_MAPPING.at(vmid, 1));
        let valid = mapping.bits() != u32::MAX && mapping.is_set(Mapping::VALID);
        valid.then(|| mapping.get(Mapping::PASID))
    }
}
