// SPDX-License-Identifier: MIT OR Apache-2.0

//! Performance counters: a program counts what its waves do by AMD's packets.

use crate::process::{Process, Queue};
use crate::queues::start;
use rkfd_emulator_testkit::cache_counters::{channels, sums as counted, vector, Block};
use rkfd_emulator_testkit::counters::{read_gfx1201, start_gfx1201, Mix, PROCESSORS};
use rkfd_emulator_testkit::packets::pm4_ib;
use rkfd_hw::aql::KernelDispatch;

/// Linux's SQ_PERF_SEL_WAVES, _WAVES_32, _INSTS_ALL, _VALU, _SALU, _SMEM, _TEX_LOAD and _TEX_STORE (`soc24_enum.h`).
const EVENTS: [u32; 8] = [4, 5, 0x27, 0x32, 0x2e, 0x2f, 0x36, 0x37];

fn execute(q: &Queue, commands: &[u32]) {
    let p = &q.process;
    let done = p.signal(0);
    q.push(pm4_ib(p.new_words(commands), commands.len(), done));
    p.wait(done);
}

/// The counters, by event and work-group processor.
fn read(q: &Queue) -> Vec<u32> {
    let p = &q.process;
    let count = EVENTS.len() * PROCESSORS;
    let to = p.alloc(count as u64 * 8);
    execute(q, &read_gfx1201(EVENTS.len(), to));
    p.words(to, count * 2).into_iter().step_by(2).collect()
}

/// Checks that so many waves of a vector addition were counted.
fn assert_counted(counters: &[u32], waves: u64) {
    let mix = Mix::of("vadd", "gfx1201");
    let each = [
        1, 1, mix.all, mix.valu, mix.salu, mix.smem, mix.load, mix.store,
    ];
    for (event, (found, each)) in counters.chunks(PROCESSORS).zip(each).enumerate() {
        let sum: u64 = found.iter().map(|n| u64::from(*n)).sum();
        assert_eq!(sum, each * waves, "event {:#x}: {found:?}", EVENTS[event]);
    }
}

/// 128 work-groups of 256, in waves of 32.
fn add(q: &Queue) {
    let done = q.process.signal(0);
    let (packet, ..) = q.process.vadd(256 * 128, 1, done);
    q.push(packet.0);
    q.process.wait(done);
}

const WAVES: u64 = 1024;

#[test]
fn a_program_counts_what_waves_do() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let (q, second) = (Queue::new(&p, 0x1000, 16), Queue::new(&p, 0x1002, 16));
    rig.add(&q);
    rig.add(&second);
    execute(&q, &start_gfx1201(&EVENTS));
    assert_counted(&read(&q), 0);
    add(&q);
    // FORCE_EN of SQ_PERFCOUNTER_CTRL2 counts queues that don't ask for it, too.
    add(&second);
    let counters = read(&q);
    assert_counted(&counters, 2 * WAVES);
    let waves = &counters[..PROCESSORS];
    assert!(waves.iter().all(|n| *n >= 32), "each has some: {waves:?}");
    rig.clean();
}

#[test]
fn without_force_only_queues_are_counted_that_ask_for_it() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let (q, second) = (Queue::new(&p, 0x1000, 16), Queue::new(&p, 0x1002, 16));
    rig.add(&q);
    rig.add(&second);
    let mut words = start_gfx1201(&EVENTS);
    let forced = words.iter_mut().filter(|word| **word == 0x1_ffff);
    forced.for_each(|word| *word -= 1);
    execute(&q, &words);
    add(&q);
    add(&second);
    assert_counted(&read(&q), WAVES);
    rig.clean();
}

/// Starts four events of caches, runs a vector addition twice, and gives the sums after each run. Its three arrays may be
/// held back by the second-level cache.
fn twice(block: &Block, events: [u32; 4]) -> [Vec<u64>; 2] {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    let done = p.signal(0);
    let (packet, sums, expected) = p.vadd(256 * 128, 1, done);
    let words = p.words(packet.get(KernelDispatch::KERNARG_ADDRESS), 6);
    for array in words.chunks(2) {
        let va = u64::from(array[0]) | (u64::from(array[1]) << 32);
        (0..4 * 256 * 128)
            .step_by(4096)
            .for_each(|at| p.hold_back(va + at));
    }
    rig.add(&q);
    execute(&q, &block.start(&events));
    let read = || {
        let count = events.len() * block.read.len();
        let to = p.alloc(count as u64 * 8);
        execute(&q, &block.read(1, events.len(), to));
        counted(&p.words(to, count * 2), events.len(), block.read.len())
    };
    assert_eq!(read(), [0; 4], "nothing has run");
    let both = [(); 2].map(|()| {
        memory.set_u64(p.at(done + 8), 1);
        q.push(packet.0);
        p.wait(done);
        read()
    });
    assert!(p.words(sums, expected.len()) == expected, "the CPU's sums");
    rig.clean();
    both
}

#[test]
fn vector_caches_count_the_lines_that_a_wave_asks_for() {
    // TCP_PERF_SEL_REQ, _REQ_READ, _REQ_WRITE and _REQ_READ_MISS_EVICT: two loads and a store of 32 dwords.
    let [first, both] = twice(&vector(false), [0x09, 0x0a, 0x0e, 0x0d]);
    assert_eq!(first, [3 * WAVES, 2 * WAVES, WAVES, 2 * WAVES]);
    assert_eq!(both, first.iter().map(|n| 2 * n).collect::<Vec<_>>());
}

#[test]
fn channels_find_what_was_there_before() {
    // GL2C_PERF_SEL_READ, _WRITE, _HIT and _MISS.
    let [first, both] = twice(&channels(false), [0x06, 0x07, 0x27, 0x28]);
    let second: Vec<u64> = both.iter().zip(&first).map(|(b, a)| b - a).collect();
    for run in [&first, &second] {
        assert_eq!((run[1], run[2] + run[3]), (WAVES, run[0] + run[1]));
        let scalar = run[0] - 2 * WAVES;
        assert!((1..=8 * 128).contains(&scalar), "{scalar}");
    }
    let scalar = second[0] - 2 * WAVES;
    assert!(first[3] >= 3 * WAVES, "nothing was there: {first:?}");
    assert!(second[2] >= 3 * WAVES, "all was there: {second:?}");
    assert!(second[3] <= scalar, "but uncached arguments: {second:?}");
}
