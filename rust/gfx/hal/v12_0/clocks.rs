// SPDX-License-Identifier: GPL-2.0

//! Gates the clocks of what is idle in the graphics core, which saves power.
//!
//! Source: `gfx_v12_0_update_gfx_clock_gating`, with what `soc24_common_early_init` has for this chip. The
//! graphics pipe, which is halted, is not asked for interrupts.

use super::REGISTERS;
use crate::{
    gfx::safe_mode,
    hw::regs::{
        gc_12_0_0::{
            self as gc,
            CP_RB_WPTR_POLL_CNTL as Poll,
            RLC_CGCG_CGLS_CTRL as Coarse,
            RLC_CGCG_CGLS_CTRL_3D as Coarse3D,
            RLC_CGTT_MGCG_OVERRIDE as Override,
            SDMA0_RLC_CGCG_CTRL as Copy0,
            SDMA1_RLC_CGCG_CTRL as Copy1, //
        },
        Value, //
    },
    regs::Regs, //
};
use kernel::prelude::*;

/// Gates the clocks, or has them run.
///
/// # Errors
///
/// ENODEV when the device is gone.
pub(super) fn gate(regs: &Regs, on: bool) -> Result {
    safe_mode::within(regs, 0, &REGISTERS, || {
        match on {
            true => start_coarse(regs),
            false => stop_coarse(regs),
        }
        let run = !on;
        regs.update(gc::RLC_CGTT_MGCG_OVERRIDE, |old| {
            old.with(Override::GRBM_CGTT_SCLK_OVERRIDE, run)
                .with(Override::RLC_CGTT_SCLK_OVERRIDE, run)
                .with(Override::GFXIP_MGCG_OVERRIDE, run)
                .with(Override::GFXIP_REPEATER_FGCG_OVERRIDE, run)
                .with(Override::RLC_REPEATER_FGCG_OVERRIDE, run)
                .with(Override::GFXIP_FGCG_OVERRIDE, run)
                .with(Override::PERFMON_CLOCK_STATE, run)
        });
    })
}

fn start_coarse(regs: &Regs) {
    regs.update(gc::RLC_CGTT_MGCG_OVERRIDE, |old| {
        old.with(Override::GFXIP_CGCG_OVERRIDE, false)
            .with(Override::GFXIP_CGLS_OVERRIDE, false)
            .with(Override::GFXIP_GFX3D_CG_OVERRIDE, false)
    });
    regs.update(gc::RLC_CGCG_CGLS_CTRL, |old| {
        old.having(Coarse::CGCG_GFX_IDLE_THRESHOLD.is::<0x36>())
            .with(Coarse::CGCG_EN, true)
            .having(Coarse::CGLS_REP_COMPANSAT_DELAY.is::<0xf>())
            .with(Coarse::CGLS_EN, true)
    });
    regs.update(gc::RLC_CGCG_CGLS_CTRL_3D, |old| {
        old.having(Coarse3D::CGCG_GFX_IDLE_THRESHOLD.is::<0x36>())
            .with(Coarse3D::CGCG_EN, true)
            .having(Coarse3D::CGLS_REP_COMPANSAT_DELAY.is::<0xf>())
            .with(Coarse3D::CGLS_EN, true)
    });
    let poll = Value::zeroed()
        .having(Poll::POLL_FREQUENCY.is::<0x100>())
        .having(Poll::IDLE_POLL_COUNT.is::<0x90>());
    regs.write(gc::CP_RB_WPTR_POLL_CNTL, poll);
    regs.update(gc::SDMA0_RLC_CGCG_CTRL, |old| {
        old.with(Copy0::CGCG_INT_ENABLE, true)
    });
    regs.update(gc::SDMA1_RLC_CGCG_CTRL, |old| {
        old.with(Copy1::CGCG_INT_ENABLE, true)
    });
}

fn stop_coarse(regs: &Regs) {
    regs.update(gc::RLC_CGCG_CGLS_CTRL, |old| {
        old.with(Coarse::CGCG_EN, false)
            .with(Coarse::CGLS_EN, false)
    });
    regs.update(gc::RLC_CGCG_CGLS_CTRL_3D, |old| {
        old.with(Coarse3D::CGCG_EN, false)
            .with(Coarse3D::CGLS_EN, false)
    });
}
