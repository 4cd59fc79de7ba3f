// SPDX-License-Identifier: MIT OR Apache-2.0
//! Process 1 of the guest: works `/etc/plan` off and reports on the second serial port.

use rkfd_vm::protocol::Line;
use rkfd_vm::{splat, Step};
use rustix::mount::{mount, MountFlags};
use rustix::pipe::{pipe_with, PipeFlags};
use rustix::system::{delete_module, finit_module, reboot, RebootCommand};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

type Outcome = Result<(), String>;

/// The second serial port, and the counts that go into the last line.
struct Report {
    out: Option<File>,
    passed: u64,
    failed: u64,
}

impl Report {
    fn line(&mut self, text: &str) {
        if let Some(out) = &mut self.out {
            let _ = out.write_all(format!("{text}\n").as_bytes());
        }
    }

    fn say(&mut self, line: &Line) {
        if let Line::Test { result, .. } = line {
            *(if result.is_ok() {
                &mut self.passed
            } else {
                &mut self.failed
            }) += 1;
        }
        self.line(&line.to_string());
    }

    fn test(&mut self, name: &str, result: Outcome) {
        self.say(&Line::test(name, result));
    }

    /// A line that a program printed: its test lines count, other marked lines are not its to say.
    fn program(&mut self, name: &str, text: &str) {
        match Line::parse(text) {
            None => self.line(text),
            Some(Ok(line @ Line::Test { .. })) => self.say(&line),
            Some(_) => self.test(
                name,
                Err(format!("printed a line that is not a test line: {text}")),
            ),
        }
    }
}

fn main() {
    let mounted = mount_all();
    let out = OpenOptions::new()
        .write(true)
        .custom_flags(O_NOCTTY)
        .open("/dev/ttyS1")
        .ok();
    let mut report = Report {
        out,
        passed: 0,
        failed: 0,
    };
    report.say(&Line::Start);
    // The boot was quiet; what the module says shall be seen.
    let _ = fs::write("/proc/sys/kernel/printk", "7");
    let applets = Command::new("/bin/busybox")
        .args(["--install", "-s", "/bin"])
        .status();
    let applets = applets
        .map_err(|e| format!("busybox: {e}"))
        .and_then(|s| outcome(s, 0));
    report.test("init", mounted.and(applets));

    match fs::read_to_string("/etc/plan") {
        Ok(plan) => plan.lines().for_each(|l| step(l, &mut report)),
        Err(e) => report.test("plan", Err(format!("/etc/plan: {e}"))),
    }
    kernel_log(&mut report);
    let (passed, failed) = (report.passed, report.failed);
    report.say(&Line::End { passed, failed });
    power_off(report.out);
}

/// From `<fcntl.h>`: opening the port must not make it our terminal.
const O_NOCTTY: i32 = 0o400;
/// From `<fcntl.h>`.
const O_NONBLOCK: i32 = 0o4000;

fn mount_all() -> Outcome {
    for (kind, at) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("debugfs", "/sys/kernel/debug"),
        ("tmpfs", "/tmp"),
        ("tmpfs", "/run"),
    ] {
        // Some kernels mount devtmpfs by themselves.
        match mount(kind, at, kind, MountFlags::empty(), None) {
            Ok(()) | Err(rustix::io::Errno::BUSY) => {}
            Err(e) => return Err(format!("mounting {at}: {e}")),
        }
    }
    Ok(())
}

fn step(line: &str, report: &mut Report) {
    match Step::parse(line) {
        Err(e) => report.test("plan", Err(format!("{e:#}"))),
        Ok(Step::Insmod { path, params }) => {
            let name = Path::new(&path)
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            report.test(&format!("insmod-{name}"), insmod(&path, &params));
        }
        Ok(Step::Rmmod(name)) => report.test(&format!("rmmod-{name}"), rmmod(&name)),
        Ok(Step::Run {
            name,
            timeout,
            status,
            argv,
        }) => {
            let result = run(&name, timeout, status, &argv, report);
            report.test(&name, result);
        }
        Ok(Step::Write { path, text }) => {
            let result = fs::write(&path, &text).map_err(|e| e.to_string());
            report.test(&format!("write-{path}"), result);
        }
        Ok(Step::Exists(path)) => {
            let found = Path::new(&path).exists();
            report.test(
                &format!("exists-{path}"),
                found.then_some(()).ok_or("it does not".into()),
            );
        }
        Ok(Step::Absent(path)) => {
            let gone = !Path::new(&path).exists();
            report.test(
                &format!("absent-{path}"),
                gone.then_some(()).ok_or("it exists".into()),
            );
        }
        Ok(Step::Meminfo(label)) => match free_memory() {
            Ok(kib) => report.say(&Line::Meminfo { label, kib }),
            Err(e) => report.test(&format!("meminfo-{label}"), Err(e)),
        },
        Ok(Step::Sleep(time)) => thread::sleep(time),
        Ok(Step::Shell) => {
            println!("The module's devices are /dev/kfd and /dev/dri/*. 'exit' powers off.");
            let _ = Command::new("/bin/busybox")
                .args(["setsid", "-c", "/bin/sh", "-l"])
                .status();
        }
    }
}

fn insmod(path: &str, params: &[String]) -> Outcome {
    let file = File::open(path).map_err(|e| format!("{path}: {e}"))?;
    let params = CString::new(params.join(" ")).map_err(|e| e.to_string())?;
    finit_module(&file, &params, 0).map_err(|e| e.to_string())
}

fn rmmod(name: &str) -> Outcome {
    let name = CString::new(name).map_err(|e| e.to_string())?;
    delete_module(&name, O_NONBLOCK).map_err(|e| e.to_string())
}

/// Run a program, pass its lines on, and take its exit status, all in bounded time.
fn run(
    name: &str,
    timeout: Duration,
    wanted: i32,
    argv: &[String],
    report: &mut Report,
) -> Outcome {
    let (program, args) = argv.split_first().ok_or("there is no program")?;
    // Close-on-exec: the child gets its two copies and no others.
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| e.to_string())?;
    let stderr = writer.try_clone().map_err(|e| e.to_string())?;
    let mut child = Command::new(program)
        .args(args)
        .env("PATH", "/bin")
        .env("RUST_BACKTRACE", "1")
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(stderr)
        .spawn()
        .map_err(|e| format!("{program}: {e}"))?;
    let (tell, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = BufReader::new(File::from(reader));
        let mut bytes = Vec::new();
        while matches!(lines.read_until(b'\n', &mut bytes), Ok(n) if n > 0) {
            let line = String::from_utf8_lossy(&bytes).trim_end().to_string();
            bytes.clear();
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    let deadline = Instant::now() + timeout;
    let mut ended = None;
    let mut patience = deadline;
    loop {
        match lines.recv_timeout(Duration::from_millis(10)) {
            Ok(line) => report.program(name, &line),
            // Its output is closed. If that was not its end, wait for that.
            Err(mpsc::RecvTimeoutError::Disconnected) if ended.is_some() => break,
            Err(mpsc::RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(10)),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        if ended.is_none() {
            ended = child.try_wait().map_err(|e| e.to_string())?;
            // A child of its own may keep the pipe open; a second is enough for what is in it.
            patience = if ended.is_some() {
                Instant::now() + Duration::from_secs(1)
            } else {
                deadline
            };
        }
        if Instant::now() >= patience {
            break;
        }
    }
    match ended {
        Some(status) => outcome(status, wanted),
        None => Err(format!(
            "no end after {} s{}",
            timeout.as_secs(),
            kill(&mut child)
        )),
    }
}

fn kill(child: &mut Child) -> &'static str {
    let _ = child.kill();
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return ", killed";
        }
        thread::sleep(Duration::from_millis(20));
    }
    ", and it cannot be killed"
}

/// A status as shells count: the exit code, or minus the signal.
fn outcome(status: ExitStatus, wanted: i32) -> Outcome {
    let got = status
        .code()
        .or(status.signal().map(|s| -s))
        .unwrap_or(i32::MIN);
    if got == wanted {
        Ok(())
    } else if got < 0 {
        Err(format!("killed by signal {}, wanted status {wanted}", -got))
    } else {
        Err(format!("exit status {got}, wanted {wanted}"))
    }
}

/// MemFree after dropping caches. Memory is freed late (RCU, work items), so the best of a second.
fn free_memory() -> Result<u64, String> {
    // 4 keeps the kernel from logging each of the writes.
    let _ = fs::write("/proc/sys/vm/drop_caches", "4");
    let mut best = 0;
    for _ in 0..5 {
        fs::write("/proc/sys/vm/drop_caches", "3").map_err(|e| format!("drop_caches: {e}"))?;
        thread::sleep(Duration::from_millis(200));
        let text = fs::read_to_string("/proc/meminfo").map_err(|e| e.to_string())?;
        let free = text.lines().find_map(|l| {
            l.strip_prefix("MemFree:")?
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        });
        best = best.max(free.ok_or("no MemFree in /proc/meminfo")?);
    }
    Ok(best)
}

/// Look through the whole kernel log, also what the console did not show.
fn kernel_log(report: &mut Report) {
    let Ok(mut log) = OpenOptions::new()
        .read(true)
        .custom_flags(O_NONBLOCK)
        .open("/dev/kmsg")
    else {
        report.test("kmsg", Err("/dev/kmsg cannot be read".into()));
        return;
    };
    // A read gives one record. EPIPE: records were overwritten before we read them.
    let mut record = [0; 8192];
    let mut lost = false;
    loop {
        match log.read(&mut record) {
            Ok(0) => break,
            Ok(n) => {
                let text = String::from_utf8_lossy(record.get(..n).unwrap_or_default());
                if let Some(message) = splat::kmsg_message(&text).filter(|m| splat::is_splat(m)) {
                    report.say(&Line::Kernel(message.into()));
                }
            }
            Err(e) if e.kind() == ErrorKind::BrokenPipe => lost = true,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if lost {
        report.line("(the kernel log was longer than its buffer)");
    }
    // Bits 5 bad page, 7 died, 9 warned, 14 soft lockup; out-of-tree and unsigned are what we are.
    const BAD: u64 = (1 << 5) | (1 << 7) | (1 << 9) | (1 << 14);
    let tainted = fs::read_to_string("/proc/sys/kernel/tainted")
        .ok()
        .and_then(|t| t.trim().parse::<u64>().ok());
    match tainted {
        Some(bits) if bits & BAD == 0 => {}
        other => report.say(&Line::Kernel(format!("it is tainted: {other:?}"))),
    }
}

fn power_off(results: Option<File>) -> ! {
    if let Some(file) = results {
        let _ = rustix::termios::tcdrain(&file);
    }
    let _ = std::io::stdout().flush();
    let _ = rustix::termios::tcdrain(std::io::stdout());
    let _ = reboot(RebootCommand::PowerOff);
    // Ending would be a panic of the kernel, which the host would report; so is this.
    panic!("the guest does not power off");
}
