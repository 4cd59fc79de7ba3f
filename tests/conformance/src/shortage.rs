// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--shortage`: each request is repeated while its first, second, third ... allocation fails, until it
//! makes no further one. Each time it must fail with ENOMEM and change nothing, or succeed without that
//! allocation.
//!
//! The kernel makes allocations fail (`fail-nth` of its fault injection, Linux
//! `Documentation/fault-injection`). Copies from and to the program count as allocations there, and
//! fail with EFAULT. As upstream, a request whose result can't be copied back has taken effect.

use crate::fixture::{must, Ctx, GTT, VRAM};
use crate::row::Needs;
use rkfd_bare::node::Node;
use rkfd_bare::sys;
use rkfd_uapi::event::{EventData, WaitEventsArgs, EVENT_SIGNAL};
use rkfd_uapi::ioctl as requests;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;

/// More allocations than any request makes.
const MOST: u32 = 400;
/// Seconds for all repetitions of a request.
const SECONDS: u32 = 240;

/// Makes a request, and returns its errno.
type Do = fn(&mut Ctx) -> i32;

/// A request to repeat.
struct Case {
    name: &'static str,
    needs: Needs,
    /// Runs once before, without failing allocations.
    prepare: fn(&mut Ctx) -> Result<(), String>,
    run: Do,
    /// Undoes what `run` did. It may leave what is only an addition to a pool.
    undo: fn(&mut Ctx) -> Result<(), String>,
}

fn nothing(_: &mut Ctx) -> Result<(), String> {
    Ok(())
}

/// Frees the buffer object that was made last.
fn free_last(c: &mut Ctx) -> Result<(), String> {
    must("FREE_MEMORY_OF_GPU", c.free(c.scratch))
}

fn alloc(c: &mut Ctx, size: u64, flags: u32) -> i32 {
    let mut args = c.alloc_args(size, flags);
    let errno = c.raw(&requests::ALLOC_MEMORY_OF_GPU, &mut args);
    c.scratch = args.handle;
    errno
}

/// Waits for an event that is signalled.
fn wait(c: &mut Ctx) -> i32 {
    let mut events = [EventData::wait_for(c.scratch as u32, 0)];
    let mut args = WaitEventsArgs {
        events_ptr: sys::address(&mut events),
        num_events: 1,
        wait_for_all: 1,
        timeout: 1000,
        ..Default::default()
    };
    c.raw(&requests::WAIT_EVENTS, &mut args)
}

fn unmapped(c: &mut Ctx, size: u64, flags: u32) -> Result<(), String> {
    c.scratch = c.unmapped_bo(size, flags)?.handle;
    Ok(())
}

fn unmap(c: &mut Ctx) -> Result<(), String> {
    must("UNMAP_MEMORY_FROM_GPU", c.unmap(c.scratch))
}

fn cases() -> Vec<Case> {
    let case = |name, needs, run, undo| Case {
        name,
        needs,
        prepare: nothing,
        run,
        undo,
    };
    vec![
        case(
            "alloc-gtt",
            Needs::Vm,
            |c| alloc(c, 1 << 20, GTT),
            free_last,
        ),
        case(
            "alloc-vram",
            Needs::Vm,
            |c| alloc(c, 1 << 20, VRAM),
            free_last,
        ),
        Case {
            prepare: |c| unmapped(c, 4096, GTT),
            ..case("map-gtt", Needs::Vm, |c| c.map(c.scratch), unmap)
        },
        Case {
            prepare: |c| unmapped(c, 3 << 20, VRAM),
            ..case("map-vram", Needs::Vm, |c| c.map(c.scratch), unmap)
        },
        case(
            "create-queue",
            Needs::Buffers,
            |c| {
                let mut args = c.queue_args();
                let errno = c.raw(&requests::CREATE_QUEUE, &mut args);
                c.queue = args.queue_id;
                errno
            },
            |c| must("DESTROY_QUEUE", c.destroy_queue(c.queue)),
        ),
        case(
            "update-queue",
            Needs::Queue,
            |c| {
                let mut args = c.update_args();
                args.queue_priority = 3;
                c.raw(&requests::UPDATE_QUEUE, &mut args)
            },
            nothing,
        ),
        Case {
            prepare: |c| {
                c.scratch = c.signal(false)?.into();
                must("SET_EVENT", c.set(c.scratch as u32))
            },
            ..case("wait-events", Needs::Vm, wait, nothing)
        },
    ]
}

/// The file `fail-nth` of this thread.
struct FailNth(File);

impl FailNth {
    fn open() -> Result<Self, String> {
        let knobs = [
            // By default fault injection spares allocations that may sleep, and small page allocations.
            ("failslab/ignore-gfp-wait", "N"),
            ("fail_page_alloc/ignore-gfp-wait", "N"),
            ("fail_page_alloc/min-order", "0"),
            // A stack trace for each failure would look like a fault of the kernel.
            ("failslab/verbose", "0"),
            ("fail_page_alloc/verbose", "0"),
            ("fail_usercopy/verbose", "0"),
        ];
        for (knob, value) in knobs {
            let path = format!("/sys/kernel/debug/{knob}");
            fs::write(&path, value).map_err(|e| format!("{path}: {e}"))?;
        }
        let path = "/proc/thread-self/fail-nth";
        let file = File::options().read(true).write(true).open(path);
        file.map(Self).map_err(|e| format!("{path}: {e}"))
    }

    /// Runs `f` while its `nth` allocation fails; returns its result, and whether it made that allocation.
    fn with(&mut self, nth: u32, f: impl FnOnce() -> i32) -> Result<(i32, bool), String> {
        let text = nth.to_string();
        let errors = |e: std::io::Error| format!("fail-nth: {e}");
        self.0.write_all(text.as_bytes()).map_err(errors)?;
        let errno = f();
        let mut left = [0; 16];
        // This read copies to user memory, too. If it fails, `f` had not reached its `nth` allocation.
        let hit = match self.0.read_at(&mut left, 0) {
            Ok(n) => left[..n].trim_ascii() == b"0",
            Err(_) => false,
        };
        // The write copies, too, and may fail once for the same reason.
        let written = self.0.write_all(b"0").or_else(|_| self.0.write_all(b"0"));
        written.map_err(errors)?;
        Ok((errno, hit))
    }
}

/// How often a request failed, and how often it succeeded without the allocation.
#[derive(Default)]
struct Tally {
    failed: u32,
    did_without: u32,
    not_copied: u32,
}

impl Tally {
    /// Whether any allocation failed. A request can succeed without one: a `KVVec`, for example, falls
    /// back to mapped pages.
    fn tried(&self) -> bool {
        self.failed + self.did_without > 0
    }
}

fn walk(c: &mut Ctx, case: &Case) -> Result<Tally, String> {
    let mut fail = FailNth::open()?;
    (case.prepare)(c)?;
    // The first run makes what the driver makes only once and keeps.
    must(case.name, (case.run)(c))?;
    (case.undo)(c)?;
    let mut tally = Tally::default();
    for nth in 1..MOST {
        let mut hit = Err(String::new());
        let errno = c.watched(|c| {
            let run = case.run;
            hit = fail.with(nth, || run(c));
            hit.as_ref().map_or(libc::EIO, |(errno, _)| *errno)
        });
        let (_, hit) = hit?;
        let changed = c.changed.take();
        match (hit, errno, changed) {
            (false, 0, _) => {
                (case.undo)(c)?;
                return Ok(tally);
            }
            (false, errno, _) => {
                return Err(format!(
                    "it failed by itself: {}",
                    rkfd_bare::errno::name(errno)
                ));
            }
            (true, 0, _) => {
                (case.undo)(c)?;
                tally.did_without += 1;
            }
            (true, libc::ENOMEM, None) => tally.failed += 1,
            (true, libc::ENOMEM, Some(changed)) => {
                return Err(format!("allocation {nth} failed, and {changed}"));
            }
            (true, libc::EFAULT, changed) => {
                tally.not_copied += 1;
                if changed.is_some() {
                    // Only the copy of the result failed, which is the last step: there is no more to try.
                    return Ok(tally);
                }
            }
            (true, errno, _) => {
                let errno = rkfd_bare::errno::name(errno);
                return Err(format!(
                    "allocation {nth} failed: {errno} instead of ENOMEM"
                ));
            }
        }
    }
    Err(format!("it still allocates after {MOST}"))
}

/// The driver's counters, over all processes.
fn held() -> String {
    fs::read_to_string("/sys/kernel/debug/rkfd/counts").unwrap_or_default()
}

/// Waits until the driver has released what a process had, which goes on after the process' end.
fn settles(before: &str) -> bool {
    (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        held() == before
    })
}

/// Runs `f` in a process of its own, which prints a test line and exits with 0 whatever the result is.
fn judge(node: &Node, name: &str, f: impl FnOnce(&Node) -> Result<Tally, String>) -> bool {
    let before = held();
    let Some(pid) = sys::fork() else {
        sys::alarm(SECONDS);
        let result = f(node);
        match &result {
            Ok(t) if !t.tried() => println!("@rkfd test shortage-{name} FAIL nothing was tried"),
            Ok(t) => println!(
                "{name}: {} failed, {} did without, {} copies\n@rkfd test shortage-{name} ok",
                t.failed, t.did_without, t.not_copied
            ),
            Err(why) => println!("@rkfd test shortage-{name} FAIL {why}"),
        }
        let _ = std::io::stdout().flush();
        sys::exit(i32::from(result.map_or(true, |t| !t.tried())));
    };
    let status = sys::wait(pid);
    if status & 0x7f != 0 {
        println!(
            "@rkfd test shortage-{name} FAIL killed by signal {}",
            status & 0x7f
        );
    }
    let settled = settles(&before);
    if !settled {
        println!(
            "@rkfd test shortage-{name}-left FAIL {:?} was {before:?}",
            held()
        );
    }
    status == 0 && settled
}

/// Tests a request that allocates only the first time, so each try runs in a process of its own.
fn first(run: impl Fn(&mut FailNth, u32) -> Result<(i32, bool), String>) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for nth in 1..MOST {
        let Some(pid) = sys::fork() else {
            let result = FailNth::open().and_then(|mut fail| run(&mut fail, nth));
            sys::exit(match result {
                Ok((libc::ENOMEM, true)) => 1,
                Ok((0, true)) => 2,
                Ok((0, false)) => 3,
                // The copy from the program failed.
                Ok((libc::EFAULT, true)) => 4,
                Ok((errno, _)) => errno.max(5),
                Err(_) => 5,
            });
        };
        match sys::wait(pid) >> 8 {
            1 => tally.failed += 1,
            2 => tally.did_without += 1,
            3 => return Ok(tally),
            4 => tally.not_copied += 1,
            other => {
                let errno = rkfd_bare::errno::name(other);
                return Err(format!(
                    "allocation {nth} failed: {errno} instead of ENOMEM"
                ));
            }
        }
    }
    Err(format!("it still allocates after {MOST}"))
}

/// The first open makes the process' object.
fn open(_: &Node) -> Result<Tally, String> {
    first(|fail, nth| fail.with(nth, || sys::open("/dev/kfd").map_or_else(|e| e, |_| 0)))
}

/// The first signal event makes the table for them.
fn create_event(node: &Node) -> Result<Tally, String> {
    first(|fail, nth| {
        let mut c = Ctx::new(node, Needs::Vm)?;
        c.signal_page()?;
        fail.with(nth, || c.create_event(EVENT_SIGNAL, true, 0).0)
    })
}

/// Runs all cases; returns whether each was good.
pub fn run(node: &Node) -> bool {
    let mut good = judge(node, "open", open) & judge(node, "create-event", create_event);
    for case in cases() {
        good &= judge(node, case.name, |node| {
            walk(&mut Ctx::new(node, case.needs)?, &case)
        });
    }
    good
}
