// SPDX-License-Identifier: GPL-2.0

//! The kernel's queue of an engine, the first of its queues (`sdma_v7_0_gfx_resume_instance`,
//! `sdma_v7_0_gfx_stop`), and packets.

use super::STRIDE;
use crate::{
    hw::{
        regs::{
            gc_12_0_0::{
                self as gc,
                SDMA0_QUEUE0_CONTEXT_STATUS as Status,
                SDMA0_QUEUE0_DOORBELL as Doorbell,
                SDMA0_QUEUE0_DOORBELL_OFFSET as Offset,
                SDMA0_QUEUE0_IB_CNTL as Ib,
                SDMA0_QUEUE0_MINOR_PTR_UPDATE as Minor,
                SDMA0_QUEUE0_RB_CNTL as Rb, //
            },
            Value, //
        },
        sdma::{
            op,
            v7_0::{
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
use kernel::{
    prelude::*,
    time::Delta, //
};

/// The queue in SDMA0_QUEUE_RESET_REQ, which has a bit for each.
const OWN: u32 = 1;
/// TIMEOUT: `AMDGPU_MAX_USEC_TIMEOUT`.
const RESET: Delta = Delta::from_millis(100);

/// Sets it up and turns it on.
pub(super) fn start(regs: &Regs, engine: u32, ring: &Ring) {
    let control_reg = gc::SDMA0_QUEUE0_RB_CNTL.at(engine, STRIDE);
    let control = regs
        .read(control_reg)
        .with(Rb::RB_SIZE, ring.words_log2())
        .with(Rb::RB_PRIV, true);
    regs.write(control_reg, control);

    regs.write(gc::SDMA0_QUEUE0_RB_RPTR.at(engine, STRIDE), 0.into());
    regs.write(gc::SDMA0_QUEUE0_RB_RPTR_HI.at(engine, STRIDE), 0.into());
    let [low, high] = halves(ring.wptr_addr().get());
    regs.write(
        gc::SDMA0_QUEUE0_RB_WPTR_POLL_ADDR_LO.at(engine, STRIDE),
        low.into(),
    );
    regs.write(
        gc::SDMA0_QUEUE0_RB_WPTR_POLL_ADDR_HI.at(engine, STRIDE),
        high.into(),
    );
    let [low, high] = halves(ring.rptr_addr().get());
    regs.write(
        gc::SDMA0_QUEUE0_RB_RPTR_ADDR_HI.at(engine, STRIDE),
        high.into(),
    );
    regs.write(
        gc::SDMA0_QUEUE0_RB_RPTR_ADDR_LO.at(engine, STRIDE),
        low.into(),
    );
    let [low, high] = halves(ring.ring_addr().get() >> 8);
    regs.write(gc::SDMA0_QUEUE0_RB_BASE.at(engine, STRIDE), low.into());
    regs.write(gc::SDMA0_QUEUE0_RB_BASE_HI.at(engine, STRIDE), high.into());

    // Lets the write pointer go back.
    let minor_reg = gc::SDMA0_QUEUE0_MINOR_PTR_UPDATE.at(engine, STRIDE);
    let minor = Value::zeroed();
    regs.write(minor_reg, minor.with(Minor::ENABLE, true));
    regs.write(gc::SDMA0_QUEUE0_RB_WPTR.at(engine, STRIDE), 0.into());
    regs.write(gc::SDMA0_QUEUE0_RB_WPTR_HI.at(engine, STRIDE), 0.into());
    regs.update(gc::SDMA0_QUEUE0_DOORBELL.at(engine, STRIDE), |v| {
        v.with(Doorbell::ENABLE, true)
    });
    let word = ring.doorbell().in_register();
    regs.update(gc::SDMA0_QUEUE0_DOORBELL_OFFSET.at(engine, STRIDE), |v| {
        v.with(Offset::OFFSET, word)
    });
    regs.write(minor_reg, minor);

    let control = control
        .with(Rb::RPTR_WRITEBACK_ENABLE, true)
        .with(Rb::WPTR_POLL_ENABLE, false)
        .with(Rb::MCU_WPTR_POLL_ENABLE, true);
    regs.write(control_reg, control.with(Rb::RB_ENABLE, true));
    regs.update(gc::SDMA0_QUEUE0_IB_CNTL.at(engine, STRIDE), |v| {
        v.with(Ib::IB_ENABLE, true)
    });
}

/// Turns it off, and waits until it is idle.
pub(super) fn stop(regs: &Regs, engine: u32) -> Result {
    regs.update(gc::SDMA0_QUEUE0_RB_CNTL.at(engine, STRIDE), |v| {
        v.with(Rb::RB_ENABLE, false)
    });
    regs.update(gc::SDMA0_QUEUE0_IB_CNTL.at(engine, STRIDE), |v| {
        v.with(Ib::IB_ENABLE, false)
    });
    let status = gc::SDMA0_QUEUE0_CONTEXT_STATUS.at(engine, STRIDE);
    regs.wait_at(0, status, IDLE, |status: Value<Status>| {
        status.is_set(Status::IDLE)
    })?;
    Ok(())
}

/// Resets it: what it was about is lost, and its registers are as at start-up.
///
/// # Errors
///
/// ETIME when the engine doesn't let go of it, EINVAL, ENODEV.
pub(super) fn reset(regs: &Regs, engine: u32) -> Result {
    let request = match engine {
        0 => gc::SDMA0_QUEUE_RESET_REQ.any(),
        1 => gc::SDMA1_QUEUE_RESET_REQ.any(),
        _ => return Err(EINVAL),
    };
    regs.write_at(0, request, OWN);
    regs.wait_at(0, request, RESET, |left| left & OWN == 0)?;
    Ok(())
}

/// `sdma_v7_0_emit_fill_buffer`.
pub(super) fn fill(at: GpuVa, bytes_less_one: Bounded<30>) -> [u32; 5] {
    Fill::zeroed()
        .with(Fill::OP, op::CONST_FILL)
        .with(Fill::COMPRESS, true)
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

/// `sdma_v7_0_emit_copy_buffer`: the last word is about compression, of which there is none.
pub(super) fn copy(from: GpuVa, to: GpuVa, bytes_less_one: Bounded<30>) -> [u32; 8] {
    let [a, b, c, d, e, f, g] = Copy::zeroed()
        .with(Copy::OP, op::COPY)
        .with(Copy::CPV, true)
        .with(Copy::COUNT, bytes_less_one)
        .with(Copy::SRC_ADDR, from.get())
        .with(Copy::DST_ADDR, to.get())
        .0;
    [a, b, c, d, e, f, g, 0]
}

/// `sdma_v7_0_ring_emit_ib`, in address space 0.
pub(super) fn indirect(at: GpuVa, words: Bounded<20>) -> [u32; 6] {
    Indirect::zeroed()
        .with(Indirect::OP, op::INDIRECT)
        .with(Indirect::IB_BASE, at.get())
        .with(Indirect::IB_SIZE, words)
        .0
}

/// `sdma_v7_0_ring_emit_fence`.
pub(super) fn fence(at: GpuVa, value: u32) -> [u32; 4] {
    Fence::zeroed()
        .with(Fence::OP, op::FENCE)
        // Not cached (`SDMA_PKT_FENCE_HEADER_MTYPE(0x3)`).
        .having(Fence::MTYPE.is::<3>())
        .with(Fence::ADDR, at.get())
        .with(Fence::DATA, value)
        .0
}
