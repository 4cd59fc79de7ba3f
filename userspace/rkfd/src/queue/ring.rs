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

use crate::sync::AtomicU64;

/// 64-bit words of a packet.
pub(crate) const WORDS: usize = 8;
/// The place of a packet.
pub(crate) type Slot = [AtomicU64; WORDS];

/// A packet, in the stores that it takes. The first word has header, setup and two sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packet(pub(crate) [u64; WORDS]);

impl From<&[u32; 2 * WORDS]> for Packet {
    fn from(words: &[u32; 2 * WORDS]) -> Self {
        let word = |n: usize| words.get(n).copied().map_or(0, u64::from);
        Self(std::array::from_fn(|n| {
            word(2 * n) | (word(2 * n + 1) << 32)
        }))
    }
}

impl Packet {
    /// The packet in words of 32 bits.
    pub(crate) fn words(&self) -> [u32; 2 * WORDS] {
        std::array::from_fn(|n| {
            let word = self.0.get(n / 2).copied().unwrap_or(0);
            (word >> (n % 2 * 32)) as u32
        })
    }
}

/// A ring, borrowed from the memory it lies in.
#[derive(Clone, Copy)]
pub(crate) struct Ring<'a> {
    /// A power of two of slots.
    pub(crate) slots: &'a [Slot],
    /// Packets reserved.
    pub(crate) write: &'a AtomicU64,
    /// Packets the packet processor is done with.
    pub(crate) read: &'a AtomicU64,
}

impl Ring<'_> {
    /// Slots.
    pub(crate) fn packets(self) -> u64 {
        self.slots.len() as u64
    }

    /// Makes every slot free. Before the queue exists.
    pub(crate) fn clear(self) {
        for slot in self.slots {
            for (i, word) in slot.iter().enumerate() {
                let value = if i == 0 { TYPE_INVALID.into() } else { 0 };
                word.store(value, Ordering::Relaxed);
            }
        }
        self.write.store(0, Ordering::Relaxed);
        self.read.store(0, Ordering::Release);
    }

    /// Whether `count` slots are free behind packet `next`.
    fn has_room(self, next: u64, count: u64) -> bool {
        // Acquire: the packet processor's INVALID in the slots comes before ours.
        let used = next.wrapping_sub(self.read.load(Ordering::Acquire));
        self.packets()
            .checked_sub(count)
            .is_some_and(|most| used <= most)
    }

    /// Reserves the next `count` slots: the first packet's number, or `None` when not so many are free.
    ///
    /// The index is only advanced when the slots are free, so a producer that gives up leaves no
    /// hole that would stop the queue.
    pub(crate) fn reserve(self, count: u64) -> Option<u64> {
        let mut next = self.write.load(Ordering::Relaxed);
        loop {
            if !self.has_room(next, count) {
                let now = self.write.load(Ordering::Relaxed);
                if now == next {
                    return None;
                }
                // `next` was older than the read index.
                next = now;
                continue;
            }
            let after = next.wrapping_add(count);
            match self
                .write
                .compare_exchange_weak(next, after, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return Some(next),
                Err(now) => next = now,
            }
        }
    }

    /// The same for the only producer there is: without an atomic read-modify-write.
    pub(crate) fn reserve_alone(self, count: u64) -> Option<u64> {
        let next = self.write.load(Ordering::Relaxed);
        if !self.has_room(next, count) {
            return None;
        }
        self.write
            .store(next.wrapping_add(count), Ordering::Relaxed);
        Some(next)
    }

    /// Writes packets into reserved slots from number `first` on, the first word of each last.
    pub(crate) fn publish(self, first: u64, packets: &[Packet]) {
        let mask = self.packets().wrapping_sub(1);
        for (index, packet) in (0..).map(|n| first.wrapping_add(n)).zip(packets) {
            let Some(slot) = self.slots.get((index & mask) as usize) else {
                return;
            };
            let [first, rest @ ..] = slot;
            let [header, words @ ..] = &packet.0;
            for (place, &word) in rest.iter().zip(words) {
                place.store(word, Ordering::Relaxed);
            }
            first.store(*header, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use rkfd_hw::aql::TYPE_KERNEL_DISPATCH;

    use super::*;

    struct Fake {
        slots: Vec<Slot>,
        write: AtomicU64,
        read: AtomicU64,
    }

    impl Fake {
        fn new(packets: usize) -> Self {
            let slot = |_| std::array::from_fn(|_| AtomicU64::new(0));
            let fake = Self {
                slots: (0..packets).map(slot).collect(),
                write: AtomicU64::new(9),
                read: AtomicU64::new(9),
            };
            fake.ring().clear();
            fake
        }

        fn ring(&self) -> Ring<'_> {
            Ring {
                slots: &self.slots,
                write: &self.write,
                read: &self.read,
            }
        }

        /// What the packet processor does with the next packet: its payload, if it is there.
        fn consume(&self) -> Option<u64> {
            let read = self.read.load(Ordering::Relaxed);
            let slot = &self.slots[(read & (self.ring().packets() - 1)) as usize];
            let header = slot[0].load(Ordering::Acquire);
            if header as u8 == TYPE_INVALID {
                return None;
            }
            assert_eq!(header as u8, TYPE_KERNEL_DISPATCH);
            let payload = slot[1].load(Ordering::Relaxed);
            for word in &slot[1..] {
                assert_eq!(word.load(Ordering::Relaxed), payload, "a torn packet");
            }
            slot[0].store(TYPE_INVALID.into(), Ordering::Relaxed);
            self.read.store(read + 1, Ordering::Release);
            Some(payload)
        }
    }

    fn packet(payload: u64) -> Packet {
        let mut words = [payload; WORDS];
        words[0] = TYPE_KERNEL_DISPATCH.into();
        Packet(words)
    }

    #[test]
    fn a_packet_has_its_words_in_their_order() {
        let words = std::array::from_fn(|n| 0x1000_0000 * n as u32 + 7);
        let packet = Packet::from(&words);
        assert_eq!(packet.0[1], 0x3000_0007_2000_0007);
        assert_eq!(packet.words(), words);
    }

    #[test]
    fn several_slots_are_reserved_at_once_or_none() {
        for alone in [false, true] {
            let reserve = |ring: Ring<'_>, count| match alone {
                true => ring.reserve_alone(count),
                false => ring.reserve(count),
            };
            let fake = Fake::new(4);
            assert_eq!(reserve(fake.ring(), 3), Some(0));
            assert_eq!(reserve(fake.ring(), 2), None, "one is free");
            fake.ring().publish(0, &[packet(1), packet(2), packet(3)]);
            assert_eq!(fake.consume(), Some(1));
            assert_eq!(reserve(fake.ring(), 2), Some(3));
            // They lie across the end.
            fake.ring().publish(3, &[packet(4), packet(5)]);
            let rest: Vec<_> = std::iter::from_fn(|| fake.consume()).collect();
            assert_eq!(rest, [2, 3, 4, 5]);
            assert_eq!(reserve(fake.ring(), 5), None, "never so many");
            assert_eq!(reserve(fake.ring(), 4), Some(5));
        }
    }

    #[test]
    fn a_full_ring_reserves_nothing_until_a_packet_is_consumed() {
        let fake = Fake::new(4);
        for i in 0..4 {
            assert_eq!(fake.ring().reserve(1), Some(i));
        }
        assert_eq!(fake.ring().reserve(1), None);
        assert_eq!(
            fake.write.load(Ordering::Relaxed),
            4,
            "giving up leaves no hole"
        );
        fake.ring().publish(0, &[packet(7)]);
        assert_eq!(fake.consume(), Some(7));
        assert_eq!(fake.consume(), None, "packet 1 is reserved but not written");
        assert_eq!(fake.ring().reserve(1), Some(4));
        assert_eq!(fake.ring().reserve(1), None);
    }

    #[test]
    fn indices_wrap_around() {
        let fake = Fake::new(2);
        fake.write.store(u64::MAX, Ordering::Relaxed);
        fake.read.store(u64::MAX, Ordering::Relaxed);
        assert_eq!(fake.ring().reserve(1), Some(u64::MAX));
        assert_eq!(fake.ring().reserve(1), Some(0));
        assert_eq!(fake.ring().reserve(1), None);
    }

    #[test]
    fn many_producers_lose_and_tear_nothing() {
        const PRODUCERS: u64 = 8;
        const EACH: u64 = 5000;
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
                                match fake.ring().reserve(1) {
                                    Some(index) => break index,
                                    None => std::thread::yield_now(),
                                }
                            };
                            fake.ring().publish(index, &[packet(producer * EACH + i)]);
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
