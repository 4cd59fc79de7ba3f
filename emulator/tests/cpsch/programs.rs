// SPDX-License-Identifier: MIT OR Apache-2.0

//! What belongs to a program, and is wrong: that is recorded as the program's fault, the driver is not
//! to blame, and other queues go on.

use crate::dispatches::vadd;
use crate::preemption::{begun, spin};
use crate::queues::*;
use crate::rig::Rig;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;

type Spoil = fn(&mut Mqd);

/// Values that `kfd_ioctl_create_queue`, `kfd_ioctl_update_queue` and `kfd_ioctl_set_cu_mask` take from
/// programs and `update_mqd` of `kfd_mqd_manager_v9.c` copies as they are.
const VALUES: [(&str, Spoil); 8] = [
    ("COMPUTE_STATIC_THREAD_MGMT allows no compute unit", |m| {
        [23, 24, 26, 27].iter().for_each(|&w| m.0[w] = 0)
    }),
    (
        "CP_HQD_EOP_CONTROL.EOP_SIZE and CP_HQD_EOP_BASE_ADDR: one without the other",
        |m| m.0[167] = 9,
    ),
    (
        "CP_HQD_EOP_CONTROL.EOP_SIZE and CP_HQD_EOP_BASE_ADDR: one without the other",
        |m| m.0[165] = 0x1000,
    ),
    ("an AQL queue has no CP_HQD_PQ_RPTR_REPORT_ADDR", |m| {
        m.0[139..141].fill(0)
    }),
    (
        "CP_HQD_PQ_RPTR_REPORT_ADDR of an AQL queue is not a multiple of 8",
        |m| m.0[139] += 4,
    ),
    ("that the register lacks", |m| m.0[139] += 1),
    ("that the register lacks", |m| m.0[172] += 8),
    ("CP_HQD_PQ_RPTR is beyond the ring", |m| m.0[138] = 16),
];

/// A dispatch on another queue of the process gives right results.
fn works(p: &Process<'_>, q: &Queue<'_>, seed: u32) {
    let signal = p.signal(0);
    let (packet, sums, expected) = vadd(p, 256, seed, signal);
    q.push(packet.0);
    p.wait(signal);
    assert_eq!(p.words(sums, 256), expected);
}

#[test]
fn a_programs_value_in_an_mqd_costs_it_that_queue() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let (bad, good) = (Queue::new(&p, 0x800, 16), Queue::new(&p, 0x802, 16));
    let image = bad.image();
    for (seed, (what, spoil)) in (1..).zip(VALUES) {
        let mut m = image;
        spoil(&mut m);
        rig.put_words(bad.mqd, &m.0);
        run(&rig, &[(&p, &[&bad, &good])]);
        rig.faulted(what);
        works(&p, &good, seed);
        rig.unmap();
        rig.fence();
    }
    rig.driver_is_right();
}

#[test]
fn a_target_xcc_that_is_not_there_takes_no_packets() {
    let rig = Rig::spx();
    let p = Process::saving(&rig, 0x8001);
    let (bad, good) = (Queue::pm4(&p, 0x800, 1024), Queue::new(&p, 0x802, 16));
    bad.change(|m| m.set(Mqd::PM4_TARGET_XCC_IN_XCP, 90));
    run(&rig, &[(&p, &[&bad, &good])]);
    rig.faulted("PM4_TARGET_XCC_IN_XCP is 90, and there are 4 XCCs");
    works(&p, &good, 1);
    rig.unmap();
    rig.fence();
    rig.driver_is_right();
}

#[test]
fn a_doorbell_beyond_the_ring_moves_nothing() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let (bad, good) = (Queue::new(&p, 0x800, 16), Queue::new(&p, 0x802, 16));
    run(&rig, &[(&p, &[&bad, &good])]);
    rig.ring_bell(bad.bell, 9999);
    rig.faulted("doorbell 0x800 of a program's queue has 0x270f, more than a ring ahead");
    works(&p, &good, 1);
    works(&p, &bad, 2);
    rig.driver_is_right();
}

#[test]
fn a_save_area_that_its_program_overwrites_loses_the_waves() {
    // What the packet processor keeps: how many words, then two of what the first packet's are. Of these its number and
    // kind, and six numbers of 64 bits, of which one says how many instructions were executed. Then its work-group's place, and
    // its wave's number.
    let cases = [
        (0, u32::MAX),
        (2, u32::MAX),
        (3, 1),
        (4, 77),
        (14, u32::MAX),
        (19, u32::MAX),
        (24, u32::MAX),
    ];
    for (word, value) in cases {
        let rig = Rig::new();
        let p = Process::saving(&rig, 0x8001);
        let (bad, good) = (Queue::new(&p, 0x800, 16), Queue::new(&p, 0x802, 16));
        let (packet, flag) = spin(&p, p.signal(0));
        run(&rig, &[(&p, &[&bad, &good])]);
        bad.push(packet.0);
        begun(&p, flag);
        rig.unmap();
        rig.fence();
        let m = bad.image();
        let area = m.get(Mqd::CP_HQD_CTX_SAVE_BASE_ADDR);
        // It lies behind the states of the waves.
        let behind = area + m.get(Mqd::CP_HQD_WG_STATE_OFFSET) + word * 4;
        rig.put_words(p.at(behind), &[value]);
        run(&rig, &[(&p, &[&bad, &good])]);
        rig.faulted("the context save area does not hold what was saved there");
        works(&p, &good, 1);
        rig.driver_is_right();
    }
}

#[test]
fn a_write_pointer_that_its_program_has_not_mapped_is_its_fault() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let (bad, good) = (Queue::new(&p, 0x800, 16), Queue::new(&p, 0x802, 16));
    p.map_page(bad.page, p.at(bad.page), 0);
    run(&rig, &[(&p, &[&bad, &good])]);
    rig.faulted("write pointer of a queue: Gfx hub VMID 3: Read of");
    works(&p, &good, 1);
    rig.driver_is_right();
}
