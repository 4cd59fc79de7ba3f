// SPDX-License-Identifier: MIT OR Apache-2.0

//! The kernel log's lines about the driver and the cards.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

use super::collection::Collection;
use super::private::nameless;
use crate::machine::{Machine, PciGpu};

/// Each read gives a record (Documentation/ABI/testing/dev-kmsg).
const FILE: &str = "dev/kmsg";
/// `O_NONBLOCK` (asm-generic/fcntl.h): without it a read waits for the next line.
const O_NONBLOCK: i32 = 0o4000;
/// A record has at most so many bytes (`PRINTK_MESSAGE_MAX`).
const RECORD: usize = 8192;
/// The errno of records that were written over before they were read: the next read goes on behind them (dev-kmsg).
const EPIPE: i32 = 32;
/// How lines begin that drivers write (`dev_printk`, DRM's `drm_dev_printk`).
const BEGINNINGS: [&str; 5] = ["rkfd", "amdgpu", "kfd", "[drm]", "[drm:"];
/// What stands behind a function of theirs in a call trace.
const FUNCTIONS: [&str; 2] = ["[rkfd]", "[amdgpu]"];

/// Puts them in.
pub(super) fn collect(all: &mut Collection, gpus: &[PciGpu]) {
    match records(all.machine) {
        Ok(records) => {
            let text = lines(&records, gpus);
            all.text("kernel/log.txt", &text, "/dev/kmsg");
        }
        Err(error) => {
            let next = match error.kind() {
                ErrorKind::PermissionDenied => "sudo rkfd capture",
                _ => "dmesg | grep -e rkfd -e amdgpu -e kfd",
            };
            all.missing("the kernel log", format!("/{FILE}: {error}"), next);
        }
    }
}

/// All that there are now.
fn records(machine: &Machine) -> io::Result<String> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(O_NONBLOCK);
    let mut file = options.open(machine.path(FILE))?;
    let (mut all, mut record) = (Vec::new(), vec![0; RECORD]);
    loop {
        match file.read(&mut record) {
            Ok(0) => break,
            Ok(read) => all.extend_from_slice(&record[..read]),
            Err(error) if error.raw_os_error() == Some(EPIPE) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&all).into_owned())
}

/// Those of the records that are asked for, as `dmesg` prints them.
fn lines(records: &str, gpus: &[PciGpu]) -> String {
    let shown = records.lines().filter_map(|record| line(record, gpus));
    shown.collect()
}

/// `PRIORITY,NUMBER,MICROSECONDS,FLAGS;TEXT`; lines that begin with a space belong to the record before.
fn line(record: &str, gpus: &[PciGpu]) -> Option<String> {
    let (head, text) = record.split_once(';')?;
    let mut head = head.split(',').map(|number| number.parse::<u64>());
    let (priority, _, time) = (head.next()?.ok()?, head.next()?, head.next()?.ok()?);
    // The kernel's facility is 0; what programs write into the log is of another.
    let is_kernel = priority >> 3 == 0;
    let concerns = BEGINNINGS.iter().any(|start| text.starts_with(start))
        || FUNCTIONS.iter().any(|name| text.contains(name))
        || gpus.iter().any(|gpu| text.contains(&gpu.slot));
    (is_kernel && concerns && !text.contains("ommand line:")).then(|| {
        let (seconds, rest) = (time / 1_000_000, time % 1_000_000);
        format!("[{seconds:>5}.{rest:06}] {}\n", nameless(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_lines_are_left_out() {
        let gpu = PciGpu {
            slot: "0000:03:00.0".into(),
            device: 0x74a2,
            driver: None,
        };
        let records = "6,1,7,-;Linux version 7.3.4 (joe@home)\n6,2,8,-;pci 0000:03:00.0: BAR 0\n \
                       SUBSYSTEM=pci\n4,3,2000009,c;RIP: 0010:start+0x1/0x2 [rkfd]\n14,4,9,-;rkfd: echo\n\
                       5,5,9,-;usb 1-1: SerialNumber: 12\n6,6,9,-;amdgpu: Process x pid 1 thread y pid 2\n";
        assert_eq!(
            lines(records, &[gpu]),
            "[    0.000008] pci 0000:03:00.0: BAR 0\n[    2.000009] RIP: 0010:start+0x1/0x2 [rkfd]\n\
             [    0.000009] amdgpu: Process ? pid 1 thread ? pid 2\n"
        );
    }
}
