// SPDX-License-Identifier: MIT OR Apache-2.0

//! Another process of the same program, which does what it reads line by line and answers each line with one.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::{check, Failure};

/// The other process, as the one that started it has it.
pub struct Other {
    process: Child,
    requests: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

fn lost() -> Failure {
    Failure::new("the other program has no pipe")
}

impl Other {
    /// Starts this program with other arguments, and waits until it says that it is ready.
    pub fn start(arguments: impl IntoIterator<Item = String>) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(Failure::new)?;
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Failure::new)?;
        let requests = process.stdin.take().ok_or_else(lost)?;
        let answers = process.stdout.take().ok_or_else(lost)?;
        let mut other = Self {
            process,
            requests,
            answers: BufReader::new(answers).lines(),
        };
        check("the other program is there", other.read()? == "ready")?;
        Ok(other)
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Asks for something; the answer is [read](Self::read) later.
    pub fn ask(&mut self, request: &str) -> Result<(), Failure> {
        writeln!(self.requests, "{request}").map_err(Failure::new)
    }

    /// The next line that isn't a remark.
    pub fn read(&mut self) -> Result<String, Failure> {
        loop {
            let line = self
                .answers
                .next()
                .ok_or_else(|| Failure::new("the other program ended"))?;
            let line = line.map_err(Failure::new)?;
            match line.strip_prefix("# ") {
                Some(remark) => println!("the other program: {remark}"),
                None if line.starts_with("ok") || line.contains(": ") => {
                    println!("the other program: {line}")
                }
                None => return Ok(line),
            }
        }
    }

    /// The next line, as numbers.
    pub fn numbers(&mut self) -> Result<Vec<u64>, Failure> {
        let line = self.read()?;
        let numbers = line.split(' ').map(str::parse).collect::<Result<_, _>>();
        numbers.map_err(|_| Failure::new(format_args!("no numbers: {line:?}")))
    }

    /// Kills it, and waits until it is gone.
    pub fn kill(&mut self) -> Result<(), Failure> {
        self.process.kill().map_err(Failure::new)?;
        self.process.wait().map_err(Failure::new)?;
        Ok(())
    }
}

/// The other process: does what it reads.
pub fn answer(mut answer: impl FnMut(&str) -> Result<String, Failure>) -> Result<(), Failure> {
    println!("ready");
    for line in std::io::stdin().lines() {
        let line = line.map_err(Failure::new)?;
        println!("{}", answer(&line)?);
    }
    Ok(())
}
