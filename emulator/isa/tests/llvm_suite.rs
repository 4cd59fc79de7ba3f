// SPDX-License-Identifier: MIT OR Apache-2.0
//! The decoder against LLVM: mnemonic and size of every line of LLVM's own disassembler tests for
//! the chips whose encodings ours share. LLVM, asked for our chip, is the referee.

use rkfd_isa::{Target, GFX1201, GFX942};
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Input lines of the tests run for any of `cpus`.
fn inputs(folder: &Path, cpus: &[&str]) -> BTreeSet<Vec<u8>> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("read the suite") {
        let path = entry.expect("read the suite").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !name.ends_with(".txt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("read a test");
        let wanted = text
            .lines()
            .filter(|l| l.contains("RUN:"))
            .any(|l| cpus.iter().any(|cpu| l.contains(&format!("-mcpu={cpu}"))));
        if !wanted {
            continue;
        }
        for line in text.lines().filter(|l| l.trim_start().starts_with("0x")) {
            let bytes: Option<Vec<u8>> = line
                .split('#')
                .next()
                .unwrap_or("")
                .split([',', ' '])
                .filter(|t| !t.trim().is_empty())
                .map(|t| u8::from_str_radix(t.trim().trim_start_matches("0x"), 16).ok())
                .collect();
            found.extend(bytes);
        }
    }
    found
}

/// What LLVM makes of each input: mnemonics and bytes, or nothing.
fn referee(target: &Target, inputs: &[Vec<u8>]) -> Vec<Option<(String, usize)>> {
    let mut text = String::new();
    for bytes in inputs {
        let hex: Vec<String> = bytes.iter().map(|b| format!("0x{b:02x}")).collect();
        text += &format!("{}\n", hex.join(","));
    }
    let mut child = Command::new("llvm-mc")
        .args([
            "-triple=amdgcn",
            &format!("-mcpu={}", target.name),
            "-disassemble",
            "-show-encoding",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("run llvm-mc");
    let mut stdin = child.stdin.take().expect("stdin");
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("llvm-mc");
    writer.join().expect("writer").expect("feed llvm-mc");
    // A refused input has no output, so each is found by its encoding.
    let mut known = HashMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((code, rest)) = line.split_once("; encoding: [") else {
            continue;
        };
        let hex = rest.split(']').next().unwrap_or("");
        let bytes: Vec<u8> = hex
            .split(',')
            .filter_map(|t| u8::from_str_radix(t.trim_start_matches("0x"), 16).ok())
            .collect();
        let word = |text: &str| text.split_whitespace().next().unwrap_or("").to_string();
        let mnemonic = match code.split_once("::") {
            Some((first, second)) => format!("{}::{}", word(first), word(second)),
            None => word(code),
        };
        known.insert(bytes, mnemonic);
    }
    let verdict = |bytes: &Vec<u8>| {
        [12, 8, 4].into_iter().find_map(|n| {
            let mnemonic = known.get(bytes.get(..n)?)?;
            Some((mnemonic.clone(), n))
        })
    };
    inputs.iter().map(verdict).collect()
}

fn plain(mnemonic: &str) -> &str {
    ["_e32", "_e64", "_sdwa", "_dpp", "_e64_dpp"]
        .iter()
        .filter_map(|s| mnemonic.strip_suffix(s))
        .min_by_key(|rest| rest.len())
        .unwrap_or(mnemonic)
}

#[test]
fn llvm_disassembler_suite_gfx942() {
    agree(&GFX942, &["gfx9", "tonga", "fiji", "gfx810"], 40_000);
}

#[test]
fn llvm_disassembler_suite_gfx1201() {
    agree(&GFX1201, &["gfx12"], 28_000);
}

fn agree(target: &Target, cpus: &[&str], at_least: usize) {
    let root = std::env::var("RKFD_LLVM_SUITE").expect(
        "RKFD_LLVM_SUITE is not set: run setup/llvm-suite.sh and point it to the folder it prints",
    );
    let folder = Path::new(&root).join("llvm/test/MC/Disassembler/AMDGPU");
    assert!(
        folder.is_dir(),
        "{} is missing: run setup/llvm-suite.sh",
        folder.display()
    );
    let inputs: Vec<Vec<u8>> = inputs(&folder, cpus).into_iter().collect();
    let verdicts = referee(target, &inputs);
    let (mut same, mut refused, mut wrong) = (0, 0, Vec::new());
    let mut mnemonics = BTreeSet::new();
    for (bytes, verdict) in inputs.iter().zip(&verdicts) {
        let Some((mnemonic, size)) = verdict else {
            refused += 1;
            continue;
        };
        let word = |n: usize| {
            let mut word = [0; 4];
            for (to, from) in word.iter_mut().zip(bytes.iter().skip(n * 4)) {
                *to = *from;
            }
            u32::from_le_bytes(word)
        };
        // Of a pair, both.
        let (first, second) = match mnemonic.split_once("::") {
            Some((first, second)) => (first, Some(second)),
            None => (mnemonic.as_str(), None),
        };
        match target.decode([word(0), word(1), word(2)]) {
            Ok(i)
                if i.name() == plain(first)
                    && i.second_name() == second
                    && i.size as usize == *size =>
            {
                same += 1;
                mnemonics.insert(i.name());
            }
            other => wrong.push(format!(
                "{bytes:02x?}: LLVM {mnemonic} {size}, here {:?}",
                other.map(|i| (i.name(), i.size))
            )),
        }
    }
    println!(
        "{} inputs, {same} agree over {} mnemonics, {refused} are not {}, {} differ",
        inputs.len(),
        mnemonics.len(),
        target.name,
        wrong.len()
    );
    for line in wrong.iter().take(40) {
        println!("  {line}");
    }
    assert!(
        wrong.is_empty(),
        "{} encodings differ from LLVM",
        wrong.len()
    );
    assert!(same > at_least, "only {same} encodings compared");
}
