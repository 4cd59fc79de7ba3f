// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-vm gdb`: a debugger on the guest's kernel and module, by QEMU's gdb stub.
//!
//! The guest loads the module, prints where its sections are and, once for each kernel, the names
//! and addresses of the kernel's functions, and waits. gdb attaches with the symbols of both, and
//! the guest goes on with a vector addition when gdb lets it run. Debian's own debug symbols of the
//! kernel would be a download of 1.2 GB and 7.8 GB of disk, so the kernel has names only; the
//! module has its sources, too.

use crate::emulator::{self, Emulator};
use crate::guest;
use crate::host::{Host, RunDir};
use crate::plan::Step;
use crate::qemu::{self, Accel, Serial};
use crate::run;
use crate::scenario::Scenario;
use crate::shown::shown;
use anyhow::{bail, ensure, Context, Result};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// What the guest prints before it waits.
const WAITS: &str = "waiting for the debugger";
/// Where the kernel begins without randomisation of addresses (`__START_KERNEL`).
const KERNEL: u64 = 0xffff_ffff_8100_0000;
/// The last address that counts as the kernel's own code: modules begin there.
const MODULES: u64 = 0xffff_ffff_a000_0000;
/// How often it looks whether QEMU still runs.
const LOOK: Duration = Duration::from_millis(200);

/// What the guest does. The kernel's symbols are printed only if they are `wanted`.
pub fn scenario(mut shell: Scenario, wanted: bool) -> Scenario {
    shell.name = "gdb";
    shell.about = "a vector addition under a debugger";
    shell.trace = false;
    shell
        .plan
        .retain(|step| matches!(step, Step::Insmod { .. }));
    let mut gdb = shell.kernel_arg("nokaslr").step(Step::sh(
        "sections",
        10,
        "cd /sys/module/rkfd/sections && for s in .*; do [ ! -f $s ] || echo section $s $(cat $s); done",
    ));
    if wanted {
        gdb = gdb.step(Step::sh(
            "symbols",
            300,
            "grep -i ' [tw] ' /proc/kallsyms | grep -v '\\[' | gzip | base64 | sed 's/^/symbols /'",
        ));
    }
    let wait = format!("echo {WAITS}; head -n 1 /dev/ttyS1 >/dev/null");
    gdb.step(Step::sh("debugger", 86_400, &wait))
        .step(Step::run(
            "vectoradd",
            86_400,
            &["/bin/vectoradd", "/kernels/vadd-O3.co"],
        ))
}

/// Where the kernel's symbols are kept: they are the same for every boot of a kernel.
pub fn kernel_symbols(host: &Host) -> PathBuf {
    let kernel = host.kernel.file_name().unwrap_or_default();
    host.cache
        .join(format!("symbols-{}", kernel.to_string_lossy()))
}

/// Boot, and run gdb with these further arguments; true if gdb ends well. A machine whose kernel hangs before process 1
/// starts anew, as in [`run::boot_once`].
pub fn run(host: &Host, accel: Accel, scenario: &Scenario, args: &[String]) -> Result<bool> {
    for _ in 1..run::BOOTS {
        if let Some(is_well) = attempt(host, accel, scenario, args, accel == Accel::Tcg)? {
            return Ok(is_well);
        }
        eprintln!(
            "process 1 did not start within {} s, or not well; the machine starts anew",
            run::boot_limit(host).as_secs()
        );
    }
    attempt(host, accel, scenario, args, false)?.context("process 1 does not start")
}

/// Boots once. `None`: process 1 did not start in time, which is shorter if another boot may follow (`again`).
fn attempt(
    host: &Host,
    accel: Accel,
    scenario: &Scenario,
    args: &[String],
    again: bool,
) -> Result<Option<bool>> {
    let dir = RunDir::new(&host.build, Some(host.chip), scenario.name)?;
    guest::pack(host, scenario, &dir.file("initramfs"))?;
    let gpus = Emulator::start_all(host, &dir, scenario)?;
    let (results, stub) = (dir.file("results.sock"), dir.file("gdb.sock"));
    let listener = UnixListener::bind(&results)
        .with_context(|| format!("cannot listen on {}", shown(&results)))?;
    let mut scenario = scenario.clone();
    scenario.qemu_args.extend([
        "-chardev".into(),
        format!(
            "socket,id=gdb,path={},server=on,wait=off",
            qemu::escaped(&stub)
        ),
        "-gdb".into(),
        "chardev:gdb".into(),
    ]);
    let serial = Serial::Judged(&results);
    let mut machine = qemu::command(host, accel, &scenario, &dir, &gpus, serial);
    // Ctrl-C is for gdb alone.
    let mut machine = machine
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(File::create(dir.file("log"))?)
        .stderr(File::create(dir.file("qemu.log"))?)
        .spawn()
        .context("QEMU cannot be started")?;
    let limit = scenario.timeout * host.slow;
    let boots = if again { run::boot_limit(host) } else { limit };
    let mut guest = Guest::new(listener);
    let ended = match guest.starts(&mut machine, boots) {
        Ok(true) => attach(host, &dir, guest, &stub, limit, args).map(Some),
        Ok(false) => Ok(None),
        Err(_) if again && has_bad_boot(&dir.file("log")) => Ok(None),
        Err(e) => Err(e.context(emulator::tail(&dir.file("qemu.log"), 5))),
    };
    let _ = machine.kill();
    let _ = machine.wait();
    drop(gpus);
    eprintln!("logs: {}", shown(&dir.keep(scenario.name)));
    ended
}

/// Whether only emulated processors spoilt the boot whose console this file has.
fn has_bad_boot(console: &Path) -> bool {
    fs::read(console).is_ok_and(|bytes| run::is_bad_boot(&String::from_utf8_lossy(&bytes)))
}

/// The guest's second port, from when QEMU connects it.
struct Guest {
    told: Receiver<Told>,
    answer: Option<UnixStream>,
    first: Option<String>,
}

/// What comes from there.
enum Told {
    Port(UnixStream),
    Line(String),
}

impl Guest {
    fn new(listener: UnixListener) -> Self {
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let port = listener.accept().map(|(port, _)| port);
            if let Ok((port, answer)) = port.and_then(|port| Ok((port.try_clone()?, port))) {
                let _ = tell.send(Told::Port(answer));
                run::lines(port, &tell, Told::Line);
            }
        });
        Self {
            told,
            answer: None,
            first: None,
        }
    }

    /// Whether process 1 says something in time.
    ///
    /// # Errors
    /// QEMU ends before.
    fn starts(&mut self, machine: &mut Child, limit: Duration) -> Result<bool> {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline && self.first.is_none() {
            if let Some(status) = machine.try_wait()? {
                bail!("QEMU ends before process 1 starts: {status}");
            }
            match self.told.recv_timeout(LOOK) {
                Ok(Told::Port(port)) => self.answer = Some(port),
                Ok(Told::Line(line)) => self.first = Some(line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
            }
        }
        Ok(self.first.is_some())
    }

    fn line(&mut self, deadline: Instant) -> Result<String> {
        if let Some(line) = self.first.take() {
            return Ok(line);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match self.told.recv_timeout(left) {
            Ok(Told::Line(line)) => Ok(line),
            _ => bail!("the guest does not get as far as gdb"),
        }
    }
}

fn attach(
    host: &Host,
    dir: &RunDir,
    mut guest: Guest,
    stub: &Path,
    timeout: Duration,
    args: &[String],
) -> Result<bool> {
    let (mut sections, mut symbols) = (Vec::new(), String::new());
    let deadline = Instant::now() + timeout;
    loop {
        let line = guest.line(deadline)?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["section", name, address] => sections.push((name.to_owned(), address.to_owned())),
            ["symbols", text] => symbols.extend([text, "\n"]),
            _ if line == WAITS => break,
            _ if line.contains(" FAIL ") => bail!("{line}"),
            _ => {}
        }
    }
    let names = kernel_symbols(host);
    if !symbols.is_empty() {
        write_symbols(dir, &symbols, &names)?;
    }
    let script = dir.file("attach.gdb");
    let attached = dir.file("attached");
    fs::write(&script, commands(host, &names, &sections, stub, &attached)?)?;
    // The guest is stopped from the moment that gdb attaches, and finds this when it goes on.
    let mark = attached.clone();
    let Guest { told, answer, .. } = guest;
    let mut answer = answer.context("the guest's second port was never there")?;
    thread::spawn(move || {
        while !mark.exists() {
            thread::sleep(Duration::from_millis(50));
        }
        let _ = answer.write_all(b"go\n");
        // What the guest prints is for the person.
        for line in told {
            if let Told::Line(line) = line {
                println!("guest: {line}");
            }
        }
    });
    let status = Command::new("gdb")
        .args(["-q", "-x"])
        .arg(&script)
        .args(args)
        .status()
        .context("gdb cannot be started; 'make gdb' installs it in the root")?;
    Ok(status.success())
}

/// What gdb does at its start.
fn commands(
    host: &Host,
    names: &Path,
    sections: &[(String, String)],
    stub: &Path,
    attached: &Path,
) -> Result<String> {
    let text = sections.iter().find(|s| s.0 == ".text");
    let (_, text) = text.context("the guest reported no .text of the module")?;
    let mut module = format!("add-symbol-file {} {text}", host.module.display());
    for (name, address) in sections {
        // What is only for loading is gone, and may lie where something else is now.
        let kept = name.starts_with('.') && name != ".text" && !name.contains("init");
        if kept {
            let _ = write!(module, " -s {name} {address}");
        }
    }
    Ok(format!(
        "set confirm off\nset pagination off\nset architecture i386:x86-64\nset language rust\n\
         symbol-file {}\n{module}\ntarget remote {}\nshell touch {}\n",
        names.display(),
        stub.display(),
        attached.display()
    ))
}

/// Makes a file of symbols, which gdb can read, of what `/proc/kallsyms` said.
fn write_symbols(dir: &RunDir, packed: &str, to: &Path) -> Result<()> {
    let (text, source, object) = (
        dir.file("symbols"),
        dir.file("symbols.s"),
        dir.file("symbols.o"),
    );
    fs::write(&text, packed)?;
    let unpacked = Command::new("sh")
        .args(["-c", r#"base64 -d "$0" >"$0.gz" && gzip -dc "$0.gz""#])
        .arg(&text)
        .output()?;
    ensure!(
        unpacked.status.success(),
        "the guest's symbols did not arrive whole: {}",
        String::from_utf8_lossy(&unpacked.stderr)
    );
    let listed = assembler(&String::from_utf8_lossy(&unpacked.stdout))?;
    fs::write(&source, listed)?;
    let part = to.with_extension(format!("{}.part", std::process::id()));
    let place = format!("--section-start=.kernel={KERNEL:#x}");
    let mut assemble = Command::new("as");
    assemble.arg("-o").arg(&object).arg(&source);
    let mut link = Command::new("ld");
    link.args(["-e", "0", &place, "-o"]).arg(&part).arg(&object);
    for mut tool in [assemble, link] {
        let status = tool.status().with_context(|| format!("{tool:?}"))?;
        ensure!(status.success(), "{tool:?}: {status}");
    }
    fs::rename(&part, to)?;
    Ok(())
}

/// A source for the assembler, in which each function of the kernel has its address.
fn assembler(kallsyms: &str) -> Result<String> {
    let mut out = String::from(".section .kernel,\"ax\",@nobits\nbase:\n");
    let mut last = 0;
    for line in kallsyms.lines() {
        let mut words = line.split_whitespace();
        let (Some(address), Some(_), Some(name)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let address = u64::from_str_radix(address, 16).unwrap_or(0);
        if (KERNEL..MODULES).contains(&address) {
            let offset = address - KERNEL;
            last = last.max(offset);
            // The linker drops local symbols.
            let _ = writeln!(
                out,
                ".globl \"{name}\"\n.set \"{name}\", base + {offset:#x}\n.type \"{name}\", @function"
            );
        }
    }
    ensure!(last > 0, "the guest's /proc/kallsyms has no addresses");
    let _ = writeln!(out, ".skip {:#x}", last + 0x1000);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_kernel_have_their_addresses() {
        let text = "ffffffff81000000 T _text\nffffffff81001000 t vfs_ioctl\nffffffffc0000000 t other [x]\n";
        let source = assembler(text).unwrap();
        assert!(source.contains(".set \"vfs_ioctl\", base + 0x1000\n"));
        assert!(!source.contains("other") && source.ends_with(".skip 0x2000\n"));
        assert!(assembler("0000000000000000 T _text\n").is_err());
    }

    #[test]
    fn a_boot_that_hangs_is_told_from_a_machine_that_ends() {
        let path = std::env::temp_dir().join(format!("rkfd-gdb-{}", std::process::id()));
        let listener = || {
            let _ = fs::remove_file(&path);
            Guest::new(UnixListener::bind(&path).unwrap())
        };
        let machine = |line: &str| Command::new("sh").args(["-c", line]).spawn().unwrap();

        let mut ends = machine("exit 1");
        let why = listener().starts(&mut ends, Duration::from_secs(60));
        assert!(why.unwrap_err().to_string().contains("exit status: 1"));

        let mut hangs = machine("exec sleep 600");
        assert!(!listener().starts(&mut hangs, LOOK).unwrap());

        let mut guest = listener();
        let mut port = UnixStream::connect(&path).unwrap();
        port.write_all(b"section .text 0x1000\n").unwrap();
        assert!(guest.starts(&mut hangs, Duration::from_secs(60)).unwrap());
        let line = guest.line(Instant::now()).unwrap();
        assert_eq!(line, "section .text 0x1000");
        hangs.kill().unwrap();
        hangs.wait().unwrap();
        fs::remove_file(&path).unwrap();
    }
}
