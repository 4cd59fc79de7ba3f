// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-vm mutants`: which faults of the module the scenarios notice.
//!
//! `tests/mutants` builds one module with all mutants; its parameter `mutant` chooses one. First each
//! scenario runs with none chosen, and the module reports which places it met. Then each mutant of
//! a sample runs in the shortest scenario that meets it, and, while none notices it, in the next
//! ones, up to a dozen, and in those that look at nearly everything. A mutant is caught if its scenario is found bad.
//! A table beside the planter names mutants that no test can notice, each with its reason. What was found out is noted ([`Notes`]), so that the next run with the
//! same builds goes on there.

use crate::chip::Chip;
use crate::host::Host;
use crate::mutants::notes::Notes;
use crate::plan::Step;
use crate::qemu::Accel;
use crate::run::{self, Show};
use crate::scenario::Scenario;
use anyhow::{ensure, Context, Result};
use std::collections::hash_map::DefaultHasher;
use std::collections::BTreeSet;
use std::fs;
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

mod notes;

/// The parameter's value that chooses no mutant and reports the places.
const REPORT: &str = "mutant=4294967295";
/// At least so many percent of the mutants that a test can notice must be caught.
const AIM: usize = 95;
/// A mutant that so many scenarios, and those of [`WIDE`], have not noticed is missed.
const MOST: usize = 12;
/// Scenarios that look at nearly all that the driver does, and take long. They come behind the others.
const WIDE: [&str; 4] = ["cold-start", "cold-start-navi48", "traced", "conformance"];
/// The scenarios, by what they are about. In `typed` the module is loaded without parameters, so no mutant is on there.
const SCENARIOS: [&str; 60] = [
    "vectoradd",
    "used",
    "bad-discovery-signature",
    "bad-discovery-version",
    "unknown-gc",
    "hang-queue",
    "wedge-queue",
    "hang-unbound",
    "preempted",
    "process-death",
    "deaths",
    "cleared",
    "recycled",
    "clearing-killed",
    "unbind",
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
    "why",
    "debugged",
    "debugged-in-order",
    "copy-fault",
    "given-up",
    "kept-queue",
    "kept-queue-changed",
    "gpu-reset",
    "reset-whole-cold",
    "reset-whole-mes",
    "dead-device",
    "pulled-out",
    "sleep",
    "sensors",
    "sensors-navi48",
    "cold-start",
    "cold-start-navi48",
    "queues",
    "masks",
    "enqueues",
    "wave-sync",
    "neighbours",
    "displaced",
    "stages",
    "hang-hws",
    "hang-mes",
    "mes-refuse-add",
    "mes-refuse-remove",
    "no-fence",
    "mes-no-fence",
    "hang-copies",
    "kernel-ring",
    "capture",
    "traced",
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

/// A scenario on a chip, as it is without a mutant.
struct Base<'a> {
    host: Host,
    scenario: &'a Scenario,
    took: Duration,
    met: BTreeSet<usize>,
}

/// Runs `sample` mutants of `list` that some scenario meets, drawn by `seed`, or those whose file or text
/// has one of `filter`; returns whether enough were caught.
///
/// # Errors
/// The lists can't be read, or a scenario fails without a mutant.
pub fn run(
    host: &Host,
    (chips, accel, jobs): (&'static [Chip], Accel, NonZeroUsize),
    (list, equivalents): (&Path, &Path),
    suite: &[Scenario],
    (sample, seed, filter): (usize, u64, &[String]),
) -> Result<bool> {
    let mut mutants = read(list, equivalents)?;
    let notes = Notes::of(host)?;
    let bases = bases(host, (chips, accel, jobs), suite, &notes)?;
    let planted = mutants.len();
    mutants.retain(|m| bases.iter().any(|base| base.met.contains(&m.number)));
    println!(
        "{planted} mutants are planted; the scenarios meet {} of them",
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
        mutants.truncate(sample);
    }
    let verdicts = each(&mutants, jobs, |mutant| {
        let (word, how) = match &mutant.equivalent {
            Some(why) => ("equivalent", why.clone()),
            None => match notes.verdict(mutant.number) {
                Some(Some(how)) => ("caught", how),
                Some(None) => ("missed", String::from("no scenario notices it")),
                None => match judge(&bases, accel, mutant) {
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
        let Mutant {
            number,
            rule,
            file,
            line,
            text,
            ..
        } = mutant;
        println!("{word:10} {number} {rule} {file}:{line} `{text}`: {how}");
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
        if let Some((took, met)) = notes.base(scenario.name, host.chip.name) {
            let host = host.clone();
            return Ok(Base {
                host,
                scenario,
                took,
                met,
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
        let met: BTreeSet<usize> = log.lines().flat_map(met).collect();
        ensure!(!met.is_empty(), "{of} meets no mutant");
        println!(
            "{of}: {:.1} s, meets {}",
            outcome.took.as_secs_f32(),
            met.len()
        );
        let took = outcome.took;
        notes.ran(scenario.name, host.chip.name, took, &met);
        Ok(Base {
            host: host.clone(),
            scenario,
            took,
            met,
        })
    });
    bases.into_iter().collect()
}

/// The numbers in a line of the module's report: `mutants met WORD BITS`.
fn met(line: &str) -> Vec<usize> {
    let parse = || {
        let mut words = line.split_once("mutants met ")?.1.split_whitespace();
        let at: usize = words.next()?.parse().ok()?;
        let bits = u32::from_str_radix(words.next()?, 16).ok()?;
        let set = (0..32).filter(move |bit| (bits >> bit) & 1 != 0);
        Some(set.map(|bit| at * 32 + bit).collect())
    };
    parse().unwrap_or_default()
}

/// Which scenario notices a mutant, and by what; `None`: none of those that meet it.
fn judge(bases: &[Base<'_>], accel: Accel, mutant: &Mutant) -> Result<Option<String>> {
    // Each scenario on one of the chips on which it meets the place, in turns: what one chip lacks, another may have.
    let mut meet = Vec::new();
    for name in SCENARIOS {
        let of = |base: &&Base<'_>| base.scenario.name == name && base.met.contains(&mutant.number);
        let on: Vec<_> = bases.iter().filter(of).collect();
        let turn = mutant.number + meet.len();
        let at = turn.checked_rem(on.len()).unwrap_or(0);
        meet.extend(on.get(at).copied());
    }
    meet.sort_by_key(|base| base.took);
    let is_wide = |base: &&Base<'_>| WIDE.contains(&base.scenario.name);
    let (wide, short): (Vec<&Base<'_>>, Vec<_>) = meet.into_iter().partition(is_wide);
    for base in short.into_iter().take(MOST).chain(wide) {
        // Far more than it takes without a mutant, so that a busy host catches nothing.
        let limit = (base.took * 3 + Duration::from_secs(20)) / base.host.slow.max(1);
        let parameter = format!("mutant={}", mutant.number);
        let run = with(
            base.scenario,
            &parameter,
            std::slice::from_ref(&parameter),
            Some(limit),
        );
        let outcome = run::run(&base.host, accel, &run, Show::Nothing, &mut |_| {})?;
        let verdict = outcome.judge(&run);
        let _ = fs::remove_dir_all(&outcome.logs);
        if verdict.failed > 0 {
            let why = verdict.reasons.first().map_or("", |why| why.as_str());
            let why = why.lines().next().unwrap_or_default();
            return Ok(Some(format!(
                "{} on {}: {why}",
                base.scenario.name, base.host.chip
            )));
        }
    }
    Ok(None)
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
        assert_eq!(met("k [ 1.0] rkfd: mutants met 2 80000001"), [64, 95]);
        assert!(met("k [ 1.0] rkfd: something else").is_empty());
    }

    #[test]
    fn all_are_done_in_order() {
        let jobs = NonZeroUsize::new(3).unwrap();
        assert_eq!(each(&[1, 2, 3, 4, 5], jobs, |n| n * n), [1, 4, 9, 16, 25]);
    }
}
