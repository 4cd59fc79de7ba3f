// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lets the kernel look for objects that it lost.

use crate::report::Report;
use rkfd_vm::kmemleak::{self, Leak};
use std::fs;
use std::thread;
use std::time::Duration;

const FILE: &str = "/sys/kernel/debug/kmemleak";
/// Objects younger than 5 s are not listed.
const OLD_ENOUGH: Duration = Duration::from_secs(6);
/// An object that still changes needs two, one to which something stale points needs luck; four
/// found every deliberate leak that was tried.
const SCANS: u32 = 4;

/// Scan, and report what modules lost as one test line. Other objects are only shown.
pub fn scan(report: &mut Report) {
    let result = scanned().and_then(|leaks| {
        let (ours, others): (Vec<Leak>, Vec<Leak>) = leaks.into_iter().partition(Leak::is_ours);
        for other in others {
            report.line(&format!("kmemleak, not of a module: {other}"));
        }
        for leak in &ours {
            report.line(&format!("kmemleak: {leak}"));
        }
        match ours.first() {
            None => Ok(()),
            Some(first) => Err(format!("{} objects leaked, such as {first}", ours.len())),
        }
    });
    report.test("kmemleak", result);
}

fn scanned() -> Result<Vec<Leak>, String> {
    thread::sleep(OLD_ENOUGH);
    // We load modules ourselves, and what they allocated stays for long on our kernel stack.
    write("stack=off")?;
    for _ in 0..SCANS {
        // The write returns when the scan is done.
        write("scan")?;
        thread::sleep(Duration::from_secs(1));
    }
    let text = fs::read(FILE).map_err(|e| format!("{FILE}: {e}"))?;
    kmemleak::parse(&String::from_utf8_lossy(&text))
}

fn write(command: &str) -> Result<(), String> {
    fs::write(FILE, command).map_err(|e| format!("{FILE}: {command}: {e}"))
}
