// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds what runs in the guest, and packs the initramfs.

use crate::build;
use crate::c_program;
use crate::cpio::Archive;
use crate::firmware;
use crate::host::Host;
use crate::kernel;
use crate::plan::{self, Step};
use crate::scenario::{Include, Scenario};
use crate::shown::shown;
use anyhow::{ensure, Context, Result};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

const TRIPLE: &str = "x86_64-unknown-linux-gnu";
const BUSYBOX: &str = "/bin/busybox";
/// The packages that scenarios take programs from. Every build names all of them, whichever programs it
/// makes: cargo chooses the features of what they depend on by the packages that are named, and would
/// compile it again for other ones.
const PACKAGES: [&str; 6] = [
    "rkfd",
    "rkfd-cli",
    "rkfd-conformance",
    "rkfd-fuzz",
    "rkfd-programs",
    "rkfd-vm",
];

/// Build, static, everything that the scenarios include, and process 1.
pub fn build_programs(host: &Host, scenarios: &[Scenario]) -> Result<()> {
    let mut packages = BTreeSet::from(PACKAGES);
    // With one example the library is built with the features of its examples, always.
    let mut targets = BTreeSet::from([("--bin", "rkfd-init"), ("--example", "vector_add")]);
    for include in scenarios.iter().flat_map(|s| &s.includes) {
        match include {
            Include::Bin { package, name } => {
                packages.insert(package);
                targets.insert(("--bin", name));
            }
            Include::Example { package, name } => {
                packages.insert(package);
                targets.insert(("--example", name));
            }
            Include::C { .. }
            | Include::File { .. }
            | Include::Folder { .. }
            | Include::Module { .. }
            | Include::Firmware
            | Include::TestModule { .. }
            | Include::Kernel { .. } => {}
        }
    }
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--target", TRIPLE]);
    cargo.arg("--target-dir").arg(target_dir(host));
    // With --target the flag holds for the programs only, not for the macros they are built with.
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static");
    for package in packages {
        cargo.args(["-p", package]);
    }
    for (kind, name) in targets {
        cargo.args([kind, name]);
    }
    build::cargo("the guest's programs", cargo)
}

fn target_dir(host: &Host) -> PathBuf {
    host.target.join("guest")
}

/// The folder of the binaries.
pub(crate) fn programs_dir(host: &Host) -> PathBuf {
    target_dir(host).join(TRIPLE).join("release")
}

fn program(host: &Host, kind: &str, name: &str) -> PathBuf {
    programs_dir(host).join(kind).join(name)
}

/// Pack the initramfs of a scenario.
pub fn pack(host: &Host, scenario: &Scenario, to: &Path) -> Result<()> {
    let out = File::create(to).with_context(|| format!("cannot write {}", shown(to)))?;
    let mut archive = Archive::new(BufWriter::new(out));
    for dir in ["/proc", "/sys", "/dev", "/tmp", "/run", "/root", "/kernels"] {
        archive.dir(dir)?;
    }
    // Process 1 wants an open console before it can mount /dev.
    archive.device("/dev/console", 0o600, 5, 1)?;
    add(&mut archive, &program(host, "", "rkfd-init"), "/init")?;
    add(&mut archive, Path::new(BUSYBOX), BUSYBOX)?;
    archive.link("/bin/sh", "busybox")?;
    let steps: Vec<Step> = scenario
        .plan
        .iter()
        .map(|s| s.clone().slower(host.slow))
        .collect();
    archive.file("/etc/plan", 0o644, plan::to_text(&steps).as_bytes())?;
    if scenario.module {
        ensure!(
            host.module.is_file(),
            "there is no module {}; 'make module' builds it",
            shown(&host.module)
        );
        let module = stripped(&host.module)?;
        archive.file("/rkfd.ko", 0o644, &module)?;
        let mut needed = String::new();
        for path in dependencies(host)? {
            let (_, name) = path.rsplit_once('/').unwrap_or(("", &path));
            let file = format!("/modules/{name}.ko");
            // A plan that loads it says when.
            let is_loaded = |i: &Include| matches!(i, Include::Module { path: p } if *p == path);
            if !scenario.includes.iter().any(is_loaded) {
                archive.file(&file, 0o644, &stock_module(host, &path)?)?;
                needed.push_str(&format!("{file}\n"));
            }
        }
        archive.file(plan::NEEDED, 0o644, needed.as_bytes())?;
    }
    for include in &scenario.includes {
        match include {
            Include::Bin { name, .. } => {
                add(
                    &mut archive,
                    &program(host, "", name),
                    &format!("/bin/{name}"),
                )?;
            }
            Include::Example { name, .. } => {
                add(
                    &mut archive,
                    &program(host, "examples", name),
                    &format!("/bin/{name}"),
                )?;
            }
            Include::File { from, to } => add(&mut archive, from, to)?,
            Include::Folder { from, to } => add_folder(&mut archive, from, to)?,
            Include::Module { path } => {
                let (_, name) = path.rsplit_once('/').unwrap_or(("", path));
                let module = stock_module(host, path)?;
                archive.file(&format!("/modules/{name}.ko"), 0o644, &module)?;
            }
            Include::Firmware => {
                for (name, bytes) in firmware::files(host.firmware.as_deref())? {
                    archive.file(&format!("/lib/firmware/amdgpu/{name}"), 0o644, &bytes)?;
                }
            }
            Include::TestModule { name } => {
                let file = host.test_modules.join(format!("{name}.ko"));
                ensure!(
                    file.is_file(),
                    "there is no module {}; 'setup/test-module.sh {name}' builds it",
                    file.display()
                );
                archive.file(&format!("/{name}.ko"), 0o644, &stripped(&file)?)?;
            }
            Include::C { name } => {
                let program = c_program::compile(host, name)?;
                add(&mut archive, &program, &format!("/bin/{name}"))?;
                fs::remove_file(program)?;
            }
            Include::Kernel { name, level } => {
                let object = kernel::compile(host, name, *level)?;
                add(&mut archive, &object, &kernel::in_guest(name, *level))?;
            }
        }
    }
    archive.finish()?;
    Ok(())
}

/// The module without debug information, which is most of it and would be copied at every load.
fn stripped(module: &Path) -> Result<Vec<u8>> {
    let output = Command::new("objcopy")
        .arg("--strip-debug")
        .args([module, Path::new("/dev/stdout")])
        .output()
        .context("objcopy cannot be started")?;
    match output.status.success() && !output.stdout.is_empty() {
        true => Ok(output.stdout),
        // Nothing depends on it.
        false => Ok(fs::read(module)?),
    }
}

/// The kernel's modules that ours needs, such as `drivers/gpu/drm/drm`, each after those that it needs
/// itself. A kernel that has them built in has none.
fn dependencies(host: &Host) -> Result<Vec<String>> {
    let output = Command::new("modinfo")
        .args(["-F", "depends"])
        .arg(&host.module)
        .output()
        .context("modinfo cannot be started")?;
    let names = String::from_utf8_lossy(&output.stdout);
    let names: Vec<_> = names.trim().split(',').filter(|n| !n.is_empty()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let file = format!("/lib/modules/{}/modules.dep", release(host));
    let index = fs::read_to_string(&file).with_context(|| file.clone())?;
    let mut found = Vec::new();
    for name in names {
        let line = index.lines().find(|line| {
            let path = line.split(':').next().unwrap_or_default();
            let file = path.rsplit('/').next().unwrap_or_default();
            file.split('.').next().unwrap_or_default().replace('-', "_") == name
        });
        let line = line.with_context(|| format!("{file} has no module {name}"))?;
        // What it needs comes after it, the nearest first.
        for path in line.split([':', ' ']).rev() {
            let path = path.strip_prefix("kernel/").unwrap_or(path);
            let path = path.split(".ko").next().unwrap_or_default().to_owned();
            if !path.is_empty() && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// The release of the kernel that is started.
fn release(host: &Host) -> String {
    let kernel = host.kernel.file_name().unwrap_or_default();
    let kernel = kernel.to_string_lossy();
    kernel
        .strip_prefix("vmlinuz-")
        .unwrap_or(&kernel)
        .to_owned()
}

/// A module that came with the kernel.
fn stock_module(host: &Host, path: &str) -> Result<Vec<u8>> {
    let release = release(host);
    let file = format!("/lib/modules/{release}/kernel/{path}.ko.xz");
    let output = Command::new("xz")
        .args(["--decompress", "--stdout", &file])
        .output()
        .context("xz cannot be started")?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "no module {path} of {release}: {message}"
    );
    Ok(output.stdout)
}

fn add<W: std::io::Write>(archive: &mut Archive<W>, from: &Path, to: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let data =
        fs::read(from).with_context(|| format!("cannot put {} into the initramfs", shown(from)))?;
    let mode = fs::metadata(from)?.permissions().mode() & 0o777;
    archive.file(to, mode, &data)?;
    Ok(())
}

fn add_folder<W: std::io::Write>(archive: &mut Archive<W>, from: &Path, to: &str) -> Result<()> {
    let entries =
        fs::read_dir(from).with_context(|| format!("there is no folder {}", shown(from)))?;
    archive.dir(to)?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let to = format!("{to}/{name}");
        match path.is_dir() {
            true => add_folder(archive, &path, &to)?,
            false => add(archive, &path, &to)?,
        }
    }
    Ok(())
}
