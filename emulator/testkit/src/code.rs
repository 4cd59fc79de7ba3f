// SPDX-License-Identifier: MIT OR Apache-2.0

//! Kernels compiled by clang, and their code objects' contents.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

/// A code object as it lies in memory.
pub struct Code {
    pub image: Vec<u8>,
    /// Offsets of its symbols.
    pub symbols: HashMap<String, u64>,
}

/// `target`: a chip, with `+wave64` for waves of 64 lanes where 32 are usual.
fn compile(source: &Path, target: &str) -> Vec<u8> {
    let (arch, wave64) = match target.strip_suffix("+wave64") {
        Some(arch) => (arch, &["-mwavefrontsize64"][..]),
        None => (target, &[][..]),
    };
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let out = std::env::temp_dir().join(format!("rkfd-cp-{}-{number}.co", std::process::id()));
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
    let status = Command::new("clang-19")
        .args([
            "-x",
            "hip",
            "--offload-device-only",
            "--no-gpu-bundle-output",
            &format!("--offload-arch={arch}"),
        ])
        .args(wave64)
        .args([
            "-nogpuinc",
            "-nogpulib",
            "-mcode-object-version=5",
            "-ffp-contract=off",
            "-O3",
            "-I",
        ])
        .arg(include)
        .arg(source)
        .arg("-o")
        .arg(&out)
        .status()
        .expect("clang-19 runs");
    assert!(status.success(), "clang-19 {}", source.display());
    let bytes = std::fs::read(&out).unwrap();
    let _ = std::fs::remove_file(&out);
    bytes
}

/// The code object of `tests/kernels/NAME.hip`, or of `loops.hip` in this crate.
pub fn elf(name: &str, arch: &str) -> Vec<u8> {
    static KEPT: OnceLock<Mutex<HashMap<String, Vec<u8>>>> = OnceLock::new();
    let mut kept = KEPT
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(|e| e.into_inner());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source: PathBuf = match name {
        "loops" => root.join("loops.hip"),
        _ => root.join(format!("../../tests/kernels/{name}.hip")),
    };
    kept.entry(format!("{arch}/{name}"))
        .or_insert_with(|| compile(&source, arch))
        .clone()
}

fn int(bytes: &[u8], at: usize, size: usize) -> u64 {
    bytes[at..at + size]
        .iter()
        .rev()
        .fold(0, |v, b| (v << 8) | u64::from(*b))
}

/// Segments and symbols of a compiled source.
pub fn code(name: &str, arch: &str) -> Code {
    let elf = elf(name, arch);
    assert_eq!(&elf[..5], b"\x7fELF\x02");
    let (ph, sh) = (int(&elf, 32, 8) as usize, int(&elf, 40, 8) as usize);
    let (phnum, shnum) = (int(&elf, 56, 2) as usize, int(&elf, 60, 2) as usize);
    let segments: Vec<_> = (0..phnum)
        .map(|n| ph + n * 56)
        .filter(|&p| int(&elf, p, 4) == 1)
        .collect();
    let end = segments
        .iter()
        .map(|&p| int(&elf, p + 16, 8) + int(&elf, p + 40, 8))
        .max()
        .unwrap();
    let mut image = vec![0; end.next_multiple_of(4096) as usize];
    for p in segments {
        let (offset, at, size) = (
            int(&elf, p + 8, 8) as usize,
            int(&elf, p + 16, 8) as usize,
            int(&elf, p + 32, 8) as usize,
        );
        image[at..at + size].copy_from_slice(&elf[offset..offset + size]);
    }
    let mut symbols = HashMap::new();
    for n in 0..shnum {
        let s = sh + n * 64;
        // SHT_DYNSYM.
        if int(&elf, s + 4, 4) != 11 {
            continue;
        }
        let (offset, size, link) = (
            int(&elf, s + 24, 8) as usize,
            int(&elf, s + 32, 8) as usize,
            int(&elf, s + 40, 4) as usize,
        );
        let strings = int(&elf, sh + link * 64 + 24, 8) as usize;
        for at in (offset..offset + size).step_by(24) {
            let text = strings + int(&elf, at, 4) as usize;
            let text: Vec<u8> = elf[text..]
                .iter()
                .take_while(|b| **b != 0)
                .copied()
                .collect();
            symbols.insert(String::from_utf8(text).unwrap(), int(&elf, at + 8, 8));
        }
    }
    Code { image, symbols }
}

/// Kernel arguments: the explicit ones, then the hidden block of code object version 5.
pub fn arguments(explicit: &[u8], grid: u32, group: u16) -> Vec<u8> {
    let mut bytes = explicit.to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    for n in [grid / u32::from(group), 1, 1] {
        bytes.extend(n.to_le_bytes());
    }
    for n in [group, 1, 1, 0, 0, 0] {
        bytes.extend(n.to_le_bytes());
    }
    bytes.resize(bytes.len() + 232, 0);
    bytes
}

/// The bytes of 64-bit arguments.
pub fn pointers(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}
