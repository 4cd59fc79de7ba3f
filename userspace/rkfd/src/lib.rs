// SPDX-License-Identifier: MIT OR Apache-2.0

//! Compute on AMD GPUs through `/dev/kfd`.
//!
//! A queue is made once, by an ioctl. From then on a dispatch is stores only: a 64-byte packet into
//! the ring, its header last, and a doorbell. Completion is a value in memory that the GPU
//! decrements; a program spins on it or sleeps on an event.
//!
//! ```no_run
//! # fn main() -> rkfd::Result<()> {
//! let gpu = rkfd::Gpu::open()?;
//! let module = gpu.load(&std::fs::read("vadd.co").unwrap())?;
//! let kernel = module.kernel("vadd")?;
//! let queue = gpu.queue(rkfd::QueueOptions::default())?;
//!
//! let n = 1 << 20;
//! let a = gpu.upload(&vec![1.0f32; n])?;
//! let b = gpu.upload(&vec![2.0f32; n])?;
//! let c = gpu.alloc::<f32>(n)?;
//! let args = queue.dispatch(&kernel).grid(n as u32).block(256).arg(&a).arg(&b).arg(&c);
//! args.arg(n as i32).submit()?.wait()?;
//! assert!(c.to_vec()?.iter().all(|&sum| sum == 3.0));
//! # Ok(())
//! # }
//! ```
//!
//! All types can be used from any thread; a queue may be fed by several at once. A process that
//! forks opens the GPU in the child, not before.
//!
//! # Limits
//!
//! A GPU that is removed while its doorbells are mapped ends the process with `SIGBUS` at the next
//! store.

#![warn(unreachable_pub)]

mod code;
mod command;
mod copy;
mod cwsr;
mod device;
mod dispatch;
mod error;
#[cfg(test)]
mod fake;
mod kernarg;
mod kernel;
mod memory;
mod pool;
mod process;
mod queue;
mod scratch;
mod signal;
mod sys;
#[cfg(test)]
mod tests;
pub mod topology;
pub mod trace;
mod trap;

pub use code::{Arg, ArgKind, CodeObject, KernelInfo, KernelMetadata};
pub use command::CommandQueue;
pub use copy::{CopyQueue, Copying};
pub use device::Gpu;
pub use dispatch::{Dispatch, Size, Submission};
pub use error::{CodeError, DispatchError, Error, Result};
pub use kernarg::{Address, Argument, Bytes, IntoArgument, Lds};
pub use kernel::{Kernel, Module};
pub use memory::{Buffer, Memory, Number};
pub use queue::{Queue, QueueOptions};
pub use signal::Signal;
pub use sys::ioctl::once as request;
