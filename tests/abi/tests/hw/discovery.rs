// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tables of discovery.

use crate::{compare, AMD};
use rkfd_abi_test::{includes, linux, Probe};
use rkfd_hw::discovery;

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
fn blocks_have_linux_s_names() {
    let path = linux().join(AMD).join("amdgpu/amdgpu_discovery.c");
    let source = std::fs::read_to_string(path).unwrap();
    let (_, list) = source.split_once("hw_id_names[HW_ID_MAX] = {").unwrap();
    let (list, _) = list.split_once("};").unwrap();
    let names: Vec<(&str, &str)> = list
        .lines()
        .filter_map(|line| {
            let (id, name) = line.trim().strip_prefix('[')?.split_once(']')?;
            Some((id, name.split('"').nth(1)?))
        })
        .collect();
    let flags = includes(&linux(), &[&format!("{AMD}/include")]);
    let mut probe = Probe::new(&["soc15_hw_ip.h"], &flags);
    for (id, _) in &names {
        probe.value(id);
    }
    let answers = probe.run();
    for ((id, name), answer) in names.iter().zip(&answers) {
        let known = u16::try_from(answer.bit)
            .ok()
            .and_then(discovery::names::name);
        assert_eq!(known, Some(*name), "{id}");
    }
    assert_eq!(names.len(), discovery::names::NAMES.len());
}
