// SPDX-License-Identifier: MIT OR Apache-2.0
//! A child that this thread traces and debugs while it works on the GPU, and which ends or is killed at any moment.

use crate::act::Acts;
use crate::counted;
use crate::process::{end, Process, NO_MEMORY};
use crate::request::Sender;
use rkfd_bare::rng::Rng;
use rkfd_bare::sys;
use rkfd_bare::task::{die_with, Life, Traced};
use std::time::Instant;

/// Sets of buffers of the child.
const KITS: usize = 1;
/// What it does: steps, and the operations of its debugger, at most.
const STEPS: u64 = 40;
const OPERATIONS: u64 = 600;

/// Starts one, debugs it, and sees to its end.
pub fn one(sender: &mut Sender, thread: usize, rng: &mut Rng) {
    let (seed, parent) = (rng.bits(), sys::pid());
    let Some(pid) = sys::fork() else {
        live(sender.process, parent, seed, thread);
    };
    if pid < 0 {
        return;
    }
    let start = Instant::now();
    let Ok(traced) = Traced::seize(pid) else {
        // It has ended, and is still to be waited for.
        judge(sys::wait(pid));
        return;
    };
    let (mut life, most) = (Life::Runs, rng.below(OPERATIONS));
    for _ in 0..most {
        sender.debug(rng, pid as u32);
        life = traced.go_on(false);
        if life != Life::Runs {
            break;
        }
    }
    if life == Life::Runs {
        match rng.below(4) {
            // The debugger is still attached, whoever traces it.
            0 => traced.let_go(),
            1 => {}
            _ => sys::kill(pid, libc::SIGKILL),
        }
        sender.debug(rng, pid as u32);
        life = traced.go_on(true);
    }
    let worked = matches!(life, Life::Ended(_));
    let slot = counted::debugged();
    sender.process.shared.count(slot, worked, start.elapsed());
    if let Life::Ended(status) = life {
        judge(status);
    }
}

/// The child: a process like its parent, with one thread.
fn live(parent: &Process, pid: u32, seed: u64, thread: usize) -> ! {
    if !die_with(pid) {
        sys::exit(0);
    }
    // By SIGALRM, should its debugger forget it.
    sys::alarm(60);
    let process = match Process::new(&parent.node, parent.shared, seed, KITS) {
        Ok(process) => process,
        Err(e) => end(&format!("seed {seed}, traced: {e}")),
    };
    let Ok(mut sender) = Sender::new(&process, thread) else {
        sys::exit(NO_MEMORY);
    };
    let acts = Acts::new(&process, thread);
    let mut rng = Rng::new(seed);
    for _ in 0..STEPS {
        match rng.below(4) {
            0 => acts.work(&mut rng),
            _ => sender.valid(&mut rng),
        }
    }
    sys::exit(0);
}

/// Ends the process if a child ended of what no child should end of.
fn judge(status: i32) {
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    let good = match signal {
        Some(signal) => [libc::SIGKILL, libc::SIGALRM].contains(&signal),
        None => [0, NO_MEMORY].contains(&libc::WEXITSTATUS(status)),
    };
    if !good {
        end(&format!(
            "a process that was debugged ended with status {status:#x}"
        ));
    }
}
