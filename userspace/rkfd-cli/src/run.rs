// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd run`: one dispatch of a kernel, described on the command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use rkfd::{Gpu, QueueOptions, Size};

use crate::argument::Spec;
use crate::{trace, Failure};

/// A size of one to three dimensions: `256`, `16x16`, `8x8x4`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent(Size);

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
        match parsed.map_err(|e| format!("`{text}`: {e}"))?[..] {
            [x] => Ok(Self(x.into())),
            [x, y] => Ok(Self((x, y).into())),
            [x, y, z] => Ok(Self((x, y, z).into())),
            _ => Err(format!("`{text}`: at most three dimensions")),
        }
    }
}

/// What `rkfd run` takes.
#[derive(clap::Args)]
#[command(after_help = "Arguments:
  u32:7  f32:1.5              a number; u8 i8 u16 i16 u32 i32 u64 i64 f32 f64
  buf:in:f32:1048576:iota     a buffer filled with 0, 1, 2, ...
  buf:in:u32:64:7             a buffer filled with one number
  buf:out:f32:1048576         a buffer of zeros, shown afterwards
  buf:inout:f32:64:iota       a buffer that is filled and shown
  lds:1024                    bytes of LDS that the dispatch adds

Example:
  rkfd run vadd.co vadd --grid 1048576 --block 256 \\
      buf:in:f32:1048576:iota buf:in:f32:1048576:1 buf:out:f32:1048576 u32:1048576")]
pub(crate) struct Options {
    /// The code object (clang: --cuda-device-only --no-gpu-bundle-output).
    file: PathBuf,
    /// The kernel's name.
    kernel: String,
    /// Work-items of the grid, such as 1048576 or 64x64.
    #[arg(long)]
    grid: Extent,
    /// Work-items of a work-group, such as 256 or 16x16.
    #[arg(long, default_value = "256")]
    block: Extent,
    /// Which GPU, counted from 0.
    #[arg(long, default_value_t = 0)]
    gpu: usize,
    /// How often to run it.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Seconds to wait for one run.
    #[arg(long, default_value_t = 60)]
    timeout: u64,
    /// Poll for completion instead of sleeping.
    #[arg(long)]
    poll: bool,
    /// Show every request, packet and doorbell.
    #[arg(short, long)]
    verbose: bool,
    /// The kernel's arguments; see below.
    #[arg(allow_hyphen_values = true)]
    args: Vec<Spec>,
}

/// Runs the kernel and shows the buffers that were asked for.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if options.verbose {
        trace::print_all();
    }
    let code = std::fs::read(&options.file).map_err(|error| Failure::File {
        path: options.file.display().to_string(),
        error,
    })?;
    let gpu = Gpu::open_index(options.gpu)?;
    let module = gpu.load(&code)?;
    let kernel = module.kernel(&options.kernel)?;
    let queue = gpu.queue(QueueOptions::default())?;

    let mut dispatch = queue
        .dispatch(&kernel)
        .grid(options.grid.0)
        .block(options.block.0);
    if options.poll {
        dispatch = dispatch.polled();
    }
    let mut shows = Vec::new();
    for (index, spec) in options.args.iter().enumerate() {
        let (argument, show) = spec.make(&gpu)?;
        dispatch = dispatch.arg(argument);
        shows.extend(show.map(|show| (index, show)));
    }
    let mut work = dispatch.prepare()?;
    for _ in 0..options.repeat {
        let start = Instant::now();
        work.submit()?;
        work.wait_timeout(Duration::from_secs(options.timeout))?;
        println!(
            "{}: {:.3} ms",
            options.kernel,
            start.elapsed().as_secs_f64() * 1e3
        );
    }
    for (index, show) in shows {
        println!("argument {index}: {}", show()?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_have_one_to_three_dimensions() {
        assert_eq!("256".parse(), Ok(Extent(256.into())));
        assert_eq!("8x4x2".parse(), Ok(Extent((8, 4, 2).into())));
        for text in ["", "x", "1x", "-1", "1x2x3x4", "4294967296"] {
            assert!(text.parse::<Extent>().is_err(), "{text}");
        }
    }
}
