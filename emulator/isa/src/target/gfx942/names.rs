// SPDX-License-Identifier: MIT OR Apache-2.0
//! What LLVM calls gfx942's registers and messages (AMDGPUAsmUtils.cpp, SIDefines.h).

use crate::text::Names;

pub static NAMES: Names = Names {
    null: 125,
    m0: 124,
    pairs: &[
        (102, "flat_scratch"),
        (104, "xnack_mask"),
        (106, "vcc"),
        (126, "exec"),
    ],
    scalars: 102,
    waits: &[
        ("vmcnt", &[(0, 4, 0), (14, 2, 4)]),
        ("expcnt", &[(4, 3, 0)]),
        ("lgkmcnt", &[(8, 4, 0)]),
    ],
    hardware: &[
        (1, "HW_REG_MODE"),
        (2, "HW_REG_STATUS"),
        (3, "HW_REG_TRAPSTS"),
        (4, "HW_REG_HW_ID"),
        (5, "HW_REG_GPR_ALLOC"),
        (6, "HW_REG_LDS_ALLOC"),
        (7, "HW_REG_IB_STS"),
        (15, "HW_REG_SH_MEM_BASES"),
        (16, "HW_REG_TBA_LO"),
        (17, "HW_REG_TBA_HI"),
        (18, "HW_REG_TMA_LO"),
        (19, "HW_REG_TMA_HI"),
        (20, "HW_REG_XCC_ID"),
        (21, "HW_REG_SQ_PERF_SNAPSHOT_DATA"),
        (22, "HW_REG_SQ_PERF_SNAPSHOT_DATA1"),
        (23, "HW_REG_SQ_PERF_SNAPSHOT_PC_LO"),
        (24, "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"),
    ],
    messages: &[
        (1, "MSG_INTERRUPT"),
        (2, "MSG_GS"),
        (3, "MSG_GS_DONE"),
        (4, "MSG_SAVEWAVE"),
        (5, "MSG_STALL_WAVE_GEN"),
        (6, "MSG_HALT_WAVES"),
        (7, "MSG_ORDERED_PS_DONE"),
        (8, "MSG_EARLY_PRIM_DEALLOC"),
        (9, "MSG_GS_ALLOC_REQ"),
        (10, "MSG_GET_DOORBELL"),
        (15, "MSG_SYSMSG"),
    ],
    message_mask: 0xf,
    streams: true,
    share: "row_newbcast",
    whole_waves: true,
    halves: false,
    unified_formats: false,
};
