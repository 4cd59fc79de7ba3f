// SPDX-License-Identifier: MIT OR Apache-2.0
//! The 64-byte kernel descriptor that a dispatch packet's `kernel_object` points at.
//!
//! Layout: LLVM, "User Guide for AMDGPU Backend", "Code Object V3 Kernel Descriptor", and the
//! compute_pgm_rsrc2 table; rsrc1 and 3 are the chips' own. A reserved bit that is set, or a
//! feature that is not emulated, is a named error.

use crate::decode::bits;
use crate::fault::MemoryFault;
use std::fmt;

/// Bytes of a descriptor.
pub const DESCRIPTOR_SIZE: usize = 64;

/// Why a descriptor cannot be launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptorError {
    /// It could not be read.
    Memory(MemoryFault),
    /// A reserved field is not zero.
    Reserved(&'static str),
    /// It asks for something that is not emulated.
    Unsupported(&'static str),
}

impl fmt::Display for DescriptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(m) => write!(
                f,
                "kernel descriptor: {:?} at {:#x}: {:?}",
                m.access, m.va, m.reason
            ),
            Self::Reserved(field) => write!(f, "kernel descriptor: reserved bits set in {field}"),
            Self::Unsupported(what) => write!(f, "kernel descriptor: {what} is not emulated"),
        }
    }
}

impl std::error::Error for DescriptorError {}

/// Which user SGPRs the kernel wants, in the order in which they are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the descriptor's")]
pub struct UserSgprs {
    pub private_segment_buffer: bool,
    pub dispatch_ptr: bool,
    pub queue_ptr: bool,
    pub kernarg_segment_ptr: bool,
    pub dispatch_id: bool,
    pub flat_scratch_init: bool,
    pub private_segment_size: bool,
}

/// What shows in which order the waves of a workgroup access memory (LLVM, AMDGPUUsage, "Memory Model gfx942" and
/// "Memory Model gfx12").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InOrder {
    /// They share a vector cache, which does what it is asked for one after the other.
    Issued,
    /// They may be on two compute units (gfx12's WGP mode): an access comes before another wave's only if it was
    /// waited for.
    Waited,
    /// gfx12's CU mode: loads and stores that are atomic for the workgroup look as others do, so nothing shows it.
    Unknown,
}

/// A descriptor, taken apart and checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Address of the first instruction.
    pub entry: u64,
    /// LDS bytes that the code was compiled with.
    pub group_segment_fixed_size: u32,
    /// Scratch bytes of a work item that the code was compiled with.
    pub private_segment_fixed_size: u32,
    /// Kernel argument bytes.
    pub kernarg_size: u32,
    /// Lanes of a wave.
    pub lanes: u32,
    /// Vector registers, of both kinds.
    pub vgprs: u16,
    /// First accumulation register among them.
    pub accum_offset: u16,
    /// MODE at the start.
    pub mode: u32,
    /// Exceptions of arithmetic that trap: bits of EXCP_EN.
    pub exceptions: u32,
    /// User SGPRs wanted.
    pub user: UserSgprs,
    /// Number of user SGPRs.
    pub user_count: u32,
    /// Workgroup ids wanted in SGPRs.
    pub workgroup_id: [bool; 3],
    /// workgroup_info wanted in an SGPR.
    pub workgroup_info: bool,
    /// Highest dimension of the work item id in v0, 0 to 2.
    pub work_item_id: u32,
    /// Scratch is used.
    pub scratch: bool,
    /// The code makes calls that the compiler could not follow: its scratch size is a guess, and
    /// the packet's should be larger.
    pub dynamic_stack: bool,
    /// Kernel argument dwords to preload into user SGPRs, and from which dword on.
    pub preload: (u32, u32),
    /// What shows the order of its waves' accesses.
    pub in_order: InOrder,
}

/// What a chip reads in its own way.
pub struct Registers {
    /// compute_pgm_rsrc1.
    pub rsrc1: u32,
    /// compute_pgm_rsrc3.
    pub rsrc3: u32,
    /// ENABLE_WAVEFRONT_SIZE32.
    pub wave32: bool,
    /// kernarg_preload.
    pub preload: u32,
}

impl Registers {
    /// Refuse a field that is not zero.
    pub fn zero(
        &self,
        register: u32,
        low: u32,
        count: u32,
        name: &'static str,
    ) -> Result<(), DescriptorError> {
        if bits(register, low, count) == 0 {
            Ok(())
        } else {
            Err(DescriptorError::Reserved(name))
        }
    }
}

/// What a wave of a kernel gets.
pub struct Allocation {
    /// Lanes.
    pub lanes: u32,
    /// Vector registers, of both kinds.
    pub vgprs: u16,
    /// First accumulation register among them.
    pub accum_offset: u16,
    /// MODE at the start.
    pub mode: u32,
    /// What shows the order of a workgroup's accesses to memory.
    pub in_order: InOrder,
}

impl Kernel {
    /// Take apart the descriptor of a kernel that lies at `va`; `registers` checks what chips read in
    /// their own way.
    pub(crate) fn parse_with(
        registers: fn(&Registers) -> Result<Allocation, DescriptorError>,
        va: u64,
        bytes: &[u8; DESCRIPTOR_SIZE],
    ) -> Result<Self, DescriptorError> {
        use DescriptorError::{Reserved, Unsupported};
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let zero = |range: std::ops::Range<usize>| bytes[range].iter().all(|b| *b == 0);
        let check = |ok: bool, error: DescriptorError| if ok { Ok(()) } else { Err(error) };
        check(
            zero(12..16) && zero(24..44) && zero(60..64),
            Reserved("bytes 12-15, 24-43 or 60-63"),
        )?;
        let (rsrc3, rsrc1, rsrc2) = (word(44), word(48), word(52));
        let properties = word(56) & 0xffff;
        let preload = word(56) >> 16;

        // rsrc2: scratch 0, user SGPRs 5:1, trap handler 6, workgroup ids 9:7, info 10, work item
        // id 12:11, exceptions 14:13 and 30:24, LDS size 23:15 (the packet's counts), 31 reserved.
        check(
            bits(rsrc2, 6, 1) == 0,
            Reserved("compute_pgm_rsrc2.ENABLE_TRAP_HANDLER"),
        )?;
        check(
            bits(rsrc2, 13, 2) == 0,
            Reserved("compute_pgm_rsrc2.ENABLE_EXCEPTION_ADDRESS_WATCH and _MEMORY"),
        )?;
        check(
            bits(rsrc2, 15, 9) == 0,
            Reserved("compute_pgm_rsrc2.GRANULATED_LDS_SIZE"),
        )?;
        check(
            bits(rsrc2, 31, 1) == 0,
            Reserved("compute_pgm_rsrc2 bit 31"),
        )?;
        check(
            bits(rsrc2, 11, 2) != 3,
            Reserved("compute_pgm_rsrc2.ENABLE_VGPR_WORKITEM_ID"),
        )?;
        check(
            bits(properties, 7, 3) == 0 && bits(properties, 12, 4) == 0,
            Reserved("kernel_code_properties"),
        )?;
        let own = Registers {
            rsrc1,
            rsrc3,
            wave32: bits(properties, 10, 1) == 1,
            preload,
        };
        let allocation = registers(&own)?;
        let user = UserSgprs {
            private_segment_buffer: bits(properties, 0, 1) == 1,
            dispatch_ptr: bits(properties, 1, 1) == 1,
            queue_ptr: bits(properties, 2, 1) == 1,
            kernarg_segment_ptr: bits(properties, 3, 1) == 1,
            dispatch_id: bits(properties, 4, 1) == 1,
            flat_scratch_init: bits(properties, 5, 1) == 1,
            private_segment_size: bits(properties, 6, 1) == 1,
        };
        // Architected flat scratch: the hardware sets scratch up by itself.
        check(
            !user.private_segment_buffer,
            Unsupported("a private segment buffer with architected flat scratch"),
        )?;
        check(
            !user.flat_scratch_init,
            Unsupported("flat scratch initialisation with architected flat scratch"),
        )?;

        let kernel = Self {
            entry: va.wrapping_add(u64::from(word(16)) | (u64::from(word(20)) << 32)),
            group_segment_fixed_size: word(0),
            private_segment_fixed_size: word(4),
            kernarg_size: word(8),
            lanes: allocation.lanes,
            vgprs: allocation.vgprs,
            accum_offset: allocation.accum_offset,
            mode: allocation.mode,
            exceptions: bits(rsrc2, 24, 7),
            user,
            user_count: bits(rsrc2, 1, 5),
            workgroup_id: [
                bits(rsrc2, 7, 1) == 1,
                bits(rsrc2, 8, 1) == 1,
                bits(rsrc2, 9, 1) == 1,
            ],
            workgroup_info: bits(rsrc2, 10, 1) == 1,
            work_item_id: bits(rsrc2, 11, 2),
            scratch: bits(rsrc2, 0, 1) == 1,
            dynamic_stack: bits(properties, 11, 1) == 1,
            preload: (preload & 0x7f, preload >> 7),
            in_order: allocation.in_order,
        };
        check(
            kernel.entry % 256 == 0,
            Reserved("the entry point's low 8 bits"),
        )?;
        // User SGPRs that are enabled must fit in the count.
        let wanted = 2 * [
            user.dispatch_ptr,
            user.queue_ptr,
            user.kernarg_segment_ptr,
            user.dispatch_id,
        ]
        .into_iter()
        .map(u32::from)
        .sum::<u32>()
            + u32::from(user.private_segment_size)
            + kernel.preload.0;
        check(
            kernel.user_count <= 16 && wanted <= kernel.user_count,
            Reserved("USER_SGPR_COUNT: fewer than enabled, or over 16"),
        )?;
        Ok(kernel)
    }
}

/// MODE bits (CDNA3 ISA, section 3.3).
pub mod mode {
    /// fp_round for f32, 2 bits; for f64 and f16 2 bits above.
    pub const ROUND: u32 = 0;
    /// fp_denorm for f32, 2 bits: bit 0 keeps denormal inputs, bit 1 denormal results.
    pub const DENORM: u32 = 4;
    /// dx10_clamp: clamp NaN to zero.
    pub const DX10_CLAMP: u32 = 1 << 8;
    /// fp16_ovfl: half precision overflows to the largest number.
    pub const FP16_OVFL: u32 = 1 << 23;
    /// gpr_idx_en: M0 indexes vector registers.
    pub const GPR_INDEX: u32 = 1 << 27;
    /// ieee: quiet signalling NaNs in min, max and others.
    pub const IEEE: u32 = 1 << 9;
}
