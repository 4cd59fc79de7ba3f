// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which process may use an open file: opens, forks, threads, and calls other than ioctl.

use super::*;
use crate::fixture::GTT;
use crate::row::{row, Answer, Row};
use rkfd_uapi::event::SetEventArgs;
use rkfd_uapi::ioctl::{self as requests, ioc, READ, TYPE};

fn version(c: &Ctx) -> i32 {
    let mut words = [0u32; 2];
    sys::ioctl(
        &c.kfd,
        requests::GET_VERSION.command(),
        sys::address(&mut words),
    )
}

/// A request in a forked child that inherited the file.
fn inherited(c: &Ctx, cmd: u32) -> Answer {
    Ok(Got::Errno(forked(|| {
        let mut buffer = [0u8; 512];
        sys::ioctl(&c.kfd, cmd, sys::address(&mut buffer))
    })))
}

fn set_by(fd: &std::os::fd::OwnedFd, event_id: u32) -> i32 {
    sys::ioctl(
        fd,
        requests::SET_EVENT.command(),
        sys::address(&mut SetEventArgs { event_id, pad: 0 }),
    )
}

fn second_open() -> Result<std::os::fd::OwnedFd, String> {
    sys::open("/dev/kfd").map_err(|e| format!("open: {e}"))
}

/// Opens a device node of KFD's major and another minor.
fn minor(minor: u32) -> Answer {
    let path = format!("/tmp/kfd-{}-{minor}", sys::pid());
    let major = sys::major("/dev/kfd").map_err(|e| format!("stat: {e}"))?;
    sys::mknod(&path, major, minor).map_err(|e| format!("mknod: {e}"))?;
    let result = sys::open(&path).map(|_| ());
    let _ = std::fs::remove_file(&path);
    Ok(errno(result))
}

/// A process with a queue forks and ends, while its child lives on and holds the files open. Returns
/// whether everything that the process made is gone nevertheless.
fn heir(c: &Ctx) -> Answer {
    let counts = || -> Vec<String> {
        let text = std::fs::read_to_string("/sys/kernel/debug/rkfd/counts").unwrap_or_default();
        let made = |l: &&str| {
            ["queues", "buffers", "events"]
                .iter()
                .any(|k| l.starts_with(k))
        };
        text.lines().filter(made).map(String::from).collect()
    };
    let before = counts();
    if before.len() != 3 {
        return Err(format!("the module counts {before:?}"));
    }
    let note = format!("/tmp/heir-{}", sys::pid());
    let node = c.node.clone();
    forked(|| {
        let Ok(parent) = Ctx::new(&node, crate::row::Needs::Queue) else {
            return 254;
        };
        let Some(pid) = sys::fork() else {
            sys::alarm(STALLED);
            loop {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        };
        // The descriptors stay open until the end.
        std::mem::forget(parent);
        std::fs::write(&note, pid.to_string()).map_or(253, |()| 0)
    });
    let heir = std::fs::read_to_string(&note).map_err(|e| format!("{note}: {e}"))?;
    let _ = std::fs::remove_file(&note);
    let files = std::fs::read_dir(format!("/proc/{heir}/fd")).map_err(|e| e.to_string())?;
    let targets = files.flatten().map(|f| std::fs::read_link(f.path()));
    // The row's own process has the file open, too.
    let held = targets.flatten().filter(|t| t.ends_with("kfd")).count() > 1;
    let gone = counts() == before;
    sys::kill(
        heir.parse().map_err(|e| format!("{heir}: {e}"))?,
        libc::SIGKILL,
    );
    match held {
        true => Ok(holds(gone)),
        false => Err("the child doesn't hold the file".into()),
    }
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    vec![
        row("open", "minor 0 of another name", OK, "kfd_chardev.c:198", |_| minor(0)),
        row("open", "minor 1", ENODEV, "kfd_chardev.c:198", |_| minor(1)),
        row("open", "minor 255", ENODEV, "kfd_chardev.c:198", |_| minor(255)),
        row("open", "read only", OK, "kfd_chardev.c:193", |_| Ok(errno(sys::open_with("/dev/kfd", libc::O_RDONLY).map(|_| ())))),
        row("GET_VERSION", "of a file opened read only", OK, "kfd_chardev.c:3622", |c| { c.kfd = sys::open_with("/dev/kfd", libc::O_RDONLY).map_err(|e| e.to_string())?; Ok(Got::Errno(version(c))) }),
        row("read", "8 bytes", EINVAL, "kfd_chardev.c:58", |c| Ok(Got::Errno(sys::file_call(&c.kfd, "read")))),
        row("write", "8 bytes", EINVAL, "kfd_chardev.c:58", |c| Ok(Got::Errno(sys::file_call(&c.kfd, "write")))),
        row("ioctl", "by a forked child", EBADF, "kfd_chardev.c:3672", |c| inherited(c, requests::GET_VERSION.command())),
        row("ioctl", "unknown number by a forked child", ENOTTY, "kfd_chardev.c:3635", |c| inherited(c, ioc(READ, TYPE, 0x40, 8))),
        row("ioctl", "number 0 by a forked child", ENOTTY, "kfd_chardev.c:3651", |c| inherited(c, ioc(READ, TYPE, 0, 8))),
        row("ioctl", "address 0 by a forked child", EBADF, "kfd_chardev.c:3672", |c| Ok(Got::Errno(forked(|| sys::ioctl(&c.kfd, requests::GET_VERSION.command(), 0))))),
        row("CRIU_OP", "by a forked child", EBADF, "kfd_chardev.c:3669", |c| inherited(c, requests::CRIU_OP.command())),
        row("ioctl", "by a forked child that opened its own file", OK, "kfd_process.c:1005", |c| { let node = c.node.clone(); Ok(Got::Errno(forked(|| Ctx::new(&node, crate::row::Needs::Open).map_or(254, |o| version(&o))))) }),
        row("ioctl", "by the parent after a child", OK, "kfd_chardev.c:3669", |c| { forked(|| version(c)); Ok(Got::Errno(version(c))) }),
        row("ioctl", "by another thread", OK, "kfd_chardev.c:3669", |c| { let c = &*c; Ok(Got::Errno(std::thread::scope(|s| s.spawn(|| version(c)).join().unwrap_or(254)))) }),
        row("SET_EVENT", "through another open", OK, "kfd_process.c:1001", |c| { let id = c.signal(false)?; Ok(Got::Errno(set_by(&second_open()?, id))) }),
        row("SET_EVENT", "through another open when the first is closed", OK, "kfd_chardev.c:236", |c| { let id = c.signal(false)?; let second = second_open()?; c.kfd = second; Ok(Got::Errno(c.set(id))) }),
        row("SET_EVENT", "through an open after all were closed", OK, "kfd_process.c:1001", |c| {
            let id = c.signal(false)?;
            let null = sys::open("/dev/null").map_err(|e| e.to_string())?;
            drop(std::mem::replace(&mut c.kfd, null));
            Ok(Got::Errno(set_by(&second_open()?, id)))
        }),
        row("SET_EVENT", "a child's event has the same id and is another", EINVAL, "kfd_process.c:1076", |c| {
            let made = other_process(c, |o| o.signal(false).map_or(0, |id| id as i32));
            Ok(Got::Errno(set_by(&c.kfd, made as u32)))
        }),
        row("FREE_MEMORY_OF_GPU", "through another open", OK, "kfd_process.c:1001", |c| { let b = c.unmapped_bo(4096, GTT)?; c.kfd = second_open()?; Ok(Got::Errno(c.free(b.handle))) }),
        row("process", "what a process leaves is gone with it", YES, "kfd_process.c:1110", |c| {
            let counts = || std::fs::read_to_string("/sys/kernel/debug/rkfd/counts").unwrap_or_default();
            let before = counts();
            let node = c.node.clone();
            forked(|| match Ctx::new(&node, crate::row::Needs::Queue) {
                Ok(mut o) => { let _ = (o.signal(false), o.event(8, true), o.new_queue(|_| {})); 0 }
                Err(_) => 254,
            });
            Ok(holds(counts() == before))
        }),
        row("process", "a forked child that holds the file keeps nothing alive", YES, "kfd_process.c: kfd_process_notifier_release", |c| heir(c)),
        row("process", "what a killed process leaves is gone with it", YES, "kfd_process.c:1110", |c| {
            let before = c.available();
            let node = c.node.clone();
            forked(|| {
                if let Ok(mut o) = Ctx::new(&node, crate::row::Needs::Queue) { let _ = o.bo(4 << 20, crate::fixture::VRAM); }
                sys::kill(sys::pid() as i32, libc::SIGKILL);
                0
            });
            Ok(holds(c.available() == before))
        }),
    ]
}
