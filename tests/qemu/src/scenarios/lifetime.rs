// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of everything when a program, a device or the module goes.

use super::reset::HOLD_CALL;
use super::{with_vadd, MODULE, VADD};
use crate::plan::Step;
use crate::scenario::{Include, Scenario};
use crate::verdict::Outcome;

/// Cycles that are counted, and some before them, in which the kernel's caches fill.
const CYCLES: u32 = 5;
const WARM_UP: u32 = 3;
/// The same for who has the time.
const MANY_CYCLES: u32 = 100;
const LONG_WARM_UP: u32 = 10;
pub(super) const CYCLES_NAME: &str = "cycles";

/// All of them.
pub fn all() -> Vec<Scenario> {
    let short = [process_death(), openings(), sharing(), unbind()];
    let mut all = Vec::from(short.map(Scenario::shares_a_machine));
    all.extend([displaced(), displaced_hung(), immovable()]);
    all.push(pair());
    all.push(early());
    all.push(probe_fails());
    all.push(sleep());
    all.push(cycles());
    all
}

/// What the driver counts must come to nothing within seconds.
pub(super) const NOTHING_LEFT: &str = "for i in $(seq 50); do \
    grep -qv ' 0$' /sys/kernel/debug/rkfd/counts || exit 0; sleep 0.1; done; \
    cat /sys/kernel/debug/rkfd/counts; exit 1";

fn process_death() -> Scenario {
    let kill = "rm -f /tmp/ready; endless /kernels/spin-O3.co /tmp/ready & victim=$!; \
        for i in $(seq 200); do [ -e /tmp/ready ] && break; sleep 0.1; done; \
        [ -e /tmp/ready ] || exit 1; cat /sys/kernel/debug/rkfd/counts; \
        grep -q '^queues 1' /sys/kernel/debug/rkfd/counts || exit 2; \
        kill -9 $victim; wait $victim; [ $? = 137 ]";
    with_vadd(
        "process-death",
        "a program is killed while its waves run; nothing of it stays, and others go on",
        "vectoradd",
    )
    .bin("rkfd-programs", "endless")
    .kernel("spin", 3)
    .step(Step::insmod(MODULE))
    .step(Step::sh("killed-while-running", 60, kill))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::run(
        "another-process",
        60,
        &["/bin/vectoradd", VADD, "65536"],
    ))
    .step(Step::sh("killed-again", 60, kill))
    .step(Step::sh("nothing-is-left-again", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
}

pub(super) const OPENINGS: &str = "openings";

fn openings() -> Scenario {
    Scenario::new(
        OPENINGS,
        "a program whose mmap lock is kept opens the device, can be killed meanwhile, and holds up nobody else",
    )
    .bin("rkfd-programs", "openings")
    .step(Step::insmod(MODULE))
    .step(Step::run("openings", 120, &["/bin/openings"]))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
}

/// Memory that several processes and drivers hold; whatever becomes of them, nothing stays.
fn sharing() -> Scenario {
    let mut scenario = with_vadd(
        "sharing",
        "DMA-bufs between processes and drivers, the program's own memory on the GPU",
        "dmabuf",
    )
    .bin("rkfd-programs", "userptr")
    .bin("rkfd-programs", "gem")
    .without_trace()
    .programs_fault()
    .step(Step::insmod(MODULE));
    for case in ["vram", "gtt", "foreign"] {
        scenario = scenario
            .step(Step::run(case, 90, &["/bin/dmabuf", VADD, case]))
            .step(Step::sh(&format!("after-{case}"), 60, NOTHING_LEFT));
    }
    for case in ["gtt", "vram"] {
        scenario = scenario
            .step(Step::run(
                &format!("gem-{case}"),
                90,
                &["/bin/gem", VADD, case],
            ))
            .step(Step::sh(&format!("after-gem-{case}"), 60, NOTHING_LEFT));
    }
    scenario
        .step(Step::run("userptr", 90, &["/bin/userptr", VADD]))
        .step(Step::run(
            "userptr-many",
            90,
            &["/bin/userptr", VADD, "many"],
        ))
        .step(Step::run(
            "userptr-gone",
            90,
            &["/bin/userptr", VADD, "gone"],
        ))
        .step(Step::run("userptr-gem", 90, &["/bin/userptr", VADD, "gem"]))
        .step(Step::run(
            "userptr-gem-gone",
            90,
            &["/bin/userptr", VADD, "gem-gone"],
        ))
        .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
        .step(Step::Rmmod("rkfd".into()))
}

/// Memory of one program that gives way to another's.
fn displaced() -> Scenario {
    moved(
        "displaced",
        "two programs together want more VRAM than there is: objects of one are moved to system memory under its kernel",
        "on kernel copy: late 200 ms",
    )
}

/// The same while a copy engine hangs.
fn displaced_hung() -> Scenario {
    moved(
        "displaced-hung",
        "a copy engine hangs while it moves objects to system memory: it is reset, and they hold what they held",
        "at the 5th kernel copy: hang",
    )
}

/// The engine hangs four times in a row, once more than it is reset for one move: the object stays where it is. The fifth
/// copy, of its next move, goes well.
fn immovable() -> Scenario {
    let scenario = with_vadd(
        "immovable",
        "a copy engine hangs each time that an object is to be moved: that is given up, and the object is as it was",
        "immovable",
    )
    .emulator_arg("--vram-mib=256")
    .without_trace()
    .step(Step::insmod(MODULE))
    .step(Step::run("immovable", 180, &["/bin/immovable"]))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()));
    ["1st", "2nd", "3rd", "4th"]
        .into_iter()
        .fold(scenario, |scenario, nth| {
            scenario.rule(&format!("at the {nth} kernel copy: hang"))
        })
}

fn moved(name: &'static str, about: &'static str, rule: &'static str) -> Scenario {
    with_vadd(name, about, "displaced")
        .emulator_arg("--vram-mib=256")
        .rule(rule)
        .without_trace()
        .step(Step::insmod(MODULE))
        .step(Step::run("displaced", 90, &["/bin/displaced", VADD]))
        .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
        .step(Step::Rmmod("rkfd".into()))
}

fn unbind() -> Scenario {
    let bind = "echo 0000:00:01.0 > /sys/bus/pci/drivers/rkfd/bind";
    with_vadd(
        "unbind",
        "the device is taken from the driver under running programs and live DMA-bufs; binding again works",
        "removed",
    )
    .bin("rkfd-programs", "orphans")
    .bin("rkfd-programs", "vectoradd")
    .step(Step::insmod(MODULE))
    .step(Step::run("orphans", 60, &["/bin/orphans"]))
    .step(Step::sh("no-orphan-is-left", 60, NOTHING_LEFT))
    .step(Step::sh("not-shown", 60, UNBOUND))
    .step(Step::sh("bind-anew", 60, bind))
    .step(Step::sh("shown-anew", 60, BOUND))
    .step(Step::run("removed", 120, &["/bin/removed", VADD]))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::sh("bind", 60, bind))
    .step(Step::run(
        "after-bind",
        60,
        &["/bin/vectoradd", VADD, "65536"],
    ))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::Absent("/dev/kfd".into()))
}

/// Without a device nothing shows one, and the topology's generation is kept for later.
const UNBOUND: &str = "cd /sys/class/kfd/kfd/topology && [ \"$(ls nodes)\" = 0 ] && cp generation_id /tmp/generation && \
    ! ls /sys/kernel/debug/rkfd/0000:00:01.0 /sys/bus/pci/devices/0000:00:01.0/hwmon \
    /sys/bus/pci/devices/0000:00:01.0/ip_discovery /dev/dri/renderD* 2>/dev/null";
/// It shows again, in a later generation.
const BOUND: &str =
    "cd /sys/class/kfd/kfd/topology && [ \"$(ls nodes | tr '\\n' ' ')\" = '0 1 ' ] && \
    [ $(cat generation_id) -gt $(cat /tmp/generation) ] && ls /sys/kernel/debug/rkfd/0000:00:01.0";

/// Two GPUs, of which the driver loses one; that one comes back.
fn pair() -> Scenario {
    let shown = "cd /sys/class/kfd/kfd/topology && ls nodes && [ \"$(ls nodes | tr '\\n' ' ')\" = '0 1 2 ' ] && \
        [ $(ls -d /sys/kernel/debug/rkfd/0000:* | wc -l) = 2 ]";
    let bind = "cd /sys/bus/pci/drivers/rkfd && for at in 0000:00:01.0 0000:00:02.0; do \
        [ -e $at ] || echo $at > bind; done";
    with_vadd(
        "two-gpus",
        "a program uses two GPUs when one of them is taken from the driver, and goes on with the other",
        "pair",
    )
    .bin("rkfd-programs", "vectoradd")
    .gpus(2)
    // Little VRAM: the board's firmware has room for two such BARs.
    .emulator_arg("--vram-mib=1024")
    .without_trace()
    .step(Step::insmod(MODULE))
    .step(Step::sh("both", 60, shown))
    .step(Step::run("pair", 120, &["/bin/pair", VADD]))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::sh("bind", 60, bind))
    .step(Step::sh("both-anew", 60, shown))
    .step(Step::run(
        "after-bind",
        60,
        &["/bin/vectoradd", VADD, "65536"],
    ))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::Absent("/dev/kfd".into()))
}

/// The driver is held where the GPU is listed and has no render node yet. A process that was made then lacked the GPU
/// for as long as it lived; now /dev/kfd can't be opened.
fn early() -> Scenario {
    let hold = Step::Insmod {
        path: format!("/{HOLD_CALL}.ko"),
        params: vec!["function=__drm_dev_alloc".into()],
    };
    let open = "cd /sys/bus/pci/drivers/rkfd; held=/sys/module/hold_call/parameters/held; \
        echo 0000:00:01.0 > unbind; (echo 0000:00:01.0 > bind) & \
        for i in $(seq 300); do [ $(cat $held) = 1 ] && break; sleep 0.1; done; \
        [ $(cat $held) = 1 ] || exit 1; \
        (exec 3</dev/kfd) 2>&1 | tee /tmp/said; echo 0 > $held; wait; \
        grep -q 'Invalid argument' /tmp/said";
    let mut scenario = with_vadd(
        "found-early",
        "no program gets a GPU that is being bound before it can be used",
        "vectoradd",
    )
    .step(Step::insmod(MODULE))
    .step(hold)
    .step(Step::sh("not-yet", 60, open))
    .step(Step::run("then", 60, &["/bin/vectoradd", VADD, "65536"]))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::Rmmod(HOLD_CALL.into()));
    let held = Include::TestModule { name: HOLD_CALL };
    scenario.includes.push(held);
    scenario
}

/// The sensors can't be shown, the last but one thing of a probe, when programs have found the GPU already.
fn probe_fails() -> Scenario {
    let hold = Step::Insmod {
        path: format!("/{HOLD_CALL}.ko"),
        params: vec![
            "function=hwmon_device_register_with_groups".into(),
            "error=12".into(),
        ],
    };
    let bind = "echo 0000:00:01.0 > /sys/bus/pci/drivers/rkfd/bind";
    let mut scenario = with_vadd(
        "probe-fails-late",
        "the driver can't bind the device after all, under a program that has found it; binding again works",
        "removed",
    )
    .bin("rkfd-programs", "vectoradd")
    .step(Step::insmod(MODULE))
    .step(hold)
    .step(Step::run("removed", 120, &["/bin/removed", VADD, "fails"]))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::sh("bind", 60, bind))
    .step(Step::run(
        "after-bind",
        60,
        &["/bin/vectoradd", VADD, "65536"],
    ))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::Rmmod(HOLD_CALL.into()));
    scenario
        .includes
        .push(Include::TestModule { name: HOLD_CALL });
    scenario
}

/// The machine doesn't sleep while the module has the GPU, and whoever asks learns why. Without the module
/// it would: the kernel tests its way to sleep as far as the tasks (`Documentation/power/basic-pm-debugging.rst`).
fn sleep() -> Scenario {
    let way = "cd /sys/power && echo freezer > pm_test && \
        echo 1 > /sys/module/suspend/parameters/pm_test_delay";
    let refused = format!(
        "{way}; for how in $(cat state); do echo $how | dd of=state conv=notrunc; done 2>&1 | tee /tmp/said; \
         [ $(grep -c 'Device or resource busy' /tmp/said) = $(wc -w < state) ] && \
         dmesg | grep -q 'the GPU can.t sleep: its firmware would be lost'"
    );
    // The kernel leaves a device awake whose driver knows nothing of sleep.
    let awake = "cd /sys/bus/pci/devices/0000:00:01.0/power && echo auto > control && sleep 1 && \
        [ $(cat runtime_status) = active ]";
    with_vadd(
        "sleep",
        "the machine doesn't sleep while the module has the GPU, and goes on",
        "vectoradd",
    )
    .step(Step::insmod(MODULE))
    .step(Step::sh("refused", 60, &refused))
    .step(Step::sh("awake", 60, awake))
    .step(Step::run("goes-on", 60, &["/bin/vectoradd", VADD, "65536"]))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::sh(
        "sleeps",
        30,
        &format!("{way}; echo freeze > state"),
    ))
}

/// Loads the module, runs, and unloads it, `n` times.
fn repeat(n: u32) -> String {
    format!(
        "for i in $(seq {n}); do insmod {MODULE} && cycle {VADD} 64 && rmmod rkfd || \
         {{ echo cycle $i; exit 1; }}; done"
    )
}

fn cycles() -> Scenario {
    of_cycles(
        CYCLES_NAME,
        "5 times: load, make queues with 64 MQDs, run on each, destroy, unload; all memory comes back",
        (WARM_UP, CYCLES),
    )
}

/// What takes too long for every change.
pub(super) fn long() -> Scenario {
    of_cycles(
        "many-cycles",
        "100 times: load, make queues with 64 MQDs, run on each, destroy, unload; all memory comes back",
        (LONG_WARM_UP, MANY_CYCLES),
    )
    .timeout(1300)
}

fn of_cycles(name: &'static str, about: &'static str, (warm_up, n): (u32, u32)) -> Scenario {
    with_vadd(name, about, "cycle")
        .without_trace()
        .step(Step::sh("warm-up", 300, &repeat(warm_up)))
        .step(Step::Meminfo("before".into()))
        .step(Step::sh("cycles", 900, &repeat(n)))
        .step(Step::Meminfo("after".into()))
        .check(memory_came_back)
}

/// As many cycles as leave something behind if a cycle leaks; a scan for lost objects then finds it.
pub(super) fn few_cycles() -> Scenario {
    with_vadd(
        CYCLES_NAME,
        "5 times: load, make queues with 64 MQDs, run on each, destroy, unload",
        "cycle",
    )
    .without_trace()
    .step(Step::sh("cycles", 60, &repeat(5)))
}

/// The guest's memory figures move by some hundred KiB from one moment to the next, whatever runs.
/// What is allowed here is less than 11 KiB a cycle of 100, or 165 bytes for each MQD, and for slab
/// and vmalloc, which move less, half and a tenth of that. In a few cycles only a large leak shows.
pub(super) fn memory_came_back(outcome: &Outcome) -> Result<(), String> {
    for (what, sign, kib) in [
        ("", 1i64, 1024),
        (":SUnreclaim", -1, 512),
        (":VmallocUsed", -1, 100),
    ] {
        let figure = |when: &str| outcome.memory(&format!("{when}{what}"));
        let (before, after) = (figure("before")?, figure("after")?);
        let lost = (before as i64 - after as i64) * sign;
        if lost > kib {
            return Err(format!(
                "memory{what}: {before} KiB before, {after} KiB after the cycles"
            ));
        }
    }
    Ok(())
}
