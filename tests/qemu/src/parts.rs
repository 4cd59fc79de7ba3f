// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is seen of a machine, sorted by the scenarios that it runs: outcomes, logs, deadlines.

use crate::boot::{self, Boot};
use crate::host::{Host, RunDir};
use crate::protocol::Line;
use crate::scenario::Scenario;
use crate::verdict::Outcome;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The files of a machine that each of its scenarios keeps.
const COMMON: [&str; 3] = ["report", "emulator.log", "qemu.log"];

/// The scenarios of a machine, as far as they have begun.
pub struct Parts<'a> {
    host: &'a Host,
    boot: &'a Boot<'a>,
    dir: &'a RunDir,
    begun: Vec<Part<'a>>,
    /// The first begins with the machine; this is whether process 1 has named it.
    named: bool,
}

struct Part<'a> {
    scenario: &'a Scenario,
    outcome: Outcome,
    log: BufWriter<File>,
    begin: Instant,
}

impl<'a> Parts<'a> {
    /// The first scenario begins with the machine.
    pub fn new(host: &'a Host, boot: &'a Boot<'a>, dir: &'a RunDir) -> Result<Self> {
        let mut parts = Parts {
            host,
            boot,
            dir,
            begun: Vec::new(),
            named: false,
        };
        parts.begin()?;
        Ok(parts)
    }

    /// When the scenario that runs is given up.
    pub fn deadline(&self) -> Instant {
        let last = self.begun.last();
        let end = last.map(|part| part.begin + self.patience(part));
        end.unwrap_or_else(Instant::now)
    }

    /// A line of the kernel's console.
    pub fn console(&mut self, line: &str) -> Result<()> {
        if let Some(part) = self.begun.last_mut() {
            writeln!(part.log, "k {line}")?;
            part.outcome.console(line);
        }
        Ok(())
    }

    /// A line of the second serial port: whether a scenario begins with it.
    pub fn guest(&mut self, line: &str) -> Result<bool> {
        let begins = match Line::parse(line) {
            Some(Ok(Line::Scenario(name))) => self.next(&name)?,
            _ => false,
        };
        if let Some(part) = self.begun.last_mut() {
            writeln!(part.log, "  {line}")?;
            part.outcome.guest(line);
        }
        Ok(begins)
    }

    /// The scenario that runs did not come to its end in time.
    pub fn gave_up(&mut self) {
        let patience = self.begun.last().map(|part| self.patience(part));
        let seconds = patience.unwrap_or_default().as_secs();
        self.wrong(format!("run: no end after {seconds} s, given up"));
    }

    /// Something is wrong with the scenario that runs.
    pub fn wrong(&mut self, why: String) {
        if let Some(part) = self.begun.last_mut() {
            part.outcome.wrong.push(why);
        }
    }

    /// Something is wrong with the machine, and it is not known with which of its scenarios.
    pub fn wrong_of_all(&mut self, why: &str) {
        let names: Vec<&str> = self.begun.iter().map(|part| part.scenario.name).collect();
        let shared = match names.len() {
            1 => String::new(),
            _ => format!(" (in the machine of {})", names.join(", ")),
        };
        for part in &mut self.begun {
            part.outcome.wrong.push(format!("{why}{shared}"));
        }
    }

    /// The machine is gone: looks at each scenario and keeps its logs.
    pub fn finish(mut self) -> Result<Vec<Outcome>> {
        let trace = self.dir.file("trace.jsonl");
        let ends: Vec<Instant> = self.begun.iter().skip(1).map(|part| part.begin).collect();
        let mut outcomes = Vec::new();
        for (n, mut part) in std::mem::take(&mut self.begun).into_iter().enumerate() {
            part.log.flush()?;
            let end = ends.get(n).copied().unwrap_or_else(Instant::now);
            part.outcome.took = end - part.begin;
            let logs = self.logs(part.scenario);
            if part.scenario.shares {
                for name in COMMON {
                    let _ = fs::copy(self.dir.file(name), logs.join(name));
                }
                if trace.is_file() {
                    boot::split_trace(&trace, n, &logs.join("trace.jsonl"))
                        .with_context(|| format!("cannot cut {}", trace.display()))?;
                }
            }
            // Checks may look into the logs.
            part.outcome.logs = logs;
            part.outcome.finish(part.scenario);
            part.outcome.logs = match part.scenario.shares {
                true => self.dir.keep_part(part.scenario.name),
                false => self.dir.keep(part.scenario.name),
            };
            outcomes.push(part.outcome);
        }
        if self.boot.machine.shares {
            self.dir.remove();
        }
        Ok(outcomes)
    }

    /// Process 1 reports that a scenario begins. Returns whether it is not the first.
    fn next(&mut self, name: &str) -> Result<bool> {
        let first = !std::mem::replace(&mut self.named, true);
        if !first {
            self.begin()?;
        }
        let wanted = self.begun.last().map(|part| part.scenario.name);
        if wanted != Some(name) {
            self.wrong(format!(
                "guest: the scenario '{name}' begins, not {wanted:?}"
            ));
        }
        Ok(!first)
    }

    fn begin(&mut self) -> Result<()> {
        let Some(scenario) = self.boot.scenarios.get(self.begun.len()).copied() else {
            self.wrong("guest: it began more scenarios than it has".into());
            return Ok(());
        };
        let logs = self.logs(scenario);
        fs::create_dir_all(&logs)?;
        let mut outcome = Outcome::new(self.host.chip);
        if !self.begun.is_empty() {
            outcome.begin();
        }
        self.begun.push(Part {
            scenario,
            outcome,
            log: BufWriter::new(File::create(logs.join("log"))?),
            begin: Instant::now(),
        });
        Ok(())
    }

    /// Where a scenario's logs are while the machine runs.
    fn logs(&self, scenario: &Scenario) -> PathBuf {
        match scenario.shares {
            true => self.dir.file(scenario.name),
            false => self.dir.0.clone(),
        }
    }

    fn patience(&self, part: &Part<'_>) -> Duration {
        part.scenario.timeout * self.host.slow
    }
}
