// SPDX-License-Identifier: MIT OR Apache-2.0

//! Over-subscription at scale: 1,024 queues of 64 processes on the HQDs and VMIDs that there are.

use super::kernels::{arguments, load, pointers};
use super::queues::*;
use super::rig::Rig;
use crate::trace::Trace;
use std::time::{Duration, Instant};

const PROCESSES: u16 = 64;
const QUEUES: u32 = 16;
/// Packets of each queue, and rounds of the kernel's loop in one: together some workers' turns.
const PACKETS: u64 = 8;
const ROUNDS: u32 = 3000;
const ITEMS: u32 = 64;

/// What `churn` leaves for a work-item.
fn churned(item: u32) -> u32 {
    (0..ROUNDS).fold(item, |x, _| {
        x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
    })
}

/// Lines of a trace that say that a queue was switched in.
fn switches(path: &std::path::Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| line.contains("\"switch\""));
    lines.filter(|line| line.contains("\"in\"")).count()
}

#[test]
fn a_thousand_queues_of_64_processes_get_on() {
    let path = std::env::temp_dir().join(format!("rkfd-scale-{}", std::process::id()));
    let trace = Trace::to_file(&path).unwrap();
    let rig = Rig::traced(&[], trace.clone()).scheduling(0xfff8, 0xff_ffff);
    let processes: Vec<_> = (0..PROCESSES)
        .map(|n| Process::new(&rig, 0x8001 + n))
        .collect();
    let mut words = Vec::new();
    let mut all = Vec::new();
    for (n, p) in (0..).zip(&processes) {
        let kernel = load(p, "loops")["churn.kd"];
        let out = p.alloc(4096);
        let mut explicit = pointers(&[out]);
        explicit.extend(ROUNDS.to_le_bytes());
        let args = arguments(p, &explicit, ITEMS, ITEMS as u16);
        let queues: Vec<_> = (0..QUEUES)
            .map(|i| Queue::with_area(p, 0x800 + 2 * (n * QUEUES + i), PACKETS, 0x1_0000))
            .collect();
        for q in &queues {
            let packet = dispatch(kernel, args, ITEMS, ITEMS, 0);
            (0..PACKETS).for_each(|_| {
                q.write(packet.0);
            });
        }
        words.extend(list(&[(p, &queues.iter().collect::<Vec<_>>())]));
        all.push((p, queues, out));
    }
    let count = usize::from(PROCESSES) * QUEUES as usize;
    let done = || -> Vec<u64> {
        let queues = all
            .iter()
            .flat_map(|(p, queues, _)| queues.iter().map(move |q| (p, q)));
        queues.map(|(p, q)| p.u64(q.read_index())).collect()
    };
    let begin = Instant::now();
    rig.run_chained_list(&words, 13);
    // Half of all packets, then all of them.
    let wait_for = |packets: u64| loop {
        let done = done();
        if done.iter().sum::<u64>() >= packets {
            return done;
        }
        let (lines, time) = (rig.report.lines(), begin.elapsed());
        assert!(time < Duration::from_secs(600), "{done:?} {lines:?}");
        std::thread::sleep(Duration::from_millis(5));
    };
    let total = count as u64 * PACKETS;
    let half = wait_for(total / 2);
    wait_for(total);
    let time = begin.elapsed();
    let (slowest, fastest) = (half.iter().min().unwrap(), half.iter().max().unwrap());
    let mean = half.iter().sum::<u64>() as f64 / count as f64;
    let share = *slowest as f64 / mean;
    rig.unmap();
    rig.fence();
    trace.flush();
    let switches = switches(&path);
    std::fs::remove_file(&path).unwrap();
    println!(
        "{count} queues, {PROCESSES} processes, 24 HQDs, 13 VMIDs: {switches} switches in \
         {time:.1?}; when half of the {total} dispatches were done: slowest queue {slowest}, \
         fastest {fastest}, mean {mean:.2}; the slowest queue's share {share:.2}"
    );
    for (p, queues, out) in &all {
        let expected: Vec<u32> = (0..ITEMS).map(churned).collect();
        assert_eq!(p.words(*out, ITEMS as usize), expected);
        assert!(queues.iter().all(|q| p.u64(q.read_index()) == PACKETS));
    }
    assert!(switches >= count, "every queue had its turn");
    assert!(share >= 0.25, "the slowest queue's share is {share:.2}");
    rig.clean();
}
