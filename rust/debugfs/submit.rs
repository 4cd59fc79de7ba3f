// SPDX-License-Identifier: GPL-2.0

//! A job of the kernel's on request: who writes to `rkfd/submit` has one run, who reads it sees what the last
//! one did.
//!
//! It is for the course, which compares this way with queues of programs. Only root may open the file, by its
//! mode; a request says no more than a word and how often it is stored ([`Fill`]), so that nobody gets
//! packets or addresses of their own into address space 0.
//!
//! Lock order: the lock of the last result is a leaf. None is held while a job runs.

use crate::{
    process::Processes,
    sdma::{
        Fill,
        Filled, //
    }, //
};
use kernel::{
    fmt,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    },
    uaccess::UserSliceReader, //
};

/// The longest request.
const LONGEST: usize = 64;

/// Runs jobs.
#[pin_data]
pub(super) struct Submitter {
    processes: Arc<Processes>,
    /// The node of the topology and the result of the last job that ended well.
    #[pin]
    last: Mutex<Option<(usize, Filled)>>,
}

impl Submitter {
    pub(super) fn new(processes: &Arc<Processes>) -> impl PinInit<Self> {
        let processes = processes.clone();
        pin_init!(Self { processes, last <- new_mutex!(None, "rkfd last job") })
    }

    /// Runs the job that a text asks for.
    fn run(&self, text: &str) -> Result {
        let (node, fill) = parse(text)?;
        let gpus = self.processes.shared().gpus.all()?;
        let index = node.checked_sub(1).ok_or(ENODEV)?;
        let gpu = gpus.get(index).ok_or(ENODEV)?;
        gpu.alive()?;
        let filled = gpu.copier().run(fill)?;
        *self.last.lock() = Some((node, filled));
        Ok(())
    }
}

/// The node and the job of a request: `fill WORD COUNT [NODE]`, where node 1 is the first GPU.
///
/// # Errors
///
/// EINVAL for any other text.
fn parse(text: &str) -> Result<(usize, Fill)> {
    let mut parts = text.split_ascii_whitespace();
    if parts.next() != Some("fill") {
        return Err(EINVAL);
    }
    let word = number(parts.next().ok_or(EINVAL)?)?;
    let count = number(parts.next().ok_or(EINVAL)?)?;
    // CAST: Numbers of 32 bits fit.
    let node = parts.next().map_or(Ok(1), number)? as usize;
    match parts.next() {
        None => Ok((node, Fill::new(word, count)?)),
        Some(_) => Err(EINVAL),
    }
}

/// A number, decimal or behind `0x`.
fn number(text: &str) -> Result<u32> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| EINVAL)
}

/// Runs a job, and returns when its fence has come.
///
/// # Errors
///
/// EINVAL for a text that is no request, ENODEV when there is no such GPU or it is gone, and what
/// [`Copier::run`](crate::sdma::Copier::run) returns.
pub(super) fn submit(submitter: &Submitter, from: &mut UserSliceReader) -> Result {
    let mut bytes = [0; LONGEST];
    let bytes = bytes.get_mut(..from.len()).ok_or(EINVAL)?;
    from.read_slice(bytes)?;
    submitter.run(core::str::from_utf8(bytes).map_err(|_| EINVAL)?)
}

/// The last job that ended well.
pub(super) fn last(submitter: &Submitter, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let last = *submitter.last.lock();
    let Some((node, filled)) = last else {
        return Ok(());
    };
    let Filled {
        word,
        words,
        right,
        fence,
        nanos,
    } = filled;
    writeln!(
        f,
        "node {node} word {word:#x} words {words} right {right} fence {fence} nanoseconds {nanos}"
    )
}
