// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the programs share: the kernel that they run, the check of its result, the verdict that they print.

pub mod bystander;
pub mod context;
pub mod golden;
pub mod gone;
pub mod held;
pub mod objects;
pub mod other;
pub mod raw;
pub mod spin;
pub mod steps;

use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use rkfd::{Buffer, Dispatch, Gpu, Kernel, Queue, Result};

/// Elements of the measured case.
pub const N: usize = 1 << 20;
/// Work-items of a work-group.
pub const BLOCK: u32 = 256;
/// The kernel: `c[i] = a[i] + b[i]` for `i < n`, arguments `a, b, c, n`.
pub const KERNEL: &str = "vadd";

/// How long a wait may take that ends. It only keeps a program from waiting for ever: the plan of the
/// virtual machine gives a program up much earlier (its step times, which `RKFD_SLOW` multiplies).
pub const PATIENCE: Duration = Duration::from_secs(3600);

/// Why a program failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The library failed.
    #[error(transparent)]
    Rkfd(#[from] rkfd::Error),
    /// Something else.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// A failure with a message.
    pub fn new(what: impl Display) -> Self {
        Self::Other(what.to_string())
    }
}

/// Opens the first render node, as a file with an address space of its own.
pub fn render_node() -> Result<std::fs::File, Failure> {
    let nodes = std::fs::read_dir("/dev/dri").map_err(Failure::new)?;
    let mut paths = nodes.flatten().map(|entry| entry.path());
    let path = paths.find(|path| path.to_string_lossy().contains("/renderD"));
    let path = path.ok_or_else(|| Failure::new("there is no render node"))?;
    let mut options = std::fs::File::options();
    options
        .read(true)
        .write(true)
        .open(path)
        .map_err(Failure::new)
}

/// Runs a program and prints its result as the line that test runs look for.
///
/// `@rkfd test NAME ok` or `@rkfd test NAME FAIL REASON`; exit status 0 or 1.
pub fn report(name: &str, run: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    match run() {
        Ok(()) => {
            println!("@rkfd test {name} ok");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let reason = failure.to_string().replace('\n', " ");
            println!("@rkfd test {name} FAIL {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the statement `what` with "yes" or "no", and fails if it doesn't hold.
pub fn check(what: &str, holds: bool) -> Result<(), Failure> {
    println!("{what}: {}", if holds { "yes" } else { "no" });
    match holds {
        true => Ok(()),
        false => Err(Failure::new(format_args!("not so: {what}"))),
    }
}

/// Reads the code object that the first command line argument names.
pub fn code_object() -> Result<Vec<u8>, Failure> {
    let mut args = std::env::args();
    let program = args.next().unwrap_or_default();
    let path = args.next().ok_or_else(|| {
        Failure::new(format_args!(
            "usage: {program} CODE-OBJECT (which has a kernel `{KERNEL}`)"
        ))
    })?;
    std::fs::read(&path).map_err(|error| Failure::new(format_args!("{path}: {error}")))
}

/// The driver's folder in sysfs, and the address of a PCI function that is bound to it.
pub fn bound() -> Result<(PathBuf, String), Failure> {
    let driver = PathBuf::from("/sys/bus/pci/drivers/rkfd");
    let entries = std::fs::read_dir(&driver).map_err(Failure::new)?;
    let names = entries.flatten().map(|e| e.file_name());
    let mut names = names.filter_map(|n| n.into_string().ok());
    let address = names.find(|name| name.contains(':'));
    let address = address.ok_or_else(|| Failure::new("no device is bound to the driver"))?;
    Ok((driver, address))
}

/// The buffers of one vector addition.
pub struct VectorAdd {
    /// First operand.
    pub a: Buffer<f32>,
    /// Second operand.
    pub b: Buffer<f32>,
    /// Sums.
    pub c: Buffer<f32>,
    seed: usize,
}

impl VectorAdd {
    /// Allocates and fills the operands. Another `seed` gives other operands.
    pub fn new(gpu: &Gpu, n: usize, seed: usize) -> Result<Self> {
        let add = Self {
            a: gpu.alloc(n)?,
            b: gpu.alloc(n)?,
            c: gpu.alloc(n)?,
            seed,
        };
        add.a.fill_with(|i| add.operands(i).0)?;
        add.b.fill_with(|i| add.operands(i).1)?;
        add.c.fill(f32::NAN)?;
        Ok(add)
    }

    /// The operands of element `i`: small integers and quarters, so that sums are exact.
    fn operands(&self, i: usize) -> (f32, f32) {
        (
            (i % 8191) as f32 + self.seed as f32,
            (i % 127) as f32 * 0.25,
        )
    }

    /// The dispatch.
    pub fn dispatch(&self, queue: &Queue, kernel: &Kernel) -> Dispatch {
        self.described(queue.dispatch(kernel))
    }

    /// The same for a dispatch that was begun on a queue of any kind.
    pub fn described(&self, dispatch: Dispatch) -> Dispatch {
        let n = self.a.len() as u32;
        let blocks = n.div_ceil(BLOCK);
        let dispatch = dispatch.blocks(blocks).block(BLOCK);
        dispatch.arg(&self.a).arg(&self.b).arg(&self.c).arg(n)
    }

    /// Compares every sum with the CPU's, and returns how many are right.
    pub fn verified(&self) -> Result<usize> {
        let sums = self.c.to_vec()?;
        let right = |(i, sum): &(usize, f32)| {
            let (a, b) = self.operands(*i);
            *sum == a + b
        };
        Ok(sums.into_iter().enumerate().filter(right).count())
    }

    /// Compares every sum with the CPU's, and fails if one is wrong.
    pub fn verify(&self) -> Result<(), Failure> {
        let (right, all) = (self.verified()?, self.a.len());
        match right == all {
            true => Ok(()),
            false => Err(Failure::new(format_args!(
                "only {right} of {all} sums are right"
            ))),
        }
    }
}
