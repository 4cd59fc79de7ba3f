// SPDX-License-Identifier: MIT OR Apache-2.0
//! `make shell`, as a person uses it.

use crate::scenario::Scenario;
use crate::typed::Act;

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![Scenario::new(
        "typed",
        "what a person types into the shell, on a terminal that changes its size",
    )
    .typed(&[
        Act::Type("size", "stty size", &["37 113"]),
        Act::Resize(30, 100),
        Act::Type(
            "resize",
            "until [ \"$(stty size)\" = '30 100' ]; do sleep 0.1; done; echo it has $(stty size)",
            &["it has 30 100"],
        ),
        Act::Type(
            "kernels",
            "ls /kernels",
            &["vadd-O3.co", "vadd.hip", "saxpy-O3.co", "saxpy.hip", "k.h"],
        ),
        Act::Type(
            "tracefs",
            "cat /sys/kernel/tracing/current_tracer",
            &["nop"],
        ),
        Act::Type("debugfs", "ls /sys/kernel/debug", &["clear_warn_once"]),
        Act::Type("include", "cat note.txt", &["a note from the host"]),
        Act::Type("info", "rkfd info", &["{target}"]),
        // On a terminal it is drawn, cell by cell where something has changed, so blanks are missing here.
        Act::Type(
            "top",
            "rkfd top --count 1 --interval 0.3",
            &["0processes,0queues,", "PACKETS/S"],
        ),
        // 2 * x[i] + 1, for x[i] = i.
        Act::Type(
            "run",
            "rkfd run /kernels/saxpy-O3.co saxpy --grid 1024 f32:2 buf:in:f32:1024:iota \
             buf:inout:f32:1024:1 u32:1024",
            &["saxpy: ", "[1, 3, 5, 7, 9, "],
        ),
        Act::Type(
            "vectoradd",
            "vectoradd /kernels/vadd-O3.co",
            &["verified 1048576/1048576"],
        ),
    ])]
}
