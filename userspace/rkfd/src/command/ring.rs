// SPDX-License-Identifier: MIT OR Apache-2.0

//! A PM4 queue's ring: words. The write pointer counts them since the queue was made, in memory
//! and in the doorbell; the read pointer counts within the ring only, so that one word always
//! stays free, by which a full ring is told from an empty one.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Byte offsets of the pointers in their page.
pub(crate) const WRITE_POINTER: usize = 0x08;
pub(crate) const READ_POINTER: usize = 0x10;

/// How long a full ring may stand still.
const PATIENCE: Duration = Duration::from_secs(30);

/// A ring, borrowed from the memory it lies in.
#[derive(Clone, Copy)]
pub(crate) struct Ring<'a> {
    /// A power of two of words.
    pub(crate) words: &'a [AtomicU32],
    pub(crate) write: &'a AtomicU64,
    pub(crate) read: &'a AtomicU32,
}

impl Ring<'_> {
    /// Writes commands behind `written` words and rings the doorbell. With `wait`, waits for room.
    ///
    /// # Errors
    ///
    /// [`Error::QueueFull`] when there is no room, for half a minute with `wait`, or never will be.
    pub(crate) fn push(
        self,
        written: &mut u64,
        commands: &[u32],
        bell: &AtomicU64,
        wait: bool,
    ) -> Result<()> {
        let (start, size) = (Instant::now(), self.words.len());
        let full = Error::QueueFull {
            packets: size as u32,
        };
        while commands.len() > self.free(*written) {
            if commands.len() >= size || !wait || start.elapsed() > PATIENCE {
                return Err(full);
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        for (n, &word) in (*written..).zip(commands) {
            let at = (n % size.max(1) as u64) as usize;
            if let Some(place) = self.words.get(at) {
                place.store(word, Ordering::Relaxed);
            }
        }
        *written += commands.len() as u64;
        // Release: the commands are in memory before the packet processor is told of them.
        self.write.store(*written, Ordering::Release);
        bell.store(*written, Ordering::Release);
        Ok(())
    }

    /// Words that may be written.
    fn free(self, written: u64) -> usize {
        let size = self.words.len() as u64;
        // Acquire: what was read there comes before what is written next.
        let read = u64::from(self.read.load(Ordering::Acquire));
        let taken = written.wrapping_sub(read) % size.max(1);
        size.saturating_sub(taken + 1) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_lie_across_the_end_and_one_word_stays_free() {
        let words: Vec<AtomicU32> = (0..8).map(|_| AtomicU32::new(0)).collect();
        let (write, read, bell) = (AtomicU64::new(0), AtomicU32::new(0), AtomicU64::new(0));
        let ring = Ring {
            words: &words,
            write: &write,
            read: &read,
        };
        let mut written = 0;
        let full = |result| matches!(result, Err(Error::QueueFull { packets: 8 }));
        assert!(full(ring.push(&mut written, &[0; 8], &bell, true)));
        ring.push(&mut written, &[1, 2, 3, 4, 5], &bell, false)
            .unwrap();
        assert!(full(ring.push(&mut written, &[6, 7, 8], &bell, false)));
        read.store(5, Ordering::Relaxed);
        ring.push(&mut written, &[6, 7, 8, 9, 10, 11], &bell, false)
            .unwrap();
        let found: Vec<u32> = words.iter().map(|w| w.load(Ordering::Relaxed)).collect();
        assert_eq!(found, [9, 10, 11, 4, 5, 6, 7, 8]);
        assert_eq!(bell.load(Ordering::Relaxed), 11);
        assert_eq!(write.load(Ordering::Relaxed), 11);
        // The read pointer has gone round.
        read.store(11 % 8, Ordering::Relaxed);
        assert_eq!(ring.free(written), 7);
    }
}
