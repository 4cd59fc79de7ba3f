// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the loaded module gives to programs: `/dev/kfd`, and GPUs in its topology.

use std::fs::OpenOptions;
use std::io::ErrorKind;

use super::Finding;
use crate::machine::Machine;

const KFD: &str = "/dev/kfd";
const NODES: &str = "sys/class/kfd/kfd/topology/nodes";

pub(super) fn findings(machine: &Machine) -> Vec<Finding> {
    vec![file(machine), gpus(machine)]
}

fn file(machine: &Machine) -> Finding {
    let path = machine.path("dev/kfd");
    let Err(error) = OpenOptions::new().read(true).write(true).open(path) else {
        return Finding::ok(KFD, "this user may open it");
    };
    match error.kind() {
        ErrorKind::PermissionDenied => Finding::stop(KFD, "this user may not open it").next(
            "usermod -aG render USER, and log in again; `ls -l /dev/kfd` must name that group",
        ),
        ErrorKind::NotFound => Finding::stop(KFD, "is not there, though the module is loaded")
            .next("mount -t devtmpfs devtmpfs /dev, or wait for udev"),
        _ => Finding::stop(KFD, format!("can't be opened: {error}")).next("dmesg | grep rkfd"),
    }
}

fn gpus(machine: &Machine) -> Finding {
    let nodes = machine.list(NODES).into_iter();
    let ids = nodes.map(|node| machine.text(format!("{NODES}/{node}/gpu_id")));
    // A CPU's node has 0.
    match ids
        .filter(|id| id.as_deref().is_some_and(|id| id != "0"))
        .count()
    {
        0 => Finding::stop("topology", "has no GPU for programs").next("dmesg | grep rkfd"),
        1 => Finding::ok("topology", "has 1 GPU for programs"),
        count => Finding::ok("topology", format!("has {count} GPUs for programs")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{tests::of, Verdict};
    use super::*;
    use crate::machine::made::Made;

    #[test]
    fn a_topology_of_cpus_has_no_gpu() {
        let machine = Made::new()
            .file("dev/kfd", "")
            .file(&format!("{NODES}/0/gpu_id"), "0\n");
        let stops = of(&findings(&machine), Verdict::Stop);
        assert_eq!(
            stops,
            "topology: has no GPU for programs | dmesg | grep rkfd\n"
        );
        let two = machine
            .file(&format!("{NODES}/1/gpu_id"), "40110\n")
            .file(&format!("{NODES}/2/gpu_id"), "7233\n");
        assert_eq!(gpus(&two).text, "has 2 GPUs for programs");
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        let stops = of(&findings(&Made::new()), Verdict::Stop);
        assert!(stops.contains("/dev/kfd: is not there"), "{stops}");
    }
}
