// SPDX-License-Identifier: GPL-2.0

//! IH 7.0, of gfx1201 (`ih_v7_0.c`, `kfd_int_process_v11.c`).

use super::{Hal, Message, DOORBELL_BITS, ENCODING_WAVE};
use crate::hw::{
    ih::{client, source},
    regs::osssys_7_0_0::{self as oss, IH_DOORBELL_RPTR as Bell, IH_RB_CNTL as Cntl},
};

/// Word of the ring's doorbell on the BAR (`AMDGPU_NAVI10_DOORBELL_IH`).
pub(crate) const DOORBELL: u32 = 0x178 << 1;
/// The graphics core as a client (`SOC21_IH_CLIENTID_GFX`): shaders, SDMA, its hub.
const GFX: u8 = 0x0a;

pub(crate) static HAL: Hal = Hal {
    cntl: oss::IH_RB_CNTL,
    // PSP's boot loader doesn't let this block use any (`ih_v7_0_sw_init`).
    bus_addresses: false,
    cntl_values: &[
        // Address space 0.
        (Cntl::MC_SPACE, 4),
        (Cntl::WPTR_OVERFLOW_CLEAR, 1),
        (Cntl::WPTR_OVERFLOW_ENABLE, 1),
        (Cntl::WPTR_WRITEBACK_ENABLE, 1),
        (Cntl::MC_SNOOP, 1),
        (Cntl::MC_RO, 0),
        (Cntl::MC_VMID, 0),
        // With MSI.
        (Cntl::RPTR_REARM, 1),
    ],
    cntl_on: &[Cntl::RB_ENABLE],
    cntl_interrupt: Cntl::ENABLE_INTR,
    cntl_size: Cntl::RB_SIZE,
    cntl_clear: Cntl::WPTR_OVERFLOW_CLEAR,
    toggle: &[],
    toggle_clears: false,
    rptr: oss::IH_RB_RPTR,
    wptr: oss::IH_RB_WPTR,
    wptr_overflow: oss::IH_RB_WPTR::RB_OVERFLOW,
    base: oss::IH_RB_BASE,
    base_high: oss::IH_RB_BASE_HI,
    wptr_addr_low: oss::IH_RB_WPTR_ADDR_LO,
    wptr_addr_high: oss::IH_RB_WPTR_ADDR_HI,
    doorbell_rptr: (
        oss::IH_DOORBELL_RPTR,
        Bell::ENABLE.set(Bell::OFFSET.set(0, DOORBELL), 1),
    ),
    doorbell: DOORBELL,
    before: &[],
    after: &[
        (
            oss::IH_STORM_CLIENT_LIST_CNTL,
            oss::IH_STORM_CLIENT_LIST_CNTL::CLIENT18_IS_STORM_CLIENT,
            1,
        ),
        (
            oss::IH_INT_FLOOD_CNTL,
            oss::IH_INT_FLOOD_CNTL::FLOOD_CNTL_ENABLE,
            1,
        ),
        (oss::IH_MSI_STORM_CTRL, oss::IH_MSI_STORM_CTRL::DELAY, 3),
    ],
    is_fault: |id, source| id == client::VMC || id == GFX && source == source::VM_FAULT,
    is_processor: |id| matches!(id, client::GRBM_CP | GFX),
    is_copy_trap: |id, source| {
        matches!(id, client::GRBM_CP | GFX) && source == source::GFX12_SDMA_TRAP
    },
    shader_message: |id, source, data0, data1| {
        if !matches!(id, client::GRBM_CP | GFX) || source != source::SQ_MESSAGE {
            return None;
        }
        let data = data0 & 0xff_ffff;
        // `SQ_INTERRUPT_WORD_WAVE_CTXID0` and `1`: ENCODING, PRIV.
        let by_handler = data1 >> 6 & 3 == ENCODING_WAVE && data0 >> 26 & 1 == 1;
        // `KFD_CTXID0_TRAP_CODE`.
        let exceptions = if by_handler { data >> DOORBELL_BITS } else { 0 };
        Some(Message { data, exceptions })
    },
};
