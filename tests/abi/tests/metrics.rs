// SPDX-License-Identifier: MIT OR Apache-2.0

//! `uapi/metrics.rs` against Linux's structure of `gpu_metrics`.
//!
//! Its headers are the kernel's own and include much of it. What defines the structure stands together in each, so that
//! text is taken and given to the compiler.

use rkfd_abi_test::{linux, report, Probe};
use rkfd_uapi::metrics::{v1_3, HEADER, MI300};
use std::fs;

const AMD: &str = "drivers/gpu/drm/amd";

/// The text of a file from one text up to another.
fn part(file: &str, from: &str, to: &str) -> String {
    let path = linux().join(AMD).join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (_, rest) = text
        .split_once(from)
        .unwrap_or_else(|| panic!("{file}: no {from}"));
    let (part, _) = rest
        .split_once(to)
        .unwrap_or_else(|| panic!("{file}: no {to}"));
    format!("{from}{part}")
}

fn probe() -> Probe {
    let mut probe = Probe::new(&[], &[]);
    probe.declare(
        "typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;\n\
         #define __packed __attribute__((packed))",
    );
    let interface = "include/kgd_pp_interface.h";
    let header = part(interface, "struct metrics_table_header {", "enum ");
    let attributes = part(
        interface,
        "enum amdgpu_metrics_attr_id {",
        "/*\n * gpu_metrics_v1_0",
    );
    let common = part("pm/swsmu/smu_cmn.h", "/* Attribute ID mapping */", "#endif");
    let chip = "pm/swsmu/smu13/smu_v13_0_6_ppt.h";
    let sizes = part(chip, "#define SMU_13_0_6_NUM_XGMI_LINKS", "extern ");
    let declared = "DECLARE_SMU_METRICS_CLASS(smu_v13_0_6_gpu_metrics";
    let fields = part(chip, "#define SMU_13_0_6_METRICS_FIELDS(", declared);
    for text in [header, attributes, common, sizes, fields] {
        probe.declare(&text);
    }
    probe.declare(&format!("{declared}, SMU_13_0_6_METRICS_FIELDS);"));
    // An object as the driver initializes it.
    probe.declare(
        "static struct smu_v13_0_6_gpu_metrics *made(void) {\n\
         static struct smu_v13_0_6_gpu_metrics it; smu_v13_0_6_gpu_metrics_init(&it, 1, 9); return &it; }",
    );
    probe
}

#[test]
fn the_list_of_mi300_is_linux_s() {
    let mut probe = probe();
    let structure = "struct smu_v13_0_6_gpu_metrics";
    let (mut expected, mut at) = (Vec::new(), HEADER);
    for attribute in MI300 {
        let name = attribute.name;
        probe.value(&format!("offsetof({structure}, {name}_ftype)"));
        probe.value(&format!("made()->{name}_ftype"));
        probe.value(&format!("offsetof({structure}, {name})"));
        probe.value(&format!("sizeof((({structure} *)0)->{name})"));
        let bytes = attribute.kind.bytes() * usize::from(attribute.count);
        expected.extend([at as u64, attribute.encoding(), at as u64 + 8, bytes as u64]);
        at += 8 + bytes;
    }
    probe.value(&format!("sizeof({structure})"));
    probe.value("made()->header.structure_size");
    probe.value("made()->attr_count");
    expected.extend([at as u64, at as u64, MI300.len() as u64]);
    let answers = probe.run();
    assert_eq!(answers.len(), expected.len());
    for (n, (answer, value)) in answers.iter().zip(&expected).enumerate() {
        let name = MI300
            .get(n / 4)
            .map_or("the whole", |attribute| attribute.name);
        assert_eq!(answer.bit, *value, "{name}, question {}", n % 4);
    }
    report(&format!("{} attributes compared", MI300.len()));
}

#[test]
fn the_columns_of_format_1_3_are_linux_s() {
    let mut probe = Probe::new(&[], &[]);
    probe.declare(
        "typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;",
    );
    let interface = "include/kgd_pp_interface.h";
    for (from, to) in [
        ("struct metrics_table_header {", "enum "),
        ("#define NUM_HBM_INSTANCES", "\n"),
        ("struct gpu_metrics_v1_3 {", "};"),
    ] {
        let text = part(interface, from, to);
        let end = if to == "};" { to } else { "" };
        probe.declare(&format!("{text}{end}"));
    }
    let bits = part(
        "pm/swsmu/inc/amdgpu_smu.h",
        "#define SMU_THROTTLER_PPT0_BIT",
        "struct ",
    );
    probe.declare(&bits);
    let structure = "struct gpu_metrics_v1_3";
    let mut expected = Vec::new();
    for column in v1_3::COLUMNS {
        let name = column.name;
        probe.value(&format!("offsetof({structure}, {name})"));
        probe.value(&format!("sizeof((({structure} *)0)->{name})"));
        expected.extend([column.offset as u64, column.kind.bytes() as u64]);
    }
    for (name, bit) in v1_3::throttler::BITS {
        probe.value(name);
        expected.push(u64::from(*bit));
    }
    probe.value(&format!("sizeof({structure})"));
    expected.push(v1_3::SIZE as u64);
    let answers: Vec<_> = probe.run().iter().map(|answer| answer.bit).collect();
    assert_eq!(answers, expected);
    report(&format!("{} columns compared", v1_3::COLUMNS.len()));
}
