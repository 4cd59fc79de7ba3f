// SPDX-License-Identifier: MIT OR Apache-2.0

//! ALLOC, MAP, UNMAP and FREE of a page of system memory beside many such objects.

use crate::beside::{Beside, Kind};
use crate::measure::{step, Meter, Pace};
use crate::process::{place, Objects, Process, PAGE};
use rkfd_programs::Failure;
use rkfd_uapi::memory;
use std::time::Instant;

const BESIDE: [usize; 6] = [0, 250, 1000, 4000, 16_000, 61_440];
/// Requests in a row.
const ROW: usize = 8;

/// Measures beside objects of another process, then of this one, which leaves them to its end.
pub fn run(pace: Pace) -> Result<(), Failure> {
    let process = Process::new()?;
    let meter = Meter::new(&process.kfd, pace)?;
    let rungs = || BESIDE.iter().take(pace.pick(BESIDE.len(), 2)).copied();
    let begin = Instant::now();
    let mut other = Beside::new(Kind::Objects, None)?;
    for n in rungs() {
        let have = other.have(n, 0)?;
        point(&process, &meter, "objects-of-another-process", have)?;
        if have < n || begin.elapsed() > pace.curve {
            break;
        }
    }
    drop(other);
    let begin = Instant::now();
    let mut objects = Objects::default();
    for n in rungs() {
        let have = objects.grow(&process, n, || begin.elapsed() > pace.curve)?;
        point(&process, &meter, "objects-of-this-process", have)?;
        if have < n {
            break;
        }
    }
    Ok(())
}

fn point(process: &Process, meter: &Meter<'_>, beside: &str, n: usize) -> Result<(), Failure> {
    let p = process;
    let get = |handles: &[u64], n: usize| handles.get(n).copied().unwrap_or(0);
    let steps = vec![
        step("ALLOC_MEMORY_OF_GPU", ROW, move |h: &mut Vec<u64>, n| {
            let flags = memory::ALLOC_GTT | memory::ALLOC_WRITABLE;
            h.push(p.alloc(place(0) + n as u64 * PAGE, PAGE, flags)?);
            Ok(())
        }),
        step("MAP_MEMORY_TO_GPU", ROW, move |h: &mut Vec<u64>, n| {
            p.map(get(h, n))
        }),
        step("UNMAP_MEMORY_FROM_GPU", ROW, move |h: &mut Vec<u64>, n| {
            p.unmap(get(h, n))
        }),
        step("FREE_MEMORY_OF_GPU", ROW, move |h: &mut Vec<u64>, n| {
            p.free(get(h, n))?;
            if n + 1 == ROW {
                h.clear();
            }
            Ok(())
        }),
    ];
    let costs = meter.cycle(&mut Vec::new(), steps)?;
    costs.iter().for_each(|cost| cost.print_at(beside, n));
    Ok(())
}
