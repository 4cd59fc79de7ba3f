// SPDX-License-Identifier: MIT OR Apache-2.0

//! Copy queues: SUSPEND of them, and one that does not leave its engine.
//!
//! Expected values: `include/mes_v12_api_def.h` (bits of SUSPEND, the list of RESET) and `amdgpu_mes.h`
//! (`struct amdgpu_mes_hung_queue_hqd_info`).

use crate::process::{Memory, Process, Queue};
use crate::queues::{start_with, HQDS};
use crate::rig::*;
use rkfd_emulator::engines::sdma::Slot;
use rkfd_emulator_testkit::packets::bytes;
use rkfd_hw::mes::v12::{AddQueue, RemoveQueue, Reset, SetHwResources, SetHwResources1};
use rkfd_hw::mes::{header, op};
use rkfd_hw::mqd::v12::SdmaMqd as M;
use std::rc::Rc;

/// Queue 2 of the first engine.
const SLOT: Slot = Slot {
    engine: 0,
    queue: 2,
};
/// suspend_all_gangs, and suspend_all_sdma_gangs.
const COMPUTE: u32 = 1;
const SDMA: u32 = 1 << 2;
/// MES_QUEUE_TYPE_COMPUTE and _SDMA.
const TYPES: [u32; 2] = [1, 2];

/// `add_queue_mes` of a copy queue with a ring of 1024 words at an address, in place of the compute queue's MQD.
pub fn add(q: &Queue, ring: u64) -> AddQueue {
    let ring = ring >> 8;
    let poll = q.write_index();
    let mut m = [0; 128];
    for (word, value) in [
        (
            M::SDMAX_RLCX_RB_CNTL.word(),
            (10 << 1) | (1 << 12) | (6 << 16) | (1 << 11),
        ),
        (M::SDMAX_RLCX_RB_BASE.word(), ring as u32),
        (M::SDMAX_RLCX_RB_BASE.word() + 1, (ring >> 32) as u32),
        (M::SDMAX_RLCX_RB_WPTR_POLL_ADDR.word(), poll as u32),
        (
            M::SDMAX_RLCX_RB_WPTR_POLL_ADDR.word() + 1,
            (poll >> 32) as u32,
        ),
        (M::SDMAX_RLCX_DOORBELL_OFFSET.word(), q.bell << 2),
        (M::SDMAX_RLCX_SCHED_CNTL.word(), 32 << 8),
        (M::SDMAX_RLCX_DUMMY_REG.word(), 0xf),
        (M::SDMAX_RLCX_IB_CNTL.word(), 0x100),
        (127, SLOT.queue.into()),
    ] {
        m[word] = value;
    }
    let memory = &q.process.memory;
    memory.put(q.mqd, &bytes(&m));
    memory.put(q.mqd + 512, &[0; 2048 - 512]);
    q.add()
        .with(AddQueue::QUEUE_TYPE, 2)
        .with(AddQueue::IS_AQL_QUEUE, false)
        .with(AddQueue::KFD_QUEUE_SIZE, 1024)
}

/// REMOVE_QUEUE of a copy queue.
pub fn remove(rig: &mut Rig, q: &Queue, flags: u32) -> u64 {
    let gang = mc(q.gang);
    let mut frame = RemoveQueue::zeroed()
        .with(RemoveQueue::DOORBELL_OFFSET, q.bell)
        .with(RemoveQueue::GANG_CONTEXT_ADDR, gang)
        .with(RemoveQueue::QUEUE_TYPE, 2);
    frame.0[0] = header(op::REMOVE_QUEUE);
    frame.0[4] = flags;
    rig.submit(0, &frame.0, 6)
}

/// A rig whose MES waits 300 ms for a queue, with a copy queue and a compute queue.
struct Both {
    rig: Rig,
    memory: Rc<Memory>,
    copies: Queue,
    compute: Queue,
    /// Where the first packet of the copy queue stores 7.
    target: u64,
    ring: u64,
}

impl Both {
    fn new(rules: &[&str]) -> Self {
        let (mut rig, memory) = start_with(rules);
        let resources = Rig::resources(0).with(SetHwResources::SDMA_HQD_MASK_0, 0xfc);
        assert_eq!(rig.submit(0, &resources.0, 50), 1);
        let mut patience = SetHwResources1::zeroed()
            .with(SetHwResources1::MES_KIQ_UNMAP_TIMEOUT, 3)
            .with(
                SetHwResources1::CLEANER_SHADER_FENCE_MC_ADDR,
                mc(CONTEXT + 16),
            );
        patience.0[0] = header(op::SET_HW_RSRC_1);
        assert_eq!(rig.submit(0, &patience.0, 2), 1);
        let p = Process::saving(&memory, 0x8001);
        let (copies, compute) = (Queue::new(&p, 0x1200, 16), Queue::new(&p, 0x1002, 16));
        rig.add(&compute);
        let (target, ring) = (p.alloc(4096), p.alloc(4096));
        Self {
            rig,
            memory,
            copies,
            compute,
            target,
            ring,
        }
    }

    /// Adds the copy queue, with a packet in its ring or without one.
    fn add(&mut self, packet: bool) {
        let p = &self.copies.process;
        if packet {
            // SDMA_OP_FENCE.
            let fence = [5, self.target as u32, (self.target >> 32) as u32, 7];
            p.put(self.ring, &bytes(&fence));
            p.put(self.copies.write_index(), &16u64.to_le_bytes());
        }
        let frame = add(&self.copies, self.ring);
        assert_eq!(
            self.rig.submit(0, &frame.0, 38),
            1,
            "{:?}",
            self.rig.lines()
        );
        let memory = self.memory.clone();
        memory.wait("the copy queue", || self.is_on_its_engine());
    }

    /// With a packet that never ends.
    fn hung() -> Self {
        let mut both = Self::new(&["at the 1st copy packet: hang"]);
        both.add(true);
        both.memory.wait("the packet", || {
            let state = both.memory.device.sdma.state(SLOT);
            // The engine has begun it, and stays with it.
            let rules = both.memory.device.soc.memory.rules().list();
            state.is_some_and(|state| state.busy) && rules[0].contains(" done 1:")
        });
        let hung = remove(&mut both.rig, &both.copies, 0);
        assert_eq!(hung, error(7, op::REMOVE_QUEUE, 0, 2));
        both
    }

    fn is_on_its_engine(&self) -> bool {
        self.memory.device.sdma.state(SLOT).is_some()
    }

    fn suspend(&mut self, which: u32) -> u64 {
        self.rig.submit(0, &frame(op::SUSPEND, &[(1, which)]), 8)
    }

    fn resume(&mut self) {
        assert_eq!(self.rig.submit(0, &frame(op::RESUME, &[(1, 1)]), 4), 1);
    }

    /// Where what RESET lists of that type differs from an empty array: the first doorbell, and the first place.
    fn detect(&mut self, kind: u32) -> [u32; 2] {
        // Four HQDs for compute and six for copies: two words for each.
        for at in (0..80).step_by(8) {
            self.rig.set(BUFFER + at, u64::MAX);
        }
        let mut frame = Reset::zeroed()
            .with(Reset::HANG_DETECT_ONLY, true)
            .with(Reset::QUEUE_TYPE, kind)
            .with(Reset::DOORBELL_OFFSET_ADDR, mc(BUFFER));
        frame.0[0] = header(op::RESET);
        assert_eq!(self.rig.submit(0, &frame.0, 28), 1);
        let words = self.memory.words(BUFFER, 20);
        let others = (0..20).filter(|n| ![0, 10].contains(n));
        assert!(others.into_iter().all(|n| words[n] == u32::MAX));
        [words[0], words[10]]
    }
}

#[test]
fn gangs_of_both_kinds_are_suspended_apart() {
    let mut both = Both::new(&[]);
    both.add(false);
    assert_eq!(both.suspend(COMPUTE), 1);
    assert!(!both.rig.is_active(HQDS[0]) && both.is_on_its_engine());
    both.resume();
    both.compute.add_vectors();
    assert_eq!(both.suspend(SDMA), 1);
    assert!(both.rig.is_active(HQDS[0]) && !both.is_on_its_engine());
    both.compute.add_vectors();
    assert_eq!(both.suspend(COMPUTE | SDMA), 1);
    assert!(!both.rig.is_active(HQDS[0]) && !both.is_on_its_engine());
    // RESUME has one bit for all.
    both.resume();
    both.compute.add_vectors();
    both.memory
        .wait("the copy queue", || both.is_on_its_engine());
    both.rig.clean();
}

/// What `amdgpu_gfx_reset_mes_compute` finds out about a copy queue: nothing. All compute gangs can be suspended, and
/// the queue stays.
#[test]
fn a_copy_queue_that_hangs_is_none_of_computes() {
    let mut both = Both::hung();
    assert_eq!(both.suspend(COMPUTE), 1);
    assert_eq!(both.detect(TYPES[0]), [u32::MAX; 2]);
    let again = remove(&mut both.rig, &both.copies, 0);
    assert_eq!(again, error(7, op::REMOVE_QUEUE, 0, 2));
    assert!(both.is_on_its_engine());
    both.resume();
    both.compute.add_vectors();
    both.rig.clean();
}

#[test]
fn a_copy_queue_that_hangs_is_found_and_reset_by_its_register() {
    let mut both = Both::hung();
    assert_eq!(both.suspend(SDMA), error(7, op::SUSPEND, 0, 2));
    // Type, engine and queue.
    let place = TYPES[1] | (u32::from(SLOT.engine) << 3) | (u32::from(SLOT.queue) << 7);
    assert_eq!(both.detect(TYPES[1]), [both.copies.bell, place]);
    // `mes_v12_0_reset_queue_mmio`.
    both.rig.gc("SDMA0_QUEUE_RESET_REQ", 1 << SLOT.queue);
    both.memory.wait("the reset", || {
        both.rig.read("SDMA0_QUEUE_RESET_REQ") == 0 && !both.is_on_its_engine()
    });
    assert_eq!(remove(&mut both.rig, &both.copies, 1 << 4), 1);
    both.resume();
    both.compute.add_vectors();
    both.rig.clean();
}

#[test]
fn a_copy_queue_that_hangs_is_reset_by_mes() {
    let mut both = Both::hung();
    let bell = both.copies.bell;
    let reset = frame(op::RESET, &[(1, 1), (4, bell), (8, TYPES[1])]);
    assert_eq!(both.rig.submit(0, &reset, 28), 1);
    assert!(!both.is_on_its_engine());
    assert_eq!(remove(&mut both.rig, &both.copies, 1 << 4), 1);
    // What the packet was to store is lost; the engine serves the next queue.
    let p = both.copies.process.clone();
    assert_eq!(p.u64(both.target), 0);
    both.add(true);
    both.memory.wait("the packet", || p.u64(both.target) == 7);
    both.rig.clean();
}
