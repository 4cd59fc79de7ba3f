// SPDX-License-Identifier: MIT OR Apache-2.0

//! Caches on gfx12: an acquire fence drops those of the first level, and ACQUIRE_MEM those that its GCR_CNTL names. A
//! release of the system writes the second level back, which all of the device shares.

use crate::process::{Process, Queue};
use crate::queues::start;
use rkfd_hw::aql::KernelDispatch as K;

const ITEMS: usize = 256;

#[test]
fn acquires_drop_the_vector_cache() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 256);
    rig.add(&q);
    let signal = p.signal(0);
    let (packet, sums, _) = p.vadd(ITEMS as u32, 1, signal);
    // The kernel's arguments begin with the two addends' addresses.
    let words = p.words(packet.get(K::KERNARG_ADDRESS), 4);
    let address = |n: usize| u64::from(words[n]) | (u64::from(words[n + 1]) << 32);
    let fill = |va: u64, value: f32| p.put(va, &value.to_le_bytes().repeat(ITEMS));
    fill(address(2), 1.0);
    // One dispatch more than the device can have threads for compute units: two of them use the same caches.
    let often = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) + 1;
    let (mut addend, mut taken) = (5.0, 0);
    // With an acquire fence of a scope in the packet, and an ACQUIRE_MEM before it.
    let mut right = |scope: u16, gcr: u32| {
        let header = packet.get(K::HEADER) as u16 & !(3 << 9);
        // Bit 8: what is before it is complete.
        let packet = packet.with(K::HEADER, header | (scope << 9) | (1 << 8));
        let acquire = p.new_words(&[0xc006_5800, 0, u32::MAX, 0xff, 0, 0, 0, gcr]);
        let each = (0..often).filter(|_| {
            addend += 1.0;
            fill(address(0), addend);
            memory.set_u64(p.at(signal + 8), 1);
            let mut commands = [0; 16];
            commands[0] = 1 << 16;
            commands[1] = 0xc002_3f00;
            commands[2] = acquire as u32;
            commands[3] = (acquire >> 32) as u32;
            commands[4] = 8 | (1 << 23);
            commands[5] = 10;
            q.push(commands);
            q.push(packet.0);
            p.wait(signal);
            taken += 2;
            memory.wait("the read index", || p.u64(q.read_index()) == taken);
            p.words(sums, ITEMS) == [(addend + 1.0).to_bits(); ITEMS]
        });
        each.count()
    };
    // GLI_INV is 1, GLK_INV bit 7, GLV_INV bit 8, GL2_INV bit 14.
    let others = 1 | (1 << 7) | (1 << 14);
    let without = right(0, others);
    assert!(without < often, "{without} of {often} for other caches");
    assert_eq!(right(0, 1 << 8), often);
    assert_eq!([right(1, others), right(2, others)], [often; 2]);
    rig.clean();
}

#[test]
fn a_release_of_the_system_writes_back() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 256);
    let signal = p.signal(0);
    let (packet, sums, expected) = p.vadd(ITEMS as u32, 1, signal);
    p.hold_back(sums);
    rig.add(&q);
    // Bits 12:11 are the release fence's scope: none, the agent, the system.
    for (scope, written) in [(0, false), (1, false), (2, true)] {
        p.put(sums, &[0; 4 * ITEMS]);
        memory.set_u64(p.at(signal + 8), 1);
        let header = packet.get(K::HEADER) as u16 & !(3 << 11);
        q.push(packet.with(K::HEADER, header | (scope << 11)).0);
        p.wait(signal);
        let stored = p.words(sums, ITEMS);
        let same = if written {
            stored == expected
        } else {
            stored == [0; ITEMS]
        };
        assert!(same, "release {scope}");
    }
    rig.clean();
}
