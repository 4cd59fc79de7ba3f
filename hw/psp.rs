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
        /// Bit 1 (`virt_phy_addr`): the region is named by two addresses.
        TMR_FLAGS: 10[31:0] = "cmd.cmd_setup_tmr.tmr_flags";
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
        /// FB_FW_RESERV_ADDR and FB_FW_RESERV_EXT_ADDR: where in VRAM the part begins that firmware keeps.
        KEPT_HIGH: 232[31:0] = "resp.uresp.fw_reserve_info.reserve_base_address_hi";
        KEPT_LOW: 233[31:0] = "resp.uresp.fw_reserve_info.reserve_base_address_lo";
        /// Its size in bytes.
        KEPT_SIZE: 234[31:0] = "resp.uresp.fw_reserve_info.reserve_size";
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
    /// `GFX_CMD_ID_FB_FW_RESERV_ADDR`: which part of VRAM firmware has.
    pub const RESERVED_PART: u32 = 0x50;
    /// `GFX_CMD_ID_FB_FW_RESERV_EXT_ADDR`: a further part.
    pub const RESERVED_FURTHER: u32 = 0x51;
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
    /// `GFX_FW_TYPE_SMU`: the management unit's.
    pub const SMU: u32 = 18;
    /// `GFX_FW_TYPE_RLC_RESTORE_LIST_GPM_MEM`.
    pub const RLC_LIST_GPM: u32 = 20;
    /// `GFX_FW_TYPE_RLC_RESTORE_LIST_SRM_MEM`.
    pub const RLC_LIST_SRM: u32 = 21;
    /// `GFX_FW_TYPE_RLC_RESTORE_LIST_SRM_CNTL`.
    pub const RLC_LIST_CNTL: u32 = 22;
    /// `GFX_FW_TYPE_RLC_IRAM`: code of the run list controller's second core.
    pub const RLC_CODE: u32 = 26;
    /// `GFX_FW_TYPE_CP_MES`: the scheduler's.
    pub const MES: u32 = 33;
    /// `GFX_FW_TYPE_MES_STACK`: its data.
    pub const MES_DATA: u32 = 34;
    /// `GFX_FW_TYPE_RLC_DRAM_BOOT`: data of the run list controller's second core.
    pub const RLC_DATA: u32 = 48;
    /// `GFX_FW_TYPE_SDMA2`.
    pub const SDMA2: u32 = 52;
    /// `GFX_FW_TYPE_SDMA3`.
    pub const SDMA3: u32 = 53;
    /// `GFX_FW_TYPE_REG_LIST`.
    pub const REG_LIST: u32 = 67;
    /// `GFX_FW_TYPE_IMU_I`: code of the unit that starts the graphics core.
    pub const IMU_CODE: u32 = 68;
    /// `GFX_FW_TYPE_IMU_D`: its data.
    pub const IMU_DATA: u32 = 69;
    /// `GFX_FW_TYPE_SDMA_UCODE_TH0`: the copy engines'.
    pub const SDMA: u32 = 71;
    /// `GFX_FW_TYPE_CP_MES_KIQ`: of the scheduler's pipe that serves the kernel.
    pub const MES_KERNEL: u32 = 81;
    /// `GFX_FW_TYPE_MES_KIQ_STACK`: its data.
    pub const MES_KERNEL_DATA: u32 = 82;
    /// `GFX_FW_TYPE_RS64_PFP`: the prefetch parser's.
    pub const RS64_PFP: u32 = 87;
    /// `GFX_FW_TYPE_RS64_ME`: the micro engine's.
    pub const RS64_ME: u32 = 88;
    /// `GFX_FW_TYPE_RS64_MEC`: the compute micro engine's.
    pub const RS64_MEC: u32 = 89;
    /// `GFX_FW_TYPE_RS64_PFP_P0_STACK`: data of its first pipe.
    pub const RS64_PFP_DATA: u32 = 90;
    /// `GFX_FW_TYPE_RS64_ME_P0_STACK`: data of its first pipe.
    pub const RS64_ME_DATA: u32 = 92;
    /// `GFX_FW_TYPE_RS64_MEC_P0_STACK`: data of its first pipe.
    pub const RS64_MEC_DATA0: u32 = 94;
    /// `GFX_FW_TYPE_RS64_MEC_P1_STACK`: data of its second pipe.
    pub const RS64_MEC_DATA1: u32 = 95;
    /// `GFX_FW_TYPE_P2S_TABLE`.
    pub const P2S_TABLE: u32 = 129;
}

/// Statuses (`enum tee_error_code`, and one of the processor's own).
pub mod error {
    /// `PSP_ERR_UNKNOWN_COMMAND`.
    pub const UNKNOWN_COMMAND: u32 = 0x100;
    /// `TEE_ERROR_CANCEL`.
    pub const CANCEL: u32 = 0xffff_0002;
    /// `TEE_ERROR_NOT_SUPPORTED`.
    pub const NOT_SUPPORTED: u32 = 0xffff_000a;
}

/// The layouts of this file.
pub const LAYOUTS: &[LayoutInfo] = &[LayoutInfo::of::<Frame>(), LayoutInfo::of::<Command>()];
