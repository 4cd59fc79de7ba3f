// SPDX-License-Identifier: MIT OR Apache-2.0

//! CREATE_QUEUE and DESTROY_QUEUE beside queues that are there.
//!
//! Queues that are off aren't in a run list, so beside these the driver's own part is all that can grow; beside queues
//! that are on there is, in addition, what the firmware's protocol asks for. The counts show both: the words of the
//! run list are the protocol's.

use crate::beside::{Beside, Kind};
use crate::measure::{step, Cost, Meter, Pace};
use crate::process::{save_memory, Kit, Process};
use rkfd_programs::raw::errno;
use rkfd_programs::Failure;
use rustix::io::Errno;
use std::time::Instant;

/// How many queues this process has beside the measured one; as many as it may have at last.
const OF_ONE: [usize; 6] = [0, 1, 4, 16, 64, 256];
/// How many each of the others has, and how many others there are.
const EACH: [usize; 3] = [1, 4, 16];
const PROCESSES: usize = 64;
/// Off and on.
const SHARES: [(&str, u32); 2] = [("off", 0), ("on", 100)];

/// Measures beside queues of one process, then of many.
pub fn run(pace: Pace) -> Result<(), Failure> {
    let process = Process::new()?;
    let meter = Meter::new(&process.kfd, pace)?;
    let save = save_memory(&process.node)?;
    let kit = Kit::new(&process, &save, 0)?;
    for (name, percent) in SHARES {
        let begin = Instant::now();
        let beside = format!("queues-{name}-of-this-process");
        let most = (process.node.max_queues as usize).saturating_sub(1);
        let mut queues = Vec::new();
        for &n in OF_ONE.iter().take(pace.pick(OF_ONE.len(), 3)) {
            let wanted = n.min(most);
            while queues.len() < wanted && begin.elapsed() < pace.curve {
                match kit.create(percent) {
                    Ok(queue) => queues.push(queue),
                    Err(Errno::NOMEM | Errno::NOSPC | Errno::PERM) => break,
                    Err(e) => return Err(errno("CREATE_QUEUE")(e)),
                }
            }
            point(&kit, &meter, &beside, queues.len())?;
            if queues.len() < n {
                break;
            }
        }
        queues
            .into_iter()
            .try_for_each(|queue| kit.destroy(queue))?;
    }
    for (name, percent) in SHARES {
        let begin = Instant::now();
        let beside = format!("queues-{name}-of-64-processes");
        let processes = pace.pick(PROCESSES, 2);
        let others = (0..processes).map(|_| Beside::new(Kind::Queues, Some(&save)));
        let mut others = others.collect::<Result<Vec<_>, _>>()?;
        for &each in EACH.iter().take(pace.pick(EACH.len(), 2)) {
            if begin.elapsed() > pace.curve {
                break;
            }
            let mut all = 0;
            for other in &mut others {
                all += other.have(each, percent)?;
            }
            point(&kit, &meter, &beside, all)?;
            if all < processes * each {
                break;
            }
        }
    }
    Ok(())
}

fn point(kit: &Kit<'_>, meter: &Meter<'_>, beside: &str, n: usize) -> Result<(), Failure> {
    let steps = vec![
        step("CREATE_QUEUE", 1, |id: &mut u32, _| {
            *id = kit.create(100).map_err(errno("CREATE_QUEUE"))?;
            Ok(())
        }),
        step("DESTROY_QUEUE", 1, |id: &mut u32, _| kit.destroy(*id)),
    ];
    let costs: Vec<Cost> = meter.cycle(&mut 0, steps)?;
    costs.iter().for_each(|cost| cost.print_at(beside, n));
    Ok(())
}
