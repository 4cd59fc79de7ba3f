// SPDX-License-Identifier: MIT OR Apache-2.0

//! A debugger reads and writes device memory that a program has mapped, by PEEK, POKE and `/proc/PID/mem`.
//!
//! It finds what the GPU has written, and what it writes the program's CPU and the GPU find, whatever rights the
//! mapping has. Beyond a mapping's end there is nothing, nor in the pages of `/dev/kfd`, in memory that was freed, and once
//! the driver is unbound from the GPU.
//!
//! `peeks`

mod target;
mod tracer;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rkfd_programs::other::{self, Other};
use rkfd_programs::{bound, check, report, Failure};
use rkfd_uapi::mmap::{Kind, Offset};

use target::Target;
use tracer::Memory;

const PAGE: usize = 4096;
/// Of a buffer.
const BYTES: usize = 4 * PAGE;
/// Where the program writes what it sees.
const SEEN: &str = "/tmp/peeks-seen";
/// Who may not look.
const NOBODY: u32 = 65534;

/// What a buffer holds at first.
fn byte(i: usize, seed: usize) -> u8 {
    ((i + seed).wrapping_mul(0x9e37_79b1) >> 16) as u8
}

/// Mappings behind which nothing lies.
const PLACED: [&str; 5] = ["gem-vram", "gem-gtt", "dma-buf", "no-rights", "read-only"];

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

    /// What the debugger writes is there for all.
    fn is_written(&mut self, memory: &Memory, other: &mut Other) -> Result<(), Failure> {
        let len = self.bytes.len();
        for (within, count) in [
            (8, 1),
            (PAGE - 6, 11),
            (PAGE + 102, 3),
            (PAGE + PAGE / 2 + 1, PAGE),
            (len - 40, 7),
        ] {
            let new: Vec<u8> = self.bytes[within..within + count]
                .iter()
                .map(|byte| !byte)
                .collect();
            self.check(
                &format!("{count} bytes from {within} on are written"),
                memory.write(self.byte_at(within), &new) == Ok(count),
            )?;
            self.bytes[within..within + count].copy_from_slice(&new);
        }
        let stopped = memory.stop()?;
        for within in [16, PAGE - 3, 2 * PAGE + 77, len - 8] {
            let word = !self.word(within).rotate_left(4);
            self.check(
                &format!("a word is poked at {within}"),
                stopped.poke(self.byte_at(within), word) == Ok(()),
            )?;
            self.bytes[within..within + 8].copy_from_slice(&word.to_le_bytes());
        }
        drop(stopped);
        self.is_seen(memory, other)
    }

    /// Debugger, GPU and CPU find the same.
    fn is_seen(&self, memory: &Memory, other: &mut Other) -> Result<(), Failure> {
        let len = self.bytes.len();
        self.check(
            "the debugger finds it",
            memory.read(self.at, len) == Ok(self.bytes.clone()),
        )?;
        for who in ["gpu", "cpu"] {
            if who == "cpu" && self.kind == "no-rights" {
                continue;
            }
            other.ask(&format!("save {who} {}", self.kind))?;
            self.check("it is saved", other.read()? == "saved")?;
            let seen = fs::read(SEEN).map_err(Failure::new)?;
            let first = seen
                .iter()
                .zip(&self.bytes)
                .position(|(seen, wanted)| seen != wanted);
            println!("the first byte that is wrong: {first:?}");
            self.check(&format!("the {who} finds it"), seen == self.bytes)?;
        }
        Ok(())
    }

    /// Nothing is reached beyond its end.
    fn ends(&mut self, memory: &Memory, other: &mut Other) -> Result<(), Failure> {
        let len = self.bytes.len();
        let last = self.bytes[len - 24..].to_vec();
        self.check(
            "what is read ends with it",
            memory.read(self.byte_at(len - 24), 64) == Ok(last),
        )?;
        self.check(
            "what is written, too",
            memory.write(self.byte_at(len - 24), &[0xa5; 64]) == Ok(24),
        )?;
        self.bytes[len - 24..].fill(0xa5);
        let stopped = memory.stop()?;
        self.check(
            "no word lies across the end",
            stopped.peek(self.byte_at(len - 4)) == Err(libc::EIO),
        )?;
        let poked = stopped.poke(self.byte_at(len - 4), 0x0807_0605_0403_0201);
        self.check("half of one is poked, and EIO", poked == Err(libc::EIO))?;
        self.bytes[len - 4..].copy_from_slice(&[1, 2, 3, 4]);
        drop(stopped);
        self.check(
            "nothing is behind it",
            memory.read(self.byte_at(len), 1) == Err(libc::EIO),
        )?;
        self.is_seen(memory, other)
    }

    /// Calls that want pages find none.
    fn has_no_pages(&self, memory: &Memory) -> Result<(), Failure> {
        self.check(
            "process_vm_readv finds no page",
            memory.read_vm(self.at, 8) == Err(libc::EFAULT),
        )?;
        self.check(
            "nor process_vm_writev",
            memory.write_vm(self.at, &[0; 8]) == Err(libc::EFAULT),
        )
    }

    fn is_gone(&self, memory: &Memory) -> Result<(), Failure> {
        self.check(
            "it isn't read any more",
            memory.read(self.at, 8) == Err(libc::EIO),
        )?;
        self.check(
            "nor written",
            memory.write(self.at, &[0; 8]) == Err(libc::EIO),
        )
    }

    /// How many registers are stored for a word.
    fn stores(&self, memory: &Memory) -> Result<u64, Failure> {
        let count = || {
            let text = fs::read_to_string("/sys/kernel/debug/rkfd/work").map_err(Failure::new)?;
            let mut lines = text.lines();
            let count = lines.find_map(|line| line.trim().strip_prefix("register_stores "));
            let count = count.and_then(|count| count.trim().parse::<u64>().ok());
            count.ok_or_else(|| Failure::new("the driver doesn't count stores"))
        };
        let before = count()?;
        let word = self.bytes.get(..4).unwrap_or_default();
        self.check("a word is written", memory.write(self.at, word) == Ok(4))?;
        Ok(count()? - before)
    }
}

/// The pages that the program has of `/dev/kfd`.
fn own_pages(pid: u32, memory: &Memory) -> Result<(), Failure> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).map_err(Failure::new)?;
    let mut doorbells = 0;
    for line in maps.lines().filter(|line| line.ends_with("/dev/kfd")) {
        println!("{line}");
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |text: &str| u64::from_str_radix(text, 16).map_err(Failure::new);
        let [place, _, offset, ..] = fields[..] else {
            return Err(Failure::new("a line without fields"));
        };
        let at = number(place.split('-').next().unwrap_or_default())?;
        doorbells += u32::from(Offset::parse(number(offset)?).kind == Kind::Doorbell);
        check("it isn't read", memory.read(at, 4) == Err(libc::EIO))?;
        check("nor written", memory.write(at, &[0; 8]) == Err(libc::EIO))?;
        check("nor peeked", memory.stop()?.peek(at) == Err(libc::EIO))?;
    }
    check("there was a page of doorbells", doorbells > 0)
}

/// Ordinary memory, by each way.
fn ordinary(memory: &Memory, other: &mut Other) -> Result<(), Failure> {
    other.ask("ordinary")?;
    let [at] = other.numbers()?[..] else {
        return Err(Failure::new("where is it?"));
    };
    let wanted = Ok(b"of its own".to_vec());
    check("ordinary memory is read", memory.read(at, 10) == wanted)?;
    check("by process_vm_readv, too", memory.read_vm(at, 10) == wanted)
}

/// Somebody else's process may not look.
fn stranger(pid: u32) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    let mut command = Command::new(program);
    let status = command
        .uid(NOBODY)
        .args(["stranger", &pid.to_string()])
        .status();
    check(
        "somebody else is refused",
        status.map_err(Failure::new)?.success(),
    )
}

fn be_a_stranger(pid: u32) -> Result<(), Failure> {
    let opened = fs::File::open(format!("/proc/{pid}/mem")).map_err(|e| e.kind());
    check(
        "the file is refused",
        opened.err() == Some(ErrorKind::PermissionDenied),
    )?;
    check("tracing is refused", Memory::trace(pid).is_err())
}

fn debugger() -> Result<(), Failure> {
    let mut other = Other::start(["target".into()])?;
    stranger(other.pid())?;
    let memory = Memory::trace(other.pid())?;
    ordinary(&memory, &mut other)?;

    let mut mappings = Vec::new();
    for (seed, kind) in ["kfd-vram", "kfd-gtt"]
        .into_iter()
        .chain(PLACED)
        .enumerate()
    {
        let mut mapping = Mapping::new(kind, seed + 1, &mut other)?;
        mapping.is_read(&memory)?;
        mapping.is_written(&memory, &mut other)?;
        if PLACED.contains(&kind) {
            mapping.ends(&memory, &mut other)?;
        }
        mapping.has_no_pages(&memory)?;
        mappings.push(mapping);
    }
    // HDP holds back what the CPU stores to VRAM.
    for (kind, wanted) in [("kfd-vram", 1), ("kfd-gtt", 0)] {
        let mapping = mappings.iter().find(|mapping| mapping.kind == kind);
        let stores = mapping.map(|mapping| mapping.stores(&memory)).transpose()?;
        println!("registers stored: {stores:?}");
        check(
            "HDP is flushed behind stores to VRAM",
            stores == Some(wanted),
        )?;
    }
    own_pages(other.pid(), &memory)?;

    for kind in PLACED {
        other.ask(&format!("free {kind}"))?;
        check(
            &format!("{kind}: its handle is closed"),
            other.read()? == "freed",
        )?;
    }
    let has_own = |mapping: &Mapping| mapping.kind == "dma-buf" || !PLACED.contains(&mapping.kind);
    for mapping in &mappings {
        match has_own(mapping) {
            true => mapping.is_read(&memory)?,
            false => mapping.is_gone(&memory)?,
        }
    }
    let (driver, address) = bound()?;
    fs::write(driver.join("unbind"), address).map_err(Failure::new)?;
    mappings
        .iter()
        .try_for_each(|mapping| mapping.is_gone(&memory))?;
    other.kill()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["target"] => {
            Target::new().and_then(|mut target| other::answer(|line| target.answer(line)))
        }
        ["stranger", pid] => pid.parse().map_err(Failure::new).and_then(be_a_stranger),
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
