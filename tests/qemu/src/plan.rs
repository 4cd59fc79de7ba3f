// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plan: what process 1 of the guest does, one step a line in `/etc/plan`.

use anyhow::{bail, Context, Result};
use std::fmt;
use std::time::Duration;

/// The modules that process 1 loads before the plan, one path a line, as a system has them loaded at boot.
pub const NEEDED: &str = "/etc/modules";

/// One step of a plan. Each but `Shell`, `Meminfo` and `Sleep` reports one test line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "a variant's text explains its fields")]
pub enum Step {
    /// A scenario begins: what was before it is over, and the machine is as after its boot. The device
    /// misbehaves by these rules and no others; `None`: it can't be given any.
    Scenario {
        name: String,
        rules: Option<Vec<String>>,
    },
    /// Load the module in this file with these parameters.
    Insmod { path: String, params: Vec<String> },
    /// Unload a module.
    Rmmod(String),
    /// Run a program; passes if it exits with `status` in time. Its own test lines count too.
    Run {
        name: String,
        timeout: Duration,
        status: i32,
        argv: Vec<String>,
    },
    /// Write a text into a file, such as a sysfs attribute.
    Write { path: String, text: String },
    /// This path must exist.
    Exists(String),
    /// This path must not exist.
    Absent(String),
    /// Report memory figures after dropping caches: free memory under a label, the others under
    /// `LABEL:SUnreclaim` and `LABEL:VmallocUsed`.
    Meminfo(String),
    /// Wait.
    Sleep(Duration),
    /// Have the kernel scan for leaked objects; a module's fail.
    Kmemleak,
    /// An interactive shell on the console, which has so many rows and columns.
    Shell { rows: u16, cols: u16 },
}

impl Step {
    /// `insmod PATH`.
    pub fn insmod(path: &str) -> Self {
        Step::Insmod {
            path: path.into(),
            params: Vec::new(),
        }
    }

    /// `run NAME`: the program must exit with 0 within `seconds`.
    pub fn run(name: &str, seconds: u64, argv: &[&str]) -> Self {
        Self::run_status(name, seconds, 0, argv)
    }

    /// As [`Step::run`], for a program that must exit with another status.
    pub fn run_status(name: &str, seconds: u64, status: i32, argv: &[&str]) -> Self {
        Step::Run {
            name: name.into(),
            timeout: Duration::from_secs(seconds),
            status,
            argv: argv.iter().map(|&a| a.into()).collect(),
        }
    }

    /// A script for the guest's `sh -c`.
    pub fn sh(name: &str, seconds: u64, script: &str) -> Self {
        Self::run(name, seconds, &["/bin/sh", "-c", script])
    }

    /// With its timeout stretched.
    pub fn slower(mut self, factor: u32) -> Self {
        if let Step::Run { timeout, .. } = &mut self {
            *timeout *= factor;
        }
        self
    }

    fn words(&self) -> Vec<String> {
        let mut w: Vec<String> = Vec::new();
        match self {
            Step::Scenario { name, rules } => {
                w.extend(["scenario".into(), name.clone()]);
                if let Some(rules) = rules {
                    w.push("rules".into());
                    w.extend(rules.iter().cloned());
                }
            }
            Step::Insmod { path, params } => {
                w.extend(["insmod".into(), path.clone()]);
                w.extend(params.iter().cloned());
            }
            Step::Rmmod(name) => w.extend(["rmmod".into(), name.clone()]),
            Step::Run {
                name,
                timeout,
                status,
                argv,
            } => {
                let timeout = timeout.as_secs().to_string();
                w.extend(["run".into(), name.clone(), timeout, status.to_string()]);
                w.extend(argv.iter().cloned());
            }
            Step::Write { path, text } => w.extend(["write".into(), path.clone(), text.clone()]),
            Step::Exists(path) => w.extend(["exists".into(), path.clone()]),
            Step::Absent(path) => w.extend(["absent".into(), path.clone()]),
            Step::Meminfo(label) => w.extend(["meminfo".into(), label.clone()]),
            Step::Sleep(time) => w.extend(["sleep".into(), time.as_millis().to_string()]),
            Step::Kmemleak => w.push("kmemleak".into()),
            Step::Shell { rows, cols } => {
                w.extend(["shell".into(), rows.to_string(), cols.to_string()]);
            }
        }
        w
    }

    /// Read one line of a plan.
    pub fn parse(line: &str) -> Result<Self> {
        let words = split(line)?;
        let mut words = words.into_iter();
        let verb = words.next().context("an empty step")?;
        let mut next = |what: &str| words.next().with_context(|| format!("{verb} needs {what}"));
        let step = match verb.as_str() {
            "scenario" => Step::Scenario {
                name: next("a name")?,
                rules: match words.next().as_deref() {
                    None => None,
                    Some("rules") => Some(words.by_ref().collect()),
                    Some(other) => bail!("a scenario has rules, not '{other}'"),
                },
            },
            "insmod" => Step::Insmod {
                path: next("a file")?,
                params: words.by_ref().collect(),
            },
            "rmmod" => Step::Rmmod(next("a module")?),
            "run" => {
                let (name, timeout, status) =
                    (next("a name")?, next("a timeout")?, next("a status")?);
                let argv: Vec<String> = words.by_ref().collect();
                if argv.is_empty() {
                    bail!("run {name} needs a program");
                }
                let timeout = Duration::from_secs(timeout.parse().context("the timeout of run")?);
                Step::Run {
                    name,
                    timeout,
                    status: status.parse().context("the status of run")?,
                    argv,
                }
            }
            "write" => Step::Write {
                path: next("a file")?,
                text: next("a text")?,
            },
            "exists" => Step::Exists(next("a path")?),
            "absent" => Step::Absent(next("a path")?),
            "meminfo" => Step::Meminfo(next("a label")?),
            "sleep" => Step::Sleep(Duration::from_millis(next("milliseconds")?.parse()?)),
            "kmemleak" => Step::Kmemleak,
            "shell" => Step::Shell {
                rows: next("rows")?.parse().context("the rows of shell")?,
                cols: next("columns")?.parse().context("the columns of shell")?,
            },
            other => bail!("no step is called '{other}'"),
        };
        if let Some(extra) = words.next() {
            bail!("'{extra}' is too much in '{line}'");
        }
        Ok(step)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted: Vec<String> = self.words().iter().map(|w| quote(w)).collect();
        f.write_str(&quoted.join(" "))
    }
}

/// The whole plan as text.
pub fn to_text(plan: &[Step]) -> String {
    plan.iter()
        .flat_map(|s| [s.to_string(), "\n".into()])
        .collect()
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    // A line holds a step, so line ends travel as an escape.
    format!(
        "'{}'",
        word.replace('\\', "\\\\")
            .replace('\'', "\\'")
            .replace('\n', "\\n")
    )
}

fn split(line: &str) -> Result<Vec<String>> {
    let (mut words, mut word, mut open) = (Vec::new(), None::<String>, false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                open = !open;
                word.get_or_insert_default();
            }
            '\\' => {
                let c = chars.next().context("a plan line ends in a backslash")?;
                word.get_or_insert_default()
                    .push(if c == 'n' { '\n' } else { c });
            }
            c if c.is_whitespace() && !open => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    if open {
        bail!("a quote is not closed in '{line}'");
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_survives_the_trip_to_the_guest() {
        let plan = [
            Step::Scenario {
                name: "demo".into(),
                rules: None,
            },
            Step::Scenario {
                name: "hang".into(),
                rules: Some(vec!["on MES frame: hang".into()]),
            },
            Step::Insmod {
                path: "/rkfd.ko".into(),
                params: vec!["verbose=1".into()],
            },
            Step::Rmmod("rkfd".into()),
            Step::run_status(
                "a",
                5,
                -11,
                &["/bin/x", "", "two words", "it's", "back\\slash\nnew"],
            ),
            Step::Write {
                path: "/sys/x".into(),
                text: "0000:00:01.0".into(),
            },
            Step::Exists("/dev/kfd".into()),
            Step::Absent("/dev/kfd".into()),
            Step::Meminfo("before".into()),
            Step::Sleep(Duration::from_millis(250)),
            Step::Kmemleak,
            Step::Shell { rows: 24, cols: 80 },
        ];
        let text = to_text(&plan);
        assert_eq!(text.lines().count(), plan.len());
        let back: Vec<Step> = text.lines().map(|l| Step::parse(l).unwrap()).collect();
        assert_eq!(back, plan);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "",
            "dance",
            "insmod",
            "scenario",
            "run a 5 0",
            "run a soon 0 /bin/x",
            "shell",
            "shell 24 wide",
            "exists 'x",
        ] {
            assert!(Step::parse(line).is_err(), "{line:?} was accepted");
        }
    }
}
