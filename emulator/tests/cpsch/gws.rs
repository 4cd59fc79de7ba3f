// SPDX-License-Identifier: MIT OR Apache-2.0

//! Global wave sync: barriers and semaphores among workgroups, of queues that were given some.

use crate::dispatches::vadd;
use crate::kernels::{arguments, load, pointers};
use crate::packets::unmap;
use crate::queues::*;
use crate::rig::Rig;
use rkfd_emulator::trace::Trace;
use rkfd_hw::pm4::*;
use std::collections::BTreeSet;
use std::time::Duration;

/// A run list of processes that each have a queue with so many resources.
fn listed(jobs: &[(&Process<'_>, &Queue<'_>)], count: u64) -> Vec<u32> {
    let mut words = Vec::new();
    for (process, queue) in jobs {
        let mut map = MapProcess::read(&process.map(1)).unwrap();
        map = map.try_with(MapProcess::NUM_GWS, count).unwrap();
        let mut queue = MapQueues::read(&queue.map()).unwrap();
        queue.set(MapQueues::GWS_CONTROL_QUEUE, true);
        words.extend(map.0.iter().chain(&queue.0));
    }
    words
}

/// Runs a list of one such queue and waits until it runs.
fn run_with(rig: &Rig, process: &Process<'_>, queue: &Queue<'_>, count: u64) {
    rig.run_list(&listed(&[(process, queue)], count), 1);
    rig.fence();
}

fn off(rig: &Rig) {
    rig.unmap();
    rig.fence();
}

/// Sets a resource of every XCC up.
fn init(p: &Process<'_>, value: u32, resource: u32, signal: u64) -> [u32; 16] {
    let items = 64 * u32::from(p.rig.chip().xccs());
    let explicit = [value, resource].map(u32::to_le_bytes).concat();
    let args = arguments(p, &explicit, items, 64);
    let mut packet = dispatch(load(p, "gws")["gws_init.kd"], args, items, 64, signal).0;
    packet[0] |= BARRIER_BIT;
    packet
}

/// A grid that exchanges words with its neighbours.
#[derive(Clone, Copy)]
struct Grid {
    groups: u32,
    /// Work-items of a workgroup.
    group: u32,
    rounds: u32,
    /// How far the neighbour is, in workgroups.
    stride: u32,
    resource: u32,
    /// Waves that meet.
    waves: u32,
    sync: bool,
}

const GRID: Grid = Grid {
    groups: 12,
    group: 128,
    rounds: 40,
    stride: 1,
    resource: 0,
    waves: 12,
    sync: true,
};

/// A grid at work.
struct Exchange {
    packet: [u32; 16],
    gate: u64,
    out: u64,
    grid: Grid,
}

impl Exchange {
    /// Its last workgroup waits at the gate, unless that is open.
    fn new(p: &Process<'_>, grid: Grid, open: bool, signal: u64) -> Self {
        let n = grid.groups * grid.group;
        let (words, out) = (p.alloc(u64::from(n) * 8), p.alloc(u64::from(n) * 4));
        let gate = p.new_words(&[open.into()]);
        let mut explicit = pointers(&[words, out, gate]);
        let values = [
            grid.rounds,
            grid.stride,
            grid.waves - 1,
            grid.resource,
            grid.sync.into(),
        ];
        explicit.extend(values.map(u32::to_le_bytes).concat());
        let args = arguments(p, &explicit, n, grid.group as u16);
        let kernel = load(p, "gws")["exchange.kd"];
        let mut packet = dispatch(kernel, args, n, grid.group, signal);
        packet.0[0] |= BARRIER_BIT;
        let packet = packet.0;
        Self {
            packet,
            gate,
            out,
            grid,
        }
    }

    fn open(&self, p: &Process<'_>) {
        p.rig.put_words(p.at(self.gate), &[1]);
    }

    /// Whether the words are those that the CPU gets.
    fn is_right(&self, p: &Process<'_>) -> bool {
        let Grid {
            groups,
            group,
            rounds,
            stride,
            ..
        } = self.grid;
        let n = (groups * group) as usize;
        let start: Vec<u32> = (0..n as u32).collect();
        let want = (0..rounds).fold(start, |x, _| {
            let other = |i: usize| x[(i + (stride * group) as usize) % n];
            let mixed = (0..n).map(|i| x[i].wrapping_mul(1_664_525).wrapping_add(other(i)));
            mixed.collect()
        });
        p.words(self.out, n) == want
    }
}

#[test]
fn workgroups_meet_at_a_barrier_and_without_it_they_do_not() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run_with(&rig, &p, &q, 64);
    for (resource, sync) in [(0, true), (63, true), (0, false)] {
        let signal = p.signal(0);
        let grid = Grid {
            resource,
            sync,
            ..GRID
        };
        let exchange = Exchange::new(&p, grid, true, signal);
        q.push(init(&p, grid.waves - 1, resource, 0));
        q.push(exchange.packet);
        p.wait(signal);
        assert_eq!(exchange.is_right(&p), sync);
    }
    rig.clean();
}

#[test]
fn a_semaphore_lets_one_wave_count_at_a_time() {
    let (rounds, items) = (10u32, 8 * 128);
    for places in [1, 64] {
        let rig = Rig::new();
        let p = Process::saving(&rig, 0x8001);
        let q = Queue::new(&p, 0x800, 16);
        run_with(&rig, &p, &q, 64);
        let (count, signal) = (p.new_words(&[0]), p.signal(0));
        let mut explicit = pointers(&[count]);
        explicit.extend([rounds, 5].map(u32::to_le_bytes).concat());
        let args = arguments(&p, &explicit, items, 128);
        q.push(init(&p, places, 5, 0));
        let kernel = load(&p, "gws")["locked.kd"];
        let mut packet = dispatch(kernel, args, items, 128, signal).0;
        packet[0] |= BARRIER_BIT;
        q.push(packet);
        p.wait(signal);
        // With places for many, some count what others have counted.
        let counted = p.words(count, 1)[0];
        assert_eq!(counted == items / 64 * rounds, places == 1, "{counted}");
        rig.clean();
    }
}

/// What a wave of a queue that was given `count` resources, or none, hears for `resource`.
fn refusal(count: Option<u64>, resource: u32) -> Option<String> {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    match count {
        Some(count) => run_with(&rig, &p, &q, count),
        None => run(&rig, &[(&p, &[&q])]),
    }
    let signal = p.signal(0);
    q.push(init(&p, 0, resource, signal));
    let mut entry = None;
    rig.wait("an end", || {
        entry = entry.or_else(|| rig.interrupt());
        entry.is_some() || p.value(signal) <= 0
    });
    let (client, source, _, _, pasid, data) = entry?;
    // The wave's error is a memory violation.
    assert_eq!((client, source, pasid), (0x0a, 239, 0x8001));
    assert_eq!((data[0] >> 26, data[1]), (2, 2 << 4));
    assert_eq!(p.value(signal), 1);
    let lines = rig.report.findings();

    lines
        .into_iter()
        .map(|f| f.text)
        .find(|line| line.contains("shader"))
}

#[test]
fn resources_that_a_queue_was_not_given_are_refused() {
    assert_eq!(refusal(Some(64), 63), None);
    assert_eq!(refusal(Some(4), 3), None);
    for (count, resource) in [(None, 0), (None, 63), (Some(4), 4), (Some(1), 63)] {
        let line = refusal(count, resource).expect("a fault");
        let want = format!("global wave sync: resource {resource} is beyond");
        assert!(line.contains(&want), "{line}");
    }
}

#[test]
fn waves_at_a_barrier_are_preempted_and_not_counted_twice() {
    let rig = Rig::new();
    let (p, other) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (q, second) = (Queue::new(&p, 0x800, 16), Queue::new(&other, 0x1000, 16));
    let signal = p.signal(0);
    let exchange = Exchange::new(&p, GRID, false, signal);
    run_with(&rig, &p, &q, 64);
    q.push(init(&p, GRID.waves - 1, 0, 0));
    q.push(exchange.packet);
    for _ in 0..3 {
        // All but the last workgroup come to the barrier.
        std::thread::sleep(Duration::from_millis(20));
        off(&rig);
        // Another process has all of them meanwhile, and its barriers are its own.
        run_with(&rig, &other, &second, 64);
        let done = other.signal(0);
        let whole = Exchange::new(&other, Grid { waves: 12, ..GRID }, true, done);
        second.push(init(&other, 11, 0, 0));
        second.push(whole.packet);
        other.wait(done);
        assert!(whole.is_right(&other));
        off(&rig);
        rig.run_list(&listed(&[(&p, &q)], 64), 1);
        rig.fence();
    }
    std::thread::sleep(Duration::from_millis(20));
    let rest = p.words(exchange.out, (GRID.groups * GRID.group) as usize);
    assert!(
        rest.iter().all(|&word| word == 0),
        "the barrier stayed shut"
    );
    exchange.open(&p);
    p.wait(signal);
    assert!(exchange.is_right(&p));
    rig.clean();
}

#[test]
fn a_barrier_is_kept_while_its_queue_is_off_with_nothing_to_do() {
    let rig = Rig::new();
    let (p, other) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (q, second) = (Queue::new(&p, 0x800, 16), Queue::new(&other, 0x1000, 16));
    let [ready, signal] = [p.signal(0), p.signal(0)];
    run_with(&rig, &p, &q, 64);
    q.push(init(&p, GRID.waves - 1, 9, ready));
    p.wait(ready);
    off(&rig);
    run_with(&rig, &other, &second, 64);
    let done = other.signal(0);
    second.push(init(&other, 3, 9, done));
    other.wait(done);
    off(&rig);
    run_with(&rig, &p, &q, 64);
    let exchange = Exchange::new(
        &p,
        Grid {
            resource: 9,
            ..GRID
        },
        true,
        signal,
    );
    q.push(exchange.packet);
    p.wait(signal);
    assert!(exchange.is_right(&p));
    rig.clean();
}

#[test]
fn queues_that_meet_take_turns() {
    let path = std::env::temp_dir().join(format!("rkfd-gws-{}", std::process::id()));
    let trace = Trace::to_file(&path).unwrap();
    let rig = Rig::traced(&[], trace.clone()).scheduling(0xfff8, 0xffff_ffff);
    let (a, b) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (qa, qb) = (Queue::new(&a, 0x800, 16), Queue::new(&b, 0x1000, 16));
    let jobs = [(&a, &qa), (&b, &qb)];
    rig.run_chained_list(&listed(&jobs, 64), 2);
    let work = jobs.map(|(p, q)| {
        let signal = p.signal(0);
        let grid = Grid {
            rounds: 400,
            ..GRID
        };
        let exchange = Exchange::new(p, grid, true, signal);
        q.push(init(p, GRID.waves - 1, 0, 0));
        q.push(exchange.packet);
        (p, signal, exchange)
    });
    for (p, signal, exchange) in work {
        p.wait(signal);
        assert!(exchange.is_right(p));
    }
    off(&rig);
    trace.flush();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    // There are 64: who comes finds the other one gone.
    let mut inside = BTreeSet::new();
    let mut came = BTreeSet::new();
    for line in text
        .lines()
        .filter(|line| line.contains("\"ev\":\"switch\""))
    {
        let pasid = [&a, &b].map(|p| line.contains(&format!("\"pasid\":{}", p.pasid)));
        if line.contains("\"way\":\"in\"") {
            inside.insert(pasid);
            came.insert(pasid);
        } else {
            inside.remove(&pasid);
        }
        assert!(inside.len() <= 1, "{text}");
    }
    assert_eq!(came.len(), 2, "{text}");
    rig.clean();
}

#[test]
fn a_grid_that_waits_in_vain_stops_neither_other_queues_nor_a_reset() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let (q, plain) = (Queue::new(&p, 0x800, 16), Queue::new(&p, 0x802, 16));
    let mut list = listed(&[(&p, &q)], 64);
    list.extend(plain.map());
    rig.run_list(&list, 1);
    rig.fence();
    let [never, signal] = [p.signal(0), p.signal(0)];
    // One more is to come than there are.
    let grid = Grid { waves: 13, ..GRID };
    q.push(init(&p, 12, 0, 0));
    q.push(Exchange::new(&p, grid, true, never).packet);
    std::thread::sleep(Duration::from_millis(20));
    let (packet, sums, expected) = vadd(&p, 5000, 4, signal);
    plain.push(packet.0);
    p.wait(signal);
    assert_eq!(p.words(sums, 5000), expected);
    assert_eq!(p.value(never), 1);
    rig.hiq(&unmap(SELECT_PASID, UNMAP_RESET, 0x8001));
    rig.fence();
    // Another queue of the process has them next.
    let next = Queue::new(&p, 0x804, 16);
    run_with(&rig, &p, &next, 64);
    let exchange = Exchange::new(&p, GRID, true, signal);
    p.set_value(signal, 1);
    next.push(init(&p, GRID.waves - 1, 0, 0));
    next.push(exchange.packet);
    p.wait(signal);
    assert!(exchange.is_right(&p));
    rig.clean();
}

#[test]
fn each_xcc_has_barriers_of_its_own() {
    let rig = Rig::spx();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run_with(&rig, &p, &q, 64);
    // Three workgroups of an XCC meet each other, whatever those of others do.
    let signal = p.signal(0);
    let grid = Grid {
        stride: 4,
        waves: 3,
        ..GRID
    };
    let exchange = Exchange::new(&p, grid, false, signal);
    q.push(init(&p, 2, 0, 0));
    q.push(exchange.packet);
    let n = (grid.groups * grid.group) as usize;
    let done = || p.words(exchange.out, n).iter().filter(|&&w| w != 0).count();
    rig.wait("three XCCs", || done() >= n / 4 * 3 - 4);
    for _ in 0..2 {
        off(&rig);
        run_with(&rig, &p, &q, 64);
        assert_eq!(p.value(signal), 1, "one waits for its last workgroup");
    }
    exchange.open(&p);
    p.wait(signal);
    assert!(exchange.is_right(&p));
    rig.clean();
}
