// SPDX-License-Identifier: MIT OR Apache-2.0

//! gfx942.
//!
//! Sources: Linux, `amdkfd/kfd_mqd_manager_v9.c` (`init_mqd`, `update_mqd`, `init_mqd_v9_4_3`),
//! `amdgpu/gfx_v9_4_3.c` (`gfx_v9_4_3_xcc_mqd_init`), `include/v9_structs.h`,
//! `include/asic_reg/gc/gc_9_4_3_sh_mask.h`, `gc_9_0_default.h`, `amdkfd/kfd_int_process_v9.c`;
//! HSA runtime, `amd_hsa_queue.h`.

use super::Spread;
use super::{Format, Generation, TmpRing};
use crate::engines::cp::front::relaunch;
use crate::engines::cp::front::slot::Slots;
use crate::engines::cp::front::waves;
use crate::engines::cp::packet::command::GFX9;
use rkfd_hw::layout::Layout;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::mqd::Common as Image;
use rkfd_hw::mqd::{FIRST_HQD_WORD, HQD_WORDS};
use rkfd_hw::regs::gc_9_4_3::{
    self as gc, CP_HQD_IB_CONTROL as ib, CP_HQD_PQ_CONTROL as pq, SH_MEM_CONFIG as SH,
};
use rkfd_isa::{FaultKind, GFX942};

/// Word of COMPUTE_PGM_RSRC3.
const RSRC3: usize = 46;

/// An MQD's size in bytes.
const MQD_SIZE: u64 = Mqd::WORDS as u64 * 4;

/// The generation of MI300.
pub static GFX9_4_3: Generation = Generation {
    isa: &GFX942,
    // `mqd_stride_v9`.
    stack_behind_mqd: Some(4096),
    stack: &relaunch::GFX9_4_3,
    // MEC1 with four pipes, MEC2 with two.
    slots: Slots {
        pipes: [4, 2],
        queues: 8,
    },
    shader_memory: &[
        ("ADDRESS_MODE", SH::ADDRESS_MODE.mask(), 0),
        // SH_MEM_ALIGNMENT_MODE_UNALIGNED.
        (
            "ALIGNMENT_MODE",
            SH::ALIGNMENT_MODE.mask(),
            SH::ALIGNMENT_MODE.mask(),
        ),
        // `set_cache_memory_policy_v9`, of 9.4.3.
        ("F8_MODE", SH::F8_MODE.mask(), SH::F8_MODE.mask()),
        // Without XNACK.
        (
            "RETRY_DISABLE",
            SH::RETRY_DISABLE.mask(),
            SH::RETRY_DISABLE.mask(),
        ),
    ],
    registers: &gc::TABLE,
    commands: &GFX9,
    mqd: Format {
        fields: Mqd::FIELDS,
        // Linux's structure has no name for COMPUTE_PGM_RSRC3.
        reserved_word: |image| {
            let mut mqd = Mqd(image.0);
            mqd.0[RSRC3] = 0;
            mqd.reserved_word()
        },
        mask,
        // `gc_9_0_default.h`.
        reset: &[
            (132, 0x0be0_5301),
            (145, 0x0030_8509),
            (149, 0x0030_0000),
            (162, 0x100),
            (167, 0x6),
        ],
        // `gfx_v9_4_3_xcc_kiq_init_register`.
        by_registers: &[
            Image::CP_MQD_CONTROL.word(),
            Image::CP_HQD_PERSISTENT_STATE.word(),
            Image::CP_HQD_PQ_BASE.word(),
            Image::CP_HQD_PQ_BASE.word() + 1,
            Image::CP_HQD_PQ_RPTR_REPORT_ADDR.word(),
            Image::CP_HQD_PQ_RPTR_REPORT_ADDR.word() + 1,
            Image::CP_HQD_PQ_WPTR_POLL_ADDR.word(),
            Image::CP_HQD_PQ_WPTR_POLL_ADDR.word() + 1,
            Image::CP_HQD_PQ_DOORBELL_CONTROL.word(),
            Image::CP_HQD_PQ_CONTROL.word(),
            Image::CP_HQD_EOP_BASE_ADDR.word(),
            Image::CP_HQD_EOP_BASE_ADDR.word() + 1,
            Image::CP_HQD_EOP_CONTROL.word(),
        ],
        preload: 0x53,
        slot_based_wptr: pq.field(pq::SLOT_BASED_WPTR),
        clear: &[
            (pq::ENDIAN_SWAP.mask(), "ENDIAN_SWAP"),
            (pq::TMZ.mask(), "TMZ"),
            (pq::EXE_DISABLE.mask(), "EXE_DISABLE"),
        ],
        aql: &[
            (pq::QUEUE_FULL_EN.mask(), "QUEUE_FULL_EN"),
            (pq::WPP_CLAMP_EN.mask(), "WPP_CLAMP_EN"),
        ],
        // `init_mqd_v9_4_3`: set on all XCCs of a partition but the first.
        mutes_aql: true,
        rsrc3: RSRC3,
        spread: Some(Spread {
            stride: |image| Mqd(image.0).get(Mqd::CP_MQD_STRIDE_SIZE),
            logical: |image| Mqd(image.0).get(Mqd::COMPUTE_CURRENT_LOGIC_XCC_ID) as u32,
            target: |image| Mqd(image.0).get(Mqd::PM4_TARGET_XCC_IN_XCP) as u32,
        }),
        check,
    },
    // WAVESIZE in KiB.
    scratch: TmpRing {
        wave_size: 0x1fff,
        unit: 1 << 10,
        per_engine: false,
    },
    wave_error,
    message,
    asks_for_traps: true,
    watch_mask: 24,
    waves: &waves::gfx9_4_3::GFX9_4_3,
};

/// The bits that the registers from CP_MQD_BASE_ADDR to CP_HQD_PQ_WPTR_HI have.
const MASKS: [u32; HQD_WORDS] = [
    0xffff_fffc,
    0xffff,
    0x3,
    0x03ff_0f0f,
    0xffe3_ff01,
    0x3,
    0xf,
    0x8000_3f11, // BASE_ADDR..QUANTUM
    0xffff_ffff,
    0xff,
    0xffff_ffff,
    0xffff_fffc,
    0xffff,
    0xffff_fff8,
    0xffff,
    0xffff_ffff, // PQ_BASE..
    0,
    0xfff7_ffff,
    0xffff_fffc,
    0xffff,
    0x000f_ffff,
    0xc1bf_ffff,
    0xf3ff_ffff,
    0x3f, // PQ_CONTROL..
    0x717,
    0x1,
    0x7,
    0x77,
    0xffff_ffff,
    0xffff_ffff,
    0xffff_ffff,
    0xffff_ffff, // DEQUEUE_REQUEST..
    0xffff_ffff,
    0xffff_ffff,
    0x0180_310f,
    0xffff_ffff,
    0xffff_ffff,
    0xffff_ffff,
    0xff,
    0xe1e0_713f,
    0xf000_1fff,
    0x1fff_9fff,
    0x0001_0fff,
    0xffff_f000,
    0xffff,
    0x0080_0008,
    0xfffc,
    0xf000, // EOP_RPTR..
    0x07ff_fffc,
    0x07ff_f000,
    0x0003_f3f3,
    0x000f_ff3f,
    0x1fff,
    0xffff_ffff,
    0xffff_ffff,
    0xffff_ffff,
];

fn mask(word: usize) -> u32 {
    word.checked_sub(FIRST_HQD_WORD)
        .and_then(|i| MASKS.get(i))
        .copied()
        .unwrap_or(u32::MAX)
}

/// What the words for a partition of several XCCs must hold.
fn check(image: &Image, user: bool, aql: bool) -> Result<(), String> {
    let mqd = Mqd(image.0);
    // A kernel's queue has all ones there: they are its masks of compute units.
    let spread = mqd.get(Mqd::COMPUTE_TG_CHUNK_SIZE) | mqd.get(Mqd::COMPUTE_CURRENT_LOGIC_XCC_ID);
    if user && !aql && spread != 0 {
        return Err(
            "COMPUTE_TG_CHUNK_SIZE or COMPUTE_CURRENT_LOGIC_XCC_ID of a PM4 queue is not 0".into(),
        );
    }
    if aql && mqd.get(Mqd::COMPUTE_TG_CHUNK_SIZE) != 1 {
        return Err("COMPUTE_TG_CHUNK_SIZE of an AQL queue is not 1".into());
    }
    if aql && mqd.get(Mqd::CP_HQD_IB_CONTROL) as u32 & ib::IB_EXE_DISABLE.mask() == 0 {
        return Err("CP_HQD_IB_CONTROL.IB_EXE_DISABLE of an AQL queue is 0".into());
    }
    // Those of the HIQ lie one behind the other (`kfd_hiq_mqd_stride`).
    if mqd.get(Mqd::CP_MQD_STRIDE_SIZE) % MQD_SIZE != 0 {
        return Err("CP_MQD_STRIDE_SIZE is no multiple of an MQD's size".into());
    }
    Ok(())
}

/// Encoding 2 is an error; its type: 1 an illegal instruction, 2 a memory violation.
fn wave_error(kind: &FaultKind, wave: u32) -> [u32; 4] {
    let memory = matches!(
        kind,
        FaultKind::Memory(_)
            | FaultKind::Lds(_)
            | FaultKind::Scratch(_)
            | FaultKind::Violation(_)
            | FaultKind::Gws(_)
    );
    let kind = if memory { 2 } else { 1 };
    [(2 << 26) | ((wave & 0xf) << 14), kind << 4, 0, 0]
}

/// Encoding 1; 24 bits of data lie in bits 11:0, 31:28 and in bits 7:0 of the second word; PRIV is
/// bit 13.
fn message(m0: u32, privileged: bool) -> [u32; 4] {
    let low = m0 & 0xfff | (((m0 >> 12) & 0xf) << 28) | (1 << 26);
    let low = low | (u32::from(privileged) << 13);
    [low, (m0 >> 16) & 0xff, 0, 0]
}
