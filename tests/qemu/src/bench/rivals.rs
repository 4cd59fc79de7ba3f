// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `costs` of `tests/programs` printed with one driver after the other in the same machine: ours, Linux's own, and
//! Linux's own loaded anew, which shows how far two runs of one driver differ.

use serde_json::{json, Map, Value};

/// What requests cost with a driver, in the order in which they were measured.
#[derive(Debug, Default, PartialEq)]
struct Run {
    driver: String,
    /// A request's name, and how many times the floor.
    costs: Vec<(String, f64)>,
}

/// All runs, in order.
#[derive(Debug, Default)]
pub struct Rivals(Vec<Run>);

impl Rivals {
    /// Reads lines `driver NAME`, and the lines `cost NAME ...` and `point CURVE NUMBER ...` that follow; others are
    /// left out. What is measured a second time is of a driver that was loaded anew. All must have measured the same.
    pub fn of(output: &[String]) -> Result<Self, String> {
        let mut runs: Vec<Run> = Vec::new();
        for line in output {
            if let Some(driver) = line.strip_prefix("driver ") {
                if runs.last().is_none_or(|run| run.driver != driver) {
                    let driver = driver.to_owned();
                    let costs = Vec::new();
                    runs.push(Run { driver, costs });
                }
            } else if let Some(cost) = cost(line)? {
                let run = runs.last();
                let run = run.ok_or_else(|| format!("'{line}' is of no driver"))?;
                // The driver was loaded anew.
                if run.costs.iter().any(|(name, _)| *name == cost.0) {
                    let driver = run.driver.clone();
                    let costs = Vec::new();
                    runs.push(Run { driver, costs });
                }
                if let Some(run) = runs.last_mut() {
                    run.costs.push(cost);
                }
            }
        }
        let names = |run: &Run| -> Vec<String> {
            let names = run.costs.iter().map(|(name, _)| name.clone());
            names.collect()
        };
        let Some((first, others)) = runs.split_first() else {
            return Err("no driver was measured".into());
        };
        if first.costs.is_empty() {
            return Err(format!("nothing was measured with {}", first.driver));
        }
        match others.iter().find(|run| names(run) != names(first)) {
            Some(other) => Err(format!(
                "{} measured other requests than {}",
                other.driver, first.driver
            )),
            None => Ok(Self(runs)),
        }
    }

    /// Everything, for `tests/bench/rivals.py`.
    pub fn json(&self, chip: &str, accel: &str) -> Value {
        let runs = self.0.iter().map(|run| {
            let costs = run.costs.iter();
            let costs: Map<String, Value> = costs.map(|(k, v)| (k.clone(), json!(v))).collect();
            json!({ "driver": run.driver, "costs": costs })
        });
        json!({ "chip": chip, "accel": accel, "runs": runs.collect::<Vec<_>>() })
    }
}

/// A request's name and how many times the floor it costs, if the line is of one.
fn cost(line: &str) -> Result<Option<(String, f64)>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let name = match words.as_slice() {
        ["cost", name, ..] => (*name).to_owned(),
        ["point", curve, n, ..] => format!("{curve} {n}"),
        _ => return Ok(None),
    };
    let ratio = words.iter().find_map(|word| word.strip_prefix("ratio="));
    let ratio = ratio.and_then(|ratio| ratio.parse::<f64>().ok());
    match ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0) {
        Some(ratio) => Ok(Some((name, ratio))),
        None => Err(format!("'{line}' has no ratio")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Result<Rivals, String> {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        Rivals::of(&lines)
    }

    #[test]
    fn each_driver_has_its_costs() {
        let lines = [
            "driver amdgpu",
            "cost GET_VERSION ratio=1.500 floor=80 samples=7 calls=2",
            "something else",
            "driver amdgpu",
            "point dispatch/processes 8 ratio=9.0 floor=80 samples=7 calls=1",
            "driver rkfd",
            "cost GET_VERSION ratio=1.250 floor=80 samples=7 calls=2",
            "point dispatch/processes 8 ratio=8.0 floor=80 samples=7 calls=1",
        ];
        let json = of(&lines).unwrap().json("navi48", "tcg");
        assert_eq!(json["runs"].as_array().unwrap().len(), 2);
        assert_eq!(json["runs"][0]["costs"]["dispatch/processes 8"], 9.0);
        assert_eq!(json["runs"][1]["costs"]["GET_VERSION"], 1.25);
        let again = [&lines[..], &lines[5..]].concat();
        assert_eq!(of(&again).unwrap().0.len(), 3);
        // The last one of a driver is missing.
        assert!(of(&lines[..7]).is_err() && of(&again[..10]).is_err());
        assert!(of(&lines[1..]).is_err() && of(&[]).is_err() && of(&lines[..1]).is_err());
        assert!(of(&["driver amdgpu", "cost GET_VERSION ratio=0"]).is_err());
    }
}
