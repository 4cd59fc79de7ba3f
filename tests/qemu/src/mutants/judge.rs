// SPDX-License-Identifier: MIT OR Apache-2.0
//! In which scenarios a mutant is tried, and whether one notices it.

use super::{with, Base, Mutant, SCENARIOS};
use crate::chip::Chip;
use crate::host::Host;
use crate::qemu::Accel;
use crate::run::{self, Show};
use crate::scenario::Scenario;
use anyhow::{Context, Result};
use std::cmp::Reverse;
use std::fs;
use std::time::Duration;

/// A mutant that so many scenarios, and those of [`WIDE`], have not noticed is missed.
const MOST: usize = 24;
/// Scenarios that look at nearly all that the driver does, and take long. They come behind the others.
const WIDE: [&str; 6] = [
    "started-by-rkfd",
    "started-by-rkfd-navi48",
    "cold-start",
    "cold-start-navi48",
    "traced",
    "conformance",
];

/// Which scenario notices a mutant, and by what; `None`: none of those that meet it. `of_file`: the
/// mutants of the same file.
pub(super) fn judge(
    bases: &[Base<'_>],
    accel: Accel,
    mutant: &Mutant,
    of_file: &[usize],
) -> Result<Option<String>> {
    // Each scenario on one of the chips on which it meets the place, in turns: what one chip lacks, another may have.
    let meets = |base: &&Base<'_>| base.places.met.contains(&mutant.number);
    let mut meet = Vec::new();
    for name in SCENARIOS {
        let on: Vec<_> = (bases.iter().filter(meets))
            .filter(|base| base.scenario.name == name)
            .collect();
        let turn = mutant.number + meet.len();
        let at = turn.checked_rem(on.len()).unwrap_or(0);
        meet.extend(on.get(at).copied());
    }
    let is_wide = |base: &&Base<'_>| WIDE.contains(&base.scenario.name);
    let (wide, short): (Vec<&Base<'_>>, Vec<_>) = meet.into_iter().partition(is_wide);
    // Where a statement failed there was something to notice.
    let failed = |base: &&Base<'_>| base.places.failed.contains(&mutant.number);
    let (mut telling, short): (Vec<&Base<'_>>, Vec<_>) = short.into_iter().partition(failed);
    telling.sort_by_key(|base| base.took);
    let costs: Vec<_> = short
        .iter()
        .map(|base| {
            let depth = of_file
                .iter()
                .filter(|n| base.places.met.contains(n))
                .count();
            (base.took, depth)
        })
        .collect();
    let short = by_turns(&costs).into_iter().filter_map(|at| short.get(at));
    let short = telling.iter().chain(short).take(MOST);
    let mut order: Vec<&Base<'_>> = short.chain(&wide).copied().collect();
    // What only a chip of another shape shows: units that are fused off differently, one die in the place of four.
    for base in bases.iter().filter(meets) {
        let is_new = !order.iter().any(|known| std::ptr::eq(*known, base));
        if is_new && !base.host.chip.is_usual() {
            order.push(base);
        }
    }
    for base in order {
        // Far more than it takes without a mutant, so that a busy host catches nothing.
        let limit = (base.took * 3 + Duration::from_secs(20)) / base.host.slow.max(1);
        let why = noticed(&base.host, accel, base.scenario, mutant.number, Some(limit))?;
        if let Some(why) = why {
            return Ok(Some(format!(
                "{} on {}: {why}",
                base.scenario.name, base.host.chip
            )));
        }
    }
    Ok(None)
}

/// The order in which scenarios are tried, each given by how long it takes and how much of the mutant's file it
/// meets: by turns the shortest of those that are left, and the one that meets most.
fn by_turns(costs: &[(Duration, usize)]) -> Vec<usize> {
    let mut left: Vec<usize> = (0..costs.len()).collect();
    let cost = |at: &usize| costs.get(*at).copied().unwrap_or_default();
    left.sort_by_key(|at| cost(at).0);
    let mut order = Vec::new();
    while !left.is_empty() {
        let deepest = (left.iter().enumerate()).max_by_key(|(at, one)| (cost(one).1, Reverse(*at)));
        let next = match order.len() % 2 {
            0 => 0,
            _ => deepest.map_or(0, |(at, _)| at),
        };
        order.push(left.remove(next));
    }
    order
}

/// By what the scenario notices the mutant; `None`: it doesn't.
fn noticed(
    host: &Host,
    accel: Accel,
    scenario: &Scenario,
    number: usize,
    limit: Option<Duration>,
) -> Result<Option<String>> {
    let parameter = format!("mutant={number}");
    let parameters = std::slice::from_ref(&parameter);
    let run = with(scenario, &parameter, parameters, limit);
    let outcome = run::run(host, accel, &run, Show::Nothing, &mut |_| {})?;
    let verdict = outcome.judge(&run);
    let _ = fs::remove_dir_all(&outcome.logs);
    if verdict.failed == 0 {
        return Ok(None);
    }
    let why = verdict.reasons.first().map_or("", |why| why.as_str());
    Ok(Some(why.lines().next().unwrap_or_default().to_owned()))
}

/// Runs each mutant in the scenarios of these names and nowhere else, on every chip: for those who write a check.
/// Returns whether each was noticed by one.
///
/// # Errors
/// A name is nobody's, or a machine can't be started.
pub(super) fn in_these(
    host: &Host,
    (chips, accel): (&'static [Chip], Accel),
    suite: &[Scenario],
    (mutants, names): (&[Mutant], &[String]),
) -> Result<bool> {
    let mut all_noticed = true;
    for mutant in mutants {
        println!("{mutant}");
        let mut was_noticed = false;
        for name in names {
            let scenario = suite.iter().find(|s| s.name == *name);
            let scenario = scenario.with_context(|| format!("no scenario is {name}"))?;
            for chip in chips {
                if !scenario.runs_on(chip, chips.len() == 1) {
                    continue;
                }
                let why = noticed(&host.with(chip), accel, scenario, mutant.number, None)?;
                was_noticed |= why.is_some();
                println!(
                    "  {name} on {chip}: {}",
                    why.as_deref().unwrap_or("not noticed")
                );
            }
        }
        all_noticed &= was_noticed;
    }
    Ok(all_noticed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_scenarios_and_deep_ones_take_turns() {
        let costs = [(30, 9), (10, 1), (20, 2), (40, 9)];
        let costs = costs.map(|(took, met)| (Duration::from_secs(took), met));
        assert_eq!(by_turns(&costs), [1, 0, 2, 3]);
    }
}
