// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that goes on beside another while something happens to that.

use crate::Failure;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Starts the same program with other arguments, and waits until it prints `ready`. What it prints later is passed on.
///
/// # Errors
/// It can't be started, or prints something else.
pub fn start(arguments: &[String], ready: &str) -> Result<Child, Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Failure::new)?;
    let output = child.stdout.take();
    let mut lines = BufReader::new(output.ok_or_else(|| Failure::new("no pipe"))?).lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(|l| println!("{l}")));
    match first == ready {
        true => Ok(child),
        false => Err(Failure::new(format_args!(
            "the bystander printed '{first}'"
        ))),
    }
}
