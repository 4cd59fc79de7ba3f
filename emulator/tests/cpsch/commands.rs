// SPDX-License-Identifier: MIT OR Apache-2.0

//! PM4 queues: registers, dispatches, ends of pipe, indirect buffers. Registers are numbered as
//! Linux's `gc_9_4_3_offset.h` has them, less SET_SH_REG's first.

use crate::dispatches::vadd;
use crate::preemption::spin;
use crate::queues::*;
use crate::rig::Rig;
use crate::vendor::{halves, packet3, release, wait, write};
use rkfd_hw::aql::KernelDispatch as K;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use std::time::Duration;

const START_X: u32 = 0x204;
const PGM_LO: u32 = 0x20c;
const PGM_RSRC1: u32 = 0x212;
const RESOURCE_LIMITS: u32 = 0x215;
const PGM_RSRC3: u32 = 0x22d;
const USER_DATA_0: u32 = 0x240;

fn set(register: u32, values: &[u32]) -> Vec<u32> {
    let mut packet = vec![packet3(0x76, values.len() as u32), register];
    packet.extend(values);
    packet
}

fn direct(dimensions: [u32; 3], initiator: u32) -> [u32; 5] {
    let [x, y, z] = dimensions;
    [packet3(0x15, 3), x, y, z, initiator]
}

/// The registers that mean the same as an AQL packet of one dimension, without its grid.
fn registers(p: &Process<'_>, packet: &K) -> Vec<u32> {
    let kernel = packet.get(K::KERNEL_OBJECT);
    let descriptor = p.words(kernel, 16);
    let properties = descriptor[14];
    assert_eq!(properties, 1 << 3, "only the arguments are in user SGPRs");
    let entry = kernel + (u64::from(descriptor[4]) | (u64::from(descriptor[5]) << 32));
    let [low, high] = halves(entry >> 8);
    let threads = packet.get(K::WORKGROUP_SIZE_X) as u32;
    let mut commands = set(PGM_LO, &[low, high]);
    // Whether its waves have the process's trap handler is the program's word, too: TRAP_PRESENT.
    commands.extend(set(PGM_RSRC1, &[descriptor[12], descriptor[13] | (1 << 6)]));
    commands.extend(set(PGM_RSRC3, &[descriptor[11]]));
    commands.extend(set(RESOURCE_LIMITS, &[0]));
    commands.extend(set(START_X, &[0, 0, 0, threads, 1, 1, 0, 0]));
    commands.extend(set(USER_DATA_0, &halves(packet.get(K::KERNARG_ADDRESS))));
    commands
}

/// Commands that do what an AQL packet of whole workgroups asks for.
pub fn start(p: &Process<'_>, packet: &K) -> Vec<u32> {
    let mut commands = registers(p, packet);
    let groups = packet.get(K::GRID_SIZE_X) / packet.get(K::WORKGROUP_SIZE_X);
    commands.extend(direct([groups as u32, 1, 1], 1));
    commands
}

#[test]
fn vadd_by_registers_and_its_end_of_pipe() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::pm4(&p, 0x800, 1024);
    run(&rig, &[(&p, &[&q])]);
    let at = p.alloc(4096);
    let (packet, sums, expected) = vadd(&p, 100_000, 3, 0);
    let mut commands = start(&p, &packet);
    commands.extend(release(at, 0x1_0000_0002, 17));
    q.submit(&commands);
    rig.wait("the end of pipe", || p.u64(at) == 0x1_0000_0002);
    assert!(p.words(sums, 100_000) == expected, "all sums are the CPU's");
    let pointer = || p.words(q.read_index(), 1)[0];
    rig.wait("the read pointer", || pointer() == commands.len() as u32);
    let (client, source, _, vmid, pasid, data) = rig.interrupt().unwrap();
    let entry = (client, source, vmid, pasid, data[0]);
    assert_eq!(entry, (0x14, 181, 3, 0x8001, 17));
    rig.clean();
}

#[test]
fn dimensions_count_work_items_or_end_with_a_part() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::pm4(&p, 0x800, 1024);
    run(&rig, &[(&p, &[&q])]);
    let at = p.alloc(4096);
    // 600 work-items in workgroups of 256: by themselves, or as two and 88.
    let cases = [
        direct([600, 1, 1], 1 | (1 << 5)),
        direct([3, 1, 1], 1 | 2 | (1 << 2)),
    ];
    for (n, dispatch) in (1..).zip(cases) {
        let (packet, sums, mut expected) = vadd(&p, 768, n, 0);
        expected[600..].fill(0);
        let mut commands = registers(&p, &packet);
        let part = 256 | (88 << 16);
        // COMPUTE_START is not looked at with FORCE_START_AT_000.
        commands.extend(set(START_X, &[n - 1, 0, 0, part, 0x1_0001, 0x1_0001]));
        commands.extend(dispatch);
        commands.extend(release(at, u64::from(n), 0));
        q.submit(&commands);
        rig.wait("the end of pipe", || p.u64(at) == u64::from(n));
        assert_eq!(p.words(sums, 768), expected);
    }
    rig.clean();
}

#[test]
fn an_end_of_pipe_waits_and_what_follows_does_not() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::pm4(&p, 0x800, 1024);
    run(&rig, &[(&p, &[&q])]);
    let at = p.alloc(4096);
    let (packet, flag) = spin(&p, 0);
    let mut commands = start(&p, &packet);
    commands.extend(release(at, 1, 0));
    commands.extend(write(at + 8, 2));
    // EVENT_WRITE of CS_PARTIAL_FLUSH.
    commands.extend([packet3(0x46, 0), 7 | (4 << 8)]);
    commands.extend(write(at + 12, 3));
    q.submit(&commands);
    rig.wait("the write behind", || p.words(at + 8, 1) == [2]);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!((p.u64(at), p.words(at + 12, 1)[0]), (0, 0));
    rig.put_words(p.at(flag), &[1]);
    rig.wait("the write behind the flush", || p.words(at + 12, 1) == [3]);
    rig.wait("the end of pipe", || p.u64(at) == 1);
    rig.clean();
}

#[test]
fn a_ring_wraps_and_its_buffers_are_executed() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::pm4(&p, 0x800, 128);
    run(&rig, &[(&p, &[&q])]);
    let at = p.alloc(4096);
    for n in 1..=60 {
        let buffer = p.new_words(&write(at, n));
        let [low, high] = halves(buffer);
        let mut commands = vec![packet3(0x3f, 2), low, high, 5 | (1 << 23)];
        commands.extend(write(at + 4, n));
        commands.extend([packet3(0x10, 3), 0, 0, 0, 0]);
        q.submit(&commands);
        rig.wait("the writes", || p.words(at, 2) == [n, n]);
    }
    rig.clean();
}

#[test]
fn a_preempted_queue_goes_on_with_its_kernels_registers_and_commands() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::pm4(&p, 0x800, 1024);
    run(&rig, &[(&p, &[&q])]);
    let at = p.alloc(4096);
    let (packet, flag) = spin(&p, 0);
    let mut commands = start(&p, &packet);
    commands.extend(release(at, 1, 9));
    commands.extend(set(USER_DATA_0 + 5, &[77]));
    commands.extend(write(at + 8, 1));
    commands.extend(wait(at + 12, 5));
    commands.extend(write(at + 16, 4));
    q.submit(&commands);
    rig.wait("the write", || p.words(at + 8, 1) == [1]);
    rig.unmap();
    rig.fence();
    let image = q.image();
    assert_eq!(image.get(Mqd::COMPUTE_USER_DATA_5), 77);
    rig.put_words(p.at(at + 8), &[0, 5]);
    rig.put_words(p.at(flag), &[1]);
    assert_eq!(p.u64(at), 0);
    run(&rig, &[(&p, &[&q])]);
    rig.wait("the rest", || p.words(at + 16, 1) == [4]);
    rig.wait("the end of pipe", || p.u64(at) == 1);
    assert_eq!(p.words(at + 8, 1), [0], "the first write is not repeated");
    // The registers are as they were: the dispatch alone does it again.
    let mut again = direct([1, 1, 1], 1).to_vec();
    again.extend(release(at, 2, 0));
    q.submit(&again);
    rig.wait("the end of pipe", || p.u64(at) == 2);
    rig.clean();
}

#[test]
fn what_a_process_may_not_stops_its_queue() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let start = |spoil: &[u32], initiator: u32| {
        let (packet, ..) = vadd(&p, 256, 1, 0);
        let mut commands = registers(&p, &packet);
        commands.extend(spoil);
        commands.extend(direct([1, 1, 1], initiator));
        commands
    };
    let cases: [(&str, u32, Vec<u32>); 9] = [
        ("SET_SH_REG: register 0x214 is none", 22, set(0x214, &[3])),
        ("SET_SH_REG: register 0x3 is none", 22, set(3, &[3])),
        (
            "SET_SH_REG: register 0x250 is none",
            22,
            set(0x24f, &[0, 0]),
        ),
        (
            "SET_SH_REG: a process's packet",
            19,
            vec![packet3(0x76, 1), 1 << 28, 0],
        ),
        ("COMPUTE_DISPATCH_INITIATOR 0x0", 19, start(&[], 0)),
        ("COMPUTE_DISPATCH_INITIATOR 0x8001", 19, start(&[], 0x8001)),
        (
            "COMPUTE_START that is not 0",
            16,
            start(&set(START_X, &[1]), 1),
        ),
        (
            "PM4 dispatch: kernel descriptor",
            18,
            start(&set(PGM_RSRC1, &[!0]), 1),
        ),
        (
            "dispatch: workgroup size",
            21,
            start(&set(0x207, &[1025]), 1),
        ),
    ];
    for (n, (what, code, commands)) in cases.iter().enumerate() {
        let q = Queue::pm4(&p, 0x800 + 2 * n as u32, 1024);
        run(&rig, &[(&p, &[&q])]);
        q.submit(commands);
        let mut entry = None;
        rig.wait(what, || {
            entry = rig.interrupt();
            entry.is_some()
        });
        let (client, source, _, _, _, data) = entry.unwrap();
        assert_eq!((client, source), (0x14, 183), "{what}");
        assert_eq!(data[0], (code << 10) | n as u32, "{what}");
        rig.faulted(what);
        rig.unmap();
        rig.fence();
    }
}
