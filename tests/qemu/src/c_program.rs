// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the C programs of the course, as its pages say.

use crate::host::Host;
use crate::shown::shown;
use anyhow::{ensure, Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Their sources.
pub const SOURCES: &str = "docs/course/programs";
/// What a page tells to compile with, up to the file names.
pub const COMPILER: &str = "cc -static -O2 -Wall -Wextra -Werror";

/// Compile `NAME.c`: the program's path.
///
/// # Errors
///
/// It does not compile, or with a warning.
pub fn compile(host: &Host, name: &str) -> Result<PathBuf> {
    let dir = host.build.join("course").join(host.chip.name);
    fs::create_dir_all(&dir)?;
    let (source, program) = (
        Path::new(SOURCES).join(format!("{name}.c")),
        dir.join(format!("{name}-{}", std::process::id())),
    );
    let mut words = COMPILER.split(' ');
    let output = Command::new(words.next().unwrap_or_default())
        .args(words)
        .arg("-o")
        .args([&program, &source])
        .output()
        .context("the C compiler cannot be started; 'make setup' installs it")?;
    ensure!(
        output.status.success(),
        "{} does not compile:\n{}",
        shown(&source),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(program)
}
