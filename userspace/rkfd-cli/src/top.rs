// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd top`: what processes do on the GPUs, again and again.
//!
//! [`sample`] reads what the driver shows, [`table`] makes rows of two samples, [`screen`] draws them on a terminal.

mod sample;
mod screen;
mod table;

use std::io::{IsTerminal, Write};
use std::time::Duration;

use crate::machine::Machine;
use crate::Failure;
use sample::Sample;
use table::Table;

/// `rkfd top`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Seconds between two looks.
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    interval: f64,
    /// End after so many looks; without, `q` ends it.
    #[arg(long)]
    count: Option<u64>,
    /// Print lines, as is done where the output is no terminal.
    #[arg(long)]
    batch: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "no number".to_owned())?;
    match (0.1..=3600.0).contains(&seconds) {
        true => Ok(seconds),
        false => Err("not from 0.1 to 3600".into()),
    }
}

/// Shows what goes on until it is told to end.
pub(crate) fn show(options: &Options) -> Result<(), Failure> {
    let machine = Machine::here();
    let interval = Duration::from_secs_f64(options.interval);
    // What is missing is said on the terminal as it is.
    let first = Sample::take(&machine)?;
    match options.batch || !std::io::stdout().is_terminal() {
        true => lines(&machine, first, interval, options.count),
        false => screen::run(&machine, first, interval, options.count),
    }
}

/// Prints a table after each interval.
fn lines(
    machine: &Machine,
    mut before: Sample,
    interval: Duration,
    count: Option<u64>,
) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    for _ in 0..count.unwrap_or(u64::MAX) {
        std::thread::sleep(interval);
        let now = Sample::take(machine)?;
        let written = writeln!(out, "{}", Table::new(&before, &now));
        before = now;
        if written.is_err() {
            // Whoever read it has gone.
            break;
        }
    }
    Ok(())
}
