// SPDX-License-Identifier: MIT OR Apache-2.0

//! What belongs to a program, and is wrong: ADD_QUEUE succeeds, since its frame is right, and so does
//! REMOVE_QUEUE; the driver is not to blame, and other queues go on.

use crate::copies;
use crate::process::{Process, Queue};
use crate::queues::start;
use crate::rig::*;
use rkfd_hw::mes::v12::SetHwResources;
use rkfd_hw::mqd::v12::ComputeMqd;

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
    let (mut rig, memory) = start();
    // Queues of the first copy engine, besides what the rig has given MES.
    let resources = Rig::resources(0).with(SetHwResources::SDMA_HQD_MASK_0, 0xfc);
    assert_eq!(rig.submit(0, &resources.0, 50), 1);
    let p = Process::saving(&memory, 0x8001);
    let (bad, good) = (Queue::new(&p, 0x1200, 16), Queue::new(&p, 0x1002, 16));
    rig.add(&good);
    // No queue gets this far.
    p.put(bad.write_index(), &0x1234_5678_9abcu64.to_le_bytes());
    let frame = copies::add(&bad, p.alloc(4096));
    assert_eq!(rig.submit(0, &frame.0, 38), 1, "{:?}", rig.lines());
    rig.guest.expect_fault(
        "SDMA: a write pointer in memory is inside a word, or more than a ring ahead",
    );
    good.add_vectors();
    assert_eq!(copies::remove(&mut rig, &bad, 0), 1);
    assert_eq!(rig.guest.device.soc.report.violations(), 0);
}
