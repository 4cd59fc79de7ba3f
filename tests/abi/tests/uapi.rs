// SPDX-License-Identifier: MIT OR Apache-2.0

//! `uapi/` against Linux's `kfd_ioctl.h`: every structure, constant and request number.

use rkfd_abi_test::{includes, linux, report, Probe};
use rkfd_uapi::{ioctl::IOCTLS, CONSTANTS, STRUCTS};

fn probe() -> Probe {
    // The headers are the kernel's own copies, before user space's marks are stripped.
    let mut flags = includes(&linux(), &["include/uapi"]);
    flags.push("-D__user=".into());
    Probe::new(&["linux/kfd_ioctl.h", "drm/amdgpu_drm.h"], &flags)
}

#[test]
fn structures_are_linux_s() {
    let mut probe = probe();
    let mut expected = Vec::new();
    for info in STRUCTS.iter().copied().flatten() {
        let c = info.c;
        probe.value(&format!("sizeof({c})"));
        expected.push((format!("size of {c}"), info.size));
        for field in info.fields.iter().filter(|f| !f.c.is_empty()) {
            probe.value(&format!("offsetof({c}, {})", field.c));
            expected.push((format!("offset of {c}.{}", field.c), field.offset));
            probe.value(&format!("sizeof((({c} *)0)->{})", field.c));
            expected.push((format!("size of {c}.{}", field.c), field.size));
        }
    }
    for ((what, value), answer) in expected.iter().zip(probe.run()) {
        assert_eq!(answer.bit, *value as u64, "{what}");
    }
    assert!(expected.len() > 400, "only {} places", expected.len());
    report(&format!("{} sizes and offsets compared", expected.len()));
}

#[test]
fn constants_and_request_numbers_are_linux_s() {
    let mut probe = probe();
    let mut expected: Vec<(&str, u64)> = CONSTANTS
        .iter()
        .copied()
        .flatten()
        .map(|c| (c.c, c.value))
        .collect();
    expected.extend(IOCTLS.iter().map(|i| (i.c, u64::from(i.command))));
    for (c, _) in &expected {
        // Flags such as 1 << 31 are ints in C, and the ABI's fields are unsigned.
        probe.value(&format!("sizeof({c}) == 4 ? (uint32_t)({c}) : ({c})"));
    }
    for ((c, value), answer) in expected.iter().zip(probe.run()) {
        assert_eq!(answer.bit, *value, "{c}");
    }
    assert!(
        IOCTLS.len() >= 40 && expected.len() > 100,
        "only {} values",
        expected.len()
    );
    report(&format!(
        "{} values compared, {} of them request numbers",
        expected.len(),
        IOCTLS.len()
    ));
}
