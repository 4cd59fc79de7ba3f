// SPDX-License-Identifier: MIT OR Apache-2.0

//! User queues on MES: dispatches, turns, what frames do to queues while kernels run.

use crate::process::{Process, Queue};
use crate::queues::{interrupt, start, HQDS};
use crate::rig::*;
use rkfd_hw::mes::op;
use rkfd_hw::mes::v12::AddQueue;
use rkfd_hw::mqd::v12::ComputeMqd as Mqd;
use rkfd_hw::regs::gc_12_0_0::CP_HQD_PERSISTENT_STATE as STATE;
use rkfd_hw::regs::Value;
use std::time::Duration;

#[test]
fn vadd_from_the_doorbell_to_the_event() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 64);
    let signal = p.signal(42);
    let (packet, sums, expected) = p.vadd(100_000, 1, signal);
    rig.add(&q);
    assert!(rig.is_active(HQDS[0]));
    q.push(packet.0);
    p.wait(signal);
    assert!(p.words(sums, 100_000) == expected, "all sums are the CPU's");
    memory.wait("the read index", || p.u64(q.read_index()) == 1);
    assert_eq!(p.words(q.ring, 1)[0] as u16, 1, "the slot is free again");
    memory.wait("the mailbox", || p.u64(signal + 2048) == 42);
    // GRBM_CP, end of pipe; pipe 0, me 1, queue 2; the first VMID of the mask.
    let entry = (0x14, 181, 0x24, 8, 0x8001, [42, 0, 0, 0]);
    assert_eq!(interrupt(&memory, 0), entry);
    assert_eq!(rig.remove(&q, 0), 1);
    assert!(!rig.is_active(HQDS[0]));
    assert_eq!(q.image().get(Mqd::CP_MQD_READINDEX), 1);
    rig.clean();
}

#[test]
fn processes_have_their_own_memory() {
    let (mut rig, memory) = start();
    let all: Vec<_> = (0..2u16)
        .map(|n| {
            let p = Process::saving(&memory, 0x8001 + n);
            let q = Queue::new(&p, 0x1000 + 0x800 * u32::from(n), 16);
            rig.add(&q);
            (p, q)
        })
        .collect();
    let jobs: Vec<_> = all
        .iter()
        .map(|(p, q)| {
            let signal = p.signal(0);
            let (packet, sums, expected) = p.vadd(5000, u32::from(p.pasid), signal);
            q.push(packet.0);
            (p, signal, sums, expected)
        })
        .collect();
    // Their addresses are the same; so must not be what lies there.
    assert_eq!(jobs[0].2, jobs[1].2);
    assert_ne!(jobs[0].3, jobs[1].3);
    for (p, signal, sums, expected) in jobs {
        p.wait(signal);
        assert_eq!(p.words(sums, 5000), expected);
    }
    rig.clean();
}

/// Many queues, each rung again and again, in rounds that end before the next begins.
fn many(processes: u16, queues: u32, hears: bool) {
    let (mut rig, memory) = start();
    if !hears {
        rig.gc("CP_UNMAPPED_DOORBELL", 0xd00);
    }
    let mut all = Vec::new();
    for n in 0..processes {
        let p = Process::saving(&memory, 0x8001 + n);
        for k in 0..queues {
            let bell = 0x1000 + 0x800 * u32::from(n) + 2 * k;
            let q = Queue::new(&p, bell, 16);
            rig.add(&q);
            all.push((p.clone(), q));
        }
    }
    for round in 0..3 {
        let mut jobs = Vec::new();
        for (n, (p, q)) in all.iter().enumerate() {
            let signal = p.signal(0);
            let (packet, sums, expected) = p.vadd(256, round * 100 + n as u32, signal);
            q.push(packet.0);
            jobs.push((p.clone(), signal, sums, expected));
        }
        for (p, signal, sums, expected) in jobs {
            p.wait(signal);
            assert_eq!(p.words(sums, 256), expected);
        }
    }
    for (_, q) in &all {
        assert_eq!(rig.remove(q, 0), 1);
    }
    assert!(HQDS.iter().all(|hqd| !rig.is_active(*hqd)));
    rig.clean();
}

#[test]
fn more_queues_than_hqds_take_turns() {
    many(1, 12, true);
}

#[test]
fn more_processes_than_vmids_take_turns() {
    many(10, 1, true);
}

#[test]
fn without_unmapped_doorbells_queues_are_looked_at_in_turn() {
    many(2, 4, false);
}

#[test]
fn endless_kernels_share_the_hqds() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let all: Vec<_> = (0..6).map(|n| Queue::new(&p, 0x1000 + 2 * n, 16)).collect();
    let mut spins = Vec::new();
    for q in &all {
        rig.add(q);
        let signal = p.signal(0);
        let (packet, flag) = p.spin(signal);
        q.push(packet.0);
        spins.push((signal, flag));
    }
    // The last ones end although nobody before them does.
    for &(signal, flag) in spins.iter().rev() {
        memory.set_u64(p.at(flag), 1);
        p.wait(signal);
    }
    rig.clean();
}

#[test]
fn a_higher_level_does_not_wait_for_quanta() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let long = |q: &Queue| q.add().with(AddQueue::GANG_QUANTUM, 10_000_000_000);
    let mut spins = Vec::new();
    let busy: Vec<_> = (0..4).map(|n| Queue::new(&p, 0x1000 + 2 * n, 16)).collect();
    for q in &busy {
        assert_eq!(rig.submit(0, &long(q).0, 38), 1);
        let signal = p.signal(0);
        let (packet, flag) = p.spin(signal);
        q.push(packet.0);
        spins.push((signal, flag));
    }
    let q = Queue::new(&p, 0x1100, 16);
    let high = long(&q).with(AddQueue::GANG_GLOBAL_PRIORITY_LEVEL, 3);
    assert_eq!(rig.submit(0, &high.0, 38), 1);
    let signal = p.signal(0);
    let (packet, sums, expected) = p.vadd(300, 5, signal);
    q.push(packet.0);
    p.wait(signal);
    assert_eq!(p.words(sums, 300), expected);
    for (signal, flag) in spins {
        memory.set_u64(p.at(flag), 1);
        p.wait(signal);
    }
    rig.clean();
}

#[test]
fn a_removed_queue_goes_on_in_its_kernel_when_it_is_added_again() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    let signal = p.signal(0);
    let (packet, flag) = p.spin(signal);
    rig.add(&q);
    q.push(packet.0);
    p.begun(flag);
    assert_eq!(rig.remove(&q, 0), 1);
    assert!(!rig.is_active(HQDS[0]));
    let state = Value::<STATE>::new(q.image().get(Mqd::CP_HQD_PERSISTENT_STATE) as u32);
    assert_eq!(state.get(STATE::RELAUNCH_WAVES), 1);
    memory.set_u64(p.at(flag), 1);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(p.value(signal), 1, "it stands still");
    // Another process in between may get its VMID.
    let other = Process::saving(&memory, 0x8002);
    let second = Queue::new(&other, 0x1800, 16);
    rig.add(&second);
    rig.add(&q);
    p.wait(signal);
    assert_eq!(rig.remove(&q, 0), 1);
    assert_eq!(rig.remove(&second, 0), 1);
    rig.clean();
}

#[test]
fn a_gang_is_suspended_and_resumed() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let (q, other) = (Queue::new(&p, 0x1000, 16), Queue::new(&p, 0x1002, 16));
    rig.add(&q);
    rig.add(&other);
    let signal = p.signal(0);
    let (packet, flag) = p.spin(signal);
    q.push(packet.0);
    p.begun(flag);
    let (gang, fence) = (mc(q.gang), mc(BUFFER));
    rig.set(BUFFER, 0);
    let suspend = frame(
        op::SUSPEND,
        &[
            (2, gang as u32),
            (3, (gang >> 32) as u32),
            (4, fence as u32),
            (5, (fence >> 32) as u32),
            (6, 7),
        ],
    );
    assert_eq!(rig.submit(0, &suspend, 8), 1);
    assert_eq!(rig.value(BUFFER), 7);
    assert!(!rig.is_active(HQDS[0]) && rig.is_active(HQDS[1]));
    memory.set_u64(p.at(flag), 1);
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(p.value(signal), 1, "it stands still");
    // The other gang runs.
    other.add_vectors();
    let resume = frame(op::RESUME, &[(2, gang as u32), (3, (gang >> 32) as u32)]);
    assert_eq!(rig.submit(0, &resume, 4), 1);
    p.wait(signal);
    rig.clean();
}

#[test]
fn commands_in_an_aql_packet_are_gfx12_s() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 64);
    rig.add(&q);
    // ROCr's packet (`AqlQueue::ExecutePM4`).
    let push = |commands: &[u32]| {
        let at = p.new_words(commands);
        let mut packet = [0; 16];
        packet[0] = 1 << 16;
        packet[1] = 0xc002_3f00;
        packet[2] = at as u32;
        packet[3] = (at >> 32) as u32;
        packet[4] = commands.len() as u32 | (1 << 23);
        packet[5] = 10;
        q.push(packet);
    };
    // `GpuAgent::InvalidateCodeCaches`: GLI, GLK, GLV, GL1 and GL2.
    let gcr = 1 | (1 << 7) | (1 << 8) | (1 << 9) | (1 << 14);
    push(&[0xc006_5800, 0, u32::MAX, 0xff, 0, 0, 0, gcr]);
    memory.wait("the read index", || p.u64(q.read_index()) == 1);
    // `gfx_v12_0_emit_mem_sync`: more of COHER_SIZE_HI than the header's macro has.
    push(&[0xc006_5800, 0, u32::MAX, 0xff_ffff, 0, 0, 10, gcr]);
    memory.wait("the read index", || p.u64(q.read_index()) == 2);
    // `gfx_v12_0_ring_emit_fence`: 64 bits, with an interrupt.
    let at = p.alloc(4096);
    let (low, high) = (at as u32, (at >> 32) as u32);
    let event = 0x14 | (5 << 8) | (1 << 21) | (1 << 22) | (3 << 25);
    let select = (2 << 29) | (2 << 24);
    push(&[0xc006_4900, event, select, low, high, 7, 8, 21]);
    memory.wait("the fence", || p.u64(at) == 0x8_0000_0007);
    let entry = (0x14, 181, 0x24, 8, 0x8001, [21, 0, 0, 0]);
    assert_eq!(interrupt(&memory, 0), entry);
    rig.clean();
    // The packet of gfx9.
    push(&[0xc005_5800, 1 << 29, u32::MAX, 0xff, 0, 0, 0]);
    memory.wait("a violation", || {
        rig.lines()
            .iter()
            .any(|line| line.contains("ACQUIRE_MEM of 7 words"))
    });
    assert_eq!(interrupt(&memory, 1).1, 183, "CP_BAD_OPCODE");
}
