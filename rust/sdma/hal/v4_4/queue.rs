// SPDX-License-Identifier: GPL-2.0

//! The kernel's queue of an engine, GFX (`sdma_v4_4_2_gfx_resume`, `sdma_v4_4_2_inst_gfx_stop`), and
//! packets.

use super::instance;
use crate::{
    hw::{
        regs::{
            sdma_4_4_2::{
                self as sdma,
                SDMA_GFX_CONTEXT_STATUS as Status,
                SDMA_GFX_DOORBELL as Doorbell,
                SDMA_GFX_DOORBELL_OFFSET as Offset,
                SDMA_GFX_IB_CNTL as Ib,
                SDMA_GFX_MINOR_PTR_UPDATE as Minor,
                SDMA_GFX_RB_CNTL as Rb,
                SDMA_GFX_RB_WPTR_POLL_CNTL as Poll, //
            },
            Value, //
        },
        sdma::{
            op,
            v4_4::{
                ConstantFill as Fill,
                CopyLinear as Copy,
                Fence,
                Indirect, //
            },
            FILL_WORDS, //
        },
        value::Bounded, //
    },
    regs::Regs,
    ring::Ring,
    sdma::hal::{
        halves,
        IDLE, //
    },
    types::GpuVa, //
};
use kernel::prelude::*;

/// Sets it up and turns it on.
pub(super) fn start(regs: &Regs, engine: u32, ring: &Ring) {
    let n = instance(engine);
    let control = regs.read_at(n, sdma::SDMA_GFX_RB_CNTL);
    let control = control.with(Rb::RB_SIZE, ring.words_log2());
    regs.write_at(n, sdma::SDMA_GFX_RB_CNTL, control);

    let [low, high] = halves(ring.rptr_addr().get());
    regs.write_at(n, sdma::SDMA_GFX_RB_RPTR_ADDR_HI, high.into());
    regs.write_at(n, sdma::SDMA_GFX_RB_RPTR_ADDR_LO, low.into());
    let [low, high] = halves(ring.ring_addr().get() >> 8);
    regs.write_at(n, sdma::SDMA_GFX_RB_BASE, low.into());
    regs.write_at(n, sdma::SDMA_GFX_RB_BASE_HI, high.into());

    // Lets the write pointer go back.
    let minor = Value::zeroed();
    regs.write_at(
        n,
        sdma::SDMA_GFX_MINOR_PTR_UPDATE,
        minor.with(Minor::ENABLE, true),
    );
    regs.write_at(n, sdma::SDMA_GFX_RB_RPTR, 0.into());
    regs.write_at(n, sdma::SDMA_GFX_RB_RPTR_HI, 0.into());
    regs.write_at(n, sdma::SDMA_GFX_RB_WPTR, 0.into());
    regs.write_at(n, sdma::SDMA_GFX_RB_WPTR_HI, 0.into());
    regs.update_at(n, sdma::SDMA_GFX_DOORBELL, |v| {
        v.with(Doorbell::ENABLE, true)
    });
    let word = ring.doorbell().in_register();
    regs.update_at(n, sdma::SDMA_GFX_DOORBELL_OFFSET, |v| {
        v.with(Offset::OFFSET, word)
    });
    regs.write_at(n, sdma::SDMA_GFX_MINOR_PTR_UPDATE, minor);

    let [low, high] = halves(ring.wptr_addr().get());
    regs.write_at(n, sdma::SDMA_GFX_RB_WPTR_POLL_ADDR_LO, low.into());
    regs.write_at(n, sdma::SDMA_GFX_RB_WPTR_POLL_ADDR_HI, high.into());
    regs.update_at(n, sdma::SDMA_GFX_RB_WPTR_POLL_CNTL, |v| {
        v.with(Poll::F32_POLL_ENABLE, false)
    });
    let control = control.with(Rb::RPTR_WRITEBACK_ENABLE, true);
    regs.write_at(n, sdma::SDMA_GFX_RB_CNTL, control.with(Rb::RB_ENABLE, true));
    regs.update_at(n, sdma::SDMA_GFX_IB_CNTL, |v| v.with(Ib::IB_ENABLE, true));
}

/// Turns it off, and waits until it is idle.
pub(super) fn stop(regs: &Regs, engine: u32) -> Result {
    let n = instance(engine);
    regs.update_at(n, sdma::SDMA_GFX_RB_CNTL, |v| v.with(Rb::RB_ENABLE, false));
    regs.update_at(n, sdma::SDMA_GFX_IB_CNTL, |v| v.with(Ib::IB_ENABLE, false));
    regs.update_at(n, sdma::SDMA_GFX_DOORBELL, |v| {
        v.with(Doorbell::ENABLE, false)
    });
    let idle = |status: Value<Status>| status.is_set(Status::IDLE);
    regs.wait_at(n, sdma::SDMA_GFX_CONTEXT_STATUS, IDLE, idle)?;
    Ok(())
}

/// `sdma_v4_4_2_emit_fill_buffer`.
pub(super) fn fill(at: GpuVa, bytes_less_one: Bounded<30>) -> [u32; 5] {
    Fill::zeroed()
        .with(Fill::OP, op::CONST_FILL)
        .with(Fill::DST_ADDR, at.get())
        .with(Fill::COUNT, bytes_less_one)
        .0
}

/// As ROCr fills (`amd_blit_sdma.cpp`): the pattern is the whole word.
pub(super) fn fill_words(at: GpuVa, word: u32, to_last: Bounded<30>) -> [u32; 5] {
    Fill::zeroed()
        .with(Fill::OP, op::CONST_FILL)
        .having(Fill::FILLSIZE.is::<FILL_WORDS>())
        .with(Fill::DST_ADDR, at.get())
        .with(Fill::SRC_DATA, word)
        .with(Fill::COUNT, to_last)
        .0
}

/// `sdma_v4_4_2_emit_copy_buffer`, and a word that is skipped.
pub(super) fn copy(from: GpuVa, to: GpuVa, bytes_less_one: Bounded<30>) -> [u32; 8] {
    let [a, b, c, d, e, f, g] = Copy::zeroed()
        .with(Copy::OP, op::COPY)
        .with(Copy::COUNT, bytes_less_one)
        .with(Copy::SRC_ADDR, from.get())
        .with(Copy::DST_ADDR, to.get())
        .0;
    [a, b, c, d, e, f, g, op::NOP.into()]
}

/// `sdma_v4_4_2_ring_emit_ib`, in address space 0.
pub(super) fn indirect(at: GpuVa, words: Bounded<20>) -> [u32; 6] {
    Indirect::zeroed()
        .with(Indirect::OP, op::INDIRECT)
        .with(Indirect::IB_BASE, at.get())
        .with(Indirect::IB_SIZE, words)
        .0
}

/// `sdma_v4_4_2_ring_emit_fence`.
pub(super) fn fence(at: GpuVa, value: u32) -> [u32; 4] {
    Fence::zeroed()
        .with(Fence::OP, op::FENCE)
        .with(Fence::ADDR, at.get())
        .with(Fence::DATA, value)
        .0
}
