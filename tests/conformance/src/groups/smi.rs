// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file of SMI_EVENTS: what is written to it, and the lines that come out.

use super::wait_threads::asleep;
use super::*;
use crate::fixture::{must, KERNEL};
use crate::row::{row, Answer, Row};
use rkfd_bare::files;
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::smi::{self as abi, SmiEventsArgs};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const BOTH: [u32; 2] = [abi::SMI_EVENT_PROCESS_START, abi::SMI_EVENT_PROCESS_END];
/// Seconds until who waits for something to read gives up.
const PATIENCE: u32 = 60;
/// The second argument of poll(2): how many files it looks at.
const ONE_FILE: u32 = 1;
/// Files that an ordinary user opens one after the other.
const MANY: u32 = 1100;
/// `KFD_MAX_KFIFO_SIZE`.
const ROOM: usize = 8192;
/// A line about a process with the longest name has more than 20 bytes, and fewer than these.
const LINE: usize = 32;

fn opened(c: &Ctx) -> Result<OwnedFd, String> {
    let mut args = SmiEventsArgs {
        gpuid: c.gpu,
        anon_fd: 0,
    };
    must("SMI_EVENTS", c.raw(&requests::SMI_EVENTS, &mut args))?;
    Ok(sys::own(args.anon_fd))
}

/// A file that wants these events. Reading it doesn't wait.
fn listening(c: &Ctx, events: &[u32]) -> Result<File, String> {
    let mut file = File::from(opened(c)?);
    let mask = events
        .iter()
        .fold(0, |all, event| all | abi::event_mask(*event));
    file.write_all(&mask.to_ne_bytes())
        .map_err(|e| e.to_string())?;
    Ok(file)
}

fn written(c: &Ctx, bytes: &[u8]) -> Result<Got, String> {
    let written = File::from(opened(c)?).write(bytes);
    Ok(match written {
        Ok(bytes) => Got::Value(bytes as u64),
        Err(e) => Got::Errno(e.raw_os_error().unwrap_or(0)),
    })
}

/// Another process has an address space of the GPU, and ends: its number.
fn neighbour(c: &Ctx) -> Result<u32, String> {
    let mut told = sys::pipe().map_err(|e| format!("pipe: errno {e}"))?;
    other_process(c, |_| {
        let pid = sys::pid().to_ne_bytes();
        told.1.write_all(&pid).map_or(1, |()| 0)
    });
    let mut pid = [0; 4];
    told.0.read_exact(&mut pid).map_err(|e| e.to_string())?;
    Ok(u32::from_ne_bytes(pid))
}

/// What is read while another process comes and goes, so many bytes at a time, and its number.
fn heard(c: &Ctx, events: &[u32], at_once: usize) -> Result<(String, u32), String> {
    let mut file = listening(c, events)?;
    let pid = neighbour(c)?;
    let (mut text, mut bytes) = (Vec::new(), vec![0; at_once]);
    // Its end comes last, and each line has an end.
    let last = format!("{:x} ", abi::SMI_EVENT_PROCESS_END);
    loop {
        match file.read(&mut bytes) {
            Ok(read) => text.extend_from_slice(bytes.get(..read).unwrap_or_default()),
            Err(e) if e.raw_os_error() == Some(libc::EAGAIN) => {
                let text = String::from_utf8_lossy(&text).into_owned();
                let lines = text.split_inclusive('\n');
                if lines
                    .last()
                    .is_some_and(|line| line.starts_with(&last) && line.ends_with('\n'))
                {
                    return Ok((text, pid));
                }
                std::thread::yield_now();
            }
            Err(e) => return Err(e.to_string()),
        }
    }
}

/// `KFD_EVENT_FMT_PROCESS`.
fn wanted(events: &[u32], pid: u32) -> Result<String, String> {
    let name = std::fs::read_to_string("/proc/self/comm").map_err(|e| e.to_string())?;
    let lines = events
        .iter()
        .map(|event| format!("{event:x} {pid:x} {name}"));
    Ok(lines.collect())
}

fn hears(c: &Ctx, events: &[u32], at_once: usize) -> Result<Got, String> {
    let (text, pid) = heard(c, events, at_once)?;
    Ok(holds(text == wanted(events, pid)?))
}

/// Waits for something to read, which comes while it waits: whether there is.
fn woken(c: &Ctx) -> Result<Got, String> {
    let file = &listening(c, &BOTH)?;
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let _ = send.send(sys::thread_id());
            files::readable(file, PATIENCE)
        });
        let tid = receive.recv().map_err(|e| e.to_string())?;
        asleep(tid, ONE_FILE);
        let waits = !waiter.is_finished();
        neighbour(c)?;
        let start = Instant::now();
        let after = waiter.join().map_err(|_| "the thread panicked")?;
        // Who isn't woken looks once more when the time is up.
        let in_time = start.elapsed() < Duration::from_secs(PATIENCE.into()) / 2;
        Ok(holds(waits && after && in_time))
    })
}

/// What an ordinary user's file has to read after another process has begun and ended: an error number.
fn unheard(c: &Ctx) -> Answer {
    let pipe = || sys::pipe().map_err(|e| format!("pipe: errno {e}"));
    let ((mut ready, mut listens), (mut goes_on, mut done)) = (pipe()?, pipe()?);
    let node = c.node.clone();
    // The listener's process begins first.
    std::thread::scope(|scope| {
        let other = scope.spawn(move || -> std::io::Result<i32> {
            ready.read_exact(&mut [0])?;
            let status = forked(|| Ctx::new(&node, crate::row::Needs::Vm).map_or(254, |_| 0));
            done.write_all(&[0])?;
            Ok(status)
        });
        let got = other_process(c, |o| {
            sys::drop_privileges();
            let Ok(mut file) = listening(o, &BOTH) else {
                return 255;
            };
            let woken = listens
                .write_all(&[0])
                .and_then(|()| goes_on.read_exact(&mut [0]));
            let read = woken.and_then(|()| file.read(&mut [0; 64]));
            read.map_or_else(|e| e.raw_os_error().unwrap_or(253), |_| 0)
        });
        let other = other.join().map_err(|_| "the thread panicked")?;
        match other.map_err(|e| e.to_string())? {
            0 => Ok(Got::Errno(got)),
            status => Err(format!("the other process ended with {status}")),
        }
    })
}

/// Bytes that wait for a client that doesn't read while more other processes begin than there is room for.
fn waiting(c: &Ctx) -> Result<Got, String> {
    // The longest name, so that not so many are needed.
    std::fs::write("/proc/self/comm", "fifteen-letters").map_err(|e| e.to_string())?;
    let mut file = listening(c, &BOTH[..1])?;
    for _ in 0..ROOM / 20 {
        neighbour(c)?;
    }
    let mut bytes = vec![0; 2 * ROOM];
    let mut all = 0;
    while let Ok(read) = file.read(&mut bytes) {
        all += read;
    }
    Ok(holds(all <= ROOM && all > ROOM - LINE))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const S: &str = "SMI_EVENTS";
    const READ: &str = "kfd_smi_events.c: kfd_smi_ev_read";
    const WRITE: &str = "kfd_smi_events.c: kfd_smi_ev_write";
    const PROCESS: &str = "kfd_smi_events.c: kfd_smi_event_process";
    vec![
        row(S, "read: nothing there", Want::Errno(libc::EAGAIN), READ, |c| Ok(errno(listening(c, &BOTH)?.read(&mut [0; 8]).map(|_| ()).map_err(|e| e.raw_os_error().unwrap_or(0))))),
        row(S, "write: 8 bytes", is(8), WRITE, |c| written(c, &[0; 8])),
        row(S, "write: 16 bytes, of which 8 count", is(8), WRITE, |c| written(c, &[0; 16])),
        row(S, "write: 4 bytes", EFAULT, WRITE, |c| written(c, &[0; 4])),
        row(S, "read: another process begins and ends", YES, PROCESS, |c| hears(c, &BOTH, 4096)),
        row(S, "read: the same, 5 bytes at a time", YES, READ, |c| hears(c, &BOTH, 5)),
        row(S, "read: another process ends, which alone is chosen", YES, "kfd_smi_events.c: kfd_smi_ev_enabled", |c| hears(c, &BOTH[1..], 4096)),
        row(S, "read: an ordinary user's, while another process begins and ends", Want::Errno(libc::EAGAIN), "kfd_smi_events.c: kfd_smi_ev_enabled", |c| unheard(c)),
        row(S, "read: as long as nothing was chosen", Want::Errno(libc::EAGAIN), "kfd_smi_events.c: kfd_smi_event_open", |c| { let mut file = File::from(opened(c)?); neighbour(c)?; Ok(errno(file.read(&mut [0; 8]).map(|_| ()).map_err(|e| e.raw_os_error().unwrap_or(0)))) }),
        row(S, "read: as much as there is room for", YES, "kfd_smi_events.c: add_event_to_kfifo", |c| waiting(c)),
        row(S, "read: an address that can't be written", EFAULT, READ, |c| { let file = listening(c, &BOTH)?; neighbour(c)?; Ok(errno(files::read_to(&file, KERNEL))) }),
        row(S, "poll: another process begins", YES, "kfd_smi_events.c: kfd_smi_ev_poll", |c| woken(c)),
        row(S, "opened and closed many times by an ordinary user", is(MANY.into()), "kfd_smi_events.c: kfd_smi_ev_release", |c| Ok(Got::Value(other_process(c, |o| { sys::drop_privileges(); i32::from((0..MANY).all(|_| opened(o).is_ok())) }) as u64 * u64::from(MANY)))),
    ]
}
