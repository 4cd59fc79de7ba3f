// SPDX-License-Identifier: GPL-2.0

//! Starts an XCC from power-on: the driver writes firmware through the engines' own ports.
//!
//! The run list controller (RLC) takes its code word by word. The compute micro engine (MEC) reads its
//! code from memory, and takes the jump table word by word.
//!
//! Sources: `gfx_v9_4_3_xcc_rlc_resume`, `gfx_v9_4_3_xcc_rlc_load_microcode`,
//! `gfx_v9_4_3_xcc_cp_resume`, `gfx_v9_4_3_xcc_cp_compute_load_microcode`.

use super::{
    Hal,
    HALTED,
    SETTLE, //
};
use crate::{
    gfx::hal::Hal as _,
    hw::{
        firmware::{
            Code,
            EngineCode, //
        },
        regs::{
            gc_9_4_3::{
                self as gc,
                CPC_PSP_DEBUG as Debug,
                CP_INT_CNTL_RING0 as Idle,
                RLC_CNTL as Rlc,
                RLC_SAFE_MODE as Safe,
                RLC_SERDES_NONCU_MASTER_BUSY as Serdes, //
            },
            Value, //
        },
        value::Bounded, //
    },
    regs::Regs,
    types::GpuVa, //
};
use kernel::{
    prelude::*,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

/// `RLCG_UCODE_LOADING_START_ADDRESS`.
const RLC_START: u32 = 0x2000;
/// `RLC_SRM_CNTL__SRM_ENABLE_MASK`.
const SAVE_RESTORE: u32 = 1;
/// TIMEOUT: until RLC is idle, or in its safe mode (`usec_timeout`).
const TIMEOUT: Delta = Delta::from_millis(100);

/// Loads and starts the run list controller of an XCC.
///
/// # Errors
///
/// ENODEV when the device is gone.
pub(super) fn start_rlc(regs: &Regs, xcc: u8, code: &Code<'_>) -> Result {
    stop_rlc(regs, xcc)?;
    regs.write_at(xcc, gc::RLC_GPM_UCODE_ADDR, Value::new(RLC_START));
    for word in code.words() {
        regs.write_at(xcc, gc::RLC_GPM_UCODE_DATA, Value::new(word));
    }
    regs.write_at(xcc, gc::RLC_GPM_UCODE_ADDR, Value::new(code.version));
    regs.update_at(xcc, gc::RLC_CNTL, |old| old.with(Rlc::RLC_ENABLE_F32, true));
    fsleep(SETTLE);
    interrupt_when_idle(regs, xcc, true);
    fsleep(SETTLE);

    safe_mode(regs, xcc, true)?;
    regs.write_at(xcc, gc::RLC_CGCG_CGLS_CTRL, Value::zeroed());
    regs.update_at(xcc, gc::RLC_SRM_CNTL.any(), |old| old | SAVE_RESTORE);
    safe_mode(regs, xcc, false)
}

/// Loads the compute micro engine of an XCC, whose code lies at `at` in the kernel's address space, and
/// lets it run.
pub(super) fn start_mec(regs: &Regs, xcc: u8, engine: &EngineCode<'_>, at: GpuVa) {
    interrupt_when_idle(regs, xcc, false);
    // Its accesses are translated like others'.
    regs.update_at(xcc, gc::CPC_PSP_DEBUG, |old| {
        old.with(Debug::UTCL2IUGPAOVERRIDE, true)
    });
    halt_mec(regs, xcc);
    regs.write_at(xcc, gc::CP_CPC_IC_BASE_CNTL, Value::zeroed());
    // CAST: The halves of an address of whole pages.
    let [low, high] = [at.get() as u32, (at.get() >> 32) as u32];
    regs.write_at(xcc, gc::CP_CPC_IC_BASE_LO, Value::new(low));
    regs.write_at(xcc, gc::CP_CPC_IC_BASE_HI, Value::new(high));
    let first = Value::new(engine.jump_table_at);
    regs.write_at(xcc, gc::CP_MEC_ME1_UCODE_ADDR, first);
    for word in engine.jump_table() {
        regs.write_at(xcc, gc::CP_MEC_ME1_UCODE_DATA, Value::new(word));
    }
    let version = Value::new(engine.code.version);
    regs.write_at(xcc, gc::CP_MEC_ME1_UCODE_ADDR, version);
    regs.write_at(xcc, gc::CP_MEC_CNTL, Value::zeroed());
    fsleep(SETTLE);
    interrupt_when_idle(regs, xcc, true);
}

/// Halts the compute micro engine of an XCC: it doesn't read its code any more.
pub(super) fn halt_mec(regs: &Regs, xcc: u8) {
    regs.write_at(xcc, gc::CP_MEC_CNTL, HALTED);
    fsleep(SETTLE);
}

/// `gfx_v9_4_3_xcc_rlc_stop`. Linux goes on when something is busy for longer, too.
fn stop_rlc(regs: &Regs, xcc: u8) -> Result {
    regs.update_at(xcc, gc::RLC_CNTL, |old| {
        old.with(Rlc::RLC_ENABLE_F32, false)
    });
    interrupt_when_idle(regs, xcc, false);
    let shape = regs.discovery().gc();
    let (engines, arrays) = (shape.shader_engines, shape.shader_arrays_per_engine);
    for engine in (0..engines.into()).filter_map(Bounded::try_new) {
        for array in (0..arrays.into()).filter_map(Bounded::try_new) {
            Hal.see_array(regs, xcc, engine, array);
            let busy = gc::RLC_SERDES_CU_MASTER_BUSY;
            unless_gone(regs.wait_at(xcc, busy, TIMEOUT, |value| value.bits() == 0))?;
        }
    }
    Hal.see_all_arrays(regs, xcc);
    let busy = gc::RLC_SERDES_NONCU_MASTER_BUSY;
    unless_gone(regs.wait_at(xcc, busy, TIMEOUT, |value| {
        value.get(Serdes::SE_MASTER_BUSY) == 0
            && !value.is_set(Serdes::GC_MASTER_BUSY)
            && !value.is_set(Serdes::TC0_MASTER_BUSY)
            && !value.is_set(Serdes::TC1_MASTER_BUSY)
    }))
}

/// `gfx_v9_4_3_xcc_enable_gui_idle_interrupt`: it lets clocks sleep.
fn interrupt_when_idle(regs: &Regs, xcc: u8, on: bool) {
    regs.update_at(xcc, gc::CP_INT_CNTL_RING0, |old| {
        old.with(Idle::CNTX_BUSY_INT_ENABLE, on)
            .with(Idle::CNTX_EMPTY_INT_ENABLE, on)
            .with(Idle::CMP_BUSY_INT_ENABLE, on)
    });
}

/// Keeps RLC from gating clocks meanwhile (`gfx_v9_4_3_xcc_set_safe_mode`). Linux goes on without an
/// answer, too.
fn safe_mode(regs: &Regs, xcc: u8, on: bool) -> Result {
    let request = Value::zeroed()
        .with(Safe::CMD, true)
        .with(Safe::MESSAGE, on.into());
    regs.write_at(xcc, gc::RLC_SAFE_MODE, request);
    if !on {
        return Ok(());
    }
    unless_gone(regs.wait_at(xcc, gc::RLC_SAFE_MODE, TIMEOUT, |value| {
        !value.is_set(Safe::CMD)
    }))
}

/// What came in time or didn't; ENODEV when the device is gone.
fn unless_gone<T>(waited: Result<T>) -> Result {
    match waited {
        Err(error) if error == ENODEV => Err(ENODEV),
        _ => Ok(()),
    }
}
