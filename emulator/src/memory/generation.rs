// SPDX-License-Identifier: MIT OR Apache-2.0

//! What differs between generations of GPUVM: names and fields of the hubs' registers, and the
//! bits of page table entries. One table per generation; the hubs and the walk read from it.

use super::Hub;
use rkfd_hw::pte::{self, Mtype};
use rkfd_hw::regs::{gc_12_0_0 as gc12, gc_9_4_3 as gc9, AnyField, Value};

/// A generation of GPUVM.
pub struct Generation {
    /// What stands in front of the names of the graphics and the multimedia hub's registers.
    prefixes: [&'static str; 2],
    /// `VM_L2_PROTECTION_FAULT_STATUS`, by its name without the prefix.
    pub fault_status: &'static str,
    /// Registers that are storage, without the prefix; a hub answers for those that it has.
    pub stored: &'static [&'static str],
    /// `VM_L2_CNTL3` and `VM_L2_CNTL4` at start-up.
    pub l2_cntl3: [u32; 2],
    /// `VM_L2_CNTL5` with pages of 4 KiB as its small fragments, of those whose driver sets it.
    pub l2_cntl5: Option<u32>,
    /// Registers of the multimedia hub, and a bit of each, that make SDMA's writes snoop.
    pub snoop_override: (&'static [&'static str], u32),
    /// Fields of `VM_CONTEXTn_CNTL`.
    pub context: ContextFields,
    /// Fields of `VM_INVALIDATE_ENGn_REQ`.
    pub request: RequestFields,
    /// Bits of entries.
    pub entry: EntryBits,
    /// Whether the graphics core's data cache keeps page table entries, so that only a heavy flush drops them all.
    pub entries_in_data_cache: bool,
    /// The clients that fault interrupts of the graphics and the multimedia hub name.
    pub faults: [u8; 2],
}

impl Generation {
    /// The name of a hub's register without what stands in front of it there; `None` for a
    /// register of something else.
    pub fn name_in(&self, hub: Hub, name: &'static str) -> Option<&'static str> {
        let [gfx, mm] = self.prefixes;
        let prefix = match hub {
            Hub::Gfx(_) => gfx,
            Hub::Mm(_) => mm,
        };
        name.strip_prefix(prefix)
            .filter(|rest| rest.starts_with("VM_") || rest.starts_with("MC_VM_"))
    }

    /// The client that fault interrupts of a hub name.
    pub fn fault_client(&self, hub: Hub) -> u8 {
        let [gfx, mm] = self.faults;
        match hub {
            Hub::Gfx(_) => gfx,
            Hub::Mm(_) => mm,
        }
    }
}

/// Fields of `VM_CONTEXTn_CNTL`.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names are the registers'")]
pub struct ContextFields {
    pub enable: AnyField<1>,
    pub depth: AnyField<2>,
    pub block_size: AnyField<4>,
    pub range_interrupt: AnyField<1>,
    pub pde0_interrupt: AnyField<1>,
    pub valid_interrupt: AnyField<1>,
    pub read_interrupt: AnyField<1>,
    pub write_interrupt: AnyField<1>,
    pub execute_interrupt: AnyField<1>,
    pub range_default: AnyField<1>,
    pub pde0_default: AnyField<1>,
    pub valid_default: AnyField<1>,
    pub read_default: AnyField<1>,
    pub write_default: AnyField<1>,
    pub execute_default: AnyField<1>,
}

/// Fields of `VM_INVALIDATE_ENGn_REQ`.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names are the registers'")]
pub struct RequestFields {
    /// All bits that the register has.
    pub known: u32,
    pub vmids: AnyField<16>,
    /// FLUSH_TYPE of a value.
    pub flush_type: fn(u32) -> u32,
    pub l1_ptes: AnyField<1>,
    pub l2_ptes: AnyField<1>,
    pub clear_fault: AnyField<1>,
}

/// Bits of directory and page table entries.
#[derive(Clone, Copy, Debug)]
pub struct EntryBits {
    /// A directory's entry that maps its range itself.
    pub pde_pte: u64,
    /// Whether entries of the last table may carry `pde_pte`, too.
    pub leaf_marked: bool,
    /// Partially resident.
    pub prt: u64,
    /// What an entry of pages that aren't resident has beside `prt`.
    pub not_resident: u64,
    /// An entry of a block that translates further; 0 where there is none.
    pub further: u64,
    /// The combination for faults without retry; 0 where it is not defined.
    pub no_retry: u64,
    /// Where the block fragment size begins, 5 bits.
    pub bfs_shift: u32,
    /// Further bits of an entry that maps memory: how caches treat it.
    pub caching: u64,
    /// Bits that are defined, but not modelled.
    pub not_modelled: u64,
    /// The memory type of an entry, by its number.
    pub mtype_of: fn(u64) -> u8,
    /// Whether system memory of a process is uncached, whatever the program asked for: the second-level
    /// cache of a GPU with memory of its own is not coherent with the host's processors.
    pub host_uncached: bool,
}

impl EntryBits {
    /// The mask of the block fragment size.
    pub const fn bfs_mask(&self) -> u64 {
        0x1f << self.bfs_shift
    }

    /// The block fragment size of an entry.
    pub const fn bfs(&self, entry: u64) -> u32 {
        (entry >> self.bfs_shift) as u32 & 0x1f
    }

    /// Whether an entry for system memory has a memory type that Linux gives to it.
    pub fn coherent_with_host(&self, entry: u64) -> bool {
        !self.host_uncached || (self.mtype_of)(entry) == Mtype::Uc as u8
    }

    /// Whether the second-level cache holds back what is stored by an entry: not where it is uncached, and not where
    /// it is coherent, which writes through (LLVM, AMDGPUUsage, "Memory Model gfx90a": "MTYPE CC causes write through
    /// to DRAM").
    pub fn holds_back(&self, entry: u64) -> bool {
        let mtype = (self.mtype_of)(entry);
        mtype == Mtype::Nc as u8 || mtype == Mtype::Rw as u8
    }

    /// The name of an entry's memory type (`asic_reg/soc15.h` and `amdgpu_vm.h`: `MTYPE_*`).
    pub fn mtype_name(&self, entry: u64) -> &'static str {
        match (self.mtype_of)(entry) {
            0 => "NC",
            1 => "RW",
            2 => "CC",
            _ => "UC",
        }
    }
}

/// What makes writes of MMHUB 1.8's clients snoop (`mmhub_v1_8_init_snoop_override_regs`).
const SNOOP_OVERRIDE: &[&str] = &[
    "DAGB0_WRCLI_GPU_SNOOP_OVERRIDE",
    "DAGB0_WRCLI_GPU_SNOOP_OVERRIDE_VALUE",
    "DAGB1_WRCLI_GPU_SNOOP_OVERRIDE",
    "DAGB1_WRCLI_GPU_SNOOP_OVERRIDE_VALUE",
    "DAGB2_WRCLI_GPU_SNOOP_OVERRIDE",
    "DAGB2_WRCLI_GPU_SNOOP_OVERRIDE_VALUE",
    "DAGB3_WRCLI_GPU_SNOOP_OVERRIDE",
    "DAGB3_WRCLI_GPU_SNOOP_OVERRIDE_VALUE",
    "DAGB4_WRCLI_GPU_SNOOP_OVERRIDE",
    "DAGB4_WRCLI_GPU_SNOOP_OVERRIDE_VALUE",
];

/// gfx9.4.3 (`amdgpu/gmc_v9_0.c`, `gfxhub_v1_2.c`, `mmhub_v1_8.c`).
pub const GFX9: Generation = Generation {
    prefixes: ["", ""],
    fault_status: "VM_L2_PROTECTION_FAULT_STATUS",
    stored: &[
        "VM_L2_CNTL5",
        "VM_L2_CGTT_CLK_CTRL",
        "VM_L2_CONTEXT_IDENTITY_PHYSICAL_OFFSET_LO32",
        "VM_L2_CONTEXT_IDENTITY_PHYSICAL_OFFSET_HI32",
        "VM_L2_PROTECTION_FAULT_CNTL2",
        "VM_L2_PROTECTION_FAULT_MM_CNTL3",
        "VM_L2_PROTECTION_FAULT_MM_CNTL4",
    ],
    // `regVM_L2_CNTL3_DEFAULT` and `regVM_L2_CNTL4_DEFAULT` of `gfxhub_v1_2.c`.
    l2_cntl3: [0x8010_0007, 0xc1],
    l2_cntl5: None,
    // SDMA is client 15.
    snoop_override: (SNOOP_OVERRIDE, 1 << 15),
    context: ContextFields {
        enable: gc9::VM_CONTEXT0_CNTL.field(gc9::VM_CONTEXT0_CNTL::ENABLE_CONTEXT),
        depth: gc9::VM_CONTEXT0_CNTL.field(gc9::VM_CONTEXT0_CNTL::PAGE_TABLE_DEPTH),
        block_size: gc9::VM_CONTEXT0_CNTL.field(gc9::VM_CONTEXT0_CNTL::PAGE_TABLE_BLOCK_SIZE),
        range_interrupt: gc9::VM_CONTEXT0_CNTL
            .field(gc9::VM_CONTEXT0_CNTL::RANGE_PROTECTION_FAULT_ENABLE_INTERRUPT),
        pde0_interrupt: gc9::VM_CONTEXT0_CNTL
            .field(gc9::VM_CONTEXT0_CNTL::PDE0_PROTECTION_FAULT_ENABLE_INTERRUPT),
        valid_interrupt: gc9::VM_CONTEXT0_CNTL
            .field(gc9::VM_CONTEXT0_CNTL::VALID_PROTECTION_FAULT_ENABLE_INTERRUPT),
        read_interrupt: gc9::VM_CONTEXT0_CNTL
            .field(gc9::VM_CONTEXT0_CNTL::READ_PROTECTION_FAULT_ENABLE_INTERRUPT),
        write_interrupt: gc9::VM_CONTEXT0_CNTL
            .field(gc9::VM_CONTEXT0_CNTL::WRITE_PROTECTION_FAULT_ENABLE_INTERRUPT),
        execute_interrupt: gc9::VM_CONTEXT0_CNTL
            .field(gc9::VM_CONTEXT0_CNTL::EXECUTE_PROTECTION_FAULT_ENABLE_INTERRUPT),
        range_default: gc9::VM_CONTEXT0_CNTL
            .field(gc9::VM_CONTEXT0_CNTL::RANGE_PROTECTION_FAULT_ENABLE_DEFAULT),
        pde0_default: gc9::VM_CONTEXT0_CNTL
            .field(gc9::VM_CONTEXT0_CNTL::PDE0_PROTECTION_FAULT_ENABLE_DEFAULT),
        valid_default: gc9::VM_CONTEXT0_CNTL
            .field(gc9::VM_CONTEXT0_CNTL::VALID_PROTECTION_FAULT_ENABLE_DEFAULT),
        read_default: gc9::VM_CONTEXT0_CNTL
            .field(gc9::VM_CONTEXT0_CNTL::READ_PROTECTION_FAULT_ENABLE_DEFAULT),
        write_default: gc9::VM_CONTEXT0_CNTL
            .field(gc9::VM_CONTEXT0_CNTL::WRITE_PROTECTION_FAULT_ENABLE_DEFAULT),
        execute_default: gc9::VM_CONTEXT0_CNTL
            .field(gc9::VM_CONTEXT0_CNTL::EXECUTE_PROTECTION_FAULT_ENABLE_DEFAULT),
    },
    request: RequestFields {
        known: u32::MAX >> 7,
        vmids: gc9::VM_INVALIDATE_ENG0_REQ
            .field(gc9::VM_INVALIDATE_ENG0_REQ::PER_VMID_INVALIDATE_REQ),
        flush_type: |value| Value::new(value).get(gc9::VM_INVALIDATE_ENG0_REQ::FLUSH_TYPE),
        l1_ptes: gc9::VM_INVALIDATE_ENG0_REQ.field(gc9::VM_INVALIDATE_ENG0_REQ::INVALIDATE_L1_PTES),
        l2_ptes: gc9::VM_INVALIDATE_ENG0_REQ.field(gc9::VM_INVALIDATE_ENG0_REQ::INVALIDATE_L2_PTES),
        clear_fault: gc9::VM_INVALIDATE_ENG0_REQ
            .field(gc9::VM_INVALIDATE_ENG0_REQ::CLEAR_PROTECTION_FAULT_STATUS_ADDR),
    },
    entry: EntryBits {
        pde_pte: pte::PDE_PTE,
        leaf_marked: false,
        prt: pte::PRT,
        not_resident: 0,
        further: pte::TRANSLATE_FURTHER,
        // `AMDGPU_VM_NORETRY_FLAGS_TF`.
        no_retry: pte::VALID | pte::SYSTEM | pte::PRT,
        bfs_shift: 59,
        caching: pte::mtype(Mtype::Uc),
        not_modelled: 0,
        mtype_of: pte::mtype_of,
        // `gmc_v9_0_get_coherence_flags`: of 9.4.3 that is no APU, system memory is UC.
        host_uncached: true,
    },
    // `gmc_v9_0_hw_init`: "GC 9.4.3 ... hit a similar race" as chips that cache entries so.
    entries_in_data_cache: true,
    faults: [rkfd_hw::ih::client::UTCL2, rkfd_hw::ih::client::VMC],
};

/// gfx12 (`amdgpu/gmc_v12_0.c`, `gfxhub_v12_0.c`, `mmhub_v4_1_0.c`): an entry of the last table may
/// have `PDE_PTE`, too (`AMDGPU_PTE_IS_PTE`: the GART's have it, those of processes have not), and
/// no entry translates further. The graphics hub's faults come from the client GFX
/// (`SOC21_IH_CLIENTID_GFX`), whose number is SE0SH's.
pub const GFX12: Generation = Generation {
    prefixes: ["GC", "MM"],
    fault_status: "VM_L2_PROTECTION_FAULT_STATUS_LO32",
    stored: &[
        "VM_L2_CNTL5",
        "VM_L2_CGTT_CLK_CTRL",
        "VM_L2_CGTT_BUSY_CTRL",
        // What gates the multimedia hub's clocks.
        "DAGB0_CNTL_MISC2",
        "DAGB1_CNTL_MISC2",
        // Linux sets RESERVED_CACHE_PRIVATE_INVALIDATION after a flush; no cache here outlives one.
        "VM_L2_BANK_SELECT_RESERVED_CID2",
        "VM_L2_CONTEXT_IDENTITY_PHYSICAL_OFFSET_LO32",
        "VM_L2_CONTEXT_IDENTITY_PHYSICAL_OFFSET_HI32",
        "VM_L2_PROTECTION_FAULT_CNTL2",
        "VM_L2_PROTECTION_FAULT_MM_CNTL3",
        "VM_L2_PROTECTION_FAULT_MM_CNTL4",
    ],
    // `regGCVM_L2_CNTL3_DEFAULT` and `regGCVM_L2_CNTL4_DEFAULT` of `gfxhub_v12_0.c`.
    l2_cntl3: [0x8012_0007, 0xc1],
    // `regGCVM_L2_CNTL5_DEFAULT` with an L2_CACHE_SMALLK_FRAGMENT_SIZE of 0.
    l2_cntl5: Some(0x3fe0),
    snoop_override: (&[], 0),
    context: ContextFields {
        enable: gc12::GCVM_CONTEXT0_CNTL.field(gc12::GCVM_CONTEXT0_CNTL::ENABLE_CONTEXT),
        depth: gc12::GCVM_CONTEXT0_CNTL.field(gc12::GCVM_CONTEXT0_CNTL::PAGE_TABLE_DEPTH),
        block_size: gc12::GCVM_CONTEXT0_CNTL.field(gc12::GCVM_CONTEXT0_CNTL::PAGE_TABLE_BLOCK_SIZE),
        range_interrupt: gc12::GCVM_CONTEXT0_CNTL
            .field(gc12::GCVM_CONTEXT0_CNTL::RANGE_PROTECTION_FAULT_ENABLE_INTERRUPT),
        pde0_interrupt: gc12::GCVM_CONTEXT0_CNTL
            .field(gc12::GCVM_CONTEXT0_CNTL::PDE0_PROTECTION_FAULT_ENABLE_INTERRUPT),
        valid_interrupt: gc12::GCVM_CONTEXT0_CNTL
            .field(gc12::GCVM_CONTEXT0_CNTL::VALID_PROTECTION_FAULT_ENABLE_INTERRUPT),
        read_interrupt: gc12::GCVM_CONTEXT0_CNTL
            .field(gc12::GCVM_CONTEXT0_CNTL::READ_PROTECTION_FAULT_ENABLE_INTERRUPT),
        write_interrupt: gc12::GCVM_CONTEXT0_CNTL
            .field(gc12::GCVM_CONTEXT0_CNTL::WRITE_PROTECTION_FAULT_ENABLE_INTERRUPT),
        execute_interrupt: gc12::GCVM_CONTEXT0_CNTL
            .field(gc12::GCVM_CONTEXT0_CNTL::EXECUTE_PROTECTION_FAULT_ENABLE_INTERRUPT),
        range_default: gc12::GCVM_CONTEXT0_CNTL
            .field(gc12::GCVM_CONTEXT0_CNTL::RANGE_PROTECTION_FAULT_ENABLE_DEFAULT),
        pde0_default: gc12::GCVM_CONTEXT0_CNTL
            .field(gc12::GCVM_CONTEXT0_CNTL::PDE0_PROTECTION_FAULT_ENABLE_DEFAULT),
        valid_default: gc12::GCVM_CONTEXT0_CNTL
            .field(gc12::GCVM_CONTEXT0_CNTL::VALID_PROTECTION_FAULT_ENABLE_DEFAULT),
        read_default: gc12::GCVM_CONTEXT0_CNTL
            .field(gc12::GCVM_CONTEXT0_CNTL::READ_PROTECTION_FAULT_ENABLE_DEFAULT),
        write_default: gc12::GCVM_CONTEXT0_CNTL
            .field(gc12::GCVM_CONTEXT0_CNTL::WRITE_PROTECTION_FAULT_ENABLE_DEFAULT),
        execute_default: gc12::GCVM_CONTEXT0_CNTL
            .field(gc12::GCVM_CONTEXT0_CNTL::EXECUTE_PROTECTION_FAULT_ENABLE_DEFAULT),
    },
    request: RequestFields {
        known: u32::MAX >> 5,
        vmids: gc12::GCVM_INVALIDATE_ENG0_REQ
            .field(gc12::GCVM_INVALIDATE_ENG0_REQ::PER_VMID_INVALIDATE_REQ),
        flush_type: |value| Value::new(value).get(gc12::GCVM_INVALIDATE_ENG0_REQ::FLUSH_TYPE),
        l1_ptes: gc12::GCVM_INVALIDATE_ENG0_REQ
            .field(gc12::GCVM_INVALIDATE_ENG0_REQ::INVALIDATE_L1_PTES),
        l2_ptes: gc12::GCVM_INVALIDATE_ENG0_REQ
            .field(gc12::GCVM_INVALIDATE_ENG0_REQ::INVALIDATE_L2_PTES),
        clear_fault: gc12::GCVM_INVALIDATE_ENG0_REQ
            .field(gc12::GCVM_INVALIDATE_ENG0_REQ::CLEAR_PROTECTION_FAULT_STATUS_ADDR),
    },
    entry: EntryBits {
        pde_pte: pte::gfx12::PDE_PTE,
        leaf_marked: true,
        prt: pte::gfx12::PRT,
        // `gmc_v12_0_get_vm_pte`: SNOOPED, SYSTEM and IS_PTE.
        not_resident: pte::SNOOPED | pte::SYSTEM | pte::gfx12::PDE_PTE,
        further: 0,
        no_retry: 0,
        bfs_shift: 58,
        caching: pte::gfx12::mtype(Mtype::Uc) | pte::gfx12::BUS_ATOMICS,
        not_modelled: pte::gfx12::DCC,
        mtype_of: pte::gfx12::mtype_of,
        // `gmc_v12_0_get_vm_pte`: NC unless the program asks for UC; instructions say their scope.
        host_uncached: false,
    },
    entries_in_data_cache: false,
    faults: [rkfd_hw::ih::client::SE0SH, rkfd_hw::ih::client::VMC],
};
