// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that compute, each result compared with the CPU's.

use super::{with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::Scenario;
use crate::trace::Trace;
use crate::verdict::Outcome;

/// Source files of the kernel groups.
const KERNELS: [&str; 6] = ["vadd", "saxpy", "reduce", "hist", "matmul", "diverge"];
const LEVELS: [u32; 4] = [0, 1, 2, 3];
/// Elements of the measured case, threads of a work-group, and work-groups.
const ELEMENTS: u64 = 1 << 20;
const THREADS: u64 = 256;
const GROUPS: u64 = ELEMENTS / THREADS;

/// All of them.
pub fn all() -> Vec<Scenario> {
    let both_sides = demo().check(crate::demo::check).on_all_shapes();
    let all = [
        vectoradd(),
        used(),
        hive(),
        both_sides,
        kernels(),
        programs(),
        examples(),
        queues(),
        shown(),
        live(),
        why(),
        top(),
        preempted(),
        peeks(),
        copies(),
        commands(),
        copy_fault(),
    ];
    all.map(Scenario::shares_a_machine).into()
}

/// One dispatch on both sides, and polling under a filter against system calls.
pub fn demo() -> Scenario {
    with_vadd(
        "demo",
        "one dispatch, followed from ioctl to interrupt",
        "vectoradd",
    )
    .bin("rkfd-programs", "polling")
    .steps([
        Step::insmod(MODULE),
        Step::run("vectoradd", 60, &["/bin/vectoradd", VADD]),
        Step::run("polling", 60, &["/bin/polling", VADD, "1000"]),
        Step::Rmmod("rkfd".into()),
    ])
}

fn vectoradd() -> Scenario {
    with_vadd(
        "vectoradd",
        "1,048,576 sums are right, and the device executed exactly the one dispatch",
        "vectoradd",
    )
    .steps([
        Step::insmod(MODULE),
        Step::Exists("/dev/kfd".into()),
        Step::sh(
            "compute-units",
            10,
            "grep -h '^simd_' /sys/devices/virtual/kfd/kfd/topology/nodes/*/properties",
        ),
        Step::run("vectoradd", 60, &["/bin/vectoradd", VADD]),
        Step::Rmmod("rkfd".into()),
        Step::Absent("/dev/kfd".into()),
    ])
    .check(all_verified)
    .check(one_dispatch)
    .check(units_are_there)
    .check(was_turned_off)
    .on_all_shapes()
}

/// Before bus mastering is taken from the device, what it does by itself was turned off, as Linux does it: address spaces and
/// their caches (`gmc_v9_0_gart_disable`), interrupts (`vega20_ih_irq_disable`), doorbells (`soc15_common_hw_fini`).
fn was_turned_off(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let last = trace.all("bus_master").last();
    let last = last.ok_or("bus mastering was never switched")?;
    if last.num("on")? != 0 {
        return Err("the device keeps bus mastering".into());
    }
    for what in [
        "contexts",
        "l1",
        "l2",
        "interrupts",
        "doorbells",
        "self_ring",
    ] {
        match last.num(what)? {
            0 => {}
            left => return Err(format!("the device is given back with {what}: {left}")),
        }
    }
    Ok(())
}

/// The topology has the chip's compute units, of which others are fused off in each shader array.
fn units_are_there(outcome: &Outcome) -> Result<(), String> {
    let most = |name: &str| {
        let values = outcome.output.iter().filter_map(|line| {
            let value = line.strip_prefix(name)?.trim();
            value.parse::<u32>().ok()
        });
        values.max().unwrap_or(0)
    };
    let found = most("simd_count ").checked_div(most("simd_per_cu "));
    let wanted = outcome.chip.compute_units;
    match found == Some(wanted) {
        true => Ok(()),
        false => Err(format!(
            "topology: compute units: {found:?}, wanted {wanted}"
        )),
    }
}

/// Another driver has left its values in the registers of queues, contexts and rings.
fn used() -> Scenario {
    let load = || Step::insmod(MODULE);
    let unload = || Step::Rmmod("rkfd".into());
    with_vadd(
        "used",
        "a GPU that another driver has used before computes 1,048,576 sums",
        "vectoradd",
    )
    .bin("rkfd-programs", "copies")
    .rule("at power-on: used")
    .misbehaves_by_turns()
    .step(load())
    .step(Step::run("vectoradd", 60, &["/bin/vectoradd", VADD]))
    .step(unload())
    .step(load())
    .step(Step::run("copies", 180, &["/bin/copies"]))
    .step(unload())
}

/// The GPU is not the first of its hive: VRAM, page tables and the GART lie in its part of the frame
/// buffer.
fn hive() -> Scenario {
    with_vadd(
        "hive",
        "node 3 of a hive of eight computes 1,048,576 sums in its own memory",
        "vectoradd",
    )
    .rule("at power-on: node 3")
    .misbehaves_by_turns()
    .scheduled_by(Scheduler::Cpsch)
    .steps([
        Step::insmod(MODULE),
        Step::run("vectoradd", 60, &["/bin/vectoradd", VADD]),
        Step::Rmmod("rkfd".into()),
    ])
    .check(all_verified)
    .check(one_dispatch)
}

fn all_verified(outcome: &Outcome) -> Result<(), String> {
    let wanted = format!("verified {ELEMENTS}/{ELEMENTS}");
    match outcome.output.contains(&wanted) {
        true => Ok(()),
        false => Err(format!("the program did not print '{wanted}'")),
    }
}

/// The device saw one packet, executed all of its waves once, an equal share on each XCC, completed
/// its signal once and raised its interrupt once.
fn one_dispatch(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let any = |_: &crate::trace::Event| true;
    let packet = trace.only("aql", any)?;
    let grid = packet.words("words")?.get(3).copied().map(u64::from);
    if packet.text("type") != "KERNEL_DISPATCH" || grid != Some(ELEMENTS) {
        return Err(format!("the packet is another one: {packet:?}"));
    }
    let end = trace.only("dispatch_end", any)?;
    let done = (end.num("workgroups")?, end.num("waves")?);
    let waves = GROUPS * THREADS / outcome.chip.lanes;
    if done != (GROUPS, waves) {
        return Err(format!("{done:?} work-groups and waves were executed"));
    }
    let (shares, xccs) = (end.words("xcc_workgroups")?, outcome.chip.xccs);
    if shares != vec![GROUPS as u32 / xccs; xccs as usize] {
        return Err(format!("the XCCs executed {shares:?} work-groups"));
    }
    let signal = trace.only("signal", any)?;
    if (signal.num("old")?, signal.num("new")?) != (1, 0) {
        return Err(format!("the signal did not go from 1 to 0: {signal:?}"));
    }
    let event = signal.num("event")?;
    let interrupt = trace.only("interrupt", any)?;
    if interrupt.words("data")?.first().map(|&w| u64::from(w)) != Some(event) {
        return Err(format!(
            "the interrupt is not event {event}'s: {interrupt:?}"
        ));
    }
    trace.only("msi", |e| e.num("sent") == Ok(1)).map(drop)
}

fn kernels() -> Scenario {
    let scenario = Scenario::new(
        "kernels",
        "six groups of kernels at -O0 to -O3 give the CPU's results to the last bit",
    )
    .without_trace()
    .bin("rkfd-programs", "kernels");
    let mut pairs = KERNELS.iter().flat_map(|k| LEVELS.map(|l| (*k, l)));
    pairs
        .by_ref()
        .fold(scenario, |s, (kernel, level)| s.kernel(kernel, level))
        .step(Step::insmod(MODULE))
        .step(Step::run("kernels", 120, &["/bin/kernels", "/kernels"]))
        .step(Step::Rmmod("rkfd".into()))
        .on_all_shapes()
}

fn programs() -> Scenario {
    // The same sums by two kernels: their first elements and their checksums.
    let script =
        "rkfd info || exit 1; sum() { grep -o '\\[2.5, 3.5, 4.5, .* checksum .*' /tmp/out; }; \
        rkfd run /kernels/vadd-O3.co vadd --grid 1024 buf:in:f32:1024:iota buf:in:f32:1024:2.5 \
        buf:out:f32:1024 u32:1024 >/tmp/out || exit 2; cat /tmp/out; vadd=$(sum); \
        rkfd run /kernels/saxpy-O3.co saxpy --grid 1024 f32:1 buf:in:f32:1024:iota \
        buf:inout:f32:1024:2.5 u32:1024 >/tmp/out || exit 3; cat /tmp/out; \
        [ -n \"$vadd\" ] && [ \"$vadd\" = \"$(sum)\" ]";
    let mut scenario = with_vadd(
        "programs",
        "threads, processes, sleeping waiters, 10,000 dispatches without system calls, the command",
        "threads",
    )
    .without_trace()
    // As long as its steps together.
    .timeout(1100)
    .bin("rkfd-cli", "rkfd")
    .kernel("saxpy", 3)
    .step(Step::insmod(MODULE));
    for (program, arg) in [
        ("processes", None),
        ("events", None),
        ("polling", Some("10000")),
    ] {
        scenario = scenario.bin("rkfd-programs", program);
        let path = format!("/bin/{program}");
        let argv: Vec<&str> = [path.as_str(), VADD].into_iter().chain(arg).collect();
        scenario = scenario.step(Step::run(program, 240, &argv));
    }
    scenario
        .step(Step::run("threads", 120, &["/bin/threads", VADD]))
        .step(Step::sh("cli", 60, script))
        .step(Step::sh("cli-copies", 60, CLI_COPIES))
        .step(Step::sh("cli-json", 60, CLI_JSON))
        .step(Step::Rmmod("rkfd".into()))
}

/// The examples that teach the library, as a reader would run them.
const EXAMPLES: [&str; 5] = ["vector_add", "particles", "overlap", "timing", "futures"];

fn examples() -> Scenario {
    let mut scenario = Scenario::new("examples", "the library's examples do what they show")
        .without_trace()
        // So that somebody types the option.
        .emulator_arg("--no-caches")
        .kernel("examples", 3)
        .step(Step::insmod(MODULE));
    for name in EXAMPLES {
        let path = format!("/bin/{name}");
        let argv = [path.as_str(), "/kernels/examples-O3.co"];
        scenario = scenario
            .example("rkfd", name)
            .step(Step::run(name, 120, &argv));
    }
    scenario.step(Step::Rmmod("rkfd".into()))
}

/// The command's copies and fills, each verified, and what it refuses.
const CLI_COPIES: &str = "prints() { grep -qF \"$1\" /tmp/out || { echo no $1; exit 1; }; }; \
    rkfd copy 100001 --from vram --to gtt >/tmp/out || exit 2; cat /tmp/out; \
    prints 'copied from device memory to system memory'; prints 'verified 100001/100001 bytes'; \
    rkfd copy 9M --engine 1 >/tmp/out || exit 3; cat /tmp/out; \
    prints 'by engine 1: '; prints 'verified 9437184/9437184'; \
    rkfd fill 64K 0xdeadbeef --in gtt >/tmp/out || exit 4; cat /tmp/out; \
    prints 'filled with 0xdeadbeef'; prints 'verified 65536/65536 bytes'; \
    rkfd fill 7 1 2>/tmp/out && exit 5; cat /tmp/out; prints 'whole words of 4 bytes'; \
    rkfd copy 1K --engine 99 2>/tmp/out && exit 6; cat /tmp/out; prints 'no copy engine 99'";

/// The command's JSON and exit status, on a device. The command's own tests parse all of it.
const CLI_JSON: &str =
    "has() { grep -qF \"$1\" /tmp/out || { cat /tmp/out; echo no $1; exit 1; }; }; \
    rkfd --version | grep -q '^rkfd [0-9]' || exit 2; \
    rkfd info --json >/tmp/out || exit 3; has '\"module\":\"rkfd\"'; has '\"is_rkfd\":true'; \
    rkfd run /kernels/vadd-O3.co vadd --grid 1024 --json buf:in:f32:1024:iota buf:in:f32:1024:2.5 \
    buf:out:f32:1024 u32:1024 >/tmp/out || exit 4; has '\"first\":[2.5,3.5,4.5,'; \
    grep -q '\"device_seconds\":[0-9]' /tmp/out || exit 5; \
    rkfd copy 1K --json >/tmp/out || exit 6; has '\"verified\":1024'; \
    rkfd run /kernels/vadd-O3.co vadd --grid 1024 >/dev/null 2>/tmp/out; [ $? = 1 ] || exit 7; \
    has 'takes 4 arguments, 0 given; it takes: a buffer'; \
    rkfd run /kernels/vadd-O3.co vadd >/dev/null 2>&1; [ $? = 2 ] || exit 8; \
    rkfd info --json >/dev/null && rkfd run --gpu 9 /kernels/vadd-O3.co vadd --grid 1 >/dev/null \
    2>&1; [ $? = 3 ] || exit 9";

/// Copies and fills, and that two engines did them.
fn copies() -> Scenario {
    Scenario::new(
        "copies",
        "copy engines move words between all kinds of memory, 64 MiB at once, and each of them does",
    )
    .bin("rkfd-programs", "copies")
    .steps([
        Step::insmod(MODULE),
        Step::run("copies", 180, &["/bin/copies"]),
        Step::Rmmod("rkfd".into()),
    ])
    .check(two_engines)
    .check(each_engine)
}

/// Each engine that the program knows of copied.
fn each_engine(outcome: &Outcome) -> Result<(), String> {
    let mut lines = outcome.output.iter();
    let count = lines.find_map(|line| line.split_once(" engines copied")?.0.parse().ok());
    let count: u32 = count.ok_or("the program didn't print how many engines copied")?;
    let trace = Trace::read(&outcome.logs)?;
    for engine in (0..count).map(|n| format!("sdma{n} queue")) {
        let mut all = trace.all("sdma");
        if !all.any(|e| e.text("queue").starts_with(&engine) && e.text("op") == "COPY") {
            return Err(format!("{engine}s copied nothing"));
        }
    }
    Ok(())
}

fn two_engines(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    // Queues of programs; the driver's is `sdma0 kernel`.
    for engine in ["sdma0 queue", "sdma1 queue"] {
        for op in ["COPY", "CONST_FILL", "ATOMIC", "FENCE", "TRAP"] {
            let mut all = trace.all("sdma");
            if !all.any(|e| e.text("queue").starts_with(engine) && e.text("op") == op) {
                return Err(format!("{engine}executed no {op}"));
            }
        }
    }
    Ok(())
}

/// A PM4 queue, and that its work was commands.
fn commands() -> Scenario {
    with_vadd(
        "commands",
        "kernels by the commands of a PM4 queue, with scratch memory, beside an AQL queue",
        "commands",
    )
    .kernel("x_stack", 3)
    .steps([
        Step::insmod(MODULE),
        Step::run(
            "commands",
            240,
            &["/bin/commands", VADD, "/kernels/x_stack-O3.co"],
        ),
        Step::Rmmod("rkfd".into()),
    ])
    .check(|outcome| {
        let trace = Trace::read(&outcome.logs)?;
        for packet in [
            "ACQUIRE_MEM",
            "SET_SH_REG",
            "DISPATCH_DIRECT",
            "EVENT_WRITE",
            "RELEASE_MEM",
        ] {
            if !trace.all("pm4_user").any(|e| e.text("packet") == packet) {
                return Err(format!("no {packet} was executed"));
            }
        }
        Ok(())
    })
}

/// A copy from an address at which nothing is mapped: the program gets that address in an error.
fn copy_fault() -> Scenario {
    Scenario::new("copy-fault", "a copy engine's fault reaches its program")
        .without_trace()
        .programs_fault()
        .bin("rkfd-programs", "copies")
        .steps([
            Step::insmod(MODULE),
            Step::run("copies", 120, &["/bin/copies", "fault"]),
            Step::Rmmod("rkfd".into()),
        ])
}

fn queues() -> Scenario {
    with_vadd(
        "queues",
        "64 queues at once, more than the hardware has, each runs a dispatch",
        "queues",
    )
    .without_trace()
    .steps([
        Step::insmod(MODULE),
        Step::run("queues", 120, &["/bin/queues", VADD]),
        Step::Rmmod("rkfd".into()),
    ])
    .on_all_shapes()
}

fn shown() -> Scenario {
    with_vadd(
        "shown",
        "debugfs shows a program's MQDs, hardware queues, run list and memory as they are",
        "shown",
    )
    .without_trace()
    .steps([
        Step::insmod(MODULE),
        Step::run("shown", 120, &["/bin/shown", VADD]),
        Step::sh(
            "nobody-left",
            60,
            "cd /sys/kernel/debug/kfd && ! grep . mqds && grep -x '  No active runlist' rls",
        ),
        Step::Rmmod("rkfd".into()),
        Step::sh("gone", 60, "! ls /sys/kernel/debug/kfd 2>/dev/null"),
    ])
}

fn live() -> Scenario {
    with_vadd(
        "live",
        "sysfs and debugfs show a program's memory, queues, doorbells, VMID, waves and evictions as they are",
        "live",
    )
    .bin("rkfd-programs", "vectoradd")
    .kernel("spin", 3)
    .without_trace()
    .steps([
        Step::insmod(MODULE),
        Step::run("live", 120, &["/bin/live", VADD, "/kernels/spin-O3.co"]),
        Step::sh("counted", 60, COUNTED),
        Step::sh(
            "nobody-left",
            60,
            "ls /sys/class/kfd/kfd/proc && [ -z \"$(ls /sys/class/kfd/kfd/proc /sys/kernel/debug/kfd/proc | grep -v :)\" ] && \
             cd /sys/kernel/debug/rkfd && ! grep process evictions doorbells vmids queues",
        ),
        Step::Rmmod("rkfd".into()),
        Step::sh("gone", 60, "! ls /sys/kernel/debug/rkfd 2>/dev/null"),
    ])
}

/// What is done to the GPU for a program, and flushes of TLBs, are counted. With MES each flush of a process' address space
/// is a frame; registers are stored for the first flushes, before firmware runs.
const COUNTED: &str = "cd /sys/kernel/debug/rkfd; \
    n() { sed -n \"s/^  $1 //p\" work tlb; }; \
    all='register_loads register_stores table_words cleared_bytes of_process of_vmid by_firmware by_registers'; \
    for name in $all; do export before_$name=$(n $name); done; \
    vectoradd /kernels/vadd-O3.co 4096 >/dev/null || exit 1; \
    for name in $all; do eval \"more_$name=\\$(( $(n $name) - before_$name ))\"; eval \"echo $name \\$more_$name\"; done; \
    for name in register_loads register_stores table_words cleared_bytes of_process; do \
    eval \"[ \\$more_$name -gt 0 ]\" || { echo $name isn\\'t counted; exit 1; }; done; \
    for name in of_vmid by_firmware by_registers; do [ $(n $name) -gt 0 ] || exit 1; done; ! grep -q 'kind mes' scheduler || \
    [ $((more_by_firmware + more_by_registers)) -ge $((more_of_process + more_of_vmid)) ]";

/// One bad packet, one illegal instruction and one page fault are among the reasons.
fn why() -> Scenario {
    with_vadd(
        "why",
        "rkfd why explains each reason for which a queue does not move",
        "why",
    )
    .bin("rkfd-cli", "rkfd")
    .kernel("spin", 3)
    .kernel("illegal", 3)
    .without_trace()
    .programs_fault()
    .steps([
        Step::insmod(MODULE),
        Step::run(
            "why",
            240,
            &[
                "/bin/why",
                VADD,
                "/kernels/spin-O3.co",
                "/kernels/illegal-O3.co",
            ],
        ),
        Step::sh(
            "nobody-left",
            60,
            "rkfd why | grep -x 'no process has a queue'",
        ),
        Step::Rmmod("rkfd".into()),
        Step::run_status("no-driver", 60, 1, &["/bin/rkfd", "why"]),
    ])
}

/// A program that dispatches for some seconds, watched.
fn top() -> Scenario {
    with_vadd(
        "top",
        "rkfd top shows what a process does, and that nobody is there afterwards",
        "polling",
    )
    .bin("rkfd-cli", "rkfd")
    .without_trace()
    .steps([
        Step::insmod(MODULE),
        Step::sh("watched", 120, WATCHED),
        Step::sh("nobody-left", 60, NOBODY),
        Step::Rmmod("rkfd".into()),
        Step::run_status("no-driver", 60, 1, &["/bin/rkfd", "top", "--count", "1"]),
    ])
    .check(|outcome| watched(&outcome.output, outcome.chip.xccs))
}

/// Two looks at a program in the middle of its dispatches.
const WATCHED: &str = "polling /kernels/vadd-O3.co 1000000 > /dev/null & \
    until rkfd why | grep -q mapped || rkfd top --count 1 --interval 0.2 | grep -q mapped; do sleep 0.1; done; \
    rkfd top --count 2 --interval 1 | sed 's/^/look: /'; \
    cat /sys/class/kfd/kfd/proc/*/vram_* | sed 's/^/vram: /'; killall polling; sleep 0.1";

/// Processes end when their last thread has.
const NOBODY: &str =
    "until rkfd top --count 1 --interval 0.2 | grep -q '^0 processes, 0 queues'; do sleep 0.1; done";

/// The last look has the queue on the hardware of each XCC, with packets that it has taken, and the memory that sysfs
/// reports.
fn watched(output: &[String], xccs: u32) -> Result<(), String> {
    let behind = |prefix: &'static str| {
        let lines = output.iter();
        lines.filter_map(move |line| line.trim().strip_prefix(prefix))
    };
    let mut rows = behind("look: ").filter(|line| line.contains("polling"));
    let row = rows.next_back().ok_or("no row of the program")?;
    let cells: Vec<&str> = row.split_whitespace().collect();
    let [_, "polling", _, "AQL", "mapped", hqds, _, rate, vram] = cells[..] else {
        return Err(format!("the row is {cells:?}"));
    };
    let bytes: u64 = behind("vram: ").filter_map(|n| n.parse::<u64>().ok()).sum();
    let wanted = format!("{:.1}", bytes as f64 / 1048576.0);
    let moves = rate.parse::<f64>().is_ok_and(|rate| rate > 0.0);
    match hqds == xccs.to_string() && moves && vram == wanted {
        true => Ok(()),
        false => Err(format!("{xccs} XCCs and {wanted} MiB, but {cells:?}")),
    }
}

fn preempted() -> Scenario {
    Scenario::new(
        "preempted",
        "waves are saved to their queue's area in the middle of a kernel, and go on from there",
    )
    .bin("rkfd-programs", "preempted")
    .kernel("spin", 3)
    .steps([
        Step::insmod(MODULE),
        Step::run("preempted", 180, &["/bin/preempted", "/kernels/spin-O3.co"]),
        Step::Rmmod("rkfd".into()),
    ])
    .on_all_shapes()
}

/// The driver is unbound at the end, which the program looks at, and bound again.
fn peeks() -> Scenario {
    Scenario::new(
        "peeks",
        "a debugger reads and writes device memory that a program has mapped, and nothing else",
    )
    .bin("rkfd-programs", "peeks")
    .without_trace()
    .steps([
        Step::insmod(MODULE),
        Step::run("peeks", 180, &["/bin/peeks"]),
        Step::sh("nothing-is-left", 60, super::lifetime::NOTHING_LEFT),
        Step::sh(
            "bind",
            60,
            "echo 0000:00:01.0 > /sys/bus/pci/drivers/rkfd/bind",
        ),
        Step::Rmmod("rkfd".into()),
    ])
}
