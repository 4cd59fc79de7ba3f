// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices that cannot be used, devices that break, and mutations that must not go unseen.

use super::lifetime::NOTHING_LEFT;
use super::{with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::Scenario;
use crate::trace::Trace;
use crate::verdict::Outcome;

/// All of them.
pub fn all() -> Vec<Scenario> {
    let mut all = vec![
        refused(
            "cold",
            "a GPU without running firmware is refused",
            "at power-on: cold",
            "the GPU is cold",
        ),
        refused(
            "bad-discovery-signature",
            "a discovery table that is none is refused",
            "at probe: bad signature",
            "the discovery table .* is unusable",
        ),
        refused(
            "bad-discovery-checksum",
            "a damaged discovery table is refused",
            "at probe: bad checksum",
            "the discovery table .* is unusable",
        ),
        refused(
            "bad-discovery-version",
            "a discovery table of a later version is refused",
            "at probe: future version",
            "the discovery table .*unknown version of the binary",
        ),
        refused(
            "bad-block-table",
            "a table of blocks that is none is refused",
            "at probe: bad block table",
            "the discovery table .*wrong signature of the IP table",
        ),
        refused(
            "bad-block-checksum",
            "a damaged table of blocks is refused",
            "at probe: bad block checksum",
            "the discovery table .*a table has a wrong checksum",
        ),
        refused(
            "no-dies",
            "a table of blocks of no die is refused",
            "at probe: no dies",
            "the discovery table .*impossible number of dies",
        ),
        refused(
            "too-many-blocks",
            "a table of thousands of blocks is refused",
            "at probe: too many blocks",
            "the discovery table .*too many entries",
        ),
        refused(
            "bad-core-table",
            "a table of the graphics core that is none is refused",
            "at probe: bad core table",
            "the discovery table .*wrong signature of the GC table",
        ),
        refused(
            "bad-harvest-table",
            "a table of what is fused off that is none is refused",
            "at probe: bad harvest table",
            "the discovery table .*wrong signature of the harvest table",
        ),
        refused(
            "hive-of-ten",
            "a GPU of a larger hive than there are is refused",
            "on register MC_VM_XGMI_LFB_CNTL: read 90",
            "the memory controller places VRAM where no room",
        )
        .scheduled_by(Scheduler::Cpsch),
        accepted(
            "repeated-block",
            "a block that is listed twice counts once",
            "at probe: repeated block",
        ),
        accepted(
            "no-harvest-table",
            "a GPU of which nothing says that something is fused off is used",
            "at probe: no harvest table",
        ),
        refused(
            "unknown-gc",
            "a GPU of another kind is refused",
            "at probe: unknown core",
            "this GPU isn.t supported: GC 99.4.3 is unknown",
        ),
    ];
    all.extend([
        dead_device(),
        pulled_out(),
        lost(),
        lost_one(),
        no_fence(),
        gpu_reset(),
        hang_hws(),
        hang_mes(),
        reported(),
        hang(),
        overflowed(),
    ]);
    all.extend(mutations());
    all
}

/// The driver refuses the device with a message that has the reason, keeps nothing, and unloads.
fn refused(name: &'static str, about: &'static str, rule: &'static str, message: &str) -> Scenario {
    let logged = format!("dmesg | grep -q 'rkfd .*: {message}' || {{ dmesg | tail; exit 1; }}");
    Scenario::new(name, about)
        .rule(rule)
        .misbehaves_by_turns()
        .step(Step::insmod(MODULE))
        .step(Step::sh("reason-logged", 60, &logged))
        .step(Step::sh("not-bound", 60, NOT_BOUND))
        .step(Step::Rmmod("rkfd".into()))
        .step(Step::insmod(MODULE))
        .step(Step::Rmmod("rkfd".into()))
}

/// The driver uses the device as any other.
fn accepted(name: &'static str, about: &'static str, rule: &'static str) -> Scenario {
    with_vadd(name, about, "vectoradd")
        .rule(rule)
        .misbehaves_by_turns()
        .step(Step::insmod(MODULE))
        .step(Step::run("used", 60, &["/bin/vectoradd", VADD, "65536"]))
        .step(Step::Rmmod("rkfd".into()))
}

/// No device has the driver, and no GPU is in the topology.
pub(super) const NOT_BOUND: &str = "! ls /sys/bus/pci/drivers/rkfd | grep : && \
    ! grep -qs '^gfx_target_version [1-9]' /sys/devices/virtual/kfd/kfd/topology/nodes/*/properties";

/// Requests of a program must fail from some run on, and then always, and nothing may hang: each
/// step's time is bounded. Then the module unloads.
fn dead_device() -> Scenario {
    let until_it_dies = "for i in $(seq 30); do vectoradd /kernels/vadd-O3.co 4096 >/tmp/out; \
        [ $? = 0 ] || { grep errno /tmp/out; grep -v @rkfd /tmp/out | tail -n 1; exit 0; }; done; exit 1";
    let scenario = with_vadd(
        "dead-device",
        "a device that stops answering costs errors, no hang, and the module unloads",
        "vectoradd",
    )
    .step(Step::insmod(MODULE))
    .step(Step::sh("until-it-dies", 90, until_it_dies))
    .step(refuses("dead-stays-dead", 60))
    .step(Step::sh(
        "nothing-on-the-hardware",
        60,
        "cat /sys/kernel/debug/kfd/hqds | tee /tmp/hqds; [ ! -s /tmp/hqds ] || grep -q 'Device is stopped' /tmp/hqds",
    ))
    .step(Step::sh(
        "sleeps-without-it",
        30,
        "cd /sys/power && echo freezer > pm_test && \
         echo 1 > /sys/module/suspend/parameters/pm_test_delay && echo freeze > state",
    ))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::insmod(MODULE))
    .step(Step::sh(
        "reason-logged",
        60,
        "dmesg | grep -q \"the device doesn't answer\"",
    ))
    .step(Step::sh("not-bound", 60, NOT_BOUND))
    .step(Step::Rmmod("rkfd".into()));
    scenario.rule("at the 2000th any register access: surprise removal")
}

/// Two programs have waves that never end, two others add vectors again and again, and the device
/// is pulled out under them. Whoever asks for something afterwards is refused, nobody waits for the
/// hardware once more for each queue. When no program gets on any more, those without end are killed, by
/// which the driver notices if it had not: then the others wake. In the end nothing of them is left.
fn pulled_out() -> Scenario {
    let started = "for p in 1 2; do endless /kernels/spin-O3.co /tmp/ready$p >/dev/null & done; \
        for i in $(seq 300); do [ -e /tmp/ready1 -a -e /tmp/ready2 ] && exit 0; \
        sleep 0.1; done; exit 1";
    let until_it_goes = ": >/tmp/runs; for p in 1 2; do \
        (while vectoradd /kernels/vadd-O3.co 4096 >/tmp/out$p; do echo >>/tmp/runs; done) & done; \
        before=-1; while [ $before != \"$(wc -l </tmp/runs)\" ]; do before=$(wc -l </tmp/runs); sleep 10; done; \
        killall -9 endless; wait; grep -h errno /tmp/out1 /tmp/out2; wc -l </tmp/runs";
    with_vadd(
        "pulled-out",
        "the device goes in the middle of four programs' dispatches: nothing waits for it, nothing stays",
        "vectoradd",
    )
    .bin("rkfd-programs", "endless")
    .kernel("spin", 3)
    .rule("at the 20th IH entry: surprise removal")
    // The queues' save areas, of four programs at a time.
    .emulator_arg("--host-memory")
    .emulator_arg("6144")
    .step(Step::insmod(MODULE))
    .step(Step::sh("waves-without-end", 60, started))
    .step(Step::sh("sleeper", 60, SLEEPER))
    .step(Step::sh("until-it-goes", 300, until_it_goes))
    .step(Step::sh("the-sleeper-woke", 60, WOKEN))
    .step(refuses("the-next-is-refused", 60))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::sh(
        "no-wait-is-logged",
        60,
        "! dmesg | grep -E 'it is stuck|queues failed|acknowledge'",
    ))
    .step(Step::Rmmod("rkfd".into()))
    .check(went_while_it_worked)
}

/// The device is pulled out at a program's first dispatch. The program's next request is the first to find that, and is
/// refused as all that follow.
fn lost() -> Scenario {
    with_vadd(
        "lost",
        "what a program asks for first is refused when its device has gone without a word",
        "lost",
    )
    .rule("at the 1st dispatch: surprise removal")
    .step(Step::insmod(MODULE))
    .step(Step::run("refused", 120, &["/bin/lost", VADD]))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
    .check(went_while_it_worked)
}

/// One of two GPUs is pulled out at a program's first dispatch, and the program asks both for more. Then debugfs and
/// the sensors show which one has gone.
fn lost_one() -> Scenario {
    let shown = "cd /sys/kernel/debug/rkfd && for of in vmids ../kfd/hqds; do cat $of >/tmp/shown; \
        [ $(grep -c -i ' stopped$' /tmp/shown) = 1 ] || { echo $of; cat /tmp/shown; exit 1; }; done";
    let sensors = "for at in 1 2; do cat /sys/bus/pci/devices/0000:00:0$at.0/hwmon/hwmon*/temp2_input 2>&1; done | \
        tee /tmp/sensors; [ $(grep -c 'No such device' /tmp/sensors) = 1 ] && [ $(grep -cx '[0-9]*' /tmp/sensors) = 1 ]";
    let submit = "echo fill 1 1 1 >/sys/kernel/debug/rkfd/submit";
    let submit = format!("({submit}) 2>&1 | tee /tmp/said; grep -q 'No such device' /tmp/said");
    with_vadd(
        "lost-one",
        "what a program asks of one of two GPUs is refused when that has gone without a word",
        "lost_one",
    )
    .gpus(2)
    // Little VRAM: the board's firmware has room for two such BARs.
    .emulator_arg("--vram-mib=1024")
    .rule("at the 1st dispatch: surprise removal")
    .without_trace()
    .step(Step::insmod(MODULE))
    .step(Step::run("refused", 120, &["/bin/lost_one", VADD]))
    .step(Step::sh("shown", 60, shown))
    .step(Step::sh("sensors", 60, sensors))
    .step(Step::sh("submit", 60, &submit))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
}

/// A program that waits for an event without a limit; it has another name than those that are killed.
const SLEEPER: &str =
    "ln -s /bin/endless /tmp/sleeper; /tmp/sleeper sleeps /tmp/sleeps >/tmp/slept 2>&1 & \
    for i in $(seq 300); do [ -e /tmp/sleeps ] && exit 0; sleep 0.1; done; cat /tmp/slept; exit 1";
const WOKEN: &str =
    "for i in $(seq 100); do grep -q 'test endless' /tmp/slept && break; sleep 0.1; done; \
    sed s/@rkfd// /tmp/slept; grep -q 'woken by' /tmp/slept && grep -q 'test endless ok' /tmp/slept";

/// The device went once, and dispatches came before.
fn went_while_it_worked(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    trace.only("off_the_bus", |_| true).map(|_| ())
}

/// A vector addition must fail, within seconds.
fn refuses(name: &str, seconds: u64) -> Step {
    let script = "vectoradd /kernels/vadd-O3.co 4096 >/tmp/out; status=$?; \
        grep errno /tmp/out; [ $status = 1 ]";
    Step::sh(name, seconds, script)
}

/// DESTROY_QUEUE gives up with upstream's errno: after 9 seconds (`queue_preemption_timeout_ms`) with
/// ETIME, or, with MES, after 2.1 with ETIMEDOUT. The GPU is reset then, and other programs run. Meanwhile
/// debugfs shows that who is looked at is busy, and doesn't wait.
fn no_fence() -> Scenario {
    let destroy = "vectoradd /kernels/vadd-O3.co 4096 >/tmp/out & p=$!; cd /sys/kernel/debug/kfd; \
        while kill -0 $p 2>/dev/null; do grep Busy mqds rls >>/tmp/busy; sleep 0.1; done; \
        sort /tmp/busy | uniq -c; [ $(sort -u /tmp/busy | grep -c .) = 2 ] || exit 2; grep errno /tmp/out; \
        grep -Eq 'DESTROY_QUEUE .* failed, errno (62|110)' /tmp/out && grep -q 'verified 4096/4096' /tmp/out";
    let scenario = with_vadd(
        "no-fence",
        "a scheduler that doesn't acknowledge costs an error in bounded time; the next program runs",
        "vectoradd",
    )
    .step(Step::insmod(MODULE))
    .step(Step::sh("destroy-gives-up", 60, destroy))
    .step(Step::sh("works-again", 60, WORKS_AGAIN))
    .step(Step::run("the-next", 60, &["/bin/vectoradd", VADD, "65536"]))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::sh(
        "reason-logged",
        60,
        "dmesg | grep -q 'it is stuck'",
    ))
    .step(Step::Rmmod("rkfd".into()))
    .check(gives_up_as_upstream);
    never_acknowledges(scenario)
}

/// The scheduling firmware doesn't report that queues are off, until it is reset: the command processor
/// does not complete QUERY_STATUS, MES does not get beyond a user queue's REMOVE_QUEUE.
fn never_acknowledges(scenario: Scenario) -> Scenario {
    scenario
        .rule("at the 1st QUERY_STATUS: no answer")
        .rule("at the 1st REMOVE_QUEUE: hang")
        .misbehaves_by_turns()
}

/// The reset is over.
const WORKS_AGAIN: &str = "for i in $(seq 100); do \
    dmesg | grep -q 'the GPU works again' && exit 0; sleep 0.1; done; dmesg | tail; exit 1";

/// What becomes of the programs that use a GPU while it is reset.
fn gpu_reset() -> Scenario {
    let scenario = with_vadd(
        "gpu-reset",
        "a scheduler that hangs is reset with the GPU under two programs, and new ones run",
        "vectoradd",
    )
    .bin("rkfd-programs", "reset")
    .step(Step::insmod(MODULE))
    .step(Step::run("reset", 120, &["/bin/reset", VADD]))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::run("usable", 60, &["/bin/vectoradd", VADD, "65536"]))
    .step(Step::sh(
        "reason-logged",
        60,
        "dmesg | grep -Eq '(HWS|MES) hang: resetting the GPU .soft reset.'",
    ))
    .step(Step::Rmmod("rkfd".into()))
    .check(engines_were_reset)
    .check(super::reset::none_is_masked);
    // The third time that queues are taken off: for the second queue of the first program, for that of
    // the other, and to destroy one.
    scenario
        .rule("at the 3rd QUERY_STATUS: no answer")
        .rule("at the 1st REMOVE_QUEUE: hang")
        .misbehaves_by_turns()
}

/// What `/sys/kernel/debug/kfd/hang_hws` takes and what it refuses.
const REFUSED: &str = "cd /sys/kernel/debug/kfd && ls -l hang_hws | grep '^--w-------' && \
    for bad in 0 x 99999 1234567890123456 '1 2' -1; do ! echo \"$bad\" > hang_hws || exit 1; done";

/// The id of the GPU.
const ID: &str =
    "id=$(grep -hvx 0 /sys/class/kfd/kfd/topology/nodes/*/gpu_id) && cd /sys/kernel/debug";

/// Root has the scheduling firmware stop at what is no packet. While the driver waits for its answer, debugfs can be read;
/// then the GPU is reset under a program, and new ones run.
fn hang_hws() -> Scenario {
    let started = "endless /kernels/spin-O3.co /tmp/ready >/dev/null & \
        until [ -e /tmp/ready ]; do sleep 0.1; done";
    // The driver waits for 9 seconds.
    let hangs = format!(
        "{ID} && (echo $id > kfd/hang_hws) & {ID} && \
         until grep -q 'state busy' rkfd/scheduler; do :; done; \
         grep 'state mapped' rkfd/queues && grep Busy kfd/rls && grep 'ring hiq' rkfd/scheduler && wait"
    );
    let reset = "cd /sys/kernel/debug && \
        until grep -q 'state runs' rkfd/scheduler && dmesg | grep 'HWS hang: resetting the GPU .soft reset.'; \
        do sleep 0.1; done; rkfd why | grep ': it is gone: the GPU was reset under its process$'";
    with_vadd(
        "hang-hws",
        "the scheduling firmware is made to hang; what it has is shown meanwhile, and a reset gets it back",
        "vectoradd",
    )
    .scheduled_by(Scheduler::Cpsch)
    .bin("rkfd-programs", "endless")
    .bin("rkfd-cli", "rkfd")
    .kernel("spin", 3)
    .step(Step::insmod(MODULE))
    .step(Step::sh("spinning", 60, started))
    .step(Step::sh("refused", 60, REFUSED))
    .step(Step::sh("hangs", 60, &hangs))
    .step(Step::sh("reset", 60, reset))
    .step(Step::sh("killed", 60, "killall -9 endless; wait"))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::run("usable", 60, &["/bin/vectoradd", VADD, "65536"]))
    .step(Step::Rmmod("rkfd".into()))
    .violates(&["Hiq queue: no type-3 PM4 header: 0x55555555"])
    .check(engines_were_reset)
}

/// MES can't be made to hang so, which the log says; everything goes on.
fn hang_mes() -> Scenario {
    let logged = format!(
        "{ID} && echo $id > kfd/hang_hws && \
         dmesg | grep 'making the scheduling firmware hang is not supported' && grep 'state runs' rkfd/scheduler"
    );
    with_vadd(
        "hang-mes",
        "MES can't be made to hang by a packet, and goes on",
        "vectoradd",
    )
    .scheduled_by(Scheduler::Mes)
    .step(Step::insmod(MODULE))
    .step(Step::sh("refused", 60, REFUSED))
    .step(Step::sh("logged", 60, &logged))
    .step(Step::run("usable", 60, &["/bin/vectoradd", VADD, "65536"]))
    .step(Step::Rmmod("rkfd".into()))
}

/// The device saw each command processor reset once, and where registers can do that, each copy engine.
fn engines_were_reset(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let count = |kind: &str| trace.all(kind).count();
    let wanted = match outcome.chip.scheduler {
        Scheduler::Cpsch => (outcome.chip.xccs as usize, 0),
        Scheduler::Mes => (1, 2),
    };
    match (count("soft_reset"), count("sdma_reset")) {
        found if found == wanted => Ok(()),
        found => Err(format!(
            "command processors and copy engines were reset {found:?} times, not {wanted:?}"
        )),
    }
}

/// The errno is that of the chip's scheduler.
fn gives_up_as_upstream(outcome: &Outcome) -> Result<(), String> {
    let errno = match outcome.chip.scheduler {
        Scheduler::Cpsch => 62,
        Scheduler::Mes => 110,
    };
    let wanted = format!("failed, errno {errno}");
    let mut lines = outcome.output.iter();
    match lines.any(|line| line.contains("DESTROY_QUEUE") && line.ends_with(&wanted)) {
        true => Ok(()),
        false => Err(format!("DESTROY_QUEUE did not fail with errno {errno}")),
    }
}

/// The ring of interrupts overflows, which is logged: once or, as the driver takes entries while more come, a few times,
/// but not with each interrupt from then on. What wasn't overwritten reaches the driver: all but an
/// entry of a ring of 8,192; and interrupts go on.
fn overflowed() -> Scenario {
    let many = format!(
        "cd /sys/kernel/tracing; echo 8192 > buffer_size_kb; echo 1 > events/rkfd/rkfd_ih_entry/enable; \
         /bin/events {VADD}; status=$?; echo 0 > events/enable; count=$(grep -c rkfd_ih_entry: trace); \
         echo $count entries; echo > trace; [ $status = 0 ] && [ $count -ge 8191 ]"
    );
    with_vadd(
        "overflowed",
        "a ring of interrupts that overflows is told of, and interrupts go on",
        "events",
    )
    .rule("at the 5th IH entry: overflow")
    .misbehaves_by_turns()
    .step(Step::insmod(MODULE))
    .step(Step::sh("events", 120, &many))
    .step(Step::sh(
        "told",
        60,
        "n=$(dmesg | grep -c 'the interrupt ring overflowed; events were lost'); echo $n times; [ $n -ge 1 ] && [ $n -le 4 ]",
    ))
    .step(Step::Rmmod("rkfd".into()))
}

/// An error on the GPU is reported to the program that caused it; others go on, and nothing stays
/// behind.
fn reported() -> Scenario {
    let mut scenario = with_vadd(
        "faults",
        "a page fault, a bad packet, an illegal instruction, a trap: the program gets the error, others go on",
        "vectoradd",
    )
    .bin("rkfd-programs", "faults")
    .kernel("illegal", 3)
    .programs_fault()
    .step(Step::insmod(MODULE));
    for case in [
        "memory",
        "beyond",
        "readonly",
        "packet",
        "instruction",
        "trap",
        "exception",
        "unhandled",
    ] {
        let argv = ["/bin/faults", VADD, case, "/kernels/illegal-O3.co"];
        scenario = scenario.step(Step::run(case, 90, &argv)).step(Step::sh(
            &format!("after-{case}"),
            60,
            NOTHING_LEFT,
        ));
    }
    scenario
        .step(Step::run("usable", 60, &["/bin/vectoradd", VADD, "65536"]))
        .step(Step::Rmmod("rkfd".into()))
        .check(faulted_once_each)
        .on_all_shapes()
        .misbehaves_by_turns()
}

/// The device saw the faults, and none that was not meant: one bad packet; and by the trap handler page faults of waves
/// in three programs, one of which may only read; three illegal instructions, the trap of one work-group in each of
/// 5 dispatches, and before those and in one more that of a debugger in each wave. How many waves meet a page fault
/// depends on when their queue is taken off.
fn faulted_once_each(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    trace.only("packet_error", |_| true)?;
    if let Some(fault) = trace.all("wave_fault").next() {
        return Err(format!("a wave's handler did not hear of: {fault:?}"));
    }
    let traps = |cause: &str| {
        let all = trace.all("wave_trap");
        all.filter(|event| event.text("cause").contains(cause))
            .count()
    };
    let found = ["illegal instruction", "trap 2 at", "trap 3 at"].map(traps);
    let pages = ["Write at 0x", "NotPresent", "NotPermitted"].map(traps);
    if pages[0] < 3 || pages[1] < 2 || pages[2] == 0 || pages[0] != pages[1] + pages[2] {
        return Err(format!("waves met page faults {pages:?} times"));
    }
    match found {
        [3, 5, 321] => Ok(()),
        _ => Err(format!("waves trapped {found:?} times")),
    }
}

/// A scheduler that hangs is reported to programs as a hardware exception.
fn hang() -> Scenario {
    let scenario = with_vadd(
        "hang",
        "a scheduler that never acknowledges is reported to the program as a hardware exception",
        "faults",
    )
    .step(Step::insmod(MODULE))
    .step(Step::run("hang", 90, &["/bin/faults", VADD, "hang"]))
    .step(Step::Rmmod("rkfd".into()));
    never_acknowledges(scenario)
}

/// Each breaks one thing that a correct result depends on, once. A suite that passes with one of them
/// would pass with such a bug in the driver, too.
fn mutations() -> [Scenario; 3] {
    [
        (
            "stale-pte",
            "at the 1st page walk: stale page",
            "a wrong page table entry is noticed",
        ),
        (
            "flip-instruction-bit",
            "at the 1st instruction fetch: flip a bit",
            "one wrong bit of code is noticed",
        ),
        (
            "drop-release",
            "at the 1st AQL packet: hide a word",
            "a packet that is seen before it is whole is noticed",
        ),
    ]
    .map(|(name, rule, about)| {
        with_vadd(name, about, "vectoradd")
            .rule(rule)
            .programs_fault()
            .misbehaves_by_turns()
            .step(Step::insmod(MODULE))
            .step(Step::sh("noticed", 60, NOTICED))
            .step(Step::run("right", 60, &["/bin/vectoradd", VADD, "65536"]))
            .step(Step::Rmmod("rkfd".into()))
    })
}

/// A vector addition reports what is wrong, in its results or with its queue.
const NOTICED: &str = "vectoradd /kernels/vadd-O3.co 65536 >/tmp/out; [ $? = 1 ] || exit 1; \
    sed -n 's/^@rkfd test vectoradd FAIL //p' /tmp/out | tee /tmp/why; [ -s /tmp/why ]";
