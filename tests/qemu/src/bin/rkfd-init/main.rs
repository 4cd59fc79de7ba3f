// SPDX-License-Identifier: MIT OR Apache-2.0
//! Process 1 of the guest: works `/etc/plan` off and reports on the second serial port.

mod anew;
mod kmemleak;
mod kunit;
mod program;
mod report;
mod rules;
mod shell;
mod system;

use report::{Outcome, Report};
use rkfd_vm::plan::NEEDED;
use rkfd_vm::protocol::Line;
use rkfd_vm::Step;
use rustix::mount::{mount, MountFlags};
use rustix::system::{reboot, RebootCommand};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use system::KernelLog;

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
        scenario: None,
    };
    report.send(&Line::Start);
    // The boot was quiet; from here on the console shows the module's messages.
    let _ = fs::write("/proc/sys/kernel/printk", "7");
    let applets = Command::new("/bin/busybox")
        .args(["--install", "-s", "/bin"])
        .status();
    let applets = applets
        .map_err(|e| format!("busybox: {e}"))
        .and_then(|s| program::outcome(s, 0));
    report.test("init", mounted.and(applets));

    if let Ok(needed) = fs::read_to_string(NEEDED) {
        let loaded = needed
            .lines()
            .try_for_each(|path| system::insmod(path, &[]));
        report.test("needed-modules", loaded);
    }

    let mut log = KernelLog::open();
    match fs::read_to_string("/etc/plan") {
        Ok(plan) => plan.lines().for_each(|l| step(l, &mut log, &mut report)),
        Err(e) => report.test("plan", Err(format!("/etc/plan: {e}"))),
    }
    end(&mut log, &mut report);
    power_off(report.out);
}

/// From `<fcntl.h>`: opening the port must not make it our terminal.
const O_NOCTTY: i32 = 0o400;

fn mount_all() -> Outcome {
    for (kind, at) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("debugfs", "/sys/kernel/debug"),
        ("tracefs", "/sys/kernel/tracing"),
        ("tmpfs", "/tmp"),
        ("tmpfs", "/run"),
    ] {
        // Some kernels mount devtmpfs by themselves.
        match mount(kind, at, kind, MountFlags::empty(), None) {
            Ok(()) | Err(rustix::io::Errno::BUSY) => {}
            // Small kernels, such as the debug kernel, have no tracing.
            Err(_) if kind == "tracefs" => {}
            Err(e) => return Err(format!("mounting {at}: {e}")),
        }
    }
    Ok(())
}

/// The end of a scenario.
fn end(log: &mut KernelLog, report: &mut Report) {
    log.check(report);
    let (passed, failed) = report.take_counts();
    report.send(&Line::End { passed, failed });
}

fn step(line: &str, log: &mut KernelLog, report: &mut Report) {
    match Step::parse(line) {
        Ok(Step::Scenario { name, rules }) => {
            // The first begins with the machine.
            if report.scenario.replace(name.clone()).is_some() {
                end(log, report);
            }
            report.send(&Line::Scenario(name));
            report.test("begin-anew", anew::begin(rules.as_deref()));
        }
        Err(e) => report.test("plan", Err(format!("{e:#}"))),
        Ok(Step::Insmod { path, params }) => {
            let name = Path::new(&path)
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let loaded = system::insmod(&path, &params);
            let suites = loaded.is_ok();
            report.test(&format!("insmod-{name}"), loaded);
            if suites {
                kunit::results(report);
            }
        }
        Ok(Step::Rmmod(name)) => report.test(&format!("rmmod-{name}"), system::rmmod(&name)),
        Ok(Step::Run {
            name,
            timeout,
            status,
            argv,
        }) => {
            let result = program::run(&name, timeout, status, &argv, report);
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
        Ok(Step::Meminfo(label)) => match system::memory() {
            Ok(figures) => figures.into_iter().for_each(|(suffix, kib)| {
                report.send(&Line::Meminfo {
                    label: format!("{label}{suffix}"),
                    kib,
                });
            }),
            Err(e) => report.test(&format!("meminfo-{label}"), Err(e)),
        },
        Ok(Step::Sleep(time)) => thread::sleep(time),
        Ok(Step::Kmemleak) => kmemleak::scan(report),
        Ok(Step::Shell { rows, cols }) => shell::run(rows, cols),
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
