// SPDX-License-Identifier: MIT OR Apache-2.0

//! Commands and registers of the security processor.

use crate::{compare, AMD};
use rkfd_abi_test::{includes, linux, Probe};
use rkfd_hw::psp;

#[test]
fn the_security_processors_interface_is_linux_s() {
    let flags = includes(&linux(), &[&format!("{AMD}/amdgpu")]);
    compare(Probe::new(&["psp_gfx_if.h"], &flags), &[psp::LAYOUTS]);
    let mut probe = Probe::new(&["psp_gfx_if.h"], &flags);
    // `amdgpu_psp.h` needs the whole kernel: of it only the enumeration is taken.
    let header = linux().join(format!("{AMD}/amdgpu/amdgpu_psp.h"));
    let text = std::fs::read_to_string(header).expect("the header can be read");
    let (_, rest) = text
        .split_once("enum psp_bootloader_cmd")
        .expect("commands");
    let (list, _) = rest.split_once(';').expect("the end of the list");
    probe.declare(&format!("enum psp_bootloader_cmd {list};"));
    let constants = [
        (psp::boot::KEY_DATABASE, "PSP_BL__LOAD_KEY_DATABASE"),
        (psp::boot::SPL_TABLE, "PSP_BL__LOAD_TOS_SPL_TABLE"),
        (psp::boot::SYSTEM_DRIVER, "PSP_BL__LOAD_SYSDRV"),
        (psp::boot::SOC_DRIVER, "PSP_BL__LOAD_SOCDRV"),
        (psp::boot::INTERFACE_DRIVER, "PSP_BL__LOAD_INTFDRV"),
        (psp::boot::DEBUG_DRIVER, "PSP_BL__LOAD_DBGDRV"),
        (psp::boot::RAS_DRIVER, "PSP_BL__LOAD_RASDRV"),
        (psp::boot::KEY_MANAGER, "PSP_BL__LOAD_IPKEYMGRDRV"),
        (psp::boot::SPDM_DRIVER, "PSP_BL__LOAD_SPDMDRV"),
        (psp::boot::SECURE_OS, "PSP_BL__LOAD_SOSDRV"),
        (
            psp::control::INIT_KERNEL_RING,
            "GFX_CTRL_CMD_ID_INIT_GPCOM_RING",
        ),
        (psp::control::DESTROY_RINGS, "GFX_CTRL_CMD_ID_DESTROY_RINGS"),
        (psp::control::DONE, "GFX_FLAG_RESPONSE"),
        (psp::command::SETUP_TMR, "GFX_CMD_ID_SETUP_TMR"),
        (psp::command::LOAD_IP_FW, "GFX_CMD_ID_LOAD_IP_FW"),
        (psp::command::DESTROY_TMR, "GFX_CMD_ID_DESTROY_TMR"),
        (psp::command::LOAD_TOC, "GFX_CMD_ID_LOAD_TOC"),
        (psp::command::AUTOLOAD_RLC, "GFX_CMD_ID_AUTOLOAD_RLC"),
        (psp::command::SPATIAL_PART, "GFX_CMD_ID_SRIOV_SPATIAL_PART"),
        (psp::command::RESERVED_PART, "GFX_CMD_ID_FB_FW_RESERV_ADDR"),
        (
            psp::command::RESERVED_FURTHER,
            "GFX_CMD_ID_FB_FW_RESERV_EXT_ADDR",
        ),
        (psp::firmware::MEC, "GFX_FW_TYPE_CP_MEC"),
        (psp::firmware::MEC_JUMP_TABLE, "GFX_FW_TYPE_CP_MEC_ME1"),
        (psp::firmware::RLC, "GFX_FW_TYPE_RLC_G"),
        (psp::firmware::SDMA0, "GFX_FW_TYPE_SDMA0"),
        (psp::firmware::SDMA1, "GFX_FW_TYPE_SDMA1"),
        (psp::firmware::SDMA2, "GFX_FW_TYPE_SDMA2"),
        (psp::firmware::SDMA3, "GFX_FW_TYPE_SDMA3"),
        (
            psp::firmware::RLC_LIST_GPM,
            "GFX_FW_TYPE_RLC_RESTORE_LIST_GPM_MEM",
        ),
        (
            psp::firmware::RLC_LIST_SRM,
            "GFX_FW_TYPE_RLC_RESTORE_LIST_SRM_MEM",
        ),
        (
            psp::firmware::RLC_LIST_CNTL,
            "GFX_FW_TYPE_RLC_RESTORE_LIST_SRM_CNTL",
        ),
        (psp::firmware::REG_LIST, "GFX_FW_TYPE_REG_LIST"),
        (psp::firmware::SMU, "GFX_FW_TYPE_SMU"),
        (psp::firmware::RLC_CODE, "GFX_FW_TYPE_RLC_IRAM"),
        (psp::firmware::RLC_DATA, "GFX_FW_TYPE_RLC_DRAM_BOOT"),
        (psp::firmware::MES, "GFX_FW_TYPE_CP_MES"),
        (psp::firmware::MES_DATA, "GFX_FW_TYPE_MES_STACK"),
        (psp::firmware::MES_KERNEL, "GFX_FW_TYPE_CP_MES_KIQ"),
        (psp::firmware::MES_KERNEL_DATA, "GFX_FW_TYPE_MES_KIQ_STACK"),
        (psp::firmware::IMU_CODE, "GFX_FW_TYPE_IMU_I"),
        (psp::firmware::IMU_DATA, "GFX_FW_TYPE_IMU_D"),
        (psp::firmware::SDMA, "GFX_FW_TYPE_SDMA_UCODE_TH0"),
        (psp::firmware::RS64_PFP, "GFX_FW_TYPE_RS64_PFP"),
        (psp::firmware::RS64_ME, "GFX_FW_TYPE_RS64_ME"),
        (psp::firmware::RS64_MEC, "GFX_FW_TYPE_RS64_MEC"),
        (
            psp::firmware::RS64_PFP_DATA,
            "GFX_FW_TYPE_RS64_PFP_P0_STACK",
        ),
        (psp::firmware::RS64_ME_DATA, "GFX_FW_TYPE_RS64_ME_P0_STACK"),
        (
            psp::firmware::RS64_MEC_DATA0,
            "GFX_FW_TYPE_RS64_MEC_P0_STACK",
        ),
        (
            psp::firmware::RS64_MEC_DATA1,
            "GFX_FW_TYPE_RS64_MEC_P1_STACK",
        ),
        (psp::firmware::P2S_TABLE, "GFX_FW_TYPE_P2S_TABLE"),
        (psp::error::UNKNOWN_COMMAND, "PSP_ERR_UNKNOWN_COMMAND"),
        (psp::error::CANCEL, "(uint32_t)TEE_ERROR_CANCEL"),
        (
            psp::error::NOT_SUPPORTED,
            "(uint32_t)TEE_ERROR_NOT_SUPPORTED",
        ),
    ];
    for (_, c) in constants {
        probe.value(c);
    }
    for ((value, c), answer) in constants.iter().zip(probe.run()) {
        assert_eq!(answer.bit, u64::from(*value), "{c}");
    }
}
