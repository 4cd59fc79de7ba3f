// SPDX-License-Identifier: GPL-2.0

//! Gates the clocks of the address translation hub and the host data path, whose memory is shut down while it is idle.
//!
//! Sources: `athub_v4_1_0_set_clockgating`, `hdp_v7_0_update_clock_gating`, with what `soc24_common_early_init` has
//! for this chip.

use crate::{
    hw::regs::{
        athub_4_1_0::{
            self as athub,
            ATHUB_MISC_CNTL as Translation, //
        },
        hdp_7_0_0::{
            self as hdp,
            HDP_CLK_CNTL as Clock,
            HDP_MEM_POWER_CTRL as Power, //
        }, //
    },
    regs::Regs, //
};

/// Gates the clocks, or has them run.
pub(super) fn gate(regs: &Regs, on: bool) {
    regs.update(athub::ATHUB_MISC_CNTL, |old| {
        old.with(Translation::CG_ENABLE, on)
            .with(Translation::CG_MEM_LS_ENABLE, on)
    });
    force_host_clock(regs, true);
    // Nothing is gated while that changes.
    regs.update(hdp::HDP_MEM_POWER_CTRL, |old| {
        old.with(Power::ATOMIC_MEM_POWER_CTRL_EN, false)
            .with(Power::ATOMIC_MEM_POWER_LS_EN, false)
            .with(Power::ATOMIC_MEM_POWER_DS_EN, false)
            .with(Power::ATOMIC_MEM_POWER_SD_EN, false)
            .with(Power::RC_MEM_POWER_CTRL_EN, false)
            .with(Power::RC_MEM_POWER_LS_EN, false)
            .with(Power::RC_MEM_POWER_DS_EN, false)
            .with(Power::RC_MEM_POWER_SD_EN, false)
    });
    if on {
        regs.update(hdp::HDP_MEM_POWER_CTRL, |old| {
            old.with(Power::ATOMIC_MEM_POWER_CTRL_EN, true)
                .with(Power::ATOMIC_MEM_POWER_SD_EN, true)
                .with(Power::RC_MEM_POWER_CTRL_EN, true)
                .with(Power::RC_MEM_POWER_SD_EN, true)
        });
    }
    force_host_clock(regs, false);
}

/// Has the clock of the host data path's memory run, whatever gates it.
fn force_host_clock(regs: &Regs, on: bool) {
    regs.update(hdp::HDP_CLK_CNTL, |old| {
        old.with(Clock::RC_MEM_CLK_SOFT_OVERRIDE, on)
    });
}
