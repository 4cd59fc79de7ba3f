// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one program does makes no other wait, fail or end, and never makes the kernel warn.

use super::{with_vadd, MODULE, VADD};
use crate::plan::Step;
use crate::scenario::Scenario;

/// A folder for memory cgroups.
const GROUPS: &str = "mkdir -p /tmp/groups && mount -t cgroup2 none /tmp/groups && \
    echo +memory > /tmp/groups/cgroup.subtree_control && cd /tmp/groups && mkdir charged hoard permitted";

/// A program makes objects until the limit of its group ends it (SIGKILL, 128 + 9). Another program, and
/// that outside of the group, lives on.
const HOARD: &str = "echo 24M > /tmp/groups/hoard/memory.max; \
    sleep 1000 & innocent=$!; \
    sh -c 'echo $$ > /tmp/groups/hoard/cgroup.procs; exec neighbours hoard'; status=$?; \
    cat /tmp/groups/hoard/memory.events; echo ended with $status; \
    [ $status = 137 ] && grep -q 'oom_kill 1' /tmp/groups/hoard/memory.events && \
    kill $innocent && vectoradd /kernels/vadd-O3.co 4096";

/// The driver tried 200 times to map memory, and each time failed: far fewer lines are in the kernel's log.
const LOG: &str = "lines=$(dmesg | grep -c 'mapping user memory failed'); echo $lines lines; \
    [ $lines -gt 0 ] && [ $lines -le 100 ]";

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![neighbours(), floods()]
}

/// Both chips report a fault of each wave until the scheduler has taken the process' queues off.
fn floods() -> Scenario {
    with_vadd(
        "fault-floods",
        "two programs flood the GPU with faults, and a third one's signals reach it as before",
        "floods",
    )
    .programs_fault()
    .without_trace()
    .step(Step::insmod(MODULE))
    .step(Step::run("floods", 300, &["/bin/floods", VADD]))
    .step(Step::sh(
        "nothing-is-left",
        60,
        super::lifetime::NOTHING_LEFT,
    ))
    .step(Step::Rmmod("rkfd".into()))
    .timeout(420)
}

fn neighbours() -> Scenario {
    let program = |name: &str, seconds, words: &[&str]| {
        let words = [&["/bin/neighbours"], words].concat();
        Step::run(name, seconds, &words)
    };
    with_vadd(
        "neighbours",
        "a greedy program makes no other wait, fail or end, and the kernel never warns",
        "vectoradd",
    )
    .bin("rkfd-programs", "neighbours")
    .bin("rkfd-programs", "stalled")
    .bin("rkfd-programs", "restored")
    .bin("rkfd-programs", "permitted")
    .programs_fault()
    // Little VRAM, so that it can be filled.
    .emulator_arg("--vram-mib")
    .emulator_arg("512")
    .without_trace()
    .step(Step::insmod(MODULE))
    .step(program("sleepers", 120, &["sleepers"]))
    .step(program("events", 60, &["events"]))
    .step(program("files", 60, &["files"]))
    .step(program("limit", 60, &["limit"]))
    .step(program("objects", 120, &["objects"]))
    .step(Step::run(
        "addresses",
        30,
        &["/bin/restored", VADD, "addresses"],
    ))
    .step(Step::run("later", 120, &["/bin/restored", VADD, "later"]))
    .step(Step::run("two", 120, &["/bin/restored", VADD, "two"]))
    .step(Step::sh("log", 60, LOG))
    .step(Step::run("stalled", 120, &["/bin/stalled", VADD]))
    .step(Step::sh("groups", 60, GROUPS))
    .step(program(
        "charged-events",
        60,
        &["charged", "events", "/tmp/groups/charged"],
    ))
    .step(program(
        "charged-objects",
        60,
        &["charged", "objects", "/tmp/groups/charged"],
    ))
    .step(program(
        "charged-contexts",
        60,
        &["charged", "contexts", "/tmp/groups/charged"],
    ))
    .step(Step::sh("hoard", 120, HOARD))
    .step(Step::run(
        "permitted",
        30,
        &["/bin/permitted", "/tmp/groups/permitted"],
    ))
    .step(Step::Rmmod("rkfd".into()))
    .timeout(600)
}
