// SPDX-License-Identifier: MIT OR Apache-2.0
//! A device that misbehaves by rules (`docs/misbehaviour.md`): what programs get, what is logged, and
//! whether the driver goes on. Many rules in a machine: each row of a table installs its own.

mod table;

use super::{with_vadd, MODULE};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::{Include, Scenario};
use std::path::PathBuf;

/// When the rules are there (`tests/qemu/rules.sh`).
#[derive(Clone, Copy)]
enum Kind {
    /// While the program runs; the driver goes on.
    Live,
    /// While the program runs; the module has to be loaded anew.
    Reload,
    /// While the module is loaded.
    Load,
    /// While the device is reset and the module loaded.
    Probe,
}

/// A row: its name, when the rules are there, the rules with `|` between, what is run (nothing: a vector
/// addition), what must be found in its output or as its status, and what in the kernel's log.
type Row = (
    &'static str,
    Kind,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// The vector addition is right.
const RIGHT: &str = "verified 4096/4096";
/// No device: nothing is opened.
const NO_GPU: &str = "status 1";

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![
        table(
            "rules",
            "interrupts, registers, dispatches and the discovery table that misbehave",
            table::BOTH,
        ),
        table(
            "rules-cpsch",
            "packets of KIQ and HIQ that are late, lost, repeated or answered wrongly",
            table::CPSCH,
        )
        .scheduled_by(Scheduler::Cpsch),
        table(
            "rules-mes",
            "frames of MES that are late, lost, repeated, refused or answered wrongly",
            table::MES,
        )
        .scheduled_by(Scheduler::Mes),
        gone("rules-removed", "surprise removal"),
        gone("rules-died", "death"),
    ]
}

fn table(name: &'static str, about: &'static str, rows: &[Row]) -> Scenario {
    let mut scenario = controlled(name, about).step(Step::insmod(MODULE));
    for (row, kind, rules, program, expected, logged) in rows {
        let kind = match kind {
            Kind::Live => "live",
            Kind::Reload => "reload",
            Kind::Load => "load",
            Kind::Probe => "probe",
        };
        let script = format!(
            ". /rules.sh; row {kind} \"{rules}\" \"{program}\" \"{expected}\" \"{logged}\""
        );
        scenario = scenario.step(Step::sh(row, 240, &script));
    }
    scenario.step(Step::Rmmod("rkfd".into())).timeout(2400)
}

fn controlled(name: &'static str, about: &'static str) -> Scenario {
    let mut scenario = with_vadd(name, about, "vectoradd")
        .bin("rkfd-programs", "faults")
        .controlled()
        .programs_fault()
        .without_trace();
    scenario.includes.push(Include::File {
        from: PathBuf::from("tests/qemu/rules.sh"),
        to: "/rules.sh".into(),
    });
    scenario
}

/// The device goes in the middle of a program's work: errors, no hang, and the module unloads.
fn gone(name: &'static str, effect: &str) -> Scenario {
    let removed = format!(
        ". /rules.sh; rule add \"at the 2nd dispatch: {effect}\" || exit 1; $VADD >/tmp/out && exit 1; \
         timeout 150 $VADD >/tmp/out; [ $? = 1 ] && timeout 60 $VADD >/tmp/out; [ $? = 1 ] || exit 2"
    );
    let about = match effect {
        "death" => {
            "the device's process dies under a dispatch: errors, no hang, and the module unloads"
        }
        _ => {
            "the device falls off the bus under a dispatch: errors, no hang, and the module unloads"
        }
    };
    controlled(name, about)
        .step(Step::insmod(MODULE))
        .step(Step::sh("works", 60, ". /rules.sh; $VADD >/tmp/out"))
        .step(Step::sh("gone", 240, &removed))
        .step(Step::Rmmod("rkfd".into()))
}
