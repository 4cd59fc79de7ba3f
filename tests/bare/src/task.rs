// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads and processes as debuggers and timers see them.

use std::os::fd::{AsRawFd, OwnedFd};

fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// A timer whose signal, SIGUSR1, goes to the thread that made it, and ends what that waits for. The program has to
/// have a handler for it ([`super::sys::ignore_by_handler`]).
pub struct Timer(libc::timer_t);

impl Timer {
    /// A timer of the calling thread.
    ///
    /// # Errors
    ///
    /// The errno of `timer_create`.
    pub fn new() -> Result<Self, i32> {
        let mut timer = std::ptr::null_mut();
        // SAFETY: zero is a valid sigevent; both structures outlive the call.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGUSR1;
            event.sigev_notify_thread_id = libc::gettid();
            match libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) {
                0 => Ok(Self(timer)),
                _ => Err(last_errno()),
            }
        }
    }

    /// Sends the signal after so many milliseconds, and again and again after as many more; with 0 no longer.
    pub fn set(&self, ms: i64) {
        let time = libc::timespec {
            tv_sec: ms / 1000,
            tv_nsec: ms % 1000 * 1_000_000,
        };
        let times = libc::itimerspec {
            it_interval: time,
            it_value: time,
        };
        // SAFETY: the timer is ours, and the structure outlives the call.
        unsafe { libc::timer_settime(self.0, 0, &raw const times, std::ptr::null_mut()) };
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer is ours.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// The calling process is killed when the thread that forked it ends. False if that thread's process, `parent`, is
/// gone already.
pub fn die_with(parent: u32) -> bool {
    // SAFETY: takes nothing but numbers.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::getppid() as u32 == parent
    }
}

/// A child that this thread traces, without having stopped it.
pub struct Traced(i32);

/// What became of a child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// It runs.
    Runs,
    /// It has ended, with this wait status, and is no more.
    Ended(i32),
}

impl Traced {
    /// Begins.
    ///
    /// # Errors
    ///
    /// The errno of `PTRACE_SEIZE`.
    pub fn seize(pid: i32) -> Result<Self, i32> {
        // SAFETY: takes nothing but numbers.
        match unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) } {
            -1 => Err(last_errno()),
            _ => Ok(Self(pid)),
        }
    }

    /// Lets it go on with the signal for which it has stopped, if it has. `wait` waits until it stops or ends.
    pub fn go_on(&self, wait: bool) -> Life {
        let mut status = 0;
        loop {
            let flags = if wait { 0 } else { libc::WNOHANG };
            // SAFETY: the status outlives the call; the others take numbers.
            unsafe {
                match libc::waitpid(self.0, &raw mut status, flags) {
                    -1 if last_errno() == libc::EINTR => continue,
                    pid if pid != self.0 => return Life::Runs,
                    _ if !libc::WIFSTOPPED(status) => return Life::Ended(status),
                    _ => {}
                }
                // A stop that isn't a signal's has its event above the signal.
                let signal = match status >> 16 {
                    0 => libc::WSTOPSIG(status),
                    _ => 0,
                };
                libc::ptrace(libc::PTRACE_CONT, self.0, 0, signal);
            }
        }
    }

    /// Traces it no longer. Works while it is stopped only: the caller doesn't care.
    pub fn let_go(&self) {
        // SAFETY: takes nothing but numbers.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.0, 0, 0) };
    }
}

/// Maps a file at an address, in the place of what is there: the caller has it for nothing but such mappings.
///
/// # Errors
///
/// The errno of `mmap`.
pub fn map_at(
    fd: &OwnedFd,
    address: u64,
    offset: u64,
    len: usize,
    prot: i32,
) -> Result<super::sys::Map, i32> {
    let flags = libc::MAP_SHARED | libc::MAP_FIXED;
    // SAFETY: what is replaced is a mapping of the same kind, by the caller's word.
    let at = unsafe {
        libc::mmap(
            address as *mut libc::c_void,
            len,
            prot,
            flags,
            fd.as_raw_fd(),
            offset as i64,
        )
    };
    match at {
        libc::MAP_FAILED => Err(last_errno()),
        at => Ok(super::sys::Map::of(at as u64, len)),
    }
}
