// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `rkfd`: `rkfd info` shows the GPUs, `rkfd run` runs a kernel of a code object.

mod argument;
mod info;
mod run;
mod surroundings;
mod trace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(version, about = "Look at AMD GPUs under KFD and run kernels on them", long_about = None)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the driver and its GPUs.
    Info,
    /// Run a kernel of a code object.
    Run(run::Options),
}

/// What the command fails with.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The library failed.
    #[error(transparent)]
    Rkfd(#[from] rkfd::Error),
    /// A file can't be read or written.
    #[error("{path}: {error}")]
    File {
        /// Its name.
        path: String,
        /// The reason.
        error: std::io::Error,
    },
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Info => info::show(),
        Command::Run(options) => run::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("rkfd: {failure}");
            if let Failure::Rkfd(error) = &failure {
                for line in surroundings::advice(error) {
                    eprintln!("rkfd: {line}");
                }
            }
            ExitCode::FAILURE
        }
    }
}
