// SPDX-License-Identifier: MIT OR Apache-2.0
//! The decoder and the text against llvm-objdump on all of tests/kernels at -O0 to -O3; and that
//! nothing in them is refused by the compute unit.

use rkfd_isa::*;
use rkfd_isa_testkit::*;
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn compiled_gfx942_kernels() {
    agree(&GFX942, 20_000, 180);
}

#[test]
fn compiled_gfx1201_kernels() {
    agree(&GFX1201, 20_000, 200);
}

fn agree(target: &'static Target, at_least: usize, names_at_least: usize) {
    let mut names: Vec<String> = std::fs::read_dir(kernels_folder())
        .expect("tests/kernels")
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter_map(|n| n.strip_suffix(".hip").map(str::to_string))
        .collect();
    names.sort();
    let (mut compared, mut mnemonics) = (0, BTreeSet::new());
    for name in &names {
        for level in 0..=3 {
            let path = std::env::temp_dir().join(format!(
                "rkfd-isa-objdump-{}-{}-{name}-{level}.co",
                std::process::id(),
                target.name
            ));
            std::fs::write(&path, compile(target, name, level)).expect("write");
            let output = Command::new("llvm-objdump")
                .arg("-d")
                .arg(&path)
                .output()
                .expect("llvm-objdump runs");
            let _ = std::fs::remove_file(&path);
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                // "\tv_add_f32_e32 v0, v1, v2   // 000000001900: 02000501"
                let Some((text, code)) = line.split_once("//") else {
                    continue;
                };
                let Some(mnemonic) = text.split_whitespace().next() else {
                    continue;
                };
                let words: Vec<u32> = code
                    .split(':')
                    .nth(1)
                    .unwrap_or("")
                    .split_whitespace()
                    .map_while(|w| u32::from_str_radix(w, 16).ok())
                    .collect();
                if words.is_empty() {
                    continue;
                }
                let word = |n: usize| words.get(n).copied().unwrap_or(0);
                if mnemonic == ".long" {
                    // objdump takes this for no instruction; a kernel has it on purpose.
                    let decoded = target.decode([word(0), word(1), word(2)]);
                    assert!(decoded.is_err(), "{line}");
                    continue;
                }
                let i = target
                    .decode([word(0), word(1), word(2)])
                    .unwrap_or_else(|e| panic!("{name} -O{level}: {e:?} for {line}"));
                let plain = ["_e32", "_e64", "_sdwa", "_dpp"]
                    .iter()
                    .find_map(|s| mnemonic.strip_suffix(s))
                    .unwrap_or(mnemonic);
                assert_eq!(
                    (i.name(), i.size as usize),
                    (plain, words.len() * 4),
                    "{line}"
                );
                let lanes = if target.name == "gfx942" { 64 } else { 32 };
                let written = target.text([word(0), word(1), word(2)], lanes);
                let written = written.map(|text| text.to_string()).unwrap_or_default();
                assert_eq!(written.trim_end(), text.trim(), "{line}");
                let second = text
                    .split_once("::")
                    .and_then(|(_, t)| t.split_whitespace().next());
                assert_eq!(i.second_name(), second, "{line}");
                assert_eq!(i.unsupported(), None, "{line}");
                compared += 1;
                mnemonics.insert(i.name());
            }
        }
    }
    println!(
        "{}: {compared} instructions of {} files agree, {} mnemonics",
        target.name,
        names.len(),
        mnemonics.len()
    );
    let enough = compared > at_least && mnemonics.len() > names_at_least;
    assert!(enough, "{compared} {}", mnemonics.len());
}
