// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the HIP kernels of `tests/kernels` with clang: no ROCm, no device libraries.
//!
//! A code object is kept under a name that holds a hash of everything it was made from, so one
//! that is there is the right one.

use crate::host::Host;
use crate::shown::shown;
use anyhow::{ensure, Context, Result};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

const SOURCES: &str = "tests/kernels";
/// What these include.
const INCLUDED: [&str; 2] = ["tests/kernels/k.h", "userspace/rkfd/examples/kernels.hip"];
const CLANG: &str = "clang-19";
/// No fused multiply-add of our source's separate operations: results are compared bit by bit.
const FLAGS: [&str; 8] = [
    "-x",
    "hip",
    "--offload-device-only",
    "--no-gpu-bundle-output",
    "-nogpuinc",
    "-nogpulib",
    "-mcode-object-version=5",
    "-ffp-contract=off",
];

/// Where the guest finds it.
pub fn in_guest(name: &str, level: u32) -> String {
    format!("/kernels/{name}-O{level}.co")
}

/// Compile a kernel, unless that was done before: the code object's path.
pub fn compile(host: &Host, name: &str, level: u32) -> Result<PathBuf> {
    let target = host.chip.target;
    let source = Path::new(SOURCES).join(format!("{name}.hip"));
    let mut hash = DefaultHasher::new();
    for file in [&source].into_iter().chain(&INCLUDED.map(PathBuf::from)) {
        let text = fs::read(file).with_context(|| format!("cannot read {}", shown(file)))?;
        text.hash(&mut hash);
    }
    (FLAGS, CLANG).hash(&mut hash);
    let dir = host.build.join("kernels");
    fs::create_dir_all(&dir)?;
    let object = dir.join(format!(
        "{name}-{target}-O{level}-{:016x}.co",
        hash.finish()
    ));
    if object.is_file() {
        return Ok(object);
    }
    // Machines that start side by side may want the same one.
    static PARTS: AtomicU32 = AtomicU32::new(0);
    let part = PARTS.fetch_add(1, Ordering::Relaxed);
    let part = object.with_extension(format!("{}-{part}.part", std::process::id()));
    let output = Command::new(CLANG)
        .args(FLAGS)
        .arg(format!("--offload-arch={target}"))
        .arg(format!("-O{level}"))
        .arg("-o")
        .args([&part, &source])
        .output()
        .with_context(|| format!("{CLANG} cannot be started; 'make setup' installs it"))?;
    ensure!(
        output.status.success(),
        "{} does not compile:\n{}",
        shown(&source),
        String::from_utf8_lossy(&output.stderr)
    );
    fs::rename(&part, &object)?;
    Ok(object)
}
