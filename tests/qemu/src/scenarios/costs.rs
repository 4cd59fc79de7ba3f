// SPDX-License-Identifier: MIT OR Apache-2.0
//! What requests cost and cause. The figures are `make bench`'s; here is shown that they can be had, and what holds on
//! any machine: what a request causes.

use super::{with_vadd, MODULE, VADD};
use crate::bench::costs::{Costs, PARTS};
use crate::bench::stages::{percentile, Stages, BETWEEN_CLOCKS};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::Scenario;
use crate::trace::Trace;
use crate::verdict::Outcome;

/// Requests that a runtime makes, and that are answered from memory: they need nothing of the hardware.
const QUIET: [&str; 16] = [
    "GET_VERSION",
    "GET_PROCESS_APERTURES",
    "GET_PROCESS_APERTURES_NEW",
    "GET_TILE_CONFIG",
    "ACQUIRE_VM",
    "SET_MEMORY_POLICY",
    "SET_SCRATCH_BACKING_VA",
    "AVAILABLE_MEMORY",
    "SET_XNACK_MODE",
    "SMI_EVENTS+close",
    "CREATE_EVENT",
    "SET_EVENT",
    "RESET_EVENT",
    "WAIT_EVENTS(ready)",
    "WAIT_EVENTS(not-yet)",
    "DESTROY_EVENT",
];

/// Those of the GPU, of its memory and its queues.
const OTHERS: [&str; 23] = [
    "GET_CLOCK_COUNTERS",
    "RUNTIME_ENABLE",
    "SET_TRAP_HANDLER",
    "ALLOC_MEMORY_OF_GPU/vram-4k",
    "MAP_MEMORY_TO_GPU/vram-4k",
    "UNMAP_MEMORY_FROM_GPU/vram-4k",
    "FREE_MEMORY_OF_GPU/vram-4k",
    "ALLOC_MEMORY_OF_GPU/vram-2m",
    "MAP_MEMORY_TO_GPU/vram-2m",
    "ALLOC_MEMORY_OF_GPU/gtt-4k",
    "MAP_MEMORY_TO_GPU/gtt-2m",
    "EXPORT_DMABUF",
    "GET_DMABUF_INFO",
    "IMPORT_DMABUF",
    "CREATE_QUEUE/idle",
    "UPDATE_QUEUE(same)/idle",
    "UPDATE_QUEUE(off)/others",
    "SET_CU_MASK/idle",
    "DESTROY_QUEUE/idle",
    "CREATE_QUEUE/others",
    "DESTROY_QUEUE/others",
    "CREATE_QUEUE/working",
    "DESTROY_QUEUE/working",
];

/// Curves, each of which has two points at least.
const CURVES: [&str; 12] = [
    "CREATE_QUEUE/queues-off-of-this-process",
    "DESTROY_QUEUE/queues-on-of-this-process",
    "CREATE_QUEUE/queues-on-of-64-processes",
    "MAP_MEMORY_TO_GPU/objects-of-this-process",
    "FREE_MEMORY_OF_GPU/objects-of-another-process",
    "SET_EVENT+WAIT_EVENTS/events",
    "SET_EVENT+WAIT_EVENTS/threads-that-wait",
    "WAIT_EVENTS/events-asked-for",
    "dispatch+WAIT_EVENTS/processes",
    "exit/objects",
    "exit/queues",
    "exit/events",
];

/// For every change.
pub fn all() -> Vec<Scenario> {
    let brief = PARTS.iter().map(|part| {
        let name = format!("costs-{part}");
        Step::run(&name, 60, &["/bin/costs", VADD, part, "brief"])
    });
    let scenario = with_vadd(
        "costs",
        "what each request causes can be counted, and its cost measured, alone and beside others",
        "costs",
    )
    .without_trace()
    .step(Step::insmod(MODULE))
    .step(group())
    .steps(brief)
    .step(Step::Rmmod("rkfd".into()))
    .check(counted);
    vec![scenario, stages(FEW).check(split)]
}

/// Dispatches with which it is shown that their time can be split.
const FEW: u32 = 200;

/// So many dispatches that are polled, and as many that are waited for.
pub fn stages(dispatches: u32) -> Scenario {
    let number = dispatches.to_string();
    with_vadd(
        "stages",
        "the time of a dispatch is split into stages, by the clocks of program, driver and device",
        "stages",
    )
    .step(Step::insmod(MODULE))
    .step(Step::run("stages", 300, &["/bin/stages", VADD, &number]))
    .step(Step::Rmmod("rkfd".into()))
}

/// No stage ends before it begins, but for what isn't known of the clocks. How these stand to each other is told by the polled
/// program's looks, of each hundred the quickest, which is late on a busy machine; of a stage between the two clocks
/// only the middle counts, therefore. What belongs to another dispatch would be off by a whole one.
fn split(outcome: &Outcome) -> Result<(), String> {
    let stages = Stages::of(&outcome.output, &Trace::read(&outcome.logs)?)?;
    for (way, all) in stages.ways() {
        let total = all.lines().last().map(|(_, times)| percentile(times, 0.5));
        let doubt = total.ok_or("no time of a whole dispatch")? / -2.0;
        for (name, times) in all.lines() {
            let (least, middle) = (percentile(times, 0.0), percentile(times, 0.5));
            if times.len() < FEW as usize / 2 {
                return Err(format!(
                    "{way}: only {} dispatches have '{name}'",
                    times.len()
                ));
            }
            let is_wrong = match BETWEEN_CLOCKS.contains(&name) {
                true => middle < doubt,
                false => middle < 0.0 || least < doubt,
            };
            if middle.is_nan() || is_wrong {
                return Err(format!(
                    "{way}: '{name}' takes {middle} ns, and {least} at least"
                ));
            }
        }
    }
    Ok(())
}

/// The memory cgroup in which it is counted what things take.
fn group() -> Step {
    let sh = "mkdir -p /tmp/groups && mount -t cgroup2 none /tmp/groups && \
              echo +memory > /tmp/groups/cgroup.subtree_control && mkdir /tmp/groups/costs";
    Step::sh("group", 60, sh)
}

/// Steps that measure these parts in full.
pub fn steps(parts: &[&str]) -> Vec<Step> {
    // Each curve ends by itself long before; `RKFD_SLOW` stretches these.
    const LIMIT: u64 = 600;
    let step = |part: &&str| {
        let name = format!("costs-{part}");
        Step::run(&name, LIMIT, &["/bin/costs", VADD, part])
    };
    let group = parts.contains(&"memory").then(group);
    group.into_iter().chain(parts.iter().map(step)).collect()
}

/// Every request and curve is there, and the counts of some are what Linux' sources have them do.
fn counted(outcome: &Outcome) -> Result<(), String> {
    let costs = Costs::of(&outcome.output)?;
    for name in QUIET {
        let figure = costs.request(name)?;
        for count in [
            "register_loads",
            "packets",
            "flushes",
            "table_words",
            "cleared_bytes",
            "copies",
        ] {
            match figure.count(count) {
                0 => {}
                n => return Err(format!("{name} causes {n} {count}")),
            }
        }
    }
    for name in OTHERS {
        costs.request(name)?;
    }
    for name in CURVES {
        if costs.curve(name)?.len() < 2 {
            return Err(format!("the curve '{name}' has a point at most"));
        }
    }
    // A clock is a register on both chips (`gfx_v9_4_3_get_gpu_clock_counter`, `gfx_v12_0_get_gpu_clock_counter`).
    at_least(&costs, "GET_CLOCK_COUNTERS", "register_loads", 1)?;
    // `kfd_ioctl_map_memory_to_gpu` and `kfd_ioctl_unmap_memory_from_gpu` flush; a page has an entry, which is written
    // and emptied.
    for request in ["MAP_MEMORY_TO_GPU", "UNMAP_MEMORY_FROM_GPU"] {
        let name = format!("{request}/vram-4k");
        at_least(&costs, &name, "flushes", 1)?;
        at_least(&costs, &name, "table_words", 1)?;
    }
    // A copy engine clears VRAM (`amdgpu_ttm_clear_buffer`).
    at_least(&costs, "ALLOC_MEMORY_OF_GPU/vram-2m", "copies", 1)?;
    for suffix in ["idle", "others", "working"] {
        at_least(&costs, &format!("CREATE_QUEUE/{suffix}"), "maps", 1)?;
        at_least(&costs, &format!("DESTROY_QUEUE/{suffix}"), "unmaps", 1)?;
    }
    let lists = costs.request("CREATE_QUEUE/others")?.count("list_words");
    if (lists > 0) != (outcome.chip.scheduler == Scheduler::Cpsch) {
        return Err(format!("run lists of {lists} words were written"));
    }
    // What nobody uses any more is flushed together: some for a process, not one for each of its objects.
    let exits = costs.curve("exit/objects")?;
    if let Some((n, point)) = exits.iter().find(|(n, p)| p.count("flushes") > 8 + n / 100) {
        let flushes = point.count("flushes");
        return Err(format!(
            "{flushes} flushes when a process with {n} objects ends"
        ));
    }
    // An event is a node of a tree with three words (`struct rb_node`), at least, and no more than a page.
    match costs.memory.first() {
        Some((_, taken)) if (24..4096).contains(&(taken.kernel / taken.count as i64)) => {}
        other => return Err(format!("of events is said that they take {other:?}")),
    }
    let signal = costs.curve("dispatch+WAIT_EVENTS/processes")?;
    match signal
        .iter()
        .all(|(_, point)| point.count("interrupts") > 0)
    {
        true => Ok(()),
        false => Err("a signal came without an interrupt".into()),
    }
}

/// A request causes so much of something in each call.
fn at_least(costs: &Costs, name: &str, count: &str, least: u64) -> Result<(), String> {
    let figure = costs.request(name)?;
    match figure.count(count) {
        n if n >= least * figure.calls => Ok(()),
        n => Err(format!(
            "{} calls of {name} cause {n} {count}",
            figure.calls
        )),
    }
}
