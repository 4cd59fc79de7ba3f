// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the driver shows at one time.

use std::time::Instant;

use crate::machine::Machine;
use crate::why::queue::{self, Process};
use crate::Failure;

/// What the driver shows of queues, for root.
const QUEUES: &str = "sys/kernel/debug/rkfd/queues";
/// What it counts.
const COUNTS: &str = "sys/kernel/debug/rkfd/counts";
/// How often processes were evicted.
const EVICTIONS: &str = "sys/kernel/debug/rkfd/evictions";
/// Folders of processes.
const PROCESSES: &str = "sys/class/kfd/kfd/proc";
/// Interrupts of each processor.
const INTERRUPTS: &str = "proc/interrupts";
/// The name under which the driver takes interrupts.
const DRIVER: &str = "rkfd";

/// One look.
pub(super) struct Sample {
    /// When.
    pub(super) at: Instant,
    /// Processes and their queues.
    pub(super) processes: Vec<Process>,
    /// For each of these, its bytes of VRAM on all GPUs, where the driver shows them.
    pub(super) vram: Vec<Option<u64>>,
    /// How often each was evicted.
    pub(super) evictions: Vec<u64>,
    /// Interrupts since the machine was started.
    pub(super) interrupts: u64,
    /// Names and numbers of what the driver has.
    pub(super) counts: Vec<(String, i64)>,
}

impl Sample {
    /// Looks.
    pub(super) fn take(machine: &Machine) -> Result<Self, Failure> {
        let path = machine.path(QUEUES);
        let text = std::fs::read_to_string(&path).map_err(|error| Failure::File {
            path: path.display().to_string(),
            error,
        })?;
        let processes = queue::parse(&text);
        let evicted = machine.text(EVICTIONS).unwrap_or_default();
        let counts = machine.text(COUNTS).unwrap_or_default();
        Ok(Self {
            at: Instant::now(),
            vram: (processes.iter())
                .map(|process| vram(machine, process.id))
                .collect(),
            evictions: (processes.iter())
                .map(|process| evictions(&evicted, process.id))
                .collect(),
            processes,
            interrupts: interrupts(&machine.text(INTERRUPTS).unwrap_or_default()),
            counts: counts.lines().filter_map(named).collect(),
        })
    }
}

/// The sum of the files `vram_GPU` of a process.
fn vram(machine: &Machine, process: u32) -> Option<u64> {
    let folder = machine.path(format!("{PROCESSES}/{process}"));
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let of_gpu = files.filter(|file| file.file_name().to_string_lossy().starts_with("vram_"));
    let bytes = |file: std::fs::DirEntry| {
        let text = std::fs::read_to_string(file.path()).ok()?;
        text.trim().parse::<u64>().ok()
    };
    of_gpu
        .map(bytes)
        .try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?))
}

/// `process 12 gpu 3 evictions 2 lasting 0 ended_ms 5`, for each GPU.
fn evictions(text: &str, process: u32) -> u64 {
    let of_gpu = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let value = |name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1)?.parse::<u64>().ok()
        };
        (value("process")? == u64::from(process)).then_some(value("evictions")?)
    };
    text.lines().filter_map(of_gpu).sum()
}

/// The sum over all processors of the lines of the driver (Linux, `show_interrupts`).
fn interrupts(text: &str) -> u64 {
    let its = text
        .lines()
        .filter(|line| line.split_whitespace().last() == Some(DRIVER));
    let counts = its.flat_map(|line| {
        let words = line.split_whitespace().skip(1);
        words.map_while(|word| word.parse::<u64>().ok())
    });
    counts.sum()
}

fn named(line: &str) -> Option<(String, i64)> {
    let (name, number) = line.split_once(' ')?;
    Some((name.into(), number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::made::Made;

    #[test]
    fn what_is_shown_is_added_up() {
        let machine = Made::new()
            .file(
                QUEUES,
                "process 7 sum\n  queue 0 gpu 3\n    type aql\n    state mapped\n",
            )
            .file(COUNTS, "processes 1\nqueues 1\n")
            .file(
                EVICTIONS,
                "process 7 gpu 3 evictions 2 lasting 0 ended_ms 5\n\
                 process 8 gpu 3 evictions 9 lasting 1 ended_ms 0\n",
            )
            .file("sys/class/kfd/kfd/proc/7/vram_3", "4096\n")
            .file("sys/class/kfd/kfd/proc/7/vram_4", "8192\n")
            .file("sys/class/kfd/kfd/proc/7/sdma_3", "1\n")
            .file(
                INTERRUPTS,
                "           CPU0       CPU1\n 26:         10         32  PCI-MSI-0000:00:02.0   0-edge      rkfd\n\
                 NMI: 0 5 Non-maskable\n",
            );
        let sample = Sample::take(&machine).unwrap();
        assert_eq!(sample.processes.len(), 1);
        assert_eq!(sample.vram, [Some(12_288)]);
        assert_eq!(sample.evictions, [2]);
        assert_eq!(sample.interrupts, 42);
        assert_eq!(sample.counts[1], ("queues".into(), 1));
    }

    #[test]
    fn what_is_missing_is_named() {
        let machine = Made::new();
        let Err(Failure::File { path, .. }) = Sample::take(&machine) else {
            panic!("there is no driver");
        };
        assert!(path.ends_with("debug/rkfd/queues"));
    }
}
