// SPDX-License-Identifier: MIT OR Apache-2.0

//! Waiting by event: dispatches whose waiters sleep in the driver until the GPU's interrupt.
//!
//! A barrier packet that waits for a signal of ours holds the queue, so the waiter is certainly
//! asleep when the GPU goes on. A waiter that no interrupt wakes looks again after a second, and finds the
//! signal, too; so what counts is that each round's event is signalled, which only an interrupt does.
//!
//! Then as many interrupts come while nothing else is asked of the driver: it loads no register for one, since the device
//! stores what it has to tell to memory.
//!
//! `events CODE-OBJECT`

use std::fs::File;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rkfd::trace::{observe, Step};
use rkfd::{Error, Gpu, QueueOptions, Signal};
use rkfd_programs::{check, code_object, raw, report, Failure, VectorAdd, KERNEL, PATIENCE};
use rkfd_uapi::event::WAIT_RESULT_COMPLETE;
use rkfd_uapi::ioctl;

const ROUNDS: usize = 20;
const ELEMENTS: usize = 4096;

fn run() -> Result<(), Failure> {
    let (waits, signalled) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let counters = (waits.clone(), signalled.clone());
    observe(move |step| {
        let Step::Ioctl(request) = step else { return };
        if request.name() == ioctl::WAIT_EVENTS.info.name {
            counters.0.fetch_add(1, Ordering::Relaxed);
            let complete = ("wait_result", u64::from(WAIT_RESULT_COMPLETE));
            let mut fields = request.fields().into_iter();
            if fields.any(|(name, _, value)| (name, value) == complete) {
                counters.1.fetch_add(1, Ordering::Relaxed);
            }
        }
    });

    let gpu = Gpu::open()?;
    let module = gpu.load(&code_object()?)?;
    let kernel = module.kernel(KERNEL)?;
    let queue = gpu.queue(QueueOptions::default())?;

    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let mut slowest = Duration::ZERO;
    for round in 0..ROUNDS {
        let gate = gpu.signal(1)?;
        let barrier = queue.barrier_and(&[&gate])?;
        let add = VectorAdd::new(&gpu, ELEMENTS, round)?;
        let mut work = add.dispatch(&queue, &kernel).prepare()?;
        let event = work.signal().and_then(Signal::event_id);
        let event = event.ok_or_else(|| Failure::new("the dispatch has no event"))?;
        // Its last user may have left it signalled.
        raw::wait(&kfd, event, 0).map_err(raw::errno("WAIT_EVENTS"))?;
        let before = signalled.load(Ordering::Relaxed);
        work.submit()?;
        match work.wait_timeout(Duration::from_millis(20)) {
            Err(Error::Timeout { .. }) => {}
            other => {
                other?;
                return Err(Failure::new("the dispatch ran before its barrier was open"));
            }
        }
        let late = std::thread::scope(|scope| -> Result<_, Failure> {
            let waiter = scope.spawn(|| {
                let result = work.wait_timeout(PATIENCE);
                (Instant::now(), result)
            });
            std::thread::sleep(Duration::from_millis(10));
            let opened = Instant::now();
            gate.set(0);
            let (woken, result) = waiter
                .join()
                .map_err(|_| Failure::new("the waiter panicked"))?;
            result?;
            Ok(woken.saturating_duration_since(opened))
        })?;
        slowest = slowest.max(late);
        // On a busy host the second passes before the interrupt is there, and the waiter finds the
        // signal. The event comes all the same.
        if signalled.load(Ordering::Relaxed) == before {
            let millis = PATIENCE.as_millis() as u32;
            let data = raw::wait(&kfd, event, millis).map_err(raw::errno("WAIT_EVENTS"))?;
            data.ok_or_else(|| Failure::new(format_args!("no event came in round {round}")))?;
        }
        barrier.wait_timeout(PATIENCE)?;
        add.verify()?;
    }
    let (waits, signalled) = (
        waits.load(Ordering::Relaxed),
        signalled.load(Ordering::Relaxed),
    );
    println!(
        "{ROUNDS} waits slept in {waits} calls, {signalled} of which an event ended; \
         slowest wake-up {slowest:?}"
    );
    // Their signals are made before.
    let gate = gpu.signal(1)?;
    let barriers: Result<Vec<_>, _> = (0..ROUNDS).map(|_| queue.barrier_and(&[&gate])).collect();
    let (barriers, before) = (barriers?, loads()?);
    gate.set(0);
    barriers
        .iter()
        .try_for_each(|barrier| barrier.wait_timeout(PATIENCE))?;
    // Those of the last interrupts, too.
    std::thread::sleep(Duration::from_millis(50));
    let loads = loads()?.zip(before).map(|(after, before)| after - before);
    println!("for {ROUNDS} more, registers were loaded {loads:?} times");
    check(
        "no register is loaded for an interrupt",
        loads.is_none_or(|loads| loads < ROUNDS as u64),
    )
}

/// How many registers the driver has loaded, where it shows that: only to root.
fn loads() -> Result<Option<u64>, Failure> {
    let Ok(text) = std::fs::read_to_string("/sys/kernel/debug/rkfd/work") else {
        return Ok(None);
    };
    let count = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("register_loads "));
    let count = count.ok_or_else(|| Failure::new("the driver doesn't count loads"))?;
    count.trim().parse().map(Some).map_err(Failure::new)
}

fn main() -> ExitCode {
    report("events", run)
}
