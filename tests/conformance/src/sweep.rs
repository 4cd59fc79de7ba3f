// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--sweep`: each row whose request succeeds is repeated while the first, second, third ... thing that
//! the driver asks the kernel for fails, until it asks for no further one: allocations, copies from and to
//! the program, pinned and mapped pages, files.
//!
//! Each time the request must return the errno of that failure and change nothing, and the same request
//! made again must succeed; or it succeeds without what failed. Afterwards the driver's counters must
//! be as before. As upstream, a request whose result can't be copied back has taken effect, and a page
//! for events stays when the event can't be made.
//!
//! The module `tests/qemu/fail-nth` makes the calls fail, on a kernel without fault injection, too.

use crate::fixture::Ctx;
use crate::row::{Got, Group, Row, Want};
use crate::snapshot;
use rkfd_bare::node::Node;
use rkfd_bare::{errno, sys};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// More than any request asks for.
const MOST: u32 = 400;
/// Seconds after which a process that stands still is ended: no verdict on speed.
const STALLED: u32 = 120;
/// The function that copies a request's argument from the program.
const COPY_IN: &str = "_copy_from_user";
/// The function that copies results to the program.
const COPY_OUT: &str = "_copy_to_user";
/// The function that gives a DMA-buf a descriptor. The buffer has the DMA-buf by then and keeps it
/// (`amdgpu_amdkfd_gpuvm.c:842`).
const DESCRIPTOR: &str = "dma_buf_fd";
/// The function by which the driver allocates small things.
const ALLOCATE: &str = "rust_helper_krealloc_node_align";
/// Requests that answer EFAULT where there is no memory for a handle (`kfd_chardev.c:1242`, `1662`).
const HANDLES: [&str; 2] = ["ALLOC_MEMORY_OF_GPU", "IMPORT_DMABUF"];

/// What failed while a row ran.
pub struct Failure {
    /// The kernel's function.
    function: String,
    /// The errno that the request has to return.
    pub errno: i32,
    /// What the request returned.
    returned: i32,
    /// Whether the request gives a handle to memory.
    gives_handle: bool,
}

impl Failure {
    /// Whether the request has taken effect, and could only not report it.
    fn has_taken_effect(&self) -> bool {
        self.function == COPY_OUT
    }

    /// Whether a request may return this.
    fn allows(&self, returned: i32) -> bool {
        let no_handle = self.gives_handle && self.function == ALLOCATE;
        returned == self.errno || (no_handle && returned == libc::EFAULT)
    }

    /// Whether the same request, made again, must give the row's answer.
    pub fn can_be_repeated(&self, returned: i32) -> bool {
        self.allows(returned) && !self.has_taken_effect()
    }
}

/// What fails in the requests of a row.
#[derive(Default)]
pub struct Points {
    file: Option<File>,
    /// How many calls later one is to fail; 0 for none.
    left: u32,
    gives_handle: bool,
    /// What failed.
    pub failure: Option<Failure>,
}

impl Points {
    /// The `nth` call that the driver makes from now on is to fail.
    fn open(nth: u32, call: &str) -> Result<Self, String> {
        let path = "/sys/kernel/debug/fail_nth";
        let file = File::options().read(true).write(true).open(path);
        Ok(Self {
            file: Some(file.map_err(|e| format!("{path}: {e}"))?),
            left: nth,
            gives_handle: HANDLES.contains(&call),
            failure: None,
        })
    }

    /// Makes a request; returns its errno.
    pub fn around(&mut self, request: impl FnOnce() -> i32) -> i32 {
        let Some(file) = self.file.as_mut().filter(|_| self.left > 0) else {
            return request();
        };
        let armed = file.write_all(self.left.to_string().as_bytes());
        let returned = request();
        let mut text = [0; 80];
        let read = file.read_at(&mut text, 0);
        let (Ok(()), Ok(len)) = (armed, read) else {
            return libc::EIO;
        };
        let text = String::from_utf8_lossy(&text[..len]);
        let mut words = text.split_whitespace();
        self.left = words.next().and_then(|n| n.parse().ok()).unwrap_or(0);
        let function = words.next().unwrap_or_default().to_owned();
        let errno = words.next().and_then(|n| n.parse().ok()).unwrap_or(0);
        if self.left == 0 {
            self.failure = Some(Failure {
                function,
                errno,
                returned,
                gives_handle: self.gives_handle,
            });
        }
        returned
    }
}

/// How a row went while its n-th call failed. The discriminants are exit statuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Went {
    /// It makes fewer calls.
    Whole = 0,
    /// The request failed as it should, and worked when it was made again.
    Failed = 1,
    /// The request did without.
    DidWithout = 2,
    /// It had an effect that stays, as upstream's has; such as that its result could not be copied back.
    TookEffect = 3,
    /// What it did is wrong; it is printed.
    Wrong = 4,
}

/// What a request that failed answers when it is made again, if upstream keeps what it did until then.
fn stays(row: &Row, failure: &Failure) -> Option<Got> {
    match row.call {
        _ if failure.function == COPY_IN => None,
        // The queue counts as having it or not, though the update failed (kfd_process_queue_manager.c:162).
        "ALLOC_QUEUE_GWS" if row.given.ends_with("to free") => Some(Got::Errno(libc::EINVAL)),
        "ALLOC_QUEUE_GWS" => Some(Got::Errno(libc::EBUSY)),
        // The page is the process' own, though there was no memory for the event (kfd_chardev.c:914).
        "CREATE_EVENT" if row.given.starts_with("a page") => Some(Got::Errno(libc::EINVAL)),
        _ => None,
    }
}

fn judge(row: &Row, c: Ctx, got: Result<Got, String>) -> Result<Went, String> {
    let right = |got: &Result<Got, String>| match got {
        Ok(got) if row.want.holds(got) => Ok(()),
        Ok(got) => Err(format!("got {got}, wanted {}", row.want)),
        Err(why) => Err(why.clone()),
    };
    let Some(failure) = &c.points.failure else {
        return right(&got).map(|()| Went::Whole);
    };
    let named = |why: String| {
        let returned = errno::name(failure.returned);
        format!(
            "{} failed, {returned} was returned: {why}",
            failure.function
        )
    };
    if failure.returned == 0 {
        return right(&got).map(|()| Went::DidWithout).map_err(named);
    }
    if !failure.allows(failure.returned) {
        let wanted = errno::name(failure.errno);
        return Err(named(format!("instead of {wanted}")));
    }
    if failure.has_taken_effect() {
        return Ok(Went::TookEffect);
    }
    match &c.changed {
        Some(_) if failure.function == DESCRIPTOR => {
            right(&got).map(|()| Went::Failed).map_err(named)
        }
        Some(changed) => Err(named(changed.clone())),
        None if stays(row, failure).is_some_and(|answer| got == Ok(answer)) => Ok(Went::TookEffect),
        None => right(&got).map(|()| Went::Failed).map_err(named),
    }
}

/// Runs a row in a process of its own while its `nth` call fails, and waits until the driver has let go of
/// the process.
fn with(node: &Node, row: &Row, nth: u32) -> Went {
    let before = snapshot::counts();
    let complain = |why: &str| {
        println!("FAIL {} ({}), call {nth}: {why}", row.call, row.given);
        let _ = std::io::stdout().flush();
        Went::Wrong
    };
    let Some(pid) = sys::fork() else {
        sys::alarm(STALLED);
        let went = Ctx::new(node, row.needs).and_then(|mut c| {
            c.points = Points::open(nth, row.call)?;
            let got = (row.run)(&mut c);
            judge(row, c, got)
        });
        sys::exit(went.unwrap_or_else(|why| complain(&why)) as i32);
    };
    let status = sys::wait(pid);
    let went = match (status & 0x7f, status >> 8) {
        (0, 0) => Went::Whole,
        (0, 1) => Went::Failed,
        (0, 2) => Went::DidWithout,
        (0, 3) => Went::TookEffect,
        (0, 4) => Went::Wrong,
        (0, status) => complain(&format!("status {status}")),
        (signal, _) => complain(&format!("signal {signal}")),
    };
    for _ in 0..2000 {
        if snapshot::counts() == before {
            return went;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let [before, after] = [before, snapshot::counts()].map(|counts| snapshot::in_a_line(&counts));
    complain(&format!("its process left counters {before} -> {after}"))
}

/// What was tried of a request.
#[derive(Default)]
struct Tally {
    failed: u32,
    did_without: u32,
    took_effect: u32,
    wrong: u32,
}

/// Runs all rows that succeed; returns whether every failure went as it should.
pub fn run(node: &Node, groups: &[Group]) -> bool {
    let mut calls: BTreeMap<&str, Tally> = BTreeMap::new();
    let rows = groups.iter().flat_map(|group| &group.rows);
    for row in rows.filter(|row| row.want == Want::Errno(0)) {
        let tally = calls.entry(row.call).or_default();
        for nth in 1..=MOST {
            match with(node, row, nth) {
                Went::Whole => break,
                Went::Failed => tally.failed += 1,
                Went::DidWithout => tally.did_without += 1,
                Went::TookEffect => tally.took_effect += 1,
                Went::Wrong => {
                    tally.wrong += 1;
                    // What fails by itself does so for every number.
                    if tally.wrong > 20 {
                        break;
                    }
                }
            }
        }
    }
    println!("failed  did without  failed with an effect  wrong  request");
    for (call, t) in &calls {
        println!(
            "{:6}  {:11}  {:21}  {:5}  {call}",
            t.failed, t.did_without, t.took_effect, t.wrong
        );
    }
    let sum = |of: fn(&Tally) -> u32| calls.values().map(of).sum::<u32>();
    let (points, wrong) = (
        sum(|t| t.failed + t.did_without + t.took_effect),
        sum(|t| t.wrong),
    );
    match (points, wrong) {
        (0, _) => println!("@rkfd test sweep FAIL nothing was tried"),
        (_, 0) => println!("{points} calls failed\n@rkfd test sweep ok"),
        _ => println!("@rkfd test sweep FAIL {wrong} of {points} calls that failed"),
    }
    points > 0 && wrong == 0
}
