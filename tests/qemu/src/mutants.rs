// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-vm mutants`: which faults of the module the scenarios notice.
//!
//! `tests/mutants` builds one module with all mutants; its parameter `mutant` chooses one. First each
//! scenario runs with none chosen, and the module reports which places it met. Then each mutant of
//! a sample runs in up to two dozen scenarios that meet it, until one notices: first where its statement failed; then by turns in
//! the shortest ones and in those that meet most of its file; then in those that look at nearly everything, and on chips of
//! other shapes. A mutant is caught if its scenario is found bad. A table beside the planter names mutants that no test can notice, each with its
//! reason. What was found out is noted ([`Notes`]), so that the next run with the same builds goes on there.

use crate::chip::Chip;
use crate::host::Host;
use crate::mutants::notes::Notes;
use crate::plan::Step;
use crate::qemu::Accel;
use crate::run::{self, Show};
use crate::scenario::Scenario;
use anyhow::{ensure, Context, Result};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

mod judge;
mod notes;

/// The parameter's value that chooses no mutant and reports the places.
const REPORT: &str = "mutant=4294967295";
/// At least so many percent of the mutants that a test can notice must be caught.
const AIM: usize = 95;
/// The scenarios, by what they are about. In `typed` the module is loaded without parameters, so no mutant is on there.
const SCENARIOS: [&str; 99] = [
    "vectoradd",
    "used",
    "bad-discovery-signature",
    "bad-discovery-version",
    "bad-discovery-checksum",
    "bad-block-table",
    "bad-block-checksum",
    "no-dies",
    "too-many-blocks",
    "bad-core-table",
    "bad-harvest-table",
    "hive-of-ten",
    "repeated-block",
    "no-harvest-table",
    "unknown-gc",
    "hang-queue",
    "wedge-queue",
    "hang-unbound",
    "hang-unbound-copies",
    "preempted",
    "process-death",
    "deaths",
    "cleared",
    "recycled",
    "clearing-killed",
    "clearing-stuck",
    "unbind",
    "two-gpus",
    "openings",
    "isolated",
    "leftovers",
    "peeks",
    "live",
    "shown",
    "copies",
    "examples",
    "sharing",
    "faults",
    "overflowed",
    "why",
    "commands",
    "debugged",
    "debugged-in-order",
    "faults-before-errors",
    "copy-fault",
    "given-up",
    "raced",
    "raced-by-reset",
    "raced-by-debugger",
    "kept-queue",
    "kept-queue-changed",
    "gpu-reset",
    "reset-whole-cold",
    "reset-whole-mes",
    "dead-device",
    "pulled-out",
    "lost",
    "lost-one",
    "found-early",
    "probe-fails-late",
    "sleep",
    "sensors",
    "sensors-navi48",
    "cold-start",
    "cold-start-navi48",
    "other-secure-os",
    "untold",
    "handed-over",
    "started-by-rkfd",
    "started-by-rkfd-navi48",
    "queues",
    "masks",
    "hive",
    "enqueues",
    "wave-sync",
    "neighbours",
    "displaced",
    "displaced-hung",
    "immovable",
    "stages",
    "hang-hws",
    "hang-mes",
    "mes-log",
    "mes-old",
    "mes-older",
    "mes-kernel-pipe",
    "hang",
    "mes-refuse-add",
    "mes-refuse-remove",
    "no-fence",
    "mes-no-fence",
    "hang-copies",
    "hang-copies-mes",
    "kernel-ring",
    "kernel-ring-stuck",
    "capture",
    "traced",
    "sweep-short",
    "conformance",
];

/// A place of the module that does one thing less.
#[derive(Debug)]
struct Mutant {
    number: usize,
    rule: String,
    file: String,
    line: String,
    text: String,
    /// Why no test can notice it.
    equivalent: Option<String>,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            rule,
            file,
            line,
            text,
            ..
        } = self;
        write!(f, "{number} {rule} {file}:{line} `{text}`")
    }
}

/// The places that a scenario comes to, by the numbers of their mutants.
#[derive(Clone, Default)]
struct Places {
    /// All.
    come_to: BTreeSet<usize>,
    /// Those where the mutant makes a difference: a value that isn't 0, a condition that holds.
    met: BTreeSet<usize>,
    /// Those of statements that failed, which ended their function.
    failed: BTreeSet<usize>,
}

/// A scenario on a chip, as it is without a mutant.
struct Base<'a> {
    host: Host,
    scenario: &'a Scenario,
    took: Duration,
    places: Places,
}

/// Which mutants run, and where.
#[derive(clap::Args)]
pub struct Wanted {
    /// Parts of files or texts; all mutants with one are run, in place of a sample.
    filter: Vec<String>,
    /// What the planter listed.
    #[arg(long, env = "RKFD_MUTANTS")]
    list: PathBuf,
    /// Those that no test can notice.
    #[arg(long, default_value = "tests/mutants/equivalent.txt")]
    equivalents: PathBuf,
    /// How many are drawn.
    #[arg(long, default_value_t = 160)]
    sample: usize,
    /// What decides which ones are drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run only the mutants with these numbers (the planter's), each in every scenario of `--in`.
    #[arg(
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        requires = "scenarios"
    )]
    only: Vec<usize>,
    /// The scenarios of `--only`.
    #[arg(
        long = "in",
        value_name = "SCENARIOS",
        value_delimiter = ',',
        requires = "only"
    )]
    scenarios: Vec<String>,
}

/// Runs a sample of the mutants that some scenario meets, or those that are `wanted`; returns whether enough were
/// caught.
///
/// # Errors
/// The lists can't be read, a scenario fails without a mutant, or one is asked for that isn't there.
pub fn run(
    host: &Host,
    (chips, accel, jobs): (&'static [Chip], Accel, NonZeroUsize),
    suite: &[Scenario],
    wanted: &Wanted,
) -> Result<bool> {
    let Wanted {
        filter,
        sample,
        seed,
        ..
    } = wanted;
    let mut mutants = read(&wanted.list, &wanted.equivalents)?;
    if !wanted.only.is_empty() {
        mutants.retain(|m| wanted.only.contains(&m.number));
        ensure!(
            mutants.len() == wanted.only.len(),
            "no mutant has such a number"
        );
        return judge::in_these(host, (chips, accel), suite, (&mutants, &wanted.scenarios));
    }
    let notes = Notes::of(host)?;
    let bases = bases(host, (chips, accel, jobs), suite, &notes)?;
    let planted = mutants.len();
    let mut of_file: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for mutant in &mutants {
        let all = of_file.entry(mutant.file.clone()).or_default();
        all.push(mutant.number);
    }
    let are_met = |m: &Mutant| bases.iter().any(|base| base.places.met.contains(&m.number));
    // Whether a condition that never holds could go is for its mutant to tell. A value that is 0 anyway tells nothing.
    let never_holds = |m: &Mutant| {
        let comes = |base: &Base<'_>| base.places.come_to.contains(&m.number);
        m.rule == "guard" && !are_met(m) && bases.iter().any(comes)
    };
    mutants.retain(|m| are_met(m) || never_holds(m));
    println!(
        "{planted} mutants are planted; the scenarios come to {} of them",
        mutants.len()
    );
    mutants.retain(|m| {
        filter.is_empty()
            || filter
                .iter()
                .any(|f| m.file.contains(f) || m.text.contains(f))
    });
    // By what they are, not by where they stand: a line more above changes no draw.
    mutants.sort_by_key(|m| {
        let mut hash = DefaultHasher::new();
        (seed, &m.file, &m.text).hash(&mut hash);
        (hash.finish(), m.number)
    });
    if filter.is_empty() {
        mutants.truncate(*sample);
    }
    let verdicts = each(&mutants, jobs, |mutant| {
        let of_file = of_file.get(&mutant.file).map_or(&[][..], Vec::as_slice);
        let (word, how) = match &mutant.equivalent {
            Some(why) => ("equivalent", why.clone()),
            None if never_holds(mutant) => {
                ("missed", String::from("the condition holds in no scenario"))
            }
            None => match notes.verdict(mutant.number) {
                Some(Some(how)) => ("caught", how),
                Some(None) => ("missed", String::from("no scenario notices it")),
                None => match judge::judge(&bases, accel, mutant, of_file) {
                    Ok(how) => {
                        notes.judged(mutant.number, how.as_deref());
                        match how {
                            Some(how) => ("caught", how),
                            None => ("missed", String::from("no scenario notices it")),
                        }
                    }
                    Err(e) => ("caught", format!("it could not be started: {e:#}")),
                },
            },
        };
        println!("{word:10} {mutant}: {how}");
        word
    });
    let count = |word| verdicts.iter().filter(|v| **v == word).count();
    let (caught, missed) = (count("caught"), count("missed"));
    let percent = (caught * 100).checked_div(caught + missed).unwrap_or(0);
    println!(
        "{} mutants: {caught} caught, {missed} missed, {} equivalent: {percent} %, aim {AIM} %",
        verdicts.len(),
        count("equivalent")
    );
    Ok(percent >= AIM)
}

/// The mutants, with what is known of them.
fn read(list: &Path, equivalents: &Path) -> Result<Vec<Mutant>> {
    let known =
        fs::read_to_string(equivalents).with_context(|| equivalents.display().to_string())?;
    let known: Vec<[&str; 3]> = known
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let mut parts = line.splitn(3, '\t');
            let parts = [parts.next(), parts.next(), parts.next()];
            let [Some(file), Some(text), Some(why)] = parts else {
                anyhow::bail!("{}: not three parts: {line}", equivalents.display());
            };
            Ok([file, text, why])
        })
        .collect::<Result<_>>()?;
    let text = fs::read_to_string(list).with_context(|| list.display().to_string())?;
    let mut used = BTreeSet::new();
    let mutants = text
        .lines()
        .map(|line| {
            let mut parts = line.split('\t').map(str::to_owned);
            let mut next = || {
                parts
                    .next()
                    .with_context(|| format!("a broken line: {line}"))
            };
            let number = next()?.parse()?;
            let (rule, file, line, text) = (next()?, next()?, next()?, next()?);
            let same = |k: &[&str; 3]| k[0] == file && text.contains(k[1]);
            let at = known.iter().position(same);
            used.extend(at);
            let equivalent = at.and_then(|at| known.get(at)).map(|k| k[2].to_owned());
            Ok(Mutant {
                number,
                rule,
                file,
                line,
                text,
                equivalent,
            })
        })
        .collect::<Result<_>>()?;
    // A line that names nothing is wrong, or was left behind.
    for (at, k) in known.iter().enumerate() {
        ensure!(used.contains(&at), "no mutant is {}: {}", k[0], k[1]);
    }
    Ok(mutants)
}

/// Calls `f` with each, so many at a time: the results, in order.
pub(crate) fn each<T: Sync, R: Send>(
    all: &[T],
    jobs: NonZeroUsize,
    f: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs.get() {
            scope.spawn(|| loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(one) = all.get(at) else { break };
                let result = f(one);
                done.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((at, result));
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The scenario with parameters of the module, under a name of its own; a step may take as long as `limit`.
pub(crate) fn with(
    scenario: &Scenario,
    name: &str,
    parameters: &[String],
    limit: Option<Duration>,
) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.shares = false;
    for step in &mut scenario.plan {
        match step {
            Step::Insmod { path, params } if path == crate::scenarios::MODULE => {
                params.extend_from_slice(parameters);
            }
            Step::Run { timeout, .. } => *timeout = (*timeout).min(limit.unwrap_or(*timeout)),
            _ => {}
        }
    }
    if let Some(limit) = limit {
        scenario.timeout = scenario.timeout.min(limit * 2);
    }
    // Runs of two mutants side by side don't meet.
    scenario.name = Box::leak(format!("{}-{name}", scenario.name).into_boxed_str());
    scenario
}

/// Runs each scenario without a mutant: what it meets, and how long it takes.
fn bases<'a>(
    host: &Host,
    (chips, accel, jobs): (&'static [Chip], Accel, NonZeroUsize),
    suite: &'a [Scenario],
    notes: &Notes,
) -> Result<Vec<Base<'a>>> {
    let wanted = SCENARIOS.iter().map(|name| {
        let found = suite.iter().find(|s| s.name == *name);
        found.with_context(|| format!("no scenario is {name}"))
    });
    let wanted = wanted.collect::<Result<Vec<_>>>()?;
    let pairs: Vec<_> = wanted
        .into_iter()
        .flat_map(|scenario| chips.iter().map(move |chip| (scenario, host.with(chip))))
        .filter(|(scenario, host)| scenario.runs_on(host.chip, chips.len() == 1))
        .collect();
    let bases = each(&pairs, jobs, |(scenario, host)| {
        if let Some((took, places)) = notes.base(scenario.name, host.chip.name) {
            let host = host.clone();
            return Ok(Base {
                host,
                scenario,
                took,
                places,
            });
        }
        let run = with(scenario, REPORT, &[REPORT.into()], None);
        let outcome = run::run(host, accel, &run, Show::Nothing, &mut |_| {})?;
        let verdict = outcome.judge(&run);
        let of = format!("{} on {}", scenario.name, host.chip);
        ensure!(
            verdict.failed == 0,
            "{of} fails without a mutant: {:?}",
            verdict.reasons
        );
        let log = fs::read_to_string(outcome.logs.join("log"))?;
        let places = Places {
            come_to: numbers(&log, "mutants come to "),
            met: numbers(&log, "mutants met "),
            failed: numbers(&log, "mutants failed "),
        };
        ensure!(!places.met.is_empty(), "{of} meets no mutant");
        println!(
            "{of}: {:.1} s, meets {}",
            outcome.took.as_secs_f32(),
            places.met.len()
        );
        let took = outcome.took;
        notes.ran(scenario.name, host.chip.name, took, &places);
        Ok(Base {
            host: host.clone(),
            scenario,
            took,
            places,
        })
    });
    bases.into_iter().collect()
}

/// The numbers that the module reports, in lines `KEY WORD BITS`.
fn numbers(log: &str, key: &str) -> BTreeSet<usize> {
    let of_line = |line: &str| {
        let mut words = line.split_once(key)?.1.split_whitespace();
        let at: usize = words.next()?.parse().ok()?;
        let bits = u32::from_str_radix(words.next()?, 16).ok()?;
        let set = (0..32).filter(move |bit| (bits >> bit) & 1 != 0);
        Some(set.map(move |bit| at * 32 + bit))
    };
    log.lines().filter_map(of_line).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scenario_is_one_of_the_suite() {
        let suite = crate::scenarios::all();
        let lacks = |name: &&&str| !suite.iter().any(|s| s.name == **name);
        assert_eq!(SCENARIOS.iter().find(lacks), None);
    }

    #[test]
    fn a_report_names_the_places() {
        let log =
            "k [ 1.0] rkfd: mutants come to 1 1\nk [ 1.0] rkfd: mutants met 2 80000001\nk more";
        assert_eq!(numbers(log, "mutants met "), [64, 95].into());
        assert_eq!(numbers(log, "mutants come to "), [32].into());
    }

    #[test]
    fn all_are_done_in_order() {
        let jobs = NonZeroUsize::new(3).unwrap();
        assert_eq!(each(&[1, 2, 3, 4, 5], jobs, |n| n * n), [1, 4, 9, 16, 25]);
    }
}
