// SPDX-License-Identifier: GPL-2.0

//! The HQDs of run lists, when the driver leaves: as they are after a reset.
//!
//! amdgpu begins the MQDs of its own queues with what an HQD's register has (`gfx_v9_4_3_xcc_mqd_init`), and
//! would take over the bits of an AQL queue that was there.

use crate::{
    hw::regs::{
        gc_9_4_3::{
            self as gc,
            CP_HQD_ACTIVE as Active, //
        },
        Block,
        Value, //
    },
    regs::Regs,
    sched::Parts,
    types::HqdSlot, //
};

/// Gives back every HQD that no queue is on.
pub(super) fn give_back(parts: &Parts) {
    let family = parts.chip.family;
    for xcc in parts.gfx.regs().instances(Block::Gc) {
        for pipe in 0..family.mec_pipes {
            let queues = 0..family.mec_queues_per_pipe;
            for slot in queues.filter_map(|queue| HqdSlot::compute(pipe, queue)) {
                parts.gfx.select(xcc, slot, |regs| {
                    if !regs.read_at(xcc, gc::CP_HQD_ACTIVE).is_set(Active::ACTIVE) {
                        defaults(regs, xcc);
                    }
                });
            }
        }
    }
}

/// The registers that amdgpu begins with: as it leaves them itself (`gfx_v9_4_3_xcc_q_fini_register`), and
/// those which it never lets go, as after a reset (`gc_9_0_default.h`).
fn defaults(regs: &Regs, xcc: u8) {
    regs.write_at(xcc, gc::CP_HQD_IQ_TIMER, Value::new(0));
    regs.write_at(xcc, gc::CP_HQD_IB_CONTROL, Value::new(0));
    regs.write_at(xcc, gc::CP_HQD_PERSISTENT_STATE, Value::new(0x0be0_5301));
    regs.write_at(xcc, gc::CP_HQD_PQ_DOORBELL_CONTROL, Value::new(0));
    regs.write_at(xcc, gc::CP_HQD_PQ_RPTR, Value::new(0));
    regs.write_at(xcc, gc::CP_HQD_PQ_WPTR_HI, Value::new(0));
    regs.write_at(xcc, gc::CP_HQD_PQ_WPTR_LO, Value::new(0));
    regs.write_at(xcc, gc::CP_HQD_EOP_CONTROL, Value::new(0x0000_0006));
    regs.write_at(xcc, gc::CP_MQD_CONTROL, Value::new(0x0000_0100));
    regs.write_at(xcc, gc::CP_HQD_PQ_CONTROL, Value::new(0x0030_8509));
    regs.write_at(xcc, gc::CP_HQD_QUANTUM, Value::new(0));
}
