// SPDX-License-Identifier: GPL-2.0

//! What MES may hand out: VMIDs, hardware queues, queues of copy engines, doorbells.
//!
//! Sources: `amdgpu_mes_init`, `mes_v12_0_set_hw_resources`, `mes_v12_0_set_hw_resources_1`,
//! `gfx_v12_0_init_compute_vmid`.

use super::{
    frame::{
        frame,
        report,
        run, //
    },
    log::EventLog,
    pipe::Pipe, //
};
use crate::{
    chip::Family,
    hw::{
        mes::{
            op,
            v12::{
                SetHwResources,
                SetHwResources1, //
            },
            FRAME_WORDS,
            TYPE_SCHEDULER, //
        },
        regs::{
            gc_12_0_0::{
                self as gc,
                SPI_GDBG_PER_VMID_CNTL as Debug, //
            },
            Block, //
        }, //
    },
    regs::Regs,
    sched::Parts, //
};
use kernel::prelude::*;

/// Word of the first doorbell that announces work of a priority level, on the kernel's second page.
const AGGREGATED: u32 = 1024;
/// Firmware from which on a frame or field is known.
const HAS_RESOURCES_1: u32 = 0x4b;
const HAS_SDMA_TIMER: u32 = 0x8b;

/// Word of the doorbell that announces work of a priority level.
pub(super) fn aggregated_doorbell(level: u32) -> u32 {
    AGGREGATED.saturating_add(level << 1)
}

/// `gfx_v12_0_init_compute_vmid`: what processes' shaders see of local and scratch memory.
pub(super) fn init_vmids(parts: &Parts) {
    let family = parts.chip.family;
    for vmid in family.vmids.iter() {
        parts
            .gfx
            .select_vmid(0, vmid, |regs| init_vmid(regs, family));
    }
}

/// The VMID that the registers' access is pointed at.
fn init_vmid(regs: &Regs, family: &Family) {
    regs.write(gc::SH_MEM_CONFIG, family.sh_mem_config.into());
    regs.write(gc::SH_MEM_BASES, family.sh_mem_bases.into());
    regs.update(gc::SPI_GDBG_PER_VMID_CNTL, |old| {
        old.with(Debug::TRAP_EN, true)
    });
}

/// The queues of an SDMA engine that MES may give to user queues.
fn sdma_mask(parts: &Parts) -> u32 {
    parts.chip.family.sdma.user_queues()
}

/// Hardware queues that MES may give to user queues: all of the first MEC, since there are no
/// kernel compute queues, and those of the SDMA engines.
pub(super) fn managed_queues(parts: &Parts) -> u32 {
    let engines = parts.chip.sdma_counts.engines();
    let sdma = engines.saturating_mul(sdma_mask(parts).count_ones());
    parts.chip.cp_queues().saturating_add(sdma)
}

/// SET_HW_RSRC and SET_HW_RSRC_1: they pass what MES may hand out to the pipe that schedules, and what
/// both pipes must know to both.
pub(super) fn set_resources(
    parts: &Parts,
    pipe: &mut Pipe,
    schedules: bool,
    log: Option<&EventLog>,
) -> Result {
    let version = pipe.version();
    let base = |block, segment| {
        let base = parts.gfx.regs().discovery().base(block, 0, segment);
        u64::from(base.unwrap_or(0))
    };
    let mut frame = frame!(SetHwResources, SET_HW_RSRC)
        .with(
            SetHwResources::G_SCH_CTX_GPU_MC_PTR,
            pipe.context_addr().get(),
        )
        .with(
            SetHwResources::QUERY_STATUS_FENCE_GPU_MC_PTR,
            pipe.query_fence_addr().get(),
        )
        .with(SetHwResources::DISABLE_RESET, true)
        .with(SetHwResources::DISABLE_MES_LOG, true)
        .with(SetHwResources::USE_DIFFERENT_VMID_COMPUTE, true)
        .with(SetHwResources::ENABLE_REG_ACTIVE_POLL, true)
        .with(SetHwResources::ENABLE_LEVEL_PROCESS_QUANTUM_CHECK, true)
        .with(
            SetHwResources::OVERSUBSCRIPTION_TIMER,
            if version < HAS_SDMA_TIMER { 0 } else { 50 },
        )
        // "Basic+": a queue that rings while it is unmapped is scheduled again.
        .having(SetHwResources::UNMAPPED_DOORBELL_HANDLING.is::<2>());
    // Consecutive words: five base addresses of each block.
    let first = [
        (SetHwResources::GC_BASE_0.word(), Block::Gc),
        (SetHwResources::MMHUB_BASE_0.word(), Block::Mmhub),
        (SetHwResources::OSSSYS_BASE_0.word(), Block::Osssys),
    ];
    for (word, block) in first {
        for (segment, slot) in (0..5).zip(frame.0.iter_mut().skip(word)) {
            *slot = base(block, segment) as u32;
        }
    }
    if schedules {
        let family = parts.chip.family;
        frame = frame
            .with(SetHwResources::LIMIT_SINGLE_PROCESS, parts.isolates)
            .with(SetHwResources::VMID_MASK_MMHUB, 0xff00)
            .with(SetHwResources::VMID_MASK_GFXHUB, family.vmids.mask().into());
        // All hardware queues of the first MEC, since there are no kernel compute queues.
        let queues = !u32::MAX
            .checked_shl(family.mec_queues_per_pipe)
            .unwrap_or(0);
        let masks = SetHwResources::COMPUTE_HQD_MASK_0.word();
        for (_, slot) in (0..family.mec_pipes).zip(frame.0.iter_mut().skip(masks)) {
            *slot = queues;
        }
        let masks = SetHwResources::SDMA_HQD_MASK_0.word();
        for (_, slot) in (0..parts.chip.sdma_counts.engines()).zip(frame.0.iter_mut().skip(masks)) {
            *slot = sdma_mask(parts);
        }
        let bells = SetHwResources::AGGREGATED_DOORBELLS_0.word();
        for (level, slot) in (0..5).zip(frame.0.iter_mut().skip(bells)) {
            *slot = aggregated_doorbell(level);
        }
    }
    if let Some(log) = log {
        frame = frame
            .with(SetHwResources::ENABLE_MES_EVENT_INT_LOGGING, true)
            .with(
                SetHwResources::EVENT_INTR_HISTORY_GPU_MC_PTR,
                log.addr(pipe.slot().pipe()).get(),
            );
    }
    run!(pipe, SetHwResources, frame).map_err(|failure| report(parts, "SET_HW_RSRC", failure))?;
    if schedules && version < HAS_RESOURCES_1 {
        return Ok(());
    }
    let frame = frame!(SetHwResources1, SET_HW_RSRC_1)
        .with(SetHwResources1::MES_KIQ_UNMAP_TIMEOUT, 0xa)
        .with(
            SetHwResources1::CLEANER_SHADER_FENCE_MC_ADDR,
            pipe.cleaner_addr().get(),
        );
    run!(pipe, SetHwResources1, frame).map_err(|failure| report(parts, "SET_HW_RSRC_1", failure))
}
