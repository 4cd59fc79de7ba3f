// SPDX-License-Identifier: MIT OR Apache-2.0

//! How long a signal takes from the GPU to the thread that sleeps for it, beside processes that have the GPU open and
//! an event: a dispatch of one work-group, its interrupt, and the waking.

use crate::beside::{Beside, Kind};
use crate::measure::{step, Meter, Pace};
use rkfd::{Gpu, QueueOptions, Signal};
use rkfd_programs::raw::{self, errno};
use rkfd_programs::{code_object, Failure, VectorAdd, BLOCK, KERNEL};
use rkfd_uapi::event;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::fs::File;
use std::time::Instant;

/// Processes with a GPU, this one included.
const PROCESSES: [usize; 4] = [1, 8, 64, 512];

/// Measures the curve.
pub fn run(pace: Pace) -> Result<(), Failure> {
    // Each process beside this one has two pipes.
    let most = Rlimit {
        current: getrlimit(Resource::Nofile).maximum,
        ..getrlimit(Resource::Nofile)
    };
    setrlimit(Resource::Nofile, most).map_err(errno("setrlimit"))?;
    let gpu = Gpu::open()?;
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let queue = gpu.queue(QueueOptions::default())?;
    let add = VectorAdd::new(&gpu, BLOCK as usize, 0)?;
    let meter = Meter::new(&kfd, pace)?;
    let begin = Instant::now();
    let mut others = Vec::new();
    for &n in PROCESSES.iter().take(pace.pick(PROCESSES.len(), 2)) {
        while others.len() + 1 < n && begin.elapsed() < pace.curve {
            let mut other = Beside::new(Kind::Gpu, None)?;
            other.have(1, 0)?;
            others.push(other);
        }
        let steps = vec![step("dispatch+WAIT_EVENTS", 1, |_: &mut (), _| {
            let work = add.dispatch(&queue, &kernel).submit()?;
            let id = work.signal().and_then(Signal::event_id);
            let id = id.ok_or_else(|| Failure::new("a signal without an event"))?;
            let woken = raw::wait(&kfd, id, event::TIMEOUT_INFINITE);
            if woken.map_err(errno("WAIT_EVENTS"))?.is_none() {
                return Err(Failure::new("a wait without end ended"));
            }
            Ok(work.wait()?)
        })];
        let costs = meter.cycle(&mut (), steps)?;
        let have = others.len() + 1;
        costs
            .iter()
            .for_each(|cost| cost.print_at("processes", have));
        if have < n {
            break;
        }
    }
    add.verify()
}
