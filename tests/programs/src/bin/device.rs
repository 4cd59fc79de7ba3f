// SPDX-License-Identifier: MIT OR Apache-2.0
//! `device COMMAND...`: sends a command to the emulated GPU's control socket, which the machine sees as its third serial
//! port, and prints the answer (`docs/looking-in.md`, `docs/misbehaviour.md`).

use rustix::termios::{self, OptionalActions};
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::process::ExitCode;

/// The serial port.
const PORT: &str = "/dev/ttyS2";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match ask(&words.join(" ")) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("device: {PORT}: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Sends a command and prints its answer; whether the device has carried it out.
fn ask(command: &str) -> io::Result<bool> {
    let mut port = OpenOptions::new().read(true).write(true).open(PORT)?;
    let mut raw = termios::tcgetattr(&port)?;
    raw.make_raw();
    termios::tcsetattr(&port, OptionalActions::Now, &raw)?;
    writeln!(port, "{command}")?;
    let mut out = io::stdout();
    for line in BufReader::new(port).lines() {
        let line = line?;
        match line.split_once([' ', ':']).unwrap_or((&line, "")) {
            ("ok", "") => return Ok(true),
            ("ok", number) => {
                writeln!(out, "{number}")?;
                return Ok(true);
            }
            ("error", why) => {
                eprintln!("device:{why}");
                return Ok(false);
            }
            // The rest of the answer has to be read, even if nobody wants it.
            _ => drop(writeln!(out, "{line}")),
        }
    }
    Err(io::Error::other("the device's control socket has ended"))
}
