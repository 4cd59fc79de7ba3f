// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bad surroundings: what `rkfd info` says to do when there is no GPU to show.

use super::MODULE;
use crate::plan::Step;
use crate::scenario::Scenario;

/// No GPU; and a GPU without module, without permission, without driver.
pub fn all() -> Vec<Scenario> {
    let no_gpu = scenario("no-gpu", "without a GPU the command says so")
        .without_device()
        .step(says(
            "no-module",
            "no KFD driver is loaded",
            "has no AMD GPU",
        ))
        .step(Step::insmod(MODULE))
        .step(says(
            "no-gpu",
            "the KFD driver has no GPU",
            "has no AMD GPU",
        ))
        .step(Step::Rmmod("rkfd".into()));
    let unbind = "cd /sys/bus/pci/drivers/rkfd; for slot in 0000:*; do echo $slot > unbind; done";
    let gpu = scenario(
        "surroundings",
        "without module, permission or driver the command says what to do",
    )
    .step(says(
        "no-module",
        "no KFD driver is loaded",
        "has no driver: insmod rkfd.ko",
    ))
    .step(Step::insmod(MODULE))
    .step(Step::sh("info", 20, "rkfd info"))
    .step(forbidden("kfd", "/dev/kfd"))
    .step(forbidden("render", "/dev/dri/renderD255"))
    .step(Step::sh("unbind", 20, unbind))
    .step(says(
        "no-driver",
        "the KFD driver has no GPU",
        "was not taken by rkfd",
    ))
    .step(Step::Rmmod("rkfd".into()));
    vec![no_gpu, gpu]
}

fn scenario(name: &'static str, about: &'static str) -> Scenario {
    Scenario::new(name, about)
        .bin("rkfd-cli", "rkfd")
        .without_trace()
}

/// The command fails, and says both what is wrong and what to do.
fn says(name: &str, wrong: &str, advice: &str) -> Step {
    let script = format!(
        "if rkfd info 2>/tmp/said; then exit 2; fi; cat /tmp/said; \
         grep -q '{wrong}' /tmp/said && grep -q '{advice}' /tmp/said"
    );
    Step::sh(name, 20, &script)
}

/// The command, as a user who may not open a node, names it.
fn forbidden(name: &str, node: &str) -> Step {
    let script = format!(
        "echo 'user:x:1000:1000::/:/bin/sh' >/etc/passwd; chmod 600 {node}; \
         if start-stop-daemon -S -q -c 1000:1000 -x /bin/rkfd -- info >/dev/null 2>/tmp/said; \
         then exit 2; fi; chmod 666 {node}; cat /tmp/said; \
         grep -q 'no permission to open {node}' /tmp/said"
    );
    Step::sh(&format!("forbidden-{name}"), 20, &script)
}
