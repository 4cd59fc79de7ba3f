// SPDX-License-Identifier: GPL-2.0

//! Engines that hang: in a process' queue, which they don't let go, or in the driver's own. They are reset, and
//! the driver's own queue goes on.
//!
//! Source: `reset_hung_queues_sdma`, `amdgpu_sdma_reset_engine`, `sdma_v4_4_2_reset_queue`,
//! `sdma_v7_0_reset_queue`.

use super::{
    copier::ENGINE,
    Copier,
    Parts, //
};
use crate::{
    glue::linux::ENOTRECOVERABLE,
    types::DoorbellWord, //
};
use kernel::prelude::*;

impl Copier {
    /// Resets an engine on which a process' queue still is, after all were taken off; the queue's doorbell.
    /// At most one can be in the engine. `None`: none is.
    ///
    /// # Errors
    ///
    /// ENOTRECOVERABLE when the queue is still there, EIO when the engine of the driver's queue doesn't answer;
    /// ETIME, EOPNOTSUPP and others when the engine can't be reset; ENODEV, ENOMEM.
    pub(crate) fn reset_hung(&self, engine: u32) -> Result<Option<DoorbellWord>> {
        let parts = &self.parts;
        let Some(hung) = parts.hal.selected(&parts.regs, engine)? else {
            return Ok(None);
        };
        parts.dev.check_there()?;
        dev_err!(
            parts.dev.device(),
            "the queue with doorbell {:#x} hangs on copy engine {}; resetting the engine\n",
            hung.get(),
            engine
        );
        self.reset_engine(engine)?;
        match parts.hal.selected(&parts.regs, engine)? {
            None => Ok(Some(hung)),
            Some(_) => Err(ENOTRECOVERABLE),
        }
    }

    /// Has the driver's own queue go on if it gets no further: its engine is reset, or the queue alone where the
    /// engine can do that. Otherwise nothing is done.
    ///
    /// # Errors
    ///
    /// EIO when the engine doesn't answer afterwards; ETIME, EOPNOTSUPP and others when it can't be
    /// reset; ENODEV, ENOMEM.
    pub(crate) fn revive(&self) -> Result {
        if !self.is_hung() {
            return Ok(());
        }
        self.parts.dev.check_there()?;
        self.reset_by(ENGINE, |parts| {
            parts.hal.reset_own(&parts.regs, &parts.smu, ENGINE)
        })?;
        dev_info!(
            self.parts.dev.device(),
            "copy engine {} works again\n",
            ENGINE
        );
        Ok(())
    }

    fn reset_engine(&self, engine: u32) -> Result {
        self.reset_by(engine, |parts| {
            parts.hal.reset(&parts.regs, &parts.smu, engine)
        })
    }

    fn reset_by(&self, engine: u32, reset: impl FnOnce(&Parts) -> Result) -> Result {
        let parts = &self.parts;
        let line = match engine {
            ENGINE => self.pause(),
            _ => None,
        };
        if let Err(error) = reset(parts) {
            if let Some(line) = line {
                self.lose(line);
            }
            return Err(error);
        }
        parts.hal.prepare(parts.dev.device(), &parts.regs, engine)?;
        parts.hal.enable(&parts.regs, engine, true);
        match line {
            Some(_) => self.start(),
            None => Ok(()),
        }
    }
}
