// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd copy` and `rkfd fill`: a copy engine (SDMA) moves bytes, each of which is then compared with
//! the CPU's result.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rkfd::{CopyQueue, Copying, Gpu, Memory};
use serde_json::{json, Value};

use crate::{trace, Failure};

/// A number of bytes above 0: `4096`, `64K`, `1M`, `2G`, in powers of 1,024.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bytes(usize);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [('K', 10), ('M', 20), ('G', 30)];
        let mut stripped = units.iter();
        let stripped = stripped.find_map(|(unit, shift)| Some((text.strip_suffix(*unit)?, *shift)));
        let (digits, shift) = stripped.unwrap_or((text, 0));
        let number: usize = digits.parse().map_err(|e| format!("`{text}`: {e}"))?;
        match number.checked_mul(1 << shift) {
            Some(0) => Err("no bytes".into()),
            Some(bytes) => Ok(Self(bytes)),
            None => Err(format!("`{text}`: more bytes than there are")),
        }
    }
}

/// A word of 32 bits, decimal or hexadecimal: `7`, `0xdeadbeef`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Word(u32);

impl FromStr for Word {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let word = match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => text.parse(),
        };
        word.map(Self).map_err(|e| format!("`{text}`: {e}"))
    }
}

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Place {
    /// Device memory.
    Vram,
    /// System memory.
    Gtt,
}

impl From<Place> for Memory {
    fn from(place: Place) -> Self {
        match place {
            Place::Vram => Memory::Vram,
            Place::Gtt => Memory::Gtt,
        }
    }
}

impl Place {
    /// Its name in JSON.
    fn name(self) -> &'static str {
        match self {
            Place::Vram => "vram",
            Place::Gtt => "gtt",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::Vram => "device memory",
            Place::Gtt => "system memory",
        })
    }
}

/// Who copies.
#[derive(clap::Args)]
pub(crate) struct Engine {
    /// Which copy engine, counted from 0; without it the driver chooses.
    #[arg(long)]
    engine: Option<u32>,
    /// Which GPU, counted from 0.
    #[arg(long, default_value_t = 0)]
    gpu: usize,
    /// Seconds to wait.
    #[arg(long, default_value_t = 60)]
    timeout: u64,
    /// Show every request on standard error.
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `rkfd copy` takes.
#[derive(clap::Args)]
pub(crate) struct CopyOptions {
    /// Bytes, such as 100, 64K or 2M.
    bytes: Bytes,
    /// Where they come from.
    #[arg(long, value_enum, default_value = "vram")]
    from: Place,
    /// Where they go to.
    #[arg(long, value_enum, default_value = "vram")]
    to: Place,
    #[command(flatten)]
    pub(crate) by: Engine,
}

/// What `rkfd fill` takes.
#[derive(clap::Args)]
pub(crate) struct FillOptions {
    /// Bytes, such as 64K or 2M: a multiple of 4.
    bytes: Bytes,
    /// What each word of 32 bits becomes, such as 7 or 0xdeadbeef.
    word: Word,
    /// Where the memory lies.
    #[arg(long = "in", value_enum, default_value = "vram")]
    place: Place,
    #[command(flatten)]
    pub(crate) by: Engine,
}

impl Engine {
    fn open(&self) -> Result<(Gpu, CopyQueue), Failure> {
        trace::watch(self.verbose)?;
        let gpu = Gpu::open_index(self.gpu)?;
        let property = |key| gpu.node().property(key);
        let engines = property("num_sdma_engines") + property("num_sdma_xgmi_engines");
        let queue = match self.engine {
            None => gpu.copy_queue()?,
            Some(engine) if u64::from(engine) < engines => gpu.copy_queue_on(engine)?,
            Some(engine) => return Err(Failure::Engine { engine, engines }),
        };
        Ok((gpu, queue))
    }

    /// Waits for a copy or fill.
    fn finish(&self, since: Instant, work: Copying) -> Result<Done, Failure> {
        let packets = work.packets();
        work.wait_timeout(Duration::from_secs(self.timeout))?;
        let took = since.elapsed();
        Ok(Done { packets, took })
    }

    /// Prints what was done: `what`, or its fields.
    fn report(&self, what: &str, fields: Value, done: &Done, verified: usize) {
        if self.json {
            let mut all = json!({
                "from": null,
                "word": null,
                "engine": self.engine,
                "packets": done.packets,
                "seconds": done.took.as_secs_f64(),
                "verified": verified,
            });
            if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
                all.extend(fields);
            }
            println!("{all}");
            return;
        }
        let engine = match self.engine {
            Some(engine) => format!("engine {engine}"),
            None => "an engine of the driver's choice".into(),
        };
        let (packets, millis) = (done.packets, done.took.as_secs_f64() * 1e3);
        println!("{what} by {engine}: {packets} packet(s), {millis:.3} ms");
        println!("verified {verified}/{verified} bytes");
    }
}

/// A copy or fill that has ended.
struct Done {
    packets: usize,
    took: Duration,
}

/// A byte by which its place is recognised.
fn byte(index: usize) -> u8 {
    ((index as u32).wrapping_mul(0x9e37_79b1) >> 19) as u8
}

/// Compares every byte with what it must be, and counts them.
fn compare(found: &[u8], wanted: impl Fn(usize) -> u8) -> Result<usize, Failure> {
    let mut wrong = found.iter().enumerate().filter(|(i, b)| **b != wanted(*i));
    if let Some((first, _)) = wrong.next() {
        let wrong = 1 + wrong.count();
        return Err(Failure::Wrong {
            wrong,
            of: found.len(),
            first,
        });
    }
    Ok(found.len())
}

/// Copies between two buffers, of which the target differs from the source everywhere before.
pub(crate) fn copy(options: &CopyOptions) -> Result<(), Failure> {
    let (gpu, queue) = options.by.open()?;
    let (Bytes(bytes), from, to) = (options.bytes, options.from, options.to);
    let source = gpu.alloc_in::<u8>(from.into(), bytes)?;
    let target = gpu.alloc_in::<u8>(to.into(), bytes)?;
    source.fill_with(byte)?;
    target.fill_with(|i| !byte(i))?;
    let since = Instant::now();
    let done = options.by.finish(since, queue.copy(&target, &source)?)?;
    let verified = compare(&target.to_vec()?, byte)?;
    let what = format!("{bytes} bytes copied from {from} to {to}");
    let fields = json!({ "bytes": bytes, "from": from.name(), "to": to.name() });
    options.by.report(&what, fields, &done, verified);
    Ok(())
}

/// Fills a buffer that holds something else everywhere before.
pub(crate) fn fill(options: &FillOptions) -> Result<(), Failure> {
    let (Bytes(bytes), Word(word), place) = (options.bytes, options.word, options.place);
    if bytes % 4 != 0 {
        return Err(Failure::WholeWords { bytes });
    }
    let (gpu, queue) = options.by.open()?;
    let target = gpu.alloc_in::<u8>(place.into(), bytes)?;
    let wanted = |i: usize| (word >> (i % 4 * 8)) as u8;
    target.fill_with(|i| !wanted(i))?;
    let since = Instant::now();
    let done = options.by.finish(since, queue.fill(&target, word)?)?;
    let verified = compare(&target.to_vec()?, wanted)?;
    let what = format!("{bytes} bytes of {place} filled with {word:#x}");
    let fields = json!({ "bytes": bytes, "to": place.name(), "word": word });
    options.by.report(&what, fields, &done, verified);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        for (text, bytes) in [("1", 1), ("64K", 65536), ("3M", 3 << 20), ("2G", 2 << 30)] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in [
            "",
            "0",
            "0K",
            "K",
            "1KK",
            "-1",
            "1k",
            "1.5M",
            "99999999999999G",
        ] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn words_are_decimal_or_hexadecimal() {
        assert_eq!("7".parse(), Ok(Word(7)));
        assert_eq!("0xdeadbeef".parse(), Ok(Word(0xdead_beef)));
        for text in ["", "0x", "-1", "beef", "4294967296", "0x100000000"] {
            assert!(text.parse::<Word>().is_err(), "{text}");
        }
    }

    #[test]
    fn wrong_bytes_are_counted() {
        let mut bytes: Vec<u8> = (0..1000).map(byte).collect();
        assert_eq!(compare(&bytes, byte).unwrap(), 1000);
        bytes[17] ^= 1;
        bytes[900] ^= 0x80;
        let failure = compare(&bytes, byte).unwrap_err();
        let text = "2 of 1000 bytes are wrong, the first at 17";
        assert_eq!(failure.to_string(), text);
    }
}
