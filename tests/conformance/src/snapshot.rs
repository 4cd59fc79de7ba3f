// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the driver holds, as a program can see it: memory, counters, and the ids that it gives next.

use crate::fixture::{Ctx, GTT};
use rkfd_uapi::event::EVENT_MEMORY;
use rkfd_uapi::ioctl as requests;
use std::fs;

/// rkfd's counters; empty with another driver.
pub fn counts() -> String {
    fs::read_to_string("/sys/kernel/debug/rkfd/counts").unwrap_or_default()
}

/// The counters in one line, for a report.
pub fn in_a_line(counts: &str) -> String {
    counts.lines().collect::<Vec<_>>().join(", ")
}

/// Things that a failing call must leave as they are.
#[derive(PartialEq, Eq, Debug)]
pub struct Snapshot {
    available: u64,
    /// rkfd's counters; empty with another driver.
    counts: String,
    /// The ids that the driver gives next. They are the lowest free ones, so they reveal anything that
    /// was left behind.
    next_event: u32,
    next_handle: Option<u64>,
    next_queue: Option<u32>,
}

impl Snapshot {
    /// Takes a snapshot. Whatever is made for it is freed again.
    pub fn take(c: &mut Ctx) -> Self {
        let (errno, event) = c.create_event(EVENT_MEMORY, false, 0);
        let next_event = match errno {
            0 => {
                c.destroy_event(event.event_id);
                event.event_id
            }
            _ => u32::MAX,
        };
        let next_handle = c.render.is_some().then(|| {
            let mut args = c.alloc_args(4096, GTT);
            match c.raw(&requests::ALLOC_MEMORY_OF_GPU, &mut args) {
                0 => {
                    c.free(args.handle);
                    args.handle
                }
                _ => u64::MAX,
            }
        });
        // A queue with a share of 0 never reaches the hardware.
        let next_queue =
            c.buffers
                .is_some()
                .then(|| match c.new_queue(|args| args.queue_percentage = 0) {
                    Ok(args) => {
                        c.destroy_queue(args.queue_id);
                        args.queue_id
                    }
                    Err(_) => u32::MAX,
                });
        Self {
            available: c.available(),
            counts: counts(),
            next_event,
            next_handle,
            next_queue,
        }
    }

    /// The differences between two snapshots, as text.
    pub fn difference(&self, after: &Self) -> Option<String> {
        let mut found = Vec::new();
        let mut look = |what: &str, a: String, b: String| {
            if a != b {
                found.push(format!("{what} {a} -> {b}"));
            }
        };
        look(
            "available memory",
            self.available.to_string(),
            after.available.to_string(),
        );
        look(
            "counters",
            in_a_line(&self.counts),
            in_a_line(&after.counts),
        );
        look(
            "next event id",
            self.next_event.to_string(),
            after.next_event.to_string(),
        );
        look(
            "next handle",
            format!("{:x?}", self.next_handle),
            format!("{:x?}", after.next_handle),
        );
        look(
            "next queue id",
            format!("{:?}", self.next_queue),
            format!("{:?}", after.next_queue),
        );
        (!found.is_empty()).then(|| found.join("; "))
    }
}
