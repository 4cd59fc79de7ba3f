// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a dispatch is made from, besides its kernel: fields of its packet, its queue and its process.

/// LDS and private apertures, from SH_MEM_BASES.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Apertures {
    /// Where LDS begins in the flat address space.
    pub shared: u64,
    /// Where private memory begins in the flat address space.
    pub private: u64,
}

impl Apertures {
    /// From the register: bits 15:0 are the private base, 31:16 the shared base, both address
    /// bits 63:48.
    pub const fn from_sh_mem_bases(register: u32) -> Self {
        Self {
            private: (register as u64 & 0xffff) << 48,
            shared: (register as u64 >> 16) << 48,
        }
    }
}

/// A process's trap handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handler {
    /// SQ_SHADER_TBA, as an address: where it begins. 0 for none.
    pub entry: u64,
    /// SQ_SHADER_TMA, as an address: its memory.
    pub memory: u64,
}

impl Handler {
    /// From the registers, which have bits 47:8 of the addresses. Bit 47 fills those above.
    pub const fn from_registers(tba: u64, tma: u64) -> Self {
        const fn address(register: u64) -> u64 {
            (((register << 24) as i64) >> 16) as u64
        }
        Self {
            entry: address(tba),
            memory: address(tma),
        }
    }
}

/// Fields of a dispatch packet and of its queue that waves see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// The process.
    pub vmid: u8,
    /// Flat apertures, from SH_MEM_BASES.
    pub apertures: Apertures,
    /// workgroup_size_x/y/z.
    pub workgroup_size: [u16; 3],
    /// grid_size_x/y/z, in work items.
    pub grid_size: [u32; 3],
    /// private_segment_size: scratch bytes of a work item.
    pub private_segment_size: u32,
    /// group_segment_size: LDS bytes of a workgroup.
    pub group_segment_size: u32,
    /// kernarg_address.
    pub kernarg_address: u64,
    /// Address of the packet itself.
    pub packet_address: u64,
    /// Address of the queue's amd_queue_t.
    pub queue_address: u64,
    /// The packet's number in its queue.
    pub dispatch_id: u64,
    /// The process's trap handler, as far as waves of the queue enter it.
    pub handler: Handler,
    /// The number of the queue's doorbell.
    pub doorbell: u32,
    /// How its waves begin.
    pub launch: Launch,
}

/// How a process's waves begin, as a debugger has it (SPI_GDBG_PER_VMID_CNTL).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// EXCP_EN: the exceptions that trap, as MODE has them from bit 12 on (CDNA3 ISA, section 3.3); 7 is for
    /// watched addresses.
    pub exceptions: u32,
    /// EXCP_REPLACE: those alone, and not the kernel's own as well.
    pub replaces: bool,
    /// They are halted at their first instruction.
    pub halted: bool,
    /// They enter their trap handler before their first instruction.
    pub trapped: bool,
    /// They trap behind each instruction.
    pub stepped: bool,
}
