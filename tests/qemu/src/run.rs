// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run: emulator, QEMU, its two serial ports, a deadline.

use crate::boot::Boot;
use crate::emulator::{self, Emulator};
use crate::guest;
use crate::host::{Host, RunDir};
use crate::parts::Parts;
use crate::protocol::Line;
use crate::qemu::{self, Accel, Serial};
use crate::scenario::Scenario;
use crate::shown::shown;
use crate::typed;
use crate::verdict::Outcome;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// What is shown while it runs. The logs have everything in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// Nothing.
    Nothing,
    /// What programs in the guest print, and what came of each.
    Programs,
    /// The kernel's console, too.
    All,
}

/// How long what is left may take once QEMU has closed its console.
const CLOSING: Duration = Duration::from_secs(2);

enum Event {
    Console(String),
    Guest(String),
    ConsoleClosed,
}

/// How often a machine is booted at most until process 1 starts, and how long one boot may take until then.
pub(crate) const BOOTS: u32 = 3;
const BOOT: Duration = Duration::from_secs(90);
/// A debug kernel boots in so many times as long at most, however long its programs take.
const SLOW_BOOT: u32 = 4;

/// What the kernel reports before process 1, when nothing of ours is there yet, because its processors are emulated.
const BAD_BOOTS: [&str; 2] = [
    // The two clocks by which it measures the processor's own don't agree (Linux, `arch/x86/kernel/tsc.c`): it has
    // seen 60 MHz of 2.6 GHz, and all times in the guest were wrong.
    "tsc: PIT calibration deviates",
    // A processor still runs the breakpoint that another one has put where it changes code, and has taken out again
    // (Linux, `arch/x86/kernel/alternative.c`: `smp_text_poke_batch_finish`).
    "Oops: int3:",
];

/// QEMU, which does not outlive us.
struct Qemu(Child);

impl Drop for Qemu {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Run a scenario to its end; what is shown of it goes to `print`, line by line. An error means that
/// it could not even be started.
pub fn run(
    host: &Host,
    accel: Accel,
    scenario: &Scenario,
    show: Show,
    print: &mut dyn FnMut(&str),
) -> Result<Outcome> {
    let boot = Boot::new(&[scenario]).context("a boot of nothing")?;
    let mut outcomes = boot_once(host, accel, &boot, show, print)?;
    outcomes.pop().context("a boot without an outcome")
}

/// Run the scenarios of a boot: the outcomes of those that began, of which there is at least one.
/// An error means that the machine could not even be started.
///
/// QEMU's emulated processors sometimes measure their clocks so badly on a loaded host that the kernel
/// never comes to process 1, both processors busy, or that its clock runs many times too fast, which the
/// kernel reports; or they run code that is no longer there. Nothing has been tested then, so the machine starts
/// anew, and it says so.
pub fn boot_once(
    host: &Host,
    accel: Accel,
    boot: &Boot<'_>,
    show: Show,
    print: &mut dyn FnMut(&str),
) -> Result<Vec<Outcome>> {
    let machine = &boot.machine;
    if let Some(acts) = machine.typed {
        return Ok(vec![typed::run(host, accel, machine, acts, print)?]);
    }
    for _ in 1..BOOTS {
        if let Some(outcomes) = attempt(host, accel, boot, show, print, accel == Accel::Tcg)? {
            return Ok(outcomes);
        }
        let (name, limit) = (machine.name, boot_limit(host).as_secs());
        print(&format!(
            "{name}: process 1 did not start within {limit} s, or not well; the machine starts anew"
        ));
    }
    attempt(host, accel, boot, show, print, false)?.context("a boot without an outcome")
}

/// How long a boot may take until process 1 starts.
pub(crate) fn boot_limit(host: &Host) -> Duration {
    BOOT * host.slow.min(SLOW_BOOT)
}

/// Whether the console, before process 1, has one of [`BAD_BOOTS`].
pub(crate) fn is_bad_boot(console: &str) -> bool {
    BAD_BOOTS.iter().any(|bad| console.contains(bad))
}

/// Boots once. `None`: process 1 did not start in time, of which another boot may make `again`.
fn attempt(
    host: &Host,
    accel: Accel,
    boot: &Boot<'_>,
    show: Show,
    print: &mut dyn FnMut(&str),
    again: bool,
) -> Result<Option<Vec<Outcome>>> {
    let machine = &boot.machine;
    let chip = (machine.gpus > 0).then_some(host.chip);
    let dir = RunDir::new(&host.build, chip, machine.name)?;
    guest::pack(host, machine, &dir.file("initramfs"))?;
    let mut parts = Parts::new(host, boot, &dir)?;
    let gpus = Emulator::start_all(host, &dir, machine)?;

    let results = dir.file("results.sock");
    let _ = std::fs::remove_file(&results);
    let listener = UnixListener::bind(&results).with_context(|| {
        format!(
            "cannot listen on {} (is its path too long?)",
            shown(&results)
        )
    })?;
    let mut child = qemu::command(host, accel, machine, &dir, &gpus, Serial::Judged(&results))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(dir.file("qemu.log"))?)
        .spawn()
        .context("QEMU cannot be started")?;
    let console = child.stdout.take().context("QEMU has no output")?;
    let mut child = Qemu(child);

    let (send, events) = mpsc::channel();
    let results_send = send.clone();
    thread::spawn(move || {
        if let Ok((stream, _)) = listener.accept() {
            lines(stream, &results_send, Event::Guest);
        }
    });
    thread::spawn(move || {
        lines(console, &send, Event::Console);
        let _ = send.send(Event::ConsoleClosed);
    });

    let mut deadline = parts.deadline();
    if again {
        deadline = deadline.min(Instant::now() + boot_limit(host));
    }
    let mut started = false;
    let mut closing = false;
    loop {
        match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Console(line)) => {
                if show == Show::All {
                    print(&line);
                }
                parts.console(&line)?;
                if again && !started && is_bad_boot(&line) {
                    print(&format!("{}: {}", machine.name, line.trim()));
                    drop((child, gpus));
                    dir.remove();
                    return Ok(None);
                }
            }
            Ok(Event::Guest(line)) => {
                if !started && !closing {
                    deadline = parts.deadline();
                }
                started = true;
                match (show, Line::parse(&line)) {
                    (Show::All, _) | (Show::Programs, None) => print(&line),
                    (Show::Programs, Some(Ok(Line::Test { name, result }))) => match result {
                        Ok(()) => print(&format!("[ok] {name}")),
                        Err(why) => print(&format!("[FAIL] {name}: {why}")),
                    },
                    _ => {}
                }
                if parts.guest(&line)? && !closing {
                    deadline = parts.deadline();
                }
            }
            // QEMU is gone; what the second port still holds comes within a moment.
            Ok(Event::ConsoleClosed) => {
                closing = true;
                deadline = Instant::now() + CLOSING * host.slow;
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if closing => break,
            Err(RecvTimeoutError::Timeout) if again && !started => {
                drop((child, gpus));
                dir.remove();
                return Ok(None);
            }
            Err(RecvTimeoutError::Timeout) => {
                parts.gave_up();
                break;
            }
        }
    }
    let patience = if closing { CLOSING * 5 } else { Duration::ZERO };
    match emulator::wait(&mut child.0, patience * host.slow) {
        Some(status) if status.success() => {}
        Some(status) => {
            let log = emulator::tail(&dir.file("qemu.log"), 5);
            parts.wrong(format!("QEMU: {status}\n{log}"));
        }
        None if closing => parts.wrong("QEMU: closed its console but did not end".into()),
        None => {}
    }
    drop(child);
    for why in gpus.into_iter().flat_map(Emulator::finish) {
        parts.wrong_of_all(&why);
    }
    parts.finish().map(Some)
}

/// Sends each line of a stream on, as the event that is made of it, until the stream ends.
pub(crate) fn lines<T>(stream: impl Read, send: &Sender<T>, event: fn(String) -> T) {
    let mut reader = BufReader::new(stream);
    let mut bytes = Vec::new();
    while matches!(reader.read_until(b'\n', &mut bytes), Ok(n) if n > 0) {
        // Firmware and shells colour their lines; logs and patterns want the text.
        let line = plain(&String::from_utf8_lossy(&bytes));
        bytes.clear();
        if send.send(event(line)).is_err() {
            return;
        }
    }
}

/// A line without its end and without terminal escapes.
pub(crate) fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.trim_end_matches(['\r', '\n']).chars();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => {
                if chars.next() == Some('[') {
                    let _ = chars.by_ref().find(|c| ('@'..='~').contains(c));
                }
            }
            '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faults_of_emulated_processors_are_bad_boots() {
        assert!(is_bad_boot(
            "[    1.885599] Oops: int3: 0000 [#1] SMP NOPTI"
        ));
        assert!(is_bad_boot(
            "[    0.000000] tsc: PIT calibration deviates from HPET: 60 2600"
        ));
        assert!(!is_bad_boot(
            "[    1.885599] Oops: invalid opcode: 0000 [#1] SMP NOPTI"
        ));
    }

    #[test]
    fn escapes_do_not_hide_a_line() {
        assert_eq!(
            plain("\x1b[2J\x1b[1;31m@rkfd start\x1b[0m\r\n"),
            "@rkfd start"
        );
        assert_eq!(plain("a\tb\x07"), "a\tb");
    }
}
