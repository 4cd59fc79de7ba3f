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
    /// While the program runs; the driver goes on with less, until the module is loaded anew.
    Reload,
    /// While the module is loaded.
    Load,
    /// While the device is reset and the module loaded.
    Probe,
    /// The same; then the module is loaded again, on what the first try left of the device.
    Again,
}

/// A row of a table.
struct Row {
    name: &'static str,
    kind: Kind,
    /// The rules, with `|` between.
    rules: &'static str,
    /// What is run: a vector addition if nothing else is said.
    program: &'static str,
    /// What is found in its output or as its status.
    expected: &'static str,
    /// What is found in the kernel's log.
    logged: &'static str,
}

impl Row {
    fn of(kind: Kind, name: &'static str, rules: &'static str, expected: &'static str) -> Self {
        Self {
            name,
            kind,
            rules,
            program: "",
            expected,
            logged: "",
        }
    }

    fn running(mut self, program: &'static str) -> Self {
        self.program = program;
        self
    }

    fn logging(mut self, logged: &'static str) -> Self {
        self.logged = logged;
        self
    }

    /// Its step.
    fn step(&self) -> Step {
        let Self {
            name,
            rules,
            program,
            expected,
            logged,
            ..
        } = self;
        let kind = match self.kind {
            Kind::Live => "live",
            Kind::Reload => "reload",
            Kind::Load => "load",
            Kind::Probe => "probe",
            Kind::Again => "again",
        };
        let script = format!(
            ". /rules.sh; row {kind} \"{rules}\" \"{program}\" \"{expected}\" \"{logged}\""
        );
        Step::sh(name, 240, &script)
    }
}

/// The rules are there while the program runs; the driver goes on.
fn live(name: &'static str, rules: &'static str, expected: &'static str) -> Row {
    Row::of(Kind::Live, name, rules, expected)
}

/// The rules are there while the program runs; the driver goes on with less until it is loaded anew.
fn reload(name: &'static str, rules: &'static str, expected: &'static str) -> Row {
    Row::of(Kind::Reload, name, rules, expected)
}

/// The rules are there while the module is loaded.
fn load(name: &'static str, rules: &'static str, expected: &'static str) -> Row {
    Row::of(Kind::Load, name, rules, expected)
}

/// The rules are there while the device is reset and the module loaded.
fn probe(name: &'static str, rules: &'static str, expected: &'static str) -> Row {
    Row::of(Kind::Probe, name, rules, expected)
}

/// The same; a second try without a reset works.
fn again(name: &'static str, rules: &'static str, expected: &'static str) -> Row {
    Row::of(Kind::Again, name, rules, expected)
}

/// The vector addition is right.
const RIGHT: &str = "verified 4096/4096";
/// No device: nothing is opened.
const NO_GPU: &str = "status 1";

/// All of them.
pub fn all() -> Vec<Scenario> {
    let mut all = vec![
        table(
            "rules",
            "interrupts, registers, dispatches and the discovery table that misbehave",
            table::both(),
        ),
        table(
            "rules-lost",
            "register accesses that are lost or wrong",
            table::lost(),
        )
        .violates(&[""]),
        with_firmware(table(
            "rules-cpsch",
            "packets of KIQ and HIQ that are late, lost, repeated or answered wrongly",
            table::cpsch(),
        ))
        .scheduled_by(Scheduler::Cpsch)
        // The scheduler's own queue, whose mapping, or what must come before it, was lost.
        .violates(&[
            "UNMAP_QUEUES: doorbell 0x400 is of no connected queue",
            "MAP_QUEUES of the KIQ before SET_RESOURCES",
        ]),
        table(
            "rules-mes",
            "frames of MES that are late, lost, repeated, refused or answered wrongly",
            table::mes(),
        )
        .scheduled_by(Scheduler::Mes)
        // Frames that were carried out and reported as failed, or carried out twice.
        .violates(&[
            "MES: MISC: the process has queues",
            "MES: ADD_QUEUE: the doorbell is that of another queue",
            "MES: REMOVE_QUEUE: no queue of the gang has the doorbell",
            "MES: REMOVE_QUEUE: no ring has the doorbell",
        ]),
    ];
    all.push(
        with_firmware(table(
            "rules-reset",
            "hubs and KIQ that don't answer, and resets of the whole GPU that don't help",
            table::resets(),
        ))
        .scheduled_by(Scheduler::Cpsch),
    );
    all.push(security_processor());
    all.push(
        table(
            "rules-smu",
            "a management unit that doesn't answer, or refuses, while the module is loaded or reads sensors",
            table::management_unit(),
        )
        .scheduled_by(Scheduler::Cpsch),
    );
    all.extend(GONE.map(|(name, when)| gone(name, when)));
    all
}

/// With the files for a GPU that is reset as a whole.
fn with_firmware(mut scenario: Scenario) -> Scenario {
    scenario.includes.push(Include::Firmware);
    scenario
}

/// What the security processor answers while a cold GPU is started; at last it goes in between.
fn security_processor() -> Scenario {
    let scenario = table(
        "rules-psp",
        "a security processor that doesn't answer, or refuses, while a cold GPU is started",
        table::security_processor(),
    )
    .scheduled_by(Scheduler::Cpsch)
    .step(Step::sh(
        "gone-in-between",
        120,
        ". /rules.sh; rule add 'at power-on: cold' && rule add 'at the 2nd LOAD_IP_FW: surprise removal' && \
         power_cycle && insmod /rkfd.ko; $VADD >/tmp/out; [ $? = 1 ]",
    ))
    .step(Step::Rmmod("rkfd".into()));
    with_firmware(scenario)
}

fn table(name: &'static str, about: &'static str, rows: Vec<Row>) -> Scenario {
    controlled(name, about)
        .step(Step::insmod(MODULE))
        .steps(rows.iter().map(Row::step))
        .step(Step::Rmmod("rkfd".into()))
        .timeout(2400)
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

/// When the device goes, and the name of the machine.
const GONE: [(&str, &[&str]); 7] = [
    ("rules-gone-dispatch", &["1st dispatch"]),
    ("rules-gone-fill", &["1st kernel fill"]),
    ("rules-gone-walk", &["1st page walk"]),
    ("rules-gone-interrupt", &["1st IH entry"]),
    // Of either scheduler.
    ("rules-gone-add", &["1st RUN_LIST", "1st ADD_QUEUE"]),
    ("rules-gone-stop", &["1st UNMAP_QUEUES", "1st REMOVE_QUEUE"]),
    ("rules-gone-probe", &["300th any register access"]),
];

/// The device goes in the middle of a program's work, or of the probe: errors, no hang, and the module
/// unloads.
fn gone(name: &'static str, when: &[&str]) -> Scenario {
    let rules = when
        .iter()
        .map(|when| format!("rule add \"at the {when}: surprise removal\" || exit 1; "));
    let add = format!(". /rules.sh; {}", rules.collect::<String>());
    let scenario = controlled(
        name,
        "the device falls off the bus in the midst of work: errors, no hang, and the module unloads",
    );
    if name.ends_with("probe") {
        return scenario
            .step(Step::sh(
                "gone",
                120,
                &format!("{add} insmod {MODULE}; $VADD >/tmp/out; [ $? = 1 ]"),
            ))
            .step(Step::Rmmod("rkfd".into()));
    }
    scenario
        .step(Step::insmod(MODULE))
        .step(Step::sh("works", 60, ". /rules.sh; $VADD >/tmp/out"))
        .step(Step::sh(
            "goes",
            240,
            // Nothing says that the device is gone: a program that only waits learns it when another one asks for something.
            &format!(
                "{add} timeout 150 $VADD >/tmp/out & first=$!; sleep 8; \
                 timeout 60 $VADD >/tmp/second; wait $first; [ $? -le 1 ]"
            ),
        ))
        .step(Step::sh(
            "gone",
            120,
            ". /rules.sh; timeout 60 $VADD >/tmp/out; [ $? = 1 ]",
        ))
        .step(Step::Rmmod("rkfd".into()))
}
