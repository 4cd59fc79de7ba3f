// SPDX-License-Identifier: MIT OR Apache-2.0

//! AQL packets of the vendor: PM4 commands in an indirect buffer, and a barrier on a value. The
//! words of PM4 are written out as ROCr (`amd_gpu_agent.cpp`, `amd_aql_queue.cpp`) and Linux
//! (`soc15d.h`) have them.

use crate::dispatches::vadd;
use crate::preemption::spin;
use crate::queues::*;
use crate::rig::Rig;
pub use rkfd_emulator_testkit::packets::pm4_ib;
use rkfd_hw::aql::{self, BarrierValue, KernelDispatch, Pm4Ib, Signal};
use std::time::Duration;

/// PACKET3 of `soc15d.h`: `n` is one less than the words after the header.
pub const fn packet3(op: u32, n: u32) -> u32 {
    (3 << 30) | (op << 8) | (n << 16)
}

/// `GpuAgent::InvalidateCodeCaches`.
const INVALIDATE: [u32; 7] = [
    0xc005_5800,
    (1 << 29) | (1 << 27) | (1 << 23) | (1 << 18),
    u32::MAX,
    0xff,
    0,
    0,
    0,
];

pub fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// WRITE_DATA of one word to memory.
pub fn write(at: u64, value: u32) -> Vec<u32> {
    let [low, high] = halves(at);
    vec![packet3(0x37, 3), (5 << 8) | (1 << 20), low, high, value]
}

/// WAIT_REG_MEM until a word of memory is equal.
pub fn wait(at: u64, value: u32) -> Vec<u32> {
    let [low, high] = halves(at);
    vec![packet3(0x3c, 5), 3 | (1 << 4), low, high, value, !0, 10]
}

/// RELEASE_MEM of 64 bits with an interrupt.
pub fn release(at: u64, value: u64, event: u32) -> Vec<u32> {
    let ([low, high], [data, more]) = (halves(at), halves(value));
    let select = (2 << 29) | (2 << 24);
    let flush = 0x14 | (5 << 8) | (1 << 15) | (1 << 17);
    vec![
        packet3(0x49, 6),
        flush,
        select,
        low,
        high,
        data,
        more,
        event,
    ]
}

fn push(q: &Queue<'_>, commands: &[u32], signal: u64) {
    let at = q.process.new_words(commands);
    q.push(pm4_ib(at, commands.len(), signal));
}

#[test]
fn rocr_s_cache_invalidation_is_consumed_and_makes_new_code_visible() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    let done = p.signal(0);
    let (mut packet, sums, expected) = vadd(&p, 256, 1, done);
    // Without fences, so that nothing else invalidates anything.
    packet.set(KernelDispatch::HEADER, 2);
    q.push(packet.0);
    p.wait(done);
    assert_eq!(p.words(sums, 256), expected);
    // s_endpgm in place of the first instruction.
    let kernel = packet.get(KernelDispatch::KERNEL_OBJECT);
    let entry = kernel + u64::from(rig.words(p.at(kernel) + 16, 1)[0]);
    rig.put_words(p.at(entry), &[0xbf81_0000]);
    rig.put_words(p.at(sums), &[0; 256]);
    q.push(pm4_ib(p.new_words(&INVALIDATE), 7, 0));
    // What ROCr waits for: the read index.
    rig.wait("the read index", || p.u64(q.read_index()) == 2);
    assert_eq!(p.words(q.ring + 64, 1)[0] as u16, 1, "the slot is free");
    p.set_value(done, 1);
    q.push(packet.0);
    p.wait(done);
    assert_eq!(p.words(sums, 256), [0; 256], "the new code does nothing");
    rig.clean();
}

#[test]
fn commands_write_copy_wait_and_release_in_order() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    let at = p.alloc(4096);
    let mut commands = write(at, 5);
    // COPY_DATA: the word just written, then 64 bits of the packet's, then the clock.
    let copy = |control: u32, from: u64, to: u64| {
        let ([a, b], [c, d]) = (halves(from), halves(to));
        [packet3(0x40, 4), control, a, b, c, d]
    };
    commands.extend(copy(2 | (5 << 8), at, at + 4));
    let value = 0x1122_3344_5566_7788;
    commands.extend(copy(5 | (2 << 8) | (1 << 16), value, at + 8));
    commands.extend(copy(9 | (2 << 8) | (1 << 16), 0, at + 16));
    commands.extend([packet3(0x10, 2), 1, 2, 3]);
    commands.extend([packet3(0x46, 0), 7 | (4 << 8)]);
    commands.extend(wait(at + 24, 77));
    commands.extend(write(at + 28, 6));
    commands.extend(release(at + 32, 0xabcd_0000_1234, 42));
    let signal = p.signal(0);
    push(&q, &commands, signal);
    rig.wait("the first commands", || p.u64(at + 16) != 0);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(p.words(at, 2), [5, 5]);
    assert_eq!(p.u64(at + 8), value);
    assert_eq!(p.words(at + 28, 1), [0], "nothing behind the wait");
    assert_eq!(p.value(signal), 1);
    rig.put_words(p.at(at + 24), &[77]);
    p.wait(signal);
    assert_eq!(p.words(at + 28, 1), [6]);
    assert_eq!(p.u64(at + 32), 0xabcd_0000_1234);
    let (client, source, _, vmid, pasid, data) = rig.interrupt().unwrap();
    let entry = (client, source, vmid, pasid, data[0]);
    assert_eq!(entry, (0x14, 181, 3, 0x8001, 42));
    let times = [Signal::START_TS, Signal::END_TS].map(|f| p.u64(signal + f.word() as u64 * 4));
    assert!(0 < times[0] && times[0] <= p.u64(at + 16) && p.u64(at + 16) < times[1]);
    rig.clean();
}

/// `mec_release_mem_int_sel_enum` of Linux's `kfd_pm4_headers_ai.h`: what each of the first four does.
#[test]
fn a_release_interrupts_as_it_says() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    let at = p.alloc(4096);
    for (select, [data, interrupt]) in [
        (0, [true, false]),
        (1, [false, true]),
        (2, [true, true]),
        // send_data_after_write_confirm.
        (3, [true, false]),
    ] {
        let place = at + u64::from(select) * 8;
        let mut commands = release(place, 5, 40 + select);
        commands[2] = (select << 24) | if data { 2 << 29 } else { 0 };
        let signal = p.signal(0);
        push(&q, &commands, signal);
        p.wait(signal);
        assert_eq!(p.u64(place), if data { 5 } else { 0 }, "{select}");
        let context = rig.interrupt().map(|(.., data)| data[0]);
        assert_eq!(context, interrupt.then_some(40 + select));
    }
    rig.clean();
}

#[test]
fn a_release_waits_for_kernels_that_were_launched_before() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    let at = p.alloc(4096);
    let (packet, flag) = spin(&p, 0);
    q.push(packet.0);
    let mut commands = write(at, 1);
    commands.extend(release(at + 8, 2, 0));
    let signal = p.signal(0);
    push(&q, &commands, signal);
    rig.wait("the write", || p.words(at, 1) == [1]);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!((p.u64(at + 8), p.value(signal)), (0, 1));
    rig.put_words(p.at(flag), &[1]);
    p.wait(signal);
    assert_eq!(p.u64(at + 8), 2);
    rig.clean();
}

#[test]
fn commands_go_on_where_an_unmap_met_them_and_chains_are_followed() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    let at = p.alloc(4096);
    let last = p.new_words(&[wait(at + 4, 9), write(at + 8, 3)].concat());
    let [low, high] = halves(last);
    let mut commands = write(at, 1);
    commands.extend([packet3(0x3f, 2), low, high, 12 | (1 << 20) | (1 << 23)]);
    let signal = p.signal(0);
    push(&q, &commands, signal);
    rig.wait("the write", || p.words(at, 1) == [1]);
    rig.unmap();
    rig.fence();
    rig.put_words(p.at(at), &[0, 9]);
    assert_eq!(p.value(signal), 1);
    run(&rig, &[(&p, &[&q])]);
    p.wait(signal);
    assert_eq!(p.words(at, 3), [0, 9, 3], "the first write is not repeated");
    rig.clean();
}

#[test]
fn a_barrier_on_a_value_compares_the_masked_value() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    // Condition, reference, mask; a value that is not it and one that is.
    let cases: [(u32, i64, i64, i64, i64); 5] = [
        (aql::CONDITION_EQ, 5, 0xff, 4, 0x1_0005),
        (aql::CONDITION_NE, 5, -1, 5, 6),
        (aql::CONDITION_LT, 0, -1, 0, -1),
        (aql::CONDITION_GTE, -2, -1, -3, -2),
        (aql::CONDITION_GTE, 4, 0xf, 0x13, 0x1c),
    ];
    for (cond, reference, mask, closed, open) in cases {
        let [waited, done] = [p.signal(0), p.signal(0)];
        p.set_value(waited, closed);
        let packet = BarrierValue::zeroed()
            .with(BarrierValue::HEADER, header_of(0))
            .with(BarrierValue::FORMAT, 2)
            .with(BarrierValue::SIGNAL, waited)
            .with(BarrierValue::VALUE, reference as u64)
            .with(BarrierValue::MASK, mask as u64)
            .with(BarrierValue::COND, cond)
            .with(BarrierValue::COMPLETION_SIGNAL, done);
        q.push(packet.0);
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(p.value(done), 1, "{cond} {reference}");
        p.set_value(waited, open);
        p.wait(done);
    }
    // Without a signal it is open, and what lies in its reserved words does not matter.
    let done = p.signal(0);
    let packet = BarrierValue::zeroed()
        .with(BarrierValue::RESERVED0, 1)
        .with(BarrierValue::RESERVED1, 1)
        .with(BarrierValue::RESERVED2, 1)
        .with(BarrierValue::RESERVED3, 1)
        .with(BarrierValue::FORMAT, 2)
        .with(BarrierValue::COMPLETION_SIGNAL, done);
    q.push(packet.0);
    p.wait(done);
    rig.clean();
}

/// Spoils ROCr's packet: the fault, the exception, how.
type Case = (&'static str, u32, fn(&mut Pm4Ib));

#[test]
fn malformed_packets_and_commands_stop_their_queue() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let packets: [Case; 8] = [
        ("barrier on a value: reserved bits are set", 19, |p| {
            p.set(Pm4Ib::FORMAT, 2);
            p.0[0] |= 1 << 31;
        }),
        ("vendor-specific packet of unknown format 3", 23, |p| {
            p.set(Pm4Ib::FORMAT, 3)
        }),
        ("AQL packet of PM4: reserved bits are set", 19, |p| {
            p.set(Pm4Ib::RESERVED2, 1)
        }),
        ("wrong count of the words that remain", 19, |p| {
            p.set(Pm4Ib::DW_CNT_REMAIN, 9)
        }),
        ("where an INDIRECT_BUFFER must be", 20, |p| {
            p.set(Pm4Ib::IB_JUMP_CMD_0, 0xc002_1000)
        }),
        ("INDIRECT_BUFFER is not valid", 19, |p| {
            p.set(Pm4Ib::IB_JUMP_CMD_3, 7)
        }),
        ("a process has no other VMID", 19, |p| {
            p.set(Pm4Ib::IB_JUMP_CMD_3, 7 | (1 << 23) | (1 << 24))
        }),
        ("a packet is longer than what is left", 19, |p| {
            p.set(Pm4Ib::IB_JUMP_CMD_3, 6 | (1 << 23))
        }),
    ];
    let commands: [(&str, u32, &[u32]); 13] = [
        ("no type-3 PM4 header", 20, &[0]),
        ("no type-3 PM4 header", 20, &[packet3(0x10, 0) | 1, 0]),
        (
            "PM4 opcode 0xa0 (SET_RESOURCES)",
            20,
            &[packet3(0xa0, 0), 0],
        ),
        ("PM4 opcode 0x22 (unknown)", 20, &[packet3(0x22, 0), 0]),
        (
            "WRITE_DATA: 0 is not memory",
            19,
            &[packet3(0x37, 3), 0, 0, 0, 0],
        ),
        (
            "WRITE_DATA: reserved bits of word 1",
            19,
            &[packet3(0x37, 3), 0x501, 0, 0, 0],
        ),
        (
            "WRITE_DATA: 0x2 is not a multiple of 4",
            19,
            &[packet3(0x37, 3), 0x500, 2, 0, 0],
        ),
        (
            "ACQUIRE_MEM of 8 words",
            19,
            &[packet3(0x58, 6), 0, 0, 0, 0, 0, 0, 0],
        ),
        (
            "RELEASE_MEM: event 0x2 of index 5",
            19,
            &[packet3(0x49, 6), 0x502, 0, 0, 0, 0, 0, 0],
        ),
        (
            "EVENT_WRITE: event 0x7 of index 0",
            19,
            &[packet3(0x46, 0), 7],
        ),
        (
            "register 0x0 is not modelled for a process",
            22,
            &[packet3(0x3c, 5), 3, 0, 0, 0, 0, 0],
        ),
        (
            "register 0xe27 is not modelled for a process",
            22,
            // GPU_HDP_FLUSH_DONE is written.
            &[packet3(0x3c, 5), 3 | (1 << 6), 0xe27, 0xe27, 1, 1, 0x20],
        ),
        (
            "WAIT_REG_MEM: function 7",
            19,
            &[packet3(0x3c, 5), 0x17, 0, 0, 0, 0, 0],
        ),
    ];
    let packets = packets.iter().map(|&(what, code, spoil)| {
        let mut packet = Pm4Ib(pm4_ib(p.new_words(&INVALIDATE), 7, 0));
        spoil(&mut packet);
        (what, code, packet.0)
    });
    let commands = commands.iter().map(|&(what, code, words)| {
        let packet = pm4_ib(p.new_words(words), words.len(), 0);
        (what, code, packet)
    });
    for (n, (what, code, packet)) in packets.chain(commands).enumerate() {
        let q = Queue::new(&p, 0x800 + 2 * n as u32, 16);
        run(&rig, &[(&p, &[&q])]);
        q.push(packet);
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

/// What programs that run on cards send: the chip cares less than the headers say.
#[test]
fn what_runs_on_cards_is_accepted() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    let flag = p.new_words(&[5]);
    let [low, high] = halves(flag);
    // HDP's flush as `gfx_v9_4_3_ring_emit_hdp_flush` has it: GPU_HDP_FLUSH_REQ is written, GPU_HDP_FLUSH_DONE waited for.
    let mut commands = vec![packet3(0x3c, 5), 3 | (1 << 6), 0xe26, 0xe27, 1, 1, 0x20];
    // ACQUIRE_MEM of all there is: `0xffffffff` in both words of COHER_SIZE.
    let mut acquire = INVALIDATE;
    acquire[3] = u32::MAX;
    commands.extend(acquire);
    // WAIT_REG_MEM with OPTIMIZE_ACE_OFFLOAD_MODE.
    commands.extend([
        packet3(0x3c, 5),
        3 | (1 << 4),
        low,
        high,
        5,
        !0,
        (1 << 31) | 4,
    ]);
    let signal = p.signal(0);
    push(&q, &commands, signal);
    p.wait(signal);
    // Kernel arguments at a multiple of 8.
    let done = p.signal(0);
    let (mut packet, sums, expected) = vadd(&p, 256, 3, done);
    let arguments = packet.get(KernelDispatch::KERNARG_ADDRESS);
    let words = p.words(arguments, 64);
    let moved = p.alloc(4096) + 8;
    p.rig.put_words(p.at(moved), &words);
    packet.set(KernelDispatch::KERNARG_ADDRESS, moved);
    q.push(packet.0);
    p.wait(done);
    assert_eq!(p.words(sums, 256), expected);
    rig.clean();
}
