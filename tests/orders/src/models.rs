// SPDX-License-Identifier: MIT OR Apache-2.0

//! The models. Each panics when an order breaks what the library promises.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use loom::thread;
use rkfd_hw::aql::{TYPE_INVALID, TYPE_KERNEL_DISPATCH};

use crate::driver::{lock, Link};
use crate::memory::Pool;
use crate::queue::ring::{Packet, Ring, Slot, WORDS};
use crate::signal::{Completion, Done, Events, Signal, SIZE};
use crate::sync::{AtomicU32, AtomicU64, Condvar, Mutex};
use crate::sys::decrement;
use crate::PREEMPTIONS;

/// Runs a model in every order.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(model);
}

/// A ring, and the packet processor that reads it.
struct Queue {
    slots: Vec<Slot>,
    write: AtomicU64,
    read: AtomicU64,
}

impl Queue {
    fn new(packets: usize) -> Arc<Self> {
        let queue = Self {
            slots: (0..packets)
                .map(|_| std::array::from_fn(|_| AtomicU64::new(0)))
                .collect(),
            write: AtomicU64::new(0),
            read: AtomicU64::new(0),
        };
        queue.ring().clear();
        Arc::new(queue)
    }

    fn ring(&self) -> Ring<'_> {
        Ring {
            slots: &self.slots,
            write: &self.write,
            read: &self.read,
        }
    }

    /// Writes a packet of one value, when there is room.
    fn submit(&self, value: u64) {
        let index = loop {
            match self.ring().reserve(1) {
                Some(index) => break index,
                None => thread::yield_now(),
            }
        };
        let mut packet = [value; WORDS];
        packet[0] = TYPE_KERNEL_DISPATCH.into();
        self.ring().publish(index, &[Packet(packet)]);
    }

    /// Waits for the next packet and takes it, as HSA's packet processor does (HSA Platform System
    /// Architecture 1.2, section 2.9.1): the value of it.
    fn take(&self) -> u64 {
        let read = self.read.load(Relaxed);
        let words = &self.slots[read as usize % self.slots.len()];
        while words[0].load(Acquire) == u64::from(TYPE_INVALID) {
            thread::yield_now();
        }
        // The first and the last: more would be more orders of the same kind.
        let value = words[1].load(Relaxed);
        assert_eq!(value, words[WORDS - 1].load(Relaxed), "a torn packet");
        words[0].store(TYPE_INVALID.into(), Relaxed);
        self.read.store(read + 1, Release);
        value
    }
}

/// Two producers, who share a ring with room for both: each packet arrives once and whole.
pub fn two_producers() {
    check(|| {
        let queue = Queue::new(2);
        let other = queue.clone();
        let producer = thread::spawn(move || other.submit(1));
        let other = queue.clone();
        let processor = thread::spawn(move || [other.take(), other.take()]);
        queue.submit(2);
        let mut taken = processor.join().unwrap();
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
        producer.join().unwrap();
    });
}

/// A slot is written again only when the packet processor is done with it.
pub fn a_slot_again() {
    check(|| {
        let queue = Queue::new(1);
        let other = queue.clone();
        let processor = thread::spawn(move || [other.take(), other.take()]);
        queue.submit(1);
        queue.submit(2);
        assert_eq!(processor.join().unwrap(), [1, 2]);
    });
}

/// What the GPU wrote is there once the value of a signal is 0, and what the program wrote before
/// it set the value is there for the GPU.
pub fn a_value() {
    check(|| {
        let link = Link::new();
        let pool = Pool::new(&link, SIZE);
        let signal = Arc::new(Signal::new(&pool, 0, None).unwrap());
        let data = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let (theirs, [argument, result]) = (signal.clone(), [0, 1]);
        let memory = data.clone();
        let gpu = thread::spawn(move || {
            while theirs.value() != 1 {
                thread::yield_now();
            }
            memory[result].store(memory[argument].load(Relaxed) + 1, Relaxed);
            decrement(&link, theirs.completion().value);
        });
        data[argument].store(4, Relaxed);
        signal.set(1);
        while signal.value() > 0 {
            thread::yield_now();
        }
        assert_eq!(data[result].load(Relaxed), 5);
        gpu.join().unwrap();
    });
}

/// What the GPU does at the end of a packet: the value first, then the event.
fn complete(link: &Link, completion: Completion) {
    decrement(link, completion.value);
    link.driver.kfd.set_event(completion.event).unwrap();
}

/// A program that sleeps until a signal is 0 wakes.
pub fn a_sleeper() {
    check(|| {
        let link = Link::new();
        let pool = Pool::new(&link, SIZE);
        let events = Events::new(&link.driver);
        let signal = Signal::new(&pool, 1, Some(&events)).unwrap();
        let completion = signal.completion();
        let gpu = thread::spawn(move || complete(&link, completion));
        signal.wait(None, None, || Ok(())).unwrap();
        assert_eq!(signal.value(), 0);
        gpu.join().unwrap();
    });
}

/// An executor of one future: whether that was woken.
struct Executor {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Executor {
    fn wake(self: Arc<Self>) {
        *lock(&self.woken) = true;
        self.changed.notify_one();
    }
}

/// Polls a future when it is woken, until it ends.
fn block_on(mut future: Done<'_>) {
    let executor = Arc::new(Executor {
        woken: Mutex::new(true),
        changed: Condvar::new(),
    });
    let waker = executor.clone().into();
    let mut context = Context::from_waker(&waker);
    loop {
        let mut woken = lock(&executor.woken);
        while !std::mem::take(&mut *woken) {
            let changed = executor.changed.wait(woken);
            woken = changed.unwrap_or_else(PoisonError::into_inner);
        }
        drop(woken);
        if let Poll::Ready(result) = Pin::new(&mut future).poll(&mut context) {
            return result.unwrap();
        }
    }
}

/// A future whose work ends while its executor polls it, while the library's thread starts, or while
/// that sleeps, is woken, and the thread ends with the last of the events.
pub fn a_future() {
    check(|| {
        let link = Link::new();
        let pool = Pool::new(&link, SIZE);
        let events = Events::new(&link.driver);
        let signal = Signal::new(&pool, 1, Some(&events)).unwrap();
        let completion = signal.completion();
        let gpu = thread::spawn(move || complete(&link, completion));
        block_on(Done::new(Some(&signal), None));
        assert_eq!(signal.value(), 0);
        gpu.join().unwrap();
    });
}

/// A future that has to wait when the thread may already sleep for another, whose work does not end.
pub fn a_second_future() {
    check(|| {
        let link = Link::new();
        let pool = Pool::new(&link, SIZE);
        let events = Events::new(&link.driver);
        let make = || Signal::new(&pool, 1, Some(&events)).unwrap();
        let (first, second) = (make(), make());
        let completion = second.completion();
        let mut forgotten = Done::new(Some(&first), None);
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut forgotten).poll(&mut context).is_pending());
        let gpu = thread::spawn(move || complete(&link, completion));
        block_on(Done::new(Some(&second), None));
        gpu.join().unwrap();
    });
}

/// A piece of the pool has one user at a time, and what the last one did is before what the next
/// one does.
pub fn a_piece() {
    check(|| {
        let pool = Pool::new(&Link::new(), SIZE);
        let memory = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let users: Vec<_> = (0..2)
            .map(|_| {
                let (pool, memory) = (pool.clone(), memory.clone());
                thread::spawn(move || {
                    let piece = pool.take().unwrap();
                    let (_, offset) = piece.place().unwrap();
                    // The memory of a piece, whose accesses loom checks as plain ones.
                    let word = &memory[offset / SIZE];
                    word.store(word.load(Relaxed) + 1, Relaxed);
                })
            })
            .collect();
        users.into_iter().for_each(|user| user.join().unwrap());
        let uses: u32 = memory.iter().map(|word| word.load(Relaxed)).sum();
        assert_eq!(uses, 2);
    });
}
