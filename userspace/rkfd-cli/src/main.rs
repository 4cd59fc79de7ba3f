// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command `rkfd`: `rkfd info` shows the GPUs, `rkfd run` runs a kernel of a code object, `rkfd
//! copy` and `rkfd fill` move bytes by a copy engine.

mod argument;
mod copy;
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
    /// Copy between two buffers by a copy engine, and compare every byte.
    Copy(copy::CopyOptions),
    /// Fill a buffer by a copy engine, and compare every byte.
    Fill(copy::FillOptions),
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
    /// The engine left other bytes than the CPU says.
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

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Info => info::show(),
        Command::Run(options) => run::run(&options),
        Command::Copy(options) => copy::copy(&options),
        Command::Fill(options) => copy::fill(&options),
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
