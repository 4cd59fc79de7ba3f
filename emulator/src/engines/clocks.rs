// SPDX-License-Identifier: MIT OR Apache-2.0

//! Clock gating of a graphics core: nothing of it is modelled but what has to be before clocks are gated.
//!
//! Sources: Linux, `gfx_v9_4_3_xcc_update_gfx_clock_gating`, `gfx_v12_0_update_gfx_clock_gating`. The fields are the
//! same on both.

use crate::device::Refused;
use rkfd_hw::regs::gc_9_4_3::{RLC_CGCG_CGLS_CTRL, RLC_CGTT_MGCG_OVERRIDE, RLC_SAFE_MODE};
use rkfd_hw::regs::Value;

/// The gates of a graphics core.
pub(super) struct Gates {
    /// `RLC_SAFE_MODE`.
    pub(super) safe_mode: u32,
    /// `RLC_CGTT_MGCG_OVERRIDE`.
    pub(super) overrides: u32,
    /// Whether the coarse gates may be on only while the medium ones are.
    pub(super) in_order: bool,
}

impl Gates {
    /// That a register may be written: gates close only while the run list controller is in its safe mode.
    ///
    /// # Errors
    /// What is missing.
    pub(super) fn may_write(&self, name: &str, value: u32) -> Result<(), Refused> {
        let closes = match name {
            "RLC_CGTT_MGCG_OVERRIDE" => self.overrides & !value != 0,
            "RLC_CGCG_CGLS_CTRL" | "RLC_CGCG_CGLS_CTRL_3D" => {
                Value::new(value).is_set(RLC_CGCG_CGLS_CTRL::CGCG_EN)
            }
            _ => false,
        };
        let undefined = |what: &str| Err(Refused::Undefined(what.into()));
        if closes && Value::new(self.safe_mode).get(RLC_SAFE_MODE::MESSAGE) != 1 {
            return undefined(
                "clocks are gated while the run list controller isn't in its safe mode",
            );
        }
        let medium_runs =
            Value::new(self.overrides).is_set(RLC_CGTT_MGCG_OVERRIDE::GFXIP_MGCG_OVERRIDE);
        if closes && name == "RLC_CGCG_CGLS_CTRL" && self.in_order && medium_runs {
            return undefined("the coarse gates are on before the medium ones");
        }
        Ok(())
    }
}
