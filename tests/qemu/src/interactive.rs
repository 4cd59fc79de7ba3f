// SPDX-License-Identifier: MIT OR Apache-2.0
//! A boot with the console on the terminal, for a person.

use crate::emulator::Emulator;
use crate::guest;
use crate::host::{Host, RunDir};
use crate::qemu::{self, Accel, Serial};
use crate::run;
use crate::scenario::Scenario;
use crate::shown::shown;
use crate::terminal;
use crate::verdict::Outcome;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

/// What the second serial port still holds comes within a moment after QEMU's end.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Boot, and stay until QEMU ends. The result is good if neither the kernel nor the emulator
/// found anything wrong, however the person ended it.
pub fn run(host: &Host, accel: Accel, scenario: &Scenario) -> Result<bool> {
    let chip = (scenario.gpus > 0).then_some(host.chip);
    let dir = RunDir::new(&host.build, chip, scenario.name)?;
    guest::pack(host, scenario, &dir.file("initramfs"))?;
    let gpus = Emulator::start_all(host, &dir, scenario)?;
    let results = dir.file("results.sock");
    let listener = UnixListener::bind(&results)
        .with_context(|| format!("cannot listen on {}", shown(&results)))?;
    let (send, lines) = mpsc::channel();
    thread::spawn(move || listen(&listener, &send));
    let serial = Serial::Terminal(&results);
    let status = qemu::command(host, accel, scenario, &dir, &gpus, serial)
        .status()
        .context("QEMU cannot be started")?;

    let mut outcome = Outcome::new(host.chip);
    let mut log = File::create(dir.file("log"))?;
    while let Ok(line) = lines.recv_timeout(LAST_LINES) {
        writeln!(log, "  {line}")?;
        outcome.guest(&line);
    }
    let mut wrong = std::mem::take(&mut outcome.wrong);
    let failed = outcome.tests.into_iter().filter_map(|(name, result)| {
        let why = result.err()?;
        Some(format!("{name}: {why}"))
    });
    wrong.extend(failed);
    if !status.success() {
        wrong.push(format!("QEMU: {status}"));
    }
    wrong.extend(gpus.into_iter().flat_map(Emulator::finish));
    for reason in &wrong {
        eprintln!("WRONG {reason}");
    }
    eprintln!("logs: {}", shown(&dir.keep(scenario.name)));
    Ok(wrong.is_empty())
}

/// Passes the guest's lines on, and sends it the sizes of our terminal.
fn listen(listener: &UnixListener, send: &Sender<String>) {
    let Ok((stream, _)) = listener.accept() else {
        return;
    };
    if let Ok(guest) = stream.try_clone() {
        terminal::send_sizes(guest);
    }
    run::lines(stream, send, |line| line);
}
