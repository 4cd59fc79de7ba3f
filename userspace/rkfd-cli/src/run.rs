// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd run`: one dispatch of a kernel, described on the command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use rkfd::{Gpu, QueueOptions, Size};
use serde_json::{json, Value};

use crate::argument::{Spec, Summary};
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

/// A kernel, and the lines that compile and run it as they stand.
const EXAMPLE: &str = r#"Arguments:
  u32:7  f32:1.5              a number; u8 i8 u16 i16 u32 i32 u64 i64 f32 f64
  buf:in:f32:1048576:iota     a buffer filled with 0, 1, 2, ...
  buf:in:u32:64:7             a buffer filled with one number
  buf:out:f32:1048576         a buffer of zeros, shown afterwards
  buf:inout:f32:64:iota       a buffer that is filled and shown
  lds:1024                    bytes of LDS that the dispatch adds

Example: vadd.hip is a kernel that needs nothing but clang 19 or newer:
  extern "C" __attribute__((global)) void vadd(const float *a, const float *b, float *c, unsigned n) {
      unsigned i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x()
                 + __builtin_amdgcn_workitem_id_x();
      if (i < n) c[i] = a[i] + b[i];
  }

Compile it, for the instruction set that `rkfd info` shows, and run it:
  clang -x hip --offload-device-only --no-gpu-bundle-output -nogpuinc -nogpulib --offload-arch=gfx942 -fhip-kernel-arg-name -O3 -o vadd.co vadd.hip
  rkfd run vadd.co vadd --grid 1048576 --block 256 buf:in:f32:1048576:iota buf:in:f32:1048576:1 buf:out:f32:1048576 u32:1048576"#;

/// What `rkfd run` takes.
#[derive(clap::Args)]
#[command(after_help = format!("{EXAMPLE}\n\n{}", crate::STATUS))]
pub(crate) struct Options {
    /// The code object, as clang makes it; see below.
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
    /// Show every request, packet and doorbell on standard error.
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// The kernel's arguments; see below.
    #[arg(allow_hyphen_values = true)]
    args: Vec<Spec>,
}

/// Runs the kernel and shows the buffers that were asked for.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    trace::watch(options.verbose)?;
    let code = std::fs::read(&options.file).map_err(|error| Failure::File {
        path: options.file.display().to_string(),
        error,
    })?;
    let gpu = Gpu::open_index(options.gpu)?;
    let outcome = run_on(&gpu, &code, options)?;
    match options.json {
        true => println!("{}", outcome.json(options)),
        false => print!("{}", outcome.text(options)),
    }
    Ok(())
}

/// What running a kernel gave.
struct Outcome {
    /// How long each run took, and how long of that on the device.
    runs: Vec<(Duration, Option<Duration>)>,
    /// Buffers by the numbers of their arguments.
    buffers: Vec<(usize, Summary)>,
}

fn run_on(gpu: &Gpu, code: &[u8], options: &Options) -> Result<Outcome, Failure> {
    let module = gpu.load(code)?;
    let kernel = module.kernel(&options.kernel)?;
    let queue = gpu.queue(QueueOptions::new().timestamps(true))?;

    let mut dispatch = queue
        .dispatch(&kernel)
        .grid(options.grid.0)
        .block(options.block.0);
    if options.poll {
        dispatch = dispatch.polled();
    }
    let mut shows = Vec::new();
    for (index, spec) in options.args.iter().enumerate() {
        let (argument, show) = spec.make(gpu)?;
        dispatch = dispatch.arg(argument);
        shows.extend(show.map(|show| (index, show)));
    }
    let mut work = dispatch.prepare()?;
    let mut runs = Vec::new();
    for _ in 0..options.repeat {
        let start = Instant::now();
        work.submit()?;
        work.wait_timeout(Duration::from_secs(options.timeout))?;
        runs.push((start.elapsed(), work.times()?.map(|times| times.elapsed())));
    }
    let buffers = shows.iter().map(|(index, show)| Ok((*index, show()?)));
    let buffers = buffers.collect::<rkfd::Result<_>>()?;
    Ok(Outcome { runs, buffers })
}

impl Outcome {
    fn text(&self, options: &Options) -> String {
        let mut text = String::new();
        for (time, device) in &self.runs {
            let millis = |time: &Duration| time.as_secs_f64() * 1e3;
            let device = device.as_ref().map(millis);
            let device = device.map_or(String::new(), |ms| format!(", {ms:.3} ms on the device"));
            text += &format!("{}: {:.3} ms{device}\n", options.kernel, millis(time));
        }
        for (index, buffer) in &self.buffers {
            text += &format!("argument {index}: {buffer}\n");
        }
        text
    }

    fn json(&self, options: &Options) -> Value {
        let seconds = |time: &Duration| time.as_secs_f64();
        let runs = self.runs.iter().map(|(time, device)| {
            let device = device.as_ref().map(seconds);
            json!({ "seconds": seconds(time), "device_seconds": device })
        });
        let buffers = self.buffers.iter();
        json!({
            "kernel": options.kernel,
            "gpu": options.gpu,
            "runs": runs.collect::<Vec<_>>(),
            "buffers": buffers.map(|(index, buffer)| buffer.json(*index)).collect::<Vec<_>>(),
        })
    }
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

    fn options(args: &[&str]) -> Options {
        use clap::FromArgMatches;
        let command = <Options as clap::Args>::augment_args(clap::Command::new("run"));
        let all = ["run"].iter().chain(args);
        let matches = command.try_get_matches_from(all).unwrap();
        Options::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn a_run_has_times_and_buffers_in_text_and_json() {
        let (gpu, _driver) = rkfd::fake::open();
        let options = options(&[
            "vadd.co",
            "vadd",
            "--grid=1024",
            "--repeat=2",
            "buf:in:f32:1024:iota",
            "buf:in:f32:1024:2.5",
            "buf:out:f32:1024",
            "i32:1024",
        ]);
        let outcome = run_on(&gpu, rkfd::fake::VADD, &options).unwrap();
        let text = outcome.text(&options);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("argument 2: [2.5, 3.5, 4.5,"), "{text}");
        let json: Value = outcome.json(&options).to_string().parse().unwrap();
        assert_eq!(json["kernel"], "vadd");
        assert_eq!(json["gpu"], 0);
        let runs = json["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 2);
        assert!(runs.iter().all(|run| run["seconds"].as_f64() > Some(0.0)));
        assert!(
            runs.iter().all(|run| run["device_seconds"].is_f64()),
            "{json}"
        );
        let buffer = &json["buffers"][0];
        assert_eq!(
            (&buffer["argument"], &buffer["type"]),
            (&json!(2), &json!("f32"))
        );
        assert_eq!(buffer["elements"], 1024);
        assert_eq!(buffer["first"][7], 9.5);
        assert_eq!(buffer["checksum"].as_str().map(str::len), Some(16));
    }

    #[test]
    fn missing_arguments_are_named() {
        let (gpu, _driver) = rkfd::fake::open();
        let options = options(&["vadd.co", "vadd", "--grid=1024"]);
        let failure = run_on(&gpu, rkfd::fake::VADD, &options).err().unwrap();
        let wanted = "takes 4 arguments, 0 given; it takes: `a`, a buffer, `b`, a buffer, \
                      `c`, a buffer, `n`, a value of 4 bytes";
        assert!(failure.to_string().contains(wanted), "{failure}");
    }
}
