// SPDX-License-Identifier: MIT OR Apache-2.0
//! WAIT_EVENTS while another thread acts: it sets or destroys an event, or sends a system's signal.

use super::wait::{ticks, wait, Waited};
use super::*;
use crate::row::{row, Row};
use rkfd_uapi::ioctl as requests;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;

const FOREVER: u32 = u32::MAX;
/// The time of a wait that something else is to end, in milliseconds: no verdict on speed, but the end
/// of a run that stands still.
const MOST: u32 = 300_000;

/// Returns when a thread of this process, or a child, sleeps in a system call with this second argument (of ioctl(2) the
/// request), by the kernel's word, or is gone.
pub(super) fn asleep(pid: i32, second: u32) {
    // The call's number comes before its arguments.
    let second = format!("{second:#x}");
    loop {
        let file = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}"));
        let (Ok(stat), Ok(call)) = (file("stat"), file("syscall")) else {
            return;
        };
        let state = stat.rsplit(") ").next().unwrap_or_default();
        let waits = state.starts_with('S') && call.split(' ').nth(2) == Some(&second);
        if waits || state.starts_with(['Z', 'X']) {
            return;
        }
        thread::yield_now();
    }
}

/// Lets 60 ms pass by the clock that the kernel's timeouts go by, and returns how many did.
fn pass() -> u64 {
    let start = ticks();
    while ticks() < start + 60 {
        thread::yield_now();
    }
    ticks() - start
}

/// Waits on another thread while `f` runs on this one; returns what the wait returned.
///
/// `f` gets the waiting thread's id, when that thread sleeps.
fn during(c: &Ctx, events: &[(u32, u64)], all: u32, timeout: u32, f: impl FnOnce(i32)) -> Waited {
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let _ = send.send(sys::thread_id());
            wait(c, events, all, timeout)
        });
        let tid = receive.recv().unwrap_or(0);
        asleep(tid, requests::WAIT_EVENTS.command());
        f(tid);
        match waiter.join() {
            Ok(result) => result,
            Err(_) => panic!("the waiter panicked"),
        }
    })
}

fn interrupt(c: &Ctx, events: &[(u32, u64)], all: u32, timeout: u32) -> Waited {
    sys::ignore_by_handler(libc::SIGUSR1, false);
    during(c, events, all, timeout, |tid| {
        sys::kill_thread(tid, libc::SIGUSR1)
    })
}

fn restart(c: &Ctx, events: &[(u32, u64)], timeout: u32, f: impl FnOnce(i32)) -> Waited {
    sys::ignore_by_handler(libc::SIGUSR1, true);
    during(c, events, 0, timeout, |tid| {
        pass();
        sys::kill_thread(tid, libc::SIGUSR1);
        f(tid);
    })
}

/// Whether an interrupted wait has as much time left as it didn't use: no less than passed while it
/// slept, and no more than passed around it, give or take a few of the kernel's ticks.
fn left_over(c: &Ctx, id: u32) -> bool {
    const ROUNDING: u64 = 30;
    sys::ignore_by_handler(libc::SIGUSR1, false);
    let (start, mut slept) = (ticks(), 0);
    let waited = during(c, &[(id, 0)], 0, MOST, |tid| {
        slept = pass();
        sys::kill_thread(tid, libc::SIGUSR1);
    });
    let around = ticks() - start;
    let used = u64::from(MOST.saturating_sub(waited.timeout));
    (slept - ROUNDING..=around + ROUNDING).contains(&used)
}

/// One thread sets an auto-reset event and the other waits for it, again and again without a pause.
/// Returns how many of `rounds` signals reached the waiter. A signal that got lost between the waiter's
/// check and its sleep would make its time run out, and end the count.
fn ping(c: &Ctx, id: u32, rounds: u32) -> u32 {
    let asked = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=rounds {
                while asked.load(Ordering::Acquire) < round {
                    thread::yield_now();
                }
                c.set(id);
            }
        });
        let reached = (1..=rounds).take_while(|&round| {
            asked.store(round, Ordering::Release);
            wait(c, &[(id, 0)], 0, MOST).result == 0
        });
        let reached = reached.count() as u32;
        asked.store(rounds, Ordering::Release);
        reached
    })
}

fn polled(c: &Ctx, id: u32) -> u64 {
    wait(c, &[(id, 0)], 0, 0).result.into()
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const W: &str = "WAIT_EVENTS";
    vec![
        row(W, "set while waiting, for ever", is(0), "kfd_events.c:605", |c| { let a = c.signal(false)?; Ok(Got::Value(during(c, &[(a, 0)], 0, FOREVER, |_| { c.set(a); }).result.into())) }),
        row(W, "set while waiting, with a time", YES, "kfd_events.c:984", |c| { let a = c.signal(false)?; let w = during(c, &[(a, 0)], 0, MOST, |_| { c.set(a); }); Ok(holds(w.result == 0)) }),
        row(W, "set while waiting: the age is given back", is(2), "kfd_events.c:1004", |c| { let a = c.signal(true)?; Ok(Got::Value(during(c, &[(a, 1)], 0, FOREVER, |_| { c.set(a); }).events[0].data[0])) }),
        row(W, "set while waiting, auto-reset: used up", is(1), "kfd_events.c:595", |c| { let a = c.signal(true)?; during(c, &[(a, 0)], 0, FOREVER, |_| { c.set(a); }); Ok(Got::Value(polled(c, a))) }),
        row(W, "set while waiting: stays set", is(0), "kfd_events.c:595", |c| { let a = c.signal(false)?; during(c, &[(a, 0)], 0, FOREVER, |_| { c.set(a); }); Ok(Got::Value(polled(c, a))) }),
        row(W, "set and reset at once while waiting", is(0), "kfd_events.c:603", |c| { let a = c.signal(false)?; Ok(Got::Value(during(c, &[(a, 0)], 0, MOST, |_| { c.set(a); c.reset(a); }).result.into())) }),
        row(W, "set through another open of /dev/kfd", is(0), "kfd_process.c:1001", |c| {
            let a = c.signal(false)?;
            let other = sys::open("/dev/kfd").map_err(|e| e.to_string())?;
            Ok(Got::Value(during(c, &[(a, 0)], 0, MOST, |_| { let mut args = rkfd_uapi::event::SetEventArgs { event_id: a, pad: 0 }; sys::ioctl(&other, rkfd_uapi::ioctl::SET_EVENT.command(), sys::address(&mut args)); }).result.into()))
        }),
        row(W, "all, set one after the other", is(0), "kfd_events.c:820", |c| { let (a, b) = (c.signal(false)?, c.signal(false)?); Ok(Got::Value(during(c, &[(a, 0), (b, 0)], 1, MOST, |tid| { c.set(a); asleep(tid, requests::WAIT_EVENTS.command()); c.set(b); }).result.into())) }),
        row(W, "all, only one is set", is(1), "kfd_events.c:821", |c| { let (a, b) = (c.signal(false)?, c.signal(false)?); Ok(Got::Value(during(c, &[(a, 0), (b, 0)], 1, 250, |_| { c.set(a); }).result.into())) }),
        row(W, "any, the second is set", is(0), "kfd_events.c:813", |c| { let (a, b) = (c.signal(false)?, c.signal(false)?); Ok(Got::Value(during(c, &[(a, 0), (b, 0)], 0, MOST, |_| { c.set(b); }).result.into())) }),
        row(W, "two waiters of one auto-reset event: both wake", is(0), "kfd_events.c:602", |c| {
            let a = c.signal(true)?;
            let c = &*c;
            let results = thread::scope(|s| {
                let (send, receive) = mpsc::channel();
                let other = s.spawn(move || { let _ = send.send(sys::thread_id()); wait(c, &[(a, 0)], 0, MOST).result });
                let other_tid = receive.recv().unwrap_or(0);
                let first = during(c, &[(a, 0)], 0, MOST, |_| { asleep(other_tid, requests::WAIT_EVENTS.command()); c.set(a); }).result;
                first + other.join().unwrap_or(9)
            });
            Ok(Got::Value(results.into()))
        }),
        row(W, "100 signals, each set as its wait begins: all arrive", is(100), "kfd_events.c: kfd_wait_on_events", |c| { let a = c.signal(true)?; Ok(Got::Value(ping(c, a, 100).into())) }),
        row(W, "destroyed while waiting", EIO, "kfd_events.c:1014", |c| { let a = c.signal(false)?; Ok(Got::Errno(during(c, &[(a, 0)], 0, FOREVER, |_| { c.destroy_event(a); }).errno)) }),
        row(W, "destroyed while waiting: the result", is(2), "kfd_events.c:810", |c| { let a = c.signal(false)?; Ok(Got::Value(during(c, &[(a, 0)], 0, FOREVER, |_| { c.destroy_event(a); }).result.into())) }),
        row(W, "one of two destroyed while waiting, any", EIO, "kfd_events.c:809", |c| { let (a, b) = (c.signal(false)?, c.signal(false)?); Ok(Got::Errno(during(c, &[(a, 0), (b, 0)], 0, FOREVER, |_| { c.destroy_event(b); }).errno)) }),
        row(W, "one of two destroyed while waiting, all", EIO, "kfd_events.c:809", |c| { let (a, b) = (c.signal(false)?, c.signal(false)?); Ok(Got::Errno(during(c, &[(a, 0), (b, 0)], 1, FOREVER, |_| { c.destroy_event(a); }).errno)) }),
        row(W, "destroyed and made again with the same id while waiting", EIO, "kfd_events.c:227", |c| { let a = c.signal(false)?; Ok(Got::Errno(during(c, &[(a, 0)], 0, MOST, |_| { c.destroy_event(a); let _ = c.event(rkfd_uapi::event::EVENT_SIGNAL, false); }).errno)) }),
        row(W, "a memory event destroyed while waiting", EIO, "kfd_events.c:227", |c| { let a = c.event(8, false)?; Ok(Got::Errno(during(c, &[(a, 0)], 0, FOREVER, |_| { c.destroy_event(a); }).errno)) }),
        row(W, "interrupted, for ever", Want::Errno(libc::EINTR), "kfd_events.c:963", |c| { let a = c.signal(false)?; Ok(Got::Errno(interrupt(c, &[(a, 0)], 0, FOREVER).errno)) }),
        row(W, "interrupted, for ever: the result", is(2), "kfd_events.c:1012", |c| { let a = c.signal(false)?; Ok(Got::Value(interrupt(c, &[(a, 0)], 0, FOREVER).result.into())) }),
        row(W, "interrupted, for ever: the time is as it was", is(FOREVER as u64), "kfd_events.c:965", |c| { let a = c.signal(false)?; Ok(Got::Value(interrupt(c, &[(a, 0)], 0, FOREVER).timeout.into())) }),
        row(W, "interrupted, with a time", Want::Errno(libc::EINTR), "kfd_events.c:963", |c| { let a = c.signal(false)?; Ok(Got::Errno(interrupt(c, &[(a, 0)], 0, MOST).errno)) }),
        row(W, "interrupted: the time that is left", YES, "kfd_events.c:966", |c| { let a = c.signal(false)?; Ok(holds(left_over(c, a))) }),
        row(W, "interrupted: an auto-reset signal that was taken is given back", is(0), "kfd_events.c:894", |c| { let (a, b) = (c.signal(true)?, c.signal(false)?); c.set(a); interrupt(c, &[(a, 0), (b, 0)], 1, MOST); Ok(Got::Value(polled(c, a))) }),
        row(W, "interrupted: giving back counts as a signal", is(3), "kfd_events.c:896", |c| {
            let (a, b) = (c.signal(true)?, c.signal(false)?);
            c.set(a);
            interrupt(c, &[(a, 0), (b, 0)], 1, MOST);
            Ok(Got::Value(wait(c, &[(a, 1)], 0, 0).events[0].data[0]))
        }),
        row(W, "interrupted: the event can be waited for again", is(0), "kfd_events.c:892", |c| { let a = c.signal(false)?; interrupt(c, &[(a, 0)], 0, MOST); c.set(a); Ok(Got::Value(polled(c, a))) }),
        row(W, "interrupted and restarted: time runs out as a whole", YES, "kfd_events.c:966", |c| {
            const TIME: u32 = 3000;
            let a = c.signal(false)?;
            loop {
                let start = ticks();
                let w = restart(c, &[(a, 0)], TIME, |_| {});
                // The field has what was left at the restart; of a wait that was over before, the whole.
                if w.timeout != TIME {
                    return Ok(holds(w.errno == 0 && w.result == 1 && w.timeout < TIME - 30 && ticks() - start >= TIME.into()));
                }
            }
        }),
        row(W, "interrupted and restarted, then set", is(0), "kfd_events.c:963", |c| { let a = c.signal(false)?; Ok(Got::Value(restart(c, &[(a, 0)], FOREVER, |tid| { asleep(tid, requests::WAIT_EVENTS.command()); c.set(a); }).result.into())) }),
        row(W, "set before a signal is pending: complete", is(0), "kfd_events.c:943", |c| { let a = c.signal(false)?; c.set(a); Ok(Got::Value(interrupt(c, &[(a, 0)], 0, 100).result.into())) }),
        row(W, "killed while waiting for ever", YES, "kfd_events.c:957", |c| {
            let a = c.signal(false)?;
            let Some(pid) = sys::fork() else {
                let node = c.node.clone();
                if let Ok(mut o) = Ctx::new(&node, crate::row::Needs::Vm) {
                    if let Ok(id) = o.signal(false) { wait(&o, &[(id, 0)], 0, FOREVER); }
                }
                sys::exit(0);
            };
            asleep(pid, requests::WAIT_EVENTS.command());
            sys::kill(pid, libc::SIGKILL);
            let status = sys::wait(pid);
            Ok(holds(a != 0 && status & 0x7f == libc::SIGKILL))
        }),
    ]
}
