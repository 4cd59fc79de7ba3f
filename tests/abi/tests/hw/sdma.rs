// SPDX-License-Identifier: MIT OR Apache-2.0

//! Packets and MQDs of copy queues.

use crate::AMD;
use rkfd_abi_test::{includes, linux, report, Probe};
use rkfd_hw::{mqd, sdma};

/// A register and the word of the MQD that it is loaded from have the same name, but for one.
#[test]
fn a_copy_queues_mqd_has_its_registers() {
    let linux = linux();
    let cases = [
        (
            "sdma/sdma_4_4_2",
            "SDMA_RLC0_",
            &mqd::LAYOUTS[1],
            mqd::V9_SDMA_RUNS,
            44,
        ),
        (
            "gc/gc_12_0_0",
            "SDMA0_QUEUE0_",
            &mqd::LAYOUTS[3],
            mqd::V12_SDMA_RUNS,
            45,
        ),
    ];
    for (header, prefix, layout, runs, count) in cases {
        let header = format!("{AMD}/include/asic_reg/{header}_offset.h");
        let text = std::fs::read_to_string(linux.join(&header)).expect(&header);
        let offset = |name: &str| {
            let begin = format!("#define reg{prefix}{name} ");
            let found = text.lines().find_map(|line| line.strip_prefix(&begin));
            let digits = found.unwrap_or_else(|| panic!("{header}: {name}")).trim();
            u32::from_str_radix(digits.trim_start_matches("0x"), 16).expect(digits)
        };
        let named = |word: usize| {
            layout.fields.iter().find_map(|field| {
                let n = word.checked_sub(usize::from(field.bit) / 32)?;
                let name = field.c.split('+').nth(n)?;
                Some(name.strip_prefix("sdmax_rlcx_")?.to_uppercase())
            })
        };
        let mut compared = 0;
        for run in runs {
            for register in run.register..run.register + run.count {
                let word = run.word_of(register).expect("a register of the run");
                let name = named(word).unwrap_or_else(|| panic!("{}: {word}", layout.c));
                let name = name.replace("SCHED_CNTL", "SCHEDULE_CNTL");
                assert_eq!(offset(&name) - offset("RB_CNTL"), register, "{name}");
                compared += 1;
            }
            assert_eq!(run.word_of(run.register + run.count), None);
        }
        assert_eq!(compared, count, "{header}");
    }
}

/// SDMA's headers have no structures: a field is three macros, its word, mask and shift.
#[test]
fn sdma_packets_are_linux_s() {
    let flags = includes(
        &linux(),
        &[&format!("{AMD}/amdgpu"), &format!("{AMD}/include")],
    );
    let (mut fields, mut unnamed) = (0, Vec::new());
    for (header, layouts) in sdma::LAYOUTS {
        let mut probe = Probe::new(&[header], &flags);
        let mut expected = Vec::new();
        for layout in *layouts {
            for field in layout.fields {
                let name = format!("{header}: {}.{}", layout.name, field.name);
                if field.c.is_empty() {
                    unnamed.push(format!("{}.{}", layout.name, field.name));
                    continue;
                }
                let pieces: Vec<&str> = field.c.split('+').collect();
                for piece in &pieces {
                    let c = format!("{}_{piece}", layout.c);
                    probe.value(&format!("{c}_offset * 32 + {c}_shift"));
                    probe.value(&format!("__builtin_popcount({c}_mask)"));
                    probe.value(&format!("({c}_mask & ({c}_mask + 1u)) == 0"));
                }
                expected.push((name, field, pieces.len()));
                fields += 1;
            }
        }
        for (value, c) in sdma::CONSTANTS {
            probe.value(c);
            assert!(*value < 256);
        }
        let answers = probe.run();
        let mut answers = answers.iter().map(|answer| answer.bit);
        for (name, field, pieces) in expected {
            let mut bit = u64::from(field.bit);
            for _ in 0..pieces {
                assert_eq!(answers.next(), Some(bit), "{name}: first bit");
                bit += answers.next().expect("a width");
                assert_eq!(answers.next(), Some(1), "{name}: the mask has no holes");
            }
            let width = bit - u64::from(field.bit);
            assert_eq!(width, u64::from(field.width), "{name}: width");
        }
        for (value, c) in sdma::CONSTANTS {
            assert_eq!(answers.next(), Some(*value), "{header}: {c}");
        }
        assert_eq!(answers.next(), None);
    }
    // GCR_REQ is in the later header alone; what TC_OP_* number is common to all engines.
    let mut probe = Probe::new(&["sdma_v6_0_0_pkt_open.h", "soc21_enum.h"], &flags);
    probe.value("SDMA_OP_GCR_REQ");
    for (_, c) in sdma::ATOMICS {
        probe.value(c);
    }
    let answers: Vec<u64> = probe.run().iter().map(|answer| answer.bit).collect();
    let gcr = std::iter::once(u64::from(sdma::op::GCR_REQ));
    let expected: Vec<u64> = gcr.chain(sdma::ATOMICS.iter().map(|(v, _)| *v)).collect();
    assert_eq!(answers, expected);
    // Only the fields that generate.py itself adds have no macro in the headers.
    unnamed.sort_unstable();
    unnamed.dedup();
    let counts = ["CopyLinear", "CopyBroadcast", "ConstantFill"].map(|p| format!("{p}.COUNT"));
    let compress = "ConstantFill.COMPRESS";
    let (others, rect): (Vec<&String>, Vec<&String>) = unnamed
        .iter()
        .partition(|name| counts.contains(name) || *name == compress);
    assert_eq!(others.len(), counts.len() + 1);
    assert!(rect.iter().all(|name| name.starts_with("CopyRect.")) && rect.len() == 15);
    // The count that SDMA 4.4.2 takes is not in its header: Linux's own copies rely on it.
    let source = linux().join(AMD).join("amdgpu/sdma_v4_4_2.c");
    let source = std::fs::read_to_string(source).expect("sdma_v4_4_2.c");
    for limit in [".copy_max_bytes = 1 << 30", ".fill_max_bytes = 1 << 30"] {
        assert!(source.contains(limit), "{limit}");
    }
    assert_eq!(sdma::MAX_BYTES, 1 << 30);
    // The bit for compressed memory of SDMA 7.0 is defined by Linux's driver, not by the header.
    let source = linux().join(AMD).join("amdgpu/sdma_v7_0.c");
    let source = std::fs::read_to_string(source).expect("sdma_v7_0.c");
    let defined = |name: &str| -> u32 {
        let begin = format!("#define SDMA_PKT_CONSTANT_FILL_HEADER_compress_{name} ");
        let value = source.lines().find_map(|line| line.strip_prefix(&begin));
        let value = value.expect(name).trim();
        value.strip_prefix("0x").map_or_else(
            || value.parse().expect(value),
            |hex| u32::from_str_radix(hex, 16).expect(value),
        )
    };
    let field = sdma::LAYOUTS
        .iter()
        .flat_map(|(_, layouts)| layouts.iter())
        .filter(|layout| layout.name == "ConstantFill")
        .find_map(|layout| layout.fields.iter().find(|field| field.name == "COMPRESS"))
        .expect(compress);
    let bit = defined("offset") * 32 + defined("shift");
    assert_eq!(
        (u32::from(field.bit), u32::from(field.width)),
        (bit, defined("mask").count_ones())
    );
    assert!(fields >= 200, "only {fields} fields");
    report(&format!(
        "{fields} fields of SDMA packets compared, {} operations",
        sdma::ATOMICS.len()
    ));
}
