// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the requests of `/dev/kfd` cost, and how that grows with what is there already.
//!
//! `costs CODE-OBJECT PART [brief | rival]`, alone on the GPU; `brief` measures as little as shows that it can be
//! measured, and `rival` what can be compared with another driver.
//! Parts:
//!
//! * `requests`: each request that a runtime makes;
//! * `queues`: CREATE_QUEUE and DESTROY_QUEUE beside queues of one and of many processes;
//! * `objects`: ALLOC, MAP, UNMAP and FREE beside objects of this and of another process;
//! * `events`: WAIT_EVENTS for many events, among many, and beside many waiters;
//! * `signals`: from a dispatch to its waiter's waking, beside processes;
//! * `exits`: a process ends that has objects, queues or events;
//! * `memory`: what each thing takes of the kernel's memory and of the GPU's.
//!
//! It prints lines `cost NAME KEY=VALUE ...` and `point CURVE NUMBER KEY=VALUE ...`; `measure` says what they mean, and
//! `memory` what `takes NAME NUMBER KEY=VALUE ...` does.
//! Other second arguments are the processes beside it (`beside`).

mod belongings;
mod beside;
mod counts;
mod events;
mod exits;
mod measure;
mod memory;
mod objects;
mod process;
mod queues;
mod requests;
mod rival;
mod signals;

use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use measure::Pace;
use rkfd_programs::{report, Failure};

/// An argument of the command line.
fn argument(n: usize) -> Result<String, Failure> {
    let argument = std::env::args().nth(n);
    argument.ok_or_else(|| Failure::new(format_args!("argument {n} is missing")))
}

/// Waits until the driver has nothing of earlier processes any more.
fn alone(processes: impl Fn() -> Result<u64, Failure>) -> Result<(), Failure> {
    const LONG: Duration = Duration::from_secs(300);
    let begin = Instant::now();
    while processes()? > 0 {
        if begin.elapsed() > LONG {
            return Err(Failure::new("other processes use the GPU"));
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn run(part: &str) -> Result<(), Failure> {
    let pace = match std::env::args().nth(3).as_deref() {
        Some("brief") => Pace::BRIEF,
        Some("rival") => Pace::RIVAL,
        Some(other) => return Err(Failure::new(format_args!("'{other}' is no pace"))),
        None => Pace::FULL,
    };
    match pace.is_of_any_driver {
        true => {
            alone(rival::processes)?;
            println!("driver {}", rival::driver()?);
        }
        false => alone(counts::processes)?,
    }
    match part {
        "requests" => requests::run(pace),
        "queues" => queues::run(pace),
        "objects" => objects::run(pace),
        "events" => events::run(pace),
        "signals" => signals::run(pace),
        "exits" => exits::run(pace),
        "memory" => memory::run(pace),
        other => Err(Failure::new(format_args!("there is no part '{other}'"))),
    }
}

fn main() -> ExitCode {
    let part = std::env::args().nth(2).unwrap_or_default();
    match part.as_str() {
        "beside" => match beside::run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("beside: {failure}");
                ExitCode::FAILURE
            }
        },
        _ => report(&format!("costs-{part}"), || run(&part)),
    }
}
