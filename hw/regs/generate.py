#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Write the register tables of this folder from Linux's register headers.

usage: generate.py LINUX-SOURCE-TREE

Per IP block, NAMES lists the registers (a trailing * matches a prefix; {n} runs over the given
range). Taken over are facts only: name, segment, offset and bit positions. Fields are kept when
the driver sources named in `users` mention them, or when WANTED lists them. With the prefix "ix" a
block's registers have an index instead of a place (segment 0), and all of their fields are kept.
"""
import pathlib, re, sys

AMD = pathlib.Path(sys.argv[1]) / "drivers/gpu/drm/amd"
HERE = pathlib.Path(__file__).parent

VM = ("VM_CONTEXT{16}_CNTL VM_CONTEXT{16}_PAGE_TABLE_BASE_ADDR_LO32 VM_CONTEXT{16}_PAGE_TABLE_BASE_ADDR_HI32 "
      "VM_CONTEXT{16}_PAGE_TABLE_START_ADDR_LO32 VM_CONTEXT{16}_PAGE_TABLE_START_ADDR_HI32 "
      "VM_CONTEXT{16}_PAGE_TABLE_END_ADDR_LO32 VM_CONTEXT{16}_PAGE_TABLE_END_ADDR_HI32 "
      "VM_INVALIDATE_ENG{18}_SEM VM_INVALIDATE_ENG{18}_REQ VM_INVALIDATE_ENG{18}_ACK "
      "VM_INVALIDATE_ENG{18}_ADDR_RANGE_LO32 VM_INVALIDATE_ENG{18}_ADDR_RANGE_HI32 VM_L2_* "
      "MC_VM_FB_LOCATION_BASE MC_VM_FB_LOCATION_TOP MC_VM_FB_OFFSET MC_VM_AGP_BASE MC_VM_AGP_TOP MC_VM_AGP_BOT "
      "MC_VM_SYSTEM_APERTURE_* MC_VM_MX_L1_TLB_CNTL VM_CONTEXTS_DISABLE")

# The hubs of gfx11 on prefix each name with GC or MM.
def hub(prefix):
    return re.sub(r"\b(VM_|MC_VM_)", prefix + r"\1", VM) + f" {prefix}VM_L2_*"


# An SDMA engine: what drivers program, its queues, and that of the kernel. gfx12 names engines apart. Queues have more
# registers than these, at the same distances, of which the first queue's are named where they begin anew.
def sdma(prefix, queue, kernel):
    own = "UCODE_ADDR UCODE_DATA POWER_CNTL CLK_CTRL CNTL STATUS_REG UTCL1_TIMEOUT UTCL1_CNTL UTCL1_PAGE WATCHDOG_CNTL PHASE0_QUANTUM PHASE1_QUANTUM PHASE2_QUANTUM SEM_WAIT_FAIL_TIMER_CNTL GB_ADDR_CONFIG GB_ADDR_CONFIG_READ F32_CNTL MCU_CNTL"
    each = "RB_CNTL RB_BASE RB_BASE_HI RB_RPTR RB_RPTR_HI RB_WPTR RB_WPTR_HI DOORBELL DOORBELL_OFFSET CONTEXT_STATUS"
    first = "STATUS IB_SUB_REMAIN MIDCMD_DATA0 UTILIZATION_LO UTILIZATION_HI"
    ring = "RB_WPTR_POLL_CNTL RB_RPTR_ADDR_HI RB_RPTR_ADDR_LO RB_WPTR_POLL_ADDR_HI RB_WPTR_POLL_ADDR_LO IB_CNTL MINOR_PTR_UPDATE"
    return " ".join([f"{prefix}_{n}" for n in own.split()] + [f"{prefix}_{queue}{{8}}_{n}" for n in each.split()]
                    + [f"{prefix}_{queue}0_{n}" for n in first.split() if queue != kernel[:-1]]
                    + [f"{prefix}_{kernel}_{n}" for n in (each + " " + ring).split()])


def waves(names):
    return " ".join("SQ_WAVE_" + n for n in names.split())


# Performance counters of the sequencers, of which so many can be read, of the register bus, and of the caches of both
# levels.
def counters(own, readable, second):
    shared = "SQ_PERFCOUNTER{16}_SELECT SQ_PERFCOUNTER_CTRL SQ_PERFCOUNTER_CTRL2 GRBM_PERFCOUNTER{2}_SELECT GRBM_PERFCOUNTER{2}_LO GRBM_PERFCOUNTER{2}_HI"
    caches = [f"{block}_PERFCOUNTER{{4}}_{part}" for block in ("TCP", second) for part in ("SELECT", "LO", "HI")]
    return " ".join([shared, *caches, f"SQ_PERFCOUNTER{{{readable}}}_LO {own}"])


def mailboxes(prefix, numbers):
    return " ".join(prefix + n for n in numbers.split())


BLOCKS = {
    "gc_9_4_3": dict(header="gc/gc_9_4_3", block="Gc", doc="Graphics core of gfx942: GFX hub, command processor, shader memory.",
        users=["amdgpu/gfxhub_v1_2.c", "amdgpu/gfx_v9_4_3.c", "amdgpu/amdgpu_amdkfd_gfx_v9.c",
               "amdgpu/amdgpu_amdkfd_gc_9_4_3.c", "amdgpu/gmc_v9_0.c"],
        names=VM + " CP_HQD_* CP_MQD_BASE_ADDR CP_MQD_BASE_ADDR_HI CP_MQD_CONTROL CP_MEC_CNTL CP_MEC_DOORBELL_RANGE_LOWER "
              "CP_MEC_DOORBELL_RANGE_UPPER CP_PQ_WPTR_POLL_CNTL CP_PQ_WPTR_POLL_CNTL1 CP_PQ_STATUS CP_CPC_IC_BASE_CNTL "
              "CP_IQ_WAIT_TIME1 CP_IQ_WAIT_TIME2 CP_INT_CNTL_RING0 CP_ME1_PIPE{4}_INT_CNTL CP_HYP_XCP_CTL CP_PSP_XCP_CTL "
              "CP_STAT CP_CPC_STATUS CP_CPF_STATUS CP_MEC_ME1_UCODE_ADDR CP_MEC_ME1_UCODE_DATA CP_CPC_IC_BASE_LO CP_CPC_IC_BASE_HI CPC_PSP_DEBUG CP_CPC_DEBUG CP_EOPQ_WAIT_TIME CP_CPC_MGCG_SYNC_CNTL "
              "GRBM_GFX_CNTL GRBM_GFX_INDEX GRBM_STATUS GRBM_STATUS2 GRBM_CNTL GRBM_SOFT_RESET RLC_CP_SCHEDULERS RLC_CNTL RLC_STAT "
              "RLC_GPM_UCODE_ADDR RLC_GPM_UCODE_DATA RLC_SERDES_CU_MASTER_BUSY RLC_SERDES_NONCU_MASTER_BUSY RLC_SPM_MC_CNTL RLC_SRM_CNTL "
              "RLC_CGCG_CGLS_CTRL RLC_CGTT_MGCG_OVERRIDE RLC_MEM_SLP_CNTL CP_MEM_SLP_CNTL CP_RB_WPTR_POLL_CNTL DB_DEBUG2 "
              "RLC_SAFE_MODE RLC_GPM_STAT RLC_GPU_CLOCK_COUNT_LSB RLC_GPU_CLOCK_COUNT_MSB RLC_CAPTURE_GPU_CLOCK_COUNT "
              "SH_MEM_BASES SH_MEM_CONFIG SCRATCH_REG{8} GB_ADDR_CONFIG CC_GC_SHADER_ARRAY_CONFIG GC_USER_SHADER_ARRAY_CONFIG "
              "SPI_GDBG_PER_VMID_CNTL SQ_CONFIG SQ_CONFIG1 SQ_IND_INDEX SQ_IND_DATA SQ_TIMEOUT_CONFIG SPI_WCL_PIPE_PERCENT_GFX SPI_WCL_PIPE_PERCENT_CS{4} TCP_UTCL1_CNTL1 TCP_UTCL1_CNTL2 TCP_WATCH{4}_ADDR_H TCP_WATCH{4}_ADDR_L TCP_WATCH0_CNTL CPC_INT_CNTL CPC_INT_STATUS "
              + counters("SQ_PERFCOUNTER{16}_HI SQ_PERFCOUNTER_MASK CP_PERFMON_CNTL", 16, "TCC") +
              " MC_VM_XGMI_LFB_CNTL MC_VM_XGMI_LFB_SIZE SPI_COMPUTE_QUEUE_RESET SPI_CSQ_WF_ACTIVE_STATUS SPI_CSQ_WF_ACTIVE_COUNT_{8} GDS_VMID{16}_BASE GDS_VMID{16}_SIZE GDS_GWS_VMID{16} GDS_OA_VMID{16}"),
    "mmhub_1_8_0": dict(header="mmhub/mmhub_1_8_0", block="Mmhub", doc="Multimedia hub of gfx942: the VM hub of SDMA and IH.",
        users=["amdgpu/mmhub_v1_8.c", "amdgpu/gmc_v9_0.c"], names=VM + " VML2PF0_* VML2VC0_* VMSHAREDPF0_* VMSHAREDVC0_* "
              "DAGB{5}_WRCLI_GPU_SNOOP_OVERRIDE DAGB{5}_WRCLI_GPU_SNOOP_OVERRIDE_VALUE"),
    "osssys_4_4_2": dict(header="oss/osssys_4_4_2", block="Osssys", doc="Interrupt handler (IH) of gfx942.",
        users=["amdgpu/vega20_ih.c"],
        names="IH_RB_CNTL IH_RB_BASE IH_RB_BASE_HI IH_RB_RPTR IH_RB_WPTR IH_RB_WPTR_ADDR_HI IH_RB_WPTR_ADDR_LO "
              "IH_DOORBELL_RPTR IH_DOORBELL_RETRY_CAM IH_RETRY_INT_CAM_CNTL IH_RB_CNTL_RING1 IH_RB_BASE_RING1 IH_RB_BASE_HI_RING1 IH_RB_RPTR_RING1 IH_RB_WPTR_RING1 "
              "IH_DOORBELL_RPTR_RING1 IH_RB_CNTL_RING2 IH_RB_BASE_RING2 IH_RB_BASE_HI_RING2 IH_RB_RPTR_RING2 "
              "IH_RB_WPTR_RING2 IH_DOORBELL_RPTR_RING2 IH_STATUS IH_STORM_CLIENT_LIST_CNTL IH_INT_FLOOD_CNTL "
              "IH_INT_FLOOD_STATUS IH_MSI_STORM_CTRL IH_CHICKEN IH_CLK_CTRL IH_LIMIT_INT_RATE_CNTL IH_VMID_{16}_LUT IH_VMID_{16}_LUT_MM"),
    "nbio_7_9_0": dict(header="nbio/nbio_7_9_0", block="Nbio", doc="North-bridge I/O of gfx942: BARs, doorbell routing, memory size, straps.",
        users=["amdgpu/nbio_v7_9.c"],
        names="RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE RCC_STRAP0_RCC_DEV0_EPF0_STRAP0 RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN "
              "BIF_BX_PF0_GPU_HDP_FLUSH_REQ BIF_BX_PF0_GPU_HDP_FLUSH_DONE BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL "
              "BIF_BX0_REMAP_HDP_REG_FLUSH_CNTL BIF_BX0_INTERRUPT_CNTL BIF_BX0_INTERRUPT_CNTL2 BIF_BX0_BIF_DOORBELL_INT_CNTL "
              "BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_CNTL BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_BASE_HIGH "
              "BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_BASE_LOW RCC_DEV0_EPF0_RCC_IOV_FUNC_IDENTIFIER "
              "DOORBELL0_CTRL_ENTRY_{17} S2A_DOORBELL_ENTRY_{16}_CTRL BIF_BX0_BIF_FB_EN BIF_BX_PF0_PARTITION_MEM_STATUS "
              "BIF_BX_PF0_PARTITION_COMPUTE_STATUS XCC_DOORBELL_FENCE BIFC_GFX_INT_MONITOR_MASK "
              "BIFC_DOORBELL_ACCESS_EN_PF BIF_BX0_PCIE_INDEX2 BIF_BX0_PCIE_DATA2 BIF_BX0_PCIE_INDEX2_HI "
              "BIF_BX_PF0_MM_INDEX BIF_BX_PF0_MM_DATA BIF_BX_PF0_MM_INDEX_HI BIF_BX0_BIOS_SCRATCH_{16} BIF_BX0_DRIVER_SCRATCH_{3} "
              "BIF_BX0_BACO_CNTL BIF_BX_PF0_PARTITION_MEM_CAP"),
    "hdp_4_4_2": dict(header="hdp/hdp_4_4_2", block="Hdp", doc="Host data path of gfx942.",
        users=["amdgpu/hdp_v4_0.c"],
        names="HDP_MEM_COHERENCY_FLUSH_CNTL HDP_READ_CACHE_INVALIDATE HDP_MISC_CNTL HDP_NONSURFACE_BASE HDP_NONSURFACE_BASE_HI "
              "HDP_HOST_PATH_CNTL"),
    "mp_13_0_6": dict(header="mp/mp_13_0_2", block="Mp0", doc="Security processor (PSP) mailboxes of gfx942.",
        users=["amdgpu/psp_v13_0.c"], names=mailboxes("MP0_SMN_C2PMSG_", "33 35 36 58 64 67 69 70 71 81 92 127")),
    "mp1_13_0_6": dict(header="mp/mp_13_0_6", block="Mp1", doc="System management unit (SMU) mailboxes of gfx942.",
        users=["pm/swsmu/smu13/smu_v13_0_6_ppt.c"], names=mailboxes("MP1_SMN_C2PMSG_", "66 82 90") + " MP1_SMN_IH_SW_INT MP1_SMN_IH_SW_INT_CTRL"),
    "athub_1_8_0": dict(header="athub/athub_1_8_0", block="Athub", doc="Address translation hub of gfx942: VMID to PASID.",
        users=["amdgpu/amdgpu_amdkfd_gfx_v9.c", "amdgpu/athub_v1_0.c"],
        names="ATC_VMID{16}_PASID_MAPPING ATC_VMID_PASID_MAPPING_UPDATE_STATUS"),
    "gc_12_0_0": dict(header="gc/gc_12_0_0", block="Gc", doc="Graphics core of gfx1201: GFX hub, MES, command processor, shader memory.",
        users=["amdgpu/gfxhub_v12_0.c", "amdgpu/gfx_v12_0.c", "amdgpu/mes_v12_0.c", "amdgpu/gmc_v12_0.c", "amdgpu/sdma_v7_0.c"],
        names=hub("GC") + " CP_HQD_* CP_MQD_BASE_ADDR CP_MQD_BASE_ADDR_HI CP_MQD_CONTROL CP_MES_CNTL CP_MES_GP3_LO CP_MES_GP3_HI "
              "CP_MES_DOORBELL_CONTROL1 CP_MES_DOORBELL_CONTROL2 CP_MES_DOORBELL_CONTROL3 CP_MES_DOORBELL_CONTROL4 CP_MES_DOORBELL_CONTROL5 "
              "CP_MES_PRGRM_CNTR_START CP_MES_PRGRM_CNTR_START_HI CP_MES_MSCRATCH_LO CP_MES_MSCRATCH_HI CP_UNMAPPED_DOORBELL "
              "CP_MEC_RS64_CNTL CP_MEC_CNTL CP_MEC_DOORBELL_RANGE_LOWER CP_MEC_DOORBELL_RANGE_UPPER CP_PQ_STATUS CP_PQ_WPTR_POLL_CNTL "
              "CP_INT_CNTL_RING0 CPC_INT_CNTL CP_ME1_PIPE{4}_INT_CNTL CP_ME1_PIPE0_INT_CNTL CP_STAT CP_DEBUG "
              "CP_ME_CNTL CP_PFP_PRGRM_CNTR_START CP_PFP_PRGRM_CNTR_START_HI CP_ME_PRGRM_CNTR_START CP_ME_PRGRM_CNTR_START_HI "
              "CP_MEC_RS64_PRGRM_CNTR_START CP_MEC_RS64_PRGRM_CNTR_START_HI CPC_PSP_DEBUG CPG_PSP_DEBUG CP_RB_DOORBELL_RANGE_LOWER "
              "CP_RB_DOORBELL_RANGE_UPPER CP_MAX_CONTEXT CP_DEVICE_ID RLC_SPM_MC_CNTL RLC_CSIB_ADDR_LO RLC_CSIB_ADDR_HI RLC_CSIB_LENGTH RLC_SRM_CNTL "
              "RLC_PG_CNTL RLC_CGCG_CGLS_CTRL RLC_CGCG_CGLS_CTRL_3D RLC_CGTT_MGCG_OVERRIDE CP_RB_WPTR_POLL_CNTL "
              "DB_MEM_CONFIG GRBM_CC_GC_SA_UNIT_DISABLE GRBM_GC_USER_SA_UNIT_DISABLE CC_RB_BACKEND_DISABLE GC_USER_RB_BACKEND_DISABLE "
              "CP_INT_CNTL SDMA0_RLC_CGCG_CTRL SDMA1_RLC_CGCG_CTRL TA_CNTL2 DB_RING_CONTROL TCP_CNTL TCP_WATCH{4}_ADDR_H TCP_WATCH{4}_ADDR_L TCP_WATCH0_CNTL CGTS_TCC_DISABLE CGTS_USER_TCC_DISABLE "
              "GRBM_GFX_CNTL GRBM_GFX_INDEX GRBM_STATUS GRBM_CNTL GRBM_SOFT_RESET RLC_CP_SCHEDULERS RLC_CNTL RLC_RLCS_BOOTLOAD_STATUS "
              "RLC_SAFE_MODE RLC_GPU_CLOCK_COUNT_LSB RLC_GPU_CLOCK_COUNT_MSB RLC_CAPTURE_GPU_CLOCK_COUNT "
              "GOLDEN_TSC_COUNT_LOWER GOLDEN_TSC_COUNT_UPPER SH_MEM_BASES SH_MEM_CONFIG SCRATCH_REG{8} GB_ADDR_CONFIG "
              "CC_GC_SHADER_ARRAY_CONFIG GC_USER_SHADER_ARRAY_CONFIG CC_GC_SA_UNIT_DISABLE GC_USER_SA_UNIT_DISABLE "
              "SPI_GDBG_PER_VMID_CNTL SQ_IND_INDEX SQ_IND_DATA SPI_COMPUTE_QUEUE_RESET SPI_CSQ_WF_ACTIVE_STATUS SPI_CSQ_WF_ACTIVE_COUNT_{4} CP_VMID_RESET SDMA0_QUEUE_RESET_REQ SDMA1_QUEUE_RESET_REQ "
              + counters("CP_PERFMON_CNTL_1", 8, "GL2C") + " " + sdma("SDMA0", "QUEUE", "QUEUE0") + " " + sdma("SDMA1", "QUEUE", "QUEUE0")),
    "sdma_4_4_2": dict(header="sdma/sdma_4_4_2", block="Sdma", doc="An SDMA engine of gfx942.",
        users=["amdgpu/sdma_v4_4_2.c"], names=sdma("SDMA", "RLC", "GFX")),
    "mmhub_4_1_0": dict(header="mmhub/mmhub_4_1_0", block="Mmhub", doc="Multimedia hub of gfx1201.",
        users=["amdgpu/mmhub_v4_1_0.c", "amdgpu/gmc_v12_0.c"], names=hub("MM") + " DAGB0_CNTL_MISC2 DAGB1_CNTL_MISC2"),
    "athub_4_1_0": dict(header="athub/athub_4_1_0", block="Athub", doc="Address translation hub of gfx1201.",
        users=["amdgpu/athub_v4_1_0.c"], names="ATHUB_MISC_CNTL"),
    "osssys_7_0_0": dict(header="oss/osssys_7_0_0", block="Osssys", doc="Interrupt handler (IH) of gfx1201.",
        users=["amdgpu/ih_v7_0.c"],
        names="IH_RB_CNTL IH_RB_BASE IH_RB_BASE_HI IH_RB_RPTR IH_RB_WPTR IH_RB_WPTR_ADDR_HI IH_RB_WPTR_ADDR_LO IH_DOORBELL_RPTR "
              "IH_DOORBELL_RETRY_CAM IH_RB_CNTL_RING1 IH_RB_BASE_RING1 IH_RB_BASE_HI_RING1 IH_RB_RPTR_RING1 IH_RB_WPTR_RING1 "
              "IH_DOORBELL_RPTR_RING1 IH_CNTL2 IH_STORM_CLIENT_LIST_CNTL IH_INT_FLOOD_CNTL IH_MSI_STORM_CTRL IH_CHICKEN "
              "IH_RING1_CLIENT_CFG_INDEX IH_RING1_CLIENT_CFG_DATA IH_RETRY_INT_CAM_CNTL IH_STATUS IH_VMID_{16}_LUT IH_VMID_{16}_LUT_MM"),
    "nbif_6_3_1": dict(header="nbif/nbif_6_3_1", block="Nbio", doc="North-bridge interface of gfx1201: BARs, doorbell routing, memory size, straps.",
        users=["amdgpu/nbif_v6_3_1.c"],
        names="RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE RCC_STRAP0_RCC_DEV0_EPF0_STRAP0 RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN "
              "BIF_BX_PF0_GPU_HDP_FLUSH_REQ BIF_BX_PF0_GPU_HDP_FLUSH_DONE BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL "
              "BIF_BX0_REMAP_HDP_REG_FLUSH_CNTL BIF_BX0_INTERRUPT_CNTL BIF_BX0_INTERRUPT_CNTL2 BIF_BX0_BIF_DOORBELL_INT_CNTL "
              "BIF_BX_PF0_HDP_MEM_COHERENCY_FLUSH_CNTL BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_CNTL "
              "BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_BASE_HIGH BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_BASE_LOW "
              "RCC_DEV0_EPF0_RCC_IOV_FUNC_IDENTIFIER GDC_S2A0_S2A_DOORBELL_ENTRY_{16}_CTRL BIF_BX0_BIF_FB_EN "
              "BIF_BX_PF0_MM_INDEX BIF_BX_PF0_MM_DATA BIF_BX_PF0_MM_INDEX_HI BIF_BX0_BIOS_SCRATCH_{16} BIF_BX0_DRIVER_SCRATCH_{3} "
              "BIF_BX0_PCIE_INDEX2 BIF_BX0_PCIE_DATA2 BIF_BX0_PCIE_INDEX2_HI BIF_BX_PF0_RSMU_INDEX BIF_BX_PF0_RSMU_DATA "
              "RCC_DEV0_EPF2_STRAP2 REGS_ROM_OFFSET_CTRL"),
    "smuio_13_0_3": dict(header="smuio/smuio_13_0_3", block="Smuio", doc="System management I/O of gfx942: what the package is.",
        users=["amdgpu/smuio_v13_0_3.c"], names="SMUIO_MCM_CONFIG"),
    "smuio_14_0_2": dict(header="smuio/smuio_14_0_2", block="Smuio", doc="System management I/O of gfx1201: the ROM word by word, and the clock.",
        users=["amdgpu/smuio_v14_0_2.c"], names="ROM_INDEX ROM_DATA GOLDEN_TSC_COUNT_LOWER GOLDEN_TSC_COUNT_UPPER"),
    "thm_14_0_2": dict(header="thm/thm_14_0_2", block="Thm", doc="Thermal monitor of gfx1201: at which temperatures it interrupts.",
        users=["pm/swsmu/smu14/smu_v14_0.c"], names="THM_THERMAL_INT_CTRL THM_THERMAL_INT_ENA THM_THERMAL_INT_STATUS"),
    "hdp_7_0_0": dict(header="hdp/hdp_7_0_0", block="Hdp", doc="Host data path of gfx1201.",
        users=["amdgpu/hdp_v7_0.c"], names="HDP_MISC_CNTL HDP_NONSURFACE_BASE HDP_NONSURFACE_BASE_HI HDP_HOST_PATH_CNTL HDP_CLK_CNTL HDP_MEM_POWER_CTRL"),
    "mp_14_0_2": dict(header="mp/mp_14_0_2", block="Mp0", doc="Security processor (PSP) mailboxes of gfx1201.",
        users=["amdgpu/psp_v14_0.c"], names=mailboxes("MPASP_SMN_C2PMSG_", "33 35 36 58 64 67 69 70 71 81")),
    "mp1_14_0_2": dict(header="mp/mp_14_0_2", block="Mp1", doc="System management unit (SMU) mailboxes of gfx1201.",
        users=["pm/swsmu/smu14/smu_v14_0.c"], names=mailboxes("MP1_SMN_C2PMSG_", "53 54 66 75 82 90") + " MP1_SMN_IH_SW_INT MP1_SMN_IH_SW_INT_CTRL"),
    "sq_9_4_3": dict(header="gc/gc_9_4_3", block="Gc", prefix="ix",
        doc="A wave's registers on gfx942, as SQ_IND_INDEX and SQ_IND_DATA show them: offsets are its INDEX.",
        users=["amdgpu/gfx_v9_4_3.c"],
        names=waves("STATUS PC_LO PC_HI EXEC_LO EXEC_HI HW_ID INST_DW0 INST_DW1 GPR_ALLOC LDS_ALLOC TRAPSTS IB_STS IB_DBG0 M0 MODE")),
    "sq_12_0_0": dict(header="gc/gc_12_0_0", block="Gc", prefix="ix",
        doc="A wave's registers on gfx1201, as SQ_IND_INDEX and SQ_IND_DATA show them: offsets are its INDEX.",
        users=["amdgpu/gfx_v12_0.c"],
        names=waves("STATUS PC_LO PC_HI EXEC_LO EXEC_HI HW_ID1 HW_ID2 GPR_ALLOC LDS_ALLOC IB_STS IB_STS2 IB_DBG1 M0 MODE STATE_PRIV "
              "EXCP_FLAG_PRIV EXCP_FLAG_USER TRAP_CTRL ACTIVE VALID_AND_IDLE DVGPR_ALLOC_LO DVGPR_ALLOC_HI SCHED_MODE")),
}
# Fields that no user source mentions by REG_SET_FIELD but that a device or a driver needs.
WANTED = {"SQ_IND_INDEX": None, "CP_HQD_ACTIVE": None, "CP_MES_CNTL": None, "CP_MES_DOORBELL_CONTROL1": None, "CP_UNMAPPED_DOORBELL": None, "CP_MEC_RS64_CNTL": None, "CP_ME_CNTL": None,
          "TCP_UTCL1_CNTL2": {"SPARE"}, "MC_VM_XGMI_LFB_SIZE": None, "VM_L2_PROTECTION_FAULT_STATUS_LO32": None, "RLC_RLCS_BOOTLOAD_STATUS": None, "RLC_CP_SCHEDULERS": None, "RLC_CNTL": {"RLC_ENABLE_F32"}, "CP_MEC_CNTL": None, "CP_HQD_DEQUEUE_REQUEST": None, "CP_HQD_PQ_DOORBELL_CONTROL": None,
          "CP_HQD_PQ_CONTROL": None, "CP_HQD_PERSISTENT_STATE": None, "CP_HQD_IB_CONTROL": None, "CP_HQD_EOP_CONTROL": None,
          "CP_HQD_QUANTUM": None, "CP_HQD_AQL_CONTROL": None, "CP_HQD_VMID": None, "CP_MQD_CONTROL": None, "IH_RB_CNTL": None, "IH_RB_CNTL_RING1": None,
          "IH_RB_WPTR": None, "IH_RB_WPTR_RING1": None, "IH_DOORBELL_RPTR": None, "GRBM_GFX_CNTL": None, "SH_MEM_CONFIG": None, "SH_MEM_BASES": None,
          "VM_INVALIDATE_ENG0_REQ": None, "VM_CONTEXT0_CNTL": None, "VM_CONTEXT1_CNTL": None, "VM_L2_PROTECTION_FAULT_STATUS": None,
          "VM_L2_PROTECTION_FAULT_CNTL": None, "MC_VM_MX_L1_TLB_CNTL": None, "CP_PQ_STATUS": None, "CP_PQ_WPTR_POLL_CNTL": None,
          "CC_GC_SHADER_ARRAY_CONFIG": None, "GC_USER_SHADER_ARRAY_CONFIG": None, "RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN": None,
          "IH_RETRY_INT_CAM_CNTL": {"ENABLE"}, "BIF_BX0_BIF_DOORBELL_INT_CNTL": {"DOORBELL_INTERRUPT_DISABLE"},
          "RCC_STRAP0_RCC_DEV0_EPF0_STRAP0": {"STRAP_ATI_REV_ID_DEV0_F0"}, "ATC_VMID0_PASID_MAPPING": None,
          "SDMA_RLC0_RB_CNTL": None, "SDMA_RLC0_DOORBELL_OFFSET": None, "SDMA0_QUEUE0_RB_CNTL": None, "SDMA0_QUEUE0_DOORBELL_OFFSET": None, "SDMA0_QUEUE0_SCHEDULE_CNTL": None,
          "SDMA_CNTL": None, "SDMA0_CNTL": None, "SDMA0_QUEUE0_IB_CNTL": None, "SDMA_GFX_RB_CNTL": None, "SDMA_GFX_IB_CNTL": None,
          "SDMA_GFX_DOORBELL": None, "SDMA_GFX_DOORBELL_OFFSET": None, "SDMA_GFX_RB_WPTR_POLL_CNTL": None, "SDMA0_QUEUE0_DOORBELL": None,
          "SDMA0_UTCL1_PAGE": {"RD_L2_POLICY", "WR_L2_POLICY"}, "SDMA_GFX_CONTEXT_STATUS": None, "SDMA0_QUEUE0_CONTEXT_STATUS": None, "SDMA_GFX_MINOR_PTR_UPDATE": None,
          "SDMA0_QUEUE0_MINOR_PTR_UPDATE": None, "SPI_CSQ_WF_ACTIVE_COUNT_0": {"COUNT"},
          "SDMA_RLC0_CONTEXT_STATUS": {"SELECTED", "IDLE"}, "GRBM_SOFT_RESET": None, "GRBM_CNTL": {"READ_TIMEOUT"},
          "VM_L2_PROTECTION_FAULT_CNTL2": {"ACTIVE_PAGE_MIGRATION_PTE_READ_RETRY"},
          "VM_L2_BANK_SELECT_RESERVED_CID2": {"RESERVED_CACHE_PRIVATE_INVALIDATION"},
          "BIF_BX0_INTERRUPT_CNTL": None, "CP_IQ_WAIT_TIME2": None, "GB_ADDR_CONFIG": None, "CPC_INT_CNTL": None, "CPC_INT_STATUS": None, "RLC_SAFE_MODE": None, "SPI_GDBG_PER_VMID_CNTL": None, "TCP_WATCH0_CNTL": None,
          "SQ_PERFCOUNTER_CTRL": None, "SQ_PERFCOUNTER_CTRL2": None, "CP_PERFMON_CNTL": None, "CP_PERFMON_CNTL_1": None,
          "SQ_PERFCOUNTER0_SELECT": None, "GRBM_PERFCOUNTER0_SELECT": {"PERF_SEL"}, "TCP_PERFCOUNTER0_SELECT": None,
          "TCC_PERFCOUNTER0_SELECT": None, "GL2C_PERFCOUNTER0_SELECT": None}


def expand(word):
    m = re.search(r"\{(\d+)\}", word)
    return [word] if not m else [word.replace(m[0], str(i)) for i in range(int(m[1]))]


def hub_names(word, offsets):
    """Hubs of gfx9 prefix their registers (VML2PF0_, VMSHAREDVC0_ ...); the driver's names have none."""
    return [n for n in offsets if n == word or re.sub(r"^VM(L2|SHARED)(PF|VC|VF|PFDEC)0_", "", n) == word]


for table, b in BLOCKS.items():
    offset_text = (AMD / f"include/asic_reg/{b['header']}_offset.h").read_text(errors="replace")
    mask_text = (AMD / f"include/asic_reg/{b['header']}_sh_mask.h").read_text(errors="replace")
    prefix = b.get("prefix", "reg")
    offsets = {m[1]: int(m[2], 16) for m in re.finditer(rf"#define\s+{prefix}(\w+?)\s+(0x[0-9a-fA-F]+)", offset_text) if not m[1].endswith("_BASE_IDX")}
    segments = {m[1]: int(m[2]) for m in re.finditer(r"#define\s+reg(\w+)_BASE_IDX\s+(\d+)", offset_text)}
    if prefix == "ix":
        segments = dict.fromkeys(offsets, 0)
    shifts, masks = {}, {}
    for m in re.finditer(r"#define\s+(\w+?)__(\w+)__SHIFT\s+(0x[0-9a-fA-F]+)", mask_text):
        shifts.setdefault(m[1], {})[m[2]] = int(m[3], 16)
    for m in re.finditer(r"#define\s+(\w+?)__(\w+)_MASK\s+(0x[0-9a-fA-F]+)", mask_text):
        masks.setdefault(m[1], {})[m[2]] = int(m[3], 16)
    used = {}
    for user in b["users"]:
        text = (AMD / user).read_text(errors="replace")
        for m in re.finditer(r"REG_[SG]ET_FIELD\(\s*\w+[\w>\-\[\].]*,\s*(\w+),\s*(\w+)", text):
            used.setdefault(m[1], set()).add(m[2])
        for m in re.finditer(r"\b([A-Z]\w+?)__(\w+?)(__SHIFT|_MASK)\b", text):
            used.setdefault(m[1], set()).add(m[2])
    names = []
    for word in b["names"].split():
        if word.endswith("*"):
            names += [n for n in offsets if n.startswith(word[:-1])]
        else:
            names += [n for w in expand(word) for n in hub_names(w, offsets)]
    names = sorted(set(names), key=lambda n: (segments[n], offsets[n], n))
    out = ["// SPDX-License-Identifier: MIT OR Apache-2.0", "// Generated by hw/regs/generate.py: change that, not this.", "",
           f"//! {b['doc']}", "//!",
           f"//! Source: Linux, `drivers/gpu/drm/amd/include/asic_reg/{b['header']}_{{offset,sh_mask}}.h`.", "",
           "use super::*;", "", f'regs! {{ "{b["header"]}" {b["block"]}']
    for n in names:
        # Instances of a hub register share the fields of instance 0 or 1 of the driver's spelling.
        plain = re.sub(r"^VM(L2|SHARED)(PF|VC|VF|PFDEC)0_|^(?:GC|MM)(?=VM_|MC_VM_)", "", n)
        keys = [n, plain, re.sub(r"(CONTEXT|ENG|VMID|VMID_|PIPE)\d+", lambda m: m[1] + "0", plain), re.sub(r"(CONTEXT)\d+", r"\g<1>1", plain), re.sub(r"^SDMA1_", "SDMA0_", plain)]
        want, everything = set(), prefix == "ix"
        for k in keys:
            want |= used.get(k, set())
            if k in WANTED:
                everything |= WANTED[k] is None
                want |= WANTED[k] or set()
        fields = []
        for f, mask in sorted(masks.get(n, {}).items(), key=lambda kv: kv[1]):
            if f in shifts.get(n, {}) and mask and (everything or f in want):
                lo = shifts[n][f]
                fields.append(f"{f} {lo + (mask >> lo).bit_length() - 1} {lo}")
        out.append(f"    {n} {segments[n]} {offsets[n]:#x} {{ " + " ".join(x + ";" for x in fields) + (" }" if fields else "}"))
    out += ["}", ""]
    (HERE / f"{table}.rs").write_text("\n".join(out))
    print(f"{table}: {len(names)} registers, {sum(l.count(';') for l in out)} fields")
