// SPDX-License-Identifier: MIT OR Apache-2.0

//! What requests cause, from what the driver and the kernel count and trace.
//!
//! | key | what | source |
//! |---|---|---|
//! | `register_loads`, `register_stores` | registers of the GPU | debugfs, `rkfd/work` |
//! | `table_words` | words of page tables that were stored | `rkfd/work` |
//! | `cleared_bytes` | VRAM that the CPU cleared through BAR 0 | `rkfd/work` |
//! | `polls` | sleeps because firmware had not answered when it was looked | `rkfd/work` |
//! | `sleeps` | the times that this thread went to sleep, for whatever reason | procfs, `voluntary_ctxt_switches` |
//! | `flushes` | flushes of a process' TLBs | debugfs, `rkfd/tlb` |
//! | `flush_requests` | what hubs or firmware were asked for these | `rkfd/tlb` |
//! | `packets` | packets of PM4 and frames of MES to the scheduling firmware | tracepoint `rkfd_packet` |
//! | `maps`, `unmaps` | those that put queues on (RUN_LIST, ADD_QUEUE) and take them off (UNMAP_QUEUES, REMOVE_QUEUE) | `rkfd_packet` |
//! | `list_words` | words of run lists that were written | tracepoint `rkfd_run_list` |
//! | `copies` | packets to the driver's copy engine | `rkfd_packet` |
//! | `interrupts` | entries of the interrupt ring | tracepoint `rkfd_ih_entry` |

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rkfd::raw::hw::{mes, pm4};
use rkfd_programs::Failure;
use rkfd_trace::driver::{parse, Event};

const DEBUG: &str = "/sys/kernel/debug/rkfd";
/// A place for traces of our own.
const INSTANCE: &str = "/sys/kernel/tracing/instances/rkfd_costs";
const EVENTS: [&str; 3] = ["rkfd_packet", "rkfd_run_list", "rkfd_ih_entry"];

/// Numbers by name.
type Numbers = BTreeMap<String, u64>;

/// Numbers of what was caused.
pub struct Counts(Vec<(&'static str, u64)>);

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(k, v)| write!(f, " {k}={v}"))
    }
}

fn read(path: impl AsRef<Path>) -> Result<String, Failure> {
    let path = path.as_ref();
    fs::read_to_string(path).map_err(|e| Failure::new(format_args!("{}: {e}", path.display())))
}

fn write(path: impl AsRef<Path>, text: &str) -> Result<(), Failure> {
    let path = path.as_ref();
    fs::write(path, text).map_err(|e| Failure::new(format_args!("{}: {e}", path.display())))
}

/// The sums of lines `NAME NUMBER` of a file of debugfs, over all GPUs.
fn numbers(file: &str) -> Result<Numbers, Failure> {
    let mut numbers = Numbers::new();
    for line in read(format!("{DEBUG}/{file}"))?.lines() {
        let number = line.trim().split_once(' ');
        if let Some((name, Ok(number))) = number.map(|(name, n)| (name, n.parse::<u64>())) {
            *numbers.entry(name.into()).or_default() += number;
        }
    }
    Ok(numbers)
}

/// How many processes the driver has.
pub fn processes() -> Result<u64, Failure> {
    let number = numbers("counts")?.get("processes").copied();
    number.ok_or_else(|| Failure::new("the driver doesn't count processes"))
}

/// How often this thread has gone to sleep.
fn switches() -> Result<u64, Failure> {
    let status = read("/proc/thread-self/status")?;
    let mut lines = status.lines();
    let found = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    let found = found.and_then(|number| number.trim().parse().ok());
    found.ok_or_else(|| Failure::new("the kernel doesn't count this thread's sleeps"))
}

/// Kilobytes of its buffer for each processor: an entry of some hundred bytes for each of many thousand packets.
const BUFFER: &str = "32768";

/// Counts what is caused in between.
pub struct Counter(PathBuf);

/// The driver's tracepoints are listened to.
pub struct Listening<'a>(&'a Counter);

impl Counter {
    /// Makes a place for traces.
    pub fn new() -> Result<Self, Failure> {
        let counter = Self(INSTANCE.into());
        match fs::create_dir(INSTANCE) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => {
                return Err(Failure::new(format_args!("{INSTANCE}: {e}")))
            }
            _ => {}
        }
        write(counter.0.join("buffer_size_kb"), BUFFER)?;
        Ok(counter)
    }

    /// Listens until the result is dropped: switching that on and off takes long.
    pub fn listen(&self) -> Result<Listening<'_>, Failure> {
        let listening = Listening(self);
        self.switch("1")?;
        Ok(listening)
    }

    fn switch(&self, on: &str) -> Result<(), Failure> {
        EVENTS.iter().try_for_each(|event| {
            let file = self.0.join("events/rkfd").join(event).join("enable");
            write(file, on)
        })
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        let _ = self.0.switch("0");
    }
}

impl Listening<'_> {
    /// What `work` causes.
    pub fn around(&self, work: impl FnOnce() -> Result<(), Failure>) -> Result<Counts, Failure> {
        let trace = self.0 .0.join("trace");
        write(&trace, "")?;
        // A look at the TLBs' numbers loads a register: outside of a look at those of registers.
        let (tlb, done) = (numbers("tlb")?, numbers("work")?);
        let slept = switches()?;
        let result = work();
        let sleeps = switches()? - slept;
        let (done_after, tlb_after) = (numbers("work")?, numbers("tlb")?);
        result?;
        let text = read(&trace)?;
        if !is_whole(&text) {
            return Err(Failure::new("the trace's buffer is too small"));
        }
        let events = parse(&text);
        let of = |after: &Numbers, before: &Numbers, name: &str| {
            let (after, before) = (after.get(name), before.get(name));
            let more = after.zip(before).map(|(after, before)| after - before);
            more.ok_or_else(|| Failure::new(format_args!("the driver doesn't count {name}")))
        };
        let done = |name: &str| of(&done_after, &done, name);
        let tlb = |name: &str| of(&tlb_after, &tlb, name);
        let words = |event: &Event| event.number("words").unwrap_or(0) as u64;
        let lists = events.iter().filter(|event| event.kind == "run_list");
        let kinds: Vec<Kind> = events.iter().filter_map(Kind::of).collect();
        let count = |wanted: &[Kind]| kinds.iter().filter(|kind| wanted.contains(kind)).count();
        Ok(Counts(vec![
            ("register_loads", done("register_loads")?),
            ("register_stores", done("register_stores")?),
            ("table_words", done("table_words")?),
            ("cleared_bytes", done("cleared_bytes")?),
            ("polls", done("sleeps")?),
            ("sleeps", sleeps),
            ("flushes", tlb("of_process")?),
            ("flush_requests", tlb("by_firmware")? + tlb("by_registers")?),
            (
                "packets",
                count(&[Kind::Map, Kind::Unmap, Kind::Other]) as u64,
            ),
            ("maps", count(&[Kind::Map]) as u64),
            ("unmaps", count(&[Kind::Unmap]) as u64),
            ("list_words", lists.map(words).sum()),
            ("copies", count(&[Kind::Copy]) as u64),
            (
                "interrupts",
                events.iter().filter(|e| e.kind == "ih_entry").count() as u64,
            ),
        ]))
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Whether a trace has all that was written to it, as its heading says.
fn is_whole(trace: &str) -> bool {
    let mut lines = trace.lines();
    let numbers = lines.find_map(|line| line.strip_prefix("# entries-in-buffer/entries-written: "));
    let numbers = numbers.and_then(|numbers| numbers.split_whitespace().next()?.split_once('/'));
    numbers.is_some_and(|(there, written)| there == written)
}

/// What a packet of the driver's is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Queues get onto the hardware.
    Map,
    /// They are taken off.
    Unmap,
    /// Something else of the scheduling firmware.
    Other,
    /// It is for a copy engine.
    Copy,
}

impl Kind {
    fn of(event: &Event) -> Option<Self> {
        if event.kind != "packet" {
            return None;
        }
        let words = event.numbers("words");
        let header = words.first().copied()? as u32;
        Some(Self::of_packet(header, words.len()))
    }

    /// Of a packet of so many words with this header.
    fn of_packet(header: u32, words: usize) -> Self {
        let opcode = (header >> 8) as u8;
        if words > 1 && header == pm4::header(opcode, words as u32) {
            return match opcode {
                pm4::op::RUN_LIST => Self::Map,
                pm4::op::UNMAP_QUEUES => Self::Unmap,
                _ => Self::Other,
            };
        }
        let opcode = (header >> 4) as u8;
        if words == mes::FRAME_WORDS && header == mes::header(opcode) {
            return match opcode {
                mes::op::ADD_QUEUE => Self::Map,
                mes::op::REMOVE_QUEUE => Self::Unmap,
                _ => Self::Other,
            };
        }
        Self::Copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_known_by_their_headers() {
        let of = |line: &str| parse(line).first().and_then(Kind::of);
        let line = |words: &str| {
            format!(
                "  costs-9  [000] .....  12.000500: rkfd_packet: doorbell=24 words={{{words}}}\n"
            )
        };
        // UNMAP_QUEUES has 6 words, and RUN_LIST 4 (`kfd_pm4_headers_ai.h`).
        assert!(of(&line("0xc004a300,0x0,0x0,0x0,0x0,0x0")) == Some(Kind::Unmap));
        assert!(of(&line("0xc002a500,0x0,0x0,0x0")) == Some(Kind::Map));
        // SDMA's FENCE.
        assert!(of(&line("0x5,0x0,0x0,0x1")) == Some(Kind::Copy));
        // A frame: type 1, opcode at bit 4, 64 words at bit 12 (`union MES_API_HEADER`).
        assert!(Kind::of_packet(0x4_0021, 64) == Kind::Map);
        assert!(Kind::of_packet(0x4_0031, 64) == Kind::Unmap);
        assert!(Kind::of_packet(0x4_00b1, 64) == Kind::Other);
        let heading = |numbers: &str| {
            format!("# tracer: nop\n#\n# entries-in-buffer/entries-written: {numbers}   #P:2\n#\n")
        };
        assert!(is_whole(&heading("12/12")) && !is_whole(&heading("12/13")) && !is_whole(""));
        assert!(of("  costs-9  [000] .....  12.000500: rkfd_doorbell: doorbell=24\n").is_none());
    }
}
