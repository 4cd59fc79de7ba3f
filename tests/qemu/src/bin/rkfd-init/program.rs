// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs one program of the plan, in bounded time.

use crate::report::{Outcome, Report};
use rustix::pipe::{pipe_with, PipeFlags};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Run a program, pass its lines on, and take its exit status, all in bounded time.
pub fn run(
    name: &str,
    timeout: Duration,
    wanted: i32,
    argv: &[String],
    report: &mut Report,
) -> Outcome {
    let (program, args) = argv.split_first().ok_or("there is no program")?;
    // Close-on-exec: the child gets its two copies and no others.
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| e.to_string())?;
    let stderr = writer.try_clone().map_err(|e| e.to_string())?;
    let mut child = Command::new(program)
        .args(args)
        .env("PATH", "/bin")
        .env("RUST_BACKTRACE", "1")
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(stderr)
        .spawn()
        .map_err(|e| format!("{program}: {e}"))?;
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = BufReader::new(File::from(reader));
        let mut bytes = Vec::new();
        while matches!(lines.read_until(b'\n', &mut bytes), Ok(n) if n > 0) {
            let line = String::from_utf8_lossy(&bytes).trim_end().to_string();
            bytes.clear();
            if send.send(line).is_err() {
                return;
            }
        }
    });
    let deadline = Instant::now() + timeout;
    let mut ended = None;
    let mut patience = deadline;
    loop {
        match lines.recv_timeout(Duration::from_millis(10)) {
            Ok(line) => {
                report.program(name, &line);
                // The port is slower than most programs: what is left of an ended one comes first.
                if ended.is_some() && Instant::now() < deadline {
                    continue;
                }
            }
            // Its output is closed. If that was not its end, wait for that.
            Err(mpsc::RecvTimeoutError::Disconnected) if ended.is_some() => break,
            Err(mpsc::RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(10)),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        if ended.is_none() {
            ended = child.try_wait().map_err(|e| e.to_string())?;
            // A child of its own may keep the pipe open; a second is enough for what is in it.
            patience = if ended.is_some() {
                Instant::now() + Duration::from_secs(1)
            } else {
                deadline
            };
        }
        if Instant::now() >= patience {
            break;
        }
    }
    match ended {
        Some(status) => outcome(status, wanted),
        None => Err(format!(
            "no end after {} s{}",
            timeout.as_secs(),
            kill(&mut child)
        )),
    }
}

fn kill(child: &mut Child) -> &'static str {
    let _ = child.kill();
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return ", killed";
        }
        thread::sleep(Duration::from_millis(20));
    }
    ", and it cannot be killed"
}

/// A status as shells count: the exit code, or minus the signal.
pub fn outcome(status: ExitStatus, wanted: i32) -> Outcome {
    let got = status
        .code()
        .or(status.signal().map(|s| -s))
        .unwrap_or(i32::MIN);
    if got == wanted {
        Ok(())
    } else if got < 0 {
        Err(format!("killed by signal {}, wanted status {wanted}", -got))
    } else {
        Err(format!("exit status {got}, wanted {wanted}"))
    }
}
