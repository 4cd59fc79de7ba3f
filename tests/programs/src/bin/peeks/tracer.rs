// SPDX-License-Identifier: MIT OR Apache-2.0

//! The ways to another process' memory that the kernel has.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rkfd_programs::Failure;

/// The memory of a process.
pub struct Memory {
    pid: libc::pid_t,
    mem: File,
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn number(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}

fn part(at: u64, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: at as *mut libc::c_void,
        iov_len: len,
    }
}

impl Memory {
    /// Traces a process, and opens its memory.
    pub fn trace(pid: u32) -> Result<Self, Failure> {
        let pid = pid as libc::pid_t;
        // SAFETY: A request about a child of this program's.
        if unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0usize, 0usize) } != 0 {
            return Err(Failure::new(format_args!("SEIZE: errno {}", errno())));
        }
        let path = format!("/proc/{pid}/mem");
        let mem = File::options().read(true).write(true).open(path);
        let mem = mem.map_err(Failure::new)?;
        Ok(Self { pid, mem })
    }

    /// Reads up to `len` bytes by `/proc/PID/mem`, with one call.
    pub fn read(&self, at: u64, len: usize) -> Result<Vec<u8>, i32> {
        let mut bytes = vec![0; len];
        let count = self.mem.read_at(&mut bytes, at).map_err(|e| number(&e))?;
        bytes.truncate(count);
        Ok(bytes)
    }

    /// Writes bytes by `/proc/PID/mem`, with one call, and returns how many.
    pub fn write(&self, at: u64, bytes: &[u8]) -> Result<usize, i32> {
        self.mem.write_at(bytes, at).map_err(|e| number(&e))
    }

    /// Reads by `process_vm_readv`.
    pub fn read_vm(&self, at: u64, len: usize) -> Result<Vec<u8>, i32> {
        let mut bytes = vec![0; len];
        let (here, there) = (part(bytes.as_mut_ptr() as u64, len), part(at, len));
        // SAFETY: The bytes are ours, and one part each is named.
        match unsafe { libc::process_vm_readv(self.pid, &here, 1, &there, 1, 0) } {
            -1 => Err(errno()),
            count => {
                bytes.truncate(count as usize);
                Ok(bytes)
            }
        }
    }

    /// Writes by `process_vm_writev`.
    pub fn write_vm(&self, at: u64, bytes: &[u8]) -> Result<usize, i32> {
        let (here, there) = (
            part(bytes.as_ptr() as u64, bytes.len()),
            part(at, bytes.len()),
        );
        // SAFETY: The bytes are ours, and one part each is named; ours is only read.
        match unsafe { libc::process_vm_writev(self.pid, &here, 1, &there, 1, 0) } {
            -1 => Err(errno()),
            count => Ok(count as usize),
        }
    }

    /// Stops the process, until the result is dropped.
    pub fn stop(&self) -> Result<Stopped<'_>, Failure> {
        let mut status = 0;
        // SAFETY: The process is traced by this thread, and a child of this program's.
        let stopped = unsafe {
            libc::ptrace(libc::PTRACE_INTERRUPT, self.pid, 0usize, 0usize) == 0
                && libc::waitpid(self.pid, &mut status, 0) == self.pid
        };
        match stopped && libc::WIFSTOPPED(status) {
            true => Ok(Stopped(self)),
            false => Err(Failure::new(format_args!("it doesn't stop: {status:#x}"))),
        }
    }
}

/// A process that stands still.
pub struct Stopped<'a>(&'a Memory);

impl Stopped<'_> {
    /// PEEKDATA.
    pub fn peek(&self, at: u64) -> Result<u64, i32> {
        // SAFETY: The process is stopped; the word is returned, and -1 can be one.
        let (word, errno) = unsafe {
            *libc::__errno_location() = 0;
            let word = libc::ptrace(libc::PTRACE_PEEKDATA, self.0.pid, at, 0usize);
            (word, *libc::__errno_location())
        };
        match errno {
            0 => Ok(word as u64),
            errno => Err(errno),
        }
    }

    /// POKEDATA.
    pub fn poke(&self, at: u64, word: u64) -> Result<(), i32> {
        // SAFETY: The process is stopped, and its memory is what is to be written.
        match unsafe { libc::ptrace(libc::PTRACE_POKEDATA, self.0.pid, at, word) } {
            0 => Ok(()),
            _ => Err(errno()),
        }
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        // SAFETY: The process is stopped, and goes on.
        let _ = unsafe { libc::ptrace(libc::PTRACE_CONT, self.0.pid, 0usize, 0usize) };
    }
}
