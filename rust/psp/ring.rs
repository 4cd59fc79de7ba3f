// SPDX-License-Identifier: GPL-2.0

//! The ring by which the secure OS takes commands: a frame names a command's buffer, where the answer
//! appears, and a fence.
//!
//! Sources: `psp_v13_0_ring_create`, `psp_ring_cmd_submit`, `psp_cmd_submit_buf`.

use super::{
    hal::Mailboxes,
    ANSWER, //
};
use crate::{
    glue::linux::ETIME,
    gmc::{
        Gart,
        KernelBuf, //
    },
    hw::{
        layout::Layout,
        psp::{
            control,
            Command,
            Frame, //
        }, //
    },
    regs::Regs, //
};
use kernel::{
    io::poll::read_poll_timeout,
    prelude::*,
    sync::Arc,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

/// Words of a page: the ring, a command and the fence have one each.
const PAGE: usize = 1024;
// CAST: A page.
const BYTES: u32 = 4 * PAGE as u32;
const COMMAND: usize = PAGE;
const FENCE: usize = 2 * PAGE;
/// How often the fence is looked at (`psp_cmd_submit_buf`).
const LOOK: Delta = Delta::from_micros(60);
/// TIMEOUT: before the answer to a mailbox command is looked at: "there might be handshake issue with hardware
/// which needs delay" (`psp_v13_0_ring_create`).
const HANDSHAKE: Delta = Delta::from_millis(20);

/// The ring.
pub(super) struct Ring {
    regs: Arc<Regs>,
    mailboxes: &'static Mailboxes,
    pages: KernelBuf,
    fence: u32,
    /// The secure OS that it was given to has gone.
    abandoned: bool,
}

impl Ring {
    /// Gives the secure OS an empty ring.
    ///
    /// # Errors
    ///
    /// ENOMEM; ETIME when the secure OS doesn't answer; ENODEV when the device is gone.
    pub(super) fn new(
        regs: &Arc<Regs>,
        gart: &Arc<Gart>,
        mailboxes: &'static Mailboxes,
    ) -> Result<Self> {
        let ring = Self {
            regs: regs.clone(),
            mailboxes,
            pages: KernelBuf::new(gart, 3 * 4 * PAGE)?,
            fence: 0,
            abandoned: false,
        };
        ring.answered()?;
        let at = ring.pages.gpu_addr().get();
        regs.write(mailboxes.ring_low, at as u32);
        regs.write(mailboxes.ring_high, (at >> 32) as u32);
        regs.write(mailboxes.ring_size, BYTES);
        regs.write(mailboxes.control, control::INIT_KERNEL_RING);
        fsleep(HANDSHAKE);
        // From here on the secure OS may read it: on an error it is taken away again.
        ring.answered()?;
        Ok(ring)
    }

    /// The secure OS that it was given to has gone, and asks nothing of its memory any more.
    pub(super) fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// Whether nobody takes commands any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Waits until the mailbox has an answer, without an error.
    fn answered(&self) -> Result {
        let done = |value: u32| value == control::DONE;
        let waited = self.regs.wait_at(0, self.mailboxes.control, ANSWER, done);
        waited.map(|_| ())
    }

    /// Has the secure OS do a command, and returns its status: 0, or an error of the processor's own.
    ///
    /// # Errors
    ///
    /// ETIME when it doesn't answer; ENODEV when the device is gone.
    pub(super) fn submit(&mut self, command: &Command) -> Result<u32> {
        let page = self.pages.gpu_addr();
        let at = |words: usize| page.word(words).get();
        self.fence = self.fence.wrapping_add(1);
        let frame = Frame::zeroed()
            .with(Frame::CMD_BUF_ADDR, at(COMMAND))
            .with(Frame::FENCE_ADDR, at(FENCE))
            .with(Frame::FENCE_VALUE, self.fence);
        self.pages.write_slice(COMMAND, &command.0)?;
        let pointer = self.regs.read(self.mailboxes.write_pointer) as usize % PAGE;
        let pointer = pointer.saturating_sub(pointer % Frame::WORDS);
        self.pages.write_slice(pointer, &frame.0)?;
        // CAST: Less than a page.
        let next = (pointer.saturating_add(Frame::WORDS) % PAGE) as u32;
        self.regs.write(self.mailboxes.write_pointer, next);
        let fence = self.fence;
        let answered = read_poll_timeout(
            || match self.pages.read(FENCE)? {
                value if value != fence && self.regs.gone() => Err(ENODEV),
                value => Ok(value),
            },
            |&value| value == fence,
            LOOK,
            ANSWER,
        );
        answered.map_err(|error| if error == ENODEV { ENODEV } else { ETIME })?;
        self.answer(Command::STATUS.word())
    }

    /// A word of the last command's buffer, in which the answer is.
    ///
    /// # Errors
    ///
    /// EINVAL beyond its end.
    pub(super) fn answer(&self, word: usize) -> Result<u32> {
        if word >= Command::WORDS {
            return Err(EINVAL);
        }
        self.pages.read(COMMAND.saturating_add(word))
    }
}

impl Drop for Ring {
    /// The secure OS lets go of the ring before its memory is freed.
    fn drop(&mut self) {
        if self.abandoned {
            return;
        }
        self.regs
            .write(self.mailboxes.control, control::DESTROY_RINGS);
        fsleep(HANDSHAKE);
        // Without an answer the processor hangs, and reads nothing.
        let _ = self.answered();
    }
}
