// SPDX-License-Identifier: MIT OR Apache-2.0

//! Words of the management unit that Linux's drivers know by their address in the chip alone.
//!
//! Sources: Linux, `pm/swsmu/smu13/smu_v13_0_6_ppt.c` (`MP1_Public`, 0x03b00000, with
//! `smnMP1_FIRMWARE_FLAGS`, 0x3010028) and `amdgpu/psp_v13_0.c` (`regMP1_PUB_SCRATCH0`, 0x3b10090): byte
//! addresses. The unit's segment 3 begins at word 0xe40000 (`include/aldebaran_ip_offset.h`).

use super::*;

regs! { "" Mp1
    MP1_FIRMWARE_FLAGS 3 0x8400a { INTERRUPTS_ENABLED 0 0; }
    MP1_PUB_SCRATCH0 3 0x84024 { }
}
