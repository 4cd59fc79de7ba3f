// SPDX-License-Identifier: MIT OR Apache-2.0

//! The kernel: whether it can load the module, and whether the module can be built for it.

use super::Finding;
use crate::machine::Machine;
use crate::surroundings::Owner;

/// What the findings are about.
const KERNEL: &str = "kernel";
/// The series of Linux for which the module is built and tested: from, to.
const OLDEST: (u32, u32) = (7, 2);
const NEWEST: (u32, u32) = (7, 3);
/// The variable of UEFI that says whether Secure Boot is on; its first four bytes are attributes.
const SECURE_BOOT: &str =
    "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

pub(super) fn findings(machine: &Machine, owner: &Owner) -> Vec<Finding> {
    let release = machine
        .text("proc/sys/kernel/osrelease")
        .unwrap_or_default();
    if owner.is_rkfd() {
        return vec![Finding::ok(KERNEL, format!("{release} has loaded {owner}"))];
    }
    let mut all = vec![
        version(&release),
        rust(machine, &release),
        tree(machine, &release),
        signatures(machine),
    ];
    all.extend(other_driver(machine, owner));
    all
}

/// The first two numbers of a release, such as 7 and 3 of "7.3.4+deb13-amd64".
fn numbers(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || parts.next()?.parse().ok();
    Some((number()?, number()?))
}

fn version(release: &str) -> Finding {
    match numbers(release) {
        Some(found) if found < OLDEST => {
            let (major, minor) = NEWEST;
            let boot =
                format!("boot Linux {major}.{minor}, such as that of Debian's trixie-backports");
            let (major, minor) = OLDEST;
            let text = format!("Linux {release} is older than {major}.{minor}, whose crate `kernel` the module uses");
            Finding::stop(KERNEL, text).next(boot)
        }
        Some(found) if found <= NEWEST => Finding::ok(KERNEL, format!("Linux {release}")),
        Some(_) => {
            let (major, minor) = NEWEST;
            let text = format!("Linux {release} is newer than {major}.{minor}, with which the module is tested; it may not build");
            Finding::note(KERNEL, text)
        }
        None => Finding::note(KERNEL, format!("its release, '{release}', has no version")),
    }
}

fn rust(machine: &Machine, release: &str) -> Finding {
    let files = [
        format!("boot/config-{release}"),
        format!("lib/modules/{release}/config"),
        format!("lib/modules/{release}/build/.config"),
    ];
    let read = |file: &String| Some((file.clone(), machine.text(file)?));
    match files.iter().find_map(read) {
        Some((file, config)) if config.lines().any(|line| line == "CONFIG_RUST=y") => {
            Finding::ok(KERNEL, format!("has CONFIG_RUST=y (/{file})"))
        }
        Some((file, _)) => {
            Finding::stop(KERNEL, format!("was built without CONFIG_RUST (/{file})"))
                .next("boot a kernel with CONFIG_RUST=y, as Debian's have it")
        }
        None if machine.has("proc/config.gz") => {
            Finding::note(KERNEL, "its configuration wasn't read")
                .next("zgrep CONFIG_RUST= /proc/config.gz; the module needs CONFIG_RUST=y")
        }
        None => Finding::note(
            KERNEL,
            "its configuration is nowhere; the module needs CONFIG_RUST=y",
        ),
    }
}

/// Headers suffice for modules in C. One in Rust needs what the compiler kept of the kernel's crates.
fn tree(machine: &Machine, release: &str) -> Finding {
    let build = format!("lib/modules/{release}/build");
    if machine.has(format!("{build}/rust/libkernel.rmeta")) {
        let text = format!("/{build} has the kernel's Rust crates");
        return Finding::ok(KERNEL, text).next(format!("make module KDIR=/{build}"));
    }
    let text =
        format!("/{build} has no Rust crates of the kernel, which distributions don't package");
    let next = format!(
        "make module, which prepares the tree of Debian 13's kernel; \
         `modinfo -F vermagic rkfd.ko` must begin with {release}"
    );
    Finding::note(KERNEL, text).next(next)
}

/// What makes the kernel refuse a module without a signature that it knows.
fn signatures(machine: &Machine) -> Finding {
    let secure_boot = std::fs::read(machine.path(SECURE_BOOT)).ok();
    let is_secure = secure_boot.is_some_and(|value| value.get(4) == Some(&1));
    let lockdown = machine.text("sys/kernel/security/lockdown");
    let is_locked = lockdown.is_some_and(|modes| !modes.contains("[none]"));
    let enforced = machine.text("sys/module/module/parameters/sig_enforce");
    let reasons = [
        (is_secure, "Secure Boot is on"),
        (is_locked, "the kernel is locked down"),
        (
            enforced.as_deref() == Some("Y"),
            "module.sig_enforce is set",
        ),
    ];
    let reasons: Vec<&str> = reasons
        .iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, why)| *why)
        .collect();
    if reasons.is_empty() {
        return Finding::ok(KERNEL, "loads modules without a signature");
    }
    let text = format!(
        "{}: a module needs a signature that the kernel knows",
        reasons.join(", ")
    );
    // Secure Boot alone is no reason; a kernel that distributions build for it locks itself down.
    let finding = match is_locked || reasons.len() > usize::from(is_secure) {
        true => Finding::stop(KERNEL, text),
        false => Finding::note(KERNEL, text),
    };
    finding.next("docs/hardware.md, \"Secure Boot\"")
}

fn other_driver(machine: &Machine, owner: &Owner) -> Option<Finding> {
    let there = machine.has("sys/class/kfd") || machine.has("dev/kfd");
    let module = owner.module().filter(|_| there)?;
    let text = format!("class kfd belongs to {owner}, and only one driver can have it");
    Some(Finding::stop(KERNEL, text).next(format!("modprobe -r {module}")))
}

#[cfg(test)]
mod tests {
    use super::super::{tests::of, Verdict};
    use super::*;
    use crate::machine::made::Made;

    const RELEASE: &str = "7.3.4+deb13-amd64";

    fn linux(release: &str, config: &str) -> Made {
        Made::new()
            .file("proc/sys/kernel/osrelease", format!("{release}\n"))
            .file(&format!("boot/config-{release}"), config)
    }

    fn found(machine: &Machine, verdict: Verdict) -> String {
        let owner = crate::surroundings::owner(machine);
        of(&findings(machine, &owner), verdict)
    }

    #[test]
    fn a_kernel_with_rust_will_do() {
        let machine = linux(RELEASE, "CONFIG_64BIT=y\nCONFIG_RUST=y\n");
        assert_eq!(found(&machine, Verdict::Stop), "");
        let built = format!("lib/modules/{RELEASE}/build/rust/libkernel.rmeta");
        let right = found(&machine.file(&built, ""), Verdict::Ok);
        assert!(
            right.contains(&format!("make module KDIR=/lib/modules/{RELEASE}/build")),
            "{right}"
        );
    }

    #[test]
    fn one_without_rust_or_too_old_will_not() {
        let machine = linux(
            RELEASE,
            "# CONFIG_RUST is not set\nCONFIG_RUST_IS_AVAILABLE=y\n",
        );
        let stops = found(&machine, Verdict::Stop);
        assert!(stops.contains("without CONFIG_RUST"), "{stops}");
        let stops = found(
            &linux("6.12.57+deb13-amd64", "CONFIG_RUST=y\n"),
            Verdict::Stop,
        );
        assert!(stops.contains("older than 7.2"), "{stops}");
        let older = linux("7.2.12+deb13-amd64", "CONFIG_RUST=y\n");
        assert!(found(&older, Verdict::Ok).contains("Linux 7.2.12"));
        let notes = found(&linux("8.0.0-rc1", "CONFIG_RUST=y\n"), Verdict::Note);
        assert!(notes.contains("newer than 7.3"), "{notes}");
    }

    #[test]
    fn what_refuses_unsigned_modules_is_named() {
        let machine = || linux(RELEASE, "CONFIG_RUST=y\n");
        let lockdown = "sys/kernel/security/lockdown";
        let open = machine().file(lockdown, "[none] integrity confidentiality\n");
        assert_eq!(found(&open, Verdict::Stop), "");
        let secure = machine()
            .file(lockdown, "none [integrity] confidentiality\n")
            .file(SECURE_BOOT, [6, 0, 0, 0, 1]);
        let stops = found(&secure, Verdict::Stop);
        assert!(
            stops.contains("Secure Boot is on, the kernel is locked down"),
            "{stops}"
        );
        let enforced = machine().file("sys/module/module/parameters/sig_enforce", "Y\n");
        let stops = found(&enforced, Verdict::Stop);
        assert!(stops.contains("module.sig_enforce is set"), "{stops}");
        // Without lockdown the firmware's setting alone stops nothing.
        let alone = machine().file(SECURE_BOOT, [6, 0, 0, 0, 1]);
        assert_eq!(found(&alone, Verdict::Stop), "");
        assert!(found(&alone, Verdict::Note).contains("Secure Boot is on"));
        let off = machine().file(SECURE_BOOT, [6, 0, 0, 0, 0]);
        assert!(!found(&off, Verdict::Note).contains("Secure Boot"));
    }

    #[test]
    fn another_driver_of_the_class_has_to_go() {
        let machine = linux(RELEASE, "CONFIG_RUST=y\n")
            .file("sys/module/amdgpu/initstate", "live\n")
            .file("sys/module/amdgpu/taint", "\n")
            .folder("sys/class/kfd");
        let stops = found(&machine, Verdict::Stop);
        assert!(stops.contains("| modprobe -r amdgpu"), "{stops}");
    }
}
