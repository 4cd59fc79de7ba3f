// SPDX-License-Identifier: MIT OR Apache-2.0

//! PM4 packets, MQDs of compute queues, frames of MES.

use crate::{compare, AMD};
use rkfd_abi_test::{includes, linux, report, Place, Probe};
use rkfd_hw::pm4::commands;
use rkfd_hw::{layout::Field, mes, mqd, pm4};

#[test]
fn packets_and_mqds_are_linux_s() {
    let linux = linux();
    let flags = includes(
        &linux,
        &[&format!("{AMD}/include"), &format!("{AMD}/amdkfd")],
    );
    let probe = Probe::new(
        &[
            "v9_structs.h",
            "v12_structs.h",
            "kfd_pm4_headers_ai.h",
            "kfd_pm4_headers_aldebaran.h",
        ],
        &flags,
    );
    let fields = compare(probe, &[pm4::LAYOUTS, mqd::LAYOUTS]);
    assert!(fields >= 300, "only {fields} fields");
}

#[test]
fn opcodes_and_packet_words_are_linux_s() {
    let flags = includes(
        &linux(),
        &[&format!("{AMD}/amdgpu"), &format!("{AMD}/include")],
    );
    let mut probe = Probe::new(&["soc15d.h"], &flags);
    fn tlb<const W: u32>(f: Field<pm4::InvalidateTlbs, W>) -> u64 {
        let one = pm4::InvalidateTlbs::zeroed().try_with(f, 1);
        u64::from(one.expect("1 fits every field").0[1])
    }
    fn map<const W: u32>(f: Field<pm4::MapQueues, W>, word: usize) -> u64 {
        let packet = pm4::MapQueues::zeroed().try_with(f, 1);
        u64::from(packet.expect("1 fits every field").0[word])
    }
    use pm4::{kiq_map, op, InvalidateTlbs as Tlb};
    let cases = [
        (u64::from(op::NOP), "PACKET3_NOP"),
        (u64::from(op::WRITE_DATA), "PACKET3_WRITE_DATA"),
        (u64::from(op::INVALIDATE_TLBS), "PACKET3_INVALIDATE_TLBS"),
        (u64::from(op::SET_RESOURCES), "PACKET3_SET_RESOURCES"),
        (u64::from(op::MAP_QUEUES), "PACKET3_MAP_QUEUES"),
        (u64::from(op::UNMAP_QUEUES), "PACKET3_UNMAP_QUEUES"),
        (u64::from(op::QUERY_STATUS), "PACKET3_QUERY_STATUS"),
        (
            u64::from(pm4::header(op::MAP_QUEUES, 7)),
            "(uint32_t)PACKET3(PACKET3_MAP_QUEUES, 5)",
        ),
        (
            u64::from(pm4::FILLER),
            "(uint32_t)PACKET3(PACKET3_NOP, 0x3fff)",
        ),
        (map(kiq_map::VMID, 1), "PACKET3_MAP_QUEUES_VMID(1)"),
        (map(kiq_map::QUEUE, 1), "PACKET3_MAP_QUEUES_QUEUE(1)"),
        (map(kiq_map::PIPE, 1), "PACKET3_MAP_QUEUES_PIPE(1)"),
        (map(kiq_map::ME, 1), "PACKET3_MAP_QUEUES_ME(1)"),
        (
            map(kiq_map::ALLOC_FORMAT, 1),
            "PACKET3_MAP_QUEUES_ALLOC_FORMAT(1)",
        ),
        (
            map(pm4::MapQueues::ENGINE_SEL, 1),
            "PACKET3_MAP_QUEUES_ENGINE_SEL(1)",
        ),
        (
            map(pm4::MapQueues::NUM_QUEUES, 1),
            "PACKET3_MAP_QUEUES_NUM_QUEUES(1u)",
        ),
        (
            map(pm4::MapQueues::DOORBELL_OFFSET, 2),
            "PACKET3_MAP_QUEUES_DOORBELL_OFFSET(1)",
        ),
        (tlb(Tlb::DST_SEL), "PACKET3_INVALIDATE_TLBS_DST_SEL(1)"),
        (tlb(Tlb::ALL_HUB), "PACKET3_INVALIDATE_TLBS_ALL_HUB(1)"),
        (tlb(Tlb::PASID), "PACKET3_INVALIDATE_TLBS_PASID(1)"),
        (
            tlb(Tlb::FLUSH_TYPE),
            "PACKET3_INVALIDATE_TLBS_FLUSH_TYPE(1u)",
        ),
    ];
    for (_, c) in cases {
        probe.value(c);
    }
    for ((value, c), answer) in cases.iter().zip(probe.run()) {
        assert_eq!(answer.bit, *value, "{c}");
    }
    // MAP_PROCESS and RUN_LIST have no macro; KFD's own enumeration numbers them.
    let flags = includes(&linux(), &[&format!("{AMD}/amdkfd")]);
    let mut probe = Probe::new(&["kfd_pm4_opcodes.h"], &flags);
    for c in ["IT_MAP_PROCESS", "IT_RUN_LIST"] {
        probe.value(c);
    }
    let place = |bit: u8| Place {
        bit: u64::from(bit),
        width: 0,
    };
    assert_eq!(probe.run(), [place(op::MAP_PROCESS), place(op::RUN_LIST)]);
}

/// Linux's headers have a macro for each field of a process' packets. The macro of 1 is the field's first
/// bit; the macro of all ones shows the width, if the macro masks its argument.
#[test]
fn commands_of_processes_are_linux_s() {
    let flags = includes(
        &linux(),
        &[&format!("{AMD}/amdgpu"), &format!("{AMD}/include")],
    );
    let headers = [
        ("soc15d.h", "vega10_enum.h", commands::GFX9),
        ("nvd.h", "soc24_enum.h", commands::GFX10),
    ];
    for (header, events, layouts) in headers {
        let mut probe = Probe::new(&[header, events], &flags);
        let mut expected = Vec::new();
        for layout in layouts {
            for field in layout.fields.iter().filter(|f| !f.c.is_empty()) {
                let name = format!("{header}: {}.{}", layout.name, field.name);
                match field.c.strip_prefix('=') {
                    Some(flag) => {
                        probe.value(&format!("(uint32_t){flag}"));
                        expected.push((name, field, true));
                    }
                    None => {
                        probe.value(&format!("(uint32_t){}(1u)", field.c));
                        probe.value(&format!("(uint32_t){}(~0u)", field.c));
                        expected.push((name, field, false));
                    }
                }
            }
        }
        for (_, c) in commands::CONSTANTS {
            probe.value(c);
        }
        let answers = probe.run();
        let mut answers = answers.iter().map(|answer| answer.bit);
        for (name, field, flag) in &expected {
            // An address's lowest bits are not in its field, but it is not shifted for that.
            let lo = u64::from(field.bit % 32);
            assert_eq!(answers.next(), Some(1 << lo), "{name}: first bit");
            if *flag {
                assert_eq!(field.width, 1, "{name}: one bit");
                continue;
            }
            let mask = ((1u64 << field.width) - 1) << lo;
            let all = answers.next();
            let unmasked = all == Some(u64::from(u32::MAX << lo));
            assert!(unmasked || all == Some(mask), "{name}: {all:x?}");
        }
        for (value, c) in commands::CONSTANTS {
            assert_eq!(answers.next(), Some(*value), "{header}: {c}");
        }
        assert_eq!(answers.next(), None);
        assert!(expected.len() >= 40, "{header}: {} fields", expected.len());
        report(&format!(
            "{header}: {} fields, {} constants of processes' packets compared",
            expected.len(),
            commands::CONSTANTS.len()
        ));
    }
}

#[test]
fn mes_frames_are_linux_s() {
    let flags = includes(&linux(), &[&format!("{AMD}/include")]);
    let probe = Probe::new(&["mes_v12_api_def.h"], &flags);
    let fields = compare(probe, &[mes::v12::LAYOUTS]);
    assert!(fields >= 380, "only {fields} fields");
    let mut probe = Probe::new(&["mes_v12_api_def.h"], &flags);
    for (_, c) in mes::CONSTANTS {
        probe.value(c);
    }
    for ((value, c), answer) in mes::CONSTANTS.iter().zip(probe.run()) {
        assert_eq!(answer.bit, *value, "{c}");
    }
    // amdgpu_mes.h includes half the driver: take the structure alone.
    let header = linux().join(AMD).join("amdgpu/amdgpu_mes.h");
    let header = std::fs::read_to_string(header).expect("amdgpu_mes.h");
    let from = header.find("struct amdgpu_mes_hung_queue_hqd_info {");
    let its = &header[from.expect("the structure")..];
    let mut probe = Probe::new(&[], &["-Du32=uint32_t".to_string()]);
    probe.declare(&its[..its.find("\n};").expect("its end") + 3]);
    assert_eq!(compare(probe, &[mes::LAYOUTS]), 3);
}
