// SPDX-License-Identifier: MIT OR Apache-2.0

//! Over-subscription at scale: 1,024 queues of 64 processes on the HQDs and VMIDs that there are.

use crate::kernels::{arguments, load, pointers};
use crate::queues::*;
use crate::rig::Rig;
use rkfd_emulator::trace::Trace;
use rkfd_emulator_testkit::fairness::{churned, switches, Progress, BOUND, PACKETS, ROUNDS};
use std::time::{Duration, Instant};

const PROCESSES: u16 = 64;
const QUEUES: u32 = 16;
const ITEMS: u32 = 64;

#[test]
fn a_thousand_queues_of_64_processes_get_on() {
    let path = std::env::temp_dir().join(format!("rkfd-scale-{}", std::process::id()));
    let trace = Trace::to_file(&path).unwrap();
    let rig = Rig::traced(&[], trace.clone()).scheduling(0xfff8, 0xff_ffff);
    let processes: Vec<_> = (0..PROCESSES)
        .map(|n| Process::saving(&rig, 0x8001 + n))
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
            let packet = in_order(dispatch(kernel, args, ITEMS, ITEMS, 0));
            (0..PACKETS).for_each(|_| {
                q.write(packet.0);
            });
        }
        words.extend(list(&[(p, &queues.iter().collect::<Vec<_>>())]));
        all.push((p, queues, out));
    }
    let count = usize::from(PROCESSES) * QUEUES as usize;
    let progress = || -> Progress {
        let queues = all
            .iter()
            .flat_map(|(p, queues, _)| queues.iter().map(move |q| (p, q)));
        Progress(queues.map(|(p, q)| p.u64(q.read_index())).collect())
    };
    let begin = Instant::now();
    rig.run_chained_list(&words, 13);
    let wait_for = |end: &dyn Fn(&Progress) -> bool| loop {
        let progress = progress();
        if end(&progress) {
            return progress;
        }
        let (lines, time) = (rig.report.findings(), begin.elapsed());
        // A queue that was stopped for what it did doesn't go on.
        assert!(lines.is_empty(), "{progress} {lines:?}");
        assert!(time < Duration::from_secs(600), "{progress}");
        std::thread::sleep(Duration::from_millis(1));
    };
    let first = wait_for(&Progress::is_over);
    wait_for(&|p| p.total() == count as u64 * PACKETS);
    let time = begin.elapsed();
    rig.unmap();
    rig.fence();
    trace.flush();
    let switches = switches(&path);
    std::fs::remove_file(&path).unwrap();
    println!(
        "{count} queues, {PROCESSES} processes, 24 HQDs, 13 VMIDs: {switches} switches in \
         {time:.1?}; {first}"
    );
    for (p, queues, out) in &all {
        assert_eq!(p.words(*out, ITEMS as usize), churned(ITEMS));
        assert!(queues.iter().all(|q| p.u64(q.read_index()) == PACKETS));
    }
    assert!(switches >= count, "every queue had its turn");
    assert!(first.share() >= BOUND, "{first}");
    rig.clean();
}
