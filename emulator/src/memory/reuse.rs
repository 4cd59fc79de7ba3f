// SPDX-License-Identifier: MIT OR Apache-2.0

//! VRAM that gets another owner while a process can still reach it.
//!
//! A driver that takes VRAM from a process whose queues run removes it from the page table, flushes the hubs' TLBs, and
//! only then clears it or moves something there (Linux, `amdgpu/amdgpu_vm.c`, `amdgpu_vm_tlb_flush` of a compute context;
//! `amdkfd/kfd_chardev.c`, `kfd_ioctl_unmap_memory_from_gpu` with `TLB_FLUSH_HEAVYWEIGHT`). Without the flush the process'
//! waves go on reading and writing there, as they do on silicon, and nobody notices. So it is looked for where
//! an engine writes for the kernel: a translation is kept of the page that is written, and the page table has another one,
//! or none; or accesses under way had one before a flush that wasn't heavy. Of a process none of whose queues runs
//! translations may be older than its page table: it gets none of them back (`VmHub::bind`), and no access of it is under way.
//!
//! What the host stores to VRAM by itself can't be seen here.

use super::hub::VMIDS;
use super::tlb::{Flush, Reach};
use super::walk::{Place, Translation};
use super::{Hub, Memory, Space, PAGE};
use crate::rules::Kind;
use std::sync::atomic::Ordering;

impl Memory {
    /// These VMIDs, a bit each, are those of processes whose queues run.
    pub fn set_users(&self, vmids: u16) {
        let stopped = self.users.swap(vmids, Ordering::AcqRel) & !vmids;
        if stopped != 0 {
            self.hubs().for_each(|hub| self.hub(hub).settle(stopped));
        }
    }

    /// Flushes a hub's translations of the VMIDs in a mask.
    pub fn flush(&self, hub: Hub, vmids: u16, kind: Flush) {
        let users = self.users.load(Ordering::Acquire);
        self.hub(hub).flush(vmids, kind, users);
    }

    /// Whether there is anything to look for. A rule can make translations that no page table has.
    pub(super) fn checks_reuse(&self) -> bool {
        self.users.load(Ordering::Acquire) != 0 && !self.rules().is_about(Kind::Walk)
    }

    /// Looks whether a process that runs still reaches VRAM that is about to be written for the kernel.
    pub(super) fn check_reuse(&self, offset: u64, bytes: u64) {
        let users = self.users.load(Ordering::Acquire);
        let vmids = (1..VMIDS as u8).filter(|vmid| (users >> vmid) & 1 == 1);
        let spaces = vmids.flat_map(|vmid| self.hubs().map(move |hub| self.space(hub, vmid)));
        for space in spaces {
            let (hub, vmid) = (space.hub(), space.vmid());
            for (found, reach) in self.hub(hub).tlb(vmid).of_vram(offset, bytes) {
                let Some((va, at)) = outdated(&space, &found, offset, bytes) else {
                    continue;
                };
                let how = match reach {
                    Reach::Kept => "the TLB has it",
                    Reach::UnderWay => {
                        "accesses that a flush didn't wait for, not being heavy, have it"
                    }
                };
                self.report().violation(format_args!(
                    "{hub} hub VMID {vmid}: VRAM at {at:#x} is written for the kernel while {how} for \
                     {va:#x}, for which the page table has it no more: the process still reaches it"
                ));
            }
        }
    }
}

/// The first page of some VRAM that a kept translation has, and its page table has not: its address and its place.
fn outdated(space: &Space<'_>, kept: &Translation, offset: u64, bytes: u64) -> Option<(u64, u64)> {
    let Place::Vram(first) = kept.place else {
        return None;
    };
    let end = first
        .saturating_add(kept.len)
        .min(offset.saturating_add(bytes));
    let mut at = first.max(offset & !(PAGE - 1));
    while at < end {
        let va = kept.start.wrapping_add(at - first);
        let found = space.look(va).1.ok();
        let Some(found) =
            found.filter(|f| f.place.plus(va.wrapping_sub(f.start)) == Place::Vram(at))
        else {
            return Some((va, at));
        };
        // To the end of what that entry covers.
        let rest = found.len.saturating_sub(va.wrapping_sub(found.start));
        at = at.saturating_add(rest.max(PAGE));
    }
    None
}
