// SPDX-License-Identifier: MIT OR Apache-2.0

//! Priority levels: their doorbells, and gangs that change theirs.

use crate::process::{Process, Queue};
use crate::queues::start;
use crate::rig::*;
use rkfd_hw::mes::v12::{AddQueue, ChangeGangPriority, SetHwResources as R};
use rkfd_hw::mes::{header, op};
use std::rc::Rc;
use std::time::Duration;

/// Four queues whose kernels keep all HQDs busy, and what ends them: signals and flags.
fn busy(rig: &mut Rig, p: &Rc<Process>, quantum: u64) -> (Vec<Queue>, Vec<(u64, u64)>) {
    let queues: Vec<_> = (0..4).map(|n| Queue::new(p, 0x1000 + 2 * n, 16)).collect();
    let mut spins = Vec::new();
    for q in &queues {
        let frame = q.add().with(AddQueue::GANG_QUANTUM, quantum);
        assert_eq!(rig.submit(0, &frame.0, 38), 1);
        let signal = p.signal(0);
        let (packet, flag) = p.spin(signal);
        q.push(packet.0);
        spins.push((signal, flag));
    }
    (queues, spins)
}

fn end(p: &Process, spins: Vec<(u64, u64)>) {
    for (signal, flag) in spins {
        p.memory.set_u64(p.at(flag), 1);
        p.wait(signal);
    }
}

#[test]
fn a_level_s_doorbell_tells_of_work_of_its_queues() {
    let (mut rig, memory) = start();
    // `mes_v12_0_init_aggregated_doorbell`: level n rings at word 0x400 + 2n.
    let mut resources = Rig::resources(0);
    for level in 0..5u32 {
        let bell = 0x400 + 2 * level;
        resources.0[R::AGGREGATED_DOORBELLS_0.word() + level as usize] = bell;
        let name = format!("CP_MES_DOORBELL_CONTROL{}", level + 1);
        rig.gc(&name, (1 << 30) | (bell << 2));
    }
    assert_eq!(rig.submit(0, &resources.0, 50), 1);
    let p = Process::saving(&memory, 0x8001);
    let (_queues, spins) = busy(&mut rig, &p, 10_000);
    let q = Queue::new(&p, 0x1100, 16);
    rig.add(&q);
    // It gets its turn, has nothing to do, and waits for a doorbell from then on.
    std::thread::sleep(Duration::from_secs(1));
    let signal = p.signal(0);
    let (packet, sums, expected) = p.vadd(300, 5, signal);
    q.write(packet.0);
    let bells = &memory.device.soc.doorbells;
    // The queue's level is 1.
    bells.store(0x404, 1);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(p.value(signal), 1, "nothing has announced the work");
    bells.store(0x402, 1);
    p.wait(signal);
    assert_eq!(p.words(sums, 300), expected);
    end(&p, spins);
    rig.clean();
}

#[test]
fn a_gang_that_rises_does_not_wait_for_quanta() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    // 1,000 seconds.
    let quantum = 10_000_000_000;
    let (_queues, spins) = busy(&mut rig, &p, quantum);
    let q = Queue::new(&p, 0x1100, 16);
    let frame = q.add().with(AddQueue::GANG_QUANTUM, quantum);
    assert_eq!(rig.submit(0, &frame.0, 38), 1);
    let signal = p.signal(0);
    let (packet, sums, expected) = p.vadd(300, 5, signal);
    q.push(packet.0);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(p.value(signal), 1, "it waits for its turn");
    let rise = |gang: u64, level: u32| {
        let mut frame = ChangeGangPriority::zeroed()
            .with(ChangeGangPriority::INPROCESS_GANG_PRIORITY, 1)
            .with(ChangeGangPriority::GANG_GLOBAL_PRIORITY_LEVEL, level)
            .with(ChangeGangPriority::GANG_QUANTUM, quantum)
            .with(ChangeGangPriority::GANG_CONTEXT_ADDR, gang);
        frame.0[0] = header(op::CHANGE_GANG_PRIORITY);
        frame.0
    };
    assert_eq!(rig.submit(0, &rise(mc(q.gang), 3), 8), 1);
    p.wait(signal);
    assert_eq!(p.words(sums, 300), expected);
    end(&p, spins);
    rig.clean();
    let status = rig.submit(0, &rise(mc(q.gang), 5), 8);
    assert_eq!(status, error(2, op::CHANGE_GANG_PRIORITY, 0, 1));
    rig.guest.expect_violation("a priority level beyond 4");
    let status = rig.submit(0, &rise(mc(BUFFER), 1), 8);
    assert_eq!(status, error(4, op::CHANGE_GANG_PRIORITY, 0, 1));
}

/// `gfx_v12_0_cp_compute_enable`: MEC_HALT is bit 30 of CP_MEC_RS64_CNTL.
#[test]
fn a_halted_engine_takes_no_packet() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    let running = rig.read("CP_MEC_RS64_CNTL");
    rig.gc("CP_MEC_RS64_CNTL", running | (1 << 30));
    let signal = p.signal(0);
    let (packet, ..) = p.vadd(300, 5, signal);
    q.push(packet.0);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(p.value(signal), 1);
    rig.gc("CP_MEC_RS64_CNTL", running);
    p.wait(signal);
    assert_eq!(rig.guest.findings(), [""; 0]);
}
