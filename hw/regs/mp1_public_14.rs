// SPDX-License-Identifier: MIT OR Apache-2.0

//! The word of gfx12's management unit that Linux's driver knows by its address in the chip alone.
//!
//! Source: Linux, `pm/swsmu/smu14/smu_v14_0.c` (`MP1_Public`, 0x03b00000, with `smnMP1_FIRMWARE_FLAGS`,
//! 0x3010024): a byte address. The unit's segment 3 begins at word 0xe40000, as gfx942's.

use super::*;

regs! { "" Mp1
    MP1_FIRMWARE_FLAGS 3 0x84009 { INTERRUPTS_ENABLED 0 0; }
}
