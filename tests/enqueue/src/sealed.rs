// SPDX-License-Identifier: MIT OR Apache-2.0
//! Submissions in a thread that must make no system call: the kernel's strict mode of seccomp ends the thread
//! at the first one but `read`, `write` and `exit`.

use crate::submission::Set;
use rkfd::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

/// How a thread's name in `/proc` is found: it stores its id before it is sealed.
static THREAD: AtomicI32 = AtomicI32::new(0);
static SUBMITTED: AtomicBool = AtomicBool::new(false);

/// What becomes of a thread that submits all packets of a case, or makes a system call.
pub fn outcome(case: &'static str) -> Result<&'static str, Error> {
    let mut set = Set::new()?;
    THREAD.store(0, Ordering::Relaxed);
    SUBMITTED.store(false, Ordering::Relaxed);
    // Nobody joins it: to end well it would have to make system calls.
    std::thread::spawn(move || {
        THREAD.store(
            rustix::thread::gettid().as_raw_nonzero().get(),
            Ordering::Release,
        );
        let strict = rustix::thread::SecureComputingMode::Strict;
        if rustix::thread::set_secure_computing_mode(strict).is_err() {
            return;
        }
        let done = match case {
            "call" => {
                std::thread::yield_now();
                true
            }
            case => set.submit(case).is_ok(),
        };
        SUBMITTED.store(done, Ordering::Release);
        // What it owns must not be freed, which takes system calls.
        std::mem::forget(set);
    });
    loop {
        std::thread::sleep(Duration::from_millis(1));
        let thread = THREAD.load(Ordering::Acquire);
        if SUBMITTED.load(Ordering::Acquire) {
            return Ok("no system call");
        }
        if thread != 0 && !PathBuf::from(format!("/proc/self/task/{thread}")).exists() {
            return Ok("ended at a system call");
        }
    }
}
