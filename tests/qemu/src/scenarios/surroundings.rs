// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bad surroundings: the advice of `rkfd info` and `rkfd doctor` when there is no GPU to show, and what the
//! module reports when another driver was there first.

use super::MODULE;
use crate::plan::Step;
use crate::scenario::{Include, Scenario};

/// No GPU; and a GPU without module, without permission, without driver.
pub fn all() -> Vec<Scenario> {
    let no_gpu = scenario("no-gpu", "without a GPU the command reports that")
        .without_device()
        .step(not_kfd())
        .step(advises(
            "no-module",
            "no KFD driver is loaded",
            "has no AMD GPU",
        ))
        .step(doctor("doctor", 3, "the PCI bus has no AMD GPU"))
        .step(Step::sh("capture", 10, NO_CARD))
        .step(Step::insmod(MODULE))
        .step(advises(
            "no-gpu",
            "the KFD driver has no GPU",
            "has no AMD GPU",
        ))
        .step(Step::Rmmod("rkfd".into()));
    let unbind = "cd /sys/bus/pci/drivers/rkfd; for slot in 0000:*; do echo $slot > unbind; done";
    let gpu = scenario(
        "surroundings",
        "without module, permission or driver the command explains what to do",
    )
    .step(advises(
        "no-module",
        "no KFD driver is loaded",
        "has no driver: modprobe drm; insmod rkfd.ko",
    ))
    .step(doctor(
        "doctor-module",
        3,
        "^      next: modprobe drm; insmod rkfd.ko$",
    ))
    .step(Step::sh(
        "manual",
        10,
        "rkfd manual /tmp/man && grep -q '^.SH SYNOPSIS' /tmp/man/rkfd-run.1 && grep -q doctor /tmp/man/rkfd.bash",
    ))
    .step(doctor("only-that", 3, "^rkfd: 1 of these stop rkfd$"))
    .step(Step::insmod(MODULE))
    .step(Step::sh("info", 60, "rkfd info"))
    .step(doctor("doctor-works", 0, "^nothing stops rkfd; "))
    .step(forbidden("kfd", "/dev/kfd"))
    .step(forbidden("render", "/dev/dri/renderD128"))
    .step(Step::sh("unbind", 60, unbind))
    .step(advises(
        "no-driver",
        "the KFD driver has no GPU",
        "was not taken by rkfd",
    ))
    .step(doctor(
        "doctor-driver",
        3,
        "was not taken by rkfd|topology: has no GPU",
    ))
    .step(Step::Rmmod("rkfd".into()));
    let all = [no_gpu, gpu, other_driver()];
    all.map(Scenario::shares_a_machine).into()
}

/// There is nothing to be captured.
const NO_CARD: &str =
    "rkfd capture --yes /tmp/x.tar 2>/tmp/message; [ $? = 3 ] && ! [ -e /tmp/x.tar ] && \
    grep -q 'the PCI bus has no AMD GPU: check' /tmp/message";

/// A driver that has the class `kfd`, as Linux's amdgpu has it.
const OTHER: &str = "other_kfd";

/// Linux's number of this errno, with which busybox' insmod exits.
const EBUSY: i32 = 16;

/// Another driver was there first: the module reports which and what to type, and that works. A call
/// trace in the log, such as that of a duplicate name in sysfs, makes the run bad.
fn other_driver() -> Scenario {
    let mut scenario = scenario(
        "other-driver",
        "where another driver has class kfd the module refuses, and reports whose it is",
    )
    .step(Step::insmod(&format!("/{OTHER}.ko")))
    .step(Step::run_status(
        "refused",
        60,
        EBUSY,
        &["/bin/busybox", "insmod", MODULE],
    ))
    .step(Step::sh(
        "message",
        60,
        &format!(
            "dmesg | grep -q \"rkfd: class kfd belongs to the module {OTHER}: 'rmmod {OTHER}'\""
        ),
    ))
    .step(Step::Absent("/sys/module/rkfd".into()))
    .step(doctor("doctor", 3, "has no driver"))
    .step(Step::Rmmod(OTHER.into()))
    .step(Step::insmod(MODULE))
    .step(Step::sh("info", 60, "rkfd info"))
    .step(Step::Rmmod("rkfd".into()));
    scenario.includes.push(Include::TestModule { name: OTHER });
    scenario
}

fn scenario(name: &'static str, about: &'static str) -> Scenario {
    Scenario::new(name, about)
        .bin("rkfd-cli", "rkfd")
        .without_trace()
}

/// The command fails, and prints both what is wrong and what to do.
fn advises(name: &str, wrong: &str, advice: &str) -> Step {
    let script = format!(
        "if rkfd info 2>/tmp/message; then exit 2; fi; cat /tmp/message; \
         grep -q '{wrong}' /tmp/message && grep -q '{advice}' /tmp/message"
    );
    Step::sh(name, 60, &script)
}

/// `rkfd doctor` ends with that status, and prints lines that match each part of `wanted`, between bars.
fn doctor(name: &str, status: i32, wanted: &str) -> Step {
    let seen = wanted.split('|');
    let seen = seen.map(|part| format!(" && grep -q '{part}' /tmp/doctor"));
    let seen = seen.collect::<Vec<_>>().concat();
    let script = format!(
        "rkfd doctor >/tmp/doctor 2>&1; status=$?; cat /tmp/doctor; [ $status = {status} ]{seen}"
    );
    Step::sh(name, 60, &script)
}

/// The command does not take just any file for the driver's, and its exit status means that there is
/// no GPU to use.
fn not_kfd() -> Step {
    let script = "mknod /dev/kfd c 1 3; rkfd info >/tmp/message 2>&1; status=$?; rm /dev/kfd; \
         cat /tmp/message; [ $status = 3 ] && grep -q 'does not answer as a KFD driver' /tmp/message";
    Step::sh("not-kfd", 60, script)
}

/// The command, as a user who may not open a node, names it. Nodes are root's alone until a rule of udev's,
/// which the guest hasn't got, gives them to others.
fn forbidden(name: &str, node: &str) -> Step {
    let script = format!(
        "echo 'user:x:1000:1000::/:/bin/sh' >/etc/passwd; [ $(stat -c %a:%u:%g {node}) = 600:0:0 ] || exit 4; \
         if start-stop-daemon -S -q -c 1000:1000 -x /bin/rkfd -- info >/dev/null 2>/tmp/message; \
         then exit 2; fi; chmod 666 {node}; cat /tmp/message; \
         grep -q 'no permission to open {node}' /tmp/message"
    );
    Step::sh(&format!("forbidden-{name}"), 60, &script)
}
