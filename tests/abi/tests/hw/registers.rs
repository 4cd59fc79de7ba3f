// SPDX-License-Identifier: MIT OR Apache-2.0

//! Registers, bits of page tables, numbers of interrupts.

use crate::AMD;
use rkfd_abi_test::{includes, linux, report, Probe};
use rkfd_hw::layout::Layout;
use rkfd_hw::pm4::commands;
use rkfd_hw::{ih, mqd, pte, regs};

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
