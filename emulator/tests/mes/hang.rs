// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queues that do not leave their HQDs: how MES finds them, and what ends them.

use crate::process::{Memory, Process, Queue};
use crate::queues::{start, start_with, HQDS};
use crate::rig::*;
use rkfd_hw::mes::v12::{Reset, SetHwResources1};
use rkfd_hw::mes::{header, op};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A rig whose MES waits 300 ms for a queue, and a queue that never leaves by itself.
fn hung() -> (Rig, Rc<Memory>, Queue, Queue) {
    let (mut rig, memory) = start();
    let mut patience = SetHwResources1::zeroed()
        .with(SetHwResources1::MES_KIQ_UNMAP_TIMEOUT, 3)
        .with(
            SetHwResources1::CLEANER_SHADER_FENCE_MC_ADDR,
            mc(CONTEXT + 16),
        );
    patience.0[0] = header(op::SET_HW_RSRC_1);
    assert_eq!(rig.submit(0, &patience.0, 2), 1);
    let p = Process::saving(&memory, 0x8001);
    let (q, other) = (Queue::new(&p, 0x1000, 16), Queue::new(&p, 0x1002, 16));
    q.cannot_save();
    rig.add(&other);
    rig.add(&q);
    let (packet, flag) = p.spin(p.signal(0));
    q.push(packet.0);
    p.begun(flag);
    // Unmap timed out: the failure is the hardware's, and no mistake of the driver.
    let asked = Instant::now();
    assert_eq!(rig.remove(&q, 0), error(7, op::REMOVE_QUEUE, 0, 2));
    assert!(asked.elapsed() >= Duration::from_millis(300));
    let all = frame(op::SUSPEND, &[(1, 1)]);
    assert_eq!(rig.submit(0, &all, 8), error(7, op::SUSPEND, 0, 2));
    assert!(!rig.is_active(HQDS[0]) && rig.is_active(HQDS[1]));
    rig.clean();
    (rig, memory, q, other)
}

/// No queue is in the list.
fn empty_list(rig: &Rig) {
    for at in [0, 8] {
        rig.set(BUFFER + at, u64::MAX);
    }
}

/// hang_detect_only, as `mes_v12_0_detect_and_reset_hung_queues`.
fn detect(field: rkfd_hw::layout::Field<Reset, 1>) -> Reset {
    let mut frame = Reset::zeroed()
        .with(field, true)
        .with(Reset::QUEUE_TYPE, 1)
        .with(Reset::DOORBELL_OFFSET_ADDR, mc(BUFFER));
    frame.0[0] = header(op::RESET);
    frame
}

/// `mes_v12_0_reset_queue_mmio`: whether the queue ends.
fn reset_by_registers(rig: &Rig, (pipe, queue): (u32, u32)) -> bool {
    rig.gc("GRBM_GFX_CNTL", (1 << 2) | pipe | (queue << 8));
    rig.gc("CP_HQD_DEQUEUE_REQUEST", 2);
    rig.gc("SPI_COMPUTE_QUEUE_RESET", 1);
    let until = Instant::now() + Duration::from_secs(5);
    let mut active = true;
    while active && Instant::now() < until {
        active = rig.read("CP_HQD_ACTIVE") & 1 == 1;
    }
    rig.gc("GRBM_GFX_CNTL", 0);
    !active
}

fn resume_all(rig: &mut Rig, other: &Queue) {
    assert_eq!(rig.submit(0, &frame(op::RESUME, &[(1, 1)]), 4), 1);
    other.add_vectors();
    rig.clean();
}

#[test]
fn a_hung_queue_is_found_and_reset_by_mes() {
    let (mut rig, memory, q, other) = hung();
    for at in (0..64).step_by(8) {
        rig.set(BUFFER + at, u64::MAX);
    }
    assert_eq!(rig.submit(0, &detect(Reset::HANG_DETECT_ONLY).0, 28), 1);
    // One doorbell; at the place of four HQDs, which the masks name: compute, pipe 0, queue 3.
    let mut expected = vec![u32::MAX; 8];
    expected[0] = q.bell;
    expected[4] = 1 | (3 << 7);
    assert_eq!(memory.words(BUFFER, 8), expected);
    assert!(rig.is_active(HQDS[1]));
    let reset = frame(op::RESET, &[(1, 1), (4, q.bell), (8, 1)]);
    assert_eq!(rig.submit(0, &reset, 28), 1);
    assert!(!rig.is_active(HQDS[1]));
    // remove_queue_after_reset.
    assert_eq!(rig.remove(&q, 1 << 4), 1);
    resume_all(&mut rig, &other);
    assert_eq!(rig.remove(&q, 0), error(4, op::REMOVE_QUEUE, 0, 1));
}

#[test]
fn a_hung_queue_is_reset_in_one_go() {
    let (mut rig, memory, q, other) = hung();
    empty_list(&rig);
    let frame = detect(Reset::HANG_DETECT_THEN_RESET);
    assert_eq!(rig.submit(0, &frame.0, 28), 1);
    assert_eq!(memory.words(BUFFER, 2), [q.bell, u32::MAX]);
    assert!(!rig.is_active(HQDS[1]));
    assert_eq!(rig.remove(&q, 1 << 4), 1);
    resume_all(&mut rig, &other);
}

#[test]
fn a_hung_queue_is_reset_by_registers() {
    let (mut rig, _memory, q, other) = hung();
    assert!(reset_by_registers(&rig, HQDS[1]));
    assert_eq!(rig.remove(&q, 1 << 4), 1);
    resume_all(&mut rig, &other);
}

/// As long as Linux waits for a halt or a reset (`gfx_v9_4_3_soft_reset`).
fn settle() {
    std::thread::sleep(std::time::Duration::from_micros(50));
}

/// As `gfx_v11_0_soft_reset`.
#[test]
fn a_soft_reset_ends_a_hung_queue_with_mes() {
    const CP: u32 = 1 | (0xf << 16);
    const HALT: u32 = rkfd_hw::regs::gc_12_0_0::CP_MEC_RS64_CNTL::MEC_HALT.mask();
    let (rig, _memory, _q, _other) = hung();
    rig.gc("GRBM_SOFT_RESET", CP);
    rig.guest
        .expect_violation("the command processor is reset while its micro engine runs queues");
    rig.gc("CP_MEC_RS64_CNTL", HALT);
    settle();
    rig.gc("GRBM_SOFT_RESET", CP);
    settle();
    assert_eq!(rig.read("GRBM_SOFT_RESET"), CP);
    assert!(!rig.is_active(HQDS[1]));
    rig.gc("GRBM_SOFT_RESET", 0);
    // MES has forgotten its rings, and takes new ones.
    rig.enable();
    rig.kernel_ring();
    rig.gc("GRBM_SOFT_RESET", 1);
    rig.guest
        .expect_violation("only a reset of all of CP with GFX, and of SDMA, is modelled");
}

#[test]
fn a_queue_that_was_not_reset_is_not_forgotten() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    assert_eq!(rig.remove(&q, 1 << 4), error(3, op::REMOVE_QUEUE, 0, 1));
    rig.guest.expect_violation("the queue was not reset");
}

#[test]
fn a_reset_without_a_hang_finds_none_and_queues_go_on() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    let signal = p.signal(0);
    let (packet, flag) = p.spin(signal);
    q.push(packet.0);
    p.begun(flag);
    empty_list(&rig);
    let frame = detect(Reset::HANG_DETECT_THEN_RESET);
    assert_eq!(rig.submit(0, &frame.0, 28), 1);
    assert_eq!(rig.value(BUFFER), u64::MAX);
    memory.set_u64(p.at(flag), 1);
    p.wait(signal);
    rig.clean();
}

/// `mes_v12_0_reset_queue_mmio` does both.
#[test]
fn a_hung_queue_ends_when_it_is_asked_to_leave_and_its_waves_are_reset() {
    let (rig, _memory, _q, _other) = hung();
    let (pipe, queue) = HQDS[1];
    for (name, value) in [
        ("SPI_COMPUTE_QUEUE_RESET", 1),
        ("CP_HQD_DEQUEUE_REQUEST", 2),
    ] {
        rig.gc("GRBM_GFX_CNTL", (1 << 2) | pipe | (queue << 8));
        rig.gc(name, value);
        std::thread::sleep(Duration::from_millis(200));
        assert!(rig.is_active(HQDS[1]));
    }
    assert!(reset_by_registers(&rig, HQDS[1]));
}

#[test]
fn a_rules_hang_ends_with_a_reset() {
    let (mut rig, memory) = start_with(&["at the 1st queue stop of queue 1: hang"]);
    let p = Process::saving(&memory, 0x8001);
    let (q, other) = (Queue::new(&p, 0x1000, 16), Queue::new(&p, 0x1002, 16));
    rig.add(&q);
    rig.add(&other);
    assert_eq!(rig.remove(&q, 0), error(7, op::REMOVE_QUEUE, 0, 2));
    empty_list(&rig);
    assert_eq!(rig.submit(0, &detect(Reset::HANG_DETECT_ONLY).0, 28), 1);
    assert_eq!(memory.words(BUFFER, 2), [q.bell, u32::MAX]);
    let reset = frame(op::RESET, &[(1, 1), (4, q.bell), (8, 1)]);
    assert_eq!(rig.submit(0, &reset, 28), 1);
    assert_eq!(rig.remove(&q, 1 << 4), 1);
    // The one after it leaves.
    resume_all(&mut rig, &other);
    assert_eq!(rig.remove(&other, 0), 1);
    rig.add(&q);
    assert_eq!(rig.remove(&q, 0), 1);
}

#[test]
fn a_wedged_queue_ends_with_its_pipe() {
    let (mut rig, memory) = start_with(&["at the 1st queue stop of queue 1: wedge"]);
    let p = Process::saving(&memory, 0x8001);
    let (q, other) = (Queue::new(&p, 0x1000, 16), Queue::new(&p, 0x1002, 16));
    rig.add(&q);
    rig.add(&other);
    let signal = p.signal(0);
    let (packet, flag) = p.spin(signal);
    other.push(packet.0);
    p.begun(flag);
    let all = frame(op::SUSPEND, &[(1, 1)]);
    assert_eq!(rig.submit(0, &all, 8), error(7, op::SUSPEND, 0, 2));
    assert!(!reset_by_registers(&rig, HQDS[0]));
    let reset = frame(op::RESET, &[(1, 1), (4, q.bell), (8, 1)]);
    assert_eq!(rig.submit(0, &reset, 28), error(7, op::RESET, 0, 2));
    // `mes_v12_0_reset_compute_pipe_mmio`.
    let running = rig.read("CP_MEC_RS64_CNTL");
    rig.gc("CP_MEC_RS64_CNTL", running | (1 << 16));
    for queue in 0..4 {
        rig.gc("GRBM_GFX_CNTL", (1 << 2) | (queue << 8));
        rig.gc("CP_HQD_ACTIVE", 0);
        rig.gc("CP_HQD_DEQUEUE_REQUEST", 0);
    }
    rig.gc("GRBM_GFX_CNTL", 0);
    rig.gc("CP_MEC_RS64_CNTL", running);
    assert!(!rig.is_active(HQDS[0]));
    assert_eq!(rig.remove(&q, 1 << 4), 1);
    // The other one stood still meanwhile, and goes on.
    assert_eq!(p.value(signal), 1);
    memory.set_u64(p.at(flag), 1);
    resume_all(&mut rig, &other);
    p.wait(signal);
}

#[test]
fn the_first_queue_is_refused_by_a_rule() {
    let (mut rig, memory) = start_with(&["at the 1st ADD_QUEUE: fail"]);
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    assert_eq!(
        rig.submit(0, &q.add().0, 38),
        error(0xff, op::ADD_QUEUE, 0, 2)
    );
    rig.add(&q);
    rig.clean();
}
