// SPDX-License-Identifier: MIT OR Apache-2.0

//! Copy queues: the schedulers' firmware maps them onto SDMA engines and takes them off.
//!
//! Sources: Linux, `amdkfd/kfd_packet_manager_v9.c` (`pm_map_queues_v9`; `pm_unmap_queues_v9` takes
//! all queues of its filter off, those of SDMA too), `amdkfd/kfd_device_queue_manager.c`.
//!
//! A copy queue has its place from the start, which the driver chose (`allocate_sdma_queue`): it
//! waits for no HQD, only for its process' VMID, and it leaves when the process has to. A preempted
//! one stops between packets; one that is in a long packet is waited for.

use crate::engines::cp::mec::copying::Copying;
use crate::engines::cp::mec::copying::Engine;
use crate::engines::cp::mec::line::{Pointer, QueueMap};
use crate::engines::cp::mec::{Mec, Owner, Stop};
use crate::engines::sdma::{self, Mapping};
use std::time::Instant;

impl Mec {
    /// The mapping of a copy queue of a process.
    pub fn copy_mapping(map: &QueueMap, owner: Owner) -> Mapping {
        let (wptr_vmid, wptr) = match map.wptr {
            Pointer::Process(at) => (owner.vmid, at),
            Pointer::Gart(at) => (0, at),
        };
        Mapping {
            engine: match map.engine {
                Engine::Sdma(engine) => engine,
                Engine::Compute => None,
            },
            mqd: map.mqd,
            doorbell: map.doorbell,
            wptr,
            wptr_vmid,
            vmid: owner.vmid,
            pasid: owner.pasid,
        }
    }

    /// Maps a copy queue; `false` when it is wrong, which is recorded as its maker's doing.
    pub fn map_copies(&mut self, owner: Owner, map: &QueueMap) -> bool {
        let sdma = self.sdma.clone();
        match sdma.map(&Self::copy_mapping(map, owner)) {
            Ok(slot) => {
                if let Some(process) = self.processes.iter_mut().find(|p| p.owner == owner) {
                    process.queues += 1;
                }
                self.show_users();
                self.copies.push(Copying {
                    slot,
                    mqd: map.mqd,
                    doorbell: map.doorbell,
                    owner,
                    stop: None,
                    reset: false,
                });
                true
            }
            Err(wrong) => {
                self.env
                    .report()
                    .record(wrong.whose, format_args!("{}: SDMA queue: {wrong}", map.by));
                false
            }
        }
    }

    /// Asks copy queues to leave.
    pub fn stop_copies(&mut self, stop: Stop, chosen: impl Fn(&Copying) -> bool) -> usize {
        let mut n = 0;
        for queue in self.copies.iter_mut().filter(|queue| chosen(queue)) {
            n += 1;
            let reset = stop == Stop::Reset;
            if queue.stop.is_some() && (queue.reset || !reset) {
                continue;
            }
            (queue.stop, queue.reset) = (Some(stop), reset);
            let stop = match reset {
                true => sdma::Stop::Reset,
                false => sdma::Stop::Preempt,
            };
            self.sdma.stop(queue.slot, stop);
        }
        n
    }

    /// Whether copy queues were asked to leave and have not yet.
    pub fn copies_leave(&self) -> bool {
        self.copies.iter().any(|queue| queue.stop.is_some())
    }

    /// Lets copy queues that did not leave in time go on; their doorbells.
    pub fn go_on_copies(&mut self) -> Vec<u32> {
        let late = self.copies.iter_mut().filter(|queue| queue.stop.is_some());
        late.map(|queue| {
            queue.stop = None;
            self.sdma.go_on(queue.slot);
            queue.doorbell
        })
        .collect()
    }

    /// Takes note of copy queues that have left; whether there were any.
    pub fn step_copies(&mut self) -> bool {
        let sdma = self.sdma.clone();
        let (left, stay) = std::mem::take(&mut self.copies)
            .into_iter()
            .partition::<Vec<_>, _>(|queue| sdma.state(queue.slot).is_none());
        self.copies = stay;
        for queue in &left {
            let lost = queue.stop == Some(Stop::Reset);
            self.turns.copies_left(queue.mqd, lost);
            let vmid = queue.owner.vmid;
            let Some(at) = self.processes.iter().position(|p| p.owner.vmid == vmid) else {
                continue;
            };
            let Some(process) = self.processes.get_mut(at) else {
                continue;
            };
            process.queues = process.queues.saturating_sub(1);
            let done = process.queues == 0;
            if done && (process.leaving || !self.turns.has_process(queue.owner.pasid)) {
                self.release_process(at);
            }
        }
        // Who runs is told when it changes, not at every step.
        if !left.is_empty() {
            self.show_users();
        }
        !left.is_empty()
    }

    /// Whether a process' copy queues are at work, and its quantum is not over.
    pub fn copies_hold(&self, vmid: u8, until: Instant, now: Instant) -> bool {
        let mut own = self.copies.iter().filter(|q| q.owner.vmid == vmid);
        let busy = |q: &Copying| self.sdma.state(q.slot).is_some_and(|s| s.busy);
        now < until && own.any(busy)
    }
}
