// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules, memory and the kernel's log.

use crate::report::{Outcome, Report};
use rkfd_vm::protocol::Line;
use rkfd_vm::splat;
use rustix::system::{delete_module, finit_module};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::Duration;

/// From `<fcntl.h>`.
const O_NONBLOCK: i32 = 0o4000;

/// Load a module.
pub fn insmod(path: &str, params: &[String]) -> Outcome {
    let file = File::open(path).map_err(|e| format!("{path}: {e}"))?;
    let params = CString::new(params.join(" ")).map_err(|e| e.to_string())?;
    finit_module(&file, &params, 0).map_err(|e| e.to_string())
}

/// Unload a module; never waits for its users.
pub fn rmmod(name: &str) -> Outcome {
    let name = CString::new(name).map_err(|e| e.to_string())?;
    delete_module(&name, O_NONBLOCK).map_err(|e| e.to_string())
}

/// What is reported of `/proc/meminfo`: the key, what is appended to the label, and whether more
/// is better.
const FIGURES: [(&str, &str, bool); 3] = [
    ("MemFree:", "", true),
    ("SUnreclaim:", ":SUnreclaim", false),
    ("VmallocUsed:", ":VmallocUsed", false),
];

/// Gives back what the kernel keeps at hand: free objects of slabs, free pages of processors.
fn tidy() {
    for cache in fs::read_dir("/sys/kernel/slab")
        .into_iter()
        .flatten()
        .flatten()
    {
        let _ = fs::write(cache.path().join("shrink"), "1");
    }
    let _ = fs::write("/proc/sys/vm/compact_memory", "1");
}

/// Free pages that processors keep at hand, in KiB. They are megabytes, move all the time, and
/// MemFree does not count them.
fn at_hand() -> u64 {
    let zones = fs::read_to_string("/proc/zoneinfo").unwrap_or_default();
    let counts = zones
        .lines()
        .filter_map(|l| l.trim().strip_prefix("count:"));
    let pages: u64 = counts.filter_map(|n| n.trim().parse::<u64>().ok()).sum();
    pages * 4
}

/// Memory figures after dropping caches, with their suffixes. Memory is freed late (RCU, work
/// items), so the best of a second.
pub fn memory() -> Result<Vec<(&'static str, u64)>, String> {
    // 4 keeps the kernel from logging each of the writes.
    let _ = fs::write("/proc/sys/vm/drop_caches", "4");
    let mut best: [Option<u64>; FIGURES.len()] = [None; FIGURES.len()];
    for _ in 0..5 {
        fs::write("/proc/sys/vm/drop_caches", "3").map_err(|e| format!("drop_caches: {e}"))?;
        tidy();
        thread::sleep(Duration::from_millis(200));
        let text = fs::read_to_string("/proc/meminfo").map_err(|e| e.to_string())?;
        for ((key, _, more), best) in FIGURES.iter().zip(&mut best) {
            let value = text.lines().find_map(|l| l.strip_prefix(key));
            let kib = value.and_then(|v| v.split_whitespace().next()?.parse::<u64>().ok());
            let kib = kib.ok_or_else(|| format!("no {key} in /proc/meminfo"))?;
            let kib = if *more { kib + at_hand() } else { kib };
            let better = |b: u64| if *more { b.max(kib) } else { b.min(kib) };
            *best = Some(best.map_or(kib, better));
        }
    }
    let named = FIGURES.iter().zip(best);
    Ok(named
        .filter_map(|((_, suffix, _), kib)| Some((*suffix, kib?)))
        .collect())
}

/// The kernel's log from the boot on, also what the console does not show.
pub struct KernelLog(Option<File>, splat::Messages);

impl KernelLog {
    /// From its first record.
    pub fn open() -> Self {
        let mut options = OpenOptions::new();
        let log = options.read(true).custom_flags(O_NONBLOCK);
        KernelLog(log.open("/dev/kmsg").ok(), splat::Messages::default())
    }

    /// Look through what was logged since the last time.
    pub fn check(&mut self, report: &mut Report) {
        let messages = &mut self.1;
        let Some(log) = &mut self.0 else {
            report.test("kmsg", Err("/dev/kmsg cannot be read".into()));
            return;
        };
        // A read gives one record. EPIPE: records were overwritten before we read them.
        let mut record = [0; 8192];
        let mut lost = false;
        loop {
            match log.read(&mut record) {
                Ok(0) => break,
                Ok(n) => {
                    let text = String::from_utf8_lossy(record.get(..n).unwrap_or_default());
                    let splat = splat::kmsg_message(&text).filter(|m| messages.is_splat(m));
                    if let Some(message) = splat {
                        report.send(&Line::Kernel(message.into()));
                    }
                }
                Err(e) if e.kind() == ErrorKind::BrokenPipe => lost = true,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        if lost {
            report.line("(the kernel log was longer than its buffer)");
        }
        // Bits 5 bad page, 7 died, 9 warned, 14 soft lockup; out-of-tree and unsigned are what we are.
        const BAD: u64 = (1 << 5) | (1 << 7) | (1 << 9) | (1 << 14);
        let tainted = fs::read_to_string("/proc/sys/kernel/tainted")
            .ok()
            .and_then(|t| t.trim().parse::<u64>().ok());
        match tainted {
            Some(bits) if bits & BAD == 0 => {}
            other => report.send(&Line::Kernel(format!("it is tainted: {other:?}"))),
        }
    }
}
