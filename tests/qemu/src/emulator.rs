// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts the emulated GPU and, at the end, hears what it has to report.

use crate::build;
use crate::host::{self, Host, RunDir};
use crate::scenario::{Meant, Scenario};
use crate::shown::shown;
use anyhow::{bail, ensure, Context, Result};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const READY: Duration = Duration::from_secs(30);
/// The control socket, in the folder of a run.
pub const CONTROL: &str = "control.sock";
const GOODBYE: Duration = Duration::from_secs(20);

/// The running emulator. It is killed if it is dropped before [`Emulator::finish`].
pub struct Emulator {
    child: Child,
    report: PathBuf,
    log: PathBuf,
    slow: u32,
    meant: Meant,
    /// Where QEMU finds it.
    pub socket: PathBuf,
}

/// Build the workspace's emulator, unless another one was named.
pub fn build(host: &Host) -> Result<()> {
    if host.emulator.is_some() {
        return Ok(());
    }
    let mut cargo = Command::new("cargo");
    // The runner is named, too, as this package is where the runner is built: then both have the same
    // features in what they share, which is compiled once.
    cargo.args(["build", "--release", "-p", "rkfd-emulator", "-p", "rkfd-vm"]);
    cargo.args(["--bin", "rkfd-emulator"]);
    build::cargo("the emulated GPU", cargo)
}

/// Where the emulator is.
pub(crate) fn binary(host: &Host) -> PathBuf {
    let own = || host.target.join("release/rkfd-emulator");
    host.emulator.clone().unwrap_or_else(own)
}

impl Emulator {
    /// Starts those of a scenario, and waits until they listen. The files of the second one are `gpu1.sock`, `report1` and
    /// `emulator1.log`.
    pub fn start_all(host: &Host, dir: &RunDir, scenario: &Scenario) -> Result<Vec<Self>> {
        (0..scenario.gpus)
            .map(|n| Self::start(host, dir, scenario, n))
            .collect()
    }

    fn start(host: &Host, dir: &RunDir, scenario: &Scenario, n: u8) -> Result<Self> {
        let binary = binary(host);
        let number = if n == 0 { String::new() } else { n.to_string() };
        let (socket, report, log) = (
            dir.file(&format!("gpu{number}.sock")),
            dir.file(&format!("report{number}")),
            dir.file(&format!("emulator{number}.log")),
        );
        // struct sockaddr_un has 108 bytes.
        ensure!(
            socket.as_os_str().len() < 108,
            "the path {} is too long for a socket",
            shown(&socket)
        );
        let mut log_file = File::create(&log)?;
        let mut command = host::bound(&binary);
        command
            .args(["--chip", host.chip.name])
            .arg("--socket")
            .arg(&socket)
            .arg("--report")
            .arg(&report);
        if scenario.control && n == 0 {
            command.arg("--control").arg(dir.file(CONTROL));
        }
        if scenario.trace && n == 0 {
            command.arg("--trace").arg(dir.file("trace.jsonl"));
        }
        // Ctrl-C is not for it: it ends when QEMU has gone, or with us.
        let mut child = command
            .process_group(0)
            .args(&scenario.emulator_args)
            .args(rules(scenario))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log_file.try_clone()?)
            .spawn()
            .with_context(|| format!("the emulator {} cannot be started", shown(&binary)))?;
        let out = child.stdout.take().context("the emulator has no output")?;
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = writeln!(log_file, "{line}");
                let _ = send.send(line);
            }
        });
        let emulator = Emulator {
            child,
            report,
            log,
            slow: host.slow,
            meant: scenario.meant,
            socket,
        };
        let deadline = Instant::now() + READY * host.slow;
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.trim() == "ready" => return Ok(emulator),
                Ok(_) => {}
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    bail!("the emulator was not ready after {} s", READY.as_secs())
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    bail!(
                        "the emulator ended before it was ready:\n{}",
                        tail(&emulator.log, 10)
                    )
                }
            }
        }
    }

    /// Wait for its end, which comes when QEMU has gone. What it found wrong, one line each.
    pub fn finish(mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        let status = match wait(&mut self.child, GOODBYE * self.slow) {
            Some(status) => Some(status),
            None => {
                wrong.push(format!(
                    "emulator: still running {} s after QEMU ended",
                    (GOODBYE * self.slow).as_secs()
                ));
                terminate(&self.child);
                wait(&mut self.child, Duration::from_secs(5))
            }
        };
        match status {
            Some(s) if s.success() => {}
            Some(s) if s.code() == Some(VIOLATED) && !self.meant.violations.is_empty() => {}
            Some(s) => wrong.push(format!("emulator: {s}\n{}", tail(&self.log, 5))),
            None => wrong.push("emulator: did not end on SIGTERM and was killed".into()),
        }
        match fs::read_to_string(&self.report) {
            Ok(text) => wrong.extend(findings(&text, &self.meant)),
            Err(e) => wrong.push(format!("emulator: it left no report ({e})")),
        }
        wrong
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The rules that the device has from its start: in a machine with several scenarios process 1 gives
/// it those of each.
fn rules(machine: &Scenario) -> impl Iterator<Item = &str> {
    let rules = (!machine.shares).then_some(&machine.rules);
    let rules = rules.into_iter().flatten();
    rules.flat_map(|rule| ["--rule", rule.as_str()])
}

/// Read a report: `violation COUNT TEXT` lines (the driver's), `fault COUNT TEXT` lines (programs'),
/// and a last line `end violations=N faults=M`. They are wrong unless they are meant.
fn findings(report: &str, meant: &Meant) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut end, mut described) = (None, 0);
    for line in report.lines() {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let is_meant = match kind {
            "fault" => meant.faults,
            "violation" => meant.violations.iter().any(|part| rest.contains(part)),
            "end" => {
                end = counts(rest);
                continue;
            }
            _ => continue,
        };
        described += 1;
        if !is_meant {
            let (count, text) = rest.split_once(' ').unwrap_or(("?", rest));
            wrong.push(format!("emulator: {kind} ({count} times): {text}"));
        }
    }
    match end {
        None => wrong.push("emulator: its report has no end line".into()),
        Some((v, f)) if described == 0 && v + f > 0 => {
            wrong.push(format!(
                "emulator: {v} violations and {f} faults, none of them described"
            ));
        }
        Some(_) => {}
    }
    wrong
}

/// The numbers of `violations=N faults=M`.
fn counts(text: &str) -> Option<(u64, u64)> {
    let (violations, faults) = text.trim().split_once(' ')?;
    let number = |text: &str, name| text.strip_prefix(name)?.parse().ok();
    Some((
        number(violations, "violations=")?,
        number(faults, "faults=")?,
    ))
}

/// The exit status of an emulator that reports violations.
const VIOLATED: i32 = 1;

/// Wait for a child, but not for ever.
pub fn wait(child: &mut Child, limit: Duration) -> Option<std::process::ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(20)),
            _ => return None,
        }
    }
}

fn terminate(child: &Child) {
    use rustix::process::{kill_process, Pid, Signal};
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// The last lines of a file, for a message.
pub fn tail(path: &Path, lines: usize) -> String {
    let text = fs::read(path)
        .map(|b| String::from_utf8_lossy(&b).into_owned())
        .unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    let shown = &all[all.len().saturating_sub(lines)..];
    shown
        .iter()
        .map(|l| format!("    {l}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAULTS: Meant = Meant {
        faults: true,
        violations: &[],
    };

    fn findings_of(report: &str) -> Vec<String> {
        findings(report, &Meant::default())
    }

    #[test]
    fn a_clean_report_is_clean() {
        assert!(findings_of("end violations=0 faults=0\n").is_empty());
    }

    #[test]
    fn violations_and_half_written_reports_are_not() {
        let report = "violation 3 register 0x1234 is not known\nend violations=3 faults=0\n";
        let wrong = findings(report, &FAULTS);
        assert_eq!(
            wrong,
            ["emulator: violation (3 times): register 0x1234 is not known"]
        );
        for bad in ["", "end violations=2 faults=0\n", "end violations=many\n"] {
            assert_eq!(findings_of(bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn faults_of_programs_are_wrong_where_none_is_meant() {
        let report = "fault 2 shader: illegal\nend violations=0 faults=2\n";
        assert_eq!(
            findings_of(report),
            ["emulator: fault (2 times): shader: illegal"]
        );
        assert!(findings(report, &FAULTS).is_empty());
        assert_eq!(findings_of("end violations=0 faults=2\n").len(), 1);
    }

    #[test]
    fn a_violation_that_a_rule_brings_about_is_not_wrong_and_others_are() {
        let meant = Meant {
            violations: &["the doorbell is that of another"],
            ..Meant::default()
        };
        let report = "violation 1 MES: the doorbell is that of another queue\n\
                      violation 1 MES: no frame\nend violations=2 faults=0\n";
        assert_eq!(
            findings(report, &meant),
            ["emulator: violation (1 times): MES: no frame"]
        );
    }
}
