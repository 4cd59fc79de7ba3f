// SPDX-License-Identifier: MIT OR Apache-2.0

//! A program whose mmap lock is kept opens `/dev/kfd`, and holds up nobody else.
//!
//! The lock is kept by a read of `/proc/self/mem` at a page of a file that this program serves itself, by FUSE, and
//! doesn't answer for: `__access_remote_vm` doesn't let go of it. A second thread opens `/dev/kfd`, which registers for the
//! end of the address space, and waits for that lock. Others must be able to open it meanwhile, and a fatal signal must
//! end the wait.
//!
//! `openings`

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rkfd_programs::{check, report, Failure};
use rustix::fs::{Mode, OFlags, CWD};
use rustix::mm::{MapFlags, ProtFlags};

/// The file that is served, a mount of its own.
const FILE: &str = "/served";
const PAGE: usize = 4096;
/// Longer than an open takes, and shorter than a step of a test may.
const LIMIT: Duration = Duration::from_secs(20);
/// `__NR_openat` of x86-64, as `/proc/PID/syscall` begins with it.
const OPENAT: &str = "257 ";

/// What Linux asks of a FUSE server, and how it is answered (`include/uapi/linux/fuse.h`).
mod fuse {
    pub const FORGET: u32 = 2;
    pub const GETATTR: u32 = 3;
    pub const OPEN: u32 = 14;
    pub const READ: u32 = 15;
    pub const INIT: u32 = 26;
    pub const INTERRUPT: u32 = 36;
    pub const BATCH_FORGET: u32 = 42;
    /// Requests that need no answer but that they were done.
    pub const DONE: [u32; 2] = [18, 25];
    /// What a request is read into, at least (`FUSE_MIN_READ_BUFFER`).
    pub const REQUEST: usize = 8192;
}

fn put32(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// `struct fuse_init_out` of version 7.31: no flags, and writes of a page.
fn init() -> Vec<u8> {
    let mut words = [0; 16];
    words[..2].copy_from_slice(&[7, 31]);
    words[5] = PAGE as u32;
    put32(&words)
}

/// `struct fuse_attr_out`: a file of a page that all may read, for an hour.
fn attributes() -> Vec<u8> {
    let mut words = [0; 26];
    words[0] = 3600;
    // The attributes: inode number, size, blocks; mode and links.
    words[4] = 1;
    words[6] = PAGE as u32;
    words[8] = 8;
    words[19] = 0o100_644;
    words[20] = 1;
    words[24] = PAGE as u32;
    put32(&words)
}

/// Answers requests until the file is no longer mounted. A read is told of, and answered when that is answered.
fn serve(mut fuse: File, read: &Sender<()>, go_on: &Receiver<()>) {
    let mut request = vec![0; fuse::REQUEST];
    loop {
        let Ok(40..) = fuse.read(&mut request) else {
            return;
        };
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|n| request[at + n]));
        let (error, body) = match word(4) {
            fuse::INIT => (0, init()),
            fuse::GETATTR => (0, attributes()),
            fuse::OPEN => (0, vec![0; 16]),
            fuse::READ => {
                let _ = read.send(());
                let _ = go_on.recv();
                (0, vec![0; PAGE])
            }
            fuse::FORGET | fuse::BATCH_FORGET | fuse::INTERRUPT => continue,
            done if fuse::DONE.contains(&done) => (0, Vec::new()),
            _ => (-libc::ENOSYS, Vec::new()),
        };
        let mut answer = put32(&[16 + body.len() as u32, error as u32]);
        answer.extend_from_slice(&request[8..16]);
        answer.extend(body);
        let _ = fuse.write_all(&answer);
    }
}

/// Mounts the file, whose requests come by the descriptor.
fn mount(fuse: &File) -> Result<(), Failure> {
    use std::os::fd::AsRawFd;
    std::fs::write(FILE, "").map_err(Failure::new)?;
    let options = format!(
        "fd={},rootmode=100644,user_id=0,group_id=0\0",
        fuse.as_raw_fd()
    );
    let place = format!("{FILE}\0");
    let kind = c"fuse".as_ptr();
    // SAFETY: All of them end with a zero and live as long as the call.
    let mounted = unsafe {
        let (place, options) = (place.as_ptr().cast(), options.as_ptr().cast());
        libc::mount(kind, place, kind, 0, options)
    };
    match mounted {
        0 => Ok(()),
        _ => Err(Failure::new(std::io::Error::last_os_error())),
    }
}

/// The program whose lock is kept: a thread reads the file's page as memory, and this one opens `/dev/kfd` when it is
/// told to. From then on nothing is allocated or mapped, which would need the lock, too.
fn held() -> Result<(), Failure> {
    std::fs::metadata(FILE).map_err(Failure::new)?;
    let file = File::open(FILE).map_err(Failure::new)?;
    let null = std::ptr::null_mut();
    // SAFETY: The kernel chooses the address, so no mapping is replaced; this one is never removed.
    let page =
        unsafe { rustix::mm::mmap(null, PAGE, ProtFlags::READ, MapFlags::PRIVATE, &file, 0) };
    let at = page.map_err(Failure::new)? as u64;
    let memory = File::open("/proc/self/mem").map_err(Failure::new)?;
    thread::spawn(move || rustix::io::pread(&memory, &mut [0u8; 8][..], at).is_ok());
    let mut byte = [0];
    rustix::io::read(std::io::stdin(), &mut byte[..]).map_err(Failure::new)?;
    let (flags, mode) = (OFlags::RDWR, Mode::empty());
    rustix::fs::openat(CWD, c"/dev/kfd", flags, mode).map_err(Failure::new)?;
    Ok(())
}

fn this(case: &str) -> Result<Command, Failure> {
    let mut command = Command::new(std::env::current_exe().map_err(Failure::new)?);
    command.arg(case);
    Ok(command)
}

/// Whether this holds before the time is over.
fn soon(mut holds: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < LIMIT {
        if holds() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

fn of(pid: u32, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

/// With the first program at its open.
fn meanwhile(first: &mut Child) -> Result<(), Failure> {
    let pid = first.id();
    let waits = soon(|| of(pid, "syscall").starts_with(OPENAT));
    check("a program whose mmap lock is kept waits in open", waits)?;
    let mut second = this("opens")?.spawn().map_err(Failure::new)?;
    let opened = soon(|| matches!(second.try_wait(), Ok(Some(status)) if status.success()));
    check("another program opens /dev/kfd meanwhile", opened)?;
    let still = of(pid, "syscall").starts_with(OPENAT);
    check("the first one still waits", still)?;

    first.kill().map_err(Failure::new)?;
    // Its other thread is still there, so that the first is a zombie: the letter behind the name.
    let ended = soon(|| of(pid, "stat").contains(") Z "));
    check("a fatal signal ends the wait", ended)
}

fn run() -> Result<(), Failure> {
    let fuse = File::options().read(true).write(true).open("/dev/fuse");
    let fuse = fuse.map_err(Failure::new)?;
    mount(&fuse)?;
    let (read, was_read) = channel();
    let (go_on, may_go_on) = channel();
    let server = thread::spawn(move || serve(fuse, &read, &may_go_on));

    let first = this("held")?.stdin(Stdio::piped()).spawn();
    let mut first = first.map_err(Failure::new)?;
    let result = match was_read.recv_timeout(LIMIT) {
        Ok(()) => {
            let told = first.stdin.take().map(|mut pipe| pipe.write_all(b"\n"));
            match told {
                Some(Ok(())) => meanwhile(&mut first),
                _ => Err(Failure::new("the program has no pipe")),
            }
        }
        Err(_) => Err(Failure::new("nobody reads the file")),
    };
    let _ = go_on.send(());
    let _ = first.kill();
    let _ = first.wait();
    rustix::mount::unmount(FILE, rustix::mount::UnmountFlags::DETACH).map_err(Failure::new)?;
    server
        .join()
        .map_err(|_| Failure::new("the server panicked"))?;
    result
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("held") => match held() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Some("opens") => match File::options().read(true).write(true).open("/dev/kfd") {
            Ok(_) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        _ => report("openings", run),
    }
}
