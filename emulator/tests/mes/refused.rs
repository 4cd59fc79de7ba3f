// SPDX-License-Identifier: MIT OR Apache-2.0

//! Frames that must not be: what ADD_QUEUE refuses.

use crate::process::{Process, Queue};
use crate::queues::start;
use crate::rig::*;
use rkfd_hw::mes::op;
use rkfd_hw::mes::v12::AddQueue;
use rkfd_hw::mqd::v12::ComputeMqd as Mqd;

#[test]
fn what_add_queue_must_not_say() {
    use AddQueue as A;
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    let second = Queue::new(&p, 0x1002, 16);
    let good = second.add();
    let other = Process::saving(&memory, 0x8002);
    // VMID 0 has nothing there.
    let nowhere = 0x100_0000;
    for (frame, code, what) in [
        (
            good.with(A::QUEUE_TYPE, 0),
            5,
            "neither computes nor copies",
        ),
        (
            good.with(A::EXCLUSIVELY_SCHEDULED, true),
            5,
            "exclusively_scheduled",
        ),
        (good.with(A::QUEUE_TYPE, 2), 5, "copies by AQL"),
        (good.with(A::IS_AQL_QUEUE, false), 2, "without is_aql_queue"),
        (good.with(A::PROCESS_ID, 0), 2, "process id 0"),
        (
            good.with(A::PAGE_TABLE_BASE_ADDR, p.root),
            2,
            "base is not valid",
        ),
        (good.with(A::PROCESS_VA_END, 0), 2, "process_va_start"),
        (
            good.with(A::VM_CONTEXT_CNTL, 0),
            2,
            "does not enable the context",
        ),
        (good.with(A::GANG_GLOBAL_PRIORITY_LEVEL, 5), 2, "beyond 4"),
        (
            good.with(A::PROCESS_CONTEXT_ADDR, nowhere),
            6,
            "process_context_addr",
        ),
        (
            good.with(A::PROCESS_CONTEXT_ADDR, 0),
            2,
            "process_context_addr is 0",
        ),
        (
            good.with(A::GANG_CONTEXT_ADDR, nowhere),
            6,
            "gang_context_addr",
        ),
        (
            good.with(A::GANG_CONTEXT_ADDR, mc(p.context)),
            2,
            "that of a process",
        ),
        (
            good.with(A::PROCESS_CONTEXT_ADDR, mc(other.context)),
            2,
            "the process has another context",
        ),
        (
            good.with(A::PROCESS_ID, 0x8002),
            2,
            "that of another process",
        ),
        (good.with(A::MQD_ADDR, nowhere), 6, "the MQD"),
        (
            good.with(A::MQD_ADDR, mc(q.mqd)),
            2,
            "the MQD is that of another",
        ),
        (
            good.with(A::DOORBELL_OFFSET, q.bell),
            2,
            "the doorbell is that",
        ),
        (
            good.with(A::DOORBELL_OFFSET, 0x1004),
            2,
            "but 0x1002 in the MQD",
        ),
        (good.with(A::KFD_QUEUE_SIZE, 16), 2, "kfd_queue_size"),
        (good.with(A::WPTR_ADDR, nowhere + 0x38), 6, "wptr_addr"),
        (
            good.with(A::WPTR_ADDR, mc(p.at(second.page))),
            2,
            "in its page",
        ),
    ] {
        let category = if code == 5 { 2 } else { 1 };
        let status = rig.submit(0, &frame.0, 38);
        assert_eq!(status, error(code, op::ADD_QUEUE, 0, category), "{what}");
        rig.guest.expect_violation(what);
    }
    // An MQD that `kfd_mqd_manager_v12.c` would not write.
    let fresh = second.fresh();
    for (mqd, what) in [
        (fresh.with(Mqd::HEADER, 0), "header"),
        (
            fresh.with(Mqd::CP_HQD_VMID, 8),
            "which the scheduler chooses",
        ),
        (fresh.with(Mqd::COMPUTE_VMID, 8), "COMPUTE_VMID is set"),
        (
            fresh.with(Mqd::CP_HQD_PERSISTENT_STATE, 1 | (0x53 << 8)),
            "PRELOAD_SIZE is not 0x55",
        ),
        (fresh.with(Mqd::CP_HQD_EOP_CONTROL, 0xb), "above 0xa"),
    ] {
        second.set_mqd(&mqd);
        let status = rig.submit(0, &good.0, 38);
        assert_eq!(status, error(2, op::ADD_QUEUE, 0, 1), "{what}");
        rig.guest.expect_violation(what);
    }
    // None of it has changed anything: the good frame is good, but not twice.
    second.set_mqd(&fresh);
    assert_eq!(rig.submit(0, &good.0, 38), 1);
    assert_eq!(rig.submit(0, &good.0, 38), error(2, op::ADD_QUEUE, 0, 1));
    assert_eq!(rig.submit(1, &good.0, 38), error(2, op::ADD_QUEUE, 0, 1));
}

/// `gfx_v12_0_ring_set_wptr_compute` and its kin store the pointer, then ring.
#[test]
fn the_write_pointer_is_in_memory_before_its_doorbell() {
    let (mut rig, _memory) = start();
    let before = rig.wptr[0];
    rig.append(0, &query(FENCE, 7).0);
    rig.guest
        .device
        .soc
        .doorbells
        .store(DOORBELL[0], rig.wptr[0]);
    rig.wait(FENCE, 7);
    assert_eq!(rig.value(WPTR[0]), before);
    rig.guest
        .expect_violation("which its write pointer in memory has not reached");
}
