// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenarios, in the order in which they run.

pub mod amdgpu;
mod capture;
mod clearing;
mod cold;
mod compared;
mod conformance;
mod costs;
mod course;
pub mod debug;
mod debuggers;
mod dispatch;
mod faults;
mod fuzz;
mod hung;
mod isolation;
mod judge;
mod kernel_ring;
mod lifetime;
mod mes;
mod neighbours;
mod packaged;
mod probe;
mod races;
mod reset;
pub mod rivals;
pub mod rocm;
mod rules;
mod sensors;
mod storm;
mod surroundings;
mod traced;
mod typed;
mod waves;

use crate::plan::Step;
use crate::scenario::{Include, Scenario};
use std::path::Path;

/// The module, in the guest.
pub(crate) const MODULE: &str = "/rkfd.ko";
/// A code object with the kernel `vadd`.
const VADD: &str = "/kernels/vadd-O3.co";

/// One with the kernel `copy`.
const COPY: &str = "/kernels/copy-O3.co";

/// What `rkfd-vm test` runs.
pub fn all() -> Vec<Scenario> {
    let mut all = vec![boot()];
    all.extend(judge::all());
    all.push(load());
    all.extend(dispatch::all());
    all.extend(waves::all());
    all.extend(costs::all());
    all.push(rivals::brief());
    all.extend(clearing::all());
    all.extend(isolation::all());
    all.extend(kernel_ring::all());
    all.extend(conformance::all());
    all.extend(surroundings::all());
    all.extend(capture::all());
    all.extend(typed::all());
    all.extend(traced::all());
    all.push(course::labs());
    all.extend(lifetime::all());
    all.extend(races::all());
    all.extend(neighbours::all());
    all.extend(storm::all());
    all.push(fuzz::all());
    all.extend(faults::all());
    all.extend(cold::all());
    all.extend(compared::by_rkfd());
    all.extend(hung::all());
    all.extend(debuggers::all());
    all.extend(reset::all());
    all.extend(sensors::all());
    all.extend(mes::all());
    all
}

/// What `rkfd-vm test --long` runs: endurance, and a device that misbehaves in many ways.
pub fn long() -> Vec<Scenario> {
    let mut long = vec![
        lifetime::long(),
        fuzz::long(),
        conformance::sweep(),
        probe::long(),
        amdgpu::ports(),
        amdgpu::security_processor(),
        amdgpu::managed(),
        amdgpu::navi48(),
        amdgpu::navi48_managed(),
    ];
    long.extend(compared::by_amdgpu());
    long.extend(rules::all());
    long.extend(storm::long());
    long.extend(packaged::installed());
    long
}

/// What `rkfd-vm demo` runs.
pub fn demo() -> Scenario {
    dispatch::demo()
}

/// What `rkfd-vm demo --start cold` runs.
pub fn cold_demo() -> Scenario {
    cold::demo()
}

/// What `rkfd-vm bench` runs: the paths of a dispatch, if these are `PATHS`, and parts of what requests cost.
pub fn bench(parts: &[&str]) -> Scenario {
    let (paths, costs): (Vec<&str>, Vec<&str>) = parts.iter().partition(|part| **part == PATHS);
    let mut bench = with_vadd("bench", "what paths and requests cost", "bench")
        .bin("rkfd-programs", "costs")
        .without_trace()
        .step(Step::insmod(MODULE))
        .kernel("copy", 3)
        .steps((!paths.is_empty()).then(|| Step::run("bench", 120, &["/bin/bench", VADD, COPY])))
        .steps(costs::steps(&costs))
        .step(Step::Rmmod("rkfd".into()))
        .timeout(240 + 600 * parts.len() as u64);
    if !costs.is_empty() {
        // Many processes and objects. Save areas of 64 processes are one memory, and count 64 times.
        bench.memory_mib = 8192;
    }
    bench
}

/// The part that measures the paths of a dispatch.
pub const PATHS: &str = "paths";

/// The part that measures where the time of a dispatch goes.
pub const STAGES: &str = "stages";
/// How many dispatches it makes of each kind.
const DISPATCHES: u32 = 10_000;

/// What measures it: the device's trace is needed, which would disturb other parts.
pub fn stages() -> Scenario {
    costs::stages(DISPATCHES)
}

/// What `rkfd-vm shell` runs, on a terminal of so many rows and columns.
pub fn shell((rows, cols): (u16, u16)) -> Scenario {
    let sources = Path::new("tests/kernels");
    let source = |name: &str| Include::File {
        from: sources.join(name),
        to: format!("/kernels/{name}"),
    };
    let mut shell = course::with_programs("shell", "a shell with the module loaded")
        .kernel("saxpy", 3)
        .steps([Step::insmod(MODULE), Step::Shell { rows, cols }]);
    let sources = ["vadd.hip", "saxpy.hip", "k.h"].map(source);
    shell.includes.extend(sources);
    shell
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
        Step::insmod(MODULE),
        Step::Exists("/sys/module/rkfd".into()),
        Step::Rmmod("rkfd".into()),
        Step::Absent("/sys/module/rkfd".into()),
        Step::insmod(MODULE),
        Step::Rmmod("rkfd".into()),
    ])
    .shares_a_machine()
}

/// A scenario with one of the test programs and the vector addition's code object.
fn with_vadd(name: &'static str, about: &'static str, program: &str) -> Scenario {
    Scenario::new(name, about)
        .bin("rkfd-programs", program)
        .kernel("vadd", 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_single_words_and_unique() {
        let mut names: Vec<&str> = all().iter().chain(&long()).map(|s| s.name).collect();
        assert!(names
            .iter()
            .all(|n| !n.is_empty() && !n.contains(char::is_whitespace)));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
