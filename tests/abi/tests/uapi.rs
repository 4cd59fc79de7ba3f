// SPDX-License-Identifier: MIT OR Apache-2.0

//! `uapi/` against Linux's `kfd_ioctl.h`, `kfd_sysfs.h`, `drm.h` and `amdgpu_drm.h`: every structure, constant and
//! request number, and who may make which request of DRM.

use rkfd_abi_test::{includes, linux, report, Probe};
use rkfd_uapi::{
    amdgpu::{INFO, SCHED},
    ctx::CTX,
    drm::{Node, GET_CAP, REQUESTS, VERSION},
    gem,
    ioctl::IOCTLS,
    syncobj, CONSTANTS, STRUCTS,
};
use std::collections::HashMap;

fn probe() -> Probe {
    // The headers are the kernel's own copies, before user space's marks are stripped.
    let mut flags = includes(&linux(), &["include/uapi"]);
    flags.push("-D__user=".into());
    let headers = ["linux/kfd_ioctl.h", "linux/kfd_sysfs.h", "drm/amdgpu_drm.h"];
    Probe::new(&headers, &flags)
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
    expected.extend(REQUESTS.iter().map(|r| (r.c, u64::from(r.command))));
    let of_gem = [
        &gem::GEM_CLOSE.info,
        &gem::PRIME_HANDLE_TO_FD.info,
        &gem::PRIME_FD_TO_HANDLE.info,
        &gem::GEM_CREATE.info,
        &gem::GEM_MMAP.info,
        &gem::GEM_METADATA.info,
        &gem::GEM_WAIT_IDLE.info,
        &gem::GEM_VA.info,
        &gem::GEM_OP.info,
        &gem::GEM_USERPTR.info,
        &gem::GEM_LIST_HANDLES.info,
    ];
    let of_drm = [
        &VERSION.info,
        &GET_CAP.info,
        &INFO.info,
        &SCHED.info,
        &CTX.info,
    ];
    for request in of_drm
        .into_iter()
        .chain(of_gem)
        .chain(syncobj::ALL.iter().copied())
    {
        expected.push((request.c, u64::from(request.command)));
    }
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
        IOCTLS.len() + REQUESTS.len() + of_drm.len() + of_gem.len() + syncobj::ALL.len()
    ));
}

/// The table of the DRM core: its requests, and whether render nodes may make them.
fn core_table() -> HashMap<String, bool> {
    let path = linux().join("drivers/gpu/drm/drm_ioctl.c");
    let text = std::fs::read_to_string(&path).expect("the tree has the DRM core");
    let entries = text.split("DRM_IOCTL_DEF(").skip(1);
    let entries = entries.filter_map(|entry| {
        let (arguments, _) = entry.split_once(')')?;
        let mut words = arguments.split(',').map(str::trim);
        let (name, _function, flags) = (words.next()?, words.next()?, words.next()?);
        let render = flags
            .split('|')
            .any(|flag| flag.trim() == "DRM_RENDER_ALLOW");
        name.starts_with("DRM_IOCTL_")
            .then(|| (name.to_owned(), render))
    });
    entries.collect()
}

#[test]
fn render_nodes_may_ask_what_linux_lets_them() {
    let mut core = core_table();
    assert!(core.len() > 70, "only {} requests found", core.len());
    for request in REQUESTS.iter().filter(|r| !r.c.contains("AMDGPU")) {
        let render = core
            .remove(request.c)
            .unwrap_or_else(|| panic!("the DRM core has no {}", request.c));
        assert_eq!(request.node == Node::Render, render, "{}", request.c);
    }
    assert!(core.is_empty(), "missing here: {core:?}");
    report(&format!("{} requests of DRM compared", REQUESTS.len()));
}
