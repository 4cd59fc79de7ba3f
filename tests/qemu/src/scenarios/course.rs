// SPDX-License-Identifier: MIT OR Apache-2.0
//! The labs of `docs/course/`, as somebody types them.

use super::{with_vadd, MODULE};
use crate::course;
use crate::plan::Step;
use crate::scenario::Scenario;

/// Programs of the labs.
pub const PROGRAMS: [&str; 6] = [
    "vectoradd",
    "queues",
    "faults",
    "preempted",
    "polling",
    "device",
];

/// All of them, in one machine.
pub fn labs() -> Scenario {
    let mut scenario = with_vadd(
        "course",
        "the labs of the course print what their pages say",
        PROGRAMS[0],
    )
    .bin("rkfd-cli", "rkfd")
    .kernel("spin", 3)
    .controlled()
    .programs_fault()
    .step(Step::insmod(MODULE))
    .check(course::check);
    for program in &PROGRAMS[1..] {
        scenario = scenario.bin("rkfd-programs", program);
    }
    for command in course::commands() {
        let script = format!("echo '{}'; {}", course::mark(&command), command.typed);
        scenario = scenario.step(Step::sh(&command.name, 120, &script));
    }
    scenario.step(Step::Rmmod("rkfd".into()))
}
