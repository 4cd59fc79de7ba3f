// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ring by itself beside its floors.

use crate::floor::{packets, Bytes, Floor};
use crate::library::queue::ring::{Packet, Ring, Slot};
use crate::{time, Case, PACKETS};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Threads that share a ring.
const THREADS: usize = 4;

/// A ring in plain memory, which nobody reads.
struct Queue {
    slots: Vec<Slot>,
    write: AtomicU64,
    read: AtomicU64,
    bell: AtomicU64,
}

impl Queue {
    fn new() -> &'static Self {
        let slot = |_| std::array::from_fn(|_| AtomicU64::new(0));
        Box::leak(Box::new(Self {
            slots: (0..PACKETS).map(slot).collect(),
            write: AtomicU64::new(0),
            read: AtomicU64::new(0),
            bell: AtomicU64::new(0),
        }))
    }

    fn ring(&self) -> Ring<'_> {
        Ring {
            slots: &self.slots,
            write: &self.write,
            read: &self.read,
        }
    }

    /// All slots are free again.
    fn empty(&self) {
        let written = self.write.load(Ordering::Relaxed);
        self.read.store(written, Ordering::Relaxed);
    }

    #[inline(always)]
    fn push(&self, packets: &[Packet], reserve: impl Fn(Ring<'_>, u64) -> Option<u64>) {
        let count = packets.len() as u64;
        if let Some(first) = reserve(self.ring(), count) {
            self.ring().publish(first, packets);
            self.bell.store(first + count - 1, Ordering::Release);
        }
    }

    fn shared(&self, packets: &[Packet]) {
        self.push(packets, |ring, count| ring.reserve(count));
    }

    fn alone(&self, packets: &[Packet]) {
        self.push(packets, |ring, count| ring.reserve_alone(count));
    }
}

/// The time of threads that begin at once, each with its part of the packets: from the first one's begin to the
/// last one's end.
fn together<T: Sync>(packets: &[T], work: impl Fn(&[T]) + Sync) -> f64 {
    let begin = Barrier::new(THREADS);
    let times = std::thread::scope(|scope| {
        let parts = packets.chunks(packets.len() / THREADS);
        let threads: Vec<_> = parts
            .map(|part| {
                let (begin, work) = (&begin, &work);
                scope.spawn(move || {
                    begin.wait();
                    let start = Instant::now();
                    work(part);
                    (start, Instant::now())
                })
            })
            .collect();
        let times = threads.into_iter().flat_map(|thread| thread.join());
        times.collect::<Vec<_>>()
    });
    let (first, last) = (
        times.iter().map(|t| t.0).min(),
        times.iter().map(|t| t.1).max(),
    );
    let took = first
        .zip(last)
        .map_or(Duration::MAX, |(first, last)| last - first);
    took.as_nanos() as f64 / packets.len() as f64
}

/// All cases.
pub fn cases() -> Vec<Case<'static>> {
    let floor: &Floor = Box::leak(Box::new(Floor::new(PACKETS)));
    let bytes: &[Bytes] = packets(PACKETS).leak();
    let words: Vec<Packet> = bytes.iter().map(|bytes| Packet(bytes.0)).collect();
    let words: &[Packet] = words.leak();
    let queue = Queue::new();
    let put = |index: u64, packet: &Bytes| {
        // SAFETY: The index is this thread's: of one thread, or of the shared counter's, which comes round
        // only after all slots.
        unsafe { floor.put(index, packet) }
    };
    let batch = |size: usize| {
        move || {
            queue.empty();
            time(|| words.chunks_exact(size).for_each(|some| queue.shared(some)))
        }
    };
    let case = |name, against, round: Box<dyn FnMut() -> f64>| Case {
        name,
        against,
        round,
    };
    vec![
        case("floor: copy, header, doorbell", None, {
            Box::new(move || time(|| (0..).zip(bytes).for_each(|(n, packet)| put(n, packet))))
        }),
        case("floor with an atomic add, for those who share", None, {
            Box::new(move || time(|| bytes.iter().for_each(|packet| put(floor.next(), packet))))
        }),
        case("one at a time, one producer", Some((0, 2.0)), {
            Box::new(move || {
                queue.empty();
                time(|| {
                    words
                        .iter()
                        .for_each(|one| queue.alone(std::slice::from_ref(one)))
                })
            })
        }),
        case("batches of 64", Some((0, 1.3)), Box::new(batch(64))),
        case("batches of 4096", Some((0, 1.3)), Box::new(batch(PACKETS))),
        case(
            "one at a time, many producers",
            Some((1, 1.3)),
            Box::new(batch(1)),
        ),
        case("floor with an atomic add, four threads", None, {
            Box::new(move || {
                together(bytes, |part| {
                    part.iter().for_each(|packet| put(floor.next(), packet));
                })
            })
        }),
        case("one at a time, four threads", Some((6, 1.3)), {
            Box::new(move || {
                queue.empty();
                together(words, |part| {
                    part.iter()
                        .for_each(|one| queue.shared(std::slice::from_ref(one)));
                })
            })
        }),
    ]
}
