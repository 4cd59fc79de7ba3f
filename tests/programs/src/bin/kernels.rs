// SPDX-License-Identifier: MIT OR Apache-2.0

//! Six groups of kernels, compiled at -O0 to -O3, whose results are compared bit by bit with the CPU's:
//! additions, saxpy, a reduction in LDS, histograms, matrix products and divergent integer code.
//!
//! `kernels FOLDER [LEVELS]`: the folder has a code object `NAME-OLEVEL.co` for each source file.
//! The program prints a test line for every kernel and level. Levels are digits, such as `03`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rkfd::{Argument, Gpu, IntoArgument, Module, Queue, QueueOptions, Size};
use rkfd_programs::golden::{self, Case, Data};
use rkfd_programs::{report, Failure, PATIENCE};

/// Puts a case's data into buffers, runs the kernel and compares every word.
fn run(gpu: &Gpu, queue: &Queue, module: &Module, case: &Case) -> Result<(), Failure> {
    let kernel = module.kernel(case.kernel)?;
    let mut args: Vec<Argument> = Vec::new();
    let mut output = None;
    for data in &case.args {
        args.push(match data {
            Data::Words(words) => (&gpu.upload(words)?).into_argument(),
            Data::Bytes(bytes) => (&gpu.upload(bytes)?).into_argument(),
            Data::Output(words) => {
                let buffer = gpu.upload(words)?;
                let argument = (&buffer).into_argument();
                output = Some(buffer);
                argument
            }
            Data::Number(bits) => bits.into_argument(),
        });
    }
    let output = output.ok_or_else(|| Failure::new("the case has no output"))?;
    let size = |[x, y]: [u32; 2]| -> Size {
        if y == 1 {
            x.into()
        } else {
            (x, y).into()
        }
    };
    let dispatch = queue.dispatch(&kernel);
    let dispatch = dispatch.grid(size(case.grid)).block(size(case.block));
    let dispatch = args.into_iter().fold(dispatch, |d, a| d.arg(a));
    dispatch.submit()?.wait_timeout(PATIENCE)?;
    let got = output.to_vec()?;
    if got.len() != case.expected.len() {
        return Err(Failure::new("the output has another length"));
    }
    let wrong = |(_, (got, cpu)): &(usize, (&u32, &u32))| got != cpu;
    let mut differences = got.iter().zip(&case.expected).enumerate().filter(wrong);
    match differences.next() {
        None => Ok(()),
        Some((at, (got, cpu))) => Err(Failure::new(format_args!(
            "word {at} is {got:#x}, the CPU has {cpu:#x}; {} of {} differ",
            1 + differences.count(),
            case.expected.len()
        ))),
    }
}

fn level(gpu: &Gpu, queue: &Queue, folder: &Path, level: char) -> usize {
    let mut failed = 0;
    for (file, cases) in golden::all() {
        let path: PathBuf = folder.join(format!("{file}-O{level}.co"));
        let module = std::fs::read(&path)
            .map_err(|error| Failure::new(format_args!("{}: {error}", path.display())))
            .and_then(|code| Ok(gpu.load(&code)?));
        for case in cases {
            let name = format!("kernels-{}-O{level}", case.kernel.replace('_', "-"));
            let result = match &module {
                Ok(module) => run(gpu, queue, module, &case),
                Err(why) => Err(Failure::new(why)),
            };
            failed += usize::from(report(&name, || result) != ExitCode::SUCCESS);
        }
    }
    failed
}

fn all() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let folder = args
        .next()
        .ok_or_else(|| Failure::new("usage: kernels FOLDER [LEVELS]"))?;
    let levels = args.next().unwrap_or_else(|| "0123".into());
    let gpu = Gpu::open()?;
    let queue = gpu.queue(QueueOptions::default())?;
    let failed: usize = levels
        .chars()
        .map(|l| level(&gpu, &queue, Path::new(&folder), l))
        .sum();
    match failed {
        0 => Ok(()),
        _ => Err(Failure::new(format_args!("{failed} cases failed"))),
    }
}

fn main() -> ExitCode {
    match all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("kernels: {failure}");
            ExitCode::FAILURE
        }
    }
}
