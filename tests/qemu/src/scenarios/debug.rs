// SPDX-License-Identifier: MIT OR Apache-2.0
//! What changes, and what is added, on a kernel that checks memory, locks and leaks.

use super::{amdgpu, fuzz, lifetime, races, reset, with_vadd, MODULE, VADD};
use crate::kunit;
use crate::plan::Step;
use crate::scenario::{Include, Scenario};
use std::path::Path;

/// Adapts scenarios and adds those that only such a kernel can run. `leaking` is a module that
/// leaks.
pub fn adapt(suite: &mut Vec<Scenario>, leaking: &Path) {
    // The debug kernel is built without amdgpu, which would take longer than the whole suite, and without FUSE and
    // userfaultfd; its mutexes are taken by another function.
    let elsewhere = [
        lifetime::OPENINGS,
        reset::GIVEN_UP,
        races::RACED,
        races::BY_RESET,
        races::RESUMED,
    ];
    suite.retain(|scenario| !amdgpu::is_needed(scenario) && !elsewhere.contains(&scenario.name));
    for scenario in suite.iter_mut() {
        // Such a kernel is slow, and the module's ways are the same.
        scenario.shaped = false;
        if scenario.name == lifetime::CYCLES_NAME {
            // KASAN keeps freed memory for a while, so figures of free memory mean nothing here. The
            // scan for lost objects at the end finds more than they could show.
            *scenario = lifetime::few_cycles();
        }
        if scenario.name == fuzz::NAME {
            // Each file and process has the device map a page that udmabuf exports, as often as it likes. The mappings
            // are the exporter's, and the check warns of the eighth of a page.
            scenario.kernel_args.push("dma_debug=off".into());
        }
    }
    suite.extend([kunit_suites(), shortage()]);
    suite.iter_mut().for_each(check_for_leaks);
    // Last: it is found bad for its leak, which the others must not be.
    suite.push(notices_a_leak(leaking));
}

/// End a run that has the module with a scan for leaked objects.
pub fn check_for_leaks(scenario: &mut Scenario) {
    // Without debugging the slab keeps objects in arrays, where kmemleak takes what was handed
    // out for still referenced: of 11 leaks it saw 2.
    scenario.kernel_args.push("slab_debug=F".into());
    // One scenario runs the suites; the others need not, each time they load the module.
    if scenario.name != KUNIT {
        scenario.kernel_args.push("kunit.enable=0".into());
    }
    if scenario.module {
        scenario.plan.push(Step::Kmemleak);
    }
}

const KUNIT: &str = "kunit";

/// The kernel runs a module's suites when it loads it, and process 1 reports each of their tests.
fn kunit_suites() -> Scenario {
    Scenario::new(
        KUNIT,
        "every KUnit test of the module's sources runs and passes",
    )
    .without_device()
    .timeout(120)
    .steps([Step::insmod(MODULE), Step::Rmmod("rkfd".into())])
    .check(kunit::all_ran)
}

/// Needs fault injection.
fn shortage() -> Scenario {
    with_vadd(
        "shortage",
        "each allocation of each request fails once: ENOMEM, nothing changes, and all goes on",
        "vectoradd",
    )
    .bin("rkfd-conformance", "rkfd-conformance")
    .without_trace()
    // The allocations of DMA debugging would fail, too, and make it give up with a message.
    .kernel_arg("dma_debug=off")
    .timeout(400)
    .step(Step::insmod(MODULE))
    .step(Step::run(
        "shortage",
        300,
        &["/bin/rkfd-conformance", "--shortage"],
    ))
    .step(Step::run(
        "vectoradd",
        60,
        &["/bin/vectoradd", VADD, "65536"],
    ))
    .step(Step::Rmmod("rkfd".into()))
}

/// A leak must not go unseen.
fn notices_a_leak(leaking: &Path) -> Scenario {
    let mut scenario = Scenario::new("notices-a-leak", "a module's leak makes the run bad")
        .without_device()
        .without_module()
        .steps([
            Step::insmod("/rkfd_leak.ko"),
            Step::Rmmod("rkfd_leak".into()),
            Step::Kmemleak,
        ])
        .fails_with("kmemleak: 1 objects leaked");
    scenario.includes.push(Include::File {
        from: leaking.into(),
        to: "/rkfd_leak.ko".into(),
    });
    check_for_leaks(&mut scenario);
    scenario
}
