// SPDX-License-Identifier: MIT OR Apache-2.0

//! Performance counters: a program counts what its waves do by AMD's packets.

use crate::caches::hold_back;
use crate::dispatches::vadd;
use crate::queues::*;
use crate::rig::Rig;
use crate::vendor::pm4_ib;
use rkfd_emulator::chip::device::Checks;
use rkfd_emulator_testkit::cache_counters::{channels, sums as counted, vector, Block};
use rkfd_emulator_testkit::counters::{read_gfx942, start_gfx942, stop_gfx942, Mix};
use rkfd_hw::aql::KernelDispatch;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;

/// rocprofiler-sdk's SQ_WAVES, SQ_INSTS, _VALU, _VMEM_WR, _VMEM_RD, _SALU, _SMEM, _FLAT and _BRANCH of gfx942.
const EVENTS: [u32; 9] = [4, 25, 26, 57, 58, 60, 61, 62, 69];
const XCCS: usize = 4;
const ENGINES: usize = 4;

/// What they are for so many waves.
fn expected(waves: u64) -> [u64; 9] {
    let mix = Mix::of("vadd", "gfx942");
    let each = [
        1, mix.all, mix.valu, mix.store, mix.load, mix.salu, mix.smem, 0, mix.branch,
    ];
    each.map(|n| n * waves)
}

/// Executes commands in an AQL packet's buffer.
fn execute(q: &Queue<'_>, commands: &[u32]) {
    let p = q.process;
    let done = p.signal(0);
    q.push(pm4_ib(p.new_words(commands), commands.len(), done));
    p.wait(done);
}

/// The counters, by XCC, event and engine.
fn read(q: &Queue<'_>) -> Vec<u64> {
    let p = q.process;
    let count = XCCS * EVENTS.len() * ENGINES;
    let to = p.alloc(count as u64 * 8);
    execute(q, &read_gfx942(XCCS as u32, EVENTS.len(), to));
    let words = p.words(to, count * 2);
    let pairs = words.chunks(2);
    pairs
        .map(|both| u64::from(both[0]) | (u64::from(both[1]) << 32))
        .collect()
}

/// The sum of each event.
fn sums(counters: &[u64]) -> [u64; 9] {
    let mut sums = [0; 9];
    for (n, value) in counters.iter().enumerate() {
        sums[n / ENGINES % EVENTS.len()] += value;
    }
    sums
}

/// A vector addition of so many work-groups of four waves.
fn add(q: &Queue<'_>, groups: u32) {
    let done = q.process.signal(0);
    let (packet, ..) = vadd(q.process, 256 * groups, 1, done);
    q.push(packet.0);
    q.process.wait(done);
}

#[test]
fn a_program_counts_what_its_waves_do() {
    let rig = Rig::spx();
    let (p, other) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (q, second) = (Queue::new(&p, 0x800, 16), Queue::new(&other, 0x1000, 16));
    run(&rig, &[(&p, &[&q]), (&other, &[&second])]);
    execute(&q, &start_gfx942(&EVENTS));
    assert_eq!(sums(&read(&q)), [0; 9], "nothing has run");
    add(&q, 42);
    // Its queue's COMPUTE_PERFCOUNT_ENABLE is not set.
    add(&second, 40);
    let counters = read(&q);
    assert_eq!(sums(&counters), expected(168));
    // Work-groups go to the XCCs by turns, and on each to its engines: the first two have one more.
    let xccs = counters.chunks(EVENTS.len() * ENGINES);
    for (xcc, wanted) in xccs.zip([44, 44, 40, 40]) {
        let waves: Vec<u64> = xcc[..ENGINES].to_vec();
        assert_eq!(waves.iter().sum::<u64>(), wanted, "{waves:?}");
        assert!(waves.iter().all(|n| *n >= 8), "{waves:?}");
    }
    // A queue keeps its COMPUTE_PERFCOUNT_ENABLE.
    rig.unmap();
    rig.fence();
    run(&rig, &[(&p, &[&q])]);
    add(&q, 8);
    assert_eq!(sums(&read(&q)), expected(200), "they go on");
    execute(&q, &stop_gfx942());
    add(&q, 40);
    let state = read(&q);
    assert_eq!(sums(&state), expected(200), "they stood still");
    execute(&q, &start_gfx942(&EVENTS));
    assert_eq!(sums(&read(&q)), [0; 9], "they begin anew");
    rig.clean();
}

#[test]
fn a_driver_that_enables_them_in_the_mqd_needs_no_packet_for_it() {
    let rig = Rig::spx();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    q.change(|m| m.set(Mqd::COMPUTE_PERFCOUNT_ENABLE, 1));
    run(&rig, &[(&p, &[&q])]);
    let mut start = start_gfx942(&EVENTS);
    let enable = start.windows(2).position(|w| w == [0xc001_7600, 0x20b]);
    start.drain(enable.unwrap()..enable.unwrap() + 3);
    execute(&q, &start);
    add(&q, 4);
    assert_eq!(sums(&read(&q)), expected(16));
    rig.clean();
}

#[test]
fn an_event_that_is_not_modelled_is_named_and_counts_nothing() {
    let rig = Rig::spx();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    execute(&q, &start_gfx942(&[200, 4]));
    rig.faulted("SQ's event 200 is not modelled");
    add(&q, 4);
    let to = p.alloc(4096);
    execute(&q, &read_gfx942(1, 2, to));
    let words = p.words(to, 16);
    // Of the logical XCC 0: one work-group.
    let sum = |event: usize| words[8 * event..8 * event + 8].iter().sum::<u32>();
    assert_eq!((sum(0), sum(1)), (0, 4));
    rig.driver_is_right();
}

#[test]
fn other_registers_are_not_modelled_for_a_program() {
    let rig = Rig::spx();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    // SCRATCH_REG0 of `gc_9_4_3_offset.h`.
    let words = [0xc001_7900, 0x40, 1];
    q.push(pm4_ib(p.new_words(&words), words.len(), 0));
    rig.faulted("register 0xc040 is not modelled for a process");
    rig.driver_is_right();
}

/// Starts four events of caches, runs a vector addition twice, and gives the sums after each run. Its three arrays may be
/// held back by the second-level cache.
fn twice(block: &Block, events: [u32; 4], checks: Checks) -> [Vec<u64>; 2] {
    let rig = Rig::spx_checking(checks);
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let done = p.signal(0);
    let (packet, sums, expected) = vadd(&p, 256 * GROUPS, 1, done);
    let words = p.words(packet.get(KernelDispatch::KERNARG_ADDRESS), 6);
    for array in words.chunks(2) {
        let va = u64::from(array[0]) | (u64::from(array[1]) << 32);
        (0..BYTES)
            .step_by(4096)
            .for_each(|at| hold_back(&p, va + at));
    }
    run(&rig, &[(&p, &[&q])]);
    execute(&q, &block.start(&events));
    let read = || {
        let count = XCCS * events.len() * block.read.len();
        let to = p.alloc(count as u64 * 8);
        execute(&q, &block.read(XCCS as u32, events.len(), to));
        counted(&p.words(to, count * 2), events.len(), block.read.len())
    };
    assert_eq!(read(), [0; 4], "nothing has run");
    let both = [(); 2].map(|()| {
        p.set_value(done, 1);
        q.push(packet.0);
        p.wait(done);
        read()
    });
    assert!(p.words(sums, expected.len()) == expected, "the CPU's sums");
    rig.clean();
    both
}

/// Work-groups of four waves, and what each array of theirs takes: two lines of 128 bytes for a wave.
const GROUPS: u32 = 42;
const BYTES: u64 = 256 * 4 * GROUPS as u64;
const WAVES: u64 = 4 * GROUPS as u64;

#[test]
fn vector_caches_count_the_lines_that_a_wave_asks_for() {
    for checks in [Checks::default(), Checks::NONE] {
        // TCP_TOTAL_CACHE_ACCESSES, TCP_TCC_READ_REQ, TCP_TCC_WRITE_REQ and TCP_TCC_ATOMIC_WITHOUT_RET_REQ.
        let [first, both] = twice(&vector(true), [60, 65, 66, 68], checks);
        // Two loads and a store of 64 dwords, of lines that nobody else asks for.
        assert_eq!(first, [6 * WAVES, 4 * WAVES, 2 * WAVES, 0]);
        // The packet's acquire fence has dropped them.
        assert_eq!(both, first.iter().map(|n| 2 * n).collect::<Vec<_>>());
    }
}

#[test]
fn channels_find_what_was_there_before() {
    for checks in [Checks::default(), Checks::NONE] {
        // TCC_READ, TCC_WRITE, TCC_HIT and TCC_MISS.
        let [first, both] = twice(&channels(true), [12, 13, 17, 19], checks);
        let second: Vec<u64> = both.iter().zip(&first).map(|(b, a)| b - a).collect();
        for run in [&first, &second] {
            assert_eq!((run[1], run[2] + run[3]), (2 * WAVES, run[0] + run[1]));
            // Scalar loads of the arguments and the packet are a few lines for a work-group.
            let scalar = run[0] - 4 * WAVES;
            assert!((1..=8 * u64::from(GROUPS)).contains(&scalar), "{scalar}");
        }
        let scalar = second[0] - 4 * WAVES;
        assert!(first[3] >= 6 * WAVES, "nothing was there: {first:?}");
        assert!(second[2] >= 6 * WAVES, "all was there: {second:?}");
        assert!(second[3] <= scalar, "but uncached arguments: {second:?}");
    }
}

#[test]
fn cycles_of_a_cache_are_not_modelled() {
    let rig = Rig::spx();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    // TCC_CYCLE.
    execute(&q, &channels(true).start(&[1]));
    rig.faulted("TCC's event 1 is not modelled");
    rig.driver_is_right();
}
