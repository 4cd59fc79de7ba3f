// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whole dispatches on the fake GPU.

mod buffers;
#[cfg(feature = "async")]
mod futures;

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use crate::code::tests::gfx942;
use crate::fake::{self, Fake};
use crate::{Address, Buffer, Error, Gpu, Kernel, Queue, QueueOptions, Submission};

const N: usize = 512;
const SOON: Duration = Duration::from_secs(20);

struct Set {
    gpu: Gpu,
    fake: Fake,
    queue: Queue,
    kernel: Kernel,
}

fn set(packets: u32) -> Set {
    let (gpu, fake) = fake::open();
    let kernel = gpu.load(gfx942()).unwrap().kernel("vadd").unwrap();
    let queue = gpu.queue(QueueOptions::new().packets(packets)).unwrap();
    Set {
        gpu,
        fake,
        queue,
        kernel,
    }
}

impl Set {
    fn prepare(&self, seed: usize) -> (Submission, Buffer<f32>) {
        let operand = |by: usize| {
            let buffer = self.gpu.alloc(N).unwrap();
            buffer.fill_with(|i| (i * by + seed) as f32).unwrap();
            buffer
        };
        let (a, b, c) = (operand(1), operand(2), self.gpu.alloc(N).unwrap());
        let dispatch = self.queue.dispatch(&self.kernel).grid(N as u32);
        let work = dispatch
            .arg(&a)
            .arg(&b)
            .arg(&c)
            .arg(N as i32)
            .prepare()
            .unwrap();
        (work, c)
    }
}

fn verify(c: &Buffer<f32>, seed: usize) {
    let sums = c.to_vec().unwrap();
    assert!(sums
        .iter()
        .enumerate()
        .all(|(i, sum)| *sum == (i * 3 + 2 * seed) as f32));
}

#[test]
fn a_dispatch_from_end_to_end_leaves_nothing_behind() {
    let set = set(64);
    let (mut work, c) = set.prepare(5);
    assert_eq!(work.submit().unwrap(), 0);
    work.wait_timeout(SOON).unwrap();
    verify(&c, 5);
    assert_eq!(set.queue.indices(), (1, 1));
    for (i, seed) in [(1, 5), (2, 5)] {
        assert_eq!(work.submit().unwrap(), i);
        work.spin().unwrap();
        verify(&c, seed);
    }
    let Set {
        gpu,
        fake,
        queue,
        kernel,
    } = set;
    assert_eq!(fake.queues(), 1);
    drop((work, c, gpu, queue, kernel));
    assert_eq!(fake.queues(), 0);
    assert_eq!(fake.objects(), 0);
}

#[test]
fn eight_threads_feed_one_small_queue() {
    let set = set(64);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let set = &set;
            scope.spawn(move || {
                for round in 0..25 {
                    let seed = thread * 100 + round;
                    let (mut work, c) = set.prepare(seed);
                    work.submit().unwrap();
                    work.wait_timeout(SOON).unwrap();
                    verify(&c, seed);
                }
            });
        }
    });
    assert_eq!(set.queue.indices(), (200, 200));
}

#[test]
fn waiters_sleep_and_are_woken() {
    let set = set(64);
    let gate = set.gpu.signal(1).unwrap();
    let barrier = set.queue.barrier_and(&[&gate]).unwrap();
    let (mut work, c) = set.prepare(1);
    work.submit().unwrap();
    let timeout = work.wait_timeout(Duration::from_millis(5)).unwrap_err();
    assert!(matches!(timeout, Error::Timeout { millis: 5 }));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| work.wait_timeout(SOON));
        std::thread::sleep(Duration::from_millis(20));
        gate.set(0);
        waiter.join().unwrap().unwrap();
    });
    barrier.wait_timeout(SOON).unwrap();
    verify(&c, 1);
    assert!(set.fake.waits() >= 2);
}

#[test]
fn a_barrier_keeps_the_signals_that_it_waits_for() {
    let set = set(64);
    set.fake.pause();
    let gate = set.gpu.signal(0).unwrap();
    let barrier = set.queue.barrier_and(&[&gate]).unwrap();
    let address = gate.address();
    drop(gate);
    // The next signal is the one behind the barrier, which must not wait for that.
    let (mut work, c) = set.prepare(1);
    assert_ne!(work.signal().unwrap().address(), address);
    work.submit().unwrap();
    set.fake.resume();
    work.wait_timeout(SOON).unwrap();
    verify(&c, 1);
    // The last that waits for it gives its memory back.
    drop((work, barrier));
    let spare: Vec<_> = (0..3).map(|_| set.gpu.signal(0).unwrap()).collect();
    assert!(spare.iter().any(|signal| signal.address() == address));
}

#[test]
fn a_full_queue_and_a_running_dispatch_are_refused() {
    let set = set(64);
    set.fake.pause();
    let mut running: Vec<_> = (0..64).map(|i| set.prepare(i)).collect();
    for (i, (work, _)) in running.iter_mut().enumerate() {
        assert_eq!(work.try_submit().unwrap(), i as u64);
    }
    assert!(matches!(running[0].0.try_submit(), Err(Error::Busy)));
    let (mut late, c) = set.prepare(64);
    assert!(matches!(
        late.try_submit(),
        Err(Error::QueueFull { packets: 64 })
    ));
    assert!(late.is_done(), "what was not submitted does not run");
    set.fake.resume();
    assert_eq!(late.submit().unwrap(), 64);
    late.wait_timeout(SOON).unwrap();
    verify(&c, 64);
    for (seed, (work, c)) in running.iter().enumerate() {
        work.wait_timeout(SOON).unwrap();
        verify(c, seed);
    }
}

#[test]
fn a_graph_runs_in_its_order_and_waits_for_its_end() {
    let set = set(64);
    let values = set.gpu.upload(&[1.0f32; N]).unwrap();
    let double = || {
        let dispatch = set.queue.dispatch(&set.kernel).grid(N as u32);
        dispatch
            .arg(&values)
            .arg(&values)
            .arg(&values)
            .arg(N as i32)
    };
    // More packets than the ring has slots.
    let mut graph = set.queue.graph((0..100).map(|_| double())).unwrap();
    assert_eq!(graph.packets(), 101);
    assert_eq!(graph.submit().unwrap(), 100);
    graph.wait_timeout(SOON).unwrap();
    assert_eq!(values.get(N - 1), Some(2f32.powi(100)));
    values.fill(1.0).unwrap();
    set.fake.pause();
    let mut graph = set.queue.graph([double(), double()]).unwrap();
    assert_eq!(graph.submit().unwrap(), 103);
    assert!(matches!(graph.submit(), Err(Error::Busy)));
    // What it uses is kept until it is done.
    drop(graph);
    let objects = set.fake.objects();
    set.fake.resume();
    while values.get(0) != Some(4.0) {
        std::thread::yield_now();
    }
    assert_eq!(set.fake.objects(), objects);
    let other = set.gpu.queue(QueueOptions::new()).unwrap();
    assert!(matches!(other.graph([double()]), Err(Error::OtherQueue)));
}

#[test]
fn one_producer_shares_its_queue_with_nobody() {
    let set = set(64);
    let options = QueueOptions::new().packets(64);
    let mut producer = set.gpu.producer(options).unwrap();
    let values = set.gpu.upload(&[1.0f32; N]).unwrap();
    let double = producer.dispatch(&set.kernel).grid(N as u32);
    let double = double.arg(&values).arg(&values).arg(&values).arg(N as i32);
    let mut work = double.clone().prepare().unwrap();
    for n in 0..100 {
        assert_eq!(producer.submit(&mut work).unwrap(), n);
        work.wait_timeout(SOON).unwrap();
    }
    assert_eq!(values.get(0), Some(2f32.powi(100)));
    assert!(matches!(work.submit(), Err(Error::OneProducer)));
    assert!(work.is_done());
    let (mut other, _) = set.prepare(1);
    assert!(matches!(
        producer.submit(&mut other),
        Err(Error::OtherQueue)
    ));
    other.submit().unwrap();
    other.wait_timeout(SOON).unwrap();
    // A full ring.
    set.fake.pause();
    let mut all: Vec<_> = (0..65).map(|_| double.clone().prepare().unwrap()).collect();
    let mut results: Vec<_> = all
        .iter_mut()
        .map(|work| producer.try_submit(work))
        .collect();
    assert!(matches!(
        results.pop(),
        Some(Err(Error::QueueFull { packets: 64 }))
    ));
    assert!(results.iter().all(Result::is_ok));
    set.fake.resume();
    all.iter()
        .try_for_each(|work| work.wait_timeout(SOON))
        .unwrap();
}

#[test]
fn what_nobody_waits_for_is_kept_until_it_is_done() {
    let set = set(64);
    set.fake.pause();
    let before = set.fake.objects();
    let (mut work, c) = set.prepare(1);
    work.submit().unwrap();
    let during = set.fake.objects();
    drop((work, c));
    assert_eq!(set.fake.objects(), during, "the GPU still uses the buffers");
    assert!(during > before);
    set.fake.resume();
    let (mut work, c) = set.prepare(2);
    work.submit().unwrap();
    work.wait_timeout(SOON).unwrap();
    // The next one that is dropped lets go of those that are done.
    set.fake.pause();
    work.submit().unwrap();
    drop((work, c));
    assert_eq!(set.fake.objects(), during);

    // A queue that is destroyed with packets in it frees everything.
    let Set {
        gpu,
        fake,
        queue,
        kernel,
    } = set;
    drop((gpu, queue, kernel));
    assert_eq!((fake.queues(), fake.objects()), (0, 0));
}

#[test]
fn an_error_of_the_packet_processor_ends_the_wait() {
    let set = set(64);
    set.fake.pause();
    let (mut work, _c) = set.prepare(1);
    work.submit().unwrap();
    set.queue.stopped().unwrap().set(0x20);
    assert!(matches!(
        work.wait(),
        Err(Error::QueueStopped { code: 0x20 })
    ));
    assert!(matches!(
        work.spin(),
        Err(Error::QueueStopped { code: 0x20 })
    ));
}

#[test]
fn a_kernel_reaches_nothing_that_was_not_allocated() {
    let place = AtomicU32::new(7);
    let end = |buffer: &Buffer<f32>| buffer.address() + 4096;
    for of_process in [true, false] {
        let set = set(64);
        let operand = set.gpu.upload(&[1.0f32; 1024]).unwrap();
        let wrong = match of_process {
            true => place.as_ptr() as u64,
            // The last element lies behind the object.
            false => operand.address() + 4,
        };
        set.fake.pause();
        let dispatch = set.queue.dispatch(&set.kernel).grid(1024);
        let dispatch = dispatch.arg(&operand).arg(&operand).arg(Address(wrong));
        let mut work = dispatch.arg(1024i32).prepare().unwrap();
        work.submit().unwrap();
        // Faults are told to who waits for them when they happen.
        let early = work.wait_timeout(Duration::from_millis(5)).unwrap_err();
        assert!(matches!(early, Error::Timeout { .. }));
        set.fake.resume();
        let fault = work.wait_timeout(SOON).unwrap_err();
        let expected = if of_process { wrong } else { end(&operand) };
        assert!(
            matches!(fault, Error::MemoryFault { address, .. } if address == expected),
            "{fault}"
        );
    }
    assert_eq!(place.into_inner(), 7);
}

#[test]
fn dispatches_have_times_of_the_host() {
    let set = set(64);
    let queue = set.gpu.queue(QueueOptions::new().timestamps(true)).unwrap();
    let (mut plain, _c) = set.prepare(1);
    plain.submit().unwrap();
    plain.wait().unwrap();
    assert_eq!(
        plain.times().unwrap(),
        None,
        "the queue does not record them"
    );

    let timed = Set { queue, ..set };
    let (mut work, _c) = timed.prepare(1);
    assert_eq!(work.times().unwrap(), None, "it did not run");
    let before = timed.gpu.clocks().unwrap();
    // So that the line between two readings of the clocks is long enough.
    std::thread::sleep(Duration::from_millis(20));
    work.submit().unwrap();
    work.wait().unwrap();
    let times = work.times().unwrap().unwrap();
    let after = timed.gpu.clocks().unwrap();
    let slack = Duration::from_millis(1);
    assert!(before.host <= times.start + slack, "{before:?} {times:?}");
    assert!(times.start < times.end && times.end <= after.host + slack);
    assert_eq!(times.elapsed(), times.end - times.start);
}
