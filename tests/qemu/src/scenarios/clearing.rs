// SPDX-License-Identifier: MIT OR Apache-2.0
//! VRAM is cleared before a program gets it, by the driver's queue of a copy engine.

use super::lifetime::NOTHING_LEFT;
use super::MODULE;
use crate::plan::Step;
use crate::scenario::Scenario;
use crate::trace::Trace;
use crate::verdict::Outcome;

/// All of them.
pub fn all() -> [Scenario; 6] {
    [owners(), recycled(), meanwhile(), killed(), more(), stuck()]
}

fn of(name: &'static str, about: &'static str, cases: &[&'static str]) -> Scenario {
    let runs = cases
        .iter()
        .map(|case| Step::run(case, 180, &["/bin/clearing", case]));
    Scenario::new(name, about)
        .bin("rkfd-programs", "clearing")
        .misbehaves_by_turns()
        .step(Step::insmod(MODULE))
        .steps(runs)
}

fn owners() -> Scenario {
    of(
        "cleared",
        "the next owner of VRAM finds zeroes",
        &["owners"],
    )
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
}

fn recycled() -> Scenario {
    Scenario::new(
        "recycled",
        "memory that a kernel has used is cleared for its next use while the process' queues run",
    )
    .bin("rkfd-programs", "clearing")
    .kernel("spin", 3)
    .step(Step::insmod(MODULE))
    .step(Step::run(
        "recycled",
        180,
        &["/bin/clearing", "recycled", "/kernels/spin-O3.co"],
    ))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
}

/// The engine takes its time for each piece, so that a large buffer takes longer than the others' requests
/// on any host.
fn meanwhile() -> Scenario {
    of(
        "clearing-meanwhile",
        "while VRAM is cleared, requests of others go on",
        &["meanwhile"],
    )
    .rule("on kernel fill: late 200 ms")
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
}

fn killed() -> Scenario {
    of(
        "clearing-killed",
        "a program that is killed while its VRAM is cleared doesn't wait for that, and the memory comes back",
        &["killed"],
    )
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
    .check(not_to_the_end)
}

/// By the device's trace less was cleared than was asked for.
fn not_to_the_end(outcome: &Outcome) -> Result<(), String> {
    let asked: u64 = (outcome.output.iter())
        .filter_map(|line| {
            line.strip_prefix("asked for ")?
                .strip_suffix(" bytes")?
                .parse::<u64>()
                .ok()
        })
        .sum();
    let cleared = cleared(outcome)?;
    match cleared < asked {
        true => Ok(()),
        false => Err(format!(
            "{cleared} bytes were cleared, {asked} were asked for"
        )),
    }
}

/// Bytes that the driver's queue filled.
fn cleared(outcome: &Outcome) -> Result<u64, String> {
    let trace = Trace::read(&outcome.logs)?;
    let fills = trace
        .all("sdma")
        .filter(|e| e.text("queue").ends_with(" kernel") && e.text("op") == "CONST_FILL");
    fills
        .map(|fill| match fill.words("words")?.as_slice() {
            [_, _, _, 0, count] => Ok(u64::from(*count) + 1),
            other => Err(format!("the driver's queue filled with {other:x?}")),
        })
        .sum()
}

fn more() -> Scenario {
    of(
        "clearing-more",
        "a program gets more VRAM than the emulator may take of the host's memory",
        &["more"],
    )
    .emulator_arg("--host-memory")
    .emulator_arg("256")
    .step(Step::Rmmod("rkfd".into()))
    .check(|outcome| match cleared(outcome)? {
        bytes if bytes >= 8 << 30 => Ok(()),
        bytes => Err(format!("only {bytes} bytes were cleared")),
    })
}

fn stuck() -> Scenario {
    of(
        "clearing-stuck",
        "the copy engine that clears VRAM hangs: allocations fail in bounded time, and the module unloads",
        &["stuck"],
    )
    .step(Step::sh(
        "reason-logged",
        60,
        "dmesg | grep -q 'copy engine 0 gets no further'",
    ))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::Absent("/dev/kfd".into()))
    .rule("on kernel fill: hang")
}
