// SPDX-License-Identifier: MIT OR Apache-2.0

//! The security processor's interface: the boot loader's commands, frames of the ring, and the
//! command buffers that frames name.
//!
//! Source: Linux, `amdgpu/psp_gfx_if.h`, and for the boot loader `amdgpu/amdgpu_psp.h`.

use super::layout::*;

layout! {
    /// A frame of the ring.
    pub struct Frame: [u32; 16] = "struct psp_gfx_rb_frame" {
        CMD_BUF_ADDR: 0[63:0] = "cmd_buf_addr_lo+cmd_buf_addr_hi";
        CMD_BUF_SIZE: 2[31:0] = "cmd_buf_size";
        FENCE_ADDR: 3[63:0] = "fence_addr_lo+fence_addr_hi";
        FENCE_VALUE: 5[31:0] = "fence_value";
        SID: 6[63:0] = "sid_lo+sid_hi";
        VMID: 8[7:0] = "vmid";
        FRAME_TYPE: 8[15:8] = "frame_type";
    }

    /// A command buffer, in which the answer lies as well. What a command's own words are depends on
    /// it; LOAD_IP_FW, SETUP_TMR, LOAD_TOC and LOAD_TA all begin with an address and a size.
    pub struct Command: [u32; 256] = "struct psp_gfx_cmd_resp" {
        BUF_SIZE: 0[31:0] = "buf_size";
        BUF_VERSION: 1[31:0] = "buf_version";
        /// One of [`command`].
        CMD_ID: 2[31:0] = "cmd_id";
        /// LOAD_IP_FW.
        FW_ADDR: 7[63:0] = "cmd.cmd_load_ip_fw.fw_phy_addr_lo+cmd.cmd_load_ip_fw.fw_phy_addr_hi";
        /// In bytes.
        FW_SIZE: 9[31:0] = "cmd.cmd_load_ip_fw.fw_size";
        /// One of [`firmware`].
        FW_TYPE: 10[31:0] = "cmd.cmd_load_ip_fw.fw_type";
        /// SETUP_TMR.
        TMR_ADDR: 7[63:0] = "cmd.cmd_setup_tmr.buf_phy_addr_lo+cmd.cmd_setup_tmr.buf_phy_addr_hi";
        TMR_SIZE: 9[31:0] = "cmd.cmd_setup_tmr.buf_size";
        /// LOAD_TOC.
        TOC_ADDR: 7[63:0] = "cmd.cmd_load_toc.toc_phy_addr_lo+cmd.cmd_load_toc.toc_phy_addr_hi";
        TOC_SIZE: 9[31:0] = "cmd.cmd_load_toc.toc_size";
        /// SPATIAL_PART: in how many partitions.
        SPATIAL_MODE: 7[31:0] = "cmd.cmd_spatial_part.mode";
        /// The answer: 0, or one of [`error`].
        STATUS: 216[31:0] = "resp.status";
        SESSION_ID: 217[31:0] = "resp.session_id";
        /// LOAD_IP_FW: where in the trusted memory region it lies.
        FW_AT: 218[63:0] = "resp.fw_addr_lo+resp.fw_addr_hi";
        /// LOAD_TOC: the trusted memory region's size in bytes.
        TMR_NEEDED: 220[31:0] = "resp.tmr_size";
    }
}

/// Commands of the boot loader (`enum psp_bootloader_cmd`), in the order in which they come.
pub mod boot {
    /// `PSP_BL__LOAD_KEY_DATABASE`.
    pub const KEY_DATABASE: u32 = 0x8_0000;
    /// `PSP_BL__LOAD_TOS_SPL_TABLE`.
    pub const SPL_TABLE: u32 = 0x1000_0000;
    /// `PSP_BL__LOAD_SYSDRV`.
    pub const SYSTEM_DRIVER: u32 = 0x1_0000;
    /// `PSP_BL__LOAD_SOCDRV`.
    pub const SOC_DRIVER: u32 = 0xb_0000;
    /// `PSP_BL__LOAD_INTFDRV`.
    pub const INTERFACE_DRIVER: u32 = 0xd_0000;
    /// `PSP_BL__LOAD_DBGDRV`.
    pub const DEBUG_DRIVER: u32 = 0xc_0000;
    /// `PSP_BL__LOAD_RASDRV`.
    pub const RAS_DRIVER: u32 = 0xe_0000;
    /// `PSP_BL__LOAD_IPKEYMGRDRV`.
    pub const KEY_MANAGER: u32 = 0xf_0000;
    /// `PSP_BL__LOAD_SPDMDRV`.
    pub const SPDM_DRIVER: u32 = 0x2000_0000;
    /// `PSP_BL__LOAD_SOSDRV`.
    pub const SECURE_OS: u32 = 0x2_0000;
}

/// Commands of the secure OS' mailbox (`enum psp_gfx_crtl_cmd_id`), and its answer.
pub mod control {
    /// `GFX_CTRL_CMD_ID_INIT_GPCOM_RING`: the ring of the kernel's driver.
    pub const INIT_KERNEL_RING: u32 = 0x2_0000;
    /// `GFX_CTRL_CMD_ID_DESTROY_RINGS`.
    pub const DESTROY_RINGS: u32 = 0x3_0000;
    /// `GFX_FLAG_RESPONSE`: done; the status is in the low half.
    pub const DONE: u32 = 0x8000_0000;
}

/// Commands of the ring (`enum psp_gfx_cmd_id`).
pub mod command {
    /// `GFX_CMD_ID_SETUP_TMR`.
    pub const SETUP_TMR: u32 = 0x5;
    /// `GFX_CMD_ID_LOAD_IP_FW`.
    pub const LOAD_IP_FW: u32 = 0x6;
    /// `GFX_CMD_ID_DESTROY_TMR`.
    pub const DESTROY_TMR: u32 = 0x7;
    /// `GFX_CMD_ID_LOAD_TOC`.
    pub const LOAD_TOC: u32 = 0x20;
    /// `GFX_CMD_ID_AUTOLOAD_RLC`.
    pub const AUTOLOAD_RLC: u32 = 0x21;
    /// `GFX_CMD_ID_SRIOV_SPATIAL_PART`.
    pub const SPATIAL_PART: u32 = 0x27;
}

/// Kinds of firmware (`enum psp_gfx_fw_type`).
pub mod firmware {
    /// `GFX_FW_TYPE_CP_MEC`.
    pub const MEC: u32 = 4;
    /// `GFX_FW_TYPE_CP_MEC_ME1`: its jump table.
    pub const MEC_JUMP_TABLE: u32 = 5;
    /// `GFX_FW_TYPE_RLC_G`.
    pub const RLC: u32 = 8;
    /// `GFX_FW_TYPE_SDMA0`.
    pub const SDMA0: u32 = 9;
    /// `GFX_FW_TYPE_SDMA1`.
    pub const SDMA1: u32 = 10;
    /// `GFX_FW_TYPE_RLC_RESTORE_LIST_GPM_MEM`.
    pub const RLC_LIST_GPM: u32 = 20;
    /// `GFX_FW_TYPE_RLC_RESTORE_LIST_SRM_MEM`.
    pub const RLC_LIST_SRM: u32 = 21;
    /// `GFX_FW_TYPE_RLC_RESTORE_LIST_SRM_CNTL`.
    pub const RLC_LIST_CNTL: u32 = 22;
    /// `GFX_FW_TYPE_SDMA2`.
    pub const SDMA2: u32 = 52;
    /// `GFX_FW_TYPE_SDMA3`.
    pub const SDMA3: u32 = 53;
    /// `GFX_FW_TYPE_REG_LIST`.
    pub const REG_LIST: u32 = 67;
    /// `GFX_FW_TYPE_P2S_TABLE`.
    pub const P2S_TABLE: u32 = 129;
}

/// Statuses (`enum tee_error_code`).
pub mod error {
    /// `TEE_ERROR_CANCEL`.
    pub const CANCEL: u32 = 0xffff_0002;
    /// `TEE_ERROR_NOT_SUPPORTED`.
    pub const NOT_SUPPORTED: u32 = 0xffff_000a;
}

/// The layouts of this file.
pub const LAYOUTS: &[LayoutInfo] = &[LayoutInfo::of::<Frame>(), LayoutInfo::of::<Command>()];
