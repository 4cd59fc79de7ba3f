// SPDX-License-Identifier: MIT OR Apache-2.0

//! Compute on AMD GPUs through `/dev/kfd`.
//!
//! A queue is made once, by an ioctl. From then on a dispatch is stores only: a 64-byte packet into
//! the ring, its header last, and a doorbell. Completion is a value in memory that the GPU
//! decrements; a program spins on it, sleeps on an event, or awaits it.
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
//! # What there is
//!
//! | type | is |
//! |---|---|
//! | [`Gpu`] | a GPU: allocates, loads code, makes queues |
//! | [`Buffer`] | an array in memory that CPU and GPU share, or a part of one |
//! | [`Module`], [`Kernel`] | a loaded code object, and a kernel of it |
//! | [`Queue`], [`CommandQueue`], [`CopyQueue`] | queues of AQL packets, of PM4 commands, of a copy engine |
//! | [`Dispatch`], [`Submission`], [`Copying`] | work that is described, submitted, copied |
//! | [`Signal`] | what ends work, and what barriers wait for |
//! | [`trace`] | every request, packet and doorbell of the library, to look at |
//! | [`raw`] | the driver's requests as they are |
//!
//! # Features
//!
//! * `async` (by default): [`Submission::done`] and [`Copying::done`] are futures, for any executor.
//!   One thread of the library sleeps for all of them.
//! * `fake`: [`fake::open`] gives a GPU that is a part of the process, to test programs with.
//!
//! # Why submitting is safe
//!
//! A kernel is code in another language: it computes addresses and writes to them. That
//! [`Dispatch::submit`] is no `unsafe` function needs a reason. It is that no write of a kernel can
//! reach anything that Rust's rules are about.
//!
//! * **What a kernel can reach** is what is mapped in the page tables that the GPU uses for this
//!   process. This library maps memory objects there, and nothing else: never a stack, a heap or a
//!   slice of the program's. Whatever address a kernel computes or was given ([`Address`]), an access
//!   anywhere else ends as [`Error::MemoryFault`].
//! * **No reference points into memory objects.** [`Buffer`] copies elements in and out with atomic
//!   accesses; rings, signals and queue structures are words that are atomics. So a write at a bad
//!   moment makes a wrong value, never two views of one that contradict each other.
//! * **Any bytes are a value**: that is what [`Element`] requires of a type.
//! * **The library trusts nothing that a kernel can overwrite.** Where memory lies, how long it is
//!   and what is in use it keeps in the program's own memory. From shared memory it reads indices,
//!   which it bounds, and values of signals. A kernel that overwrites these makes work of this process
//!   end early, never, or with a fault of the GPU's, also in queues that other parts of the program
//!   use. It cannot make the CPU access other memory.
//! * **Freed memory is out of reach.** The driver removes it from the page tables and flushes the
//!   GPU's caches of them before the request to free it returns. If that fails, the addresses are
//!   never used again.
//! * **XNACK is refused.** In this mode, which some GPUs have, the driver maps whatever memory of the
//!   process a kernel accesses. Then none of this holds, so no queue is made: [`Error::Xnack`]. The
//!   driver does not change the mode of a process that has a queue.
//!
//! What is left to others: memory that a program makes accessible to the GPU by other means, by
//! [`raw::request`] or by another runtime in the same process (registered host memory, shared
//! virtual memory), can be written by every kernel. Those functions are `unsafe` or foreign, and who
//! calls them answers for this, too. That driver and GPU keep the promises above is assumed, as of
//! every system call.
//!
//! Two threads that copy in and out of the same elements at once see each aligned word of up to 8
//! bytes whole. Their accesses may differ in size (one copies single bytes, the other a whole slice),
//! on which Rust's description of atomics is silent today; the compiler and the processor define it.
//! Programs that need an order have signals for it.
//!
//! # Limits
//!
//! A GPU that is removed while its doorbells are mapped ends the process with `SIGBUS` at the next
//! store.

#![warn(unreachable_pub)]
#![warn(clippy::missing_errors_doc)]

mod code;
mod command;
mod copy;
mod dispatch;
mod driver;
mod error;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
mod gpu;
mod memory;
mod module;
mod queue;
pub mod raw;
mod signal;
mod sync;
mod sys;
#[cfg(test)]
mod tests;
pub mod topology;
pub mod trace;
mod trap;

pub use code::{Arg, ArgKind, CodeObject, KernelInfo, KernelMetadata};
pub use command::CommandQueue;
pub use copy::{CopyQueue, Copying};
pub use dispatch::{
    Argument, Bytes, Dispatch, FenceScope, Graph, IntoArgument, Lds, Producer, Size, Submission,
};
pub use error::{CodeError, DispatchError, Error, Result};
pub use gpu::{Clocks, Gpu, Times};
pub use memory::{Address, Buffer, Element, Memory};
pub use module::{Kernel, Module};
pub use queue::{Priority, Queue, QueueOptions};
#[cfg(feature = "async")]
pub use signal::Done;
pub use signal::Signal;
/// The crate whose derives make a structure an [`Element`].
pub use zerocopy;

/// The examples of the readme compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// All types go to other threads: this does not compile otherwise.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Gpu>();
    shared::<Buffer<f32>>();
    shared::<Module>();
    shared::<Kernel>();
    shared::<Queue>();
    shared::<Producer>();
    shared::<CommandQueue>();
    shared::<CopyQueue>();
    shared::<Dispatch>();
    shared::<Argument>();
    shared::<Submission>();
    shared::<Graph>();
    shared::<Copying>();
    shared::<Signal>();
    shared::<Error>();
    #[cfg(feature = "async")]
    shared::<Done<'_>>();
};
