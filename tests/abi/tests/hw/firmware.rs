// SPDX-License-Identifier: MIT OR Apache-2.0

//! Headers of firmware's files.

use crate::{compare, AMD};
use rkfd_abi_test::{linux, Probe};
use rkfd_hw::firmware;

/// A structure's declaration in a header's text, behind those of the structures that are members of it.
fn declarations(text: &str, name: &str, declared: &mut Vec<String>) -> String {
    if declared.iter().any(|known| known == name) {
        return String::new();
    }
    declared.push(name.into());
    let begin = format!("{name} {{");
    let (_, rest) = text.split_once(&begin).expect("the structure");
    let (members, _) = rest.split_once("};").expect("its end");
    let inner = members.lines().filter_map(|line| {
        let inner = line.trim().strip_prefix("struct ")?;
        Some(format!("struct {}", inner.split_whitespace().next()?))
    });
    let before: String = inner
        .map(|inner| declarations(text, &inner, declared))
        .collect();
    format!("{before}{begin}{members}}};\n")
}

/// The headers of firmware's files. `amdgpu_ucode.h` needs the whole kernel: of it only these are taken.
#[test]
fn headers_of_firmware_are_linux_s() {
    let header = linux().join(format!("{AMD}/amdgpu/amdgpu_ucode.h"));
    let text = std::fs::read_to_string(header).expect("the header can be read");
    let mut probe = Probe::new(&[], &[]);
    let mut declared = Vec::new();
    for layout in firmware::LAYOUTS {
        probe.declare(&declarations(&text, layout.c, &mut declared));
    }
    let kinds = [
        (firmware::Component::SecureOs, "PSP_FW_TYPE_PSP_SOS"),
        (firmware::Component::SystemDriver, "PSP_FW_TYPE_PSP_SYS_DRV"),
        (firmware::Component::KeyDatabase, "PSP_FW_TYPE_PSP_KDB"),
        (firmware::Component::Toc, "PSP_FW_TYPE_PSP_TOC"),
        (firmware::Component::SplTable, "PSP_FW_TYPE_PSP_SPL"),
        (firmware::Component::RegisterList, "PSP_FW_TYPE_PSP_RL"),
        (firmware::Component::SocDriver, "PSP_FW_TYPE_PSP_SOC_DRV"),
        (
            firmware::Component::InterfaceDriver,
            "PSP_FW_TYPE_PSP_INTF_DRV",
        ),
        (firmware::Component::DebugDriver, "PSP_FW_TYPE_PSP_DBG_DRV"),
        (firmware::Component::RasDriver, "PSP_FW_TYPE_PSP_RAS_DRV"),
        (
            firmware::Component::KeyManager,
            "PSP_FW_TYPE_PSP_IPKEYMGR_DRV",
        ),
        (firmware::Component::SpdmDriver, "PSP_FW_TYPE_PSP_SPDM_DRV"),
    ];
    let mut values = Probe::new(&[], &[]);
    let (_, rest) = text.split_once("enum psp_fw_type {").expect("the numbers");
    let (members, _) = rest.split_once("};").expect("their end");
    values.declare(&format!("enum psp_fw_type {{{members}}};"));
    for (_, name) in kinds {
        values.value(name);
    }
    for ((kind, name), answer) in kinds.iter().zip(values.run()) {
        assert_eq!(answer.bit, *kind as u64, "{name}");
    }
    compare(probe, &[firmware::LAYOUTS]);
}
