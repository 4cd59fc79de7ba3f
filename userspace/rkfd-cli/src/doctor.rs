// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd doctor`: what of this machine stops rkfd, and what to type next. It reads files of `/proc`, `/sys` and
//! `/lib`, opens `/dev/kfd`, and touches no register of a GPU.

mod card;
mod config;
pub(crate) mod firmware;
mod kernel;
mod nodes;

use serde_json::{json, Value};

use crate::machine::Machine;
use crate::surroundings;
use crate::Failure;

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// As long as it is so, programs can't use the GPU.
    Stop,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Stop => "stop",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Finding {
    /// What: "kernel", or a GPU's address.
    about: String,
    verdict: Verdict,
    text: String,
    /// What to type or do.
    next: Option<String>,
}

impl Finding {
    fn new(about: &str, verdict: Verdict, text: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            verdict,
            text: text.into(),
            next: None,
        }
    }

    fn ok(about: &str, text: impl Into<String>) -> Self {
        Self::new(about, Verdict::Ok, text)
    }

    fn note(about: &str, text: impl Into<String>) -> Self {
        Self::new(about, Verdict::Note, text)
    }

    fn stop(about: &str, text: impl Into<String>) -> Self {
        Self::new(about, Verdict::Stop, text)
    }

    fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    fn json(&self) -> Value {
        json!({
            "about": self.about,
            "verdict": self.verdict.name(),
            "text": self.text,
            "next": self.next,
        })
    }
}

/// Everything that is known without touching a GPU, in the order in which one would mend it.
fn findings(machine: &Machine) -> Vec<Finding> {
    let owner = surroundings::owner(machine);
    let mut all = kernel::findings(machine, &owner);
    let gpus = machine.gpus();
    if gpus.is_empty() {
        let text = "the PCI bus has no AMD GPU: `lspci -d 1002:` shows none";
        let next =
            "check that the card has power; `make shell` is a virtual machine with an emulated GPU";
        all.push(Finding::stop("PCI", text).next(next));
    }
    all.extend(
        gpus.iter()
            .flat_map(|gpu| card::findings(machine, gpu, &owner)),
    );
    if owner.is_rkfd() {
        all.extend(nodes::findings(machine));
    }
    all
}

/// Looks at the machine and prints what was found.
///
/// # Errors
///
/// [`Failure::Stopped`] if something stops rkfd.
pub(crate) fn examine(as_json: bool) -> Result<(), Failure> {
    let all = findings(&Machine::here());
    let stops = all
        .iter()
        .filter(|one| one.verdict == Verdict::Stop)
        .count();
    if as_json {
        let all: Vec<Value> = all.iter().map(Finding::json).collect();
        println!("{}", json!({ "stops": stops, "findings": all }));
    } else {
        print!("{}", text(&all));
    }
    match stops {
        0 => Ok(()),
        stops => Err(Failure::Stopped { stops }),
    }
}

/// What [`examine`] prints about a machine.
pub(crate) fn report(machine: &Machine) -> String {
    text(&findings(machine))
}

fn text(all: &[Finding]) -> String {
    let mut lines: String = all.iter().map(line).collect();
    if all.iter().all(|one| one.verdict != Verdict::Stop) {
        lines += "nothing stops rkfd; `rkfd info` shows the GPUs\n";
    }
    lines
}

fn line(finding: &Finding) -> String {
    let Finding { about, text, .. } = finding;
    let next = finding
        .next
        .iter()
        .map(|next| format!("      next: {next}\n"));
    let line = format!("{:<5} {about}: {text}\n", finding.verdict.name());
    line + &next.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::made::Made;

    /// Lines of the findings of one verdict.
    pub(super) fn of(all: &[Finding], verdict: Verdict) -> String {
        let all = all.iter().filter(|one| one.verdict == verdict);
        let lines = all.map(|one| {
            let next = one.next.as_deref().unwrap_or_default();
            format!("{}: {} | {next}\n", one.about, one.text)
        });
        lines.collect()
    }

    /// A machine on which a program computes.
    fn working() -> Made {
        Made::new()
            .file("proc/sys/kernel/osrelease", "7.3.4+deb13-amd64\n")
            .module("rkfd")
            .pci("0000:03:00.0", "0x1002", "0x120000", Some("rkfd"))
            .file("dev/kfd", "")
            .file("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n")
            .file("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "40110\n")
    }

    #[test]
    fn nothing_stops_a_machine_that_works() {
        let all = findings(&working());
        assert_eq!(of(&all, Verdict::Stop), "");
        let right = of(&all, Verdict::Ok);
        assert!(right.contains("driven by rkfd"), "{right}");
        assert!(right.contains("1 GPU for programs"), "{right}");
    }

    #[test]
    fn each_finding_says_which_gpu() {
        let machine = working().pci("0000:83:00.0", "0x1002", "0x120000", Some("vfio-pci"));
        let stops = of(&findings(&machine), Verdict::Stop);
        let expected = "GPU 0000:83:00.0 (1002:74a2): driven by vfio-pci | \
                        echo 0000:83:00.0 > /sys/bus/pci/drivers/vfio-pci/unbind; \
                        echo 0000:83:00.0 > /sys/bus/pci/drivers/rkfd/bind\n";
        assert_eq!(stops, expected);
    }

    #[test]
    fn a_machine_without_gpu_or_driver_is_told_so() {
        let stops = of(&findings(&Made::new()), Verdict::Stop);
        assert!(stops.contains("the PCI bus has no AMD GPU"), "{stops}");
    }
}
