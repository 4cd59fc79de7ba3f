// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that are right, nearly right and wrong, from many threads, for a short time or a long one.

use super::lifetime::NOTHING_LEFT;
use super::MODULE;
use crate::plan::Step;
use crate::scenario::Scenario;

/// The round of `make fuzz`.
pub(super) const NAME: &str = "fuzz";

/// How long a round of `make fuzz` takes, in seconds; and further arguments of `rkfd-fuzz`.
const TIME: &str = "RKFD_FUZZ_TIME";
const ARGS: &str = "RKFD_FUZZ_ARGS";

/// A short round, from the same seeds in each run: first those that once found something.
pub fn all() -> Scenario {
    round("fuzz-short", "--seconds 15 --corpus", 300)
}

/// The round of `make fuzz`, whose length the caller chooses.
pub fn long() -> Scenario {
    let seconds: u64 = std::env::var(TIME)
        .ok()
        .and_then(|time| time.parse().ok())
        .unwrap_or(60);
    let more = std::env::var(ARGS).unwrap_or_default();
    round(
        NAME,
        &format!("--seconds {seconds} --corpus {more}"),
        seconds + 300,
    )
}

/// What programs write to their rings is theirs to answer for: the device may find faults of programs,
/// but none of the driver.
fn round(name: &'static str, arguments: &str, limit: u64) -> Scenario {
    let mut argv = vec!["/bin/rkfd-fuzz"];
    argv.extend(arguments.split_whitespace());
    Scenario::new(
        name,
        "no request, mapping or garbage harms the kernel, stays for ever, or leaves anything",
    )
    .bin("rkfd-fuzz", "rkfd-fuzz")
    .without_trace()
    .programs_fault()
    // Programs write to VRAM that is given back only when the next has it cleared.
    .emulator_arg("--host-memory")
    .emulator_arg("6144")
    .timeout(limit + 120)
    .steps([
        Step::insmod(MODULE),
        Step::run("fuzz", limit, &argv),
        Step::sh("nothing-is-left", 60, NOTHING_LEFT),
        Step::Rmmod("rkfd".into()),
    ])
}
