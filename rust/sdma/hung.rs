// SPDX-License-Identifier: GPL-2.0

//! Queues of processes that an engine doesn't let go: the engine is reset, and the driver's own queue goes on.
//!
//! Source: `reset_hung_queues_sdma`, `amdgpu_sdma_reset_engine`.

use super::{
    copier::ENGINE,
    Copier, //
};
use crate::types::DoorbellWord;
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
        parts.dev.alive()?;
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

    fn reset_engine(&self, engine: u32) -> Result {
        let parts = &self.parts;
        let line = match engine {
            ENGINE => self.pause(),
            _ => None,
        };
        let reset = parts.hal.reset(&parts.regs, &parts.smu, engine);
        if let Err(error) = reset {
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
