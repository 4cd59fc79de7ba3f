// SPDX-License-Identifier: MIT OR Apache-2.0

//! Performance counters: a program counts what its waves do by AMD's packets.

use crate::process::{Process, Queue};
use crate::queues::start;
use rkfd_emulator_testkit::counters::{read_gfx1201, start_gfx1201, Mix, PROCESSORS};
use rkfd_emulator_testkit::packets::pm4_ib;

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
