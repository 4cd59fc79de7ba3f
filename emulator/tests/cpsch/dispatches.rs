// SPDX-License-Identifier: MIT OR Apache-2.0

//! Dispatches of compiled kernels, end to end; results are compared with the CPU's.

use crate::kernels::{arguments, load, pointers};
use crate::queues::*;
use crate::rig::Rig;
use rkfd_hw::aql::{self, KernelDispatch};
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;

/// A vadd of `n` floats: its packet, and where the sums go.
pub fn vadd(p: &Process<'_>, n: u32, seed: u32, signal: u64) -> (KernelDispatch, u64, Vec<u32>) {
    let kernel = load(p, "vadd")["vadd.kd"];
    let input =
        |k: u32| (0..n).map(move |i| (i.wrapping_mul(k).wrapping_add(seed) % 10_007) as f32 * 0.25);
    let bits = |v: Vec<f32>| v.iter().map(|f| f.to_bits()).collect::<Vec<_>>();
    let (a, b): (Vec<f32>, Vec<f32>) = (input(7).collect(), input(13).collect());
    let sums = a.iter().zip(&b).map(|(a, b)| (a + b).to_bits()).collect();
    let (a, b, c) = (
        p.new_words(&bits(a)),
        p.new_words(&bits(b)),
        p.alloc(u64::from(n) * 4),
    );
    let mut explicit = pointers(&[a, b, c]);
    explicit.extend(n.to_le_bytes());
    let args = arguments(p, &explicit, n.next_multiple_of(256), 256);
    (
        dispatch(kernel, args, n.next_multiple_of(256), 256, signal),
        c,
        sums,
    )
}

#[test]
fn vadd_from_the_register_to_the_event() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 64);
    let signal = p.signal(42);
    let n = 100_000;
    let (packet, sums, expected) = vadd(&p, n, 1, signal);
    run(&rig, &[(&p, &[&q])]);
    assert!(rig.is_active((1, 0, 0)));
    q.push(packet.0);
    p.wait(signal);
    assert_eq!(p.value(signal), 0);
    assert!(
        p.words(sums, n as usize) == expected,
        "all sums are the CPU's"
    );
    // The slot is free again, which the read index shows.
    rig.wait("the read index", || p.u64(q.read_index()) == 1);
    assert_eq!(rig.get(p.at(q.ring), 1), [1]);
    // The event: mailbox, then the interrupt with its id, of VMID 3 and the process.
    rig.wait("the mailbox", || p.u64(signal + 2048) == 42);
    let mut entry = None;
    rig.wait("the interrupt", || {
        entry = rig.interrupt();
        entry.is_some()
    });
    assert_eq!(entry, Some((0x14, 181, 0x04, 3, 0x8001, [42, 0, 0, 0])));
    assert_eq!(rig.interrupt(), None);
    let (start, end) = (p.u64(signal + 32), p.u64(signal + 40));
    assert!(start > 0 && end > start, "timestamps {start} {end}");
    rig.clean();
}

#[test]
fn a_ring_wraps_many_times() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let (packet, sums, expected) = vadd(&p, 512, 3, 0);
    run(&rig, &[(&p, &[&q])]);
    let signal = p.signal(0);
    p.set_value(signal, 100);
    for _ in 0..100 {
        q.push(packet.with(KernelDispatch::COMPLETION_SIGNAL, signal).0);
    }
    p.wait(signal);
    rig.wait("the read index", || p.u64(q.read_index()) == 100);
    assert_eq!(p.words(sums, 512), expected);
    assert_eq!(rig.interrupt(), None, "a signal without an event is silent");
    rig.clean();
}

#[test]
fn a_kernel_with_lds_and_barriers_reads_its_own_packet() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let symbols = load(&p, "reduce");
    let (name, &kernel) = symbols
        .iter()
        .find(|(name, _)| name.ends_with(".kd"))
        .unwrap();
    let n = 4096u32;
    let values: Vec<u32> = (0..n).map(|i| ((i % 64) as f32).to_bits()).collect();
    let (input, output) = (p.new_words(&values), p.alloc(4096));
    let mut explicit = pointers(&[input, output]);
    explicit.extend(n.to_le_bytes());
    let args = arguments(&p, &explicit, 1024, 256);
    let signal = p.signal(0);
    run(&rig, &[(&p, &[&q])]);
    q.push(
        dispatch(kernel, args, 1024, 256, signal)
            .with(KernelDispatch::GROUP_SEGMENT_SIZE, 1024)
            .0,
    );
    p.wait(signal);
    let sums: f32 = p.words(output, 4).iter().map(|&w| f32::from_bits(w)).sum();
    assert_eq!(sums, (0..n).map(|i| (i % 64) as f32).sum::<f32>(), "{name}");
    rig.clean();
}

#[test]
fn barrier_packets_wait_for_signals() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let (packet, sums, expected) = vadd(&p, 256, 5, 0);
    run(&rig, &[(&p, &[&q])]);
    let [a, b, c, and, or, done] = std::array::from_fn(|_| p.signal(0));
    q.push(barrier(aql::TYPE_BARRIER_AND, &[a, 0, b], and));
    q.push(packet.with(KernelDispatch::COMPLETION_SIGNAL, done).0);
    let still = |signal| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(p.value(signal), 1);
    };
    still(done);
    p.set_value(a, 0);
    still(and);
    p.set_value(b, 0);
    p.wait(and);
    p.wait(done);
    assert_eq!(p.words(sums, 256), expected);
    p.set_value(a, 1);
    q.push(barrier(aql::TYPE_BARRIER_OR, &[a, c], or));
    still(or);
    p.set_value(c, 0);
    p.wait(or);
    // Without signals both are done at once.
    let [e, f] = std::array::from_fn(|_| p.signal(0));
    q.push(barrier(aql::TYPE_BARRIER_AND, &[], e));
    q.push(barrier(aql::TYPE_BARRIER_OR, &[], f));
    p.wait(f);
    assert_eq!(p.value(e), 0);
    rig.clean();
}

#[test]
fn the_barrier_bit_orders_what_else_overlaps() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let spin = load(&p, "loops")["spin.kd"];
    let (flag, out) = (p.new_words(&[0]), p.alloc(64));
    let args = arguments(&p, &pointers(&[flag, out]), 64, 64);
    let (packet, ..) = vadd(&p, 256, 5, 0);
    run(&rig, &[(&p, &[&q])]);
    let [endless, overlaps, ordered] = std::array::from_fn(|_| p.signal(0));
    q.push(dispatch(spin, args, 64, 64, endless).0);
    q.push(packet.with(KernelDispatch::COMPLETION_SIGNAL, overlaps).0);
    let mut last = packet.with(KernelDispatch::COMPLETION_SIGNAL, ordered).0;
    last[0] |= BARRIER_BIT;
    q.push(last);
    p.wait(overlaps);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!((p.value(endless), p.value(ordered)), (1, 1));
    assert_eq!(p.u64(q.read_index()), 0, "in order");
    assert_ne!(
        rig.get(p.at(q.ring) + 64, 1),
        [1],
        "a slot is freed after those before it"
    );
    rig.put_words(p.at(flag), &[1]);
    p.wait(ordered);
    rig.wait("the read index", || p.u64(q.read_index()) == 3);
    rig.clean();
}

#[test]
fn packets_become_visible_by_their_header_and_doorbells_may_come_late() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let (packet, ..) = vadd(&p, 256, 5, 0);
    run(&rig, &[(&p, &[&q])]);
    let [first, second] = std::array::from_fn(|_| p.signal(0));
    // The second of two producers is faster; the first one's header is still invalid.
    let body = packet.with(KernelDispatch::COMPLETION_SIGNAL, first);
    q.write(
        body.with(KernelDispatch::HEADER, aql::TYPE_INVALID.into())
            .0,
    );
    q.push(packet.with(KernelDispatch::COMPLETION_SIGNAL, second).0);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!((p.value(first), p.value(second)), (1, 1));
    rig.put(
        p.at(q.ring),
        &(packet.get(KernelDispatch::HEADER) as u16).to_le_bytes(),
    );
    rig.ring_bell(q.bell, 0);
    p.wait(second);
    assert_eq!(p.value(first), 0);
    rig.clean();
}

#[test]
fn a_queue_starts_with_what_was_written_before_it_was_mapped() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let signal = p.signal(0);
    let (packet, sums, expected) = vadd(&p, 256, 5, signal);
    q.push(packet.0);
    run(&rig, &[(&p, &[&q])]);
    p.wait(signal);
    assert_eq!(p.words(sums, 256), expected);
    rig.unmap();
    rig.fence();
    let m = q.image();
    assert_eq!(m.get(Mqd::CP_MQD_READINDEX), 1);
    assert_eq!(
        (m.get(Mqd::CP_HQD_PQ_RPTR), m.get(Mqd::CP_HQD_PQ_WPTR)),
        (16, 16)
    );
    rig.clean();
}

#[test]
fn workgroups_that_wait_for_each_other_make_progress() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let meet = load(&p, "loops")["meet.kd"];
    let slots = p.new_words(&[0, 0]);
    let args = arguments(&p, &pointers(&[slots]), 128, 64);
    let signal = p.signal(0);
    run(&rig, &[(&p, &[&q])]);
    q.push(dispatch(meet, args, 128, 64, signal).0);
    p.wait(signal);
    assert_eq!(p.words(slots, 2), [1, 1]);
    rig.clean();
}

#[test]
fn scratch_comes_from_amd_queue_t() {
    private_array(false);
}

#[test]
fn scratch_is_asked_for_by_the_inactive_signal() {
    private_array(true);
}

/// Runs a kernel with an array in scratch memory, which the queue has or gets when it asks.
fn private_array(late: bool) {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let kernel = load(&p, "x_stack")["privarr.kd"];
    // private_segment_fixed_size.
    let private = rig.words(p.at(kernel) + 4, 1)[0];
    assert!(private >= 256, "the kernel keeps its array in scratch");
    let n = 512u32;
    let values: Vec<u32> = (0..n).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let (input, output) = (p.new_words(&values), p.alloc(4096));
    let mut explicit = pointers(&[input, output]);
    explicit.extend(n.to_le_bytes());
    let args = arguments(&p, &explicit, n, 64);
    // Eight waves of whole KiB.
    let kib = (u64::from(private) * 64).div_ceil(1024);
    let area = p.alloc(kib * 1024 * 8);
    let provide = || {
        rig.put_words(p.at(q.page + 0x8c), &[(8 | (kib << 12)) as u32]);
        rig.put_words(p.at(q.page + 0xa0), &[area as u32, (area >> 32) as u32]);
    };
    let (signal, inactive) = (p.signal(0), p.signal(7));
    p.set_value(inactive, 0);
    match late {
        true => rig.set_u64(p.at(q.page + 0xc0), inactive),
        false => provide(),
    }
    run(&rig, &[(&p, &[&q])]);
    q.push(
        dispatch(kernel, args, n, 64, signal)
            .with(KernelDispatch::PRIVATE_SEGMENT_SIZE, private)
            .0,
    );
    if late {
        // Bit 0: waves of 64 lanes.
        rig.wait("the question", || p.value(inactive) == 1);
        rig.wait("its event", || p.u64(inactive + 2048) == 7);
        let mut entry = None;
        rig.wait("its interrupt", || {
            entry = rig.interrupt();
            entry.is_some()
        });
        assert_eq!(entry.map(|e| e.1), Some(181));
        assert_eq!(p.value(signal), 1, "the dispatch waits");
        provide();
        p.set_value(inactive, 0);
    }
    p.wait(signal);
    let expected = (0..n).map(|i| {
        let mut a: Vec<u32> = (0..64).map(|k: usize| values[k].wrapping_mul(i)).collect();
        (0..64u32).fold(0u32, |s, k| {
            let q = ((s ^ k) & 63) as usize;
            let s = s.wrapping_add(a[q]);
            a[q] = s;
            s
        })
    });
    assert!(p.words(output, n as usize).into_iter().eq(expected));
    rig.clean();
}
