// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver's tracepoints, beside what the device and the kernel's own tracepoints say of the same run.

use super::{with_vadd, MODULE, VADD};
use crate::plan::Step;
use crate::scenario::Scenario;
use crate::trace::Trace;
use crate::verdict::Outcome;
use rkfd_trace::{clock, device, driver, perfetto, summary::Summary, timeline};
use std::fs;

/// Every tracepoint of the driver, and the kernel's of the same system call.
const LISTEN: &str =
    "cd /sys/kernel/tracing; echo mono > trace_clock; echo 8192 > buffer_size_kb; \
    echo 1 > events/rkfd/enable; ! [ -e events/syscalls/sys_enter_ioctl ] || \
    echo 1 > events/syscalls/sys_enter_ioctl/enable";
/// What a process leaves is taken away after its end.
const TELL: &str = "cd /sys/kernel/tracing; sleep 0.3; echo end > trace_marker; echo 0 > tracing_on; cat trace; echo 0 > events/enable";

/// The events of the largest request that there can be, whose argument is larger than an event: both are there, and have its
/// beginning. So are both of one that is refused before its argument is looked at, with ENOTTY.
const LARGEST: &str = "cd /sys/kernel/tracing; echo 1 > events/rkfd/enable; /bin/large; \
    echo 0 > events/rkfd/enable; grep -q 'rkfd_ioctl_enter: number=0x1 ' trace && \
    grep -q 'rkfd_ioctl_exit: number=0x1 error=0 argument=01000000' trace && \
    grep -q 'rkfd_ioctl_enter: number=0x7f ' trace && grep -q 'rkfd_ioctl_exit: number=0x7f error=-25 ' trace; \
    found=$?; echo > trace; exit $found";

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![traced(), see()]
}

/// One vectorAdd, traced from both sides; `make trace` shows it.
pub fn traced() -> Scenario {
    with_vadd(
        "traced",
        "the driver's tracepoints tell what the device and the kernel saw of a vectorAdd",
        "vectoradd",
    )
    .bin("rkfd-cli", "rkfd")
    .bin("rkfd-programs", "large")
    .steps([
        Step::insmod(MODULE),
        Step::run(
            "command",
            120,
            &[
                "/bin/rkfd",
                "trace",
                "--summary",
                "--perfetto",
                "/tmp/driver.pftrace",
                "--",
                "/bin/vectoradd",
                VADD,
            ],
        ),
        // Names of requests stand in it as text.
        Step::sh("perfetto", 10, "grep -q WAIT_EVENTS /tmp/driver.pftrace"),
        Step::sh("largest", 10, LARGEST),
        Step::sh("listen", 10, LISTEN),
        Step::sh("vectoradd", 120, &format!("{MARKER} /bin/vectoradd {VADD}")),
        Step::sh("tell", 60, TELL),
        Step::Rmmod("rkfd".into()),
    ])
    .check(both_sides)
    .check(entries_have_times)
}

/// The interrupt handler is told to note when an entry came, by which people put them in order
/// (`vega20_ih_toggle_ring_interrupts`).
fn entries_have_times(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    for event in trace.all("ih_write") {
        if let [_, 0, 0, ..] = event.words("words")?[..] {
            return Err("an interrupt has no time".into());
        }
    }
    Ok(())
}

/// Has the program tell of its packets.
const MARKER: &str = "RKFD_TRACE_MARKER=/sys/kernel/tracing/trace_marker";

/// What `make see` shows, each scene behind a mark in the driver's trace.
fn see() -> Scenario {
    let scene = |name: &str, view: &str, program: &str| {
        let mark = format!("echo scene={name}{view} > /sys/kernel/tracing/trace_marker; {program}");
        Step::sh(name, 120, &mark)
    };
    with_vadd(
        "see",
        "a dispatch, more queues than hardware queues, and a page fault, as the page of make see shows them",
        "vectoradd",
    )
    .bin("rkfd-programs", "queues")
    .bin("rkfd-programs", "faults")
    .programs_fault()
    .steps([
        Step::insmod(MODULE),
        Step::sh("listen", 10, LISTEN),
        scene("dispatch", "", &format!("/bin/vectoradd {VADD}")),
        scene(
            "queues",
            " view=scheduling",
            &format!("/bin/queues {VADD} {QUEUES} 1024"),
        ),
        scene("fault", "", &format!("/bin/faults {VADD} memory")),
        Step::sh("tell", 60, TELL),
        Step::Rmmod("rkfd".into()),
    ])
    .check(both_traces)
}

/// More queues than either chip has hardware queues for compute.
const QUEUES: u32 = 40;

/// Leaves the driver's trace beside the device's.
fn both_traces(outcome: &Outcome) -> Result<(), String> {
    let text = outcome.output.join("\n");
    let save = |name, bytes: &[u8]| fs::write(outcome.logs.join(name), bytes);
    save("driver.txt", text.as_bytes()).map_err(|e| e.to_string())?;
    let scenes = driver::parse(&text);
    let scenes = scenes.iter().filter(|e| !e.text("scene").is_empty());
    match scenes.count() {
        3 => Ok(()),
        other => Err(format!("{other} scenes were traced, not 3")),
    }
}

/// Compares the sides, and leaves `driver.txt` and `dispatch.pftrace` among the logs.
fn both_sides(outcome: &Outcome) -> Result<(), String> {
    let text = outcome.output.join("\n");
    let driver = driver::parse(&text);
    let jsonl = fs::read_to_string(outcome.logs.join("trace.jsonl")).map_err(|e| e.to_string())?;
    let device = device::parse(&jsonl).map_err(|e| format!("{e:#}"))?;
    let offset = clock::offset(&device, &driver).map_err(|e| format!("{e:#}"))?;
    let device = timeline::within(&device, &driver, offset);
    let line = timeline::Timeline::new(device, &driver, offset);
    let save =
        |name, bytes: &[u8]| fs::write(outcome.logs.join(name), bytes).map_err(|e| e.to_string());
    save("driver.txt", text.as_bytes())?;
    save("dispatch.pftrace", &perfetto::encode(&line))?;
    save(
        "summary.txt",
        Summary::new(device, &driver).to_string().as_bytes(),
    )?;
    compare(&text, device, &driver)
}

fn compare(text: &str, device: &[device::Event], driver: &[driver::Event]) -> Result<(), String> {
    let told = |kind: &str| driver.iter().filter(|e| e.kind == kind).count();
    let seen = |kind: &str| device.iter().filter(|e| e.kind == kind).count();
    let mut same = vec![
        (
            "entries of the IH ring",
            told("ih_entry"),
            seen("interrupt"),
        ),
        ("requests that end", told("ioctl_exit"), told("ioctl_enter")),
    ];
    // The kernel's own count: system calls with a command of KFD's (type 'K').
    if text.contains("sys_ioctl(") {
        let calls = text.lines().filter(|line| is_kfd(line)).count();
        same.push(("requests", told("ioctl_enter"), calls));
    }
    // `rkfd trace` ran the same program before, and counted by itself.
    let counted = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("ioctls "));
    let counted = counted.and_then(|rest| rest.trim().split(',').next()?.parse().ok());
    same.push((
        "requests of the command",
        told("ioctl_exit"),
        counted.unwrap_or(0),
    ));
    let lists = device
        .iter()
        .filter(|e| e.kind == "pm4" && e.text("op") == "RUN_LIST");
    same.push(("run lists", told("run_list"), lists.count()));
    let frames = driver.iter().filter(|e| e.kind == "packet");
    let frames = frames.filter(|e| e.numbers("words").len() == 64);
    same.push(("frames of MES", frames.count(), seen("mes")));
    let packets = device
        .iter()
        .filter(|e| e.kind == "aql" && e.text("type") == "KERNEL_DISPATCH");
    same.push(("packets", told("enqueue"), packets.count()));
    // What compute units did by turns is what their dispatches counted.
    let executed = |kind: &str| {
        let events = device.iter().filter(|e| e.kind == kind);
        events
            .map(|e| e.number("instructions").unwrap_or(0) as usize)
            .sum()
    };
    same.push(("instructions", executed("turn"), executed("dispatch_end")));
    for (what, told, seen) in same {
        if told != seen {
            return Err(format!("{what}: {told} told, {seen} seen"));
        }
    }
    // The device takes the newest value of a doorbell, as silicon, and may miss those before.
    let told_of = |index, value| {
        let number = |e: &driver::Event, name| e.number(name).map(|n| n as u64);
        let mut rung = driver.iter().filter(|e| e.kind == "doorbell");
        rung.any(|e| number(e, "doorbell") == index && number(e, "value") == value)
    };
    for event in device.iter().filter(|e| e.kind == "doorbell") {
        let (index, value) = (event.number("index"), event.number("value"));
        if !event.text("queue").starts_with("me1") && !told_of(index, value) {
            return Err(format!("doorbell {index:?} = {value:?} was not told"));
        }
    }
    for kind in [
        "queue",
        "mqd",
        "signal",
        "tlb_flush",
        "packet",
        "doorbell",
        "ih_entry",
    ] {
        if told(kind) == 0 {
            return Err(format!("no '{kind}' was told"));
        }
    }
    let states: Vec<_> = driver
        .iter()
        .filter(|e| e.kind == "queue")
        .map(|e| e.text("state"))
        .collect();
    match states.as_slice() {
        ["created", "mapped", .., "gone"] => Ok(()),
        other => Err(format!("the queue went through {other:?}")),
    }
}

/// `sys_ioctl(fd: 3, cmd: c0184b02, ...)`.
fn is_kfd(line: &str) -> bool {
    let command = line
        .split_once("cmd: ")
        .and_then(|(_, rest)| rest.split(',').next());
    let command =
        command.and_then(|text| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    line.contains("sys_ioctl(")
        && command.is_some_and(|command| (command >> 8) & 0xff == u32::from(b'K'))
}
