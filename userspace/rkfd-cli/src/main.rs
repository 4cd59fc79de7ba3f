// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `rkfd`: `rkfd info` shows the GPUs, `rkfd run` runs a kernel of a code object, `rkfd
//! copy` and `rkfd fill` move bytes by a copy engine, `rkfd trace` counts what the driver
//! does for a program, `rkfd why` explains why a queue doesn't move, `rkfd top` shows
//! what goes on, `rkfd doctor` looks for what stops the driver, `rkfd
//! capture` archives what a card shows, `rkfd manual` writes manual pages.

mod argument;
mod capture;
mod copy;
mod doctor;
mod info;
mod machine;
mod manual;
mod run;
mod surroundings;
mod top;
mod trace;
mod traced;
mod why;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use serde_json::json;

/// The exit status, for the help.
const STATUS: &str = "Exit status:
  0  all that was asked for was done, and was right
  1  it failed: a file, a kernel, a fault, a time-out, no memory
  2  the command line is wrong
  3  there is no GPU that can be used: no driver, no permission, no device
  4  a copy or fill left wrong bytes";

#[derive(Parser)]
#[command(
    name = "rkfd",
    version,
    about = "Look at AMD GPUs under KFD and run kernels on them",
    long_about = None,
    after_help = STATUS
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the driver and its GPUs.
    #[command(after_help = STATUS)]
    Info {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Look for what stops the driver on this machine, and say what to type next.
    #[command(after_help = STATUS)]
    Doctor {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Archive what a card and its machine show, for developers who haven't got them.
    ///
    /// It prints the list of what the archive would hold, and where each file comes from, and asks before it writes.
    /// Any user can run it; root's archive holds more, and the list says what is missing.
    Capture(capture::Options),
    /// Run a kernel of a code object.
    Run(run::Options),
    /// Copy between two buffers by a copy engine, and compare every byte.
    #[command(after_help = STATUS)]
    Copy(copy::CopyOptions),
    /// Fill a buffer by a copy engine, and compare every byte.
    #[command(after_help = STATUS)]
    Fill(copy::FillOptions),
    /// Run a program, and count what the driver did meanwhile, by its tracepoints. Wants root.
    #[command(after_help = STATUS)]
    Trace(traced::Options),
    /// Explain why queues don't move, by what the driver shows in debugfs. Wants root.
    #[command(after_help = STATUS)]
    Why(why::Options),
    /// Show processes and their queues, packets and interrupts a second, and memory, again and again. Wants root.
    #[command(after_help = STATUS)]
    Top(top::Options),
    /// Write manual pages, and files by which bash, zsh and fish complete this command.
    #[command(after_help = STATUS)]
    Manual {
        /// Where to; it is made if it isn't there.
        folder: PathBuf,
    },
}

impl Command {
    fn json(&self) -> bool {
        match self {
            Self::Info { json } | Self::Doctor { json } => *json,
            Self::Run(options) => options.json,
            Self::Copy(options) => options.by.json,
            Self::Fill(options) => options.by.json,
            Self::Capture(_)
            | Self::Trace(_)
            | Self::Why(_)
            | Self::Top(_)
            | Self::Manual { .. } => false,
        }
    }
}

/// What the command fails with.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The library failed.
    #[error(transparent)]
    Rkfd(#[from] rkfd::Error),
    /// The library failed to open a GPU, which was shown as far as sysfs describes it.
    #[error(transparent)]
    Shown(rkfd::Error),
    /// The machine isn't ready, as was printed.
    #[error("{stops} of these stop rkfd")]
    Stopped {
        /// How many findings.
        stops: usize,
    },
    /// A file can't be read or written.
    #[error("{path}: {error}")]
    File {
        /// Its name.
        path: String,
        /// The reason.
        error: std::io::Error,
    },
    /// The traced program failed.
    #[error("{program}: {status}")]
    Program {
        /// Its name.
        program: String,
        /// How it ended.
        status: String,
    },
    /// There is no such queue.
    #[error("no queue {queue}: `rkfd why` lists all that there are")]
    NoQueue {
        /// The process, and the queue's id.
        queue: String,
    },
    /// There is no such copy engine.
    #[error("no copy engine {engine}: the GPU has {engines}, counted from 0")]
    Engine {
        /// The one asked for.
        engine: u32,
        /// How many there are.
        engines: u64,
    },
    /// A fill of a part of a word.
    #[error("a fill sets whole words of 4 bytes, and {bytes} bytes are none")]
    WholeWords {
        /// What was asked for.
        bytes: usize,
    },
    /// There is no card to capture.
    #[error(
        "the PCI bus has no AMD GPU: check that the card has power and `lspci -d 1002:` shows it"
    )]
    NoCard,
    /// The list was not confirmed.
    #[error("nothing was written; `--yes` writes without asking")]
    NotConfirmed,
    /// The engine's bytes differ from the CPU's.
    #[error("{wrong} of {of} bytes are wrong, the first at {first}")]
    Wrong {
        /// How many.
        wrong: usize,
        /// Of how many.
        of: usize,
        /// The first one's place.
        first: usize,
    },
}

impl Failure {
    /// The exit status, as [`STATUS`] explains it.
    fn status(&self) -> u8 {
        use rkfd::Error;
        match self {
            Self::Wrong { .. } => 4,
            Self::Stopped { .. } | Self::NoCard => 3,
            Self::WholeWords { .. } | Self::Engine { .. } => 2,
            Self::Rkfd(error) | Self::Shown(error) => match error {
                Error::NoDriver { .. }
                | Error::NotKfd { .. }
                | Error::NoRenderNode { .. }
                | Error::NoGpu
                | Error::NoSuchGpu { .. }
                | Error::Permission { .. }
                | Error::Open { .. }
                | Error::Version { .. }
                | Error::Topology { .. } => 3,
                _ => 1,
            },
            Self::File { .. }
            | Self::Program { .. }
            | Self::NoQueue { .. }
            | Self::NotConfirmed => 1,
        }
    }
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    let result = match &command {
        Command::Info { json } => info::show(*json),
        Command::Doctor { json } => doctor::examine(*json),
        Command::Run(options) => run::run(options),
        Command::Capture(options) => capture::capture(options),
        Command::Copy(options) => copy::copy(options),
        Command::Fill(options) => copy::fill(options),
        Command::Trace(options) => traced::trace(options),
        Command::Top(options) => top::show(options),
        Command::Why(options) => why::explain(options),
        Command::Manual { folder } => manual::write(Cli::command(), folder),
    };
    let Err(failure) = result else {
        return ExitCode::SUCCESS;
    };
    let advice = match &failure {
        Failure::Rkfd(error) | Failure::Shown(error) => surroundings::advice(error),
        _ => Vec::new(),
    };
    let message = failure.to_string();
    eprintln!("rkfd: {message}");
    advice.iter().for_each(|line| eprintln!("rkfd: {line}"));
    let status = failure.status();
    // What `info` and `doctor` could find out they have printed by themselves.
    if command.json() && !matches!(failure, Failure::Shown(_) | Failure::Stopped { .. }) {
        let error = json!({ "status": status, "message": message, "advice": advice });
        println!("{}", json!({ "error": error }));
    }
    ExitCode::from(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_failures() {
        let permission = rkfd::Error::Permission {
            path: "/dev/kfd".into(),
        };
        let wrong = Failure::Wrong {
            wrong: 1,
            of: 2,
            first: 0,
        };
        let all = [
            (Failure::Stopped { stops: 1 }, 3),
            (Failure::NoCard, 3),
            (Failure::NotConfirmed, 1),
            (Failure::from(rkfd::Error::DeviceLost), 1),
            (Failure::WholeWords { bytes: 3 }, 2),
            (Failure::from(rkfd::Error::NoGpu), 3),
            (Failure::from(permission), 3),
            (wrong, 4),
        ];
        for (failure, status) in all {
            assert_eq!(failure.status(), status, "{failure}");
            assert!(STATUS.contains(&format!("\n  {status}  ")));
        }
    }
}
