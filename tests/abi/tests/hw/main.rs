// SPDX-License-Identifier: MIT OR Apache-2.0

//! `hw/` against Linux's and HSA's headers: sizes, fields, registers, opcodes, page table bits.

use rkfd_abi_test::{hsa, includes, linux, report, Probe};
use rkfd_hw::pm4::commands;
use rkfd_hw::{
    aql, discovery, firmware, ih,
    layout::{Layout, LayoutInfo},
    mqd, pte, regs,
};

mod packets;
mod psp;
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

#[test]
fn registers_are_linux_s() {
    let linux = linux();
    let (mut registers, mut fields) = (0, 0);
    let plain = regs::TABLES.iter().map(|table| (table, false));
    let indexed = regs::INDEXED_TABLES.iter().map(|table| (table, true));
    for (table, is_indexed) in plain.chain(indexed) {
        let base = format!("{AMD}/include/asic_reg/{}", table.header);
        let (offset, mask) = (format!("{base}_offset.h"), format!("{base}_sh_mask.h"));
        let mut probe = Probe::new(&[&offset, &mask], &includes(&linux, &[""]));
        let mut expected: Vec<(String, u64)> = Vec::new();
        for info in table.regs {
            let name = info.reg.name;
            let offset = u64::from(info.reg.offset);
            let places = match is_indexed {
                true => vec![(format!("ix{name}"), offset)],
                false => vec![
                    (format!("reg{name}"), offset),
                    (format!("reg{name}_BASE_IDX"), u64::from(info.reg.segment)),
                ],
            };
            for (c, value) in places {
                probe.value(&c);
                expected.push((c, value));
            }
            for field in info.fields {
                let mask = ((1u64 << field.width) - 1) << field.bit;
                let field_name = format!("{name}__{}", field.name);
                for (c, value) in [
                    (format!("{field_name}__SHIFT"), u64::from(field.bit)),
                    (format!("(uint32_t){field_name}_MASK"), mask),
                ] {
                    probe.value(&c);
                    expected.push((c, value));
                }
                fields += 1;
            }
            registers += 1;
        }
        for ((c, value), answer) in expected.iter().zip(probe.run()) {
            assert_eq!(answer.bit, *value, "{c} of {}", table.header);
        }
    }
    assert!(
        registers >= 500 && fields >= 1000,
        "{registers} registers, {fields} fields"
    );
    report(&format!("{registers} registers, {fields} fields compared"));
}

/// A compute MQD has the compute registers in their order, from COMPUTE_DISPATCH_INITIATOR on.
#[test]
fn registers_of_shaders_are_where_linux_has_them() {
    let linux = linux();
    // No header of these chips has the base of the graphics core's registers, since it is in their
    // discovery tables. It is the one of older chips, whose headers have it.
    for (gc, base, rsrc3) in [
        ("gc_9_4_3", "aldebaran_ip_offset.h", 46),
        ("gc_12_0_0", "sienna_cichlid_ip_offset.h", 41),
    ] {
        let header = |kind| format!("{AMD}/include/asic_reg/gc/{gc}_{kind}.h");
        let headers = [
            header("offset"),
            header("sh_mask"),
            format!("{AMD}/include/{base}"),
            format!("{AMD}/amdgpu/soc15d.h"),
        ];
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let mut probe = Probe::new(&headers, &includes(&linux, &[""]));
        let mut expected = Vec::new();
        let first = u64::from(commands::SH_COMPUTE);
        let mut register = |name: &str, word: u64| {
            probe.value(&format!(
                "GC_BASE__INST0_SEG0 + reg{name} - PACKET3_SET_SH_REG_START"
            ));
            expected.push((name.to_string(), first + word - 1));
        };
        let found = mqd::Common::FIELDS.iter();
        for field in found.filter(|f| f.name.starts_with("COMPUTE_")) {
            let low = if field.width > 32 { "_LO" } else { "" };
            register(&format!("{}{low}", field.name), u64::from(field.bit / 32));
        }
        let scratch = mqd::COMPUTE_DISPATCH_SCRATCH_BASE.word();
        register("COMPUTE_DISPATCH_SCRATCH_BASE_LO", scratch as u64);
        register("COMPUTE_PGM_RSRC3", rsrc3);
        use commands::Initiator as I;
        for (name, bits) in [
            ("COMPUTE_SHADER_EN", I::COMPUTE_SHADER_EN),
            ("PARTIAL_TG_EN", I::PARTIAL_TG_EN),
            ("FORCE_START_AT_000", I::FORCE_START_AT_000),
            ("USE_THREAD_DIMENSIONS", I::USE_THREAD_DIMENSIONS),
            ("ORDER_MODE", I::ORDER_MODE),
            ("CS_W32_EN", I::CS_W32_EN),
        ] {
            if name != "CS_W32_EN" || gc == "gc_12_0_0" {
                probe.value(&format!("COMPUTE_DISPATCH_INITIATOR__{name}_MASK"));
                expected.push((name.to_string(), u64::from(bits.mask())));
            }
        }
        assert!(expected.len() >= 25, "{gc}");
        for ((name, value), answer) in expected.iter().zip(probe.run()) {
            assert_eq!(answer.bit, *value, "{gc}: {name}");
        }
    }
}

#[test]
fn page_table_bits_and_interrupt_numbers_are_linux_s() {
    let linux = linux();
    // amdgpu_vm.h includes half the driver: take its one-line macros alone.
    let vm =
        std::fs::read_to_string(linux.join(AMD).join("amdgpu/amdgpu_vm.h")).expect("amdgpu_vm.h");
    let macros: Vec<&str> = vm
        .lines()
        .filter(|l| l.starts_with("#define AMDGPU_P") && !l.ends_with('\\'))
        .collect();
    let mut probe = Probe::new(
        &[
            "soc15_ih_clientid.h",
            "ivsrcid/gfx/irqsrcs_gfx_9_0.h",
            "ivsrcid/gfx/irqsrcs_gfx_12_0_0.h",
            "ivsrcid/vmc/irqsrcs_vmc_1_0.h",
            "ivsrcid/sdma0/irqsrcs_sdma0_4_0.h",
        ],
        &includes(&linux, &[&format!("{AMD}/include")]),
    );
    probe.declare(&macros.join("\n"));
    let cases: Vec<(u64, &str)> = pte::FLAGS.iter().chain(ih::CONSTANTS).copied().collect();
    for (_, c) in &cases {
        probe.value(c);
    }
    for ((value, c), answer) in cases.iter().zip(probe.run()) {
        assert_eq!(answer.bit, *value, "{c}");
    }
    report(&format!("{} constants compared", cases.len()));
}
