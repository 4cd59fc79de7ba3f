// SPDX-License-Identifier: GPL-2.0

//! Clearing VRAM before a program gets it, by the copy engine (`amdgpu_ttm_clear_buffer`).
//!
//! A program has one piece of at most [`CHUNK`] bytes in the ring at a time, so those that allocate at
//! once take turns. The wait ends when the caller is killed. The memory then stays with the driver
//! until the engine is done with the piece that it had begun; a work item waits for that.

use super::{
    copier::Killable,
    running::Running,
    Copier, //
};
use crate::{
    hw::value::Bounded,
    vram::{
        Cleared,
        Uncleared, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Bytes that are cleared at once. Linux: "Never fill more than 256MiB at once to avoid timeouts"; less,
/// because others wait for their turn meanwhile.
const CHUNK: u64 = 64 << 20;
/// How often a piece is cleared anew because the engine was reset meanwhile.
const AGAIN: u32 = 3;

impl Copier {
    /// Clears VRAM. No lock may be held: it takes as long as the engine, and those before in its ring.
    ///
    /// Nothing that the CPU has cached is stale afterwards: the HDP of these generations has no cache
    /// for loads that would have to be invalidated (`hdp_v4_0_invalidate_hdp` does nothing for 4.4.2,
    /// `hdp_v7_0_funcs` has no such function).
    ///
    /// # Errors
    ///
    /// EINTR when the caller is killed, EIO when the engine doesn't answer, ENODEV when the device is
    /// gone.
    pub(crate) fn clear(self: &Arc<Self>, memory: Uncleared) -> Result<Cleared> {
        // Stores of the last owner's processor that are still on their way must not come after.
        self.parts.vram.flush_hdp();
        let mut work = Running::new(self, memory);
        match work.clear() {
            Ok(cleared) => Ok(cleared),
            Err(error) => {
                if error == EINTR {
                    work.finish_late();
                }
                Err(error)
            }
        }
    }
}

impl Running<Uncleared> {
    fn clear(&mut self) -> Result<Cleared> {
        let copier = &self.copier;
        let memory = self.memory.take().ok_or(EINVAL)?;
        let result = memory.pieces().iter().try_for_each(|piece| {
            let (mut done, mut resets) = (0u64, 0u32);
            while done < piece.len() {
                let bytes = CHUNK.min(piece.len().saturating_sub(done));
                let at = piece.gpu_addr().checked_add(done).ok_or(EINVAL)?;
                let last = bytes.checked_sub(1).ok_or(EINVAL)?;
                let bytes_less_one = Bounded::try_new(last).ok_or(EINVAL)?;
                let packet = copier.parts.hal.fill(at, bytes_less_one);
                let ticket = copier.submit(&packet, Killable::Yes)?;
                self.ticket = Some(ticket);
                match copier.wait(ticket, Killable::Yes) {
                    // The piece is cleared anew.
                    Err(error) if error == EIO && resets < AGAIN && copier.was_reset(ticket) => {
                        resets = resets.saturating_add(1);
                    }
                    result => {
                        result?;
                        done = done.saturating_add(bytes);
                    }
                }
            }
            Ok(())
        });
        match result {
            Ok(()) => Ok(memory.into_cleared()),
            Err(error) => {
                self.memory = Some(memory);
                Err(error)
            }
        }
    }
}
