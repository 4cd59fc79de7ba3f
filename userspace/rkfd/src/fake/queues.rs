// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queues, and what processes their packets.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use rkfd_hw::aql;
use rkfd_uapi::queue::{CreateQueueArgs, QUEUE_TYPE_COMPUTE_AQL};
use rustix::io::Errno;

use super::memory::{Fault, Place};
use super::{ticks, Inner};
use crate::driver::lock;

impl Inner {
    pub(super) fn create_queue(self: &Arc<Self>, args: &mut CreateQueueArgs) -> Result<(), Errno> {
        if args.queue_type != QUEUE_TYPE_COMPUTE_AQL {
            return Err(Errno::INVAL);
        }
        let mut state = lock(&self.state);
        let exact = |va: u64, size: u64| {
            let found = state
                .objects
                .values()
                .any(|o| o.mapped && o.va == va && o.size == size);
            found.then_some(()).ok_or(Errno::INVAL)
        };
        exact(args.ring_base_address, u64::from(args.ring_size))?;
        exact(args.write_pointer_address & !0xfff, 4096)?;
        exact(args.read_pointer_address & !0xfff, 4096)?;
        exact(args.ctx_save_restore_address, self.save_area.total as u64)?;
        let area = &self.save_area;
        if args.ctl_stack_size != area.control_stack || args.ctx_save_restore_size < area.size {
            return Err(Errno::INVAL);
        }
        let reach = |address| state.reach(address).map_err(|_| Errno::INVAL);
        let (ring, read) = (
            reach(args.ring_base_address)?,
            reach(args.read_pointer_address)?,
        );
        let id = state.next as u32;
        state.next += 1;
        args.queue_id = id;
        args.doorbell_offset = u64::from(id % 1024) * 8;
        let bell = self
            .doorbells
            .word64(args.doorbell_offset as usize)
            .ok_or(Errno::INVAL)?;
        bell.store(u64::MAX, Ordering::Relaxed);
        let stop = Arc::new(AtomicBool::new(false));
        let processor = Processor {
            fake: self.clone(),
            ring,
            packets: u64::from(args.ring_size) / 64,
            read,
            bell: args.doorbell_offset as usize,
            stop: stop.clone(),
        };
        state
            .queues
            .insert(id, (stop, std::thread::spawn(move || processor.run())));
        Ok(())
    }
}

struct Processor {
    fake: Arc<Inner>,
    ring: Place,
    packets: u64,
    read: Place,
    bell: usize,
    stop: Arc<AtomicBool>,
}

impl Processor {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.fake.faulted.load(Ordering::Relaxed)
    }

    fn run(self) {
        if let Err(Fault(address)) = self.process() {
            self.fake.fault(address);
        }
    }

    /// Processes packets until the queue is stopped.
    fn process(&self) -> Result<(), Fault> {
        let read = self.read.word64(0)?;
        let ring = self.ring.words32(self.packets as usize * 16)?;
        while !self.stopped() {
            std::thread::yield_now();
            let bell = self.fake.doorbells.word64(self.bell);
            let rung = bell.map_or(u64::MAX, |bell| bell.load(Ordering::Acquire));
            if rung == u64::MAX {
                continue;
            }
            let next = read.load(Ordering::Relaxed);
            let first = (next & (self.packets - 1)) as usize * 16;
            let slot = &ring[first..first + 16];
            let header = slot[0].load(Ordering::Acquire);
            if header as u8 == aql::TYPE_INVALID {
                continue;
            }
            // Once a packet is there: who paused before submitting it finds it where it is.
            if self.fake.paused.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            let mut words = [header; 16];
            for (word, place) in words.iter_mut().zip(slot).skip(1) {
                *word = place.load(Ordering::Relaxed);
            }
            let start = ticks();
            if !self.execute(&words)? {
                break;
            }
            slot[0].store(aql::TYPE_INVALID.into(), Ordering::Relaxed);
            read.store(next + 1, Ordering::Release);
            self.complete(u64::from(words[14]) | (u64::from(words[15]) << 32), start)?;
        }
        Ok(())
    }

    /// Does a packet's work: false when the queue was stopped meanwhile.
    fn execute(&self, words: &[u32; 16]) -> Result<bool, Fault> {
        let header = aql::Header::parse(words[0] as u16).expect("a valid header");
        let pair = |i: usize| u64::from(words[i]) | (u64::from(words[i + 1]) << 32);
        match header.packet_type {
            aql::TYPE_KERNEL_DISPATCH => {
                let args = self.fake.reach(pair(10))?;
                let n = args.word32(24)?.load(Ordering::Relaxed).min(words[3]) as usize;
                if n == 0 {
                    return Ok(true);
                }
                let array = |i: usize| {
                    let base = args.word64(i * 8)?.load(Ordering::Relaxed);
                    self.fake.reach(base)
                };
                let [a, b, c] = [array(0)?, array(1)?, array(2)?];
                let operands = a.words32(n)?.iter().zip(b.words32(n)?);
                for ((a, b), sum) in operands.zip(c.words32(n)?) {
                    let value = |word: &AtomicU32| f32::from_bits(word.load(Ordering::Relaxed));
                    sum.store((value(a) + value(b)).to_bits(), Ordering::Relaxed);
                }
            }
            kind @ (aql::TYPE_BARRIER_AND | aql::TYPE_BARRIER_OR) => {
                let signals = [2, 4, 6, 8, 10].map(pair);
                let signals = signals.into_iter().filter(|&signal| signal != 0);
                let signals = signals.map(|signal| self.fake.reach(signal + 8));
                let signals = signals.collect::<Result<Vec<_>, _>>()?;
                let values = signals.iter().map(|signal| signal.word64(0));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                let is_zero = |value: &&AtomicU64| value.load(Ordering::Acquire) == 0;
                while match kind {
                    aql::TYPE_BARRIER_AND => !values.iter().all(is_zero),
                    _ => !values.is_empty() && !values.iter().any(is_zero),
                } {
                    if self.stopped() {
                        return Ok(false);
                    }
                    std::thread::yield_now();
                }
            }
            other => panic!("packet type {other}"),
        }
        Ok(true)
    }

    /// Completes a packet's signal; it may have none.
    fn complete(&self, signal: u64, start: u64) -> Result<(), Fault> {
        if signal == 0 {
            return Ok(());
        }
        let signal = self.fake.reach(signal)?;
        let end = ticks().max(start + 1);
        signal.word64(32)?.store(start, Ordering::Relaxed);
        signal.word64(40)?.store(end, Ordering::Relaxed);
        signal.word64(8)?.fetch_sub(1, Ordering::Release);
        let mailbox = signal.word64(16)?.load(Ordering::Relaxed);
        let id = signal.word32(24)?.load(Ordering::Relaxed);
        if mailbox != 0 {
            let slot = self.fake.reach(mailbox)?;
            slot.word64(0)?.store(u64::from(id), Ordering::Release);
            self.fake.interrupt(id);
        }
        Ok(())
    }
}
