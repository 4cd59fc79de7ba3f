// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of the kernel's on request (`rkfd/submit` in debugfs): an indirect buffer on the driver's own queue.

use super::lifetime::NOTHING_LEFT;
use super::{with_vadd, MODULE, VADD};
use crate::plan::Step;
use crate::scenario::Scenario;
use crate::trace::{Event, Trace};
use crate::verdict::Outcome;

/// Jobs of each length, and those that go several times round the ring.
const LENGTHS: [u32; 3] = [1, 1023, 1024];
const ROUNDS: usize = 200;
const WORD: u32 = 0x600d_f00d;

/// All of them.
pub fn all() -> [Scenario; 2] {
    [jobs(), stuck()]
}

fn at_submit(script: &str) -> String {
    format!("cd /sys/kernel/debug/rkfd; {script}")
}

fn jobs() -> Scenario {
    let lengths = LENGTHS.map(|n| n.to_string()).join(" ");
    let fill = format!(
        "for n in {lengths}; do echo fill {WORD:#x} $n > submit || exit; \
         grep \"^node 1 word {WORD:#x} words $n right $n fence [0-9]* nanoseconds [0-9]*$\" submit || exit; done"
    );
    let rounds = format!("n=0; while [ $n -lt {ROUNDS} ]; do n=$((n+1)); echo fill {WORD} 1 1 > submit || exit; done");
    let refused = |texts: &[&str], error: &str| {
        let tries: Vec<String> = (texts.iter())
            .map(|text| format!("echo '{text}' 2>&1 > submit | grep '{error}' || exit"))
            .collect();
        at_submit(&tries.join("; "))
    };
    let long = format!("fill 1 1{:100}", "");
    let invalid = [
        "",
        "fill",
        "fill 1",
        "fill 1 0",
        "fill 1 1025",
        "fill 1 4294967297",
        "fill -1 1",
        "fill 0x 1",
        "fill 1 1 1 1",
        "copy 1 1",
        &long,
    ];
    Scenario::new(
        "kernel-ring",
        "a job of the kernel's: an indirect buffer on the driver's queue of a copy engine, and a fence",
    )
    .step(Step::insmod(MODULE))
    .step(Step::sh(
        "only-roots",
        60,
        &at_submit("[ $(stat -c %a submit) = 600 ] && [ $(stat -c %a ..) = 700 ] && [ -z \"$(cat submit)\" ]"),
    ))
    .step(Step::sh("fills", 60, &at_submit(&fill)))
    .step(Step::sh("invalid", 60, &refused(&invalid, "Invalid argument")))
    .step(Step::sh("no-such-gpu", 60, &refused(&["fill 1 1 0", "fill 1 1 2"], "No such device")))
    .step(Step::sh("rounds", 120, &at_submit(&rounds)))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
    .check(each_by_a_buffer)
}

/// The device ran an indirect buffer for each job, and in it the fill that was asked for.
fn each_by_a_buffer(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let packets: Vec<&Event> = (trace.all("sdma"))
        .filter(|e| e.text("queue").ends_with(" kernel") && e.text("op") != "NOP")
        .collect();
    let mut jobs = Vec::new();
    for packets in packets.windows(3) {
        let [buffer, fill, fence] = packets else {
            continue;
        };
        if buffer.text("op") != "INDIRECT" {
            continue;
        }
        match (buffer.words("words")?.as_slice(), fence.text("op")) {
            // SDMA_OP_INDIRECT in address space 0, eight words, no save area (`sdma_v4_4_2_ring_emit_ib`).
            ([4, _, _, 8, 0, 0], "FENCE") => {}
            other => return Err(format!("a job is {other:x?}")),
        }
        match fill.words("words")?.as_slice() {
            // SDMA_OP_CONST_FILL with whole words.
            [0x8000_000b, _, _, WORD, last] => jobs.push(last / 4 + 1),
            other => return Err(format!("a buffer has {other:x?}")),
        }
    }
    let mut wanted = LENGTHS.to_vec();
    wanted.extend([1; ROUNDS]);
    match jobs == wanted {
        true => Ok(()),
        false => Err(format!("the jobs were {jobs:?}")),
    }
}

fn stuck() -> Scenario {
    with_vadd(
        "kernel-ring-stuck",
        "the engine hangs in jobs of the kernel's: who waits can be killed, gets an error in bounded time, the \
         engine is reset and goes on, and so does a program",
        "vectoradd",
    )
    .misbehaves_by_turns()
    .rule("at the 1st kernel fill: hang")
    .rule("at the 2nd kernel fill: hang")
    .step(Step::insmod(MODULE))
    .step(Step::sh(
        "killed",
        60,
        &at_submit(
            "cd /sys/kernel/tracing; echo 1 > events/rkfd/rkfd_packet/enable; \
             (echo fill 1 1 > /sys/kernel/debug/rkfd/submit) & \
             until grep -q 'words={0x4,' trace; do :; done; kill -9 $!; wait $!; [ $? = 137 ] && \
             ! dmesg | grep 'copy engine 0 gets no further'",
        ),
    ))
    .step(Step::sh("first-reset", 60, &works_again(1)))
    .step(Step::sh(
        "in-bounded-time",
        60,
        &at_submit("echo fill 1 1 2>&1 > submit | grep 'Input/output error' && [ -z \"$(cat submit)\" ]"),
    ))
    .step(Step::sh("second-reset", 60, &works_again(2)))
    .step(Step::sh(
        "goes-on",
        60,
        &at_submit("echo fill 0x600df00d 16 > submit && grep 16 submit"),
    ))
    .step(Step::run("usable", 60, &["/bin/vectoradd", VADD, "65536"]))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::Absent("/sys/kernel/debug/rkfd".into()))
}

/// The engine was reset so many times, and the GPU never.
fn works_again(times: u32) -> String {
    format!(
        "count() {{ dmesg | grep -c \"copy engine 0 $1\"; }}; n=0; \
         until [ $n = 150 ] || [ $(count 'works again') = {times} ]; do sleep 0.2; n=$((n + 1)); done; \
         [ $(count 'gets no further') = {times} ] && [ $(count 'works again') = {times} ] && \
         ! dmesg | grep 'resetting the GPU'"
    )
}
