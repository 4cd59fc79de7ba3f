// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-vm omissions`: what the emulated GPU says of a driver that leaves out what silicon needs.
//!
//! A table names such drivers, each by the places that it leaves out, and what the device has to report. They
//! are the module with mutants, of which several are chosen at once. Each runs the demo, or a scenario in which what it
//! leaves out matters, which must fail; so must the demo of the driver which leaves out all of it.

use crate::chip::Chip;
use crate::demo::Story;
use crate::host::Host;
use crate::mutants::{each, with};
use crate::qemu::Accel;
use crate::run::{self, Show};
use crate::scenario::Scenario;
use crate::scenarios;
use anyhow::{bail, ensure, Context, Result};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

/// So many places can be left out at once: the first, and those of the planter's further parameters.
const MOST: usize = 81;

/// A driver that leaves something out.
#[derive(Default, PartialEq, Eq, Debug)]
struct Omission {
    name: String,
    /// In place of the demo.
    scenario: Option<String>,
    /// Numbers of mutants.
    places: Vec<usize>,
    /// Chips, and what the device has to report there.
    reports: Vec<(String, String)>,
}

/// What came of one.
enum End {
    /// What the device said.
    Named(Vec<String>),
    Unnamed(String),
}

/// Runs the demo with each driver of `table`, or those with one of `filter` in their names, and with one that leaves
/// out all of it; returns whether the device names all that it has to. `list` is the planter's.
///
/// # Errors
/// The lists can't be read, or a machine can't be started.
pub fn run(
    host: &Host,
    (chips, accel, jobs): (&'static [Chip], Accel, NonZeroUsize),
    (list, table): (&Path, &Path),
    (suite, filter): (&[Scenario], &[String]),
) -> Result<bool> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| path.display().to_string());
    let mut omissions = parse(&read(table)?, &read(list)?)?;
    omissions.push(all(&omissions, chips));
    for Omission { name, places, .. } in &omissions {
        ensure!(places.len() <= MOST, "{name} has more than {MOST} places");
    }
    omissions.retain(|o| filter.is_empty() || filter.iter().any(|f| o.name.contains(f.as_str())));
    let runs: Vec<_> = omissions
        .iter()
        .flat_map(|omission| chips.iter().map(move |chip| (omission, chip)))
        .filter(|(omission, chip)| omission.reports.iter().any(|(on, _)| on == chip.name))
        .collect();
    let ends = each(&runs, jobs, |(omission, chip)| {
        let end = one(&host.with(chip), accel, suite, omission)?;
        let name = &omission.name;
        match &end {
            End::Named(reports) => println!("ok   {name} on {chip}: {}", reports.join("; ")),
            End::Unnamed(why) => println!("FAIL {name} on {chip}: {why}"),
        }
        Ok(matches!(end, End::Named(_)))
    });
    let ends = ends.into_iter().collect::<Result<Vec<bool>>>()?;
    let passed = ends.iter().filter(|good| **good).count();
    println!("{passed} passed, {} failed", ends.len() - passed);
    Ok(passed == ends.len() && passed > 0)
}

/// The driver that leaves out all of it. It doesn't come far, so that the device need not name each.
fn all(omissions: &[Omission], chips: &[Chip]) -> Omission {
    let mut places: Vec<usize> = omissions.iter().flat_map(|o| &o.places).copied().collect();
    places.sort_unstable();
    places.dedup();
    Omission {
        name: "everything".into(),
        scenario: None,
        places,
        reports: (chips.iter())
            .map(|chip| (chip.name.to_owned(), "violation".to_owned()))
            .collect(),
    }
}

/// Runs the demo, or a driver's own scenario, with a driver.
fn one(host: &Host, accel: Accel, suite: &[Scenario], omission: &Omission) -> Result<End> {
    let names = std::iter::once("mutant".to_owned()).chain((0..).map(|n| format!("also_{n}")));
    let places = names.zip(&omission.places);
    let parameters: Vec<String> = places.map(|(name, n)| format!("{name}={n}")).collect();
    let scenario = match &omission.scenario {
        None => scenarios::demo(),
        Some(name) => (suite.iter().find(|s| s.name == name))
            .with_context(|| format!("no scenario is {name}"))?
            .clone(),
    };
    let scenario = with(&scenario, &omission.name, &parameters, None);
    let outcome = run::run(host, accel, &scenario, Show::Nothing, &mut |_| {})?;
    let verdict = outcome.judge(&scenario);
    let story = || Story::of(&outcome).is_ok_and(|story| story.differences().is_empty());
    let passes = verdict.failed == 0 && (omission.scenario.is_some() || story());
    let _ = fs::remove_dir_all(&outcome.logs);
    if passes {
        return Ok(End::Unnamed(format!("{} passes", scenario.name)));
    }
    // By the device: what fails in the guest names no cause.
    let said: Vec<&str> = (verdict.reasons.iter())
        .flat_map(|reason| reason.lines())
        .filter_map(|line| line.split_once("emulator: ").map(|(_, said)| said))
        .collect();
    let wanted = omission
        .reports
        .iter()
        .filter(|(on, _)| on == host.chip.name);
    let mut named = Vec::new();
    for (_, report) in wanted {
        match said.iter().find(|said| said.contains(report.as_str())) {
            Some(line) => named.push((*line).to_owned()),
            None => {
                let said = said.join("\n     ");
                return Ok(End::Unnamed(format!(
                    "the device doesn't say '{report}':\n     {said}"
                )));
            }
        }
    }
    Ok(End::Named(named))
}

/// Reads the table. A block is a name, a line `@ SCENARIO` if it isn't the demo, lines `- FILE TEXT` of places, each of
/// which is in the planter's list, and lines `? CHIP REPORT`.
fn parse(table: &str, list: &str) -> Result<Vec<Omission>> {
    let mut all: Vec<Omission> = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (kind, rest) = line.split_at_checked(2).unwrap_or((line, ""));
        match (kind, all.last_mut()) {
            ("", _) => {}
            ("@ ", Some(omission)) => omission.scenario = Some(rest.into()),
            ("- ", Some(omission)) => omission.places.extend(places(rest, list)?),
            ("? ", Some(omission)) => {
                let (chip, report) = rest.split_once(' ').with_context(|| line.to_owned())?;
                omission.reports.push((chip.into(), report.into()));
            }
            ("@ " | "- " | "? ", None) => bail!("no name before: {line}"),
            _ => all.push(Omission {
                name: line.into(),
                ..Omission::default()
            }),
        }
    }
    for Omission {
        name,
        places,
        reports,
        ..
    } in &all
    {
        ensure!(
            !places.is_empty() && !reports.is_empty(),
            "{name} lacks something"
        );
    }
    Ok(all)
}

/// The numbers of the mutants that a line `FILE TEXT` names.
fn places(line: &str, list: &str) -> Result<Vec<usize>> {
    let (file, text) = line.split_once(' ').with_context(|| line.to_owned())?;
    let found: Vec<usize> = list
        .lines()
        .filter_map(|mutant| {
            let parts: Vec<&str> = mutant.split('\t').collect();
            let [number, _, of, _, what, ..] = parts[..] else {
                return None;
            };
            (of == file && what.contains(text)).then(|| number.parse().ok())?
        })
        .collect();
    ensure!(!found.is_empty(), "no mutant is {line}");
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "7\tfield\trust/a.rs\t1\tf: .with(A, 1)\t1\n\
                        8\tstatement\trust/a.rs\t2\tg: flush();\t1\n\
                        9\tstatement\trust/b.rs\t2\tg: flush();\t1\n";

    #[test]
    fn a_block_names_places_and_reports() {
        let table = "#\n# About it.\n\nno-flush\n@ used\n- rust/a.rs g: flush\n- rust/b.rs flush();\n? navi48 it is stale\n";
        let omission = Omission {
            name: "no-flush".into(),
            scenario: Some("used".into()),
            places: vec![8, 9],
            reports: vec![("navi48".into(), "it is stale".into())],
        };
        assert_eq!(parse(table, LIST).unwrap(), [omission]);
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for bad in [
            "a\n- rust/c.rs flush\n? navi48 x\n",
            "a\n? navi48 x\n",
            "- rust/a.rs g\n",
        ] {
            assert!(parse(bad, LIST).is_err(), "{bad}");
        }
    }
}
