// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the module shows in debugfs, and which registers that reads.
//!
//! Nobody reads registers behind a driver's back: many are reached through an index register that the driver uses as well,
//! and some change when they are read. The module's files take the driver's locks, and read only what is in this table.

use std::io::ErrorKind;
use std::path::Path;

use super::collection::{Collection, Kind};
use crate::machine::Machine;

const DEBUGFS: &str = "sys/kernel/debug";

/// A file of the module's.
struct Shown {
    path: &'static str,
    /// The registers that it reads, or "none".
    registers: &'static str,
    /// Why that is safe.
    safe: &'static str,
}

const NONE: &str = "none";
const NOT_TOUCHED: &str = "the driver's own counts";

/// Without `rkfd/waves`, which reads thousands of registers of wave slots.
const SHOWN: [Shown; 11] = [
    Shown {
        path: "rkfd/counts",
        registers: NONE,
        safe: NOT_TOUCHED,
    },
    Shown {
        path: "rkfd/queues",
        registers: "CP_HQD_ACTIVE, PQ_DOORBELL_CONTROL, PQ_RPTR, PQ_WPTR and VMID of each HQD",
        safe: "status of a queue, which reading doesn't change; selected under the driver's lock, as Linux's kfd/hqds does",
    },
    Shown {
        path: "rkfd/evictions",
        registers: NONE,
        safe: NOT_TOUCHED,
    },
    Shown {
        path: "rkfd/vmids",
        registers: "the mapping of VMIDs to PASIDs",
        safe: "a table that only drivers write; Linux reads it at each fault",
    },
    Shown {
        path: "rkfd/doorbells",
        registers: NONE,
        safe: NOT_TOUCHED,
    },
    Shown {
        path: "rkfd/tlb",
        registers: NONE,
        safe: NOT_TOUCHED,
    },
    Shown {
        path: "rkfd/scheduler",
        registers: "as rkfd/queues, of the scheduler's own rings",
        safe: "as rkfd/queues",
    },
    Shown {
        path: "kfd/hqds",
        registers: "the HQDs' registers from CP_MQD_BASE_ADDR on, and the copy engines' queues'",
        safe: "Linux's file of the same name reads the same ones (kgd_hqd_dump, kgd_hqd_sdma_dump), under a lock",
    },
    Shown {
        path: "kfd/mqds",
        registers: NONE,
        safe: "the queues' descriptors in memory",
    },
    Shown {
        path: "kfd/rls",
        registers: NONE,
        safe: "the run list in memory",
    },
    Shown {
        path: "kfd/mem_limit",
        registers: NONE,
        safe: NOT_TOUCHED,
    },
];

/// How far debugfs can be seen.
pub(super) enum Debugfs {
    There,
    /// This user can't see it.
    Forbidden,
    /// It isn't mounted, or the kernel has none.
    Absent,
}

/// How far that of a machine can.
pub(super) fn debugfs(machine: &Machine) -> Debugfs {
    match std::fs::read_dir(machine.path(DEBUGFS)) {
        Ok(mut entries) => entries.next().map_or(Debugfs::Absent, |_| Debugfs::There),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Debugfs::Forbidden,
        Err(_) => Debugfs::Absent,
    }
}

/// Puts in what there is.
pub(super) fn collect(all: &mut Collection) {
    let what = "the module's files in debugfs";
    match debugfs(all.machine) {
        Debugfs::There => {}
        Debugfs::Forbidden => {
            return all.missing(what, "only root reads debugfs", "sudo rkfd capture");
        }
        Debugfs::Absent => {
            let next = "mount -t debugfs debugfs /sys/kernel/debug";
            return all.missing(what, "there is no debugfs", next);
        }
    }
    // Upstream's driver has a folder `kfd` there as well, and its files are read under the same names.
    if !all.machine.has(Path::new(DEBUGFS).join("rkfd")) {
        let next = "modprobe drm; insmod rkfd.ko, if rkfd is to have the card";
        return all.missing(what, "rkfd isn't loaded", next);
    }
    let mut table = String::new();
    for shown in &SHOWN {
        let (to, from) = (
            format!("driver/{}", shown.path),
            Path::new(DEBUGFS).join(shown.path),
        );
        let was = match shown.path {
            "rkfd/queues" => queues(all, to, &from),
            _ => all.file(to, &from, Kind::Text),
        };
        if was {
            let (registers, safe) = (shown.registers, shown.safe);
            table += &format!("{}\n  registers: {registers}\n  safe: {safe}\n", shown.path);
        }
    }
    all.text("driver/registers.txt", &table, "a table of this command's");
}

/// The file with the queues, without names of processes: `process NUMBER NAME`.
fn queues(all: &mut Collection, to: String, from: &Path) -> bool {
    let bytes = match all.read(from) {
        Ok(bytes) => bytes,
        Err(error) => {
            all.refused(from, &error);
            return false;
        }
    };
    let mut text = String::new();
    for line in String::from_utf8_lossy(&bytes).lines() {
        let number = line
            .strip_prefix("process ")
            .map(|rest| rest.split(' ').next());
        match number.flatten() {
            Some(number) => text += &format!("process {number} ?\n"),
            None => text += &format!("{line}\n"),
        }
    }
    all.text(&to, &text, &format!("/{}", from.display()));
    true
}
