// SPDX-License-Identifier: MIT OR Apache-2.0

//! The ring of a PM4 or an SDMA queue: words, and a write pointer that counts them since the queue
//! was made, in memory and in the doorbell. Packets have any size and may lie across the ring's
//! end. The write pointer in memory is stored before the doorbell is rung: the scheduler's firmware
//! reads it there when it maps the queue.
//!
//! The two kinds of queue count differently, see [`Count`].

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

/// How a ring's pointers count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    /// As SDMA: bytes since the queue was made.
    Bytes,
    /// As PM4: words. The read pointer, of 32 bits, counts within the ring only, so one word always
    /// stays free, by which a full ring is distinguished from an empty one.
    Words,
}

/// A ring, borrowed from the memory it lies in.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    /// A power of two of words.
    pub(crate) words: &'a [AtomicU32],
    pub(crate) write: &'a AtomicU64,
    pub(crate) read: &'a AtomicU64,
}

impl Words<'_> {
    fn size(self) -> u64 {
        self.words.len() as u64
    }

    /// The engine's pointer, in what it counts.
    pub(crate) fn read(self) -> u64 {
        self.read.load(Ordering::Acquire)
    }

    /// Writes packets behind `written` words and rings the doorbell, once, or whenever the ring is
    /// full and `wait` asks to wait for room.
    ///
    /// # Errors
    ///
    /// [`Error::QueueFull`] when there is no room for a packet: with `wait`, when the engine has
    /// taken nothing from a full ring for half a minute, or the packet is larger than the ring.
    pub(crate) fn push<'p>(
        self,
        count: Count,
        written: &mut u64,
        packets: impl IntoIterator<Item = &'p [u32]>,
        bell: &AtomicU64,
        wait: bool,
    ) -> Result<()> {
        let mut rung = *written;
        for packet in packets {
            let needed = packet.len() as u64;
            if needed > self.free(count, *written) {
                if !wait {
                    return Err(self.full());
                }
                if rung != *written {
                    rung = *written;
                    self.ring(count, rung, bell);
                }
                self.wait(count, *written, needed)?;
            }
            for (n, &word) in (*written..).zip(packet) {
                let at = (n & (self.size() - 1)) as usize;
                if let Some(place) = self.words.get(at) {
                    place.store(word, Ordering::Relaxed);
                }
            }
            *written += needed;
        }
        self.ring(count, *written, bell);
        Ok(())
    }

    fn full(self) -> Error {
        Error::QueueFull {
            packets: self.words.len() as u32,
        }
    }

    /// Words that may be written.
    fn free(self, count: Count, written: u64) -> u64 {
        // Acquire: what was read there comes before what is written next.
        match count {
            Count::Bytes => self.size() - written.saturating_sub(self.read() / 4).min(self.size()),
            Count::Words => {
                let read = u64::from(self.read() as u32);
                self.size() - 1 - (written.wrapping_sub(read) & (self.size() - 1))
            }
        }
    }

    fn ring(self, count: Count, written: u64, bell: &AtomicU64) {
        let pointer = match count {
            Count::Bytes => written * 4,
            Count::Words => written,
        };
        // Release: the packets are in memory before the engine hears of them.
        self.write.store(pointer, Ordering::Release);
        bell.store(pointer, Ordering::Release);
    }

    /// Waits for room, as long as the engine gets on.
    fn wait(self, count: Count, written: u64, needed: u64) -> Result<()> {
        let (mut since, mut last) = (Instant::now(), self.read());
        while needed > self.free(count, written) {
            let now = self.read();
            if now != last {
                (since, last) = (Instant::now(), now);
            }
            let most = self.size() - u64::from(count == Count::Words);
            if since.elapsed() > PATIENCE || needed > most {
                return Err(self.full());
            }
            std::thread::sleep(SLEEP);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Memory {
        words: Vec<AtomicU32>,
        write: AtomicU64,
        read: AtomicU64,
        bell: AtomicU64,
    }

    impl Memory {
        fn new(words: usize) -> Self {
            Self {
                words: (0..words).map(|_| AtomicU32::new(0)).collect(),
                write: AtomicU64::new(0),
                read: AtomicU64::new(0),
                bell: AtomicU64::new(0),
            }
        }

        fn ring(&self) -> Words<'_> {
            Words {
                words: &self.words,
                write: &self.write,
                read: &self.read,
            }
        }

        fn contents(&self) -> Vec<u32> {
            let words = self.words.iter();
            words.map(|word| word.load(Ordering::Relaxed)).collect()
        }
    }

    #[test]
    fn packets_lie_across_the_end_and_wait_for_room() {
        let memory = Memory::new(16);
        let (read, bell) = (&memory.read, &memory.bell);
        let mut written = 0;
        let packet = |first: u32| (first..first + 7).collect::<Vec<u32>>();
        let push = |written: &mut u64, packets: &[Vec<u32>]| {
            let packets = packets.iter().map(Vec::as_slice);
            let ring = memory.ring();
            ring.push(Count::Bytes, written, packets, bell, true)
        };
        push(&mut written, &[packet(1), packet(11)]).unwrap();
        assert_eq!((written, bell.load(Ordering::Relaxed)), (14, 56));
        // The engine is done with the first; the third goes round the end.
        read.store(28, Ordering::Relaxed);
        push(&mut written, &[packet(21)]).unwrap();
        assert_eq!(
            memory.contents(),
            [23, 24, 25, 26, 27, 6, 7, 11, 12, 13, 14, 15, 16, 17, 21, 22]
        );
        assert_eq!(memory.write.load(Ordering::Relaxed), 84);
        // A full ring is rung, and waited for until the engine gets on.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while bell.load(Ordering::Acquire) != 84 {
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_millis(5));
                read.store(84, Ordering::Release);
            });
            push(&mut written, &[packet(31)]).unwrap();
        });
        assert_eq!(written, 28);
        // One that can't ever fit is refused.
        assert!(push(&mut written, &[vec![0; 17]]).is_err());
    }

    #[test]
    fn commands_lie_across_the_end_and_one_word_stays_free() {
        let memory = Memory::new(8);
        let mut written = 0;
        let push = |written: &mut u64, commands: &[u32], wait| {
            let ring = memory.ring();
            ring.push(Count::Words, written, [commands], &memory.bell, wait)
        };
        let full = |result| matches!(result, Err(Error::QueueFull { packets: 8 }));
        assert!(full(push(&mut written, &[0; 8], true)));
        push(&mut written, &[1, 2, 3, 4, 5], false).unwrap();
        assert!(full(push(&mut written, &[6, 7, 8], false)));
        memory.read.store(5, Ordering::Relaxed);
        push(&mut written, &[6, 7, 8, 9, 10, 11], false).unwrap();
        assert_eq!(memory.contents(), [9, 10, 11, 4, 5, 6, 7, 8]);
        assert_eq!(memory.bell.load(Ordering::Relaxed), 11);
        assert_eq!(memory.write.load(Ordering::Relaxed), 11);
        // The read pointer has gone round.
        memory.read.store(11 % 8, Ordering::Relaxed);
        assert_eq!(memory.ring().free(Count::Words, written), 7);
    }
}
