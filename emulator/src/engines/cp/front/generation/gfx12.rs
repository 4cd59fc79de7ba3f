// SPDX-License-Identifier: MIT OR Apache-2.0

//! gfx1200 and gfx1201.
//!
//! Sources: Linux, `amdkfd/kfd_mqd_manager_v12.c` (`init_mqd`, `update_mqd`),
//! `amdgpu/gfx_v12_0.c` (`gfx_v12_0_sw_init`), `include/v12_structs.h`,
//! `include/asic_reg/gc/gc_12_0_0_sh_mask.h`, `amdkfd/kfd_int_process_v11.c`, which serves gfx12,
//! too; HSA runtime, `amd_aql_queue.cpp` (`FillComputeTmpRingSize_Gfx12`).

use super::{Format, Generation, TmpRing};
use crate::engines::cp::front::relaunch;
use crate::engines::cp::front::slot::Slots;
use crate::engines::cp::front::waves;
use crate::engines::cp::packet::command::GFX10;
use rkfd_hw::layout::Layout;
use rkfd_hw::mqd::v12::ComputeMqd as Mqd;
use rkfd_hw::mqd::Common as Image;
use rkfd_hw::mqd::{FIRST_HQD_WORD, HQD_WORDS};
use rkfd_hw::regs::gc_12_0_0::{self as gc, CP_HQD_PQ_CONTROL as pq, SH_MEM_CONFIG as SH};
use rkfd_isa::{FaultKind, GFX1201};

/// The generation of Navi 4x.
pub static GFX12: Generation = Generation {
    isa: &GFX1201,
    stack_behind_mqd: None,
    stack: &relaunch::GFX12,
    slots: Slots {
        pipes: [2, 0],
        queues: 4,
    },
    shader_memory: &[
        ("ADDRESS_MODE", SH::ADDRESS_MODE.mask(), 0),
        // SH_MEM_ALIGNMENT_MODE_UNALIGNED.
        (
            "ALIGNMENT_MODE",
            SH::ALIGNMENT_MODE.mask(),
            SH::ALIGNMENT_MODE.mask(),
        ),
    ],
    registers: &gc::TABLE,
    commands: &GFX10,
    mqd: Format {
        fields: Mqd::FIELDS,
        reserved_word: |image: &Image| Mqd(image.0).reserved_word(),
        mask,
        // Which ones do not read zero is not public.
        reset: &[],
        // `mes_v12_0_queue_init_register`, which leaves the end-of-pipe buffer as it is, and 0 in CP_MQD_CONTROL.
        by_registers: &[
            Image::CP_HQD_PERSISTENT_STATE.word(),
            Image::CP_HQD_PQ_BASE.word(),
            Image::CP_HQD_PQ_BASE.word() + 1,
            Image::CP_HQD_PQ_RPTR_REPORT_ADDR.word(),
            Image::CP_HQD_PQ_RPTR_REPORT_ADDR.word() + 1,
            Image::CP_HQD_PQ_WPTR_POLL_ADDR.word(),
            Image::CP_HQD_PQ_WPTR_POLL_ADDR.word() + 1,
            Image::CP_HQD_PQ_DOORBELL_CONTROL.word(),
            Image::CP_HQD_PQ_CONTROL.word(),
        ],
        preload: 0x55,
        slot_based_wptr: pq.field(pq::SLOT_BASED_WPTR),
        clear: &[
            (pq::TMZ.mask(), "TMZ"),
            (pq::EXE_DISABLE.mask(), "EXE_DISABLE"),
            (pq::TUNNEL_DISPATCH.mask(), "TUNNEL_DISPATCH"),
        ],
        aql: &[
            (pq::QUEUE_FULL_EN.mask(), "QUEUE_FULL_EN"),
            (pq::NO_UPDATE_RPTR.mask(), "NO_UPDATE_RPTR"),
        ],
        mutes_aql: false,
        spread: None,
        rsrc3: 41,
        check: |_, _, _| Ok(()),
    },
    // WAVESIZE in 64 words.
    scratch: TmpRing {
        wave_size: 0x3ffff,
        unit: 256,
        per_engine: true,
    },
    wave_error,
    message,
    // SQ_SHADER_TBA_HI.TRAP_EN, which firmware sets with the address.
    asks_for_traps: false,
    watch_mask: 23,
    waves: &waves::gfx12::GFX12,
};

/// A register without fields in the table has all bits.
fn mask(word: usize) -> u32 {
    let first = gc::CP_MQD_BASE_ADDR.any();
    let n = word.checked_sub(FIRST_HQD_WORD).filter(|n| *n < HQD_WORDS);
    let found = n.and_then(|n| {
        let mut all = gc::TABLE.regs.iter();
        all.find(|info| {
            info.reg.segment == first.segment && info.reg.offset == first.offset + n as u32
        })
    });
    match found {
        Some(info) if !info.fields.is_empty() => info.known_bits(),
        _ => u32::MAX,
    }
}

/// Encoding 2 in bits 7:6 of the second word is an error; its type in bits 24:21: 1 an illegal
/// instruction, 2 a memory violation; the wave's number in bits 31:27.
fn wave_error(kind: &FaultKind, wave: u32) -> [u32; 4] {
    let memory = matches!(
        kind,
        FaultKind::Memory(_) | FaultKind::Lds(_) | FaultKind::Scratch(_) | FaultKind::Violation(_)
    );
    let kind = if memory { 2 } else { 1 };
    [(kind << 21) | ((wave & 0x1f) << 27), 2 << 6, 0, 0]
}

/// Encoding 1; 24 bits of data in bits 23:0; PRIV is bit 26.
fn message(m0: u32, privileged: bool) -> [u32; 4] {
    let low = m0 & 0xff_ffff | (u32::from(privileged) << 26);
    [low, 1 << 6, 0, 0]
}
