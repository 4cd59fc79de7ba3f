// SPDX-License-Identifier: MIT OR Apache-2.0
//! LLVM's own disassembler tests, and what LLVM makes of them for a chip.

use rkfd_isa::Target;
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The processors whose tests have encodings of a chip.
pub fn relatives(target: &Target) -> &'static [&'static str] {
    match target.name {
        "gfx942" => &["gfx9", "tonga", "fiji", "gfx810"],
        _ => &["gfx12"],
    }
}

/// Where the tests are.
pub fn folder() -> PathBuf {
    let root = std::env::var("RKFD_LLVM_SUITE").expect(
        "RKFD_LLVM_SUITE is not set: run setup/llvm-suite.sh and point it to the folder it prints",
    );
    let folder = Path::new(&root).join("llvm/test/MC/Disassembler/AMDGPU");
    let there = folder.is_dir();
    assert!(
        there,
        "{} is missing: run setup/llvm-suite.sh",
        folder.display()
    );
    folder
}

/// The first three words of an input.
pub fn words(bytes: &[u8]) -> [u32; 3] {
    std::array::from_fn(|n| {
        let mut word = [0; 4];
        for (to, from) in word.iter_mut().zip(bytes.iter().skip(n * 4)) {
            *to = *from;
        }
        u32::from_le_bytes(word)
    })
}

/// Input lines of the tests run for any of `cpus`.
pub fn inputs(folder: &Path, cpus: &[&str]) -> BTreeSet<Vec<u8>> {
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

/// What LLVM makes of words.
pub struct Verdict {
    /// The instruction as llvm-objdump writes it.
    pub text: String,
    /// Its bytes.
    pub size: usize,
}

impl Verdict {
    /// The mnemonic, and the second one of a pair.
    pub fn mnemonics(&self) -> (&str, Option<&str>) {
        let word = |text: &'_ str| text.split_whitespace().next().map_or(0, str::len);
        let (first, second) = match self.text.split_once(" :: ") {
            Some((first, second)) => (first, Some(&second[..word(second)])),
            None => (self.text.as_str(), None),
        };
        (&first[..word(first)], second)
    }
}

/// What LLVM makes of each input in a wave of so many lanes, or nothing.
pub fn referee(target: &Target, lanes: u32, inputs: &[Vec<u8>]) -> Vec<Option<Verdict>> {
    let mut text = String::new();
    for bytes in inputs {
        let hex: Vec<String> = bytes.iter().map(|b| format!("0x{b:02x}")).collect();
        text += &format!("{}\n", hex.join(","));
    }
    let mut arguments = vec![
        "-triple=amdgcn".to_string(),
        format!("-mcpu={}", target.name),
        "-disassemble".into(),
        "-show-encoding".into(),
    ];
    if target.name != "gfx942" && lanes == 64 {
        arguments.push("-mattr=-wavefrontsize32,+wavefrontsize64".into());
    }
    let mut child = Command::new("llvm-mc")
        .args(&arguments)
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
        known.insert(bytes, code.trim().replace('\t', " "));
    }
    let verdict = |bytes: &Vec<u8>| {
        [12, 8, 4].into_iter().find_map(|size| {
            let text = known.get(bytes.get(..size)?)?.clone();
            Some(Verdict { text, size })
        })
    };
    inputs.iter().map(verdict).collect()
}

/// A mnemonic without its encoding's suffix.
pub fn plain(mnemonic: &str) -> &str {
    ["_e32", "_e64", "_sdwa", "_dpp", "_e64_dpp"]
        .iter()
        .filter_map(|s| mnemonic.strip_suffix(s))
        .min_by_key(|rest| rest.len())
        .unwrap_or(mnemonic)
}
