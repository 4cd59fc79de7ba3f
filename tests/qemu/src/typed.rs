// SPDX-License-Identifier: MIT OR Apache-2.0
//! A person at `make shell`: types commands into its terminal and reads what comes back.
//!
//! The terminal is a pseudo terminal of ours; on its other side runs this very program as
//! `rkfd-vm shell`, just as it does for a person.

use crate::host::{Host, RunDir};
use crate::protocol::Line;
use crate::qemu::Accel;
use crate::run;
use crate::scenario::Scenario;
use crate::shown::shown;
use crate::verdict::Outcome;
use anyhow::{ensure, Context, Result};
use rustix::pty::{self, OpenptFlags};
use rustix::termios::{self, Winsize};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// What the shell prints when it waits for a command.
const PROMPT: &str = "rkfd:~# ";
/// From `<fcntl.h>`: opening the terminal must not make it ours.
const O_NOCTTY: i32 = 0o400;
/// The file that is put into the guest from the command line, and what is in it.
pub const NOTE: (&str, &str) = ("note.txt", "a note from the host");
/// Rows and columns that the terminal has at first.
pub const SIZE: (u16, u16) = (37, 113);

/// What the person does.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    /// Types a line. The command's output must have each of these texts; `{target}` stands for
    /// the chip's instruction set. The name is the test's.
    Type(&'static str, &'static str, &'static [&'static str]),
    /// Gives the terminal so many rows and columns.
    Resize(u16, u16),
}

/// Our side of the terminal, and what runs on the other.
struct Session {
    terminal: File,
    child: Child,
    chunks: Receiver<Vec<u8>>,
    /// Everything that was printed.
    transcript: String,
    /// Bytes of it that were looked at.
    read: usize,
    /// Lines typed.
    typed: usize,
    deadline: Instant,
}

impl Drop for Session {
    fn drop(&mut self) {
        // Its own session ends with its terminal; this is for one that hangs.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Run a scenario in which somebody types; `print` is told of boots that only emulated processors have spoilt. An
/// error means that it could not even be started.
pub fn run(
    host: &Host,
    accel: Accel,
    scenario: &Scenario,
    acts: &[Act],
    print: &mut dyn FnMut(&str),
) -> Result<Outcome> {
    let dir = RunDir::new(&host.build, Some(host.chip), scenario.name)?;
    let started = Instant::now();
    let note = dir.file(NOTE.0);
    fs::write(&note, format!("{}\n", NOTE.1))?;
    let mut shell = Command::new("setsid");
    shell
        .args(["--ctty", "--wait"])
        .arg(std::env::current_exe()?);
    shell.args(["--chip", host.chip.name, "--accel", accel.argument()]);
    shell.arg("--slow").arg(host.slow.to_string());
    shell.arg("--kernel").arg(&host.kernel);
    shell.arg("--module").arg(&host.module);
    if let Some(emulator) = &host.emulator {
        shell.arg("--emulator").arg(emulator);
    }
    shell.arg("shell").arg("--include").arg(&note);
    let limit = scenario.timeout * host.slow;
    let (mut session, prompt) = first_prompt(&mut shell, accel, limit, &mut |bad| {
        print(&format!(
            "{}: {bad}; the machine starts anew",
            scenario.name
        ));
    })?;
    let mut outcome = Outcome::new(host.chip);
    let mut tests = vec![Line::test("prompt", prompt)];
    for act in acts {
        match *act {
            Act::Resize(rows, cols) => session.resize(rows, cols)?,
            Act::Type(name, line, wanted) => {
                let result = session.command(line).and_then(|output| {
                    wanted.iter().try_for_each(|text| {
                        let text = text.replace("{target}", host.chip.target);
                        match output.contains(&text) {
                            true => Ok(()),
                            false => Err(format!("no '{text}' in what `{line}` printed: {output}")),
                        }
                    })
                });
                tests.push(Line::test(name, result));
            }
        }
    }
    tests.push(Line::test("exit", session.exit()));
    fs::write(dir.file("log"), &session.transcript)?;
    for line in session.transcript.lines() {
        outcome.console(&run::plain(line));
    }
    outcome.typed(tests);
    outcome.finish(scenario);
    outcome.took = started.elapsed();
    outcome.logs = dir.keep(scenario.name);
    Ok(outcome)
}

/// Starts the shell, and waits for its first prompt or for why there is none. As in [`run::boot_once`], a boot that
/// only emulated processors have spoilt is not the last, and `print` gets the kernel's line of it.
fn first_prompt(
    shell: &mut Command,
    accel: Accel,
    limit: Duration,
    print: &mut dyn FnMut(&str),
) -> Result<(Session, Result<(), String>)> {
    let mut left = if accel == Accel::Tcg { run::BOOTS } else { 1 };
    loop {
        let mut session = Session::start(shell, Instant::now() + limit)?;
        let prompt = session.until_prompt().map(drop);
        left -= 1;
        let mut lines = session.transcript.lines();
        match lines.find(|line| run::is_bad_boot(line)) {
            Some(bad) if left > 0 => print(run::plain(bad).trim()),
            _ => return Ok((session, prompt)),
        }
    }
}

impl Session {
    fn start(command: &mut Command, deadline: Instant) -> Result<Self> {
        let master = pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .context("no pseudo terminal")?;
        pty::grantpt(&master)?;
        pty::unlockpt(&master)?;
        let name = pty::ptsname(&master, Vec::new())?;
        let name = PathBuf::from(name.to_string_lossy().into_owned());
        let terminal = File::from(master);
        set_size(&terminal, SIZE)?;
        let other = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(O_NOCTTY)
            .open(&name)
            .with_context(|| format!("cannot open {}", shown(&name)))?;
        let child = command
            .stdin(other.try_clone()?)
            .stdout(other.try_clone()?)
            .stderr(other)
            .spawn()
            .context("the shell cannot be started")?;
        // The command would keep the other side open, and so hide the shell's end.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut reader = terminal.try_clone()?;
        let (send, chunks) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Ends with an error once nobody has the other side open.
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                if send.send(buffer[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        ensure!(deadline > Instant::now(), "there is no time for it");
        Ok(Session {
            terminal,
            child,
            chunks,
            transcript: String::new(),
            read: 0,
            typed: 0,
            deadline,
        })
    }

    /// Types a line; what it printed. The shell draws its prompt again when the terminal's size changes, so its next
    /// prompt is no end: the line prints a mark, which is written otherwise where it is typed.
    fn command(&mut self, line: &str) -> Result<String, String> {
        self.typed += 1;
        let n = self.typed;
        self.send(&format!("{line}; echo end''-of-{n}"))?;
        let output = self.until(&format!("end-of-{n}"))?;
        self.until_prompt()?;
        // The first line is what was typed.
        let output = output.split_once('\n').map_or("", |(_, rest)| rest);
        Ok(output
            .lines()
            .map(run::plain)
            .collect::<Vec<_>>()
            .join("\n"))
    }

    fn send(&mut self, line: &str) -> Result<(), String> {
        let typed = format!("{line}\r");
        let written = self.terminal.write_all(typed.as_bytes());
        written.map_err(|e| format!("`{line}` cannot be typed: {e}"))
    }

    fn until_prompt(&mut self) -> Result<String, String> {
        self.until(PROMPT)
    }

    /// What is printed before a text, from where the last one ended.
    fn until(&mut self, text: &str) -> Result<String, String> {
        loop {
            let new = self.transcript.get(self.read..).unwrap_or_default();
            if let Some((output, _)) = new.split_once(text) {
                self.read += output.len() + text.len();
                return Ok(output.to_owned());
            }
            if !self.more() {
                let last = self.transcript.lines().rev().take(5);
                let last: Vec<String> = last.map(run::plain).collect();
                return Err(format!(
                    "'{text}' did not come; the last lines, backwards: {last:?}"
                ));
            }
        }
    }

    /// Takes more of what is printed; false after the end, and when the time is up.
    fn more(&mut self) -> bool {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match self.chunks.recv_timeout(left) {
            Ok(bytes) => {
                self.transcript.push_str(&String::from_utf8_lossy(&bytes));
                true
            }
            Err(_) => false,
        }
    }

    fn resize(&mut self, rows: u16, cols: u16) -> Result<()> {
        set_size(&self.terminal, (rows, cols))
    }

    /// Leaves the shell; the machine must power off, and nothing may have been wrong with it.
    fn exit(&mut self) -> Result<(), String> {
        self.send("exit")?;
        while self.more() {}
        let left = self.deadline.saturating_duration_since(Instant::now());
        match crate::emulator::wait(&mut self.child, left.max(Duration::from_secs(1))) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("`rkfd-vm shell`: {status}")),
            None => Err("`rkfd-vm shell` did not end".into()),
        }
    }
}

fn set_size(terminal: &File, (rows, cols): (u16, u16)) -> Result<()> {
    let size = Winsize {
        ws_row: rows,
        ws_col: cols,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    termios::tcsetwinsize(terminal, size).context("the terminal takes no size")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell whose first boots, as many as `bad`, end with what `console` says; the next one prompts. Returns what
    /// the prompt came to and the lines about boots that were not the last.
    fn boots(name: &str, bad: u32, console: &str) -> (bool, Vec<String>) {
        let count = std::env::temp_dir().join(format!("rkfd-typed-{name}-{}", std::process::id()));
        let _ = fs::remove_file(&count);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(
            r#"echo >>"$0"; [ $(wc -l <"$0") -gt "$1" ] && printf '%s' "$3" || printf '%s\n' "$2""#,
        );
        shell
            .arg(&count)
            .arg(bad.to_string())
            .args([console, PROMPT]);
        let mut told = Vec::new();
        let limit = Duration::from_secs(60);
        let (_session, prompt) = first_prompt(&mut shell, Accel::Tcg, limit, &mut |line| {
            told.push(line.to_owned());
        })
        .expect("sh and a pseudo terminal are there");
        fs::remove_file(&count).expect("the shell counts its starts");
        (prompt.is_ok(), told)
    }

    #[test]
    fn a_boot_that_emulated_processors_spoilt_is_not_the_last() {
        let line = "[    3.230545] Oops: int3: 0000 [#1] SMP NOPTI";
        assert_eq!(boots("twice", 2, line), (true, vec![line.into(); 2]));
    }

    #[test]
    fn a_boot_that_ends_otherwise_is_the_last() {
        let line = "[    3.230545] Oops: invalid opcode: 0000 [#1] SMP NOPTI";
        assert_eq!(boots("other", 1, line), (false, vec![]));
    }

    #[test]
    fn boots_are_limited() {
        let line = "[    3.230545] Oops: int3: 0000 [#1] SMP NOPTI";
        assert_eq!(boots("all", 9, line), (false, vec![line.into(); 2]));
    }
}
