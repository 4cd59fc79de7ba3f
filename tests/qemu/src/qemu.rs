// SPDX-License-Identifier: MIT OR Apache-2.0
//! QEMU's command line, and the choice of its accelerator.

use crate::emulator::{Emulator, CONTROL};
use crate::host::{self, Host, RunDir, QEMU};
use crate::run::{self, Show};
use crate::scenario::Scenario;
use crate::scenarios;
use anyhow::{bail, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The translator executes string instructions byte by byte; without these features the kernel
/// clears and copies memory by words.
const TCG_CPU: &str = "max,erms=off,fsrm=off,fsrs=off,fzrm=off";

/// What executes the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accel {
    /// The processor itself.
    Kvm,
    /// QEMU's translator: slower, works everywhere.
    Tcg,
}

impl std::fmt::Display for Accel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Accel::Kvm => "KVM",
            Accel::Tcg => "TCG",
        })
    }
}

impl Accel {
    /// As it is asked for on the command line.
    pub fn argument(self) -> &'static str {
        match self {
            Accel::Kvm => "kvm",
            Accel::Tcg => "tcg",
        }
    }

    fn args(self) -> [&'static str; 4] {
        match self {
            Accel::Kvm => ["-accel", "kvm", "-cpu", "host"],
            Accel::Tcg => ["-accel", "tcg,thread=multi", "-cpu", TCG_CPU],
        }
    }

    /// As it was asked for, or what works here. `/dev/kvm` can be there and open and still not
    /// run a guest, so a trial boot decides, once per boot of the host and kernel.
    pub fn choose(host: &Host, asked: &str) -> Result<Self> {
        match asked {
            "kvm" => return Ok(Accel::Kvm),
            "tcg" => return Ok(Accel::Tcg),
            "auto" => {}
            other => bail!("no accelerator is called '{other}': auto, kvm or tcg"),
        }
        if fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/kvm")
            .is_err()
        {
            return Ok(Accel::Tcg);
        }
        let known = host.cache.join(format!("kvm-{}", host.boot_key()));
        if let Ok(text) = fs::read_to_string(&known) {
            return Ok(if text.starts_with("works") {
                Accel::Kvm
            } else {
                Accel::Tcg
            });
        }
        eprintln!("trying KVM once ...");
        let trial = Scenario {
            name: "kvm-trial",
            ..scenarios::boot()
        }
        .timeout(20);
        // A host is slow or a kernel checks much where the guest's code is translated. With KVM a boot takes seconds, or
        // KVM is no help.
        let host = &Host {
            slow: 1,
            ..host.clone()
        };
        let outcome = run::run(host, Accel::Kvm, &trial, Show::Nothing, &mut |_| {})?;
        let reason = outcome.wrong.join("; ");
        if outcome.is_good() {
            fs::write(&known, "works\n")?;
            return Ok(Accel::Kvm);
        }
        eprintln!(
            "KVM does not run a guest here ({}); using the translator",
            reason.lines().next().unwrap_or("?")
        );
        fs::write(&known, format!("no: {reason}\n"))?;
        Ok(Accel::Tcg)
    }
}

/// How the guest's two serial ports are connected.
pub enum Serial<'a> {
    /// The console is QEMU's output; the second port is a socket on which we listen.
    Judged(&'a Path),
    /// The console is the terminal, which can also reach QEMU's monitor; the second port is a
    /// socket on which we listen.
    Terminal(&'a Path),
}

/// The command that boots a scenario.
pub fn command(
    host: &Host,
    accel: Accel,
    scenario: &Scenario,
    dir: &RunDir,
    gpus: &[Emulator],
    serial: Serial<'_>,
) -> Command {
    let memory = scenario.memory_mib;
    let mut qemu = host::bound(QEMU);
    qemu.args(accel.args());
    qemu.args([
        "-smp",
        &scenario.cpus.to_string(),
        "-m",
        &format!("{memory}M"),
    ]);
    // Guest memory is a shared memfd: the emulator's DMA goes there.
    qemu.args([
        "-object",
        &format!("memory-backend-memfd,id=mem,size={memory}M,share=on"),
    ]);
    let machine = scenario.machine.name();
    qemu.args(["-machine", &format!("{machine},memory-backend=mem")]);
    qemu.args([
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
    ]);
    match serial {
        Serial::Judged(socket) => {
            qemu.args([
                "-chardev",
                "stdio,id=console,signal=off",
                "-serial",
                "chardev:console",
            ]);
            results(&mut qemu, socket);
        }
        Serial::Terminal(socket) => {
            qemu.args(["-serial", "mon:stdio"]);
            results(&mut qemu, socket);
        }
    }
    if scenario.control {
        port(&mut qemu, "control", &dir.file(CONTROL));
    }
    qemu.arg("-kernel").arg(&host.image);
    qemu.arg("-initrd").arg(dir.file("initramfs"));
    // rkfd-init raises the log level once it runs; before that only trouble is worth the time.
    // On a busy host the kernel's trial of its timer can find too few ticks, and panic. Nobody
    // attacks the guest by its processor's speculation, and the mitigations cost a sixth of a boot.
    // With five levels of page tables KASAN calls an interrupt's accesses wild that comes while
    // identify_cpu() has cleared the processor's features, of which KASAN asks how far memory goes.
    let mut line = String::from(
        "console=ttyS0 loglevel=5 no_timer_check mitigations=off no5lvl panic=-1 panic_on_warn=1 rdinit=/init",
    );
    for word in &scenario.kernel_args {
        line.push(' ');
        line.push_str(word);
    }
    qemu.args(["-append", &line]);
    for (n, gpu) in gpus.iter().enumerate() {
        // A long time-out: a loaded host must not cost us the device. Only JSON can name a socket.
        let path = gpu
            .socket
            .display()
            .to_string()
            .replace('\\', "\\\\")
            .replace('"', "\\\"");
        qemu.arg("-device").arg(format!(
            r#"{{"driver":"vfio-user-pci","id":"gpu{n}","x-msg-timeout":60000,"socket":{{"type":"unix","path":"{path}"}}}}"#
        ));
    }
    qemu.args(&scenario.qemu_args);
    qemu
}

/// The second serial port is a socket on which we listen.
fn results(qemu: &mut Command, socket: &Path) {
    port(qemu, "results", socket);
}

/// The next serial port is a socket that is there.
fn port(qemu: &mut Command, id: &str, socket: &Path) {
    qemu.arg("-chardev")
        .arg(format!("socket,id={id},path={}", escaped(socket)));
    qemu.args(["-serial", &format!("chardev:{id}")]);
}

/// A comma ends an option's value in QEMU, unless it is doubled.
pub(crate) fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}
