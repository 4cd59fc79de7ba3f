// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules by which the device misbehaves, which its control socket takes (`docs/misbehaviour.md`).

use rustix::termios::{self, OptionalActions};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};

/// The serial port that leads to the control socket.
const PORT: &str = "/dev/ttyS2";

/// Installs these rules in place of all that there are, and has the device start anew: some are of its start.
///
/// # Errors
/// There is no such port, or the device refuses a rule.
pub fn replace(rules: &[String]) -> io::Result<()> {
    let mut port = OpenOptions::new().read(true).write(true).open(PORT)?;
    let mut raw = termios::tcgetattr(&port)?;
    raw.make_raw();
    termios::tcsetattr(&port, OptionalActions::Now, &raw)?;
    let mut answers = BufReader::new(port.try_clone()?);
    command(&mut port, &mut answers, "remove all")?;
    for rule in rules {
        command(&mut port, &mut answers, &format!("add {rule}"))?;
    }
    command(&mut port, &mut answers, "power cycle")
}

/// Sends a command, and reads its answer, whose last line begins with `ok` or `error`.
fn command(port: &mut File, answers: &mut impl BufRead, text: &str) -> io::Result<()> {
    writeln!(port, "{text}")?;
    loop {
        let mut line = String::new();
        if answers.read_line(&mut line)? == 0 {
            return Err(io::Error::other("its control socket has ended"));
        }
        match line.trim_end() {
            ok if ok.starts_with("ok") => return Ok(()),
            error if error.starts_with("error") => return Err(io::Error::other(error.to_owned())),
            _ => {}
        }
    }
}
