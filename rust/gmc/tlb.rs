// SPDX-License-Identifier: GPL-2.0

//! TLB flushes: until one is acknowledged, the GPU may use old page table entries.
//!
//! Each hub has 18 invalidation engines; number 17 is the driver's. A request names the address
//! spaces by number (VMID) and the acknowledgement has a bit for each. Which VMID a process has
//! only the scheduling firmware knows, so a process is flushed by PASID: by firmware
//! ([`crate::ring::Firmware`]) if that runs and can, otherwise the VMID is looked up where firmware noted it.
//!
//! Lock order: [`Hw::tlb`] is a leaf.

use super::hub::{self, Hub};
use crate::{gpu::Hw, ring::RegWait, upcall::Pasid};
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
    flush(hw, vmid, LEGACY)
}

fn flush(hw: &Hw, vmid: u32, kind: u32) -> Result {
    hw.flush_hdp();
    let bit = 1u32 << (vmid & 15);
    for hub in hub::hubs(hw) {
        let table = hub.table;
        let request = table
            .flush_what
            .iter()
            .fold(table.flush_vmids.set(0, bit), |value, (field, bits)| {
                field.set(value, *bits)
            });
        let request = table
            .flush_type
            .map_or(request, |field| field.set(request, kind));
        by_firmware(hw, hub, request, bit)
            .unwrap_or_else(|| by_registers(hw, hub, request, bit))?;
    }
    Ok(())
}

/// Lets firmware store the request and wait, if it is up and does that.
fn by_firmware(hw: &Hw, hub: Hub, value: u32, mask: u32) -> Option<Result> {
    let firmware = hw.firmware()?;
    firmware.write_and_wait(&RegWait {
        write: hw
            .regs
            .word(hub.table.flush_request.at(ENGINE, 1), hub.instance)?,
        wait: hw
            .regs
            .word(hub.table.flush_ack.at(ENGINE, 1), hub.instance)?,
        value,
        mask,
    })
}

fn by_registers(hw: &Hw, hub: Hub, request: u32, bit: u32) -> Result {
    let (regs, table) = (&hw.regs, hub.table);
    let _one_at_a_time = hw.tlb.lock();
    // Held, it keeps the hub from being powered down; a load that gives 1 takes it.
    let semaphore = table.flush_semaphore.map(|reg| reg.at(ENGINE, 1));
    if let Some(reg) = semaphore {
        regs.wait_at(hub.instance, reg, TIMEOUT, |value| value & 1 == 1)?;
    }
    hub.write(regs, table.flush_request.at(ENGINE, 1), request);
    let ack = table.flush_ack.at(ENGINE, 1);
    let result = regs.wait_at(hub.instance, ack, TIMEOUT, |value| value & bit != 0);
    if let Some(reg) = semaphore {
        hub.write(regs, reg, 0);
    }
    if let Some(reg) = table.flush_private {
        const INVALIDATE: u32 = 1 << 25;
        regs.update_at(hub.instance, reg, |old| old | INVALIDATE);
        // Waits until the store has arrived.
        regs.read_at(hub.instance, reg);
    }
    // All ones is a missing device, not an acknowledgement.
    if result? == u32::MAX && regs.gone() {
        return Err(ENODEV);
    }
    Ok(())
}

/// Flushes the address space of a process, if it has a VMID now.
pub(crate) fn flush_pasid(hw: &Hw, pasid: Pasid, kind: u32) -> Result {
    hw.flush_hdp();
    if let Some(result) = hw
        .firmware()
        .and_then(|firmware| firmware.invalidate_tlbs(hw, pasid, kind))
    {
        return result;
    }
    hw.alive()?;
    for vmid in 1..16 {
        if (hw.chip.family.gmc.pasid_of)(&hw.regs, vmid) == Some(u32::from(pasid.get())) {
            flush(hw, vmid, kind)?;
        }
    }
    Ok(())
}
