// SPDX-License-Identifier: MIT OR Apache-2.0
//! The module as the Debian package brings it: what `tests/package/run` boots.

use super::{with_vadd, VADD};
use crate::plan::Step;
use crate::scenario::{Include, Scenario};

/// A folder with udev, modules and `modprobe.d` of a Debian in which the package is installed.
const INSTALLED: &str = "RKFD_INSTALLED";

/// Debian's udev, in that folder, is told of all devices, as at boot. Only then is the module there, and `/dev/kfd`
/// belongs to whom udev's own rules say (`50-udev-default.rules`).
const BOOT: &str = "set -e; cd /installed
    export SYSTEMD_IGNORE_CHROOT=1
    for folder in proc sys dev; do mount --bind /$folder $folder; done
    mount -t tmpfs tmpfs run
    if grep '^rkfd ' /proc/modules; then exit 1; fi
    chroot . /usr/lib/systemd/systemd-udevd --daemon
    for what in subsystems devices; do chroot . /usr/bin/udevadm trigger --type=$what --action=add; done
    chroot . /usr/bin/udevadm settle --timeout=100
    grep '^rkfd ' /proc/modules
    chroot . /usr/bin/stat -c '%G %a' /dev/kfd | tee /dev/stderr | grep -qx 'render 660'";

/// Of the folder that [`INSTALLED`] names; none without it.
pub fn installed() -> Option<Scenario> {
    let from = std::env::var_os(INSTALLED)?.into();
    let mut scenario = with_vadd(
        "installed",
        "udev of a Debian with the package finds the card and loads the module; it computes",
        "vectoradd",
    )
    .without_module()
    .steps([
        Step::sh("udev-loads-it", 120, BOOT),
        Step::run("vectoradd", 60, &["/bin/vectoradd", VADD]),
        Step::Rmmod("rkfd".into()),
    ]);
    let to = "/installed".into();
    scenario.includes.push(Include::Folder { from, to });
    Some(scenario)
}
