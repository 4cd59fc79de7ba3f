// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that whoever touches it waits for, the kernel too, until another thread gives it (userfaultfd).

use crate::sys::{self, Map, PAGE};
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};

/// Commands of <linux/userfaultfd.h>, whose structures are words of 64 bits.
const UFFDIO_API: u32 = 0xc018_aa3f;
const UFFDIO_REGISTER: u32 = 0xc020_aa00;
const UFFDIO_COPY: u32 = 0xc028_aa03;
const UFFD_API: u64 = 0xaa;
const UFFDIO_REGISTER_MODE_MISSING: u64 = 1;
/// Bytes of a `struct uffd_msg`.
const MESSAGE: usize = 32;

/// A page that isn't there yet.
pub struct Page {
    // Closed first: whoever waits goes on.
    faults: OwnedFd,
    map: Map,
}

impl Page {
    /// A new one. Its errno is ENOSYS on a kernel that was built without userfaultfd.
    pub fn new() -> Result<Self, i32> {
        // SAFETY: takes nothing but numbers; the descriptor is nobody else's.
        let faults = unsafe {
            match libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) {
                -1 => return Err(sys::last_errno()),
                fd => OwnedFd::from_raw_fd(fd as i32),
            }
        };
        let map = Map::anonymous(PAGE, libc::PROT_READ | libc::PROT_WRITE, 0)?;
        let page = Self { faults, map };
        page.ask(UFFDIO_API, [UFFD_API, 0, 0])?;
        let range = [page.address(), PAGE as u64];
        page.ask(
            UFFDIO_REGISTER,
            [range[0], range[1], UFFDIO_REGISTER_MODE_MISSING, 0],
        )?;
        Ok(page)
    }

    fn ask<const N: usize>(&self, command: u32, mut words: [u64; N]) -> Result<(), i32> {
        match sys::ioctl(&self.faults, command, sys::address(&mut words)) {
            0 => Ok(()),
            errno => Err(errno),
        }
    }

    /// Where it is.
    pub fn address(&self) -> u64 {
        self.map.address
    }

    /// Returns when somebody waits for it.
    pub fn touched(&self) -> Result<(), String> {
        let faults = sys::dup(&self.faults).map_err(|e| format!("dup: errno {e}"))?;
        File::from(faults)
            .read_exact(&mut [0; MESSAGE])
            .map_err(|e| format!("userfaultfd: {e}"))
    }

    /// Has it begin with these bytes, and lets those go on that wait.
    pub fn give(&self, bytes: &[u8]) -> Result<(), i32> {
        // A whole page is copied, from any address.
        let mut from = [0; PAGE];
        from[..bytes.len()].copy_from_slice(bytes);
        let from = sys::address(&mut from);
        self.ask(UFFDIO_COPY, [self.address(), from, PAGE as u64, 0, 0])
    }
}
