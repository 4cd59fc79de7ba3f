// SPDX-License-Identifier: MIT OR Apache-2.0

//! Signals: 64-bit values in memory that the packet processor decrements and programs wait for.
//!
//! A waiter may spin, which makes no system call, or sleep on the driver's event. The packet
//! processor decrements the value first, then writes the event's slot in the signal page and
//! raises the interrupt; a waiter looks at the value before and after each sleep, and never sleeps
//! longer than a second at a time, so a wake-up that another waiter of the same event used up
//! costs at most that.

mod events;
mod fault;
#[cfg(feature = "async")]
mod future;
#[cfg(feature = "async")]
mod reactor;

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rkfd_hw::aql::{self, SIGNAL_KIND_USER};

use crate::driver::Link;
use crate::error::{Error, Result};
use crate::memory::{Piece, Pool};
use crate::sync::{AtomicU64, SPINS};

use events::Event;
pub(crate) use events::Events;
#[cfg(feature = "async")]
pub use future::Done;

/// Offset of the value in a signal.
const VALUE: usize = aql::Signal::VALUE.word() * 4;
/// Offsets of the device's clock when the work began and when it ended.
const TIMES: [usize; 2] = [
    aql::Signal::START_TS.word() * 4,
    aql::Signal::END_TS.word() * 4,
];
/// Bytes of a signal.
pub(crate) const SIZE: usize = 64;
/// Longest sleep at a time, in milliseconds.
const SLEEP: u32 = 1000;

/// What ends work: a value that the GPU decrements, and an event that wakes who sleeps.
///
/// ```
/// let (gpu, _driver) = rkfd::fake::open();
/// let queue = gpu.queue(rkfd::QueueOptions::default())?;
/// let gate = gpu.signal(1)?;
/// let barrier = queue.barrier_and(&[&gate])?;
/// assert!(!barrier.is_done());
/// gate.set(0);
/// barrier.wait()?;
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Debug)]
pub struct Signal {
    piece: Piece,
    event: Option<Event>,
}

/// Where and how a queue that is no AQL queue reports the end of its work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    /// Address of the signal's value.
    pub(crate) value: u64,
    /// The event's slot in the signal page, and its id; 0 without one.
    pub(crate) mailbox: u64,
    pub(crate) event: u32,
}

impl Signal {
    /// Makes a signal, with an event if there are `events` to take one from.
    pub(crate) fn new(pool: &Arc<Pool>, value: i64, events: Option<&Arc<Events>>) -> Result<Self> {
        let piece = pool.take()?;
        let event = events
            .map(|events| events.take(piece.link()))
            .transpose()?
            .flatten();
        let (mailbox, id) = event
            .as_ref()
            .map_or((0, 0), |event| (event.mailbox, event.id));
        let words = aql::Signal::zeroed()
            .with(aql::Signal::KIND, SIGNAL_KIND_USER as u64)
            .with(aql::Signal::VALUE, value as u64)
            .with(aql::Signal::EVENT_MAILBOX_PTR, mailbox)
            .with(aql::Signal::EVENT_ID, id);
        let bytes: Vec<u8> = words.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        piece.write(&bytes)?;
        Ok(Self { piece, event })
    }

    /// Address of the signal: its handle in packets.
    pub fn address(&self) -> u64 {
        self.piece.address()
    }

    /// Its memory, which is no other signal's as long as this is held.
    pub(crate) fn memory(&self) -> Piece {
        self.piece.clone()
    }

    /// Where and how other queues report the end.
    pub(crate) fn completion(&self) -> Completion {
        let (mailbox, event) = self
            .event
            .as_ref()
            .map_or((0, 0), |event| (event.mailbox, event.id));
        Completion {
            value: self.address() + VALUE as u64,
            mailbox,
            event,
        }
    }

    /// Id of the event it wakes, if it has one.
    pub fn event_id(&self) -> Option<u32> {
        self.event.as_ref().map(|event| event.id)
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        self.piece.link()
    }

    fn word(&self, at: usize) -> Result<&AtomicU64> {
        let (map, offset) = self.piece.place()?;
        map.word64(offset + at).ok_or(Error::NotHostVisible)
    }

    /// The value now. What the GPU wrote before it decremented the signal is visible.
    pub fn value(&self) -> i64 {
        self.word(VALUE)
            .map_or(0, |word| word.load(Ordering::Acquire) as i64)
    }

    /// Sets the value. Waiters that sleep are not woken.
    pub fn set(&self, value: i64) {
        if let Ok(word) = self.word(VALUE) {
            word.store(value as u64, Ordering::Release);
        }
    }

    /// The device's clock when the last packet that decremented the signal began and ended, as far
    /// as a packet processor wrote them.
    pub(crate) fn times(&self) -> Option<[u64; 2]> {
        let times = TIMES.map(|at| self.word(at).map_or(0, |word| word.load(Ordering::Acquire)));
        times.iter().all(|&time| time != 0).then_some(times)
    }

    /// Forgets when the last packet ran.
    pub(crate) fn clear_times(&self) {
        let words = TIMES.into_iter().filter_map(|at| self.word(at).ok());
        words.for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Spins until the value is 0 or negative. Makes no system call, and has no time limit.
    pub fn spin(&self) {
        while self.value() > 0 {
            std::hint::spin_loop();
        }
    }

    /// Waits until the value is 0 or negative: spins a little, then sleeps if it has an event.
    /// `check` is asked now and then whether there is a reason to give up, and when `stopped` is
    /// signalled.
    pub(crate) fn wait(
        &self,
        timeout: Option<Duration>,
        stopped: Option<&Signal>,
        check: impl Fn() -> Result<()>,
    ) -> Result<()> {
        for _ in 0..SPINS {
            if self.value() <= 0 {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let start = Instant::now();
        loop {
            if self.value() <= 0 {
                return Ok(());
            }
            check()?;
            let left = match timeout {
                None => u128::from(SLEEP),
                Some(timeout) => match timeout.checked_sub(start.elapsed()) {
                    // Rounded up, so that the last part of a millisecond isn't polled away.
                    Some(left) if !left.is_zero() => left.as_nanos().div_ceil(1_000_000),
                    _ => {
                        return Err(Error::Timeout {
                            millis: timeout.as_millis(),
                        })
                    }
                },
            };
            match &self.event {
                Some(event) => {
                    let millis = left.min(u128::from(SLEEP)) as u32;
                    let stopped = stopped.and_then(Signal::event_id);
                    let ids = std::iter::once(event.id).chain(stopped);
                    event.events.sleep(ids, millis, || self.value() <= 0)?;
                }
                None => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_lies_where_the_hardware_looks() {
        assert_eq!(VALUE, 8);
        assert_eq!(aql::Signal::EVENT_MAILBOX_PTR.word() * 4, 16);
        assert_eq!(aql::Signal::EVENT_ID.word() * 4, 24);
        assert_eq!(TIMES, [32, 40]);
    }
}
