// SPDX-License-Identifier: MIT OR Apache-2.0

//! Signals: 64-bit values in memory that the packet processor decrements and programs wait for.
//!
//! A waiter may spin, which makes no system call, or sleep on the driver's event. The packet
//! processor decrements the value first, then writes the event's slot in the signal page and
//! raises the interrupt; a waiter looks at the value before and after each sleep, and never sleeps
//! longer than a second at a time, so a wake-up that another waiter of the same event used up
//! costs at most that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rkfd_hw::aql::{self, SIGNAL_KIND_USER};
use rkfd_uapi::event::{EventData, EVENT_HW_EXCEPTION, EVENT_MEMORY, EVENT_SIGNAL};

use crate::copy::Completion;
use crate::error::{Error, Result};
use crate::pool::{Piece, Pool};
use crate::process::{lock, Link};

/// Offset of the value in a signal.
const VALUE: usize = aql::Signal::VALUE.word() * 4;
/// Bytes of a signal.
pub(crate) const SIZE: usize = 64;
/// Looks at the value before sleeping.
const SPINS: u32 = 2000;
/// Events kept for the next signals.
const SPARE: usize = 256;
/// Longest sleep at a time, in milliseconds.
const SLEEP: u32 = 1000;

/// An event of the driver, returned to the process' spare ones when dropped.
#[derive(Debug)]
struct Event {
    link: Arc<Link>,
    id: u32,
    slot: u64,
    mailbox: u64,
}

impl Event {
    fn new(link: &Arc<Link>) -> Result<Self> {
        let process = &link.process;
        let mut events = lock(&process.events);
        let (page, made) = process.signal_page(&mut events, link)?;
        let (id, slot) = match made.or_else(|| events.spare.pop()) {
            Some(event) => event,
            None => {
                let made = process.kfd.create_event(EVENT_SIGNAL, true, 0)?;
                (made.event_id, u64::from(made.event_slot_index))
            }
        };
        Ok(Self {
            link: link.clone(),
            id,
            slot,
            mailbox: page.address() + slot * 8,
        })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let process = &self.link.process;
        let mut events = lock(&process.events);
        if events.spare.len() < SPARE {
            // A spare event may still be signalled; its next user wakes once for nothing.
            events.spare.push((self.id, self.slot));
        } else {
            // The process' end destroys what can't be destroyed now.
            let _ = process.kfd.destroy_event(self.id);
        }
    }
}

/// A signal.
#[derive(Debug)]
pub struct Signal {
    piece: Piece,
    event: Option<Event>,
}

impl Signal {
    pub(crate) fn new(pool: &Arc<Pool>, value: i64, with_event: bool) -> Result<Self> {
        let piece = pool.take()?;
        let event = with_event.then(|| Event::new(piece.link())).transpose()?;
        let (mailbox, id) = event
            .as_ref()
            .map_or((0, 0), |event| (event.mailbox, event.id));
        let words = aql::Signal::zeroed()
            .with(aql::Signal::KIND, SIGNAL_KIND_USER as u64)
            .with(aql::Signal::VALUE, value as u64)
            .with(aql::Signal::EVENT_MAILBOX_PTR, mailbox)
            .with(aql::Signal::EVENT_ID, u64::from(id));
        let bytes: Vec<u8> = words.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        piece.write(&bytes)?;
        Ok(Self { piece, event })
    }

    /// Address of the signal: its handle in packets.
    pub fn address(&self) -> u64 {
        self.piece.address()
    }

    /// Where and how a copy engine tells its end.
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

    fn cell(&self) -> Result<&AtomicU64> {
        let (map, offset) = self.piece.place()?;
        map.word64(offset + VALUE).ok_or(Error::NotHostVisible)
    }

    /// The value now. What the GPU wrote before it decremented the signal is visible.
    pub fn value(&self) -> i64 {
        self.cell()
            .map_or(0, |cell| cell.load(Ordering::Acquire) as i64)
    }

    /// Sets the value. Waiters that sleep are not woken.
    pub fn set(&self, value: i64) {
        if let Ok(cell) = self.cell() {
            cell.store(value as u64, Ordering::Release);
        }
    }

    /// Spins until the value is 0 or negative. Makes no system call, and no end of its own.
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
                Some(event) => self.sleep(event, stopped, left.min(u128::from(SLEEP)) as u32)?,
                None => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    fn sleep(&self, event: &Event, stopped: Option<&Signal>, millis: u32) -> Result<()> {
        let process = &event.link.process;
        let faults = process.fault_events();
        let mut events = vec![EventData::wait_for(event.id, 0)];
        events.extend(faults.iter().map(|&(_, id)| EventData::wait_for(id, 0)));
        let stopped = stopped.and_then(Signal::event_id);
        events.extend(stopped.map(|id| EventData::wait_for(id, 0)));
        process.kfd.wait(&mut events, millis)?;
        if self.value() <= 0 {
            return Ok(());
        }
        events
            .iter()
            .skip(1)
            .zip(&faults)
            .try_for_each(|(event, &(kind, _))| fault(kind, event))
    }
}

/// What a fault event tells, if it was signalled: then its GPU's id is not 0.
fn fault(kind: u32, event: &EventData) -> Result<()> {
    let exception = event.memory_exception();
    if kind == EVENT_MEMORY && exception.gpu_id != 0 {
        let failure = exception.failure;
        let reason = match (failure.not_present, failure.read_only, failure.no_execute) {
            (_, _, 1..) => "not executable",
            (_, 1.., _) => "read-only",
            (1.., _, _) => "not mapped",
            _ => "no reason given",
        };
        return Err(Error::MemoryFault {
            gpu_id: exception.gpu_id,
            address: exception.va,
            reason,
        });
    }
    match kind == EVENT_HW_EXCEPTION && event.hw_exception().gpu_id != 0 {
        true => Err(Error::DeviceLost),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use rkfd_uapi::event::{HwExceptionData, MemoryExceptionData, MemoryExceptionFailure};

    use super::*;

    #[test]
    fn the_value_lies_where_the_hardware_looks() {
        assert_eq!(VALUE, 8);
        assert_eq!(aql::Signal::EVENT_MAILBOX_PTR.word() * 4, 16);
        assert_eq!(aql::Signal::EVENT_ID.word() * 4, 24);
    }

    #[test]
    fn faults_are_told_apart() {
        let mut event = EventData::wait_for(1, 0);
        assert!(fault(EVENT_MEMORY, &event).is_ok() && fault(EVENT_HW_EXCEPTION, &event).is_ok());
        event.set_memory_exception(MemoryExceptionData {
            failure: MemoryExceptionFailure {
                not_present: 1,
                ..Default::default()
            },
            va: 0x7000,
            gpu_id: 5,
            error_type: 0,
        });
        assert!(matches!(
            fault(EVENT_MEMORY, &event),
            Err(Error::MemoryFault {
                address: 0x7000,
                reason: "not mapped",
                ..
            })
        ));
        event = EventData::wait_for(1, 0);
        event.set_hw_exception(HwExceptionData {
            gpu_id: 5,
            ..Default::default()
        });
        assert!(matches!(
            fault(EVENT_HW_EXCEPTION, &event),
            Err(Error::DeviceLost)
        ));
    }
}
