// SPDX-License-Identifier: GPL-2.0

//! TLB flushes: until one is acknowledged, the GPU may use old page table entries.
//!
//! Each hub has 18 invalidation engines; number 17 is the driver's. A request names the address
//! spaces by number (VMID) and the acknowledgement has a bit for each. Which VMID a process has
//! only the scheduling firmware knows, so a process is flushed by PASID: KIQ's INVALIDATE_TLBS
//! does that; before KIQ runs, the VMID is looked up in ATHUB.
//!
//! Lock order: [`Hw::tlb`] is a leaf.

use super::hub::{self, reg};
use crate::{
    gpu::Hw,
    hw::regs::{athub_1_8_0 as athub, gc_9_4_3 as gc, mmhub_1_8_0 as mm, Block},
    upcall::Pasid,
};
use kernel::{prelude::*, time::Delta};

const ENGINE: u32 = 17;
/// TIMEOUT: `AMDGPU_MAX_USEC_TIMEOUT`, as `gmc_v9_0_flush_gpu_tlb` waits.
const TIMEOUT: Delta = Delta::from_millis(100);
/// Type of flush: "legacy", all of the address space.
const LEGACY: u32 = 0;
/// Type of flush: also what caches hold by old translations. Memory may go only after it.
pub(crate) const HEAVY: u32 = 2;

/// Flushes an address space in all hubs.
///
/// # Errors
///
/// ETIME when a hub doesn't acknowledge, ENODEV when the device is gone.
pub(crate) fn flush_vmid(hw: &Hw, vmid: u32) -> Result {
    use gc::VM_INVALIDATE_ENG0_REQ as F;
    hw.flush_hdp();
    let bit = 1u32 << (vmid & 15);
    let request = [
        (F::PER_VMID_INVALIDATE_REQ, bit),
        (F::FLUSH_TYPE, LEGACY),
        (F::INVALIDATE_L2_PTES, 1),
        (F::INVALIDATE_L2_PDE0, 1),
        (F::INVALIDATE_L2_PDE1, 1),
        (F::INVALIDATE_L2_PDE2, 1),
        (F::INVALIDATE_L1_PTES, 1),
    ]
    .iter()
    .fold(0, |value, (field, bits)| field.set(value, *bits));
    let _one_at_a_time = hw.tlb.lock();
    for hub in hub::hubs(&hw.regs) {
        let regs = &hw.regs;
        regs.write_at(
            hub.instance,
            reg!(hub, VM_INVALIDATE_ENG0_REQ).at(ENGINE, 1),
            request,
        );
        let ack = reg!(hub, VM_INVALIDATE_ENG0_ACK).at(ENGINE, 1);
        // All ones is a missing device, not an acknowledgement.
        let value = regs.wait_at(hub.instance, ack, TIMEOUT, |value| value & bit != 0)?;
        if value == u32::MAX && regs.gone() {
            return Err(ENODEV);
        }
    }
    Ok(())
}

/// Flushes the address space of a process, if it has a VMID now.
pub(crate) fn flush_pasid(hw: &Hw, pasid: Pasid, kind: u32) -> Result {
    hw.flush_hdp();
    if let Some(result) = hw.with_kiq(|kiq| kiq.invalidate_tlbs(hw, pasid, kind)) {
        return result;
    }
    use athub::ATC_VMID0_PASID_MAPPING as F;
    for vmid in 1..16 {
        let mapping = hw.regs.read(athub::ATC_VMID0_PASID_MAPPING.at(vmid, 1));
        if mapping == u32::MAX {
            return hw.alive();
        }
        if F::VALID.get(mapping) == 1 && F::PASID.get(mapping) == u32::from(pasid.get()) {
            flush_vmid(hw, vmid)?;
        }
    }
    Ok(())
}
