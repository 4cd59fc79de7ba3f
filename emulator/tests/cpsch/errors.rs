// SPDX-License-Identifier: MIT OR Apache-2.0

//! Malformed AQL packets and failing shaders: the queue stops, the driver gets an interrupt, other queues
//! go on.

use crate::dispatches::vadd;
use crate::kernels::{arguments, load, pointers};
use crate::queues::*;
use crate::rig::{Rig, MC};
use rkfd_hw::aql::{self, KernelDispatch as K, Signal};
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;

/// Makes something wrong.
type Spoil<T> = fn(&mut T);

/// Spoils a packet of a queue that then stops: the fault, the exception, how.
type Case = (&'static str, u32, Spoil<K>);

const CASES: &[Case] = &[
    ("AQL header 0x2002: reserved bits", 19, |p| {
        p.0[0] = 0x1_2002
    }),
    ("AQL packet of unknown type 6", 20, |p| p.set(K::HEADER, 6)),
    ("AQL agent dispatch", 20, |p| {
        p.set(K::HEADER, aql::TYPE_AGENT_DISPATCH.into())
    }),
    ("AQL vendor-specific packet of unknown format 0", 23, |p| {
        p.0[0] = 0
    }),
    ("AQL dispatch: reserved bits are set", 19, |p| {
        p.set(K::SETUP, 5)
    }),
    ("AQL dispatch: reserved bits are set", 19, |p| {
        p.set(K::RESERVED0, 1)
    }),
    ("AQL dispatch: reserved bits are set", 19, |p| {
        p.set(K::RESERVED2, 1)
    }),
    ("AQL dispatch: 0 dimensions", 16, |p| p.set(K::SETUP, 0)),
    ("AQL dispatch: a grid size of 0", 16, |p| {
        p.set(K::GRID_SIZE_X, 0)
    }),
    ("the size in an unused dimension is not 1", 16, |p| {
        p.set(K::GRID_SIZE_Z, 2)
    }),
    (
        "AQL dispatch: a workgroup size of 0, or more than 1024",
        21,
        |p| p.set(K::WORKGROUP_SIZE_X, 0),
    ),
    (
        "AQL dispatch: a workgroup size of 0, or more than 1024",
        21,
        |p| p.set(K::WORKGROUP_SIZE_X, 1025),
    ),
    ("AQL dispatch: more than 64 KiB of group segment", 17, |p| {
        p.set(K::GROUP_SEGMENT_SIZE, 65537)
    }),
    ("the kernel object is 0 or not a multiple of 64", 18, |p| {
        p.set(K::KERNEL_OBJECT, 0)
    }),
    ("the kernel object is 0 or not a multiple of 64", 18, |p| {
        p.0[8] += 4
    }),
    ("AQL: a signal's address is not a multiple of 64", 19, |p| {
        p.0[14] += 8
    }),
    (
        "AQL dispatch: scratch is needed, but no amd_queue_t",
        18,
        |p| p.set(K::PRIVATE_SEGMENT_SIZE, 16),
    ),
    ("kernel descriptor: reserved bits set in", 18, |p| {
        p.0[8] += 64
    }),
];

#[test]
fn each_malformed_packet_stops_its_queue_with_its_exception() {
    let rig = Rig::new();
    let p = Process::new(&rig, 0x8001);
    for (n, (what, code, spoil)) in CASES.iter().enumerate() {
        let q = Queue::new(&p, 0x800 + 2 * n as u32, 16);
        let sane = Queue::new(&p, 0xa00, 16);
        if code == &18 && what.contains("amd_queue_t") {
            rig.put_words(p.at(q.page + 0x88), &[0]);
        }
        let signal = p.signal(0);
        let (mut packet, ..) = vadd(&p, 256, 1, signal);
        let good = packet;
        spoil(&mut packet);
        run(&rig, &[(&p, &[&q, &sane])]);
        q.push(packet.0);
        let mut entry = None;
        rig.wait(what, || {
            entry = rig.interrupt();
            entry.is_some()
        });
        let (client, source, _, _, pasid, data) = entry.unwrap();
        assert_eq!((client, source, pasid), (0x14, 183, 0x8001), "{what}");
        assert_eq!(data[0], (code << 10) | n as u32, "{what}");
        rig.faulted(what);
        // The other queue of the same process works.
        sane.push(good.0);
        p.wait(signal);
        rig.unmap();
        rig.fence();
    }
}

#[test]
fn barriers_are_checked_too() {
    let cases: &[(&str, Spoil<[u32; 16]>)] = &[
        ("AQL barrier: reserved bits are set", |p| p[1] = 1),
        ("AQL barrier: reserved bits are set", |p| p[0] |= 1 << 16),
        ("AQL barrier: reserved bits are set", |p| p[13] = 1),
        ("AQL: a signal's address is not a multiple of 64", |p| {
            p[6] = 4
        }),
        ("packet processor: Gfx hub VMID 3: Read of 0x1048", |p| {
            p[4] = 0x1040
        }),
    ];
    let rig = Rig::new();
    let p = Process::new(&rig, 0x8001);
    for (what, spoil) in cases {
        let q = Queue::new(&p, 0x800, 16);
        let mut packet = barrier(aql::TYPE_BARRIER_AND, &[], 0);
        spoil(&mut packet);
        run(&rig, &[(&p, &[&q])]);
        q.push(packet);
        rig.faulted(what);
        rig.unmap();
        rig.fence();
    }
}

#[test]
fn signals_of_another_kind_and_queues_without_memory_are_recorded() {
    let rig = Rig::new();
    let p = Process::new(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let signal = p.signal(0);
    rig.put_words(p.at(signal), &[Signal::zeroed().0[0]]);
    run(&rig, &[(&p, &[&q])]);
    q.push(vadd(&p, 256, 1, signal).0 .0);
    rig.faulted("AQL: completion signal of kind 0");
    rig.unmap();
    rig.fence();
    let lost = Queue::new(&p, 0x802, 16);
    p.map_page(lost.page, p.at(lost.page), 0);
    run(&rig, &[(&p, &[&lost])]);
    rig.faulted("write pointer of a queue: Gfx hub VMID 3: Read of");
}

#[test]
fn a_trap_and_an_illegal_instruction_raise_the_sq_interrupt() {
    let rig = Rig::new();
    let p = Process::new(&rig, 0x8001);
    let (q, other) = (Queue::new(&p, 0x800, 16), Queue::new(&p, 0x802, 16));
    let out = p.alloc(4096);
    let mut explicit = pointers(&[out]);
    explicit.extend(3u32.to_le_bytes());
    let args = arguments(&p, &explicit, 64, 64);
    run(&rig, &[(&p, &[&q, &other])]);
    q.push(dispatch(load(&p, "x_stack")["trapk.kd"], args, 64, 64, 0).0);
    let sq = |kind: u32| {
        let mut entry = None;
        rig.wait("the interrupt", || {
            entry = rig.interrupt();
            entry.is_some()
        });
        let (client, source, _, vmid, pasid, data) = entry.unwrap();
        assert_eq!((client, source, vmid, pasid), (0x0a, 239, 3, 0x8001));
        assert_eq!(
            ((data[0] >> 26) & 3, data[1] >> 4),
            (2, kind),
            "an error of that kind"
        );
    };
    sq(1);
    rig.faulted("shader: trap");
    // Code of zeros behind a good descriptor.
    let (packet, ..) = vadd(&p, 256, 1, 0);
    let kernel = packet.get(K::KERNEL_OBJECT);
    let entry = kernel + u64::from(rig.words(p.at(kernel) + 16, 1)[0]);
    rig.put_words(p.at(entry), &[0xffff_ffff; 4]);
    other.push(packet.0);
    sq(1);
    rig.faulted("shader: illegal instruction");
    assert!(p.root > MC);
}

/// A program's trap handler, assembled by llvm-mc: it stores TTMP0 and TTMP1, TRAPSTS and the doorbell in its memory,
/// whose address is in TTMP14 and TTMP15, sends a message, and halts the wave.
const HANDLER: [u32; 14] = [
    0xb8ee_f803, // s_getreg_b32 ttmp2, hwreg(HW_REG_TRAPSTS)
    0xbefe_00ff,
    0x8000_0000, // s_mov_b32 exec_lo, 0x80000000
    0xbf90_000a, // s_sendmsg sendmsg(MSG_GET_DOORBELL)
    0xbeef_007e, // s_mov_b32 ttmp3, exec_lo
    0xc046_1b3d,
    0x0000_0000, // s_store_dwordx2 ttmp[0:1], ttmp[14:15], 0
    0xc046_1bbd,
    0x0000_0008, // s_store_dwordx2 ttmp[2:3], ttmp[14:15], 8
    0xbefc_00ff,
    0x0005_4321, // s_mov_b32 m0, 0x54321
    0xbf90_0001, // s_sendmsg sendmsg(MSG_INTERRUPT)
    0xbf8d_0001, // s_sethalt 1
    0xbe80_1f6c, // s_rfe_b64 ttmp[0:1]
];

#[test]
fn a_trap_handler_hears_of_it_and_halts_its_wave() {
    let rig = Rig::new();
    let p = Process::new(&rig, 0x8001);
    let stored = p.alloc(4096);
    p.set_handler(p.new_words(&HANDLER), stored);
    let [trapping, illegal, without, good] =
        [0x800, 0x802, 0x804, 0x806].map(|bell| Queue::new(&p, bell, 16));
    without.change(|m| m.set(Mqd::COMPUTE_PGM_RSRC2, 0));
    let all = [&trapping, &illegal, &without, &good];
    run(&rig, &[(&p, &all)]);
    let next = || {
        let mut entry = None;
        rig.wait("the interrupt", || {
            entry = rig.interrupt();
            entry.is_some()
        });
        let (client, source, _, vmid, pasid, data) = entry.unwrap();
        assert_eq!((client, source, vmid, pasid), (0x0a, 239, 3, 0x8001));
        [data[0], data[1]]
    };
    // M0's bits 11:0, 15:12 and 23:16; encoding 1, and PRIV.
    let message = [0x321 | (4 << 28) | (1 << 26) | (1 << 13), 5];
    let stored_words = || p.words(stored, 4);

    // s_trap: its address and number, no exception, the doorbell of 64 bits.
    let out = p.alloc(4096);
    let mut explicit = pointers(&[out]);
    explicit.extend(3u32.to_le_bytes());
    let args = arguments(&p, &explicit, 64, 64);
    let kernel = load(&p, "x_stack")["trapk.kd"];
    let signal = p.signal(0);
    trapping.push(dispatch(kernel, args, 64, 64, signal).0);
    assert_eq!(next(), message);
    let [low, high, flags, bell] = stored_words()[..] else {
        panic!("four words")
    };
    let pc = u64::from(low) | (u64::from(high & 0xffff) << 32);
    assert_eq!((high >> 16, flags, bell), (2, 0, 0x400));
    assert_eq!(rig.words(p.at(pc), 1), [0xbf92_0002], "it is at s_trap 2");
    rig.clean();

    // Words that are no instruction: the error's own interrupt, too.
    let (packet, ..) = vadd(&p, 64, 1, 0);
    let kernel = packet.get(K::KERNEL_OBJECT);
    let entry = kernel + u64::from(rig.words(p.at(kernel) + 16, 1)[0]);
    rig.put_words(p.at(entry), &[0xffff_ffff; 4]);
    let packet = packet
        .with(K::GRID_SIZE_X, 64)
        .with(K::WORKGROUP_SIZE_X, 64);
    illegal.push(packet.0);
    assert_eq!([next(), next()], [[2 << 26, 1 << 4], message]);
    assert_eq!(
        stored_words(),
        [entry as u32, (entry >> 32) as u32, 0x800, 0x401]
    );
    rig.faulted("shader: illegal instruction");

    // Without TRAP_PRESENT a queue has no handler.
    rig.put_words(p.at(stored), &[0; 4]);
    without.push(packet.0);
    assert_eq!(next(), [2 << 26, 1 << 4]);
    rig.faulted("shader: illegal instruction");
    assert_eq!(stored_words(), [0; 4]);

    // Halted waves leave for an unmap, come back, and stay halted; others go on.
    for seed in 0..2 {
        rig.unmap();
        rig.fence();
        run(&rig, &[(&p, &all)]);
        let done = p.signal(0);
        let (packet, sums, expected) = vadd(&p, 256, seed, done);
        good.push(packet.0);
        p.wait(done);
        assert_eq!(p.words(sums, 256), expected);
    }
    assert_eq!((p.value(signal), p.u64(trapping.read_index())), (1, 0));
    assert_eq!(stored_words(), [0; 4], "nobody traps again");
    assert_eq!(rig.interrupt(), None);
    rig.unmap();
    rig.fence();
}

#[test]
fn what_programs_do_is_no_violation() {
    let rig = Rig::new();
    let p = Process::new(&rig, 0x8001);
    let [bad, lost, good] = [0x800, 0x802, 0x804].map(|bell| Queue::new(&p, bell, 16));
    run(&rig, &[(&p, &[&bad, &lost, &good])]);
    let mut packet = vadd(&p, 256, 1, 0).0;
    packet.set(K::WORKGROUP_SIZE_X, 0);
    bad.push(packet.0);
    rig.wait("a fault", || rig.report.faults() == 1);
    let (packet, sums, _) = vadd(&p, 256, 1, 0);
    p.map_page(sums, p.at(sums), 0);
    lost.push(packet.0);
    rig.wait("another one", || rig.report.faults() == 2);
    let signal = p.signal(0);
    good.push(vadd(&p, 256, 1, signal).0 .0);
    p.wait(signal);
    rig.unmap();
    rig.fence();
    rig.driver_is_right();
}

#[test]
fn a_bad_packet_sets_the_queues_inactive_signal() {
    let rig = Rig::new();
    let p = Process::new(&rig, 0x8001);
    // The dimensions are wrong; a vendor's packet of no known format.
    let cases: [(u32, Spoil<K>); 2] = [
        (2, |packet| packet.set(K::GRID_SIZE_X, 0)),
        (256, |packet| packet.0[0] = 0),
    ];
    for (n, (code, spoil)) in (0..).zip(cases) {
        let q = Queue::new(&p, 0x800 + 2 * n, 16);
        let signal = p.signal(7);
        p.set_value(signal, 0);
        rig.set_u64(p.at(q.page + 0xc0), signal);
        run(&rig, &[(&p, &[&q])]);
        let mut packet = vadd(&p, 256, 1, 0).0;
        spoil(&mut packet);
        q.push(packet.0);
        rig.wait("the signal", || p.value(signal) == i64::from(code));
        rig.wait("the event", || p.u64(signal + 2048) == 7);
        let sources: [u8; 2] = std::array::from_fn(|_| {
            let mut entry = None;
            rig.wait("the interrupts", || {
                entry = rig.interrupt();
                entry.is_some()
            });
            entry.map_or(0, |e| e.1)
        });
        assert_eq!(sources, [181, 183], "the event's and the error's");
        rig.unmap();
        rig.fence();
    }
    rig.driver_is_right();
}
