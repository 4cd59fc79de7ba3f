// SPDX-License-Identifier: MIT OR Apache-2.0

//! `hw/` against Linux's and HSA's headers: sizes, fields, registers, opcodes, page table bits.

use rkfd_abi_test::{hsa, includes, linux, report, Probe};
use rkfd_hw::{aql, discovery, layout::LayoutInfo};

mod firmware;
mod packets;
mod psp;
mod registers;
mod sdma;
mod smu;

const AMD: &str = "drivers/gpu/drm/amd";

/// Compares `layouts` with their C types, field by field; returns the number of fields compared.
fn compare(mut probe: Probe, layouts: &[&[LayoutInfo]]) -> usize {
    let layouts: Vec<&LayoutInfo> = layouts.iter().copied().flatten().collect();
    let mut expected = Vec::new();
    for layout in &layouts {
        probe.value(&format!("sizeof({})", layout.c));
        expected.push((
            format!("size of {}", layout.name),
            layout.words as u64 * 4,
            None,
        ));
        for field in layout.fields {
            let parts: Vec<&str> = field.c.split('+').collect();
            let width = u64::from(field.width) / parts.len() as u64;
            for (i, part) in parts.iter().enumerate() {
                probe.place(layout.c, part);
                let bit = u64::from(field.bit) + i as u64 * width;
                expected.push((format!("{}.{}", layout.name, field.name), bit, Some(width)));
            }
        }
    }
    let answers = probe.run();
    let mut wrong = Vec::new();
    for ((name, bit, width), answer) in expected.iter().zip(&answers) {
        if answer.bit != *bit || width.is_some_and(|w| w != answer.width) {
            wrong.push(format!(
                "{name}: here {bit} width {width:?}, in C {answer:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let fields: usize = layouts.iter().map(|l| l.fields.len()).sum();
    assert!(fields > 0, "no field was compared");
    report(&format!(
        "{} layouts, {fields} fields compared",
        layouts.len()
    ));
    fields
}

#[test]
fn discovery_tables_are_linux_s() {
    let flags = includes(&linux(), &[&format!("{AMD}/include")]);
    let mut flags: Vec<String> = flags;
    flags.extend(
        [
            "-D__counted_by(x)=",
            "-D__packed=__attribute__((packed))",
            "-DDECLARE_FLEX_ARRAY(t,n)=struct{struct{}e_##n;t n[];}",
            "-Du32=uint32_t",
            "-Du16=uint16_t",
            "-Du8=uint8_t",
        ]
        .map(String::from),
    );
    let mut probe = Probe::new(&["discovery.h"], &flags);
    let constants = [
        (u64::from(discovery::BINARY_SIGNATURE), "BINARY_SIGNATURE"),
        (
            u64::from(discovery::IP_SIGNATURE),
            "DISCOVERY_TABLE_SIGNATURE",
        ),
        (u64::from(discovery::GC_TABLE_ID), "GC_TABLE_ID"),
        (
            u64::from(discovery::HARVEST_SIGNATURE),
            "HARVEST_TABLE_SIGNATURE",
        ),
        (discovery::TABLE_IP as u64, "IP_DISCOVERY"),
        (discovery::TABLE_GC as u64, "GC"),
        (discovery::TABLE_HARVEST as u64, "HARVEST_INFO"),
        (discovery::TABLES as u64, "TOTAL_TABLES"),
    ];
    for (_, name) in constants {
        probe.value(name);
    }
    let answers = probe.run();
    for ((value, name), answer) in constants.iter().zip(answers) {
        assert_eq!(answer.bit, *value, "{name}");
    }
    // The C names of the tables are typedefs of structures with the same tag.
    compare(Probe::new(&["discovery.h"], &flags), &[discovery::LAYOUTS]);
}

#[test]
fn aql_packets_and_signals_are_hsa_s() {
    let headers = ["hsa/hsa.h", "hsa/hsa_ext_amd.h", "hsa/amd_hsa_signal.h"];
    let flags = includes(&hsa(), &["", "hsa"]);
    let fields = compare(Probe::new(&headers, &flags), &[aql::LAYOUTS]);
    assert!(fields >= 45);

    let mut probe = Probe::new(&headers, &flags);
    let header = |packet_type, barrier, acquire, release| {
        u64::from(
            aql::Header {
                packet_type,
                barrier,
                acquire,
                release,
            }
            .bits(),
        )
    };
    let cases = [
        (
            u64::from(aql::TYPE_VENDOR_SPECIFIC),
            "HSA_PACKET_TYPE_VENDOR_SPECIFIC",
        ),
        (u64::from(aql::TYPE_INVALID), "HSA_PACKET_TYPE_INVALID"),
        (
            u64::from(aql::TYPE_KERNEL_DISPATCH),
            "HSA_PACKET_TYPE_KERNEL_DISPATCH",
        ),
        (
            u64::from(aql::TYPE_BARRIER_AND),
            "HSA_PACKET_TYPE_BARRIER_AND",
        ),
        (
            u64::from(aql::TYPE_AGENT_DISPATCH),
            "HSA_PACKET_TYPE_AGENT_DISPATCH",
        ),
        (
            u64::from(aql::TYPE_BARRIER_OR),
            "HSA_PACKET_TYPE_BARRIER_OR",
        ),
        (
            u64::from(aql::VENDOR_BARRIER_VALUE),
            "HSA_AMD_PACKET_TYPE_BARRIER_VALUE",
        ),
        (u64::from(aql::CONDITION_EQ), "HSA_SIGNAL_CONDITION_EQ"),
        (u64::from(aql::CONDITION_NE), "HSA_SIGNAL_CONDITION_NE"),
        (u64::from(aql::CONDITION_LT), "HSA_SIGNAL_CONDITION_LT"),
        (u64::from(aql::CONDITION_GTE), "HSA_SIGNAL_CONDITION_GTE"),
        (u64::from(aql::FENCE_AGENT), "HSA_FENCE_SCOPE_AGENT"),
        (u64::from(aql::FENCE_SYSTEM), "HSA_FENCE_SCOPE_SYSTEM"),
        (header(0, true, 0, 0), "1 << HSA_PACKET_HEADER_BARRIER"),
        (
            header(0, false, 1, 0),
            "1 << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE",
        ),
        (
            header(0, false, 2, 0),
            "2 << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE",
        ),
        (
            header(0, false, 0, 2),
            "2 << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE",
        ),
        (aql::SIGNAL_KIND_USER as u64, "AMD_SIGNAL_KIND_USER"),
        (
            aql::SIGNAL_KIND_DOORBELL as u64,
            "(long long)AMD_SIGNAL_KIND_DOORBELL",
        ),
    ];
    for (_, c) in cases {
        probe.value(c);
    }
    for ((value, c), answer) in cases.iter().zip(probe.run()) {
        assert_eq!(answer.bit, *value, "{c}");
    }
}
