// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds by cargo, with signs of life: a build from nothing takes minutes.

use crate::run;
use anyhow::{ensure, Context, Result};
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How often the clock moves on a terminal, and how often a line is printed elsewhere.
const TICK: Duration = Duration::from_secs(1);
const LINE: Duration = Duration::from_secs(30);
/// What cargo's lines of progress begin with; everything else is for the person.
const PROGRESS: [&str; 10] = [
    "Compiling",
    "Checking",
    "Finished",
    "Fresh",
    "Blocking",
    "Downloading",
    "Downloaded",
    "Updating",
    "Locking",
    "Adding",
];

/// Run a cargo command that builds `what`. Nothing is printed if there is nothing to build.
pub fn cargo(what: &str, mut cargo: Command) -> Result<()> {
    let terminal = io::stderr().is_terminal();
    let mut child = cargo
        .env(
            "CARGO_TERM_COLOR",
            if terminal { "always" } else { "never" },
        )
        .env("CARGO_TERM_PROGRESS_WHEN", "never")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cargo cannot be started")?;
    let output = child.stderr.take().context("cargo has no output")?;
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    let mut clock = Clock::new(what, terminal);
    loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => match is_progress(&line) {
                true => clock.now(run::plain(&line).trim()),
                false => clock.print(&line),
            },
            Err(RecvTimeoutError::Timeout) => clock.tick(),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    clock.clear();
    let status = child.wait().context("cargo")?;
    ensure!(status.success(), "{what}: the build failed");
    if clock.printed.is_some() {
        // For other checkouts, which can reuse what was built. Nothing here depends on it.
        let _ = Command::new("python3")
            .args(["setup/builds.py", "note"])
            .status();
    }
    Ok(())
}

fn is_progress(line: &str) -> bool {
    let line = run::plain(line);
    let first = line.split_whitespace().next().unwrap_or("");
    line.starts_with(' ') && PROGRESS.contains(&first)
}

/// Shows that a build goes on.
struct Clock<'a> {
    what: &'a str,
    terminal: bool,
    start: Instant,
    printed: Option<Instant>,
    doing: String,
}

impl<'a> Clock<'a> {
    fn new(what: &'a str, terminal: bool) -> Self {
        Clock {
            what,
            terminal,
            start: Instant::now(),
            printed: None,
            doing: String::new(),
        }
    }

    /// What cargo does now.
    fn now(&mut self, doing: &str) {
        if self.printed.is_none() && doing.starts_with("Compiling") {
            eprintln!("building {}", self.what);
            self.printed = Some(Instant::now());
        }
        self.doing = doing.into();
        if self.terminal && self.printed.is_some() {
            self.tick();
        }
    }

    fn tick(&mut self) {
        let Some(printed) = self.printed else { return };
        let seconds = self.start.elapsed().as_secs();
        if self.terminal {
            eprint!("\r\x1b[K  {seconds:4} s  {:.60}", self.doing);
            let _ = io::stderr().flush();
        } else if printed.elapsed() >= LINE {
            eprintln!("  building {}: {seconds} s, {}", self.what, self.doing);
            self.printed = Some(Instant::now());
        }
    }

    /// A line for the person.
    fn print(&self, line: &str) {
        self.clear();
        eprintln!("{line}");
    }

    fn clear(&self) {
        if self.terminal && self.printed.is_some() {
            eprint!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_from_messages() {
        for line in [
            "   Compiling clap v4.5",
            "\x1b[1m    Finished\x1b[0m `release`",
        ] {
            assert!(is_progress(line), "{line}");
        }
        for line in [
            "warning: unused",
            "error: no",
            "Compiling is fun",
            "  --> src/x.rs",
        ] {
            assert!(!is_progress(line), "{line}");
        }
    }

    #[test]
    fn a_failed_build_is_an_error() {
        let mut none = Command::new("cargo");
        none.args(["build", "--quiet", "-p", "no-such-package"]);
        assert!(cargo("nothing", none).is_err());
    }
}
