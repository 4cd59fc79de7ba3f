// SPDX-License-Identifier: MIT OR Apache-2.0

//! A copy queue's ring: words, and pointers that count bytes since the queue was made.
//!
//! Packets have any size and may lie across the ring's end. The write pointer in memory is stored
//! before the doorbell is rung: the scheduler's firmware reads it there when it maps the queue.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Byte offsets of the pointers in their page, where ROCr has them.
pub(crate) const WRITE_POINTER: usize = 0x08;
pub(crate) const READ_POINTER: usize = 0x10;

/// How long a full ring may stand still.
const PATIENCE: Duration = Duration::from_secs(30);
/// Sleep between looks at a full ring.
const SLEEP: Duration = Duration::from_micros(50);

/// A ring, borrowed from the memory it lies in.
#[derive(Clone, Copy)]
pub(crate) struct Ring<'a> {
    /// A power of two of words.
    pub(crate) words: &'a [AtomicU32],
    pub(crate) write: &'a AtomicU64,
    pub(crate) read: &'a AtomicU64,
}

impl Ring<'_> {
    fn bytes(self) -> u64 {
        self.words.len() as u64 * 4
    }

    /// Bytes that the engine is done with.
    pub(crate) fn read(self) -> u64 {
        self.read.load(Ordering::Acquire)
    }

    /// Writes packets behind `written` bytes and rings the doorbell, once, or whenever the ring is
    /// full.
    ///
    /// # Errors
    ///
    /// [`Error::QueueFull`] when the engine has taken nothing from a full ring for half a minute,
    /// or a packet is larger than the ring.
    pub(crate) fn push<'p>(
        self,
        written: &mut u64,
        packets: impl Iterator<Item = &'p Vec<u32>>,
        bell: &AtomicU64,
    ) -> Result<()> {
        for packet in packets {
            let bytes = packet.len() as u64 * 4;
            if self.taken(*written) + bytes > self.bytes() {
                self.ring(*written, bell);
                self.wait(*written, bytes)?;
            }
            for (n, &word) in (*written / 4..).zip(packet) {
                let at = (n & (self.words.len() as u64 - 1)) as usize;
                if let Some(place) = self.words.get(at) {
                    place.store(word, Ordering::Relaxed);
                }
            }
            *written += bytes;
        }
        self.ring(*written, bell);
        Ok(())
    }

    /// Bytes in the ring that the engine is not done with.
    fn taken(self, written: u64) -> u64 {
        written.saturating_sub(self.read())
    }

    fn ring(self, written: u64, bell: &AtomicU64) {
        // Release: the packets are in memory before the engine is told of them.
        self.write.store(written, Ordering::Release);
        bell.store(written, Ordering::Release);
    }

    /// Waits for room, as long as the engine gets on.
    fn wait(self, written: u64, bytes: u64) -> Result<()> {
        let (mut since, mut last) = (Instant::now(), self.read());
        while self.taken(written) + bytes > self.bytes() {
            let now = self.read();
            if now != last {
                (since, last) = (Instant::now(), now);
            }
            if since.elapsed() > PATIENCE || bytes > self.bytes() {
                return Err(Error::QueueFull {
                    packets: self.words.len() as u32,
                });
            }
            std::thread::sleep(SLEEP);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_lie_across_the_end_and_wait_for_room() {
        let words: Vec<AtomicU32> = (0..16).map(|_| AtomicU32::new(0)).collect();
        let (write, read, bell) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let ring = Ring {
            words: &words,
            write: &write,
            read: &read,
        };
        let mut written = 0;
        let packet = |first: u32| (first..first + 7).collect::<Vec<u32>>();
        ring.push(&mut written, [packet(1), packet(11)].iter(), &bell)
            .unwrap();
        assert_eq!((written, bell.load(Ordering::Relaxed)), (56, 56));
        // The engine is done with the first; the third goes round the end.
        read.store(28, Ordering::Relaxed);
        ring.push(&mut written, [packet(21)].iter(), &bell).unwrap();
        let all: Vec<u32> = words.iter().map(|w| w.load(Ordering::Relaxed)).collect();
        assert_eq!(
            all,
            [23, 24, 25, 26, 27, 6, 7, 11, 12, 13, 14, 15, 16, 17, 21, 22]
        );
        assert_eq!(write.load(Ordering::Relaxed), 84);
        // A full ring is rung, and waited for until the engine gets on.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while bell.load(Ordering::Acquire) != 84 {
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_millis(5));
                read.store(84, Ordering::Release);
            });
            ring.push(&mut written, [packet(31)].iter(), &bell).unwrap();
        });
        assert_eq!(written, 112);
        // One that can't ever fit is refused.
        let large = vec![0; 17];
        assert!(ring.push(&mut written, [large].iter(), &bell).is_err());
    }
}
