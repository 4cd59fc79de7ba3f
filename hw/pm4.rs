// SPDX-License-Identifier: MIT OR Apache-2.0

//! PM4 type-3 packets of the scheduling firmware: what the driver writes into KIQ and HIQ. Those
//! that a process writes are in [`commands`].
//!
//! Sources: Linux, `amdkfd/kfd_pm4_headers_ai.h`, `kfd_pm4_headers_aldebaran.h`,
//! `amdgpu/soc15d.h`. Addresses in two words are low word first.

pub mod commands;

use super::layout::*;

/// Opcodes of type-3 packets (`soc15d.h`, `PACKET3_*`).
pub mod op {
    /// `PACKET3_NOP`.
    pub const NOP: u8 = 0x10;
    /// `PACKET3_WRITE_DATA`.
    pub const WRITE_DATA: u8 = 0x37;
    /// `PACKET3_INVALIDATE_TLBS`.
    pub const INVALIDATE_TLBS: u8 = 0x98;
    /// `PACKET3_SET_RESOURCES`.
    pub const SET_RESOURCES: u8 = 0xa0;
    /// `PACKET3_MAP_PROCESS`.
    pub const MAP_PROCESS: u8 = 0xa1;
    /// `PACKET3_MAP_QUEUES`.
    pub const MAP_QUEUES: u8 = 0xa2;
    /// `PACKET3_UNMAP_QUEUES`.
    pub const UNMAP_QUEUES: u8 = 0xa3;
    /// `PACKET3_QUERY_STATUS`.
    pub const QUERY_STATUS: u8 = 0xa4;
    /// `PACKET3_RUN_LIST`.
    pub const RUN_LIST: u8 = 0xa5;
}

/// The name of an opcode, for traces.
pub const fn name(opcode: u8) -> Option<&'static str> {
    Some(match opcode {
        op::NOP => "NOP",
        op::WRITE_DATA => "WRITE_DATA",
        op::INVALIDATE_TLBS => "INVALIDATE_TLBS",
        op::SET_RESOURCES => "SET_RESOURCES",
        op::MAP_PROCESS => "MAP_PROCESS",
        op::MAP_QUEUES => "MAP_QUEUES",
        op::UNMAP_QUEUES => "UNMAP_QUEUES",
        op::QUERY_STATUS => "QUERY_STATUS",
        op::RUN_LIST => "RUN_LIST",
        _ => return None,
    })
}

/// The header of a type-3 packet of `words` words in all (at least 2).
pub const fn header(opcode: u8, words: u32) -> u32 {
    (3 << 30) | ((words.wrapping_sub(2) & 0x3fff) << 16) | ((opcode as u32) << 8)
}

/// A type-3 packet of a single word, which its count field encodes as 0x3fff: only NOP has it.
pub const FILLER: u32 = header(op::NOP, 1);

/// Takes a type-3 header apart: opcode and size in words. `None` for other packet types and for
/// headers with reserved bits (7:0) set.
pub const fn parse_header(word: u32) -> Option<(u8, u32)> {
    if word >> 30 != 3 || word & 0xff != 0 {
        return None;
    }
    let count = (word >> 16) & 0x3fff;
    let words = if count == 0x3fff {
        1
    } else {
        count.wrapping_add(2)
    };
    Some(((word >> 8) as u8, words))
}

layout! {
    /// SET_RESOURCES: what a scheduler may hand out. The first packet of KIQ and of HIQ.
    pub struct SetResources: [u32; 8] = "struct pm4_mes_set_resources" {
        HEADER: 0[31:0] = "header.u32All";
        /// VMIDs the firmware may give to processes, one bit each.
        VMID_MASK: 1[15:0] = "bitfields2.vmid_mask";
        /// Longest time an unmap may take before a queue counts as hung, in units of 100 ms.
        UNMAP_LATENCY: 1[23:16] = "bitfields2.unmap_latency";
        ENB_XNACK_RETRY_DISABLE_CHECK: 1[28:28] = "bitfields2.enb_xnack_retry_disable_check";
        /// Who sends it: [`RESOURCES_KIQ`] or [`RESOURCES_HIQ`].
        QUEUE_TYPE: 1[31:29] = "bitfields2.queue_type";
        /// HQDs the firmware may use, one bit each, by pipe and queue.
        QUEUE_MASK: 2[63:0] = "queue_mask_lo+queue_mask_hi";
        GWS_MASK: 4[63:0] = "gws_mask_lo+gws_mask_hi";
        /// Of the KIQ: the cleaner shader's address in address space 0, in units of 256 bytes, 0 without one
        /// (`gfx_v9_4_3_kiq_set_resources`).
        KIQ_CLEANER_ADDR: 4[63:0] = "gws_mask_lo+gws_mask_hi";
        OAC_MASK: 6[15:0] = "bitfields7.oac_mask";
        GDS_HEAP_BASE: 7[9:0] = "bitfields8.gds_heap_base";
        GDS_HEAP_SIZE: 7[20:11] = "bitfields8.gds_heap_size";
    }

    /// RUN_LIST: run what the indirect buffer lists.
    pub struct RunList: [u32; 4] = "struct pm4_mes_runlist" {
        HEADER: 0[31:0] = "header.u32All";
        /// Low word of the buffer's address, divided by 4.
        IB_BASE_LO: 1[31:2] = "bitfields2.ib_base_lo";
        IB_BASE_HI: 2[31:0] = "ib_base_hi";
        /// Size of the buffer in words.
        IB_SIZE: 3[19:0] = "bitfields4.ib_size";
        /// The buffer starts over when its end is reached (over-subscription).
        CHAIN: 3[20:20] = "bitfields4.chain";
        OFFLOAD_POLLING: 3[21:21] = "bitfields4.offload_polling";
        CHAINED_RUNLIST_IDLE_DISABLE: 3[22:22] = "bitfields4.chained_runlist_idle_disable";
        VALID: 3[23:23] = "bitfields4.valid";
        /// Number of processes that run at a time.
        PROCESS_CNT: 3[27:24] = "bitfields4.process_cnt";
    }

    /// MAP_PROCESS of gfx90a and gfx942: the address space that the following MAP_QUEUES use.
    pub struct MapProcess: [u32; 21] = "struct pm4_mes_map_process_aldebaran" {
        HEADER: 0[31:0] = "header.u32All";
        PASID: 1[15:0] = "bitfields2.pasid";
        SINGLE_MEMOPS: 1[16:16] = "bitfields2.single_memops";
        EXEC_CLEANER_SHADER: 1[17:17] = "bitfields2.exec_cleaner_shader";
        DEBUG_VMID: 1[21:18] = "bitfields2.debug_vmid";
        NEW_DEBUG: 1[22:22] = "bitfields2.new_debug";
        TMZ: 1[23:23] = "bitfields2.tmz";
        DIQ_ENABLE: 1[24:24] = "bitfields2.diq_enable";
        /// Time slice under over-subscription.
        PROCESS_QUANTUM: 1[31:25] = "bitfields2.process_quantum";
        /// Root page directory, in the form of VM_CONTEXTn_PAGE_TABLE_BASE_ADDR.
        PAGE_TABLE_BASE: 2[63:0] =
            "vm_context_page_table_base_addr_lo32+vm_context_page_table_base_addr_hi32";
        SH_MEM_BASES: 4[31:0] = "sh_mem_bases";
        SH_MEM_CONFIG: 5[31:0] = "sh_mem_config";
        /// Trap handler address, divided by 256.
        SQ_SHADER_TBA: 6[63:0] = "sq_shader_tba_lo+sq_shader_tba_hi";
        SQ_SHADER_TMA: 8[63:0] = "sq_shader_tma_lo+sq_shader_tma_hi";
        GDS_ADDR: 11[63:0] = "gds_addr_lo+gds_addr_hi";
        NUM_GWS: 13[6:0] = "bitfields14.num_gws";
        SDMA_ENABLE: 13[7:7] = "bitfields14.sdma_enable";
        NUM_OAC: 13[11:8] = "bitfields14.num_oac";
        GDS_SIZE_HI: 13[15:12] = "bitfields14.gds_size_hi";
        GDS_SIZE: 13[21:16] = "bitfields14.gds_size";
        /// Number of MAP_QUEUES packets that belong to the process.
        NUM_QUEUES: 13[31:22] = "bitfields14.num_queues";
        SPI_GDBG_PER_VMID_CNTL: 14[31:0] = "spi_gdbg_per_vmid_cntl";
        TCP_WATCH_CNTL_0: 15[31:0] = "tcp_watch_cntl[0]";
        TCP_WATCH_CNTL_1: 16[31:0] = "tcp_watch_cntl[1]";
        TCP_WATCH_CNTL_2: 17[31:0] = "tcp_watch_cntl[2]";
        TCP_WATCH_CNTL_3: 18[31:0] = "tcp_watch_cntl[3]";
        COMPLETION_SIGNAL: 19[63:0] = "completion_signal_lo+completion_signal_hi";
    }

    /// MAP_QUEUES as HIQ takes it: the firmware chooses the HQD.
    pub struct MapQueues: [u32; 7] = "struct pm4_mes_map_queues" {
        HEADER: 0[31:0] = "header.u32All";
        EXTENDED_ENGINE_SEL: 1[3:2] = "bitfields2.extended_engine_sel";
        /// 0: the slot that the packet names; 1: the firmware's choice.
        QUEUE_SEL: 1[5:4] = "bitfields2.queue_sel";
        GWS_CONTROL_QUEUE: 1[12:12] = "bitfields2.gws_control_queue";
        QUEUE_TYPE: 1[23:21] = "bitfields2.queue_type";
        ENGINE_SEL: 1[28:26] = "bitfields2.engine_sel";
        NUM_QUEUES: 1[31:29] = "bitfields2.num_queues";
        CHECK_DISABLE: 2[1:1] = "bitfields3.check_disable";
        /// Doorbell as a word index on the doorbell BAR.
        DOORBELL_OFFSET: 2[27:2] = "bitfields3.doorbell_offset";
        MQD_ADDR: 3[63:0] = "mqd_addr_lo+mqd_addr_hi";
        WPTR_ADDR: 5[63:0] = "wptr_addr_lo+wptr_addr_hi";
    }

    /// UNMAP_QUEUES: take queues off the hardware, saving their state.
    pub struct UnmapQueues: [u32; 6] = "struct pm4_mes_unmap_queues" {
        HEADER: 0[31:0] = "header.u32All";
        /// One of the `UNMAP_` actions.
        ACTION: 1[1:0] = "bitfields2.action";
        EXTENDED_ENGINE_SEL: 1[3:2] = "bitfields2.extended_engine_sel";
        /// One of the `SELECT_` constants.
        QUEUE_SEL: 1[5:4] = "bitfields2.queue_sel";
        ENGINE_SEL: 1[28:26] = "bitfields2.engine_sel";
        NUM_QUEUES: 1[31:29] = "bitfields2.num_queues";
        /// With [`SELECT_PASID`]: bits 15:0. With [`SELECT_DOORBELL`]: doorbell word index << 2.
        DOORBELL_OFFSET0: 2[27:2] = "bitfields3b.doorbell_offset0";
        DOORBELL_OFFSET1: 3[27:2] = "bitfields4.doorbell_offset1";
        DOORBELL_OFFSET2: 4[27:2] = "bitfields5.doorbell_offset2";
        DOORBELL_OFFSET3: 5[27:2] = "bitfields6.doorbell_offset3";
    }

    /// The PASID of [`UnmapQueues`], in the word that its first doorbell shares.
    pub struct UnmapByPasid: [u32; 6] = "struct pm4_mes_unmap_queues" {
        PASID: 2[15:0] = "bitfields3a.pasid";
    }

    /// QUERY_STATUS: write a fence once everything before it is done.
    pub struct QueryStatus: [u32; 7] = "struct pm4_mes_query_status" {
        HEADER: 0[31:0] = "header.u32All";
        CONTEXT_ID: 1[27:0] = "bitfields2.context_id";
        INTERRUPT_SEL: 1[29:28] = "bitfields2.interrupt_sel";
        /// One of the `QUERY_` commands.
        COMMAND: 1[31:30] = "bitfields2.command";
        DOORBELL_OFFSET: 2[27:2] = "bitfields3b.doorbell_offset";
        ENGINE_SEL: 2[30:28] = "bitfields3b.engine_sel";
        ADDR: 3[63:0] = "addr_lo+addr_hi";
        DATA: 5[63:0] = "data_lo+data_hi";
    }
}

/// `SetResources::QUEUE_TYPE`: sent by the kernel interface queue.
pub const RESOURCES_KIQ: u64 = 0;
/// `SetResources::QUEUE_TYPE`: sent by the HSA interface queue.
pub const RESOURCES_HIQ: u64 = 1;

/// `MapQueues::ENGINE_SEL`: SDMA engine 0; engine 1 follows.
pub const ENGINE_SDMA0: u64 = 2;
/// `EXTENDED_ENGINE_SEL`: ENGINE_SEL is a compute queue or one of the first two SDMA engines.
pub const EXTENDED_NONE: u64 = 0;
/// `EXTENDED_ENGINE_SEL`: ENGINE_SEL is an SDMA engine.
pub const EXTENDED_SDMA0_TO_7: u64 = 1;
/// `EXTENDED_ENGINE_SEL`: ENGINE_SEL is an SDMA engine, less 8.
pub const EXTENDED_SDMA8_TO_15: u64 = 2;

/// `UnmapQueues::ACTION`: preempt, saving the state.
pub const UNMAP_PREEMPT: u64 = 0;
/// `UnmapQueues::ACTION`: reset.
pub const UNMAP_RESET: u64 = 1;
/// `UnmapQueues::ACTION`: take no more work of the process.
pub const UNMAP_DISABLE_PROCESS: u64 = 2;

/// `UnmapQueues::QUEUE_SEL`: the doorbells that the packet names.
pub const SELECT_DOORBELL: u64 = 0;
/// `UnmapQueues::QUEUE_SEL`: the queues of one PASID.
pub const SELECT_PASID: u64 = 1;
/// `UnmapQueues::QUEUE_SEL`: all queues.
pub const SELECT_ALL: u64 = 2;
/// `UnmapQueues::QUEUE_SEL`: all queues but the static ones.
pub const SELECT_ALL_NON_STATIC: u64 = 3;

/// `QueryStatus::COMMAND`: interrupt only.
pub const QUERY_INTERRUPT_ONLY: u64 = 0;
/// `QueryStatus::COMMAND`: write the fence at once.
pub const QUERY_FENCE_IMMEDIATE: u64 = 1;
/// `QueryStatus::COMMAND`: write the fence after the packets before have been acknowledged.
pub const QUERY_FENCE_AFTER_ACK: u64 = 2;

/// MAP_QUEUES as KIQ takes it: the driver chooses the HQD. It shares the words of [`MapQueues`];
/// these fields of word 1 have macros only (`soc15d.h`, `PACKET3_MAP_QUEUES_*`).
pub mod kiq_map {
    use super::{Field, MapQueues};
    /// `PACKET3_MAP_QUEUES_VMID`: VMID of the queue.
    pub const VMID: Field<MapQueues, 4> = Field::new(1, 8);
    /// `PACKET3_MAP_QUEUES_QUEUE`: queue number in the pipe.
    pub const QUEUE: Field<MapQueues, 3> = Field::new(1, 13);
    /// `PACKET3_MAP_QUEUES_PIPE`: pipe number.
    pub const PIPE: Field<MapQueues, 2> = Field::new(1, 16);
    /// `PACKET3_MAP_QUEUES_ME`: micro engine: 0 is MEC1, 1 is MEC2.
    pub const ME: Field<MapQueues, 2> = Field::new(1, 18);
    /// `PACKET3_MAP_QUEUES_ALLOC_FORMAT`: allocation format.
    pub const ALLOC_FORMAT: Field<MapQueues, 2> = Field::new(1, 24);
}

layout! {
    /// INVALIDATE_TLBS: forget a process' translations.
    pub struct InvalidateTlbs: [u32; 2] = "PACKET3_INVALIDATE_TLBS" {
        HEADER: 0[31:0] = "";
        /// 1: by PASID (`gfx_v9_4_3_kiq_invalidate_tlbs`, the only value Linux writes).
        DST_SEL: 1[3:0] = "PACKET3_INVALIDATE_TLBS_DST_SEL";
        /// Both hubs, not only the graphics one.
        ALL_HUB: 1[4:4] = "PACKET3_INVALIDATE_TLBS_ALL_HUB";
        PASID: 1[20:5] = "PACKET3_INVALIDATE_TLBS_PASID";
        /// Flush type: 0 legacy, 1 light, 2 heavy.
        FLUSH_TYPE: 1[31:29] = "PACKET3_INVALIDATE_TLBS_FLUSH_TYPE";
    }
}

/// The layouts of this file.
pub const LAYOUTS: &[LayoutInfo] = &[
    LayoutInfo::of::<SetResources>(),
    LayoutInfo::of::<RunList>(),
    LayoutInfo::of::<MapProcess>(),
    LayoutInfo::of::<MapQueues>(),
    LayoutInfo::of::<UnmapQueues>(),
    LayoutInfo::of::<UnmapByPasid>(),
    LayoutInfo::of::<QueryStatus>(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_their_size() {
        for words in 1..=0x4000 {
            assert_eq!(parse_header(header(op::NOP, words)), Some((op::NOP, words)));
        }
        assert_eq!(parse_header(0), None);
        assert_eq!(parse_header(header(op::NOP, 4) | 1), None);
    }
}
