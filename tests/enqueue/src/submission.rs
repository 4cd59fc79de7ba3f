// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole submissions, as a program makes them.

use crate::floor::{self, Floor};
use crate::library::queue::ring::Slot;
use crate::{count, time, Case, PACKETS};
use rkfd::fake::{self, Fake, VADD};
use rkfd::{Dispatch, Error, Gpu, Graph, Kernel, Producer, Queue, QueueOptions, Submission};
use std::sync::atomic::{AtomicU64, Ordering};

/// What can be submitted without being measured.
pub const CASES: [&str; 3] = ["queue", "producer", "graph"];
/// Dispatches of a graph: with the packet of its end it fills the ring.
const DISPATCHES: usize = PACKETS - 1;

/// A queue of each kind, and work for it.
pub struct Set {
    fake: Fake,
    queue: Vec<Submission>,
    producer: Producer,
    alone: Vec<Submission>,
    graph: Graph,
}

fn dispatch(gpu: &Gpu, dispatch: Dispatch) -> Result<Dispatch, Error> {
    let values = gpu.upload(&[0.0f32; 64])?;
    let dispatch = dispatch.grid(64).block(64).polled();
    Ok(dispatch.arg(&values).arg(&values).arg(&values).arg(64i32))
}

impl Set {
    /// Opens the fake GPU, whose packet processors stand still until [`drain`](Self::drain).
    pub fn new() -> Result<Self, Error> {
        let (gpu, fake) = fake::open();
        let kernel: Kernel = gpu.load(VADD)?.kernel("vadd")?;
        let options = QueueOptions::new().packets(PACKETS as u32);
        let (queue, graphs): (Queue, Queue) = (gpu.queue(options)?, gpu.queue(options)?);
        let producer = gpu.producer(options)?;
        let shared = dispatch(&gpu, queue.dispatch(&kernel))?;
        let alone = dispatch(&gpu, producer.dispatch(&kernel))?;
        let recorded = dispatch(&gpu, graphs.dispatch(&kernel))?;
        let many = |one: Dispatch| (0..PACKETS).map(|_| one.clone().prepare()).collect();
        let graph = graphs.graph((0..DISPATCHES).map(|_| recorded.clone()))?;
        let (queue, alone): (Result<_, _>, Result<_, _>) = (many(shared), many(alone));
        fake.pause();
        Ok(Self {
            fake,
            queue: queue?,
            producer,
            alone: alone?,
            graph,
        })
    }

    /// Submits all packets of a case.
    pub fn submit(&mut self, case: &str) -> Result<(), Error> {
        match case {
            "queue" => self
                .queue
                .iter_mut()
                .try_for_each(|one| one.submit().map(drop)),
            "producer" => {
                let producer = &mut self.producer;
                self.alone
                    .iter_mut()
                    .try_for_each(|one| producer.submit(one).map(drop))
            }
            _ => self.graph.submit().map(drop),
        }
    }

    fn drain(&self) -> Result<(), Error> {
        self.fake.resume();
        self.queue.iter().try_for_each(Submission::wait)?;
        self.alone.iter().try_for_each(Submission::wait)?;
        self.graph.wait()?;
        self.fake.pause();
        Ok(())
    }
}

fn case<'a>(
    name: &'static str,
    against: Option<(usize, f64)>,
    round: impl FnMut() -> f64 + 'a,
) -> Case<'a> {
    let round = Box::new(round);
    Case {
        name,
        against,
        round,
    }
}

/// Measures submissions of each kind beside floors whose memory another processor wrote last, too: a packet
/// processor frees the slots and stores to the signals, and to fetch their cache lines again takes longest.
///
/// A ring of packets takes it milliseconds, in which the program sleeps and others use its processor: then the same
/// stores take longer than right after the slots were freed. So what is submitted is compared with floors that such a
/// round has gone by, too.
pub fn measured() -> Result<(), Error> {
    let set = std::cell::RefCell::new(Set::new()?);
    let round = |case: &'static str| {
        let set = &set;
        move || {
            let mut set = set.borrow_mut();
            let mut result = Ok(());
            let ns = time(|| result = set.submit(case));
            match result.and_then(|()| set.drain()) {
                Ok(()) => ns,
                Err(_) => f64::MAX,
            }
        }
    };
    let (floor, packets) = (Floor::new(PACKETS), floor::packets(PACKETS));
    let signal = || -> Slot { std::array::from_fn(|_| AtomicU64::new(0)) };
    let signals: Vec<Slot> = (0..PACKETS).map(|_| signal()).collect();
    // What a packet processor, which is another thread, leaves.
    let consumed = || {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                floor.consume();
                signals
                    .iter()
                    .for_each(|signal| signal[1].store(0, Ordering::Release));
            });
        });
    };
    let put = |index: u64, packet: &floor::Bytes| {
        // SAFETY: No other thread writes to it meanwhile.
        unsafe { floor.put(index, packet) }
    };
    // The same, and then the time of a round goes by.
    let consumed_before_a_round = || {
        consumed();
        round("graph")();
    };
    let stores = || time(|| (0..).zip(&packets).for_each(|(n, packet)| put(n, packet)));
    crate::measure(vec![
        case("floor, slots that were freed just now", None, || {
            consumed();
            stores()
        }),
        case("floor, after a round of a packet processor", None, || {
            consumed_before_a_round();
            stores()
        }),
        case("the same, and a signal each", None, || {
            consumed_before_a_round();
            time(|| {
                for (n, (packet, signal)) in (0..).zip(packets.iter().zip(&signals)) {
                    if signal[1].load(Ordering::Acquire) == 0 {
                        signal[1].store(1, Ordering::Release);
                    }
                    put(n, packet);
                }
            })
        }),
        case(
            "Graph::submit, for each of 4096 packets",
            Some((1, 1.3)),
            round("graph"),
        ),
        case("Producer::submit", Some((2, 2.0)), round("producer")),
        case("Submission::submit", Some((2, 2.0)), round("queue")),
    ]);
    Ok(())
}

/// How often submitting allocates memory.
pub fn allocations(case: &str) -> Result<u64, Error> {
    let mut set = Set::new()?;
    let before = count::allocations();
    set.submit(case)?;
    let after = count::allocations();
    set.drain()?;
    Ok(after - before)
}
