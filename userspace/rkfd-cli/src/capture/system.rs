// SPDX-License-Identifier: MIT OR Apache-2.0

//! The machine: kernel, parameters of the driver, KFD's topology, the doctor's report.

use super::collection::{Collection, Kind};
use crate::doctor;

/// KFD's topology, and its nodes.
const TOPOLOGY: &str = "sys/devices/virtual/kfd/kfd/topology";
pub(super) const NODES: &str = "sys/devices/virtual/kfd/kfd/topology/nodes";
/// Modules that drive these cards.
const MODULES: [&str; 2] = ["rkfd", "amdgpu"];

/// Puts in what there is.
pub(super) fn collect(all: &mut Collection) {
    // Not /proc/version, which tells who built the kernel, and where.
    let release = "proc/sys/kernel/osrelease";
    all.file("kernel/release".into(), release, Kind::Text);
    for module in MODULES {
        for name in ["initstate", "taint", "srcversion"] {
            let to = format!("kernel/{module}/{name}");
            all.file(to, format!("sys/module/{module}/{name}"), Kind::Text);
        }
        let parameters = format!("sys/module/{module}/parameters");
        all.folder(&format!("kernel/{module}/parameters"), parameters);
    }
    if !all.folder("topology", TOPOLOGY) {
        let next = "load rkfd or amdgpu, and run this again";
        all.missing("KFD's topology", "there is none", next);
    }
    let report = doctor::report(all.machine);
    all.text("doctor.txt", &report, "rkfd doctor");
}
