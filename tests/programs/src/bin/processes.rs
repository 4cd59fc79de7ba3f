// SPDX-License-Identifier: MIT OR Apache-2.0

//! Four processes, each with its own address space on the GPU and its own queue.
//!
//! Every sum is checked in each of them.
//!
//! `processes CODE-OBJECT`

use std::process::{Command, ExitCode, Stdio};

use rkfd::{Gpu, QueueOptions};
use rkfd_programs::{code_object, report, Failure, VectorAdd, KERNEL};

const PROCESSES: usize = 4;
const ROUNDS: usize = 20;
const ELEMENTS: usize = 65536;
/// The variable that holds a child's number.
const NUMBER: &str = "RKFD_EXAMPLE_PROCESS";

fn child(number: usize) -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let module = gpu.load(&code_object()?)?;
    let kernel = module.kernel(KERNEL)?;
    let queue = gpu.queue(QueueOptions::default())?;
    let add = VectorAdd::new(&gpu, ELEMENTS, number * 1000)?;
    let mut work = add.dispatch(&queue, &kernel).prepare()?;
    for _ in 0..ROUNDS {
        add.c.fill(f32::NAN)?;
        work.submit()?;
        work.wait()?;
        add.verify()?;
    }
    println!(
        "process {number}: queue {}, buffer at {:#x}",
        queue.id(),
        add.c.address()
    );
    Ok(())
}

fn parent() -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    // Fail here, with a good message, when the argument is missing.
    code_object()?;
    let start = |number: usize| {
        let mut command = Command::new(&program);
        command
            .args(std::env::args().skip(1))
            .env(NUMBER, number.to_string());
        command.stdin(Stdio::null()).spawn().map_err(Failure::new)
    };
    let children: Vec<_> = (0..PROCESSES).map(start).collect::<Result<_, _>>()?;
    let mut failed = 0;
    for mut child in children {
        if !child.wait().map_err(Failure::new)?.success() {
            failed += 1;
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::new(format_args!(
            "{failed} of {PROCESSES} processes failed"
        ))),
    }
}

fn main() -> ExitCode {
    let number = std::env::var(NUMBER)
        .ok()
        .and_then(|number| number.parse().ok());
    match number {
        None => report("processes", parent),
        Some(number) => match child(number) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                println!("process {number}: {failure}");
                ExitCode::FAILURE
            }
        },
    }
}
