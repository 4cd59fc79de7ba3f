// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-fuzz --calls N | --seconds N [--seed N] [--processes N] [--threads N] [--corpus]
//! [--coverage]`: sends requests that are right, nearly right and wrong to /dev/kfd and the render node, from threads
//! and processes at once, some of which are killed at any moment.
//!
//! Whether the kernel survives is for whoever runs it to see (its log, its counts of what is left).
//!
//! `rkfd-fuzz --syzkaller` prints the description by which syzkaller does the like.
//!
//! The program itself fails if a call doesn't come back, if a process dies of something else than a
//! kill, or if a request that should work now and then never did: then it tests nothing.

mod act;
mod counted;
mod coverage;
mod debug;
mod debugged;
mod dispatch;
mod drm;
mod look;
mod memory;
mod options;
mod parent;
mod pool;
mod process;
mod request;
mod role;
mod shared;
mod syzkaller;
mod table;
mod valid;
mod value;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--syzkaller") {
        print!("{}", syzkaller::description());
        return ExitCode::SUCCESS;
    }
    let options = match options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(e) => {
            eprintln!("rkfd-fuzz: {e}\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match parent::run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("rkfd-fuzz: {e}");
            ExitCode::FAILURE
        }
    }
}
