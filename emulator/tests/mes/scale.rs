// SPDX-License-Identifier: MIT OR Apache-2.0

//! Over-subscription at scale: 1,024 queues of 64 processes on the HQDs and VMIDs that MES has, and
//! the order in which levels get on.

use crate::process::{Process, Queue};
use crate::queues::set_up;
use crate::rig::*;
use rkfd_emulator::trace::Trace;
use rkfd_emulator_testkit::code;
use rkfd_emulator_testkit::fairness::{churned, switches, Progress, BOUND, PACKETS, ROUNDS};
use rkfd_emulator_testkit::packets::{dispatch, in_order};
use rkfd_hw::mes::op;
use rkfd_hw::mes::v12::AddQueue;
use std::rc::Rc;
use std::time::{Duration, Instant};

const ITEMS: u32 = 32;

/// Queues with work that are suspended, so that none begins before the others.
struct Crowd {
    rig: Rig,
    queues: Vec<Queue>,
    /// Where each process's kernels leave their results.
    outs: Vec<(Rc<Process>, u64)>,
    begin: Instant,
}

impl Crowd {
    /// So many processes with so many queues each; `level` gives each process' priority level.
    fn new(rig: Rig, processes: u32, queues: u32, level: impl Fn(u32) -> u32) -> Self {
        let (rig, memory) = set_up(rig);
        let (begin, none) = (Instant::now(), Vec::new());
        let mut crowd = Self {
            rig,
            queues: none,
            outs: Vec::new(),
            begin,
        };
        for n in 0..processes {
            let p = Process::saving(&memory, 0x8001 + n as u16);
            let kernel = p.load("loops", "churn.kd");
            let out = p.alloc(4096);
            let mut explicit = code::pointers(&[out]);
            explicit.extend(ROUNDS.to_le_bytes());
            let items = if level(n) > 1 { 2 * ITEMS } else { ITEMS };
            let args = p.arguments(&explicit, items, ITEMS as u16);
            let packet = in_order(dispatch(kernel, args, items, ITEMS, 0));
            for i in 0..queues {
                let bell = 0x1000 + 2 * (n * queues + i);
                let q = Queue::with_area(&p, bell, PACKETS, 0x1_0000);
                (0..PACKETS).for_each(|_| {
                    q.write(packet.0);
                });
                let frame = q.add().with(AddQueue::IS_GANG_SUSPENDED, true);
                let frame = frame.with(AddQueue::GANG_GLOBAL_PRIORITY_LEVEL, level(n));
                assert_eq!(crowd.rig.submit(0, &frame.0, 38), 1);
                crowd.queues.push(q);
            }
            crowd.outs.push((p, out));
        }
        crowd
    }

    /// Lets all of them begin (RESUME of all gangs).
    fn resume(&mut self) {
        assert_eq!(self.progress().total(), 0);
        self.begin = Instant::now();
        let all = frame(op::RESUME, &[(1, 1)]);
        assert_eq!(self.rig.submit(0, &all, 4), 1);
    }

    fn progress(&self) -> Progress {
        let read = |q: &Queue| q.process.u64(q.read_index());
        Progress(self.queues.iter().map(read).collect())
    }

    /// What was done when a condition was met.
    fn wait_for(&self, end: impl Fn(&Progress) -> bool) -> Progress {
        loop {
            let progress = self.progress();
            if end(&progress) {
                return progress;
            }
            let (lines, time) = (self.rig.lines(), self.begin.elapsed());
            assert!(time < Duration::from_secs(600), "{progress} {lines:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for all results, and compares them with the CPU's.
    fn check(&self) {
        let all = self.queues.len() as u64 * PACKETS;
        self.wait_for(|p| p.total() == all);
        for (p, out) in &self.outs {
            assert_eq!(p.words(*out, ITEMS as usize), churned(ITEMS));
        }
        self.rig.clean();
    }
}

#[test]
fn a_thousand_queues_of_64_processes_get_on() {
    let path = std::env::temp_dir().join(format!("rkfd-mes-scale-{}", std::process::id()));
    let trace = Trace::to_file(&path).unwrap();
    let mut crowd = Crowd::new(Rig::traced(trace.clone()), 64, 16, |_| 1);
    crowd.resume();
    let first = crowd.wait_for(Progress::is_over);
    crowd.check();
    let time = crowd.begin.elapsed();
    trace.flush();
    let switches = switches(&path);
    std::fs::remove_file(&path).unwrap();
    let count = crowd.queues.len();
    println!(
        "{count} queues, {} processes, 4 HQDs, 8 VMIDs: {switches} switches in {time:.1?}; {first}",
        crowd.outs.len(),
    );
    assert!(switches >= count, "every queue had its turn");
    assert!(first.share() >= BOUND, "{first}");
}

#[test]
fn queues_of_a_higher_level_are_done_first() {
    let (processes, queues, high) = (16, 4, 11);
    let path = std::env::temp_dir().join(format!("rkfd-mes-levels-{}", std::process::id()));
    let trace = Trace::to_file(&path).unwrap();
    let level = |n| if n == high { 3 } else { 1 };
    let mut crowd = Crowd::new(Rig::traced(trace.clone()), processes, queues, level);
    crowd.resume();
    crowd.check();
    trace.flush();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    // The order in which the device ended the dispatches; those of the high level have two
    // workgroups.
    let ends = text.lines().filter(|l| l.contains("\"dispatch_end\""));
    let high: Vec<bool> = ends.map(|l| l.contains("\"workgroups\":2,")).collect();
    let last = high.iter().rposition(|high| *high).unwrap();
    let of_high = high.iter().filter(|high| **high).count() as u64;
    assert_eq!(of_high, u64::from(queues) * PACKETS);
    let others = (last as u64 + 1 - of_high) as f64 / f64::from((processes - 1) * queues);
    println!(
        "when 4 queues of level 3 had done {PACKETS} dispatches each, those of level 1 had done \
         {others:.2} each"
    );
    assert!(others < PACKETS as f64 / 4.0);
}
