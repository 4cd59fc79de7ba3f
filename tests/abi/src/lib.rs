// SPDX-License-Identifier: MIT OR Apache-2.0

//! Asks the C compiler where things lie: a probe is a C program made from questions, compiled
//! against the headers that define the interface, and run.
//!
//! Hardware layouts are written once and shared by driver and device, so a mistake in them would
//! cancel out. The answers here come from Linux's and HSA's own headers.

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

/// Where a C member lies: its first bit and its width in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// First bit from the start of the structure.
    pub bit: u64,
    /// Width in bits.
    pub width: u64,
}

/// The folder that the environment variable `name` points at.
///
/// # Panics
///
/// When it is unset or has no `marker`: a layout test without headers has tested nothing.
pub fn folder(name: &str, script: &str, marker: &str) -> PathBuf {
    let path = env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: run tests/run, or {name}=$({script})"));
    let path = PathBuf::from(path);
    assert!(
        path.join(marker).exists(),
        "{name}={} has no {marker}",
        path.display()
    );
    path
}

/// The prepared Linux source tree.
pub fn linux() -> PathBuf {
    folder(
        "RKFD_LINUX",
        "setup/kernel.sh",
        "drivers/gpu/drm/amd/include/v9_structs.h",
    )
}

/// The HSA headers.
pub fn hsa() -> PathBuf {
    folder("RKFD_HSA", "setup/hsa-headers.sh", "hsa/hsa.h")
}

/// A C program that answers numbered questions.
#[derive(Default)]
pub struct Probe {
    head: String,
    body: String,
    questions: usize,
    flags: Vec<String>,
}

impl Probe {
    /// A probe that includes `headers` with the compiler flags `flags`.
    pub fn new(headers: &[&str], flags: &[String]) -> Self {
        let mut head = String::from(
            "#include <stdint.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <string.h>\n#include <stdio.h>\n",
        );
        for header in headers {
            head += &format!("#include \"{header}\"\n");
        }
        head += "static void place(size_t n, const unsigned char *p, size_t len) {\n\
                 long first = -1, last = -1, count = 0;\n\
                 for (size_t i = 0; i < len * 8; i++) if (p[i / 8] >> (i % 8) & 1) {\n\
                 if (first < 0) first = i; last = i; count++; }\n\
                 printf(\"%zu %ld %ld %d\\n\", n, first, count, last - first + 1 == count); }\n";
        Self {
            head,
            flags: flags.to_vec(),
            ..Self::default()
        }
    }

    /// Adds C text before the questions.
    pub fn declare(&mut self, c: &str) {
        self.head += c;
        self.head += "\n";
    }

    /// Asks for the value of a C expression; returns the question's number.
    pub fn value(&mut self, expression: &str) -> usize {
        self.ask(&format!(
            "printf(\"%zu %llu 0 1\\n\", question, (unsigned long long)({expression}));"
        ))
    }

    /// Asks where the member `path` of the C type `ty` lies, by setting all its bits.
    pub fn place(&mut self, ty: &str, path: &str) -> usize {
        self.ask(&format!(
            "{{ static {ty} x; memset(&x, 0, sizeof x); x.{path} = -1; place(question, (void *)&x, sizeof x); }}"
        ))
    }

    fn ask(&mut self, c: &str) -> usize {
        let n = self.questions;
        self.questions += 1;
        // One function a question: a single main of thousands would take the compiler minutes.
        self.body += &format!("static void q{n}(void) {{ const size_t question = {n}; {c} }}\n");
        n
    }

    /// Compiles, runs, and returns the answers in order.
    ///
    /// # Panics
    ///
    /// When the compiler refuses (a name is not in the headers) or a member is not contiguous.
    pub fn run(self) -> Vec<Place> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let dir = env::temp_dir();
        let stem = format!(
            "rkfd-abi-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let (c, exe) = (dir.join(format!("{stem}.c")), dir.join(stem));
        let calls: Vec<String> = (0..self.questions).map(|n| format!("q{n}();")).collect();
        let calls = calls.join("\n");
        fs::write(
            &c,
            format!(
                "{}{}int main(void) {{ {calls} return 0; }}\n",
                self.head, self.body
            ),
        )
        .expect("the temporary folder is writable");
        let cc = Command::new("gcc")
            .args(["-std=gnu11", "-w", "-fpermissive", "-O0", "-o"])
            .arg(&exe)
            .arg(&c)
            .args(&self.flags)
            .output()
            .expect("gcc is installed");
        assert!(
            cc.status.success(),
            "gcc: {}",
            String::from_utf8_lossy(&cc.stderr)
        );
        let out = Command::new(&exe).output().expect("the probe runs");
        assert!(out.status.success(), "the probe failed: {}", out.status);
        for file in [&c, &exe] {
            let _ = fs::remove_file(file);
        }
        let text = String::from_utf8(out.stdout).expect("the probe prints ASCII");
        let answers: Vec<Place> = text
            .lines()
            .enumerate()
            .map(|(i, line)| {
                let mut words = line.split(' ');
                let mut next = || words.next().and_then(|w| w.parse::<u64>().ok());
                let (n, bit, width, contiguous) = (next(), next(), next(), next());
                assert_eq!(n, Some(i as u64), "answers come in order");
                assert_eq!(contiguous, Some(1), "question {i}: not one run of bits");
                Place {
                    bit: bit.expect("a number"),
                    width: width.expect("a number"),
                }
            })
            .collect();
        assert_eq!(
            answers.len(),
            self.questions,
            "every question has an answer"
        );
        answers
    }
}

/// `-I` flags for folders of the Linux tree.
pub fn includes(base: &Path, folders: &[&str]) -> Vec<String> {
    folders
        .iter()
        .map(|f| format!("-I{}", base.join(f).display()))
        .collect()
}

/// Prints a count past the test runner's capture: the reader should see how much was compared.
pub fn report(line: &str) {
    let _ = writeln!(std::io::stderr(), "abi: {line}");
}
