// SPDX-License-Identifier: MIT OR Apache-2.0

//! Run lists: VMIDs, HQDs, isolation, translation flushes, and what is refused.

use crate::dispatches::vadd;
use crate::packets::{unmap, RIGHTS};
use crate::queues::*;
use crate::rig::Rig;
use rkfd_hw::aql::KernelDispatch;
use rkfd_hw::pm4::*;

/// Makes something wrong.
type Spoil<T> = fn(&mut T);

#[test]
fn two_processes_see_their_own_memory_at_the_same_address() {
    let rig = Rig::new();
    let (a, b) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (qa, qb) = (Queue::new(&a, 0x800, 16), Queue::new(&b, 0x1000, 16));
    assert_eq!(qa.ring, qb.ring, "the same addresses");
    let (sa, sb) = (a.signal(1), b.signal(2));
    let (pa, oa, ea) = vadd(&a, 5000, 1, sa);
    let (pb, ob, eb) = vadd(&b, 5000, 2, sb);
    assert_eq!((oa, sa), (ob, sb));
    run(&rig, &[(&a, &[&qa]), (&b, &[&qb])]);
    qa.push(pa.0);
    qb.push(pb.0);
    a.wait(sa);
    b.wait(sb);
    assert!(ea != eb && a.words(oa, 5000) == ea && b.words(ob, 5000) == eb);
    let mut seen = Vec::new();
    rig.wait("both interrupts", || {
        seen.extend(rig.interrupt().map(|e| (e.3, e.4, e.5[0])));
        seen.len() == 2
    });
    seen.sort_unstable();
    assert_eq!(seen, [(3, 0x8001, 1), (4, 0x8002, 2)]);
    // Doorbells, and what the interrupt handler knows, go with the queues.
    rig.unmap();
    rig.fence();
    assert_eq!(rig.device.soc.pasids.vmids_of(0x8001), 0);
    rig.clean();
}

#[test]
fn a_fault_stops_its_queue_and_no_other() {
    let rig = Rig::new();
    let (a, b) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (qa, qb) = (Queue::new(&a, 0x800, 16), Queue::new(&b, 0x1000, 16));
    let (sa, sb) = (a.signal(1), b.signal(2));
    let (pa, oa, _) = vadd(&a, 256, 1, sa);
    let (pb, ob, eb) = vadd(&b, 256, 2, sb);
    a.map_page(oa, a.at(oa), 0);
    run(&rig, &[(&a, &[&qa]), (&b, &[&qb])]);
    qa.push(pa.0);
    let mut entry = None;
    rig.wait("the fault", || {
        entry = rig.interrupt();
        entry.is_some()
    });
    let (client, source, _, vmid, pasid, data) = entry.unwrap();
    assert_eq!((client, source, vmid, pasid), (0x1b, 0, 3, 0x8001));
    assert_eq!(u64::from(data[0]) << 12, oa & 0xfff_ffff_f000 & !0xfff);
    qb.push(pb.0);
    b.wait(sb);
    assert_eq!(b.words(ob, 256), eb);
    assert_eq!(a.value(sa), 1);
    rig.faulted("shader: memory access fault: Write at 0x7f00");
    // The stopped queue can be unmapped.
    rig.unmap();
    rig.fence();
}

#[test]
fn stale_translations_stay_until_the_pasid_is_flushed() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let signal = p.signal(0);
    let (packet, sums, expected) = vadd(&p, 256, 1, signal);
    run(&rig, &[(&p, &[&q])]);
    let once = || {
        p.set_value(signal, 1);
        q.push(packet.0);
        p.wait(signal);
    };
    once();
    let (old, new) = (p.at(sums), rig.alloc(4096));
    rig.put(old, &[0; 1024]);
    p.map_page(sums, new, RIGHTS);
    once();
    assert_eq!(
        rig.words(old, 256),
        expected,
        "the old page, from the cache"
    );
    assert_eq!(rig.words(new, 256), [0; 256]);
    // FLUSH_TYPE, then a word that shows that the packet was executed.
    let flush = |kind: u32, mark| {
        let what = 1 | (1 << 4) | (0x8001 << 5) | (kind << 29);
        rig.kiq(&[header(op::INVALIDATE_TLBS, 2), what]);
        rig.kiq(&[0xc001_7900, 0x40, mark]);
        rig.wait("the flush", || {
            rig.read(rkfd_hw::regs::gc_9_4_3::SCRATCH_REG0) == mark
        });
    };
    flush(0, 0x77);
    once();
    assert_eq!(rig.words(new, 256), [0; 256], "the entry was in L2");
    flush(2, 0x78);
    once();
    assert_eq!(rig.words(new, 256), [0; 256], "the TLB had it back");
    flush(0, 0x79);
    once();
    assert_eq!(rig.words(new, 256), expected);
    rig.clean();
}

#[test]
fn queues_are_unmapped_by_pasid_and_static_ones_stay() {
    let rig = Rig::new();
    let (a, b) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (qa, qb) = (Queue::new(&a, 0x800, 16), Queue::new(&b, 0x1000, 16));
    let mut packets = a.map(1);
    packets.extend(qa.map());
    packets.extend(b.map(1));
    let mut fixed = qb.map();
    fixed[1] |= 2 << 21;
    packets.extend(fixed);
    rig.run_list(&packets, 2);
    rig.fence();
    assert!(rig.is_active((1, 0, 0)) && rig.is_active((1, 0, 1)));
    rig.unmap();
    rig.fence();
    assert!(!rig.is_active((1, 0, 0)) && rig.is_active((1, 0, 1)));
    rig.hiq(&unmap(SELECT_PASID, UNMAP_PREEMPT, 0x8002));
    rig.fence();
    assert!(!rig.is_active((1, 0, 1)));
    rig.clean();
}

#[test]
fn more_than_fits_is_named_and_the_rest_runs() {
    let rig = Rig::with(&[], 1 << 9, 1 << 5);
    let (a, b) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (q, extra, qb) = (
        Queue::new(&a, 0x800, 16),
        Queue::new(&a, 0x802, 16),
        Queue::new(&b, 0x1000, 16),
    );
    run(&rig, &[(&a, &[&q, &extra]), (&b, &[&qb])]);
    rig.violated("over-subscribed run list that is not chained: no HQD is free");
    rig.violated("over-subscribed run list that is not chained: no VMID is free");
    let signal = a.signal(7);
    q.push(vadd(&a, 256, 1, signal).0 .0);
    a.wait(signal);
    let entry = rig.interrupt().map(|e| (e.2, e.3));
    assert!(entry.is_none() || entry == Some((0x54, 9)));
    rig.unmap();
    rig.fence();
    rig.run_list(&list(&[(&a, &[&q]), (&b, &[&qb])]), 1);
    rig.violated("more processes than run at a time");
}

#[test]
fn queues_and_processes_take_turns_when_the_list_is_chained() {
    // One VMID, two HQDs; two processes, five queues.
    let rig = Rig::with(&[], 1 << 9, (1 << 5) | (1 << 6));
    let (a, b) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let qa = [0x800, 0x802, 0x804].map(|bell| Queue::new(&a, bell, 16));
    let qb = [0x1000, 0x1002].map(|bell| Queue::new(&b, bell, 16));
    let (listed_a, listed_b): (Vec<_>, Vec<_>) = (qa.iter().collect(), qb.iter().collect());
    let packets = list(&[(&a, &listed_a), (&b, &listed_b)]);
    for round in 0..3 {
        rig.run_chained_list(&packets, 1);
        let jobs = qa.iter().map(|q| (&a, q)).chain(qb.iter().map(|q| (&b, q)));
        let jobs: Vec<_> = jobs
            .enumerate()
            .map(|(n, (p, q))| {
                let signal = p.signal(0);
                let (packet, sums, expected) = vadd(p, 512, round * 10 + n as u32, signal);
                q.push(packet.0);
                (p, signal, sums, expected)
            })
            .collect();
        for (p, signal, sums, expected) in jobs {
            p.wait(signal);
            assert_eq!(p.words(sums, 512), expected);
        }
        rig.unmap();
        rig.fence();
        assert!(!rig.is_active((1, 0, 5)) && !rig.is_active((1, 0, 6)));
    }
    rig.clean();
}

/// A list of processes that each have a queue with global wave sync.
fn with_gws(jobs: &[(&Process<'_>, &Queue<'_>)]) -> Vec<u32> {
    let mut words = Vec::new();
    for (process, queue) in jobs {
        let mut map = MapProcess::read(&process.map(1)).unwrap();
        map.put(MapProcess::NUM_GWS.is::<64>());
        let mut queue = MapQueues::read(&queue.map()).unwrap();
        queue.set(MapQueues::GWS_CONTROL_QUEUE, true);
        words.extend(map.0.iter().chain(&queue.0));
    }
    words
}

#[test]
fn queues_with_global_wave_sync_take_turns() {
    let rig = Rig::new();
    let (a, b) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (qa, qb) = (Queue::new(&a, 0x800, 16), Queue::new(&b, 0x1000, 16));
    rig.run_chained_list(&with_gws(&[(&a, &qa), (&b, &qb)]), 2);
    let jobs: Vec<_> = [(&a, &qa), (&b, &qb)]
        .into_iter()
        .map(|(p, q)| {
            let signal = p.signal(0);
            let (packet, sums, expected) = vadd(p, 512, 3, signal);
            q.push(packet.0);
            (p, signal, sums, expected)
        })
        .collect();
    for (p, signal, sums, expected) in jobs {
        p.wait(signal);
        assert_eq!(p.words(sums, 512), expected);
        assert!(!(rig.is_active((1, 0, 0)) && rig.is_active((1, 0, 1))));
    }
    rig.unmap();
    rig.fence();
    rig.clean();
}

#[test]
fn two_queues_with_global_wave_sync_need_a_chained_list() {
    let rig = Rig::new();
    let (a, b) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (qa, qb) = (Queue::new(&a, 0x800, 16), Queue::new(&b, 0x1000, 16));
    rig.run_list(&with_gws(&[(&a, &qa), (&b, &qb)]), 2);
    rig.violated("the global wave sync resources are another queue's");
}

#[test]
fn malformed_run_lists_run_nothing() {
    let cases: &[(&str, Spoil<Vec<u32>>)] = &[
        ("run list: no type-3 PM4 header: 0x00000000", |w| w.push(0)),
        ("run list: MAP_QUEUES before a MAP_PROCESS", |w| {
            w.drain(..21).for_each(|_| {})
        }),
        ("run list: MAP_QUEUES runs past the end", |w| {
            w.truncate(w.len() - 1)
        }),
        ("run list: a process with PASID 0", |w| w[1] &= !0xffff),
        ("run list: a process is listed twice", |w| {
            w.extend(w[..21].to_vec())
        }),
        (
            "run list: MAP_PROCESS: reserved bits of word 10 are set",
            |w| w[10] = 1,
        ),
        ("run list: MAP_PROCESS of 20 words", |w| {
            w[0] = header(op::MAP_PROCESS, 20)
        }),
        ("run list: QUERY_STATUS inside", |w| {
            w.extend([header(op::QUERY_STATUS, 7), 0, 0, 0, 0, 0, 0])
        }),
        ("MAP_PROCESS: the page table base is not valid", |w| {
            w[2] &= !1
        }),
        ("MAP_PROCESS: TMZ is not modelled", |w| w[1] |= 1 << 23),
        ("MAP_QUEUES of a run list: QUEUE_SEL is 0, not 1", |w| {
            w[22] &= !(3 << 4)
        }),
        (
            "MAP_QUEUES: GWS_CONTROL_QUEUE of a process with NUM_GWS 0",
            |w| w[22] |= 1 << 12,
        ),
        (
            "MAP_PROCESS: NUM_GWS is 65, and SET_RESOURCES allows 64",
            |w| {
                w[13] |= 65;
                w[22] |= 1 << 12
            },
        ),
        ("MAP_QUEUES of a run list: NUM_QUEUES is 2, not 1", |w| {
            w[22] += 1 << 29
        }),
        ("MAP_QUEUES: SDMA queue: reserved word 42 is set", |w| {
            w[22] |= 2 << 26
        }),
        ("MAP_QUEUES: queue type 1 is not modelled", |w| {
            w[22] |= 1 << 21
        }),
        ("MAP_QUEUES: doorbell 0x802, but 0x800 in the MQD", |w| {
            w[23] += 8
        }),
        (
            "MAP_QUEUES: write pointer address differs from the MQD's",
            |w| w[26] += 8,
        ),
        ("MAP_QUEUES: MQD address", |w| w[24] += 2),
        ("MAP_QUEUES: the MQD is that of a connected queue", |w| {
            w.extend(w[21..].to_vec())
        }),
    ];
    for (what, spoil) in cases {
        let rig = Rig::new();
        let p = Process::saving(&rig, 0x8001);
        let q = Queue::new(&p, 0x800, 16);
        let mut words = list(&[(&p, &[&q])]);
        spoil(&mut words);
        rig.run_list(&words, 15);
        rig.violated(what);
        // The HIQ goes on: a packet's content, not the ring's, was wrong.
        rig.fence();
        assert_eq!(
            rig.is_active((1, 0, 0)),
            what.contains("connected queue"),
            "{what}"
        );
    }
}

#[test]
fn malformed_hiq_packets_stop_it() {
    let cases: &[(&str, &[u32])] = &[
        (
            "Hiq queue: MAP_PROCESS of 16 words",
            &[
                header(op::MAP_PROCESS, 16),
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
            ],
        ),
        (
            "Hiq queue: MAP_QUEUES is not for this queue",
            &[header(op::MAP_QUEUES, 7), 0, 0, 0, 0, 0, 0],
        ),
        (
            "Hiq queue: INVALIDATE_TLBS is not for this queue",
            &[header(op::INVALIDATE_TLBS, 2), 1],
        ),
        (
            "the VMID mask is empty, or has the kernel's VMID 0",
            &[
                header(op::SET_RESOURCES, 8),
                (1 << 29) | 1,
                1,
                0,
                0,
                0,
                0,
                0,
            ],
        ),
        (
            "the queue mask names HQDs that the chip lacks",
            &[
                header(op::SET_RESOURCES, 8),
                (1 << 29) | 8,
                0,
                1 << 16,
                0,
                0,
                0,
                0,
            ],
        ),
        (
            "the queue mask has the HQD of a kernel queue",
            &[
                header(op::SET_RESOURCES, 8),
                (1 << 29) | 8,
                0,
                1,
                0,
                0,
                0,
                0,
            ],
        ),
        (
            "SET_RESOURCES: the queue type is not that of the queue",
            &[header(op::SET_RESOURCES, 8), 8, 1, 0, 0, 0, 0, 0],
        ),
        (
            "Hiq queue: unknown PM4 opcode 0x49",
            &[header(0x49, 8), 0, 0, 0, 0, 0, 0, 0],
        ),
    ];
    for (what, words) in cases {
        let rig = Rig::new();
        rig.hiq(words);
        rig.violated(what);
        let value = rig.send_fence();
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_ne!(rig.u64(rig.fence), value, "{what}");
    }
}

#[test]
fn undefined_requests_are_recorded() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    rig.hiq(&unmap(SELECT_ALL, 2, 0));
    rig.violated("UNMAP_QUEUES: action 2 is not modelled");
    rig.hiq(&unmap(SELECT_DOORBELL, UNMAP_PREEMPT, 0x900 << 2));
    rig.violated("UNMAP_QUEUES: a doorbell is of no connected queue");
    run(&rig, &[(&p, &[&q])]);
    rig.run_list(&list(&[(&p, &[&q])]), 1);
    rig.violated("RUN_LIST while queues of another one are mapped");
    rig.fence();
    rig.hiq(&[header(op::QUERY_STATUS, 7), 0, 0, 0, 0, 0, 0]);
    rig.violated("QUERY_STATUS: command 0 or its interrupt is not modelled");
    rig.kiq(&[header(op::INVALIDATE_TLBS, 2), 0x8001 << 5]);
    rig.violated("INVALIDATE_TLBS: destination 0 is not modelled");
}

#[test]
fn rules_spoil_fences_and_packets() {
    let rig = Rig::with(&["on QUERY_STATUS: no answer"], 0xfff8, 0xff);
    let value = rig.send_fence();
    rig.wait("the packet", || rig.words(rig.hiq.rptr, 1)[0] == 15);
    assert_ne!(rig.u64(rig.fence), value);
    rig.clean();
    let rig = Rig::with(&["on AQL packet: hide a word"], 0xfff8, 0xff);
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let packet = vadd(&p, 256, 1, p.signal(0)).0;
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.with(KernelDispatch::HEADER, header_of(2)).0);
    rig.faulted("packet processor: Gfx hub VMID 3: Read of");
}

/// Aligned accesses, retried faults and other formats of 8 bits are not modelled.
#[test]
fn a_process_needs_its_shader_memory_set_up() {
    let good = (3 << 3) | (1 << 8) | (1 << 12);
    for (config, name) in [
        (good | 1, "ADDRESS_MODE"),
        (good & !(1 << 4), "ALIGNMENT_MODE"),
        (good & !(1 << 8), "F8_MODE"),
        (good & !(1 << 12), "RETRY_DISABLE"),
    ] {
        let rig = Rig::new();
        let p = Process::saving(&rig, 0x8001);
        let q = Queue::new(&p, 0x800, 16);
        let process = MapProcess(p.map(1).try_into().unwrap());
        let mut packets = process.with(MapProcess::SH_MEM_CONFIG, config).0.to_vec();
        packets.extend(q.map());
        rig.run_list(&packets, 1);
        rig.fence();
        rig.violated(&format!("SH_MEM_CONFIG: that {name} is not modelled"));
    }
}

/// Linux sets SQ_CONFIG1 and the packet's bit both or none (`AMDGPU_GMC_XNACK_FLAG_CHAIN`).
#[test]
fn the_xnack_chain_is_on_at_both_ends() {
    let resources = |chained| {
        SetResources::zeroed()
            .with(SetResources::HEADER, header(op::SET_RESOURCES, 8))
            .with(SetResources::VMID_MASK, 0xff00)
            .having(SetResources::QUEUE_TYPE.is::<RESOURCES_HIQ>())
            .with(SetResources::ENB_XNACK_RETRY_DISABLE_CHECK, chained)
    };
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    rig.start_hiq();
    rig.hiq(&resources(true).0);
    rig.violated("SET_RESOURCES: the XNACK check is not the one of SQ_CONFIG1");
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    rig.start_hiq();
    // DISABLE_XNACK_CHECK_IN_RETRY_DISABLE.
    rig.write(rkfd_hw::regs::gc_9_4_3::SQ_CONFIG1, 1 << 12);
    rig.hiq(&resources(true).0);
    rig.unmap();
    rig.fence();
    rig.clean();
}
