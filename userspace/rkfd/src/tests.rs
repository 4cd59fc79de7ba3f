// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whole dispatches on the fake GPU.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use crate::code::tests::gfx942;
use crate::fake::{self, Fake};
use crate::{Buffer, Error, Gpu, Kernel, Queue, QueueOptions, Submission};

const N: usize = 512;
const SOON: Duration = Duration::from_secs(20);

struct Set {
    gpu: Gpu,
    fake: Arc<Fake>,
    queue: Queue,
    kernel: Kernel,
}

fn set(packets: u32) -> Set {
    let (gpu, fake) = fake::open();
    let kernel = gpu.load(gfx942()).unwrap().kernel("vadd").unwrap();
    let queue = gpu
        .queue(QueueOptions {
            packets,
            ..Default::default()
        })
        .unwrap();
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
    // The signal page and the trap handler stay with the process.
    assert_eq!(fake.objects(), 2);
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
    assert!(set.fake.waits.load(Ordering::Relaxed) >= 2);
}

#[test]
fn a_full_queue_and_a_running_dispatch_are_refused() {
    let set = set(64);
    set.fake.paused.store(true, Ordering::Relaxed);
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
    set.fake.paused.store(false, Ordering::Relaxed);
    assert_eq!(late.submit().unwrap(), 64);
    late.wait_timeout(SOON).unwrap();
    verify(&c, 64);
    for (seed, (work, c)) in running.iter().enumerate() {
        work.wait_timeout(SOON).unwrap();
        verify(c, seed);
    }
}

#[test]
fn what_nobody_waits_for_is_kept_until_it_is_done() {
    let set = set(64);
    set.fake.paused.store(true, Ordering::Relaxed);
    let before = set.fake.objects();
    let (mut work, c) = set.prepare(1);
    work.submit().unwrap();
    let during = set.fake.objects();
    drop((work, c));
    assert_eq!(set.fake.objects(), during, "the GPU still uses the buffers");
    assert!(during > before);
    set.fake.paused.store(false, Ordering::Relaxed);
    let (mut work, c) = set.prepare(2);
    work.submit().unwrap();
    work.wait_timeout(SOON).unwrap();
    // The next one that is dropped lets go of those that are done.
    set.fake.paused.store(true, Ordering::Relaxed);
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
    assert_eq!((fake.queues(), fake.objects()), (0, 2));
}

#[test]
fn an_error_of_the_packet_processor_ends_the_wait() {
    let set = set(64);
    set.fake.paused.store(true, Ordering::Relaxed);
    let (mut work, _c) = set.prepare(1);
    work.submit().unwrap();
    set.queue.stop_for_test(0x20);
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
fn buffers_check_their_bounds() {
    let (gpu, fake) = fake::open();
    let buffer = gpu.upload(&[1u16, 2, 3]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [1, 2, 3]);
    assert_eq!((buffer.get(2), buffer.get(3)), (Some(3), None));
    assert!(buffer.set(3, 0).is_none() && buffer.set(0, 9).is_some());
    assert!(matches!(
        buffer.write(&[1, 2]),
        Err(Error::Length {
            buffer: 3,
            slice: 2
        })
    ));
    assert!(
        buffer.read_at(2, &mut [0; 2]).is_err() && buffer.read_at(usize::MAX, &mut [0]).is_err()
    );
    assert!(matches!(gpu.alloc::<f64>(0), Err(Error::Size { .. })));
    assert!(matches!(
        gpu.alloc::<f64>(usize::MAX / 4),
        Err(Error::Size { .. })
    ));
    drop(buffer);
    assert_eq!(fake.objects(), 0);
}
