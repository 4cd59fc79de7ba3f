// SPDX-License-Identifier: MIT OR Apache-2.0
//! The labs of `docs/course/`, as somebody types them.

use super::lifetime::NOTHING_LEFT;
use super::{with_vadd, MODULE};
use crate::course;
use crate::plan::Step;
use crate::scenario::Scenario;

/// Programs of the labs.
const PROGRAMS: [&str; 8] = [
    "vectoradd",
    "queues",
    "faults",
    "hung",
    "preempted",
    "polling",
    "rings",
    "device",
];
/// Those in C, whose sources stand in the labs.
const C_PROGRAMS: [&str; 2] = ["doorbell", "aql"];

/// A scenario with the programs of the labs, among them `device`, which speaks to the device's control socket.
pub fn with_programs(name: &'static str, about: &'static str) -> Scenario {
    let [first, others @ ..] = PROGRAMS;
    let mut scenario = with_vadd(name, about, first)
        .bin("rkfd-cli", "rkfd")
        .kernel("spin", 3)
        .controlled();
    for program in others {
        scenario = scenario.bin("rkfd-programs", program);
    }
    for program in C_PROGRAMS {
        scenario = scenario.c(program);
    }
    scenario
}

/// All of them, in one machine.
pub fn labs() -> Scenario {
    let mut scenario = with_programs(
        "course",
        "the labs of the course print what their pages say",
    )
    .programs_fault()
    .timeout(600)
    .step(Step::insmod(MODULE))
    .check(course::check);
    for command in course::commands() {
        scenario = scenario.step(Step::sh(&command.name, 120, &command.script()));
    }
    // A program of the last lab goes on in the background, and may not have ended yet.
    scenario
        .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
        .step(Step::Rmmod("rkfd".into()))
}
