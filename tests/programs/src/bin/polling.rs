// SPDX-License-Identifier: MIT OR Apache-2.0

//! No system call between enqueue and completion: 10,000 dispatches under a seccomp filter that
//! kills the process at any system call whatsoever.
//!
//! A child process sets everything up, installs the filter and then writes packets, rings the
//! doorbell, polls the signal and checks the sums. It writes its report into memory that it shares
//! with its parent, since it can't even exit. At the end it makes a system call on purpose: that
//! SIGSYS kills it then, and not before, shows that the filter was in force.
//!
//! `polling CODE-OBJECT [DISPATCHES]`

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use rkfd::{Gpu, QueueOptions};
use rkfd_programs::{code_object, report, Failure, VectorAdd, KERNEL, PATIENCE};
use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
use seccompiler::{apply_filter, BpfProgram, SeccompAction, SeccompFilter};
use shared::Report;

const ELEMENTS: usize = 256;
/// The variable by which a process knows that it is the child; its standard input is the shared report.
const CHILD: &str = "RKFD_EXAMPLE_CHILD";
/// Signal of a forbidden system call.
const SIGSYS: i32 = 31;
/// The memory that parent and child share.
mod shared {
    use std::os::fd::AsFd;
    use std::sync::atomic::AtomicU64;

    use rustix::mm::{mmap, MapFlags, ProtFlags};

    /// What the child reports.
    #[repr(C)]
    pub struct Report {
        /// 1 when the filter is in force.
        pub armed: AtomicU64,
        /// Dispatches seen complete.
        pub completed: AtomicU64,
        /// Dispatches with a wrong sum.
        pub wrong: AtomicU64,
        /// 1 when all is done, 2 when something failed.
        pub ended: AtomicU64,
    }

    /// Maps the report. It stays mapped until the process ends.
    pub fn map(file: impl AsFd) -> rustix::io::Result<&'static Report> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let (len, flags) = (size_of::<Report>(), MapFlags::SHARED);
        // SAFETY: no address is asked for, so no mapping is replaced. The mapping is never
        // removed, is aligned to a page, holds zeros at first and is only accessed as atomics.
        unsafe {
            let raw = mmap(std::ptr::null_mut(), len, prot, flags, file, 0)?;
            Ok(&*raw.cast::<Report>())
        }
    }
}

/// A filter without exceptions: every system call kills the process.
fn forbid_system_calls() -> Result<(), Failure> {
    let arch = std::env::consts::ARCH.try_into().map_err(Failure::new)?;
    let (other, matched) = (SeccompAction::KillProcess, SeccompAction::Allow);
    let filter = SeccompFilter::new(BTreeMap::new(), other, matched, arch).map_err(Failure::new)?;
    let program: BpfProgram = filter.try_into().map_err(Failure::new)?;
    apply_filter(&program).map_err(Failure::new)
}

fn child(report: &Report, dispatches: u64) -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let module = gpu.load(&code_object()?)?;
    let kernel = module.kernel(KERNEL)?;
    let queue = gpu.queue(QueueOptions::default())?;
    let add = VectorAdd::new(&gpu, ELEMENTS, 0)?;
    let mut work = add.dispatch(&queue, &kernel).polled().prepare()?;
    // The first dispatch may still make system calls: it brings in every page that is used later.
    work.submit()?;
    work.spin()?;
    add.verify()?;
    let sums = add.c.to_vec()?;

    forbid_system_calls()?;
    report.armed.store(1, Release);
    for _ in 0..dispatches {
        for i in 0..ELEMENTS {
            add.c.set(i, f32::NAN);
        }
        // From here on the child can pass an error to its parent only through the report.
        if work.submit().is_err() || work.spin().is_err() {
            report.ended.store(2, Release);
            loop {
                std::hint::spin_loop();
            }
        }
        if sums
            .iter()
            .enumerate()
            .any(|(i, sum)| add.c.get(i) != Some(*sum))
        {
            report.wrong.fetch_add(1, Relaxed);
        }
        report.completed.fetch_add(1, Release);
    }
    report.ended.store(1, Release);
    // The filter must kill the process here.
    let _ = rustix::process::getppid();
    Err(Failure::new("the filter let a system call through"))
}

/// Watches the report until the child ends or stops making progress.
fn watch(report: &Report, child: &mut std::process::Child) -> Result<i32, Failure> {
    let (mut seen, mut since) = (0, Instant::now());
    loop {
        if let Some(status) = child.try_wait().map_err(Failure::new)? {
            return status.signal().ok_or_else(|| {
                Failure::new(format_args!(
                    "the child ended by itself: {status}; see above"
                ))
            });
        }
        let completed = report.completed.load(Acquire);
        if report.ended.load(Acquire) == 2 {
            return Err(Failure::new(format_args!("dispatch {completed} failed")));
        }
        if completed != seen {
            (seen, since) = (completed, Instant::now());
        } else if since.elapsed() > PATIENCE {
            return Err(Failure::new(format_args!(
                "no progress after {completed} dispatches"
            )));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn parent(dispatches: u64) -> Result<(), Failure> {
    // Fail here, with a good message, when the argument is missing.
    code_object()?;
    let file = memfd_create("rkfd-report", MemfdFlags::CLOEXEC).map_err(Failure::new)?;
    ftruncate(&file, size_of::<Report>() as u64).map_err(Failure::new)?;
    let report = shared::map(&file).map_err(Failure::new)?;
    let start = Instant::now();
    let mut child = Command::new(std::env::current_exe().map_err(Failure::new)?)
        .args(std::env::args().skip(1))
        .env(CHILD, "1")
        .stdin(Stdio::from(file))
        .spawn()
        .map_err(Failure::new)?;
    let result = watch(report, &mut child);
    // Both fail if the child has ended already, which is fine.
    let _ = child.kill();
    let _ = child.wait();
    let signal = result?;

    let (completed, wrong) = (report.completed.load(Acquire), report.wrong.load(Acquire));
    println!(
        "{completed} of {dispatches} dispatches complete, {wrong} wrong, filter in force: {}, {:.3} s",
        report.armed.load(Acquire) == 1,
        start.elapsed().as_secs_f64()
    );
    if signal != SIGSYS {
        return Err(Failure::new(format_args!(
            "the child was ended by signal {signal}"
        )));
    }
    if report.ended.load(Acquire) != 1 || completed != dispatches {
        return Err(Failure::new(format_args!(
            "a system call was made after {completed} dispatches"
        )));
    }
    match wrong {
        0 => Ok(()),
        _ => Err(Failure::new(format_args!(
            "{wrong} dispatches with wrong sums"
        ))),
    }
}

fn dispatches() -> Result<u64, Failure> {
    match std::env::args().nth(2) {
        None => Ok(10_000),
        Some(text) => text
            .parse()
            .map_err(|_| Failure::new(format_args!("{text} is no number"))),
    }
}

fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_none() {
        return report("polling", || parent(dispatches()?));
    }
    let run = || {
        child(
            shared::map(std::io::stdin()).map_err(Failure::new)?,
            dispatches()?,
        )
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("child: {failure}");
            ExitCode::FAILURE
        }
    }
}
