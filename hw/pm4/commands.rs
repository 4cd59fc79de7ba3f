// SPDX-License-Identifier: MIT OR Apache-2.0

//! PM4 packets that a process writes for its own compute queue: into the ring of a PM4 queue, or
//! into an indirect buffer that a packet of either kind of queue names.
//!
//! Source: Linux, `amdgpu/soc15d.h` (gfx9) and `amdgpu/nvd.h` (gfx10 and later), whose macros the
//! tables name: one for each field, or `=` before that of a single bit. Addresses in two words are
//! low word first.

use super::super::layout::*;

/// Opcodes (`PACKET3_*`).
pub mod op {
    /// `PACKET3_DISPATCH_DIRECT`.
    pub const DISPATCH_DIRECT: u8 = 0x15;
    /// `PACKET3_PRED_EXEC` (gfx9).
    pub const PRED_EXEC: u8 = 0x23;
    /// `PACKET3_WAIT_REG_MEM`.
    pub const WAIT_REG_MEM: u8 = 0x3c;
    /// `PACKET3_INDIRECT_BUFFER`.
    pub const INDIRECT_BUFFER: u8 = 0x3f;
    /// `PACKET3_COPY_DATA`.
    pub const COPY_DATA: u8 = 0x40;
    /// `PACKET3_EVENT_WRITE`.
    pub const EVENT_WRITE: u8 = 0x46;
    /// `PACKET3_RELEASE_MEM`.
    pub const RELEASE_MEM: u8 = 0x49;
    /// `PACKET3_ACQUIRE_MEM`.
    pub const ACQUIRE_MEM: u8 = 0x58;
    /// `PACKET3_SET_SH_REG`.
    pub const SET_SH_REG: u8 = 0x76;
    /// `PACKET3_SET_UCONFIG_REG`.
    pub const SET_UCONFIG_REG: u8 = 0x79;
}

/// Bit of a header: the packet is for the compute pipeline (`PACKET3_COMPUTE`). It changes nothing
/// on a compute queue, where all are.
pub const SHADER_TYPE: u32 = 1 << 1;

layout! {
    /// WRITE_DATA, without the words to write, which follow.
    pub struct WriteData: [u32; 4] = "PACKET3_WRITE_DATA" {
        HEADER: 0[31:0] = "";
        /// One of the `DST_` constants.
        DST_SEL: 1[11:8] = "PACKET3_WRITE_DATA__DST_SEL";
        /// All words go to one address.
        ADDR_INCR: 1[16:16] = "PACKET3_WRITE_DATA__ADDR_INCR";
        WR_CONFIRM: 1[20:20] = "PACKET3_WRITE_DATA__WR_CONFIRM";
        CACHE_POLICY: 1[26:25] = "PACKET3_WRITE_DATA__CACHE_POLICY";
        /// Address, a multiple of 4.
        ADDR: 2[63:0] = "";
    }

    /// WAIT_REG_MEM: wait until a word compares with a reference.
    pub struct WaitRegMem: [u32; 7] = "PACKET3_WAIT_REG_MEM" {
        HEADER: 0[31:0] = "";
        /// One of the `WAIT_` constants: how the masked word compares with the reference.
        FUNCTION: 1[2:0] = "PACKET3_WAIT_REG_MEM__FUNCTION";
        /// 1: memory.
        MEM_SPACE: 1[5:4] = "PACKET3_WAIT_REG_MEM__MEM_SPACE";
        /// 0: wait; 3: the same, and the queue may be preempted meanwhile.
        OPERATION: 1[7:6] = "PACKET3_WAIT_REG_MEM__OPERATION";
        CACHE_POLICY: 1[26:25] = "PACKET3_WAIT_REG_MEM__CACHE_POLICY";
        /// Address, a multiple of 4.
        ADDR: 2[63:0] = "";
        REFERENCE: 4[31:0] = "PACKET3_WAIT_REG_MEM__REFERENCE";
        MASK: 5[31:0] = "PACKET3_WAIT_REG_MEM__MASK";
        POLL_INTERVAL: 6[15:0] = "PACKET3_WAIT_REG_MEM__POLL_INTERVAL";
        /// Who waits when several queues do: it changes nothing that they see.
        OPTIMIZE_ACE_OFFLOAD_MODE: 6[31:31] = "PACKET3_WAIT_REG_MEM__OPTIMIZE_ACE_OFFLOAD_MODE";
    }

    /// INDIRECT_BUFFER: go on with the packets elsewhere.
    pub struct IndirectBuffer: [u32; 4] = "PACKET3_INDIRECT_BUFFER" {
        HEADER: 0[31:0] = "";
        /// Low word of the address, divided by 4.
        IB_BASE_LO: 1[31:2] = "PACKET3_INDIRECT_BUFFER__IB_BASE_LO";
        IB_BASE_HI: 2[31:0] = "PACKET3_INDIRECT_BUFFER__IB_BASE_HI";
        /// Size in words.
        IB_SIZE: 3[19:0] = "PACKET3_INDIRECT_BUFFER__IB_SIZE";
        /// It takes the place of the buffer that the packet is in.
        CHAIN: 3[20:20] = "PACKET3_INDIRECT_BUFFER__CHAIN";
        VALID: 3[23:23] = "PACKET3_INDIRECT_BUFFER__VALID";
        VMID: 3[27:24] = "PACKET3_INDIRECT_BUFFER__VMID";
        CACHE_POLICY: 3[29:28] = "PACKET3_INDIRECT_BUFFER__CACHE_POLICY";
        PRIV: 3[31:31] = "PACKET3_INDIRECT_BUFFER__PRIV";
    }

    /// COPY_DATA: write a value of some source to memory.
    pub struct CopyData: [u32; 6] = "PACKET3_COPY_DATA" {
        HEADER: 0[31:0] = "";
        /// One of the `SRC_` constants.
        SRC_SEL: 1[3:0] = "PACKET3_COPY_DATA__SRC_SEL";
        /// One of the `DST_` constants.
        DST_SEL: 1[11:8] = "PACKET3_COPY_DATA__DST_SEL";
        SRC_CACHE_POLICY: 1[14:13] = "PACKET3_COPY_DATA__SRC_CACHE_POLICY";
        /// 64 bits, not 32.
        COUNT_SEL: 1[16:16] = "PACKET3_COPY_DATA__COUNT_SEL";
        WR_CONFIRM: 1[20:20] = "PACKET3_COPY_DATA__WR_CONFIRM";
        DST_CACHE_POLICY: 1[26:25] = "PACKET3_COPY_DATA__DST_CACHE_POLICY";
        PQ_EXE_STATUS: 1[29:29] = "PACKET3_COPY_DATA__PQ_EXE_STATUS";
        /// Address, or the value itself.
        SRC: 2[63:0] = "";
        /// Address, a multiple of the size.
        DST: 4[63:0] = "";
    }

    /// EVENT_WRITE without an address.
    pub struct EventWrite: [u32; 2] = "PACKET3_EVENT_WRITE" {
        HEADER: 0[31:0] = "";
        /// One of the `EVENT_` constants.
        EVENT_TYPE: 1[5:0] = "PACKET3_EVENT_WRITE__EVENT_TYPE";
        /// The kind of the event, which its type determines.
        EVENT_INDEX: 1[11:8] = "PACKET3_EVENT_WRITE__EVENT_INDEX";
    }

    /// SET_SH_REG, without the values, which follow: changes registers of shaders.
    pub struct SetShReg: [u32; 2] = "PACKET3_SET_SH_REG" {
        HEADER: 0[31:0] = "";
        /// The first register, counted from the first of all shaders' ([`SH_COMPUTE`]).
        REG_OFFSET: 1[15:0] = "PACKET3_SET_SH_REG__REG_OFFSET";
        VMID_SHIFT: 1[27:23] = "PACKET3_SET_SH_REG__VMID_SHIFT";
        /// 0; the others are the driver's.
        INDEX: 1[31:28] = "PACKET3_SET_SH_REG__INDEX";
    }

    /// SET_UCONFIG_REG, without the values, which follow: changes registers that programs may change.
    pub struct SetUconfigReg: [u32; 2] = "PACKET3_SET_UCONFIG_REG" {
        HEADER: 0[31:0] = "";
        /// The first register, counted from [`UCONFIG`].
        REG_OFFSET: 1[15:0] = "PACKET3_SET_UCONFIG_REG__REG_OFFSET";
    }

    /// PRED_EXEC: only some XCCs execute what follows (gfx9).
    pub struct PredExec: [u32; 2] = "PACKET3_PRED_EXEC" {
        HEADER: 0[31:0] = "";
        /// Words that follow.
        EXEC_COUNT: 1[13:0] = "PACKET3_PRED_EXEC__EXEC_COUNT";
        /// A bit for each XCC of the partition.
        VIRTUAL_XCC_ID_SELECT: 1[31:24] = "PACKET3_PRED_EXEC__VIRTUAL_XCC_ID_SELECT";
    }

    /// DISPATCH_DIRECT: start the compute shader that the registers describe.
    pub struct DispatchDirect: [u32; 5] = "PACKET3_DISPATCH_DIRECT" {
        HEADER: 0[31:0] = "";
        /// Workgroups in x, or work-items with USE_THREAD_DIMENSIONS.
        DIM_X: 1[31:0] = "";
        DIM_Y: 2[31:0] = "";
        DIM_Z: 3[31:0] = "";
        /// COMPUTE_DISPATCH_INITIATOR.
        DISPATCH_INITIATOR: 4[31:0] = "";
    }

    /// RELEASE_MEM of gfx9: write a value, or interrupt, once everything before has ended.
    pub struct ReleaseMem9: [u32; 8] = "PACKET3_RELEASE_MEM" {
        HEADER: 0[31:0] = "";
        EVENT_TYPE: 1[5:0] = "EVENT_TYPE";
        /// 5: end of pipe; 6: end of the shaders.
        EVENT_INDEX: 1[11:8] = "EVENT_INDEX";
        TCL1_VOL_ACTION_EN: 1[12:12] = "=EOP_TCL1_VOL_ACTION_EN";
        TC_VOL_ACTION_EN: 1[13:13] = "=EOP_TC_VOL_ACTION_EN";
        TC_WB_ACTION_EN: 1[15:15] = "=EOP_TC_WB_ACTION_EN";
        TCL1_ACTION_EN: 1[16:16] = "=EOP_TCL1_ACTION_EN";
        TC_ACTION_EN: 1[17:17] = "=EOP_TC_ACTION_EN";
        TC_NC_ACTION_EN: 1[19:19] = "=EOP_TC_NC_ACTION_EN";
        TC_MD_ACTION_EN: 1[21:21] = "=EOP_TC_MD_ACTION_EN";
        /// 0: memory; 1: its cache, which is the same to who looks.
        DST_SEL: 2[17:16] = "DST_SEL";
        /// One of the `INT_` constants.
        INT_SEL: 2[26:24] = "INT_SEL";
        /// One of the `DATA_` constants.
        DATA_SEL: 2[31:29] = "DATA_SEL";
        /// Address, a multiple of the size.
        ADDR: 3[63:0] = "";
        DATA: 5[63:0] = "";
        /// The interrupt's data.
        INT_CTXID: 7[31:0] = "";
    }

    /// RELEASE_MEM of gfx10 and later.
    pub struct ReleaseMem10: [u32; 8] = "PACKET3_RELEASE_MEM" {
        HEADER: 0[31:0] = "";
        EVENT_TYPE: 1[5:0] = "PACKET3_RELEASE_MEM_EVENT_TYPE";
        EVENT_INDEX: 1[11:8] = "PACKET3_RELEASE_MEM_EVENT_INDEX";
        GLM_WB: 1[12:12] = "=PACKET3_RELEASE_MEM_GCR_GLM_WB";
        GLM_INV: 1[13:13] = "=PACKET3_RELEASE_MEM_GCR_GLM_INV";
        GLV_INV: 1[14:14] = "=PACKET3_RELEASE_MEM_GCR_GLV_INV";
        GL1_INV: 1[15:15] = "=PACKET3_RELEASE_MEM_GCR_GL1_INV";
        GL2_US: 1[16:16] = "=PACKET3_RELEASE_MEM_GCR_GL2_US";
        GL2_RANGE: 1[17:17] = "=PACKET3_RELEASE_MEM_GCR_GL2_RANGE";
        GL2_DISCARD: 1[19:19] = "=PACKET3_RELEASE_MEM_GCR_GL2_DISCARD";
        GL2_INV: 1[20:20] = "=PACKET3_RELEASE_MEM_GCR_GL2_INV";
        GL2_WB: 1[21:21] = "=PACKET3_RELEASE_MEM_GCR_GL2_WB";
        GCR_SEQ: 1[22:22] = "=PACKET3_RELEASE_MEM_GCR_SEQ";
        CACHE_POLICY: 1[26:25] = "PACKET3_RELEASE_MEM_CACHE_POLICY";
        DST_SEL: 2[17:16] = "PACKET3_RELEASE_MEM_DST_SEL";
        INT_SEL: 2[26:24] = "PACKET3_RELEASE_MEM_INT_SEL";
        DATA_SEL: 2[31:29] = "PACKET3_RELEASE_MEM_DATA_SEL";
        ADDR: 3[63:0] = "";
        DATA: 5[63:0] = "";
        INT_CTXID: 7[31:0] = "";
    }

    /// ACQUIRE_MEM of gfx9: forget what caches hold.
    pub struct AcquireMem9: [u32; 7] = "PACKET3_ACQUIRE_MEM" {
        HEADER: 0[31:0] = "";
        TC_NC_ACTION_ENA: 1[3:3] = "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_TC_NC_ACTION_ENA";
        TC_WC_ACTION_ENA: 1[4:4] = "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_TC_WC_ACTION_ENA";
        TC_INV_METADATA_ACTION_ENA: 1[5:5] =
            "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_TC_INV_METADATA_ACTION_ENA";
        TCL1_VOL_ACTION_ENA: 1[15:15] = "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_TCL1_VOL_ACTION_ENA";
        TC_WB_ACTION_ENA: 1[18:18] = "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_TC_WB_ACTION_ENA";
        TCL1_ACTION_ENA: 1[22:22] = "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_TCL1_ACTION_ENA";
        TC_ACTION_ENA: 1[23:23] = "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_TC_ACTION_ENA";
        SH_KCACHE_ACTION_ENA: 1[27:27] =
            "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_SH_KCACHE_ACTION_ENA";
        SH_KCACHE_VOL_ACTION_ENA: 1[28:28] =
            "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_SH_KCACHE_VOL_ACTION_ENA";
        /// Instruction caches.
        SH_ICACHE_ACTION_ENA: 1[29:29] =
            "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_SH_ICACHE_ACTION_ENA";
        SH_KCACHE_WB_ACTION_ENA: 1[30:30] =
            "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_SH_KCACHE_WB_ACTION_ENA";
        /// Bytes, divided by 256.
        COHER_SIZE: 2[31:0] = "PACKET3_ACQUIRE_MEM__COHER_SIZE";
        COHER_SIZE_HI: 3[23:0] = "PACKET3_ACQUIRE_MEM__COHER_SIZE_HI_VG10";
        /// Address, divided by 256.
        COHER_BASE_LO: 4[31:0] = "PACKET3_ACQUIRE_MEM__COHER_BASE_LO";
        COHER_BASE_HI: 5[23:0] = "PACKET3_ACQUIRE_MEM__COHER_BASE_HI";
        POLL_INTERVAL: 6[15:0] = "PACKET3_ACQUIRE_MEM__POLL_INTERVAL";
    }

    /// ACQUIRE_MEM of gfx10 and later.
    pub struct AcquireMem10: [u32; 8] = "PACKET3_ACQUIRE_MEM" {
        HEADER: 0[31:0] = "";
        COHER_SIZE: 2[31:0] = "PACKET3_ACQUIRE_MEM__COHER_SIZE";
        COHER_SIZE_HI: 3[7:0] = "PACKET3_ACQUIRE_MEM__COHER_SIZE_HI";
        /// What an address has above: `gfx_v12_0_emit_mem_sync` sets it, to mean all memory.
        COHER_SIZE_ABOVE: 3[23:8] = "";
        COHER_BASE_LO: 4[31:0] = "PACKET3_ACQUIRE_MEM__COHER_BASE_LO";
        COHER_BASE_HI: 5[23:0] = "PACKET3_ACQUIRE_MEM__COHER_BASE_HI";
        POLL_INTERVAL: 6[15:0] = "PACKET3_ACQUIRE_MEM__POLL_INTERVAL";
        /// Instruction caches: 0 leaves them.
        GLI_INV: 7[1:0] = "PACKET3_ACQUIRE_MEM_GCR_CNTL_GLI_INV";
        GL1_RANGE: 7[3:2] = "PACKET3_ACQUIRE_MEM_GCR_CNTL_GL1_RANGE";
        /// What the caches of metadata do, and whether the scalar one writes back.
        GCR_METADATA: 7[6:4] = "";
        /// The scalar cache forgets.
        GLK_INV: 7[7:7] = "PACKET3_ACQUIRE_MEM_GCR_CNTL_GLK_INV";
        /// The vector caches of the first level forget.
        GLV_INV: 7[8:8] = "PACKET3_ACQUIRE_MEM_GCR_CNTL_GLV_INV";
        GL1_INV: 7[9:9] = "PACKET3_ACQUIRE_MEM_GCR_CNTL_GL1_INV";
        /// How the second level does what is asked of it.
        GL2_HOW: 7[13:10] = "";
        GL2_INV: 7[14:14] = "PACKET3_ACQUIRE_MEM_GCR_CNTL_GL2_INV";
        GL2_WB: 7[15:15] = "PACKET3_ACQUIRE_MEM_GCR_CNTL_GL2_WB";
        /// In which order, and whether the range is a physical one.
        GCR_ORDER: 7[18:16] = "";
    }
}

layout! {
    /// Fields of COMPUTE_DISPATCH_INITIATOR.
    pub struct Initiator: [u32; 1] = "" {
        /// The shader starts.
        COMPUTE_SHADER_EN: 0[0:0] = "";
        /// The last workgroup of a dimension has the size in COMPUTE_NUM_THREAD's upper half.
        PARTIAL_TG_EN: 0[1:1] = "";
        /// Workgroups are counted from 0, not from COMPUTE_START.
        FORCE_START_AT_000: 0[2:2] = "";
        /// The dimensions count work-items, not workgroups.
        USE_THREAD_DIMENSIONS: 0[5:5] = "";
        /// Workgroups start in order.
        ORDER_MODE: 0[6:6] = "";
        /// Waves of 32 lanes (gfx10 and later).
        CS_W32_EN: 0[15:15] = "";
    }
}

/// COMPUTE_DISPATCH_INITIATOR as SET_SH_REG counts registers. The compute registers from it on are
/// the words of a compute MQD from 1 on, those that processes use at least
/// ([`super::super::mqd::Common`]).
pub const SH_COMPUTE: u32 = 0x200;

/// The address in words of the first register that SET_UCONFIG_REG can change.
pub const UCONFIG: u32 = 0xc000;

/// `EVENT_WRITE` and `RELEASE_MEM`: the compute shaders before have ended.
pub const EVENT_CS_PARTIAL_FLUSH: u64 = 7;
/// `RELEASE_MEM`: the same, with caches written back.
pub const EVENT_CACHE_FLUSH_AND_INV_TS: u64 = 0x14;
/// `RELEASE_MEM`: everything before has ended.
pub const EVENT_BOTTOM_OF_PIPE_TS: u64 = 0x28;
/// `RELEASE_MEM`: the compute shaders before have ended.
pub const EVENT_CS_DONE: u64 = 0x2f;

/// `EVENT_INDEX` of every event that has no index of its own.
pub const INDEX_OTHER: u64 = 0;
/// `EVENT_INDEX` of [`EVENT_CS_PARTIAL_FLUSH`].
pub const INDEX_CS_PARTIAL_FLUSH: u64 = 4;
/// `EVENT_INDEX` of an end of pipe.
pub const INDEX_END_OF_PIPE: u64 = 5;
/// `EVENT_INDEX` of [`EVENT_CS_DONE`].
pub const INDEX_END_OF_SHADER: u64 = 6;

/// `DST_SEL`, `SRC_SEL`: a register.
pub const SEL_REGISTER: u64 = 0;
/// `SRC_SEL`: memory (gfx9).
pub const SRC_MEMORY: u64 = 1;
/// `DST_SEL`, `SRC_SEL`: memory, through its cache.
pub const SEL_TC_L2: u64 = 2;
/// `DST_SEL`: memory.
pub const DST_MEMORY: u64 = 5;
/// `SRC_SEL`: the value in the packet.
pub const SRC_IMMEDIATE: u64 = 5;
/// `SRC_SEL`: the clock of 100 MHz.
pub const SRC_GPU_CLOCK: u64 = 9;

/// `RELEASE_MEM`'s `DATA_SEL`: nothing is written.
pub const DATA_NONE: u64 = 0;
/// `DATA_SEL`: 32 bits.
pub const DATA_32: u64 = 1;
/// `DATA_SEL`: 64 bits.
pub const DATA_64: u64 = 2;
/// `DATA_SEL`: the clock of 100 MHz.
pub const DATA_CLOCK: u64 = 3;

/// `RELEASE_MEM`'s `INT_SEL`: none.
pub const INT_NONE: u64 = 0;
/// `INT_SEL`: an interrupt.
pub const INT_ONLY: u64 = 1;
/// `INT_SEL`: an interrupt after the write.
pub const INT_AFTER_WRITE: u64 = 2;
/// `INT_SEL`: none, but the write is confirmed, as it is with [`INT_AFTER_WRITE`].
pub const INT_DATA_AFTER_WRITE: u64 = 3;

/// `WaitRegMem::MEM_SPACE`: memory.
pub const SPACE_MEMORY: u64 = 1;
/// `WaitRegMem::OPERATION`: wait.
pub const OPERATION_WAIT: u64 = 0;
/// `WaitRegMem::MEM_SPACE`: a register.
pub const SPACE_REGISTER: u64 = 0;
/// `WaitRegMem::OPERATION`: store the reference in the register that the address's low word names,
/// then wait for the one that its high word names.
pub const OPERATION_WRITE_WAIT: u64 = 1;
/// `WaitRegMem::OPERATION`: wait, in a queue that may be preempted meanwhile.
pub const OPERATION_WAIT_PREEMPTABLE: u64 = 3;

/// `WaitRegMem::FUNCTION`: at once.
pub const WAIT_ALWAYS: u64 = 0;
/// `FUNCTION`: below the reference.
pub const WAIT_LESS: u64 = 1;
/// `FUNCTION`: not above it.
pub const WAIT_LESS_EQUAL: u64 = 2;
/// `FUNCTION`: equal.
pub const WAIT_EQUAL: u64 = 3;
/// `FUNCTION`: not equal.
pub const WAIT_NOT_EQUAL: u64 = 4;
/// `FUNCTION`: not below it.
pub const WAIT_GREATER_EQUAL: u64 = 5;
/// `FUNCTION`: above it.
pub const WAIT_GREATER: u64 = 6;

/// The layouts that gfx9's header (`soc15d.h`) defines.
pub const GFX9: &[LayoutInfo] = &[
    LayoutInfo::of::<WriteData>(),
    LayoutInfo::of::<WaitRegMem>(),
    LayoutInfo::of::<IndirectBuffer>(),
    LayoutInfo::of::<CopyData>(),
    LayoutInfo::of::<EventWrite>(),
    LayoutInfo::of::<SetShReg>(),
    LayoutInfo::of::<SetUconfigReg>(),
    LayoutInfo::of::<DispatchDirect>(),
    LayoutInfo::of::<PredExec>(),
    LayoutInfo::of::<ReleaseMem9>(),
    LayoutInfo::of::<AcquireMem9>(),
];

/// The layouts that the header of gfx10 and later (`nvd.h`) defines.
pub const GFX10: &[LayoutInfo] = &[
    LayoutInfo::of::<WriteData>(),
    LayoutInfo::of::<WaitRegMem>(),
    LayoutInfo::of::<IndirectBuffer>(),
    LayoutInfo::of::<CopyData>(),
    LayoutInfo::of::<EventWrite>(),
    LayoutInfo::of::<SetShReg>(),
    LayoutInfo::of::<SetUconfigReg>(),
    LayoutInfo::of::<DispatchDirect>(),
    LayoutInfo::of::<ReleaseMem10>(),
    LayoutInfo::of::<AcquireMem10>(),
];

/// Constants of both, and their names in both headers.
pub const CONSTANTS: &[(u64, &str)] = &[
    (op::DISPATCH_DIRECT as u64, "PACKET3_DISPATCH_DIRECT"),
    (op::WAIT_REG_MEM as u64, "PACKET3_WAIT_REG_MEM"),
    (op::INDIRECT_BUFFER as u64, "PACKET3_INDIRECT_BUFFER"),
    (op::COPY_DATA as u64, "PACKET3_COPY_DATA"),
    (op::EVENT_WRITE as u64, "PACKET3_EVENT_WRITE"),
    (op::RELEASE_MEM as u64, "PACKET3_RELEASE_MEM"),
    (op::ACQUIRE_MEM as u64, "PACKET3_ACQUIRE_MEM"),
    (op::SET_SH_REG as u64, "PACKET3_SET_SH_REG"),
    (op::SET_UCONFIG_REG as u64, "PACKET3_SET_UCONFIG_REG"),
    (op::PRED_EXEC as u64, "PACKET3_PRED_EXEC"),
    (UCONFIG as u64, "PACKET3_SET_UCONFIG_REG_START"),
    (EVENT_CS_PARTIAL_FLUSH, "CS_PARTIAL_FLUSH"),
    (EVENT_CACHE_FLUSH_AND_INV_TS, "CACHE_FLUSH_AND_INV_TS_EVENT"),
    (EVENT_BOTTOM_OF_PIPE_TS, "BOTTOM_OF_PIPE_TS"),
    (EVENT_CS_DONE, "CS_DONE"),
    (INDEX_OTHER, "PACKET3_EVENT_WRITE__EVENT_INDEX__OTHER"),
    (
        INDEX_CS_PARTIAL_FLUSH,
        "PACKET3_EVENT_WRITE__EVENT_INDEX__CS_PARTIAL_FLUSH",
    ),
    (
        SEL_REGISTER,
        "PACKET3_WRITE_DATA__DST_SEL__MEM_MAPPED_REGISTER",
    ),
    (
        SEL_REGISTER,
        "PACKET3_COPY_DATA__SRC_SEL__MEM_MAPPED_REGISTER",
    ),
    (SEL_TC_L2, "PACKET3_WRITE_DATA__DST_SEL__TC_L2"),
    (SEL_TC_L2, "PACKET3_COPY_DATA__SRC_SEL__TC_L2"),
    (SEL_TC_L2, "PACKET3_COPY_DATA__DST_SEL__TC_L2"),
    (DST_MEMORY, "PACKET3_WRITE_DATA__DST_SEL__MEMORY"),
    (SRC_IMMEDIATE, "PACKET3_COPY_DATA__SRC_SEL__IMMEDIATE_DATA"),
    (SRC_GPU_CLOCK, "PACKET3_COPY_DATA__SRC_SEL__GPU_CLOCK_COUNT"),
    (
        SPACE_MEMORY,
        "PACKET3_WAIT_REG_MEM__MEM_SPACE__MEMORY_SPACE",
    ),
    (
        SPACE_REGISTER,
        "PACKET3_WAIT_REG_MEM__MEM_SPACE__REGISTER_SPACE",
    ),
    (
        OPERATION_WRITE_WAIT,
        "PACKET3_WAIT_REG_MEM__OPERATION__WR_WAIT_WR_REG",
    ),
    (
        OPERATION_WAIT,
        "PACKET3_WAIT_REG_MEM__OPERATION__WAIT_REG_MEM",
    ),
    (
        OPERATION_WAIT_PREEMPTABLE,
        "PACKET3_WAIT_REG_MEM__OPERATION__WAIT_MEM_PREEMPTABLE",
    ),
    (WAIT_ALWAYS, "PACKET3_WAIT_REG_MEM__FUNCTION__ALWAYS_PASS"),
    (
        WAIT_LESS,
        "PACKET3_WAIT_REG_MEM__FUNCTION__LESS_THAN_REF_VALUE",
    ),
    (
        WAIT_LESS_EQUAL,
        "PACKET3_WAIT_REG_MEM__FUNCTION__LESS_THAN_EQUAL_TO_THE_REF_VALUE",
    ),
    (
        WAIT_EQUAL,
        "PACKET3_WAIT_REG_MEM__FUNCTION__EQUAL_TO_THE_REFERENCE_VALUE",
    ),
    (
        WAIT_NOT_EQUAL,
        "PACKET3_WAIT_REG_MEM__FUNCTION__NOT_EQUAL_REFERENCE_VALUE",
    ),
    (
        WAIT_GREATER_EQUAL,
        "PACKET3_WAIT_REG_MEM__FUNCTION__GREATER_THAN_OR_EQUAL_REFERENCE_VALUE",
    ),
    (
        WAIT_GREATER,
        "PACKET3_WAIT_REG_MEM__FUNCTION__GREATER_THAN_REFERENCE_VALUE",
    ),
];
