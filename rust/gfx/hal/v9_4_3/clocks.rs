// SPDX-License-Identifier: GPL-2.0

//! Gates the clocks of what is idle in an XCC, which saves power.
//!
//! Source: `gfx_v9_4_3_xcc_update_gfx_clock_gating`, with all that `soc15_common_early_init` has for this chip.

use super::REGISTERS;
use crate::{
    gfx::safe_mode,
    hw::regs::{
        gc_9_4_3::{
            self as gc,
            CP_INT_CNTL_RING0 as Idle,
            CP_RB_WPTR_POLL_CNTL as Poll,
            RLC_CGCG_CGLS_CTRL as Coarse,
            RLC_CGTT_MGCG_OVERRIDE as Override, //
        },
        Value, //
    },
    regs::Regs, //
};
use kernel::prelude::*;

/// Gates the clocks, or has them run. The coarse gates are on only while the others are.
///
/// # Errors
///
/// ENODEV when the device is gone.
pub(super) fn gate(regs: &Regs, xcc: u8, on: bool) -> Result {
    if on {
        // Another driver may have left it off.
        tell_idle(regs, xcc, true);
    }
    safe_mode::within(regs, xcc, &REGISTERS, || {
        if on {
            set_overrides(regs, xcc, false);
            start_coarse(regs, xcc);
        } else {
            regs.update_at(xcc, gc::RLC_CGCG_CGLS_CTRL, |old| {
                old.with(Coarse::CGCG_EN, false)
                    .with(Coarse::CGLS_EN, false)
            });
            set_overrides(regs, xcc, true);
        }
    })
}

/// Whether the command processor says when it is idle, for which the coarse gates wait
/// (`gfx_v9_4_3_xcc_enable_gui_idle_interrupt`).
pub(super) fn tell_idle(regs: &Regs, xcc: u8, on: bool) {
    regs.update_at(xcc, gc::CP_INT_CNTL_RING0, |old| {
        old.with(Idle::CNTX_BUSY_INT_ENABLE, on)
            .with(Idle::CNTX_EMPTY_INT_ENABLE, on)
            .with(Idle::CMP_BUSY_INT_ENABLE, on)
    });
}

/// Whether clocks run past the fine and medium gates.
fn set_overrides(regs: &Regs, xcc: u8, run: bool) {
    regs.update_at(xcc, gc::RLC_CGTT_MGCG_OVERRIDE, |old| {
        old.with(Override::GFXIP_FGCG_OVERRIDE, run)
            .with(Override::GFXIP_REP_FGCG_OVERRIDE, run)
            .with(Override::GRBM_CGTT_SCLK_OVERRIDE, run)
            .with(Override::GFXIP_MGCG_OVERRIDE, run)
            .with(Override::RLC_CGTT_SCLK_OVERRIDE, run)
            .with(Override::GFXIP_MGLS_OVERRIDE, run)
    });
}

fn start_coarse(regs: &Regs, xcc: u8) {
    regs.update_at(xcc, gc::RLC_CGTT_MGCG_OVERRIDE, |old| {
        old.with(Override::GFXIP_CGCG_OVERRIDE, false)
            .with(Override::GFXIP_CGLS_OVERRIDE, false)
    });
    // After 400 us without work.
    let coarse = Value::zeroed()
        .having(Coarse::CGCG_GFX_IDLE_THRESHOLD.is::<0x2710>())
        .with(Coarse::CGCG_EN, true)
        .having(Coarse::CGLS_REP_COMPANSAT_DELAY.is::<0xf>())
        .with(Coarse::CGLS_EN, true);
    regs.write_at(xcc, gc::RLC_CGCG_CGLS_CTRL, coarse);
    let poll = Value::zeroed()
        .having(Poll::POLL_FREQUENCY.is::<0x100>())
        .having(Poll::IDLE_POLL_COUNT.is::<0x3345>());
    regs.write_at(xcc, gc::CP_RB_WPTR_POLL_CNTL, poll);
}
