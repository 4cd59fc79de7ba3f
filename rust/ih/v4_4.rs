// SPDX-License-Identifier: GPL-2.0

//! IH 4.4.2, of gfx942 (`vega20_ih.c`, `kfd_int_process_v9.c`).

use super::{Hal, Message, DOORBELL_BITS, ENCODING_WAVE};
use crate::hw::{
    ih::{client, source},
    regs::osssys_4_4_2::{self as oss, IH_DOORBELL_RPTR as Bell, IH_RB_CNTL as Cntl},
};

/// Word of the ring's doorbell on the BAR (`AMDGPU_DOORBELL_LAYOUT1_IH`).
pub(crate) const DOORBELL: u32 = 0x1a0 << 1;
/// `SOC15_IH_CLIENTID_SE0SH` to `SE3SH` are consecutive.
const SHADER_ENGINES: u8 = 4;

pub(crate) static HAL: Hal = Hal {
    cntl: oss::IH_RB_CNTL,
    bus_addresses: true,
    cntl_values: &[
        // Bus addresses.
        (Cntl::MC_SPACE, 1),
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
    toggle: &[(Cntl::RB_GPU_TS_ENABLE, 1)],
    toggle_clears: true,
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
    before: &[(oss::IH_CHICKEN, oss::IH_CHICKEN::MC_SPACE_GPA_ENABLE, 1)],
    after: &[],
    is_fault: |id, source| {
        matches!(id, client::UTCL2 | client::VMC | client::VMC1) && source == source::VM_FAULT
    },
    is_processor: |id| id == client::GRBM_CP,
    is_copy_trap: |id, source| client::SDMA.contains(&id) && source == source::SDMA_TRAP,
    shader_message: |id, source, data0, data1| {
        let engines = client::SE0SH..client::SE0SH + SHADER_ENGINES;
        if !engines.contains(&id) || source != source::SQ_MESSAGE {
            return None;
        }
        // `KFD_CONTEXT_ID_GET_SQ_INT_DATA`.
        let data = data0 & 0xfff | data0 >> 16 & 0xf000 | (data1 & 0xff) << 16;
        // `SQ_INTERRUPT_WORD_WAVE_CTXID`: ENCODING, PRIV.
        let by_handler = data0 >> 26 & 3 == ENCODING_WAVE && data0 >> 13 & 1 == 1;
        // `KFD_DEBUG_TRAP_CODE`.
        let exceptions = if by_handler {
            data >> DOORBELL_BITS & 0x1ff
        } else {
            0
        };
        Some(Message { data, exceptions })
    },
};
