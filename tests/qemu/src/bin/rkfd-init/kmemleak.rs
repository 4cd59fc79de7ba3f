// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lets the kernel look for objects that it lost.

use crate::report::Report;
use rkfd_vm::kmemleak::{self, Leak};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

const FILE: &str = "/sys/kernel/debug/kmemleak";
/// Objects that were younger than 5 s when a scan began are not listed by it.
const OLD_ENOUGH: Duration = Duration::from_secs(6);

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
    let begun = Instant::now();
    // We load modules ourselves, and what they allocated stays for long on our kernel stack.
    write("stack=off")?;
    // The first scan lists nothing: it takes each object's checksum, and one that has changed since
    // the scan before is in use. Writes return when the scan is done.
    write("scan")?;
    thread::sleep(OLD_ENOUGH.saturating_sub(begun.elapsed()));
    write("scan")?;
    let text = fs::read(FILE).map_err(|e| format!("{FILE}: {e}"))?;
    kmemleak::parse(&String::from_utf8_lossy(&text))
}

fn write(command: &str) -> Result<(), String> {
    fs::write(FILE, command).map_err(|e| format!("{FILE}: {command}: {e}"))
}
