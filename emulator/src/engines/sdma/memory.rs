// SPDX-License-Identifier: MIT OR Apache-2.0

//! Long accesses: copies and fills page by page, which a reset may end between two of them.

use super::queue::Queue;
use super::Engine;
use crate::memory::{Access, HostPage, Space, VmFault, PAGE};
use std::sync::atomic::{AtomicU32, Ordering};

/// Why an access ended before its end.
#[derive(Debug)]
pub(super) enum Ended {
    /// A page does not translate. Pages before it were written.
    Fault(VmFault),
    /// The queue is reset.
    Aborted,
}

impl From<VmFault> for Ended {
    fn from(fault: VmFault) -> Self {
        Self::Fault(fault)
    }
}

/// Bytes from `va` to the end of its page.
fn rest_of_page(va: u64) -> u64 {
    PAGE - va % PAGE
}

/// Whether a queue's packet in progress is to end at once.
#[derive(Clone, Copy)]
pub(super) struct Abort<'a> {
    /// A bit for each queue.
    asked: &'a AtomicU32,
    queue: u8,
}

impl<'a> Abort<'a> {
    /// Of a queue of an engine.
    pub fn of(engine: &'a Engine, queue: &Queue) -> Self {
        Self {
            asked: &engine.abort,
            queue: queue.slot.queue,
        }
    }
}

fn go_on(abort: Abort<'_>) -> Result<(), Ended> {
    match (abort.asked.load(Ordering::Acquire) >> abort.queue) & 1 {
        0 => Ok(()),
        _ => Err(Ended::Aborted),
    }
}

/// Copies bytes upwards.
///
/// # Errors
/// A page of either side does not translate, or the queue is reset.
pub(super) fn copy(
    space: Space<'_>,
    src: u64,
    dst: u64,
    bytes: u64,
    abort: Abort<'_>,
) -> Result<(), Ended> {
    space.takes(dst, bytes);
    let mut done = 0;
    while done < bytes {
        go_on(abort)?;
        let (from, to) = (src.wrapping_add(done), dst.wrapping_add(done));
        let n = (bytes - done).min(rest_of_page(from)).min(rest_of_page(to));
        let (read, write) = (
            space.page(from, Access::Read)?,
            space.page(to, Access::Write)?,
        );
        let piece = |page: HostPage, va: u64| {
            page.part((va % PAGE) as usize, n as usize)
                .and_then(|part| part.slice())
        };
        // Both are always there: a piece ends at the page's end.
        if let (Some(read), Some(part)) = (piece(read, from), piece(write, to)) {
            space.store(&write, (to % PAGE) as usize, n as usize, || {
                read.copy_to_volatile_slice(part);
            });
        }
        done += n;
    }
    Ok(())
}

/// Fills bytes with a pattern of four, which starts with the first.
///
/// # Errors
/// A page does not translate, or the queue is reset.
pub(super) fn fill(
    space: Space<'_>,
    dst: u64,
    pattern: [u8; 4],
    bytes: u64,
    abort: Abort<'_>,
) -> Result<(), Ended> {
    space.takes(dst, bytes);
    let page: Vec<u8> = pattern
        .iter()
        .copied()
        .cycle()
        .take(PAGE as usize)
        .collect();
    // Pages of VRAM that become zero are given back to the host, as many at once as lie in a row.
    let mut zero = Zero::new(space);
    let mut done = 0;
    while done < bytes {
        go_on(abort)?;
        let to = dst.wrapping_add(done);
        let n = (bytes - done).min(rest_of_page(to));
        if pattern == [0; 4] && n == PAGE && zero.add(space.page(to, Access::Write)?) {
            done += n;
            continue;
        }
        // A pattern of words starts at a word, one of bytes is the same everywhere.
        space.write(to, page.get(..n as usize).unwrap_or_default())?;
        done += n;
    }
    Ok(())
}

/// Pages of VRAM in a row that are to be zero. They are when this is dropped.
struct Zero<'a> {
    space: Space<'a>,
    start: u64,
    bytes: u64,
}

impl<'a> Zero<'a> {
    fn new(space: Space<'a>) -> Self {
        Self {
            space,
            start: 0,
            bytes: 0,
        }
    }

    /// Takes a page; false if it is none of VRAM.
    fn add(&mut self, page: HostPage) -> bool {
        let Some(offset) = self.space.vram().offset_of(&page) else {
            return false;
        };
        if offset != self.start + self.bytes {
            self.give_back();
            self.start = offset;
        }
        self.bytes += page.len() as u64;
        true
    }

    fn give_back(&mut self) {
        let (start, bytes) = (self.start, std::mem::take(&mut self.bytes));
        if bytes == 0 {
            return;
        }
        let vram = self.space.vram();
        self.space.store_vram(start, bytes, || {
            if vram.give_back(start, bytes) {
                return;
            }
            // A host that takes nothing back.
            let part = vram.part(start, bytes as usize);
            if let Some(slice) = part.and_then(|part| part.slice()) {
                slice.copy_from(&vec![0u8; bytes as usize]);
            }
        });
    }
}

impl Drop for Zero<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}
