// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver's answers against Linux's KFD, row by row; and that no row can pass by accident.

use super::MODULE;
use crate::plan::Step;
use crate::scenario::{Include, Scenario};

/// The suite, which also shows that no row passes against a wrong expectation; and a short sweep.
pub fn all() -> Vec<Scenario> {
    let suite = scenario(
        "conformance",
        "every request answers as Linux's KFD does",
        &[],
    );
    vec![suite, sweep_of("sweep-short", &["vm", "events", "dmabuf"])]
}

/// The module that makes calls fail.
pub(super) const FAIL_NTH: &str = "fail_nth";

/// Whatever the driver asks the kernel for fails once, in each request.
pub fn sweep() -> Scenario {
    sweep_of("sweep", &[])
}

/// The same in the requests of some groups of rows, or of all.
fn sweep_of(name: &'static str, groups: &[&str]) -> Scenario {
    let flags = [&["--sweep"], groups].concat();
    let mut scenario = scenario(
        name,
        "each allocation, copy and mapping of each request fails once: an errno, nothing changes, and all goes on",
        &flags,
    );
    let load = Step::insmod(&format!("/{FAIL_NTH}.ko"));
    scenario.plan.insert(1, load);
    scenario.plan.push(Step::Rmmod(FAIL_NTH.into()));
    scenario
        .includes
        .push(Include::TestModule { name: FAIL_NTH });
    scenario
}

/// Groups of the suite, with commas between them: only these are run. For `tests/guards`.
const GROUPS: &str = "RKFD_GROUPS";

fn scenario(name: &'static str, shows: &'static str, flags: &[&str]) -> Scenario {
    let groups = std::env::var(GROUPS).unwrap_or_default();
    let mut argv = vec!["/bin/rkfd-conformance"];
    argv.extend(flags);
    argv.extend(groups.split(',').filter(|group| !group.is_empty()));
    Scenario::new(name, shows)
        // Debian's kernel clears pages by itself, unless it is told not to: what the driver hands out has to
        // be clear without that.
        .kernel_arg("init_on_alloc=0")
        .bin("rkfd-conformance", "rkfd-conformance")
        .without_trace()
        .timeout(700)
        .steps([
            Step::insmod(MODULE),
            Step::run(name, 600, &argv),
            Step::Rmmod("rkfd".into()),
        ])
}
