// SPDX-License-Identifier: MIT OR Apache-2.0

//! MQDs: the memory image of a queue, from which the firmware loads a hardware queue (HQD).
//!
//! One generated table per generation. In a compute MQD, the words from 128 on are the registers
//! from CP_MQD_BASE_ADDR on, in order ([`FIRST_HQD_WORD`]), so their fields are those of
//! [`super::regs`].

#[rustfmt::skip]
pub mod v12;
#[rustfmt::skip]
pub mod v9;

use super::layout::*;

/// The first word of a compute MQD (PM4 type 3, opcode 0x10, 51 words).
///
/// Source: Linux, `amdkfd/kfd_mqd_manager_v9.c`, `init_mqd`.
pub const COMPUTE_HEADER: u32 = 0xc031_0800;
/// The word of a compute MQD that holds CP_MQD_BASE_ADDR; the registers follow in order.
pub const FIRST_HQD_WORD: usize = 128;
/// Number of words from [`FIRST_HQD_WORD`] that are registers, up to CP_HQD_PQ_WPTR_HI.
pub const HQD_WORDS: usize = 56;

layout! { loose;
    /// What a compute MQD of any generation has at the same place: above all the HQD registers'
    /// words.
    pub struct Common: [u32; 512] = "" {
        HEADER: 0[31:0] = "";
        COMPUTE_DISPATCH_INITIATOR: 1[31:0] = "";
        COMPUTE_DIM_X: 2[31:0] = "";
        COMPUTE_DIM_Y: 3[31:0] = "";
        COMPUTE_DIM_Z: 4[31:0] = "";
        COMPUTE_START_X: 5[31:0] = "";
        COMPUTE_START_Y: 6[31:0] = "";
        COMPUTE_START_Z: 7[31:0] = "";
        /// Work-items of a workgroup in bits 15:0, of the last one in 31:16.
        COMPUTE_NUM_THREAD_X: 8[31:0] = "";
        COMPUTE_NUM_THREAD_Y: 9[31:0] = "";
        COMPUTE_NUM_THREAD_Z: 10[31:0] = "";
        /// Address of the first instruction, divided by 256.
        COMPUTE_PGM: 13[63:0] = "";
        COMPUTE_PGM_RSRC1: 19[31:0] = "";
        COMPUTE_PGM_RSRC2: 20[31:0] = "";
        COMPUTE_STATIC_THREAD_MGMT_SE0: 23[31:0] = "";
        COMPUTE_STATIC_THREAD_MGMT_SE1: 24[31:0] = "";
        COMPUTE_TMPRING_SIZE: 25[31:0] = "";
        COMPUTE_STATIC_THREAD_MGMT_SE2: 26[31:0] = "";
        COMPUTE_STATIC_THREAD_MGMT_SE3: 27[31:0] = "";
        COMPUTE_USER_DATA_0: 65[31:0] = "";
        COMPUTE_USER_DATA_15: 80[31:0] = "";
        CP_MQD_READINDEX: 96[63:0] = "";
        CP_MQD_BASE_ADDR: 128[63:0] = "";
        CP_HQD_ACTIVE: 130[31:0] = "";
        CP_HQD_VMID: 131[31:0] = "";
        CP_HQD_PERSISTENT_STATE: 132[31:0] = "";
        CP_HQD_PIPE_PRIORITY: 133[31:0] = "";
        CP_HQD_QUEUE_PRIORITY: 134[31:0] = "";
        CP_HQD_QUANTUM: 135[31:0] = "";
        CP_HQD_PQ_BASE: 136[63:0] = "";
        CP_HQD_PQ_RPTR: 138[31:0] = "";
        CP_HQD_PQ_RPTR_REPORT_ADDR: 139[63:0] = "";
        CP_HQD_PQ_WPTR_POLL_ADDR: 141[63:0] = "";
        CP_HQD_PQ_DOORBELL_CONTROL: 143[31:0] = "";
        CP_HQD_PQ_CONTROL: 145[31:0] = "";
        CP_HQD_IB_BASE_ADDR: 146[63:0] = "";
        CP_HQD_IB_RPTR: 148[31:0] = "";
        CP_HQD_IB_CONTROL: 149[31:0] = "";
        CP_HQD_IQ_TIMER: 150[31:0] = "";
        CP_HQD_IQ_RPTR: 151[31:0] = "";
        CP_HQD_DEQUEUE_REQUEST: 152[31:0] = "";
        CP_HQD_DMA_OFFLOAD: 153[31:0] = "";
        CP_HQD_SEMA_CMD: 154[31:0] = "";
        CP_HQD_MSG_TYPE: 155[31:0] = "";
        CP_HQD_ATOMIC0_PREOP: 156[63:0] = "";
        CP_HQD_ATOMIC1_PREOP: 158[63:0] = "";
        CP_HQD_HQ_STATUS0: 160[31:0] = "";
        CP_HQD_HQ_CONTROL0: 161[31:0] = "";
        CP_MQD_CONTROL: 162[31:0] = "";
        CP_HQD_HQ_STATUS1: 163[31:0] = "";
        CP_HQD_HQ_CONTROL1: 164[31:0] = "";
        CP_HQD_EOP_BASE_ADDR: 165[63:0] = "";
        CP_HQD_EOP_CONTROL: 167[31:0] = "";
        CP_HQD_EOP_RPTR: 168[31:0] = "";
        CP_HQD_EOP_WPTR: 169[31:0] = "";
        CP_HQD_EOP_DONE_EVENTS: 170[31:0] = "";
        CP_HQD_CTX_SAVE_BASE_ADDR: 171[63:0] = "";
        CP_HQD_CTX_SAVE_CONTROL: 173[31:0] = "";
        CP_HQD_CNTL_STACK_OFFSET: 174[31:0] = "";
        CP_HQD_CNTL_STACK_SIZE: 175[31:0] = "";
        CP_HQD_WG_STATE_OFFSET: 176[31:0] = "";
        CP_HQD_CTX_SAVE_SIZE: 177[31:0] = "";
        CP_HQD_ERROR: 179[31:0] = "";
        CP_HQD_EOP_WPTR_MEM: 180[31:0] = "";
        CP_HQD_AQL_CONTROL: 181[31:0] = "";
        CP_HQD_PQ_WPTR: 182[63:0] = "";
    }
}

/// COMPUTE_DISPATCH_SCRATCH_BASE, divided by 256, in a compute MQD: by the order of the registers;
/// Linux's structure for gfx9 has other names there.
pub const COMPUTE_DISPATCH_SCRATCH_BASE: Field<Common, 64> = Field::new(17, 0);

/// The layouts of this folder.
pub const LAYOUTS: &[LayoutInfo] = &[
    LayoutInfo::of::<v9::ComputeMqd>(),
    LayoutInfo::of::<v9::SdmaMqd>(),
    LayoutInfo::of::<v12::ComputeMqd>(),
    LayoutInfo::of::<v12::SdmaMqd>(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_common_is_in_every_generation() {
        for all in [v9::ComputeMqd::FIELDS, v12::ComputeMqd::FIELDS] {
            for field in Common::FIELDS {
                let same = |f: &&FieldInfo| f.name == field.name;
                let found = all.iter().find(same).map(|f| (f.bit, f.width));
                assert_eq!(found, Some((field.bit, field.width)), "{}", field.name);
            }
        }
    }
}
