// SPDX-License-Identifier: MIT OR Apache-2.0

//! The trap handler of this process's queues: what makes an error of a wave an error of its queue.
//!
//! Code of ours that a wave executes when it meets something it can't go on from (`trap/handler.s`).
//! It finds the queue's inactive signal in a table here, by the number of the queue's doorbell, and
//! leaves the error there, as the packet processor does with its errors. The codes are those of ROCm's
//! runtime.

mod words;

use std::sync::atomic::Ordering;
use std::sync::Arc;

use crate::driver::Link;
use crate::error::{Error, Result};
use crate::memory::{flags, Bo};
use crate::sys::map::PAGE;

/// Doorbells of a process on a GPU, each with an entry in the table.
const DOORBELLS: usize = rkfd_uapi::mmap::DOORBELL_SLICE / BELL;
/// Bytes of a doorbell.
const BELL: usize = 8;

/// A trap handler in a GPU's memory: a page of code, and the table behind it.
#[derive(Debug)]
pub(crate) struct TrapHandler {
    bo: Bo,
}

impl TrapHandler {
    /// Makes the handler for a target that has one, and passes it to the driver, which gives it to
    /// queues that are made from now on.
    pub(crate) fn install(link: &Arc<Link>, target: &str) -> Result<Option<Self>> {
        let code: &[u32] = match target {
            "gfx942" => &words::GFX942,
            "gfx1201" => &words::GFX1201,
            _ => return Ok(None),
        };
        let bo = Bo::new(link, PAGE + DOORBELLS * BELL, flags::SHARED)?;
        bo.clear()?;
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        bo.host()?.write(0, &bytes).ok_or(Error::NotHostVisible)?;
        let (entry, table) = (bo.address(), bo.address() + PAGE as u64);
        link.driver
            .kfd
            .set_trap_handler(link.gpu_id, entry, table)?;
        Ok(Some(Self { bo }))
    }

    /// Sets the signal that gets the errors of a queue's waves, by where the queue's doorbell is: 0
    /// for none.
    pub(crate) fn report_to(&self, doorbell: usize, signal: u64) -> Result<()> {
        let at = PAGE + doorbell / BELL % DOORBELLS * BELL;
        let entry = self.bo.host()?.word64(at).ok_or(Error::NotHostVisible)?;
        entry.store(signal, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    #[test]
    fn the_words_are_those_of_the_source() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/trap");
        let out = Command::new("sh")
            .arg(format!("{folder}/handler.sh"))
            .output();
        let out = out.expect("handler.sh runs");
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        let words = std::fs::read(format!("{folder}/words.rs")).expect("words.rs");
        assert!(out.stdout == words, "run handler.sh again");
        for code in [&super::words::GFX942[..], &super::words::GFX1201] {
            assert!(code.len() * 4 <= crate::sys::map::PAGE);
        }
    }
}
