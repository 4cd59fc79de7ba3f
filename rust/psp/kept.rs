// SPDX-License-Identifier: GPL-2.0

//! Parts of VRAM that firmware keeps for itself, as the secure OS tells.
//!
//! Source: `psp_update_fw_reservation`.

use super::{
    of,
    running_version,
    Psp, //
};
use crate::{
    hw::psp::{
        command,
        Command, //
    },
    vram::Vram, //
};
use core::ops::Range;
use kernel::{
    fmt,
    prelude::*, //
};

/// What sizes are rounded up to.
const UNIT: u64 = 1 << 20;

impl Psp {
    /// Leaves to firmware what it keeps, if the secure OS tells. It does again after a reset, and may be asked again.
    ///
    /// # Errors
    ///
    /// EBUSY when the driver has given out some of it, ENOMEM; ETIME when the processor doesn't answer; ENODEV when the
    /// device is gone. Logged.
    pub(super) fn leave_kept_parts(&mut self, vram: &Vram) -> Result {
        let tells = (self.interface.tells_parts)
            .is_some_and(|since| running_version(&self.regs, self.interface) >= since);
        if !tells {
            return Ok(());
        }
        let last = self.kept_part(fmt!("FB_FW_RESERV_ADDR"), command::RESERVED_PART)?;
        let further = self.kept_part(fmt!("FB_FW_RESERV_EXT_ADDR"), command::RESERVED_FURTHER)?;
        if last.is_empty() {
            return Ok(());
        }
        if last.end != vram.size() {
            dev_warn!(
                self.dev.device(),
                "what firmware is said to keep isn't the end of VRAM: {:#x} to {:#x} of {:#x}\n",
                last.start,
                last.end,
                vram.size()
            );
            return Ok(());
        }
        for part in [last, further] {
            let size = part.end.saturating_sub(part.start);
            let size = size.checked_next_multiple_of(UNIT).ok_or(EINVAL)?;
            let rounded = part.start..part.start.saturating_add(size);
            vram.leave(rounded).inspect_err(|error| {
                dev_err!(
                    self.dev.device(),
                    "VRAM from {:#x} to {:#x} can't be left to firmware ({:?})\n",
                    part.start,
                    part.end,
                    error
                );
            })?;
        }
        Ok(())
    }

    /// Which part it keeps: none if the processor refuses to tell.
    fn kept_part(&mut self, name: fmt::Arguments<'_>, id: u32) -> Result<Range<u64>> {
        if self.ask(name, &of(id))? != 0 {
            return Ok(0..0);
        }
        let [high, low, size] = [
            Command::KEPT_HIGH.word(),
            Command::KEPT_LOW.word(),
            Command::KEPT_SIZE.word(),
        ]
        .map(|word| self.ring.answer(word).map(u64::from));
        let start = high? << 32 | low?;
        Ok(start..start.saturating_add(size?))
    }
}
