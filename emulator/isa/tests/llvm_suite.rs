// SPDX-License-Identifier: MIT OR Apache-2.0
//! The decoder against LLVM: mnemonic and size of every line of LLVM's own disassembler tests for
//! the chips whose encodings gfx942 shares. LLVM, asked for gfx942, is the referee.

use rkfd_isa::decode::decode;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Input lines of the tests run for gfx8, gfx9, gfx90a or gfx940.
fn inputs(folder: &Path) -> BTreeSet<Vec<u8>> {
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
        let wanted = text.lines().filter(|l| l.contains("RUN:")).any(|l| {
            ["-mcpu=gfx9", "-mcpu=tonga", "-mcpu=fiji", "-mcpu=gfx810"]
                .iter()
                .any(|cpu| l.contains(cpu))
        });
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

/// What LLVM makes of each input: mnemonic and bytes, or nothing.
fn referee(inputs: &[Vec<u8>]) -> Vec<Option<(String, usize)>> {
    let mut text = String::new();
    for bytes in inputs {
        let hex: Vec<String> = bytes.iter().map(|b| format!("0x{b:02x}")).collect();
        text += &format!("{}\n", hex.join(","));
    }
    let mut child = Command::new("llvm-mc")
        .args([
            "-triple=amdgcn",
            "-mcpu=gfx942",
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
    // Outputs come in order, but a refused input has none: match each by its encoding.
    let mut verdicts = vec![None; inputs.len()];
    let mut at = 0;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((code, rest)) = line.split_once("; encoding: [") else {
            continue;
        };
        let hex = rest.split(']').next().unwrap_or("");
        let bytes: Vec<u8> = hex
            .split(',')
            .filter_map(|t| u8::from_str_radix(t.trim_start_matches("0x"), 16).ok())
            .collect();
        let mnemonic = code.split_whitespace().next().unwrap_or("").to_string();
        // LLVM re-encodes what it decoded, so ignored bits may differ: then the order decides.
        let found = (at..inputs.len()).find(|&i| inputs[i].starts_with(&bytes));
        let i = match found {
            Some(i) => i,
            None => continue,
        };
        verdicts[i] = Some((mnemonic, bytes.len()));
        at = i + 1;
    }
    verdicts
}

fn plain(mnemonic: &str) -> &str {
    ["_e32", "_e64", "_sdwa", "_dpp"]
        .iter()
        .find_map(|s| mnemonic.strip_suffix(s))
        .unwrap_or(mnemonic)
}

#[test]
fn llvm_disassembler_suite() {
    let root = std::env::var("RKFD_LLVM_SUITE").expect(
        "RKFD_LLVM_SUITE is not set: run setup/llvm-suite.sh and point it to the folder it prints",
    );
    let folder = Path::new(&root).join("llvm/test/MC/Disassembler/AMDGPU");
    assert!(
        folder.is_dir(),
        "{} is missing: run setup/llvm-suite.sh",
        folder.display()
    );
    let inputs: Vec<Vec<u8>> = inputs(&folder).into_iter().collect();
    let verdicts = referee(&inputs);
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
        match decode([word(0), word(1)]) {
            Ok(i) if i.name() == plain(mnemonic) && i.size as usize == *size => {
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
        "{} inputs, {same} agree over {} mnemonics, {refused} are not gfx942, {} differ",
        inputs.len(),
        mnemonics.len(),
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
    assert!(same > 40_000, "only {same} encodings compared");
}
