// SPDX-License-Identifier: MIT OR Apache-2.0

//! Interrupt ring entries (IH), 32 bytes each, written by the device.
//!
//! Sources: Linux, `amdgpu/amdgpu_ih.c` (`amdgpu_ih_decode_iv_helper`), `include/soc15_ih_clientid.h`,
//! `include/ivsrcid/gfx/irqsrcs_gfx_9_0.h`, `irqsrcs_gfx_12_0_0.h`,
//! `include/ivsrcid/vmc/irqsrcs_vmc_1_0.h`, `include/ivsrcid/sdma0/irqsrcs_sdma0_4_0.h`,
//! `amdkfd/kfd_int_process_v9.c`.

use super::layout::*;

layout! {
    /// An interrupt vector. Linux takes it apart with shifts, so there is no C type to compare.
    pub struct Entry: [u32; 8] = "" {
        /// The block that raised it, one of [`client`].
        CLIENT_ID: 0[7:0] = "";
        /// What happened, numbered by each client, see [`source`].
        SOURCE_ID: 0[15:8] = "";
        RING_ID: 0[23:16] = "";
        VMID: 0[27:24] = "";
        /// 0: the VMID is of the graphics hub; 1: of the multimedia hub.
        VMID_SRC: 0[31:31] = "";
        /// Device clock, 48 bits.
        TIMESTAMP: 1[47:0] = "";
        TIMESTAMP_SRC: 2[31:31] = "";
        PASID: 3[15:0] = "";
        NODE_ID: 3[23:16] = "";
        /// The client's data; for an end-of-pipe interrupt the first is the event id.
        DATA_0: 4[31:0] = "";
        DATA_1: 5[31:0] = "";
        DATA_2: 6[31:0] = "";
        DATA_3: 7[31:0] = "";
    }
}

/// Bytes in an entry.
pub const ENTRY_SIZE: usize = 32;

/// Interrupt clients (`soc15_ih_clientid.h`).
pub mod client {
    /// `SOC15_IH_CLIENTID_IH`: the handler itself.
    pub const IH: u8 = 0x00;
    /// `SOC15_IH_CLIENTID_VMC1`.
    pub const VMC1: u8 = 0x06;
    /// `SOC15_IH_CLIENTID_SE0SH`.
    pub const SE0SH: u8 = 0x0a;
    /// `SOC15_IH_CLIENTID_VMC`.
    pub const VMC: u8 = 0x12;
    /// `SOC15_IH_CLIENTID_GRBM_CP`.
    pub const GRBM_CP: u8 = 0x14;
    /// `SOC15_IH_CLIENTID_UTCL2`.
    pub const UTCL2: u8 = 0x1b;
    /// The first four SDMA engines of a die of gfx9.
    pub const SDMA: [u8; 4] = [0x08, 0x09, 0x01, 0x04];
    /// The graphics core of gfx11 and later, its SDMA engines included.
    pub const GFX: u8 = 0x0a;
}

/// Interrupt sources, by client.
pub mod source {
    /// GRBM_CP: end of pipe: a signal's event (`GFX_9_0__SRCID__CP_EOP_INTERRUPT`).
    pub const CP_EOP: u8 = 181;
    /// GRBM_CP: a packet the processor can't parse (`GFX_9_0__SRCID__CP_BAD_OPCODE_ERROR`).
    pub const CP_BAD_OPCODE: u8 = 183;
    /// SEnSH: a message from a shader (`GFX_9_0__SRCID__SQ_INTERRUPT_ID`).
    pub const SQ_MESSAGE: u8 = 239;
    /// VMC, UTCL2: page fault (`VMC_1_0__SRCID__VM_FAULT`).
    pub const VM_FAULT: u8 = 0;
    /// SDMAn: a TRAP packet.
    pub const SDMA_TRAP: u8 = 224;
    /// SDMAn: POLL_REGMEM gave up.
    pub const SDMA_POLL_TIMEOUT: u8 = 246;
    /// SDMAn: SRBM_WRITE in a queue that may not.
    pub const SDMA_SRBM_WRITE: u8 = 247;
    /// GFX: the same of gfx12.
    pub const GFX12_SDMA_TRAP: u8 = 49;
    /// GFX: the same of gfx12.
    pub const GFX12_SDMA_SRBM_WRITE: u8 = 50;
    /// GFX: the same of gfx12.
    pub const GFX12_SDMA_POLL_TIMEOUT: u8 = 57;
}

/// The number constants of this file with their names in Linux, for the ABI test.
pub const CONSTANTS: &[(u64, &str)] = &[
    (client::IH as u64, "SOC15_IH_CLIENTID_IH"),
    (client::VMC1 as u64, "SOC15_IH_CLIENTID_VMC1"),
    (client::SE0SH as u64, "SOC15_IH_CLIENTID_SE0SH"),
    (client::VMC as u64, "SOC15_IH_CLIENTID_VMC"),
    (client::GRBM_CP as u64, "SOC15_IH_CLIENTID_GRBM_CP"),
    (client::UTCL2 as u64, "SOC15_IH_CLIENTID_UTCL2"),
    (source::CP_EOP as u64, "GFX_9_0__SRCID__CP_EOP_INTERRUPT"),
    (
        source::CP_BAD_OPCODE as u64,
        "GFX_9_0__SRCID__CP_BAD_OPCODE_ERROR",
    ),
    (source::SQ_MESSAGE as u64, "GFX_9_0__SRCID__SQ_INTERRUPT_ID"),
    (source::VM_FAULT as u64, "VMC_1_0__SRCID__VM_FAULT"),
    (client::SDMA[0] as u64, "SOC15_IH_CLIENTID_SDMA0"),
    (client::SDMA[1] as u64, "SOC15_IH_CLIENTID_SDMA1"),
    (client::SDMA[2] as u64, "SOC15_IH_CLIENTID_SDMA2"),
    (client::SDMA[3] as u64, "SOC15_IH_CLIENTID_SDMA3"),
    (client::GFX as u64, "SOC21_IH_CLIENTID_GFX"),
    (source::SDMA_TRAP as u64, "SDMA0_4_0__SRCID__SDMA_TRAP"),
    (
        source::SDMA_POLL_TIMEOUT as u64,
        "SDMA0_4_0__SRCID__SDMA_POLL_TIMEOUT",
    ),
    (
        source::SDMA_SRBM_WRITE as u64,
        "SDMA0_4_0__SRCID__SDMA_SRBMWRITE",
    ),
    (
        source::GFX12_SDMA_TRAP as u64,
        "GFX_12_0_0__SRCID__SDMA_TRAP",
    ),
    (
        source::GFX12_SDMA_SRBM_WRITE as u64,
        "GFX_12_0_0__SRCID__SDMA_SRBMWRITE",
    ),
    (
        source::GFX12_SDMA_POLL_TIMEOUT as u64,
        "GFX_12_0_0__SRCID__SDMA_POLL_TIMEOUT",
    ),
];
