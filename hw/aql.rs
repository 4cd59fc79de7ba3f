// SPDX-License-Identifier: MIT OR Apache-2.0

//! AQL: the packets that a user program writes into a queue's ring, and the objects they name.
//!
//! Source: HSA Platform System Architecture 1.2, sections 2.6 (queues), 2.9 (packets), 2.4
//! (signals); HSA Runtime `hsa.h`, `hsa_ext_amd.h`, `amd_hsa_queue.h`, `amd_hsa_signal.h`,
//! `amd_hsa_kernel_code.h`; LLVM AMDGPUUsage, "Kernel Descriptor".
//!
//! A packet is 64 bytes. The type in the header shows its owner: the packet processor may
//! read the packet once the type is no longer [`TYPE_INVALID`], so a producer writes the header
//! last, with release order, and the processor makes it invalid again when the slot is free.

use super::layout::*;

/// Bytes in a packet, and in a ring slot.
pub const PACKET_SIZE: usize = 64;

/// Packet type: one of the vendor's, which [`Vendor`] takes apart further.
pub const TYPE_VENDOR_SPECIFIC: u8 = 0;
/// Packet type: the slot is free, or being written.
pub const TYPE_INVALID: u8 = 1;
/// Packet type: start a kernel.
pub const TYPE_KERNEL_DISPATCH: u8 = 2;
/// Packet type: wait until all of up to five signals are zero.
pub const TYPE_BARRIER_AND: u8 = 3;
/// Packet type: a job for an agent that is not this processor.
pub const TYPE_AGENT_DISPATCH: u8 = 4;
/// Packet type: wait until one of up to five signals is zero.
pub const TYPE_BARRIER_OR: u8 = 5;

/// Fence scope: none.
pub const FENCE_NONE: u8 = 0;
/// Fence scope: the agent.
pub const FENCE_AGENT: u8 = 1;
/// Fence scope: the system.
pub const FENCE_SYSTEM: u8 = 2;

/// The first half word of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// One of the `TYPE_` constants; other values are not defined.
    pub packet_type: u8,
    /// The packet waits until all packets before it are complete.
    pub barrier: bool,
    /// Fence before the packet's work, one of the `FENCE_` constants.
    pub acquire: u8,
    /// Fence after the packet's work.
    pub release: u8,
}

impl Header {
    /// The half word as it stands in the packet (`hsa_packet_header_t` bit positions).
    pub const fn bits(self) -> u16 {
        self.packet_type as u16
            | ((self.barrier as u16) << 8)
            | ((self.acquire as u16 & 3) << 9)
            | ((self.release as u16 & 3) << 11)
    }

    /// Takes a half word apart; `None` when a reserved bit or the undefined scope 3 is set.
    pub const fn parse(bits: u16) -> Option<Self> {
        let header = Self {
            packet_type: bits as u8,
            barrier: bits & (1 << 8) != 0,
            acquire: ((bits >> 9) & 3) as u8,
            release: ((bits >> 11) & 3) as u8,
        };
        if bits >> 13 != 0 || header.acquire == 3 || header.release == 3 {
            return None;
        }
        Some(header)
    }
}

layout! {
    /// A kernel-dispatch packet.
    pub struct KernelDispatch: [u32; 16] = "hsa_kernel_dispatch_packet_t" {
        /// See [`Header`].
        HEADER: 0[15:0] = "header";
        /// Number of grid dimensions in bits 1:0; the rest is reserved.
        SETUP: 0[31:16] = "setup";
        /// Work-items of a work-group in x, at least 1.
        WORKGROUP_SIZE_X: 1[15:0] = "workgroup_size_x";
        WORKGROUP_SIZE_Y: 1[31:16] = "workgroup_size_y";
        WORKGROUP_SIZE_Z: 2[15:0] = "workgroup_size_z";
        RESERVED0: 2[31:16] = "reserved0";
        /// Work-items of the whole grid in x (not work-groups), at least 1.
        GRID_SIZE_X: 3[31:0] = "grid_size_x";
        GRID_SIZE_Y: 4[31:0] = "grid_size_y";
        GRID_SIZE_Z: 5[31:0] = "grid_size_z";
        /// Scratch bytes of one work-item.
        PRIVATE_SEGMENT_SIZE: 6[31:0] = "private_segment_size";
        /// LDS bytes of one work-group.
        GROUP_SEGMENT_SIZE: 7[31:0] = "group_segment_size";
        /// GPU address of the kernel descriptor, a multiple of 64.
        KERNEL_OBJECT: 8[63:0] = "kernel_object";
        /// GPU address of the kernel's arguments, a multiple of 16.
        KERNARG_ADDRESS: 10[63:0] = "kernarg_address";
        RESERVED2: 12[63:0] = "reserved2";
        /// GPU address of the signal to decrement at completion, or 0.
        COMPLETION_SIGNAL: 14[63:0] = "completion_signal.handle";
    }

    /// A barrier packet of either kind ([`TYPE_BARRIER_AND`], [`TYPE_BARRIER_OR`]).
    pub struct Barrier: [u32; 16] = "hsa_barrier_and_packet_t" {
        HEADER: 0[15:0] = "header";
        RESERVED0: 0[31:16] = "reserved0";
        RESERVED1: 1[31:0] = "reserved1";
        /// GPU address of a signal to wait for, or 0.
        DEP_SIGNAL_0: 2[63:0] = "dep_signal[0].handle";
        DEP_SIGNAL_1: 4[63:0] = "dep_signal[1].handle";
        DEP_SIGNAL_2: 6[63:0] = "dep_signal[2].handle";
        DEP_SIGNAL_3: 8[63:0] = "dep_signal[3].handle";
        DEP_SIGNAL_4: 10[63:0] = "dep_signal[4].handle";
        RESERVED2: 12[63:0] = "reserved2";
        COMPLETION_SIGNAL: 14[63:0] = "completion_signal.handle";
    }

    /// What all packets of the vendor begin with.
    pub struct Vendor: [u32; 16] = "hsa_amd_barrier_value_packet_t" {
        HEADER: 0[15:0] = "header.header";
        /// One of the `VENDOR_` constants.
        FORMAT: 0[23:16] = "header.AmdFormat";
        RESERVED: 0[31:24] = "header.reserved";
    }

    /// A vendor's packet that waits for one signal's value ([`VENDOR_BARRIER_VALUE`]).
    pub struct BarrierValue: [u32; 16] = "hsa_amd_barrier_value_packet_t" {
        HEADER: 0[15:0] = "header.header";
        FORMAT: 0[23:16] = "header.AmdFormat";
        RESERVED: 0[31:24] = "header.reserved";
        RESERVED0: 1[31:0] = "reserved0";
        /// GPU address of the signal to wait for, or 0.
        SIGNAL: 2[63:0] = "signal.handle";
        /// What its value is compared with, as signed numbers.
        VALUE: 4[63:0] = "value";
        /// What the signal's value is masked with before.
        MASK: 6[63:0] = "mask";
        /// One of the `CONDITION_` constants.
        COND: 8[31:0] = "cond";
        RESERVED1: 9[31:0] = "reserved1";
        RESERVED2: 10[63:0] = "reserved2";
        RESERVED3: 12[63:0] = "reserved3";
        COMPLETION_SIGNAL: 14[63:0] = "completion_signal.handle";
    }

    /// A vendor's packet that names PM4 commands ([`VENDOR_PM4_IB`]). It is ROCr's own, in no
    /// header (`AqlQueue::ExecutePM4`).
    pub struct Pm4Ib: [u32; 16] = "" {
        HEADER: 0[15:0] = "";
        FORMAT: 0[23:16] = "";
        RESERVED: 0[31:24] = "";
        /// Word 0 of an INDIRECT_BUFFER packet of PM4; words 1 and 2, 3 follow.
        IB_JUMP_CMD_0: 1[31:0] = "";
        IB_JUMP_CMD_1: 2[63:0] = "";
        IB_JUMP_CMD_3: 4[31:0] = "";
        /// Words of the packet that follow this one: [`PM4_IB_REMAIN`].
        DW_CNT_REMAIN: 5[31:0] = "";
        RESERVED0: 6[63:0] = "";
        RESERVED1: 8[63:0] = "";
        RESERVED2: 10[63:0] = "";
        RESERVED3: 12[63:0] = "";
        COMPLETION_SIGNAL: 14[63:0] = "";
    }

    /// A signal in memory. The packet processor decrements the value and, when `EVENT_MAILBOX_PTR`
    /// is not 0, writes `EVENT_ID` there and raises an end-of-pipe interrupt carrying it.
    pub struct Signal: [u32; 16] = "amd_signal_t" {
        /// [`SIGNAL_KIND_USER`] or [`SIGNAL_KIND_DOORBELL`].
        KIND: 0[63:0] = "kind";
        VALUE: 2[63:0] = "value";
        /// GPU address of the event's slot in the signal page.
        EVENT_MAILBOX_PTR: 4[63:0] = "event_mailbox_ptr";
        EVENT_ID: 6[31:0] = "event_id";
        RESERVED1: 7[31:0] = "reserved1";
        /// Device clock when the kernel started.
        START_TS: 8[63:0] = "start_ts";
        /// Device clock when it ended.
        END_TS: 10[63:0] = "end_ts";
        QUEUE_PTR: 12[63:0] = "queue_ptr";
        RESERVED3: 14[63:0] = "reserved3[0]+reserved3[1]";
    }

    /// A kernel descriptor: what a dispatch packet's `KERNEL_OBJECT` points at.
    pub struct KernelDescriptor: [u32; 16] = "" {
        GROUP_SEGMENT_FIXED_SIZE: 0[31:0] = "";
        PRIVATE_SEGMENT_FIXED_SIZE: 1[31:0] = "";
        KERNARG_SIZE: 2[31:0] = "";
        /// Signed distance in bytes from the descriptor to the first instruction.
        KERNEL_CODE_ENTRY_BYTE_OFFSET: 4[63:0] = "";
        COMPUTE_PGM_RSRC3: 11[31:0] = "";
        COMPUTE_PGM_RSRC1: 12[31:0] = "";
        COMPUTE_PGM_RSRC2: 13[31:0] = "";
        KERNEL_CODE_PROPERTIES: 14[15:0] = "";
        KERNARG_PRELOAD: 14[31:16] = "";
    }
}

/// Format of a vendor's packet: [`Pm4Ib`].
pub const VENDOR_PM4_IB: u8 = 1;
/// Format of a vendor's packet: [`BarrierValue`].
pub const VENDOR_BARRIER_VALUE: u8 = 2;
/// [`Pm4Ib::DW_CNT_REMAIN`].
pub const PM4_IB_REMAIN: u64 = 10;

/// [`BarrierValue::COND`]: equal.
pub const CONDITION_EQ: u32 = 0;
/// [`BarrierValue::COND`]: not equal.
pub const CONDITION_NE: u32 = 1;
/// [`BarrierValue::COND`]: less.
pub const CONDITION_LT: u32 = 2;
/// [`BarrierValue::COND`]: greater or equal.
pub const CONDITION_GTE: u32 = 3;

/// Signal kind: invalid.
pub const SIGNAL_KIND_INVALID: i64 = 0;
/// Signal kind: a value in memory.
pub const SIGNAL_KIND_USER: i64 = 1;
/// Signal kind: a doorbell.
pub const SIGNAL_KIND_DOORBELL: i64 = -1;

/// The layouts of this file with a C counterpart.
pub const LAYOUTS: &[LayoutInfo] = &[
    LayoutInfo::of::<KernelDispatch>(),
    LayoutInfo::of::<Barrier>(),
    LayoutInfo::of::<Vendor>(),
    LayoutInfo::of::<BarrierValue>(),
    LayoutInfo::of::<Signal>(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip_and_reserved_bits_are_refused() {
        for bits in 0..=u16::MAX {
            let reserved = bits >> 13 != 0 || (bits >> 9) & 3 == 3 || (bits >> 11) & 3 == 3;
            match Header::parse(bits) {
                Some(header) => assert_eq!((header.bits(), reserved), (bits, false)),
                None => assert!(reserved, "{bits:#x}"),
            }
        }
    }
}
