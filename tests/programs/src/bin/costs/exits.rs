// SPDX-License-Identifier: MIT OR Apache-2.0

//! A process is killed that has many things: how long until the driver has nothing of it any more.

use crate::beside::{Beside, Kind};
use crate::counts::processes;
use crate::measure::{Meter, Pace};
use crate::process::{save_memory, Process};
use rkfd_programs::Failure;
use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

const OBJECTS: [usize; 5] = [0, 250, 1000, 4000, 16_000];
const QUEUES: [usize; 5] = [0, 1, 4, 16, 64];
const EVENTS: [usize; 5] = [0, 16, 64, 512, 4000];
/// How often a process of each number is killed, besides once for the counts; once with more than some things, which
/// take long to make.
const SAMPLES: usize = 3;
const SOME: usize = 1000;
/// How long the driver may take.
const LONG: Duration = Duration::from_secs(600);

/// Measures the three curves.
pub fn run(pace: Pace) -> Result<(), Failure> {
    let process = Process::new()?;
    let meter = Meter::new(&process.kfd, pace)?;
    let save = save_memory(&process.node)?;
    let rungs = pace.pick(OBJECTS.len(), 2);
    curve(&meter, "objects", Kind::Objects, None, &OBJECTS[..rungs])?;
    curve(
        &meter,
        "queues",
        Kind::Queues,
        Some(&save),
        &QUEUES[..rungs],
    )?;
    curve(&meter, "events", Kind::Events, None, &EVENTS[..rungs])
}

fn curve(
    meter: &Meter<'_>,
    beside: &str,
    kind: Kind,
    save: Option<&OwnedFd>,
    rungs: &[usize],
) -> Result<(), Failure> {
    // A curve has two points, however long they take.
    const FEWEST: usize = 2;
    let begin = Instant::now();
    for (points, &n) in rungs.iter().enumerate() {
        if points >= FEWEST && begin.elapsed() > meter.pace.curve {
            break;
        }
        let dying = RefCell::new(None);
        let before = RefCell::new(0);
        let make = || {
            *before.borrow_mut() = processes()?;
            let mut other = Beside::new(kind, save)?;
            let have = other.have(n, 100)?;
            *dying.borrow_mut() = Some(other);
            match have == n {
                true => Ok(()),
                false => Err(Failure::new(format_args!(
                    "a process has {have} {beside} instead of {n}"
                ))),
            }
        };
        let die = || {
            let other: Option<Beside> = dying.borrow_mut().take();
            other.map_or(Ok(()), Beside::kill)?;
            let begin = Instant::now();
            while processes()? > *before.borrow() {
                if begin.elapsed() > LONG {
                    return Err(Failure::new(
                        "the driver still has a process that was killed",
                    ));
                }
                sleep(Duration::from_micros(200));
            }
            Ok(())
        };
        let samples = meter.pace.pick(if n > SOME { 1 } else { SAMPLES }, 1);
        let cost = meter.single("exit", samples, make, die)?;
        cost.print_at(beside, n);
    }
    Ok(())
}
