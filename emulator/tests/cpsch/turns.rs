// SPDX-License-Identifier: MIT OR Apache-2.0

//! Over-subscription: chained run lists whose queues and processes take turns.

use crate::dispatches::vadd;
use crate::kernels::{arguments, load, pointers};
use crate::packets::unmap;
use crate::preemption::spin;
use crate::queues::*;
use crate::rig::Rig;
use rkfd_emulator::trace::Trace;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pm4::*;
use rkfd_hw::regs::gc_9_4_3 as gc;
use rkfd_hw::regs::Value;
use std::time::{Duration, Instant};

const ALL_VMIDS: u32 = 0xfff8;

/// A small dispatch that was pushed.
struct Job<'a> {
    p: &'a Process<'a>,
    signal: u64,
    sums: u64,
    expected: Vec<u32>,
}

impl<'a> Job<'a> {
    fn push(q: &Queue<'a>, seed: u32) -> Self {
        let (p, signal) = (q.process, q.process.signal(0));
        let (packet, sums, expected) = vadd(p, 256, seed, signal);
        q.push(packet.0);
        Job {
            p,
            signal,
            sums,
            expected,
        }
    }

    fn check(&self) {
        self.p.wait(self.signal);
        assert_eq!(self.p.words(self.sums, 256), self.expected);
    }
}

fn queues<'a>(p: &'a Process<'a>, bell: u32, n: u32) -> Vec<Queue<'a>> {
    (0..n).map(|i| Queue::new(p, bell + 2 * i, 16)).collect()
}

fn chain(rig: &Rig, lists: &[(&Process<'_>, &[Queue<'_>])], processes: u64) {
    let mut words = Vec::new();
    for (p, queues) in lists {
        words.extend(list(&[(p, &queues.iter().collect::<Vec<_>>())]));
    }
    rig.run_chained_list(&words, processes);
    rig.fence();
}

fn many_queues_finish(hqds: u64) {
    let rig = Rig::with(&[], ALL_VMIDS, hqds);
    let p = Process::saving(&rig, 0x8001);
    let all = queues(&p, 0x800, 64);
    // Some are rung before they are listed, most later, while they may have no HQD.
    let early: Vec<_> = all[40..].iter().map(|q| Job::push(q, 5)).collect();
    chain(&rig, &[(&p, &all)], 1);
    early.iter().for_each(Job::check);
    for round in 0..2 {
        let jobs: Vec<_> = (0u32..)
            .zip(&all)
            .map(|(n, q)| Job::push(q, 100 * round + n))
            .collect();
        jobs.iter().for_each(Job::check);
    }
    for q in &all {
        rig.wait("the read index", || p.u64(q.read_index()) == q.index.get());
    }
    rig.unmap();
    rig.fence();
    assert!(all.iter().all(|q| q.image().get(Mqd::CP_HQD_ACTIVE) == 0));
    assert_eq!(rig.device.soc.pasids.vmids_of(0x8001), 0);
    rig.clean();
}

#[test]
fn sixty_four_queues_finish_on_24_hqds() {
    many_queues_finish(0xff_ffff);
}

#[test]
fn sixty_four_queues_finish_on_32_hqds() {
    many_queues_finish(0xffff_ffff);
}

#[test]
fn twenty_processes_take_turns_on_13_vmids() {
    let rig = Rig::new();
    let processes: Vec<_> = (0..20).map(|n| Process::saving(&rig, 0x8001 + n)).collect();
    let all: Vec<_> = (0..)
        .zip(&processes)
        .map(|(n, p)| queues(p, 0x800 + 0x80 * n, 2))
        .collect();
    let lists: Vec<_> = processes
        .iter()
        .zip(&all)
        .map(|(p, q)| (p, q.as_slice()))
        .collect();
    chain(&rig, &lists, 13);
    for round in 0..3 {
        let jobs: Vec<_> = (0u32..)
            .zip(all.iter().flatten())
            .map(|(n, q)| Job::push(q, 100 * round + n))
            .collect();
        jobs.iter().for_each(Job::check);
    }
    rig.unmap();
    rig.fence();
    assert!((0..20).all(|n| rig.device.soc.pasids.vmids_of(0x8001 + n) == 0));
    rig.clean();
}

#[test]
fn endless_kernels_starve_neither_queues_nor_processes() {
    // As many endless kernels as HQDs and more, in more processes than VMIDs.
    let rig = Rig::with(&[], 3 << 8, 0xf);
    let processes: Vec<_> = (0..3).map(|n| Process::saving(&rig, 0x8001 + n)).collect();
    let all: Vec<_> = (0..)
        .zip(&processes)
        .map(|(n, p)| queues(p, 0x800 + 0x80 * n, 4))
        .collect();
    let lists: Vec<_> = processes
        .iter()
        .zip(&all)
        .map(|(p, q)| (p, q.as_slice()))
        .collect();
    let mut endless = Vec::new();
    for (p, queues) in &lists {
        for q in &queues[..2] {
            let signal = p.signal(0);
            let (packet, flag) = spin(p, signal);
            q.push(packet.0);
            endless.push((*p, signal, flag));
        }
    }
    chain(&rig, &lists, 2);
    for round in 0..3 {
        let short = lists.iter().flat_map(|(_, queues)| &queues[2..]);
        let jobs: Vec<_> = short.map(|q| Job::push(q, round)).collect();
        jobs.iter().for_each(Job::check);
    }
    for &(p, signal, flag) in &endless {
        assert_eq!(p.value(signal), 1);
        rig.put_words(p.at(flag), &[1]);
    }
    endless.iter().for_each(|&(p, signal, _)| p.wait(signal));
    rig.unmap();
    rig.fence();
    rig.clean();
}

#[test]
fn a_queue_of_high_priority_is_done_first() {
    const PACKETS: u64 = 6;
    let path = std::env::temp_dir().join(format!("rkfd-priority-{}", std::process::id()));
    let trace = Trace::to_file(&path).unwrap();
    let rig = Rig::traced(&[], trace.clone()).scheduling(ALL_VMIDS, 0xffff_ffff);
    let p = Process::saving(&rig, 0x8001);
    let all = queues(&p, 0x800, 2);
    let [low, high] = [&all[0], &all[1]];
    // So many workgroups that the time between two packets, in which the other queue gets on, is short
    // beside a packet's; the device's trace names the queues by their number.
    let groups = [(low, 0, 256u32), (high, 2, 255)];
    for (q, priority, groups) in groups {
        q.change(|m| m.set(Mqd::CP_HQD_PIPE_PRIORITY, priority));
        let items = groups * 64;
        let out = p.alloc(u64::from(items) * 4);
        let mut explicit = pointers(&[out]);
        explicit.extend(500u32.to_le_bytes());
        let args = arguments(&p, &explicit, items, 64);
        let packet = dispatch(load(&p, "loops")["churn.kd"], args, items, 64, 0);
        // No packet waits for the one before: each queue has work at any time.
        (0..PACKETS).for_each(|_| {
            q.write(packet.0);
        });
    }
    run(&rig, &[(&p, &[low, high])]);
    for (q, ..) in groups {
        rig.wait("both queues", || p.u64(q.read_index()) == PACKETS);
    }
    trace.flush();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let ends: Vec<u32> = text
        .lines()
        .filter(|line| line.contains("\"dispatch_end\""))
        .filter_map(|line| {
            groups
                .iter()
                .map(|g| g.2)
                .find(|n| line.contains(&format!("\"workgroups\":{n},")))
        })
        .collect();
    assert_eq!(ends.len() as u64, 2 * PACKETS);
    // The order in which the device ended them, whoever of us looked when.
    let last = ends.iter().rposition(|groups| *groups == 255).unwrap();
    let left = ends[last..].len() as u64 - 1;
    // None or one would be where they share alike.
    assert!(left >= 2, "{left} of {PACKETS} are left");
    rig.clean();
}

#[test]
fn an_unmap_in_the_middle_stops_all_and_the_next_list_goes_on() {
    let rig = Rig::with(&[], ALL_VMIDS, 0x3);
    let p = Process::saving(&rig, 0x8001);
    let all = queues(&p, 0x800, 5);
    let mut endless = Vec::new();
    for q in &all {
        let signal = p.signal(0);
        let (packet, flag) = spin(&p, signal);
        q.push(packet.0);
        endless.push((signal, flag));
    }
    for _ in 0..6 {
        chain(&rig, &[(&p, &all)], 1);
        std::thread::sleep(Duration::from_millis(12));
        rig.unmap();
        rig.fence();
        assert!(!rig.is_active((1, 0, 0)) && !rig.is_active((1, 0, 1)));
    }
    // Nothing runs now, whatever the flags are.
    for &(_, flag) in &endless {
        rig.put_words(p.at(flag), &[1]);
    }
    std::thread::sleep(Duration::from_millis(20));
    assert!(endless.iter().all(|&(signal, _)| p.value(signal) == 1));
    chain(&rig, &[(&p, &all)], 1);
    endless.iter().for_each(|&(signal, _)| p.wait(signal));
    rig.clean();
}

#[test]
fn a_reset_ends_waves_of_queues_that_wait_too() {
    let rig = Rig::with(&[], ALL_VMIDS, 0x1);
    let (a, b) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (qa, qb) = (queues(&a, 0x800, 3), queues(&b, 0x1000, 1));
    let spun: Vec<_> = qa
        .iter()
        .map(|q| {
            let signal = a.signal(0);
            let (packet, flag) = spin(&a, signal);
            q.push(packet.0);
            (signal, flag)
        })
        .collect();
    chain(&rig, &[(&a, &qa), (&b, &qb)], 2);
    let begun = |q: &Queue<'_>| {
        let state = q.image().get(Mqd::CP_HQD_PERSISTENT_STATE) as u32;
        Value::new(state).get(gc::CP_HQD_PERSISTENT_STATE::RESTORE_ACTIVE) == 1
    };
    rig.wait("turns of all", || {
        qa.iter().filter(|q| begun(q)).count() >= 2
    });
    rig.hiq(&unmap(SELECT_PASID, UNMAP_RESET, 0x8001));
    rig.fence();
    assert!(!qa.iter().any(begun));
    // The other process goes on, alone.
    Job::push(&qb[0], 3).check();
    for &(signal, flag) in &spun {
        rig.put_words(a.at(flag), &[1]);
        assert_eq!(a.value(signal), 1);
    }
    rig.unmap();
    rig.fence();
    rig.clean();
}

#[test]
fn queues_that_wait_are_unmapped_by_doorbell() {
    let rig = Rig::with(&[], ALL_VMIDS, 0x1);
    let p = Process::saving(&rig, 0x8001);
    let all = queues(&p, 0x800, 3);
    chain(&rig, &[(&p, &all)], 1);
    for q in &all[..2] {
        rig.hiq(&unmap(SELECT_DOORBELL, UNMAP_PREEMPT, q.bell << 2));
        rig.fence();
    }
    let jobs: Vec<_> = all.iter().map(|q| Job::push(q, 1)).collect();
    jobs[2].check();
    std::thread::sleep(Duration::from_millis(30));
    assert!(jobs[..2].iter().all(|job| p.value(job.signal) == 1));
    rig.clean();
}

#[test]
fn a_list_must_not_change_while_it_runs_and_can_be_replaced() {
    let rig = Rig::with(&[], ALL_VMIDS, 0x1);
    let p = Process::saving(&rig, 0x8001);
    let all = queues(&p, 0x800, 3);
    let listed: Vec<_> = all.iter().collect();
    let before = rig.alloc(4096);
    chain(&rig, &[(&p, &all)], 1);
    rig.put_words(before + 4096, &[0]);
    rig.violated("run list: changed while it is chained");
    let (signal, job) = (p.signal(0), Job::push(&all[0], 1));
    all[1].push(spin(&p, signal).0 .0);
    rig.run_chained_list(&list(&[(&p, &listed[..2])]), 1);
    rig.violated("RUN_LIST while queues of another one are mapped");
    rig.fence();
    job.check();
    let late = Job::push(&all[2], 1);
    Job::push(&all[0], 2).check();
    assert_eq!(p.value(late.signal), 1, "the new list lacks it");
}

#[test]
fn who_is_idle_lets_others_come_at_once_and_switches_are_traced() {
    let path = std::env::temp_dir().join(format!("rkfd-turns-{}", std::process::id()));
    let trace = Trace::to_file(&path).unwrap();
    let rig = Rig::traced(&[], trace.clone()).scheduling(ALL_VMIDS, 0x3);
    let p = Process::saving(&rig, 0x8001);
    let all = queues(&p, 0x800, 6);
    // A quantum that never ends: only idle queues leave.
    all.iter()
        .for_each(|q| q.change(|m| m.set(Mqd::CP_HQD_QUANTUM, 0x3f11)));
    chain(&rig, &[(&p, &all)], 1);
    let begin = Instant::now();
    for round in 0..5 {
        let jobs: Vec<_> = all.iter().map(|q| Job::push(q, round)).collect();
        jobs.iter().for_each(Job::check);
    }
    assert!(begin.elapsed() < Duration::from_secs(5));
    rig.unmap();
    rig.fence();
    trace.flush();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let switches = text.lines().filter(|line| line.contains("\"switch\""));
    assert!(switches.clone().any(|line| line.contains("\"in\"")));
    assert!(switches.clone().any(|line| line.contains("\"idle\"")));
    rig.clean();
}
