// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resets of the whole GPU, where that of its engines doesn't help.

use super::lifetime::NOTHING_LEFT;
use super::{with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::{Check, Include, Scenario};
use crate::trace::Trace;
use crate::verdict::Outcome;
use rkfd_hw::mes::v12::Misc;

/// What machines differ in.
struct Machine {
    name: &'static str,
    about: &'static str,
    scheduler: Scheduler,
    cold: bool,
    /// The scheduler doesn't answer, and then the engines' reset is of no use.
    rules: &'static [&'static str],
    /// How the log calls the scheduler.
    hangs: &'static str,
    /// What runs before the reset and after it: as many page faults, where they have a ring of interrupts of their own,
    /// whose pointers begin anew.
    beside: Option<[&'static str; 4]>,
    /// Counts the resets of the whole chip, those of the module's start among them.
    check: Check,
}

/// A copy engine can't be reset alone: PPSMC_MSG_ResetSDMA is refused.
const CPSCH: &[&str] = &[
    "at the 3rd QUERY_STATUS: no answer",
    "on SMU message of message 0x4d: fail 0xfd until reset",
];
/// MES doesn't start again. Each start has two of these frames, one for each pipe. The first queues to be taken off are
/// those of the page fault before.
const MES: &[&str] = &[
    "at the 3rd REMOVE_QUEUE: hang",
    "at the 3rd SET_HW_RSRC: no answer",
];

static MACHINES: [Machine; 3] = [
    Machine {
        name: "reset-whole",
        about: "a GPU whose engines can't be reset is reset as a whole under two programs, and new ones run",
        scheduler: Scheduler::Cpsch,
        cold: false,
        rules: CPSCH,
        hangs: "HWS hang",
        beside: None,
        check: |outcome| was_reset(outcome, 1),
    },
    Machine {
        name: "reset-whole-cold",
        about: "the same, of a GPU that the module has started; then it is given up and started again",
        scheduler: Scheduler::Cpsch,
        cold: true,
        rules: CPSCH,
        hangs: "HWS hang",
        beside: None,
        check: |outcome| was_reset(outcome, 1),
    },
    // What another driver has left running is reset at each start (`soc24_need_reset_on_init`).
    Machine {
        name: "reset-whole-mes",
        about: "the same, of a GPU that is reset whenever a driver comes",
        scheduler: Scheduler::Mes,
        cold: false,
        rules: MES,
        hangs: "MES hang",
        beside: Some(["/bin/faults", VADD, "memory", "wave"]),
        check: |outcome| was_reset(outcome, 3).and(was_told_once(outcome)),
    },
];

/// All of them.
pub fn all() -> Vec<Scenario> {
    let mut all: Vec<_> = MACHINES.iter().map(whole).collect();
    all.push(given_up());
    all
}

/// A module of the tests' own that holds the driver at a place.
pub(super) const HOLD_CALL: &str = "hold_call";

/// Needs a kernel whose mutexes are taken by `mutex_lock`, not by what lockdep has in its place.
pub(super) const GIVEN_UP: &str = "given-up";

/// A program ends between the proof that the engines are off and the scheduler's new start: the driver is held before
/// it takes the scheduler's lock for that.
fn given_up() -> Scenario {
    let hold = Step::Insmod {
        path: format!("/{HOLD_CALL}.ko"),
        params: vec![
            "function=mutex_lock".into(),
            "caller=Scheduler7restart".into(),
        ],
    };
    let mut scenario = with_vadd(
        GIVEN_UP,
        "what a program had that ends while the engines are reset is free afterwards",
        "vectoradd",
    )
    .bin("rkfd-programs", "given_up")
    .scheduled_by(Scheduler::Mes)
    .step(Step::insmod(MODULE))
    .step(hold)
    .step(Step::run("given-up", 120, &["/bin/given_up", VADD]))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::Rmmod(HOLD_CALL.into()))
    .rule("at the 1st REMOVE_QUEUE: hang");
    scenario
        .includes
        .push(Include::TestModule { name: HOLD_CALL });
    scenario
}

/// The scheduler doesn't answer, and the engines can't be reset alone. What becomes of the programs, and that new ones
/// run.
fn whole(machine: &'static Machine) -> Scenario {
    let resetting = |way: &str| format!("{}: resetting the GPU .{way}.$", machine.hangs);
    let beside = |scenario: Scenario, name| match &machine.beside {
        Some(argv) => scenario.step(Step::run(name, 90, argv)),
        None => scenario,
    };
    let scenario = with_vadd(machine.name, machine.about, "vectoradd")
        .bin("rkfd-programs", "reset")
        .scheduled_by(machine.scheduler)
        .step(Step::insmod(MODULE));
    let scenario = beside(scenario, "before").step(Step::sh("reset", 240, RESET));
    let mut scenario = beside(scenario, "after")
        .step(Step::sh("sensors-are-busy", 60, BUSY))
        .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
        .step(Step::run("usable", 60, &["/bin/vectoradd", VADD, "65536"]))
        .step(logged("engines-first", &resetting("soft reset")))
        .step(logged("no-help", "the soft reset doesn.t help"))
        .step(logged("whole", &resetting("mode 1 reset")))
        .step(logged("lost", "what was in its VRAM is lost"))
        .step(Step::Rmmod("rkfd".into()))
        .step(Step::insmod(MODULE))
        .step(Step::run(
            "once-more",
            60,
            &["/bin/vectoradd", VADD, "65536"],
        ))
        .step(Step::Rmmod("rkfd".into()))
        .check(machine.check)
        .check(measures_nothing)
        .check(none_is_masked);
    scenario.includes.push(Include::Firmware);
    if machine.cold {
        scenario = scenario.emulator_arg("--cold");
    }
    if machine.beside.is_some() {
        scenario = scenario.bin("rkfd-programs", "faults").programs_fault();
    }
    let rules = machine.rules.iter();
    rules.fold(scenario, |scenario, rule| scenario.rule(rule))
}

/// A sensor is read all the while, and so are registers of hardware queues and address spaces: the device names who looks
/// at it while it is being reset.
const RESET: &str =
    "(until [ -e /tmp/over ]; do cat /sys/bus/pci/devices/0000:00:01.0/gpu_busy_percent; \
    usleep 1000; done) >/tmp/read 2>&1 & reader=$!; \
    (cd /sys/kernel/debug; until [ -e /tmp/over ]; do cat rkfd/vmids rkfd/scheduler kfd/hqds >/tmp/registers || exit 1; \
    done) & looker=$!; \
    /bin/reset /kernels/vadd-O3.co whole; status=$?; : >/tmp/over; wait $reader; wait $looker || exit 9; exit $status";
/// EBUSY, as `amdgpu_pm_dev_state_check` has it; EPERM it was once.
const BUSY: &str =
    "grep -q 'Device or resource busy' /tmp/read && ! grep 'not permitted' /tmp/read";

/// From a reset of the whole chip until the scheduler starts anew, its management unit isn't asked to measure.
fn measures_nothing(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let mut resetting = false;
    for event in trace.events() {
        match (event.kind(), event.text("op")) {
            ("mode1_reset", _) => resetting = true,
            ("pm4", "SET_RESOURCES") | ("mes", "SET_HW_RSRC") => resetting = false,
            ("smu_metrics", _) if resetting => {
                return Err("sensors: the management unit measures while the GPU is reset".into())
            }
            _ => {}
        }
    }
    Ok(())
}

/// Interrupts of queues reach the driver, whatever has been reset meanwhile.
pub(super) fn none_is_masked(outcome: &Outcome) -> Result<(), String> {
    match Trace::read(&outcome.logs)?.all("interrupt_masked").count() {
        0 => Ok(()),
        count => Err(format!(
            "reset: {count} interrupts of queues were masked by their pipes"
        )),
    }
}

/// MES is told what the waves of a process do for its runtime when that comes to it, and nothing more of it once a
/// reset took it.
fn was_told_once(outcome: &Outcome) -> Result<(), String> {
    /// `MESAPI_MISC__SET_SHADER_DEBUGGER`; with flag 31 a process is forgotten.
    const SET_SHADER_DEBUGGER: u64 = 5;
    let trace = Trace::read(&outcome.logs)?;
    let mut times = 0;
    for event in trace.all("mes").filter(|e| e.text("op") == "MISC") {
        let words = event.words("words")?.try_into();
        let misc = Misc(words.map_err(|_| "MISC: a frame of another length")?);
        let flags = misc.0[Misc::SET_SHADER_DEBUGGER_FLAGS_SINGLE_MEMOP.word()];
        times += usize::from(misc.get(Misc::OPCODE) == SET_SHADER_DEBUGGER && flags == 0);
    }
    match times {
        1 => Ok(()),
        _ => Err(format!(
            "runtime: MES was told {times} times what waves do for a program, which is lost after the first"
        )),
    }
}

fn was_reset(outcome: &Outcome, times: usize) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let count = |kind: &str| trace.all(kind).count();
    match (count("mode1_reset"), count("mode1_done")) {
        found if found == (times, times) => Ok(()),
        found => Err(format!(
            "the device was reset as a whole, and was done with it, {found:?} times, not {times}"
        )),
    }
}

/// A step that passes when the module has logged this.
fn logged(name: &str, message: &str) -> Step {
    let script = format!("dmesg | grep 'rkfd .*: .*{message}' || {{ dmesg | tail; exit 1; }}");
    Step::sh(name, 60, &script)
}
