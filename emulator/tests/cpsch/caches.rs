// SPDX-License-Identifier: MIT OR Apache-2.0

//! Caches live longer than a dispatch. What has changed in memory since is seen only after an acquire, by an AQL
//! packet's fence or by ACQUIRE_MEM; what a kernel has stored is in memory only after a release, by a packet's fence
//! or by RELEASE_MEM.

use crate::commands::start;
use crate::dispatches::vadd;
use crate::packets::CACHED;
use crate::queues::*;
use crate::rig::Rig;
use crate::vendor::{packet3, release};
use rkfd_hw::aql::KernelDispatch as K;

const ITEMS: usize = 256;

/// A vadd whose second addend is the same in all items.
struct Sums<'a> {
    p: &'a Process<'a>,
    packet: K,
    first: u64,
    sums: u64,
}

impl<'a> Sums<'a> {
    fn new(p: &'a Process<'a>, signal: u64) -> Self {
        let (packet, sums, _) = vadd(p, ITEMS as u32, 1, signal);
        // The kernel's arguments begin with the two addends' addresses.
        let words = p.words(packet.get(K::KERNARG_ADDRESS), 4);
        let address = |n: usize| u64::from(words[n]) | (u64::from(words[n + 1]) << 32);
        p.rig.put_words(p.at(address(2)), &[1f32.to_bits(); ITEMS]);
        Self {
            p,
            packet,
            first: address(0),
            sums,
        }
    }

    /// Another agent changes the first addend.
    fn change(&self, to: f32) {
        self.p
            .rig
            .put_words(self.p.at(self.first), &[to.to_bits(); ITEMS]);
    }

    /// Whether the sums are those of that addend.
    fn are_of(&self, addend: f32) -> bool {
        self.p.words(self.sums, ITEMS) == [(addend + 1.0).to_bits(); ITEMS]
    }
}

/// One dispatch more than the device can have threads for compute units: two of them use the same caches.
fn often() -> std::ops::Range<usize> {
    0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) + 1
}

#[test]
fn a_packets_acquire_fence_drops_what_changed_since() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 64);
    let signal = p.signal(0);
    run(&rig, &[(&p, &[&q])]);
    let sums = Sums::new(&p, signal);
    // Bits 10:9 are the acquire fence's scope: none, the agent, the system.
    let right = |scope: u16| {
        let header = sums.packet.get(K::HEADER) as u16 & !(3 << 9);
        let packet = sums.packet.with(K::HEADER, header | (scope << 9));
        let each = often().filter(|n| {
            let addend = (10 * usize::from(scope) + n) as f32 + 5.0;
            sums.change(addend);
            p.set_value(signal, 1);
            q.push(packet.0);
            p.wait(signal);
            sums.are_of(addend)
        });
        each.count()
    };
    let all = often().count();
    let without = right(0);
    assert!(without < all, "{without} of {all} without an acquire");
    assert_eq!([right(1), right(2)], [all; 2]);
    rig.clean();
}

#[test]
fn acquire_mem_drops_the_caches_that_it_names() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::pm4(&p, 0x800, 4096);
    run(&rig, &[(&p, &[&q])]);
    let sums = Sums::new(&p, 0);
    let done = p.alloc(4096);
    let mut count = 0;
    // CP_COHER_CNTL: TCL1_ACTION_ENA is bit 22, TC_ACTION_ENA 23, SH_KCACHE_ACTION_ENA 27.
    let mut right = |coher: u32| {
        let each = often().filter(|_| {
            count += 1;
            let addend = count as f32 + 5.0;
            sums.change(addend);
            let mut commands = vec![packet3(0x58, 5), coher, u32::MAX, 0xff_ffff, 0, 0, 10];
            commands.extend(start(&p, &sums.packet));
            commands.extend(release(done, count, 0));
            q.submit(&commands);
            rig.wait("the end of pipe", || p.u64(done) == count);
            sums.are_of(addend)
        });
        each.count()
    };
    let all = often().count();
    // The first one finds nothing old.
    right(1 << 22);
    let without = right((1 << 27) | (1 << 23));
    assert!(without < all, "{without} of {all} for other caches");
    assert_eq!(right(1 << 22), all);
    rig.clean();
}

/// Lets the second-level cache hold a page of the process back.
pub fn hold_back(p: &Process<'_>, va: u64) {
    p.map_page(va, p.at(va), CACHED);
}

/// Release fences of packets, by scope: whether what the kernel has stored is in memory then.
fn released(rig: &Rig, scopes: &[(u16, bool)]) {
    let p = Process::saving(rig, 0x8001);
    let q = Queue::new(&p, 0x800, 64);
    let signal = p.signal(0);
    let (packet, sums, expected) = vadd(&p, ITEMS as u32, 1, signal);
    hold_back(&p, sums);
    run(rig, &[(&p, &[&q])]);
    // Bits 12:11 are the release fence's scope: none, the agent, the system.
    for &(scope, written) in scopes {
        rig.put_words(p.at(sums), &[0; ITEMS]);
        p.set_value(signal, 1);
        let header = packet.get(K::HEADER) as u16 & !(3 << 11);
        q.push(packet.with(K::HEADER, header | (scope << 11)).0);
        p.wait(signal);
        let memory = p.words(sums, ITEMS);
        let same = match written {
            true => memory == expected,
            false => memory == [0; ITEMS],
        };
        assert!(same, "release {scope}");
        // What is held back must not come later.
        p.set_value(signal, 1);
        q.push(barrier(rkfd_hw::aql::TYPE_BARRIER_AND, &[], signal));
        p.wait(signal);
        let memory = p.words(sums, ITEMS);
        assert!(memory == expected, "release {scope}, then of a barrier");
    }
    rig.clean();
}

#[test]
fn a_packets_release_fence_writes_back_what_it_reaches_beyond() {
    // With one second-level cache a release of the agent has nothing to write back.
    released(&Rig::new(), &[(0, false), (1, false), (2, true)]);
    released(&Rig::spx(), &[(0, false), (1, true), (2, true)]);
}

#[test]
fn release_mem_writes_back_what_it_is_told_to() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::pm4(&p, 0x800, 4096);
    let (packet, sums, expected) = vadd(&p, ITEMS as u32, 1, 0);
    hold_back(&p, sums);
    run(&rig, &[(&p, &[&q])]);
    let done = p.alloc(4096);
    // EOP_TC_WB_ACTION_EN is bit 15. EOP_TC_ACTION_EN is 17: Linux never sets it without the other
    // (`gfx_v9_4_3_ring_emit_fence`).
    for (count, (actions, written)) in (1..).zip([(0, false), (1 << 17, false), (1 << 15, true)]) {
        rig.put_words(p.at(sums), &[0; ITEMS]);
        let mut commands = start(&p, &packet);
        let mut end = release(done, count, 0);
        end[1] = end[1] & !((1 << 15) | (1 << 17)) | actions;
        commands.extend(end);
        q.submit(&commands);
        rig.wait("the end of pipe", || p.u64(done) == count);
        let memory = p.words(sums, ITEMS);
        let same = if written {
            memory == expected
        } else {
            memory == [0; ITEMS]
        };
        assert!(same, "actions {actions:#x}");
    }
    rig.clean();
}

/// What memory has of a kernel's sums after a packet that releases nothing, and something else.
fn kept_after(rig: &Rig, then: impl FnOnce()) -> (Vec<u32>, Vec<u32>) {
    let p = Process::saving(rig, 0x8001);
    let q = Queue::new(&p, 0x800, 64);
    let signal = p.signal(0);
    let (packet, sums, expected) = vadd(&p, ITEMS as u32, 1, signal);
    hold_back(&p, sums);
    run(rig, &[(&p, &[&q])]);
    let header = packet.get(K::HEADER) as u16 & !(3 << 11);
    q.push(packet.with(K::HEADER, header).0);
    p.wait(signal);
    assert_eq!(p.words(sums, ITEMS), [0; ITEMS]);
    then();
    (p.words(sums, ITEMS), expected)
}

#[test]
fn a_queue_that_leaves_holds_nothing_back() {
    let rig = Rig::new();
    let (memory, expected) = kept_after(&rig, || {
        rig.unmap();
        rig.fence();
    });
    assert!(memory == expected);
    rig.clean();
}

/// By then the memory may be somebody else's.
#[test]
fn a_reset_loses_what_is_held_back() {
    let rig = Rig::new();
    let (memory, _) = kept_after(&rig, || rig.device.reset_function());
    assert_eq!(memory, [0; ITEMS]);
}
