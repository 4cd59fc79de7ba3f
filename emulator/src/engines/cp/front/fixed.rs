// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the MQD of a process or of the HIQ always has, of which nothing can be seen here: pace of packets,
//! statistics, how a queue shares its engine, what a debugger finds. A value is checked in the place of
//! its effect.
//!
//! Source: Linux, `init_mqd` and `update_mqd` of `amdkfd/kfd_mqd_manager_v9.c` and
//! `kfd_mqd_manager_v12.c`, which agree on these, and by which the HIQ's is made, too.

use rkfd_hw::layout::Field;
use rkfd_hw::mqd::Common as Mqd;
use rkfd_hw::regs::gc_9_4_3::{
    CP_HQD_IB_CONTROL as ib, CP_HQD_PERSISTENT_STATE as state, CP_HQD_PQ_CONTROL as control,
    CP_HQD_PQ_DOORBELL_CONTROL as bell, CP_HQD_QUANTUM as quantum, CP_MQD_CONTROL as mqd,
};

/// Bits of a word, and what they are.
struct Fixed {
    name: &'static str,
    word: Field<Mqd, 32>,
    bits: u32,
    value: u32,
    /// Only an AQL queue's.
    aql: bool,
}

const fn all(name: &'static str, word: Field<Mqd, 32>, bits: u32, value: u32) -> Fixed {
    let aql = false;
    Fixed {
        name,
        word,
        bits,
        value,
        aql,
    }
}

const fn set(name: &'static str, word: Field<Mqd, 32>, bits: u32) -> Fixed {
    all(name, word, bits, bits)
}

/// 5 in CP_HQD_PQ_CONTROL.RPTR_BLOCK_SIZE.
const BLOCK: u32 = 5 << control::RPTR_BLOCK_SIZE.bit();
/// Bit of CP_HQD_HQ_STATUS0: the packet processor notes the address of the packet (DISPATCH_PTR),
/// which debuggers read.
const DISPATCH_PTR: u32 = 1 << 14;

const FIXED: &[Fixed] = &[
    set(
        "CP_HQD_PERSISTENT_STATE.PRELOAD_REQ",
        Mqd::CP_HQD_PERSISTENT_STATE,
        state::PRELOAD_REQ.mask(),
    ),
    set(
        "CP_MQD_CONTROL.PRIV_STATE",
        Mqd::CP_MQD_CONTROL,
        mqd::PRIV_STATE.mask(),
    ),
    set(
        "CP_HQD_QUANTUM.QUANTUM_EN",
        Mqd::CP_HQD_QUANTUM,
        quantum::QUANTUM_EN.mask(),
    ),
    // In milliseconds.
    set(
        "CP_HQD_QUANTUM.QUANTUM_SCALE",
        Mqd::CP_HQD_QUANTUM,
        quantum::QUANTUM_SCALE.mask(),
    ),
    set(
        "CP_HQD_HQ_STATUS0 for DISPATCH_PTR",
        Mqd::CP_HQD_HQ_STATUS0,
        DISPATCH_PTR,
    ),
    set(
        "CP_HQD_PQ_CONTROL.UNORD_DISPATCH",
        Mqd::CP_HQD_PQ_CONTROL,
        control::UNORD_DISPATCH.mask(),
    ),
    all(
        "CP_HQD_PQ_CONTROL.RPTR_BLOCK_SIZE",
        Mqd::CP_HQD_PQ_CONTROL,
        control::RPTR_BLOCK_SIZE.mask(),
        BLOCK,
    ),
    all(
        "CP_HQD_IB_CONTROL.MIN_IB_AVAIL_SIZE",
        Mqd::CP_HQD_IB_CONTROL,
        ib::MIN_IB_AVAIL_SIZE.mask(),
        3 << ib::MIN_IB_AVAIL_SIZE.bit(),
    ),
    // A PM4 queue's packets may change it.
    Fixed {
        aql: true,
        ..all(
            "COMPUTE_PIPELINESTAT_ENABLE",
            Mqd::COMPUTE_PIPELINESTAT_ENABLE,
            u32::MAX,
            1,
        )
    },
    Fixed {
        aql: true,
        ..set(
            "CP_HQD_PQ_DOORBELL_CONTROL.DOORBELL_BIF_DROP",
            Mqd::CP_HQD_PQ_DOORBELL_CONTROL,
            bell::DOORBELL_BIF_DROP.mask(),
        )
    },
];

/// That an MQD has what it always has.
///
/// # Errors
/// What it has not.
pub(super) fn check(image: &Mqd, aql: bool) -> Result<(), String> {
    let of_its_kind = FIXED.iter().filter(|fixed| aql || !fixed.aql);
    for fixed in of_its_kind {
        let got = image.get(fixed.word) as u32 & fixed.bits;
        if got != fixed.value {
            return Err(format!(
                "{} has {got:#x}, not {:#x}",
                fixed.name, fixed.value
            ));
        }
    }
    if image.get(Mqd::CP_HQD_QUANTUM) as u32 & quantum::QUANTUM_DURATION.mask() == 0 {
        return Err("CP_HQD_QUANTUM.QUANTUM_DURATION is 0".into());
    }
    Ok(())
}
