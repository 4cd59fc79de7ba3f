// SPDX-License-Identifier: MIT OR Apache-2.0
//! PROFILER: a GPU's performance counters, which one process has, and the word of MQDs by which a queue's waves are
//! counted.

use super::svm::unprivileged;
use super::*;
use crate::fixture::must;
use crate::row::{row, Answer, Row};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::smi::{self, ProfilerArgs};

/// `compute_perfcount_enable` of Linux's `struct v9_mqd` and `struct v12_compute_mqd`.
const PERFCOUNT_ENABLE: usize = 12;

fn ask(c: &mut Ctx, op: u32, data: [u32; 3]) -> Answer {
    Ok(c.call(&requests::PROFILER, &mut ProfilerArgs { op, data }))
}

/// PMC of the GPU: LOCK and PERFCOUNT_ENABLE.
fn pmc(c: &mut Ctx, lock: u32, enable: u32) -> Answer {
    let gpu = c.gpu;
    ask(c, smi::PROFILER_PMC, [gpu, lock, enable])
}

/// The same, which isn't what the row tests; its errno.
fn raw(c: &Ctx, lock: u32, enable: u32) -> i32 {
    let data = [c.gpu, lock, enable];
    let op = smi::PROFILER_PMC;
    c.raw(&requests::PROFILER, &mut ProfilerArgs { op, data })
}

/// The same in another process, which ends with it.
fn others(c: &Ctx, lock: u32) -> Answer {
    Ok(Got::Errno(other_process(c, |c| raw(c, lock, 0))))
}

/// The lock, once the driver has let go of a process that had it and has ended.
fn after_the_end_of_another(c: &mut Ctx) -> Answer {
    must("PMC of another process", other_process(c, |c| raw(c, 1, 0)))?;
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while raw(c, 1, 0) == libc::EBUSY {
        if std::time::Instant::now() > end {
            return Ok(Got::Errno(libc::EBUSY));
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // It is this process' now.
    pmc(c, 1, 0)
}

/// `compute_perfcount_enable` in the MQDs of this process' only queue, one for each XCC, as debugfs shows them: 0 or 1.
fn counted(c: &Ctx) -> Answer {
    let path = "/sys/kernel/debug/kfd/mqds";
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let own = format!("Process {} ", std::process::id());
    let lines = text.lines().skip_while(|line| !line.starts_with(&own));
    let lines = lines
        .skip(1)
        .take_while(|line| !line.starts_with("Process "));
    // A row is an address, a colon and words.
    let rows = lines.filter_map(|line| line.trim_start().split_once(": "));
    let words: Vec<&str> = rows.flat_map(|(_, words)| words.split(' ')).collect();
    let mqds: Vec<&[&str]> = words.chunks(512).collect();
    let word = |mqd: &&[&str]| {
        let word = mqd.get(PERFCOUNT_ENABLE).ok_or("a short MQD")?;
        u64::from_str_radix(word, 16).map_err(|e| format!("{word}: {e}"))
    };
    let found = mqds
        .iter()
        .map(word)
        .collect::<Result<Vec<u64>, String>>()?;
    match found.first() {
        Some(&first) if found == vec![first; c.node.xccs as usize] => Ok(Got::Value(first)),
        _ => Err(format!("{found:?} in the MQDs of {} XCCs", c.node.xccs)),
    }
}

/// The same after the counters were taken or given up as `locks` say: LOCK and PERFCOUNT_ENABLE.
fn counted_after(c: &mut Ctx, locks: &[(u32, u32)]) -> Answer {
    for &(lock, enable) in locks {
        must("PMC", raw(c, lock, enable))?;
    }
    counted(c)
}

/// The same of a queue that is made afterwards.
fn made_after(c: &mut Ctx, locks: &[(u32, u32)]) -> Answer {
    for &(lock, enable) in locks {
        must("PMC", raw(c, lock, enable))?;
    }
    c.new_queue(|_| {})?;
    counted(c)
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const P: &str = "PROFILER";
    const NO_PTL: Want = Want::Errno(libc::EOPNOTSUPP);
    const DQM: &str = "kfd_device_queue_manager.c: set_perfcount";
    const MQD: &str = "kfd_mqd_manager_v9.c:234, kfd_mqd_manager_v12.c:158";
    vec![
        row(P, "operation 1", EINVAL, "kfd_chardev.c:3486", |c| ask(c, 1, [0; 3])),
        row(P, "operation 99", EINVAL, "kfd_chardev.c:3486", |c| ask(c, 99, [0; 3])),
        row(P, "VERSION: errno", OK, "kfd_chardev.c:3480", |c| ask(c, smi::PROFILER_VERSION, [0; 3])),
        row(P, "VERSION", is(1), "kfd_chardev.c:3479", |c| { let mut a = ProfilerArgs { op: smi::PROFILER_VERSION, data: [9; 3] }; c.raw(&requests::PROFILER, &mut a); Ok(Got::Value(a.data[0].into())) }),
        row(P, "PMC without capabilities", EPERM, "kfd_chardev.c:3455", |c| { let g = c.gpu; unprivileged(c, |c| c.raw(&requests::PROFILER, &mut ProfilerArgs { op: smi::PROFILER_PMC, data: [g, 1, 0] })) }),
        row(P, "PMC without capabilities, unknown GPU", EPERM, "kfd_chardev.c:3455", |c| unprivileged(c, |c| c.raw(&requests::PROFILER, &mut ProfilerArgs { op: smi::PROFILER_PMC, data: [0xdead, 1, 0] }))),
        row(P, "PMC, unknown GPU", EINVAL, "kfd_chardev.c:3403", |c| ask(c, smi::PROFILER_PMC, [0xdead, 1, 0])),
        row(P, "PMC, give up what nobody has", EINVAL, "kfd_chardev.c:3393", |c| pmc(c, 0, 0)),
        row(P, "PMC, lock 2", EINVAL, "kfd_chardev.c:3393", |c| pmc(c, 2, 0)),
        row(P, "PMC, take", OK, "kfd_chardev.c:3412", |c| pmc(c, 1, 0)),
        row(P, "PMC, take twice", Want::Errno(libc::EALREADY), "kfd_chardev.c:3424", |c| { must("PMC", raw(c, 1, 0))?; pmc(c, 1, 0) }),
        row(P, "PMC, lock 2 of who has them", EINVAL, "kfd_chardev.c:3393", |c| { must("PMC", raw(c, 1, 0))?; pmc(c, 2, 0) }),
        row(P, "PMC, take what another process has", EBUSY, "kfd_chardev.c:3426", |c| { must("PMC", raw(c, 1, 0))?; others(c, 1) }),
        row(P, "PMC, give up what another process has", EINVAL, "kfd_chardev.c:3393", |c| { must("PMC", raw(c, 1, 0))?; others(c, 0) }),
        row(P, "PMC, give up", OK, "kfd_chardev.c:3429", |c| { must("PMC", raw(c, 1, 0))?; pmc(c, 0, 0) }),
        row(P, "PMC, give up twice", EINVAL, "kfd_chardev.c:3393", |c| { must("PMC", raw(c, 1, 0))?; must("PMC", raw(c, 0, 0))?; pmc(c, 0, 0) }),
        row(P, "PMC, take what another process has given up", OK, "kfd_chardev.c:3410", |c| { must("PMC", raw(c, 1, 0))?; must("PMC", raw(c, 0, 0))?; others(c, 1) }),
        row(P, "PMC, take what a process had that has ended", Want::Errno(libc::EALREADY), "kfd_process.c:1182", after_the_end_of_another),
        row(P, "a queue, counters of nobody", is(0), MQD, |c| counted(c)).queue(),
        row(P, "a queue, counters taken", is(0), DQM, |c| counted_after(c, &[(1, 0)])).queue(),
        row(P, "a queue, counters taken and enabled", is(1), DQM, |c| counted_after(c, &[(1, 1)])).queue(),
        row(P, "a queue, enabled by 2", is(0), DQM, |c| counted_after(c, &[(1, 2)])).queue(),
        row(P, "a queue, counters given up", is(0), DQM, |c| counted_after(c, &[(1, 1), (0, 0)])).queue(),
        row(P, "a queue, counters given up and enabled", is(1), DQM, |c| counted_after(c, &[(1, 0), (0, 1)])).queue(),
        row(P, "a queue, the process that counted has ended", is(0), "kfd_process.c: kfd_process_profiler_release", |c| { must("PMC of another process", other_process(c, |c| raw(c, 1, 1)))?; counted(c) }).queue(),
        row(P, "a queue that is changed stays counted", is(1), "kfd_mqd_manager_v9.c:325", |c| { must("PMC", raw(c, 1, 1))?; c.update(|a| a.queue_priority = 3)?; counted(c) }).queue(),
        row(P, "a new queue, counters taken", is(1), MQD, |c| made_after(c, &[(1, 0)])).buffers(),
        row(P, "a new queue, counters given up", is(0), MQD, |c| made_after(c, &[(1, 1), (0, 1)])).buffers(),
        row(P, "PTL_CONTROL, unknown GPU", EINVAL, "kfd_chardev.c:1927", |c| ask(c, smi::PROFILER_PTL_CONTROL, [0xdead, 0, 0])),
        row(P, "PTL_CONTROL, disable, no such hardware", NO_PTL, "kfd_chardev.c:1860", |c| { let g = c.gpu; ask(c, smi::PROFILER_PTL_CONTROL, [g, 0, 0]) }),
        row(P, "PTL_CONTROL, enable, no such hardware", NO_PTL, "kfd_chardev.c:1892", |c| { let g = c.gpu; ask(c, smi::PROFILER_PTL_CONTROL, [g, 1, 0]) }),
    ]
}
