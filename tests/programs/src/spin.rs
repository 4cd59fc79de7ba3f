// SPDX-License-Identifier: MIT OR Apache-2.0

//! Work that runs until the CPU ends it: a kernel `spin(flag, seen)`, each of whose work-items
//! counts `seen` up and then waits for the flag.

use std::time::{Duration, Instant};

use crate::{Failure, BLOCK, PATIENCE};
use rkfd::{Buffer, Kernel, Queue, Submission};

/// A dispatch of `spin`, all of whose waves run.
pub struct Spin {
    /// The dispatch.
    pub work: Submission,
    flag: Buffer<u32>,
}

impl Spin {
    /// Starts `items` work-items, and waits until all of them run.
    pub fn start(queue: &Queue, kernel: &Kernel, items: u32) -> Result<Self, Failure> {
        let gpu = queue.gpu();
        let (flag, seen) = (gpu.upload(&[0u32])?, gpu.upload(&[0u32])?);
        let dispatch = queue.dispatch(kernel).grid(items).block(BLOCK);
        let work = dispatch.arg(&flag).arg(&seen).submit()?;
        let start = Instant::now();
        while seen.get(0) != Some(items) {
            if start.elapsed() > PATIENCE {
                return Err(Failure::new("not all waves began to run"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Self { work, flag })
    }

    /// Lets the waves end.
    pub fn release(&self) {
        self.flag.set(0, 1);
    }
}
