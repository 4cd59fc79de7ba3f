// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs scenarios on chips, several machines side by side, and counts what came out.
//!
//! Machines start in the order of their patience, longest first, so that none of the long ones is
//! left over at the end. What one prints comes out whole when it ends.

use crate::boot::{self, Boot};
use crate::chip::Chip;
use crate::emulator;
use crate::host::Host;
use crate::qemu::Accel;
use crate::run::{self, Show};
use crate::scenario::Scenario;
use crate::shown::shown;
use crate::verdict::Outcome;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::str::FromStr;
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
    /// Which of the machines run.
    pub share: Share,
}

/// A share of the machines, for runs on several hosts, or one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// From 0 on.
    number: usize,
    of: NonZeroUsize,
}

impl Share {
    /// All machines.
    pub const WHOLE: Self = Self {
        number: 0,
        of: NonZeroUsize::MIN,
    };

    /// What is its own of things in a row: each of them is in one share, and neighbours are in different ones.
    fn of<T>(self, all: Vec<T>) -> Vec<T> {
        let own = all.into_iter().skip(self.number);
        own.step_by(self.of.get()).collect()
    }
}

impl FromStr for Share {
    type Err = String;

    /// By its number from 1 on, and how many there are: 1/2.
    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |part: &str| part.parse::<NonZeroUsize>().ok();
        let parts = text.split_once('/');
        match parts.and_then(|(number, of)| Some((parse(number)?, parse(of)?))) {
            Some((number, of)) if number <= of => Ok(Self {
                number: number.get() - 1,
                of,
            }),
            _ => Err(format!("{text} is no share; one of two is 1/2 or 2/2")),
        }
    }
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

/// One machine more than there are processors: one of them usually waits, for a time-out of the
/// driver or for its boot's timers.
pub fn usual_jobs() -> NonZeroUsize {
    let processors = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    processors.saturating_add(1)
}

/// Scenarios that share a machine, with one chip or none.
struct Machine<'a> {
    host: Host,
    chip: Option<&'static Chip>,
    scenarios: Vec<&'a Scenario>,
}

/// Runs the scenarios on each chip, those without a device once, and prints what came out of each,
/// of each chip, and of all.
pub fn run(host: &Host, chips: &'static [Chip], suite: &[Scenario], options: Options) -> Count {
    let mut machines = machines(host, chips, suite);
    machines.sort_by_key(|m| std::cmp::Reverse(m.patience()));
    let machines = options.share.of(machines);
    let all = machines.iter().map(|m| m.scenarios.len()).sum();
    let (next, begun) = (AtomicUsize::new(0), Instant::now());
    let counts: Mutex<Vec<(Option<&'static Chip>, Count)>> = Mutex::default();
    thread::scope(|scope| {
        // Each of these threads lives as long as the machines that it starts, which end with it.
        for _ in 0..options.jobs.get().min(machines.len()) {
            scope.spawn(|| {
                while let Some(machine) = machines.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (shown, ended) = machine.run(options);
                    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                    print!("{shown}");
                    for scenario in ended {
                        counts.push((machine.chip, scenario.count));
                        scenario.print(counts.len(), all, begun.elapsed());
                    }
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
            .filter(|s| (s.gpus > 0) == chip.is_some())
            .filter(|s| s.runs_on(host.chip, named));
        let boots = boot::of(wanted);
        boots.into_iter().map(move |scenarios| Machine {
            host: host.clone(),
            chip,
            scenarios,
        })
    });
    machines.collect()
}

/// What came out of a scenario.
struct Ended {
    count: Count,
    /// Its verdict in one line.
    line: String,
    /// Why it is bad.
    reasons: String,
}

impl Ended {
    /// Prints it, with how far the suite has come.
    fn print(&self, done: usize, all: usize, time: Duration) {
        let (line, reasons) = (&self.line, &self.reasons);
        let seconds = time.as_secs();
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        print!("{line} [{done}/{all}, {minutes}:{seconds:02}]\n{reasons}");
    }
}

impl Machine<'_> {
    /// How long it may take at most.
    fn patience(&self) -> Duration {
        self.scenarios.iter().map(|s| s.timeout).sum()
    }

    /// Runs the scenarios: what was to be shown meanwhile, and what came out of each.
    fn run(&self, options: Options) -> (String, Vec<Ended>) {
        let (alone, mut shown) = (options.jobs.get() == 1, String::new());
        let mut print = |line: &str| match alone {
            true => println!("{line}"),
            false => shown.extend([line, "\n"]),
        };
        let (mut ended, mut left) = (Vec::new(), self.scenarios.as_slice());
        // What had not begun when a machine ended runs in another one.
        while let Some(boot) = Boot::new(left) {
            let outcomes =
                run::boot_once(&self.host, options.accel, &boot, options.show, &mut print);
            // A scenario that cannot start is a failure; the others still run.
            let ends = match outcomes {
                Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
                Err(e) => vec![Err(e)],
            };
            let begun = ends.len().max(1);
            let pairs = left.iter().zip(ends);
            ended.extend(pairs.map(|(scenario, end)| self.judge(scenario, end)));
            left = left.get(begun..).unwrap_or_default();
        }
        (shown, ended)
    }

    /// The verdict over a scenario that has ended, or that could not start.
    fn judge(&self, scenario: &Scenario, end: anyhow::Result<Outcome>) -> Ended {
        let name = match self.chip {
            Some(chip) => format!("{} on {chip}", scenario.name),
            None => scenario.name.to_owned(),
        };
        let outcome = match end {
            Ok(outcome) => outcome,
            Err(e) => {
                return Ended {
                    count: Count {
                        passed: 0,
                        failed: 1,
                    },
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
            let _ = writeln!(reasons, "     the end of {}:", shown(&log));
            let _ = writeln!(reasons, "{}", emulator::tail(&log, 12));
        }
        Ended {
            count,
            line: format!("{word} {name}: {about} ({checks} checks, {took:.1} s)"),
            reasons,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_each_machine_once() {
        let share = |text: &str| text.parse::<Share>();
        let of = |text: &str| share(text).unwrap().of((0..7).collect());
        assert_eq!([of("1/2"), of("2/2")], [vec![0, 2, 4, 6], vec![1, 3, 5]]);
        assert_eq!(of("1/1"), Share::WHOLE.of((0..7).collect()));
        assert!(of("9/9").is_empty(), "more shares than machines");
        for wrong in ["0/2", "3/2", "1/0", "1", "/2", "1/2/3", "-1/2"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
