// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-vm bench`: what the paths of a dispatch cost, as ratios of one run, where its time goes ([`stages`]), and what requests
//! do ([`costs`]);
//! `rkfd-vm bench-amdgpu`: what they do with Linux's own driver ([`rivals`]).

pub mod costs;
pub mod rivals;
pub mod stages;

use crate::qemu::Accel;
use std::fmt;

/// Pages of 4 KiB in the large mapping.
const PAGES: f64 = 512.0;

/// The measured paths, in the order in which they are shown: the program's name for it, what it
/// is, and by what its cost is divided before it is shown.
const PATHS: [(&str, &str, f64); 14] = [
    ("get-version", "ioctl GET_VERSION: the unit", 1.0),
    ("get-version-syscalls", "  with sys_enter, sys_exit on", 1.0),
    (
        "get-version-traced",
        "  with rkfd_ioctl_enter, _exit on",
        1.0,
    ),
    ("enqueue", "enqueue: slot, packet, doorbell", 1.0),
    ("round-trip-polled", "dispatch to completion, polled", 1.0),
    ("round-trip-event", "the same, wait: spin, then event", 1.0),
    (
        "create-destroy-queue",
        "CREATE_QUEUE and DESTROY_QUEUE",
        1.0,
    ),
    ("map-4k-gtt", "alloc, map, free: 4 KiB, system", 1.0),
    ("map-2m-gtt", "  2 MiB, system, for each 4 KiB", PAGES),
    ("map-4k-vram", "alloc, map, free: 4 KiB, VRAM", 1.0),
    ("map-2m-vram", "  2 MiB, VRAM, for each 4 KiB", PAGES),
    ("copy-sdma", "copy 1 MiB in VRAM: SDMA", 1.0),
    ("copy-kernel", "  by a kernel", 1.0),
    ("copy-cpu", "  by the CPU, through the BAR", 1.0),
];

/// The measured times in nanoseconds, in the order of [`PATHS`].
pub struct Table {
    times: Vec<f64>,
    accel: Accel,
}

impl Table {
    /// Read `bench NAME NANOSECONDS` lines.
    pub fn of(output: &[String], accel: Accel) -> Result<Self, String> {
        let line = |name: &str| {
            let mut lines = output.iter().filter_map(|l| l.strip_prefix("bench "));
            lines.find_map(|l| l.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
        };
        let time = |(name, _, _): &(&str, &str, f64)| {
            let found = line(name).filter(|t: &f64| *t > 0.0);
            found.ok_or_else(|| format!("the benchmark measured no '{name}'"))
        };
        let times = PATHS.iter().map(time).collect::<Result<_, _>>()?;
        Ok(Table { times, accel })
    }

    fn time(&self, name: &str) -> f64 {
        let all = PATHS.iter().zip(&self.times);
        all.filter(|(p, _)| p.0 == name).map(|(_, &t)| t).sum()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.times.first().copied().unwrap_or(1.0);
        let virtual_machine = match self.accel {
            Accel::Kvm => "KVM: the processor runs the guest; the GPU is emulated",
            Accel::Tcg => "TCG: guest code is translated and slow; the GPU is emulated",
        };
        writeln!(f, "Paths of a dispatch, medians of one run in QEMU,")?;
        writeln!(f, "{virtual_machine}.")?;
        writeln!(
            f,
            "Ratios are what counts; times hold for this machine only.\n"
        )?;
        writeln!(f, "{:36}{:>12}{:>14}", "path", "ratio", "nanoseconds")?;
        for ((_, what, by), time) in PATHS.iter().zip(&self.times) {
            let time = time / by;
            writeln!(f, "{what:36}{:>12.3}{time:>14.0}", time / unit)?;
        }
        let ratio = |a: &str, b: &str| self.time(a) / self.time(b);
        let added = |name: &str| (ratio(name, "get-version") - 1.0) * 100.0;
        let [driver, kernel] = [added("get-version-traced"), added("get-version-syscalls")];
        let create = ratio("create-destroy-queue", "enqueue");
        let event = ratio("round-trip-event", "round-trip-polled");
        let gtt = ratio("map-4k-gtt", "map-2m-gtt") * PAGES;
        let vram = ratio("map-4k-vram", "map-2m-vram") * PAGES;
        writeln!(f)?;
        writeln!(
            f,
            "two tracepoints add {driver:.1} % (the driver's) or {kernel:.1} % (the kernel's) to a request"
        )?;
        writeln!(
            f,
            "making and destroying a queue costs {create:.0} enqueues"
        )?;
        writeln!(f, "waiting by event takes {event:.2} times as long as polling; less than 1 means that polling")?;
        writeln!(f, "takes the processor from the emulated GPU")?;
        writeln!(
            f,
            "a 4 KiB page mapped alone costs {gtt:.0} times (system memory) and {vram:.0} times"
        )?;
        writeln!(f, "(VRAM) what one of a 2 MiB buffer costs")?;
        let kernel = ratio("copy-kernel", "copy-sdma");
        let cpu = ratio("copy-cpu", "copy-sdma");
        writeln!(
            f,
            "1 MiB copied takes a kernel {kernel:.2} times and the CPU {cpu:.2} times as long as an SDMA engine"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_path_is_an_error() {
        let all: Vec<String> = PATHS
            .iter()
            .map(|p| format!("bench {} 10.5", p.0))
            .collect();
        let table = Table::of(&all, Accel::Tcg).unwrap();
        assert_eq!(table.time("enqueue"), 10.5);
        assert!(table.to_string().lines().all(|l| l.len() < 100));
        assert!(Table::of(&all[1..], Accel::Tcg).is_err());
    }
}
