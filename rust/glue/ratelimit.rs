// SPDX-License-Identifier: GPL-2.0

//! Messages that programs can cause, limited in number.
//!
//! The kernel crate of 7.3 has no `dev_err_ratelimited!`.
//!
//! Each place in the code has its own limit, that of `printk_ratelimited`: some messages in five
//! seconds. How many were left out is printed with the next one that isn't.

use super::user;
use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// Nanoseconds (`DEFAULT_RATELIMIT_INTERVAL`).
const INTERVAL: u64 = 5_000_000_000;
/// Messages in that time (`DEFAULT_RATELIMIT_BURST`).
const BURST: u32 = 10;

/// The limit of one place.
pub(crate) struct Limit {
    /// When the interval began, in nanoseconds; 0 before the first.
    begin: Atomic<u64>,
    printed: Atomic<u32>,
    missed: Atomic<u32>,
}

impl Limit {
    /// Nothing was printed yet.
    pub(crate) const fn new() -> Self {
        Self {
            begin: Atomic::new(0),
            printed: Atomic::new(0),
            missed: Atomic::new(0),
        }
    }

    /// Whether a message may be printed now: then the number of those left out since the last one.
    pub(crate) fn allows(&self) -> Option<u32> {
        let now = user::boottime_ns();
        let begin = self.begin.load(Relaxed);
        let over = begin == 0 || now.saturating_sub(begin) >= INTERVAL;
        if over && self.begin.cmpxchg(begin, now, Relaxed).is_ok() {
            self.printed.store(0, Relaxed);
        }
        // Counted only while it is below the burst, so that it can't wrap.
        if self.printed.load(Relaxed) < BURST && self.printed.fetch_add(1, Relaxed) < BURST {
            return Some(self.missed.xchg(0, Relaxed));
        }
        self.missed.fetch_add(1, Relaxed);
        None
    }
}

/// Prints a message of a device by one of the kernel's macros, unless there were too many of its kind:
/// `ratelimited!(dev_err, dev, "..\n", ..)`.
macro_rules! ratelimited {
    ($print:ident, $dev:expr, $($message:tt)*) => {{
        static LIMIT: $crate::glue::ratelimit::Limit = $crate::glue::ratelimit::Limit::new();
        if let Some(missed) = LIMIT.allows() {
            if missed > 0 {
                $print!($dev, "{} messages of this kind were left out:\n", missed);
            }
            $print!($dev, $($message)*);
        }
    }};
}
pub(crate) use ratelimited;
