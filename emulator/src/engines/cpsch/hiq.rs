// SPDX-License-Identifier: MIT OR Apache-2.0

//! The HSA interface queue (HIQ): resources, and taking user queues off.
//!
//! Sources: Linux, `amdkfd/kfd_packet_manager_v9.c`, `amdkfd/kfd_device_queue_manager.c`
//! (`unmap_queues_cpsch`): "if compute queue doesn't response to the preemption request in time,
//! HIQ will abandon the unmap request without returning any timeout error to driver. Instead, MEC
//! firmware will log the doorbell of the unresponding compute queue to
//! HIQ.MQD.queue_doorbell_id fields." So QUERY_STATUS after it completes all the same. Of copy queues it logs
//! nothing: Linux looks at their engines' registers (`sdma_has_hang`).

use super::firmware::{Firmware, Unmapping};
use super::kiq::doorbells;
use crate::engines::cp::front::generation::GFX9_4_3;
use crate::engines::cp::front::hqd::Role;
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::mec::Stop;
use crate::engines::cp::packet::pm4::Bad;
use crate::trace::Value;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pm4::*;
use std::time::{Duration, Instant};

/// The unit of SET_RESOURCES' unmap latency.
const LATENCY_UNIT: Duration = Duration::from_millis(100);
/// Doorbells of hung queues that the HIQ's MQD has room for.
const HUNG: usize = 16;

impl Firmware {
    pub(crate) fn set_resources(
        &mut self,
        xcc: u8,
        role: Role,
        p: &SetResources,
    ) -> Result<(), Bad> {
        let bad = |what: &str| Err(Bad::Content(format!("SET_RESOURCES: {what}")));
        let kind = p.get(SetResources::QUEUE_TYPE);
        let queues = p.get(SetResources::QUEUE_MASK);
        if (0..64).any(|bit| (queues >> bit) & 1 == 1 && GFX9_4_3.slots.from_bit(bit).is_none()) {
            return bad("the queue mask names HQDs that the chip lacks");
        }
        match role {
            // This packet reserves resources for the kernel's own queues, which the KIQ maps by name.
            Role::Kiq if kind == RESOURCES_KIQ => {
                self.reserved |= 1 << xcc;
                let cleaner = p.get(SetResources::KIQ_CLEANER_ADDR) << 8;
                if let Some(place) = self.mec.cleaners.get_mut(usize::from(xcc)) {
                    *place = cleaner;
                }
                return Ok(());
            }
            Role::Hiq if kind == RESOURCES_HIQ => {}
            _ => return bad("the queue type is not that of the queue"),
        }
        // Linux sets both or none (`gfx_v9_4_3_xcc_init_sq`, `pm_set_resources_v9`).
        let chained = p.is_set(SetResources::ENB_XNACK_RETRY_DISABLE_CHECK);
        let xccs = 0..self.env.memory().graphics_hubs().count() as u8;
        let mut checks = xccs.map(|xcc| self.shared.regs(xcc).checks_xnack());
        if checks.any(|checks| checks == chained) {
            return bad("the XNACK check is not the one of SQ_CONFIG1");
        }
        let vmids = p.get(SetResources::VMID_MASK);
        if vmids & 1 == 1 || vmids == 0 {
            return bad("the VMID mask is empty, or has the kernel's VMID 0");
        }
        if self
            .mec
            .hqds
            .iter()
            .flatten()
            .any(|h| h.role != Role::User && (queues >> h.slot.index()) & 1 == 1)
        {
            return bad("the queue mask has the HQD of a kernel queue");
        }
        if !self.mec.processes.is_empty() {
            return bad("queues are mapped");
        }
        self.mec.vmids.allow(vmids);
        self.mec.slots.allow(queues);
        self.mec.gws = p.get(SetResources::GWS_MASK).count_ones();
        self.latency = LATENCY_UNIT * p.get(SetResources::UNMAP_LATENCY) as u32;
        self.resources_set = true;
        Ok(())
    }

    /// UNMAP_QUEUES of the HIQ: asks the queues to stop; the HIQ waits until they have.
    pub(crate) fn unmap_user_queues(&mut self, p: &UnmapQueues) {
        if p.get(UnmapQueues::ENGINE_SEL) != 0 || p.get(UnmapQueues::EXTENDED_ENGINE_SEL) != 0 {
            // Linux takes copy queues off with the others (`pm_unmap_queues_v9`).
            return self.violation(format_args!(
                "UNMAP_QUEUES of single SDMA engines is not modelled"
            ));
        }
        let stop = match p.get(UnmapQueues::ACTION) {
            UNMAP_PREEMPT => Stop::Save,
            UNMAP_RESET => Stop::Reset,
            other => {
                return self.violation(format_args!("UNMAP_QUEUES: action {other} is not modelled"))
            }
        };
        let pasid = UnmapByPasid(p.0).get(UnmapByPasid::PASID) as u16;
        let bells = doorbells(p);
        let select = p.get(UnmapQueues::QUEUE_SEL);
        let chosen = self.mec.hqds.iter().flatten().filter(|h| {
            h.role == Role::User
                && match select {
                    SELECT_DOORBELL => bells.contains(&h.q.doorbell),
                    SELECT_PASID => h.owner.pasid == pasid,
                    SELECT_ALL => true,
                    _ => !h.is_static,
                }
        });
        let slots: Vec<Slot> = chosen.map(|h| h.slot).collect();
        // Those that wait for their turn are off already.
        let waited = self.mec.forget(stop, |entry| match select {
            SELECT_DOORBELL => bells.contains(&entry.queue.doorbell),
            SELECT_PASID => entry.pasid() == pasid,
            SELECT_ALL => true,
            _ => !entry.queue.is_static,
        });
        let copies = self.mec.stop_copies(stop, |queue| match select {
            SELECT_DOORBELL => bells.contains(&queue.doorbell),
            SELECT_PASID => queue.owner.pasid == pasid,
            _ => true,
        });
        if select == SELECT_DOORBELL && slots.len() + copies + waited != bells.len() {
            self.violation(format_args!(
                "UNMAP_QUEUES: a doorbell is of no connected queue"
            ));
        }
        self.env.trace().event(
            "unmap",
            &[
                ("queues", Value::Num((slots.len() + copies) as u64)),
                ("reset", Value::Num((stop == Stop::Reset).into())),
            ],
        );
        self.unmap(slots, stop);
    }

    /// Asks queues to stop, and makes the HIQ wait for them.
    pub(crate) fn unmap(&mut self, slots: Vec<Slot>, stop: Stop) {
        if slots.is_empty() && !self.mec.copies_leave() {
            return;
        }
        for &slot in &slots {
            self.mec.stop(slot, stop);
        }
        self.unmapping = Some(Unmapping {
            slots,
            until: Instant::now() + self.latency,
        });
    }

    /// Ends the HIQ's wait: the queues are off, or the time is over.
    pub(crate) fn step_unmapping(&mut self) -> bool {
        let Some(unmapping) = self.unmapping.clone() else {
            return false;
        };
        let left: Vec<Slot> = unmapping
            .slots
            .into_iter()
            .filter(|&slot| self.mec.hqd(slot).is_some())
            .collect();
        if left.is_empty() && !self.mec.copies_leave() {
            self.unmapping = None;
            if let Some(list) = self.next_list.take() {
                self.run_list(&list);
            }
            return true;
        }
        if Instant::now() < unmapping.until {
            return false;
        }
        self.unmapping = None;
        self.next_list = None;
        self.mec
            .processes
            .iter_mut()
            .for_each(|p| p.leaving = false);
        self.mec.go_on_copies();
        let mut hung = Vec::new();
        for slot in left {
            // The request is abandoned: the queue goes on where it is.
            self.mec.go_on(slot);
            let Some(h) = self.mec.hqd(slot) else {
                continue;
            };
            hung.push(h.q.doorbell);
            let name = slot.to_string();
            let members = [
                ("queue", Value::Text(&name)),
                ("doorbell", Value::Num(h.q.doorbell.into())),
            ];
            self.env.trace().event("hung", &members);
        }
        hung.truncate(HUNG);
        let hiqs = self.mec.hqds.iter().flatten();
        for hiq in hiqs.filter(|h| h.role == Role::Hiq) {
            let at = hiq.q.mqd + Mqd::QUEUE_DOORBELL_ID0.word() as u64 * 4;
            if let Err(fault) = self.mec.space_of(hiq).write_words(at, &hung) {
                self.env.vm_fault(&fault);
            }
        }
        true
    }
}
