// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs scenarios on chips, several machines side by side, and counts what came out.
//!
//! Machines start in the order of their patience, longest first, so that none of the long ones is
//! left over at the end. What one prints comes out whole when it ends.

use crate::chip::Chip;
use crate::emulator;
use crate::host::Host;
use crate::qemu::Accel;
use crate::run::{self, Show};
use crate::scenario::Scenario;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How scenarios are run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// What executes the guests' instructions.
    pub accel: Accel,
    /// What is shown of each.
    pub show: Show,
    /// How many machines run at the same time.
    pub jobs: NonZeroUsize,
}

/// What came out of scenarios.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Checks that passed.
    pub passed: usize,
    /// Checks that failed.
    pub failed: usize,
}

impl Count {
    fn add(&mut self, other: Count) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// All checks.
    pub fn all(self) -> usize {
        self.passed + self.failed
    }
}

/// As many machines as there are processors.
pub fn processors() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// One scenario on one chip, or on none.
struct Machine<'a> {
    host: Host,
    chip: Option<&'static Chip>,
    scenario: &'a Scenario,
}

/// Runs the scenarios on each chip, those without a device once, and prints what came out of each,
/// of each chip, and of all.
pub fn run(host: &Host, chips: &'static [Chip], suite: &[Scenario], options: Options) -> Count {
    let mut machines = machines(host, chips, suite);
    machines.sort_by_key(|m| std::cmp::Reverse(m.scenario.timeout));
    let all = machines.len();
    let (next, begun) = (AtomicUsize::new(0), Instant::now());
    let counts: Mutex<Vec<(Option<&'static Chip>, Count)>> = Mutex::default();
    thread::scope(|scope| {
        // Each of these threads lives as long as the machines that it starts, which end with it.
        for _ in 0..options.jobs.get().min(all) {
            scope.spawn(|| {
                while let Some(machine) = machines.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ended = on_machine(machine, options);
                    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                    counts.push((machine.chip, ended.count));
                    ended.print(counts.len(), all, begun.elapsed());
                }
            });
        }
    });
    let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut total = Count::default();
    counts.iter().for_each(|(_, count)| total.add(*count));
    for chip in chips {
        let mut of_chip = Count::default();
        let here = |c: &Option<&'static Chip>| c.is_some_and(|c| c.name == chip.name);
        let here = counts.iter().filter(|(c, _)| here(c));
        here.for_each(|(_, count)| of_chip.add(*count));
        if of_chip.all() > 0 {
            let Count { passed, failed } = of_chip;
            println!("on {chip}: {passed} passed, {failed} failed");
        }
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    total
}

/// What is to run: those without a device first, then those of each chip.
fn machines<'a>(host: &Host, chips: &'static [Chip], suite: &'a [Scenario]) -> Vec<Machine<'a>> {
    let named = chips.len() == 1;
    let runs = std::iter::once(None).chain(chips.iter().map(Some));
    let machines = runs.flat_map(|chip| {
        let host = chip.map_or_else(|| host.clone(), |chip| host.with(chip));
        let wanted = suite
            .iter()
            .filter(move |s| s.device == chip.is_some())
            .filter(|s| s.runs_on(host.chip, named))
            .collect::<Vec<_>>();
        wanted.into_iter().map(move |scenario| Machine {
            host: host.clone(),
            chip,
            scenario,
        })
    });
    machines.collect()
}

/// What came out of a machine.
struct Ended {
    count: Count,
    /// What was shown of its run, if it wasn't while it ran.
    shown: String,
    /// Its verdict in one line.
    line: String,
    /// Why it is bad.
    reasons: String,
}

impl Ended {
    /// Prints all of it at once, with how far the suite has come.
    fn print(&self, done: usize, all: usize, time: Duration) {
        let (shown, line, reasons) = (&self.shown, &self.line, &self.reasons);
        let seconds = time.as_secs();
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        print!("{shown}{line} [{done}/{all}, {minutes}:{seconds:02}]\n{reasons}");
    }
}

/// Runs one scenario.
fn on_machine(machine: &Machine<'_>, options: Options) -> Ended {
    let (host, scenario) = (&machine.host, machine.scenario);
    let name = match machine.chip {
        Some(chip) => format!("{} on {chip}", scenario.name),
        None => scenario.name.to_owned(),
    };
    let (alone, mut shown) = (options.jobs.get() == 1, String::new());
    let mut say = |line: &str| match alone {
        true => println!("{line}"),
        false => shown.extend([line, "\n"]),
    };
    // A scenario that cannot start is a failure; the others still run.
    let outcome = match run::run(host, options.accel, scenario, options.show, &mut say) {
        Ok(outcome) => outcome,
        Err(e) => {
            return Ended {
                count: Count {
                    passed: 0,
                    failed: 1,
                },
                shown,
                line: format!("FAIL {name}: it could not be started"),
                reasons: format!("     {e:#}\n"),
            }
        }
    };
    let verdict = outcome.judge(scenario);
    let count = Count {
        passed: verdict.passed,
        failed: verdict.failed,
    };
    let word = if count.failed == 0 { "ok  " } else { "FAIL" };
    let (about, checks) = (scenario.about, count.all());
    let took = outcome.took.as_secs_f32();
    let mut reasons = String::new();
    for reason in &verdict.reasons {
        let _ = writeln!(reasons, "     {reason}");
    }
    if count.failed > 0 {
        let log = outcome.logs.join("log");
        let _ = writeln!(reasons, "     the end of {}:", crate::shown::shown(&log));
        let _ = writeln!(reasons, "{}", emulator::tail(&log, 12));
    }
    Ended {
        count,
        shown,
        line: format!("{word} {name}: {about} ({checks} checks, {took:.1} s)"),
        reasons,
    }
}
