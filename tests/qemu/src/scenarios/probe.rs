// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver binds and lets go of its device while one thing fails that it asks the kernel for: the
//! first, then the second, until it asks for no further one.

use super::conformance::FAIL_NTH;
use super::faults::NOT_BOUND;
use super::lifetime::{memory_came_back, NOTHING_LEFT};
use super::{with_vadd, MODULE, VADD};
use crate::plan::Step;
use crate::scenario::{Include, Scenario};

/// Before the memory is measured, so often.
const WARM_UP: u32 = 3;

/// The words `bind` and `unbind`: writes the GPU's name to that file.
const WORDS: &str = "cd /sys/bus/pci/drivers/rkfd; n=/sys/kernel/debug/fail_nth; \
    bind() { echo 0000:00:01.0 > bind; }; unbind() { echo 0000:00:01.0 > unbind; }; \
    fail() { echo \"call $i, $name: $1\"; dmesg | tail -n 5; exit 1; };";

/// Whatever fails, the device isn't bound afterwards, and nothing is left; without a failure it is bound.
/// A driver that does without what failed is named, and not wrong.
fn binds() -> String {
    format!(
        "{WORDS} unbind; for i in $(seq 2000); do \
             echo $i > $n; bind 2>/dev/null; status=$?; \
             read left name errno < $n; \
             if [ $left != 0 ]; then \
                 [ $status = 0 ] || fail 'it does not bind, and nothing failed'; \
                 echo $((i - 1)) calls failed; [ $i -gt 50 ]; exit; \
             fi; \
             if [ $status = 0 ]; then echo \"call $i: it does without $name\"; unbind; fi; \
             {{ {NOT_BOUND}; }} || fail 'it is bound'; \
             ( {NOTHING_LEFT} ) || fail 'something is left'; \
         done; exit 2"
    )
}

/// A device goes whatever fails.
fn unbinds() -> String {
    format!(
        "{WORDS} for i in $(seq 2000); do \
             echo $i > $n; unbind; status=$?; read left name errno < $n; \
             [ $status = 0 ] || fail 'it is not let go'; \
             {{ {NOT_BOUND}; }} || fail 'it is bound'; \
             ( {NOTHING_LEFT} ) || fail 'something is left'; \
             bind || fail 'it does not bind again'; \
             [ $left = 0 ] || {{ echo $((i - 1)) calls failed; exit 0; }}; \
         done; exit 2"
    )
}

fn repeat(n: u32) -> String {
    format!("{WORDS} for i in $(seq {n}); do unbind && bind || exit 1; done")
}

/// Whatever the driver asks the kernel for fails once, when it binds and when it lets go.
pub fn long() -> Scenario {
    let mut scenario = with_vadd(
        "probe-fails",
        "each call that the driver makes to bind and unbind fails once: nothing is left, and the next time it binds",
        "vectoradd",
    )
    .without_trace()
    .step(Step::insmod(&format!("/{FAIL_NTH}.ko")))
    .step(Step::insmod(MODULE))
    .step(Step::sh("warm-up", 120, &repeat(WARM_UP)))
    .step(Step::Meminfo("before".into()))
    .step(Step::sh("binds", 3600, &binds()))
    .step(Step::sh("unbinds", 600, &unbinds()))
    .step(Step::Meminfo("after".into()))
    .step(Step::run("vectoradd", 60, &["/bin/vectoradd", VADD, "65536"]))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::Rmmod(FAIL_NTH.into()))
    .check(memory_came_back)
    .timeout(4500);
    scenario
        .includes
        .push(Include::TestModule { name: FAIL_NTH });
    scenario
}
