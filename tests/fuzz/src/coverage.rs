// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of the module's basic blocks requests reach, by the kernel's kcov (Documentation/dev-tools/kcov.rst).
//!
//! Each thread has a trace of its own, which the kernel fills with return addresses while the thread
//! is in it. What work items and interrupts do isn't there.

use crate::shared::Shared;
use rkfd_bare::sys::{self, Map};
use std::os::fd::OwnedFd;

const FILE: &str = "/sys/kernel/debug/kcov";
/// Where the module's code begins.
const TEXT: &str = "/sys/module/rkfd/sections/.text";
/// Bytes of code from there on that are looked at: more than the module has.
const LEN: u64 = 16 << 20;
/// Words of a trace; the first one counts the others. What comes when it is full is lost.
const WORDS: usize = 1 << 16;
/// `KCOV_INIT_TRACE`, `KCOV_ENABLE` (include/uapi/linux/kcov.h).
const INIT_TRACE: u32 = 0x8008_6301;
const ENABLE: u32 = 0x6364;
/// `KCOV_TRACE_PC`.
const TRACE_PC: u64 = 0;
/// Offsets in a line.
const IN_LINE: usize = 16;

/// The blocks that any process has reached: a bit for each byte of the module's code.
pub struct Reached {
    bits: Map,
    text: u64,
}

impl Reached {
    /// For the module that is loaded.
    ///
    /// # Errors
    ///
    /// The module has no code to be seen here, or there is no memory.
    pub fn new() -> Result<Self, String> {
        let text = std::fs::read_to_string(TEXT).map_err(|e| format!("{TEXT}: {e}"))?;
        let digits = text.trim().trim_start_matches("0x");
        Ok(Self {
            bits: Map::shared(LEN as usize / 8).map_err(|e| format!("memory: errno {e}"))?,
            text: u64::from_str_radix(digits, 16).map_err(|e| format!("{TEXT}: {e}"))?,
        })
    }

    fn add(&self, address: u64) {
        let offset = address.wrapping_sub(self.text);
        if offset < LEN {
            let word = self.bits.atomic(offset as usize / 64 * 8);
            word.fetch_or(1 << (offset % 64), std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Prints the offsets from the code's begin, for `tests/fuzz/coverage.py`.
    pub fn print(&self) {
        let words = (0..LEN as usize / 64).map(|at| (at, self.bits.read(at * 8)));
        let offsets: Vec<usize> = words
            .filter(|&(_, word)| word != 0)
            .flat_map(|(at, word)| {
                (0..64).filter_map(move |b| ((word >> b) & 1 == 1).then_some(at * 64 + b))
            })
            .collect();
        for line in offsets.chunks(IN_LINE) {
            let line: Vec<String> = line.iter().map(|offset| format!("{offset:x}")).collect();
            println!("kcov {}", line.join(" "));
        }
    }
}

/// The calling thread's trace. It ends with the thread.
pub struct Trace<'a> {
    words: Map,
    _file: OwnedFd,
    reached: &'a Reached,
}

impl<'a> Trace<'a> {
    /// Begins.
    ///
    /// # Errors
    ///
    /// "WHAT: ENOENT" when the kernel has no kcov, ENOMEM when it has no memory.
    pub fn new(reached: &'a Reached) -> Result<Self, String> {
        let failed = |what: &str, e| format!("kcov: {what}: {}", rkfd_bare::errno::name(e));
        let file = sys::open(FILE).map_err(|e| failed(FILE, e))?;
        let asked = |what, errno| match errno {
            0 => Ok(()),
            e => Err(failed(what, e)),
        };
        asked(
            "KCOV_INIT_TRACE",
            sys::ioctl(&file, INIT_TRACE, WORDS as u64),
        )?;
        let rw = libc::PROT_READ | libc::PROT_WRITE;
        let words =
            Map::file(&file, 0, WORDS * 8, rw, libc::MAP_SHARED).map_err(|e| failed("mmap", e))?;
        asked("KCOV_ENABLE", sys::ioctl(&file, ENABLE, TRACE_PC))?;
        Ok(Self {
            words,
            _file: file,
            reached,
        })
    }

    /// Begins, if the run wants to know.
    ///
    /// # Errors
    ///
    /// As [`Trace::new`].
    pub fn of(shared: &'a Shared) -> Result<Option<Self>, String> {
        shared.reached.as_ref().map(Self::new).transpose()
    }

    /// Takes what came since the last time.
    pub fn take(&self) {
        let count = (self.words.read(0) as usize).min(WORDS - 1);
        (1..=count).for_each(|at| self.reached.add(self.words.read(at * 8)));
        self.words.write(0, 0);
    }
}
