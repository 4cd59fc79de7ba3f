// SPDX-License-Identifier: MIT OR Apache-2.0

//! What belongs to a program, and is wrong: ADD_QUEUE succeeds, since its frame is right, and so does
//! REMOVE_QUEUE; the driver is not to blame, and other queues go on.

use crate::process::{Process, Queue};
use crate::queues::start;
use crate::rig::*;
use rkfd_emulator_testkit::packets::bytes;
use rkfd_hw::mes::op;
use rkfd_hw::mes::v12::{AddQueue, SetHwResources};
use rkfd_hw::mqd::v12::{ComputeMqd, SdmaMqd};

type Spoil = fn(&mut ComputeMqd);

#[test]
fn a_programs_value_in_an_mqd_costs_it_that_queue() {
    use ComputeMqd as M;
    // What `kfd_ioctl_set_cu_mask` and `kfd_ioctl_create_queue` take from programs and
    // `kfd_mqd_manager_v12.c` copies as it is.
    let cases: [(&str, Spoil); 3] = [
        ("COMPUTE_STATIC_THREAD_MGMT allows no compute unit", |m| {
            [23, 24, 26, 27].iter().for_each(|&w| m.0[w] = 0)
        }),
        (
            "EOP_SIZE and CP_HQD_EOP_BASE_ADDR: one without the other",
            |m| m.set(M::CP_HQD_EOP_CONTROL, 9),
        ),
        ("RPTR_REPORT_ADDR of an AQL queue is not a multiple", |m| {
            m.set(
                M::CP_HQD_PQ_RPTR_REPORT_ADDR,
                m.get(M::CP_HQD_PQ_RPTR_REPORT_ADDR) + 4,
            )
        }),
    ];
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let (bad, good) = (Queue::new(&p, 0x1000, 16), Queue::new(&p, 0x1002, 16));
    rig.add(&good);
    for (what, spoil) in cases {
        let mut m = bad.fresh();
        spoil(&mut m);
        bad.set_mqd(&m);
        rig.add(&bad);
        memory.wait(what, || rig.lines().iter().any(|line| line.contains(what)));
        rig.guest.expect_fault(what);
        good.add_vectors();
        assert_eq!(rig.remove(&bad, 0), 1);
    }
    assert_eq!(rig.guest.device.soc.report.violations(), 0);
}

#[test]
fn a_write_pointer_in_memory_is_no_reason_to_refuse_a_copy_queue() {
    use SdmaMqd as M;
    let (mut rig, memory) = start();
    // Queues of the first copy engine, besides what the rig has given MES.
    let resources = Rig::resources(0).with(SetHwResources::SDMA_HQD_MASK_0, 0xfc);
    assert_eq!(rig.submit(0, &resources.0, 50), 1);
    let p = Process::saving(&memory, 0x8001);
    let (bad, good) = (Queue::new(&p, 0x1200, 16), Queue::new(&p, 0x1002, 16));
    rig.add(&good);
    // A ring of 1024 words on queue 2 of the first engine; no queue gets this far.
    let control = (10 << 1) | (1 << 12) | (6 << 16) | (1 << 11);
    let ring = p.alloc(4096) >> 8;
    let mut m = [0; 128];
    for (word, value) in [
        (M::SDMAX_RLCX_RB_CNTL.word(), control),
        (M::SDMAX_RLCX_RB_BASE.word(), ring as u32),
        (M::SDMAX_RLCX_RB_BASE.word() + 1, (ring >> 32) as u32),
        (
            M::SDMAX_RLCX_RB_WPTR_POLL_ADDR.word(),
            bad.write_index() as u32,
        ),
        (
            M::SDMAX_RLCX_RB_WPTR_POLL_ADDR.word() + 1,
            (bad.write_index() >> 32) as u32,
        ),
        (M::SDMAX_RLCX_DOORBELL_OFFSET.word(), bad.bell << 2),
        (M::SDMAX_RLCX_SCHED_CNTL.word(), 32 << 8),
        (M::SDMAX_RLCX_DUMMY_REG.word(), 0xf),
        (M::SDMAX_RLCX_IB_CNTL.word(), 0x100),
        (127, 2),
    ] {
        m[word] = value;
    }
    memory.put(bad.mqd, &bytes(&m));
    memory.put(bad.mqd + 512, &[0; 2048 - 512]);
    p.put(bad.write_index(), &0x1234_5678_9abcu64.to_le_bytes());
    let frame = bad.add().with(AddQueue::QUEUE_TYPE, 2);
    let frame = frame.with(AddQueue::IS_AQL_QUEUE, false);
    let frame = frame.with(AddQueue::KFD_QUEUE_SIZE, 1024);
    assert_eq!(rig.submit(0, &frame.0, 38), 1, "{:?}", rig.lines());
    rig.guest.expect_fault(
        "SDMA: a write pointer in memory is inside a word, or more than a ring ahead",
    );
    good.add_vectors();
    let gang = mc(bad.gang);
    let fields = [
        (1, bad.bell),
        (2, gang as u32),
        (3, (gang >> 32) as u32),
        (15, 2),
    ];
    assert_eq!(
        rig.submit(0, &crate::rig::frame(op::REMOVE_QUEUE, &fields), 6),
        1
    );
    assert_eq!(rig.guest.device.soc.report.violations(), 0);
}
