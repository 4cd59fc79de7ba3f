// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many at once, and many that die: processes, queues, events, memory, bindings. A small number of each
//! for every change, a large one for who has the time.

use super::lifetime::NOTHING_LEFT;
use super::{with_vadd, MODULE, VADD};
use crate::plan::Step;
use crate::scenario::Scenario;

/// How many of each.
struct Size {
    kills: &'static str,
    processes: &'static str,
    working: &'static str,
    queues: &'static str,
    events: &'static str,
    waiters: &'static str,
    vram: &'static str,
    bindings: u32,
    memory_mib: u32,
    /// Seconds for each.
    limit: u64,
}

const SMALL: Size = Size {
    kills: "100",
    processes: "24",
    working: "8",
    queues: "128",
    events: "512",
    waiters: "128",
    vram: "2",
    bindings: 5,
    memory_mib: 1024,
    limit: 240,
};

const LARGE: Size = Size {
    kills: "10000",
    processes: "512",
    working: "32",
    queues: "4096",
    events: "4000",
    waiters: "1000",
    vram: "20",
    bindings: 1000,
    memory_mib: 4096,
    limit: 3600,
};

/// For every change.
pub fn all() -> [Scenario; 2] {
    [crowd("crowd", &SMALL), deaths("deaths", &SMALL)]
}

/// For who has the time.
pub fn long() -> [Scenario; 2] {
    [crowd("storm-crowd", &LARGE), deaths("storm-deaths", &LARGE)]
}

fn storm(name: &'static str, about: &'static str) -> Scenario {
    with_vadd(name, about, "vectoradd")
        .bin("rkfd-programs", "storm")
        .without_trace()
        .step(Step::insmod(MODULE))
}

fn case(name: &str, size: &Size, numbers: &[&str]) -> [Step; 2] {
    let mut argv = vec!["/bin/storm", VADD, name];
    argv.extend(numbers);
    [
        Step::run(name, size.limit, &argv),
        Step::sh(&format!("nothing-is-left-of-{name}"), 60, NOTHING_LEFT),
    ]
}

fn crowd(name: &'static str, size: &Size) -> Scenario {
    let mut scenario = storm(
        name,
        "many processes, queues and events at once, and VRAM that runs out: each works or is refused",
    )
    .steps(case("processes", size, &[size.processes, size.working]))
    .steps(case("queues", size, &[size.queues]))
    .steps(case("events", size, &[size.events, size.waiters]))
    .steps(case("vram", size, &[size.vram]))
    .step(Step::run("vectoradd", 60, &["/bin/vectoradd", VADD, "65536"]))
    .step(Step::Rmmod("rkfd".into()))
    .timeout(4 * size.limit + 300);
    scenario.memory_mib = size.memory_mib;
    scenario
}

/// Processes die at any moment, and the device is taken from the driver and given back under them.
fn deaths(name: &'static str, size: &Size) -> Scenario {
    let bind = format!(
        "cd /sys/bus/pci/drivers/rkfd; while :; do vectoradd {VADD} 4096; done >/dev/null 2>&1 & load=$!; \
         for i in $(seq {}); do echo 0000:00:01.0 > unbind && echo 0000:00:01.0 > bind || exit 1; done; \
         kill $load; wait $load; vectoradd {VADD} 4096",
        size.bindings
    );
    storm(
        name,
        "processes are killed and the device is unbound at random moments; nothing of them stays",
    )
    .programs_fault()
    .steps(case("kills", size, &[size.kills]))
    .step(Step::sh("bindings", size.limit, &bind))
    .step(Step::run(
        "vectoradd",
        60,
        &["/bin/vectoradd", VADD, "65536"],
    ))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
    .timeout(2 * size.limit + 300)
}
