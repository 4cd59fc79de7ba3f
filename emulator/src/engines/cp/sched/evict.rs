// SPDX-License-Identifier: MIT OR Apache-2.0

//! Making room for queues that wait: whose HQD, and which process's VMID, is taken.
//!
//! Sources: Linux, `amdkfd/kfd_packet_manager_v9.c` (`process_quantum`), `kfd_mqd_manager_v9.c`
//! (`cp_hqd_quantum`), `cik_regs.h` (`QUANTUM_SCALE_1MS`).
//!
//! An HQD is taken from a queue that has nothing to do, or else from the one that has it longest,
//! once its quantum is over; a VMID in the same way, with all queues of its process. A queue whose
//! waves can't be saved leaves when they end; if they never do, it stays with all that it has, and
//! another one is asked. Static queues stay, and so do busy ones of a higher level than who waits;
//! those of a lower one leave before their quantum is over.
//!
//! Scale: a quantum's millisecond is one of the host's. The emulated units are slow, so a quantum
//! is over only when its queue also had a worker's turn ([`crate::engines::cp::launch::dispatch::TURN`] instructions):
//! everybody gets on, however short the quantum.

use crate::engines::cp::front::hqd::{Image, Role};
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::mec::{Hqd, Mec, Stop};
use rkfd_hw::regs::gc_9_4_3::CP_HQD_QUANTUM as QUANTUM;
use rkfd_hw::regs::Value;
use std::time::{Duration, Instant};

/// Places that will be free soon.
pub(crate) struct Coming {
    slots: usize,
    vmids: usize,
}

impl Mec {
    /// What was asked for and is not free yet.
    pub fn coming(&self) -> Coming {
        let users = self.hqds.iter().flatten().filter(|h| h.role == Role::User);
        let leaving = self.processes.iter().filter(|p| p.leaving);
        Coming {
            slots: users.filter(|h| h.stop.is_some() && h.q.cwsr).count(),
            vmids: leaving.count(),
        }
    }

    /// Takes an HQD from a queue that is idle or had its time, if none is about to be free.
    pub fn want_slot(&mut self, now: Instant, level: u8, coming: &mut Coming) {
        if coming.slots > 0 {
            coming.slots -= 1;
            return;
        }
        let users = self.hqds.iter().flatten().filter(|h| h.role == Role::User);
        let victim = users
            .filter(|h| !h.is_static && h.stop.is_none() && self.turns.knows(h.q.mqd))
            .filter(|h| !h.is_busy() || yields(h, level, now >= h.since + h.quantum))
            .min_by_key(|h| (h.is_busy(), h.level, h.since));
        let Some((slot, busy, worked)) = victim.map(|h| (h.slot, h.is_busy(), h.has_worked()))
        else {
            return;
        };
        if busy || worked {
            self.trace_switch(slot, "out", if busy { "quantum" } else { "idle" });
        }
        self.stop(slot, Stop::Save);
    }

    /// Takes the VMID of a process that is idle or had its time, if none is about to be free.
    pub fn want_vmid(&mut self, now: Instant, level: u8, coming: &mut Coming) {
        if coming.vmids > 0 {
            coming.vmids -= 1;
            return;
        }
        let queues_of = |vmid| {
            let users = self.hqds.iter().flatten();
            users.filter(move |h| h.role == Role::User && h.owner.vmid == vmid)
        };
        let copies = |vmid| self.copies.iter().filter(move |q| q.owner.vmid == vmid);
        let busy = |vmid| {
            queues_of(vmid).any(|h| h.is_busy())
                || copies(vmid).any(|q| self.sdma.state(q.slot).is_some_and(|s| s.busy))
        };
        let victim = self
            .processes
            .iter()
            .enumerate()
            .filter(|(_, p)| !p.leaving && self.turns.has_process(p.owner.pasid))
            .filter(|(_, p)| !queues_of(p.owner.vmid).any(|h| h.is_static))
            .filter(|(_, p)| !self.copies_hold(p.owner.vmid, p.since + p.quantum, now))
            .filter(|(_, p)| {
                let mut all = queues_of(p.owner.vmid);
                let over = now >= p.since + p.quantum;
                all.all(|h| !h.is_busy() || yields(h, level, over))
            })
            .min_by_key(|(_, p)| (busy(p.owner.vmid), p.since));
        let Some((at, vmid)) = victim.map(|(at, p)| (at, p.owner.vmid)) else {
            return;
        };
        let asked: Vec<(Slot, bool)> = queues_of(vmid)
            .map(|h| (h.slot, h.is_busy() || h.has_worked()))
            .collect();
        let copies = self.stop_copies(Stop::Save, |q| q.owner.vmid == vmid);
        if asked.is_empty() && copies == 0 {
            return self.release_process(at);
        }
        if let Some(p) = self.processes.get_mut(at) {
            p.leaving = true;
        }
        for (slot, worked) in asked {
            if worked {
                self.trace_switch(slot, "out", "process");
            }
            if self.hqd(slot).is_some_and(|h| h.stop.is_none()) {
                self.stop(slot, Stop::Save);
            }
        }
    }
}

/// Whether a busy queue leaves for one of a level; `over`: its quantum is.
fn yields(h: &Hqd, level: u8, over: bool) -> bool {
    h.level < level || h.level == level && over && h.launched.had_turn()
}

/// The time that CP_HQD_QUANTUM gives a queue: with scale 1 in milliseconds, with 0 (which Linux
/// does not use, so it is this model's own) in microseconds; `otherwise` if it is off.
pub fn quantum(image: &Image, otherwise: Duration) -> Duration {
    let word = Value::<QUANTUM>::new(image.get(Image::CP_HQD_QUANTUM) as u32);
    let duration = u64::from(word.get(QUANTUM::QUANTUM_DURATION));
    match (
        word.get(QUANTUM::QUANTUM_EN),
        word.get(QUANTUM::QUANTUM_SCALE),
    ) {
        (0, _) => otherwise,
        (_, 1) => Duration::from_millis(duration),
        _ => Duration::from_micros(duration),
    }
}
