// SPDX-License-Identifier: MIT OR Apache-2.0

//! The ring of packets: how producers reserve slots and publish packets, without locks and
//! without system calls.
//!
//! The write index counts packets reserved, the read index those the packet processor is done
//! reading; the slot of packet `i` is `i` modulo the ring's size. A producer reserves a slot by
//! advancing the write index, writes the packet's words but the first, and stores the first, which
//! holds the type, with release order. Until then the type in the slot is INVALID, which the
//! packet processor wrote when it freed the slot, so it waits there.
//!
//! Source: HSA Platform System Architecture 1.2, section 2.8 and 2.9.

use std::sync::atomic::Ordering;

use rkfd_hw::aql::TYPE_INVALID;

use crate::sync::{AtomicU32, AtomicU64};

/// Words of a packet.
pub(crate) const WORDS: usize = 16;

/// A ring, borrowed from the memory it lies in.
#[derive(Clone, Copy)]
pub(crate) struct Ring<'a> {
    /// All packets' words: a power of two of packets.
    pub(crate) words: &'a [AtomicU32],
    /// Packets reserved.
    pub(crate) write: &'a AtomicU64,
    /// Packets the packet processor is done with.
    pub(crate) read: &'a AtomicU64,
}

impl Ring<'_> {
    /// Slots.
    pub(crate) fn packets(self) -> u64 {
        (self.words.len() / WORDS) as u64
    }

    /// Makes every slot free. Before the queue exists.
    pub(crate) fn clear(self) {
        for slot in self.words.chunks_exact(WORDS) {
            for (i, word) in slot.iter().enumerate() {
                word.store(
                    if i == 0 { TYPE_INVALID.into() } else { 0 },
                    Ordering::Relaxed,
                );
            }
        }
        self.write.store(0, Ordering::Relaxed);
        self.read.store(0, Ordering::Release);
    }

    /// Reserves the next slot: the packet's number, or `None` when all slots are in use.
    ///
    /// The index is only advanced when the slot is free, so a producer that gives up leaves no
    /// hole that would stop the queue.
    pub(crate) fn reserve(self) -> Option<u64> {
        let mut next = self.write.load(Ordering::Relaxed);
        loop {
            // Acquire: the packet processor's INVALID in the slot comes before ours.
            let read = self.read.load(Ordering::Acquire);
            if next.wrapping_sub(read) >= self.packets() {
                let now = self.write.load(Ordering::Relaxed);
                if now == next {
                    return None;
                }
                // `next` was older than `read`.
                next = now;
                continue;
            }
            let after = next.wrapping_add(1);
            match self
                .write
                .compare_exchange_weak(next, after, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return Some(next),
                Err(now) => next = now,
            }
        }
    }

    /// Writes packet `index` into its reserved slot, its first word last.
    pub(crate) fn publish(self, index: u64, packet: &[u32; WORDS]) {
        let slot = (index & (self.packets() - 1)) as usize;
        let Some(words) = self.words.chunks_exact(WORDS).nth(slot) else {
            return;
        };
        let both = words.iter().zip(packet);
        for (word, &value) in both.skip(1) {
            word.store(value, Ordering::Relaxed);
        }
        if let (Some(word), Some(&value)) = (words.first(), packet.first()) {
            word.store(value, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use rkfd_hw::aql::TYPE_KERNEL_DISPATCH;

    use super::*;

    struct Fake {
        words: Vec<AtomicU32>,
        write: AtomicU64,
        read: AtomicU64,
    }

    impl Fake {
        fn new(packets: usize) -> Self {
            let words = (0..packets * WORDS).map(|_| AtomicU32::new(0)).collect();
            let fake = Self {
                words,
                write: AtomicU64::new(9),
                read: AtomicU64::new(9),
            };
            fake.ring().clear();
            fake
        }

        fn ring(&self) -> Ring<'_> {
            Ring {
                words: &self.words,
                write: &self.write,
                read: &self.read,
            }
        }

        /// What the packet processor does with the next packet: its payload, if it is there.
        fn consume(&self) -> Option<u32> {
            let read = self.read.load(Ordering::Relaxed);
            let ring = self.ring();
            let at = (read & (ring.packets() - 1)) as usize * WORDS;
            let header = self.words[at].load(Ordering::Acquire);
            if header as u8 == TYPE_INVALID {
                return None;
            }
            assert_eq!(header as u8, TYPE_KERNEL_DISPATCH);
            let payload = self.words[at + 1].load(Ordering::Relaxed);
            for word in &self.words[at + 1..at + WORDS] {
                assert_eq!(word.load(Ordering::Relaxed), payload, "a torn packet");
            }
            self.words[at].store(TYPE_INVALID.into(), Ordering::Relaxed);
            self.read.store(read + 1, Ordering::Release);
            Some(payload)
        }
    }

    fn packet(payload: u32) -> [u32; WORDS] {
        let mut words = [payload; WORDS];
        words[0] = TYPE_KERNEL_DISPATCH.into();
        words
    }

    #[test]
    fn a_full_ring_reserves_nothing_until_a_packet_is_consumed() {
        let fake = Fake::new(4);
        for i in 0..4 {
            assert_eq!(fake.ring().reserve(), Some(i));
        }
        assert_eq!(fake.ring().reserve(), None);
        assert_eq!(
            fake.write.load(Ordering::Relaxed),
            4,
            "giving up leaves no hole"
        );
        fake.ring().publish(0, &packet(7));
        assert_eq!(fake.consume(), Some(7));
        assert_eq!(fake.consume(), None, "packet 1 is reserved but not written");
        assert_eq!(fake.ring().reserve(), Some(4));
        assert_eq!(fake.ring().reserve(), None);
    }

    #[test]
    fn indices_wrap_around() {
        let fake = Fake::new(2);
        fake.write.store(u64::MAX, Ordering::Relaxed);
        fake.read.store(u64::MAX, Ordering::Relaxed);
        assert_eq!(fake.ring().reserve(), Some(u64::MAX));
        assert_eq!(fake.ring().reserve(), Some(0));
        assert_eq!(fake.ring().reserve(), None);
    }

    #[test]
    fn many_producers_lose_and_tear_nothing() {
        const PRODUCERS: u32 = 8;
        const EACH: u32 = 5000;
        let fake = Fake::new(16);
        let seen = {
            let done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let consumer = scope.spawn(|| {
                    let mut seen = Vec::new();
                    while seen.len() < (PRODUCERS * EACH) as usize {
                        match fake.consume() {
                            Some(payload) => seen.push(payload),
                            None if done.load(Ordering::Relaxed) => break,
                            None => std::thread::yield_now(),
                        }
                    }
                    seen
                });
                for producer in 0..PRODUCERS {
                    let fake = &fake;
                    scope.spawn(move || {
                        for i in 0..EACH {
                            let index = loop {
                                match fake.ring().reserve() {
                                    Some(index) => break index,
                                    None => std::thread::yield_now(),
                                }
                            };
                            fake.ring().publish(index, &packet(producer * EACH + i));
                        }
                    });
                }
                consumer.join().unwrap()
            })
        };
        let mut last = vec![None; PRODUCERS as usize];
        for payload in &seen {
            let last = &mut last[(payload / EACH) as usize];
            assert!(
                last.is_none_or(|last| last < *payload),
                "a producer's packets keep order"
            );
            *last = Some(*payload);
        }
        let mut sorted = seen;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..PRODUCERS * EACH));
    }
}
