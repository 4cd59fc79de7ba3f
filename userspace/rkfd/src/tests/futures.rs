// SPDX-License-Identifier: MIT OR Apache-2.0

//! Futures, on an executor that has one thread and sleeps until it is woken.

use std::future::Future;
use std::pin::{pin, Pin};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use rkfd_uapi::event::SIGNAL_EVENT_LIMIT;

use super::*;
use crate::Done;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn waker() -> Waker {
    Arc::new(Unpark(std::thread::current())).into()
}

/// Runs a future to its end, and counts how often it was polled.
fn run<F: Future>(future: F) -> (F::Output, u32) {
    let (mut future, waker, mut polls) = (pin!(future), waker(), 0);
    loop {
        polls += 1;
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return (output, polls);
        }
        std::thread::park();
    }
}

#[test]
fn a_future_sleeps_until_its_work_is_done() {
    let set = set(64);
    set.fake.pause();
    let (mut work, c) = set.prepare(3);
    work.submit().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            set.fake.resume();
        });
        let (result, polls) = run(work.done());
        result.unwrap();
        assert!(polls <= 4, "polled {polls} times");
    });
    verify(&c, 3);
    // What is done needs no thread.
    assert_eq!(run(work.done()).1, 1);
}

#[test]
fn one_thread_sleeps_for_many_futures() {
    let set = set(64);
    set.fake.pause();
    let mut works: Vec<_> = (0..40).map(|seed| set.prepare(seed)).collect();
    for (work, _) in &mut works {
        work.submit().unwrap();
    }
    {
        let waker = waker();
        let mut context = Context::from_waker(&waker);
        let mut all: Vec<_> = works.iter().map(|(work, _)| work.done()).collect();
        for future in &mut all {
            assert!(pin!(future).poll(&mut context).is_pending());
        }
        // Some are given up before they are done.
        all.truncate(30);
        set.fake.resume();
        let mut left = all;
        while !left.is_empty() {
            left.retain_mut(|future| pin!(future).poll(&mut context).is_pending());
            if !left.is_empty() {
                std::thread::park_timeout(Duration::from_secs(5));
            }
        }
    }
    for (seed, (work, c)) in works.iter().enumerate() {
        work.wait_timeout(SOON).unwrap();
        verify(c, seed);
    }
    let sleeps = set.fake.waits();
    assert!(sleeps < 200, "{sleeps} sleeps for 40 futures");
}

#[test]
fn more_futures_wait_than_a_request_has_events_for_twice_each() {
    // Each waits for its own event, and for that of its queue's end.
    const WORKS: usize = SIGNAL_EVENT_LIMIT as usize / 2 + 50;
    let set = set(4096);
    set.fake.pause();
    let values = set.gpu.upload(&[1.0f32]).unwrap();
    let add = set.queue.dispatch(&set.kernel).grid(1).block(1);
    let add = add.arg(&values).arg(&values).arg(&values).arg(1i32);
    let submit = |_| add.clone().submit().unwrap();
    let works: Vec<_> = (0..WORKS).map(submit).collect();
    let mut left: Vec<_> = works.iter().map(Submission::done).collect();
    let waker = waker();
    let mut poll = |future: &mut Done<'_>| {
        let polled = pin!(future).poll(&mut Context::from_waker(&waker));
        polled.map(Result::unwrap).is_pending()
    };
    left.iter_mut().for_each(|future| assert!(poll(future)));
    // The thread asks for all of them at once.
    std::thread::sleep(Duration::from_millis(100));
    left.iter_mut().for_each(|future| assert!(poll(future)));
    set.fake.resume();
    while !left.is_empty() {
        left.retain_mut(&mut poll);
        if !left.is_empty() {
            std::thread::park_timeout(Duration::from_secs(5));
        }
    }
}

type Work = dyn Future<Output = Result<(), Error>> + Send;

/// A task that nothing but its waker keeps.
struct Task {
    _future: Mutex<Pin<Box<Work>>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}

/// Polls a future by the waker of another task, which waits for other work and ends with that waker.
fn poll_by_another_task(set: &Set, future: &mut Done<'_>) {
    let (mut work, _c) = set.prepare(1);
    work.submit().unwrap();
    let mut other = Box::pin(async move { work.done().await });
    let polled = other.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    let task = Task {
        _future: Mutex::new(other),
    };
    let waker = Waker::from(Arc::new(task));
    let polled = pin!(future).poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
}

#[test]
fn a_waker_may_take_futures_along() {
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || {
        let set = set(64);
        set.fake.pause();
        let (mut work, _c) = set.prepare(2);
        work.submit().unwrap();
        let mut future = work.done();
        poll_by_another_task(&set, &mut future);
        // Another waker takes that one's place, and then the future ends with its waker.
        let mut context = Context::from_waker(Waker::noop());
        assert!(pin!(&mut future).poll(&mut context).is_pending());
        poll_by_another_task(&set, &mut future);
        drop(future);
        ended.send(()).unwrap();
    });
    end.recv_timeout(SOON).unwrap();
}

#[test]
fn a_queue_that_stops_ends_its_futures() {
    let set = set(64);
    set.fake.pause();
    let (mut work, _c) = set.prepare(1);
    work.submit().unwrap();
    set.queue.stopped().unwrap().set(0x20);
    let (result, _) = run(work.done());
    assert!(matches!(result, Err(Error::QueueStopped { code: 0x20 })));
}

#[test]
fn work_without_an_interrupt_is_polled() {
    let set = set(64);
    let operand = set.gpu.upload(&[1.0f32; N]).unwrap();
    let dispatch = set.queue.dispatch(&set.kernel).grid(N as u32).polled();
    let dispatch = dispatch.arg(&operand).arg(&operand).arg(&operand);
    let work = dispatch.arg(N as i32).submit().unwrap();
    std::thread::scope(|scope| {
        // Nobody unparks it but itself.
        scope.spawn(|| run(work.done()).0.unwrap());
    });
    assert_eq!(operand.get(N - 1), Some(2.0));
}
