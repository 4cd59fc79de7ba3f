// SPDX-License-Identifier: MIT OR Apache-2.0

//! A debugger reads device memory that a program has mapped, by PEEK and `/proc/PID/mem`: it finds what the GPU has
//! written.
//!
//! `peeks`

mod target;
mod tracer;

use std::process::ExitCode;

use rkfd_programs::other::{self, Other};
use rkfd_programs::{check, report, Failure};

use target::Target;
use tracer::Memory;

const PAGE: usize = 4096;
/// Of a buffer.
const BYTES: usize = 4 * PAGE;

/// What a buffer holds at first.
fn byte(i: usize, seed: usize) -> u8 {
    ((i + seed).wrapping_mul(0x9e37_79b1) >> 16) as u8
}

/// A mapping, and what it holds.
struct Mapping {
    kind: &'static str,
    at: u64,
    bytes: Vec<u8>,
}

impl Mapping {
    fn new(kind: &'static str, seed: usize, other: &mut Other) -> Result<Self, Failure> {
        other.ask(&format!("make {kind}"))?;
        let [at, len] = other.numbers()?[..] else {
            return Err(Failure::new("where is it?"));
        };
        other.ask(&format!("fill {kind} {seed}"))?;
        check(
            &format!("{kind}: the GPU fills it"),
            other.read()? == "filled",
        )?;
        let bytes = (0..len as usize).map(|i| byte(i, seed)).collect();
        Ok(Self { kind, at, bytes })
    }

    fn check(&self, what: &str, holds: bool) -> Result<(), Failure> {
        check(&format!("{}: {what}", self.kind), holds)
    }

    /// Where a byte lies.
    fn byte_at(&self, within: usize) -> u64 {
        self.at + within as u64
    }

    fn word(&self, within: usize) -> u64 {
        let bytes = self.bytes[within..within + 8].try_into();
        u64::from_le_bytes(bytes.unwrap_or_default())
    }

    /// The debugger finds what it holds.
    fn is_read(&self, memory: &Memory) -> Result<(), Failure> {
        let len = self.bytes.len();
        self.check(
            "all of it is read",
            memory.read(self.at, len) == Ok(self.bytes.clone()),
        )?;
        for (within, count) in [
            (1, 1),
            (3, 7),
            (PAGE - 5, 13),
            (2 * PAGE - 1, 2),
            (PAGE / 2, PAGE),
            (len - 9, 9),
        ] {
            self.check(
                &format!("{count} bytes from {within} on are read"),
                memory.read(self.byte_at(within), count).as_deref()
                    == Ok(&self.bytes[within..within + count]),
            )?;
        }
        let stopped = memory.stop()?;
        for within in [0, 3, PAGE - 3, 2 * PAGE - 1, len - 8] {
            let word = stopped.peek(self.byte_at(within));
            self.check(
                &format!("a word is peeked at {within}"),
                word == Ok(self.word(within)),
            )?;
        }
        Ok(())
    }
}

fn debugger() -> Result<(), Failure> {
    let mut other = Other::start(["target".into()])?;
    let memory = Memory::trace(other.pid())?;
    for (seed, kind) in ["kfd-vram", "kfd-gtt"].into_iter().enumerate() {
        Mapping::new(kind, seed + 1, &mut other)?.is_read(&memory)?;
    }
    other.kill()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["target"] => {
            Target::new().and_then(|mut target| other::answer(|line| target.answer(line)))
        }
        _ => return report("peeks", debugger),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("the other program: {failure}");
            ExitCode::FAILURE
        }
    }
}
