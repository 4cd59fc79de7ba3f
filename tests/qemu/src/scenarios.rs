// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenarios, in the order in which they run.

use crate::plan::Step;
use crate::scenario::Scenario;

/// What `rkfd-vm test` runs.
pub fn all() -> Vec<Scenario> {
    vec![
        boot(),
        notices_a_panic(),
        notices_a_failing_program(),
        notices_a_hang(),
        load(),
    ]
}

/// What `rkfd-vm demo` runs.
pub fn demo() -> Scenario {
    Scenario::new("demo", "one dispatch, followed from ioctl to interrupt").steps([
        Step::insmod("/rkfd.ko"),
        Step::Exists("/dev/kfd".into()),
        Step::Rmmod("rkfd".into()),
    ])
}

/// What `rkfd-vm shell` runs.
pub fn shell() -> Scenario {
    Scenario::new("shell", "a shell with the module loaded")
        .steps([Step::insmod("/rkfd.ko"), Step::Shell])
}

/// Also the trial that decides whether KVM can be used.
pub fn boot() -> Scenario {
    Scenario::new("boot", "the stock kernel reaches process 1 and powers off")
        .without_device()
        .without_module()
        .step(Step::Exists("/sys/kernel/debug/x86".into()))
        .timeout(120)
}

fn load() -> Scenario {
    Scenario::new(
        "load",
        "the module loads into the stock kernel and unloads, again and again, without a device",
    )
    .without_device()
    .steps([
        Step::insmod("/rkfd.ko"),
        Step::Exists("/sys/module/rkfd".into()),
        Step::Rmmod("rkfd".into()),
        Step::Absent("/sys/module/rkfd".into()),
        Step::insmod("/rkfd.ko"),
        Step::Rmmod("rkfd".into()),
    ])
}

// The judge is tested, too: a fault of each kind must not go unseen.

fn notices_a_panic() -> Scenario {
    Scenario::new("notices-a-panic", "a kernel panic makes the run bad")
        .without_device()
        .without_module()
        .step(Step::sh("crash", 20, "echo c > /proc/sysrq-trigger"))
        .fails_with("Kernel panic")
}

fn notices_a_failing_program() -> Scenario {
    Scenario::new(
        "notices-a-failing-program",
        "a wrong exit status makes the run bad",
    )
    .without_device()
    .without_module()
    .step(Step::sh("wrong-status", 20, "exit 3"))
    .fails_with("wrong-status: exit status 3, wanted 0")
}

fn notices_a_hang() -> Scenario {
    Scenario::new(
        "notices-a-hang",
        "a program that never ends is killed and makes the run bad",
    )
    .without_device()
    .without_module()
    .step(Step::sh("sleeper", 1, "sleep 1000"))
    .fails_with("sleeper: no end after")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_single_words_and_unique() {
        let mut names: Vec<&str> = all().iter().map(|s| s.name).collect();
        assert!(names
            .iter()
            .all(|n| !n.is_empty() && !n.contains(char::is_whitespace)));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
