// SPDX-License-Identifier: MIT OR Apache-2.0

//! The page walk (GPUVM), as the chip does it and Linux programs it.
//!
//! Sources: Linux, `amdgpu/gmc_v9_0.c` (`gmc_v9_0_get_vm_pde`, `gmc_v9_0_get_vm_pte`),
//! `amdgpu/gmc_v12_0.c` (the same), `amdgpu/amdgpu_vm_pt.c`, `amdgpu/gfxhub_v1_2.c`
//! (`gfxhub_v1_2_xcc_setup_vmid_config`), `amdgpu/gfxhub_v12_0.c`. Where generations differ in the
//! bits of entries, [`super::generation`] has them.
//!
//! `PAGE_TABLE_DEPTH` directories lie above a *page table block* of `9 + PAGE_TABLE_BLOCK_SIZE`
//! address bits. A directory entry has a block fragment size (BFS): the number of pages that an entry
//! of the block covers, 2^BFS; an entry of the block either maps that range, or *translates
//! further* (TF): it points at a table of 4 KiB pages for it. A directory entry with PDE_PTE maps
//! its whole range itself.
//!
//! ```text
//! translate_further on gfx942: DEPTH 2, BLOCK_SIZE 9
//!   47      39 38      30 29      21 20      12
//!   [ PDB2   ] [ PDB1   ] [ block  ] [ further ]     names in Linux: PDB2 PDB1 PDB0 PTB
//!              entry: BFS 9   entry: TF, or a page of 2 MiB
//! gfx12: DEPTH 3, BLOCK_SIZE 0, no BFS: PDB2 PDB1 PDB0, then a block of 512 pages of 4 KiB
//! GART (context 0): DEPTH 0, BLOCK_SIZE 0, one flat table
//! ```

use super::empty;
use super::generation::EntryBits;
use super::hdp::Word;
use super::{Hub, Memory, PAGE};
use crate::report::Whose;
use rkfd_hw::pte;
use std::fmt;

/// A context's registers, put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context {
    /// `ENABLE_CONTEXT`.
    pub enabled: bool,
    /// `PAGE_TABLE_DEPTH`: directories above the page table block.
    pub depth: u8,
    /// `PAGE_TABLE_BLOCK_SIZE`: address bits of the block above 9.
    pub block_size: u32,
    /// Root table's address and flags.
    pub base: u64,
    /// First page's number.
    pub start: u64,
    /// Last page's number.
    pub end: u64,
    /// First and last page's number of the identity aperture, whose addresses are not translated;
    /// it is off where the first is behind the last. Address space 0 has none.
    pub identity: Option<[u64; 2]>,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read and a write in one: needs both rights.
    Atomic,
    /// An instruction fetch.
    Execute,
}

/// Why an access did not translate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultReason {
    /// The VMID's context is not enabled.
    Disabled,
    /// The address is outside the context's range, or not canonical.
    Range,
    /// An entry is not valid. The level: 0 is the last table, higher ones are directories.
    Invalid(u8),
    /// An entry has reserved bits set, or a combination that the chip does not define.
    Malformed(u8),
    /// A page table or a page lies where there is no memory.
    NoMemory,
    /// The page does not allow the access.
    Permission,
    /// The registers ask for a translation mode that is not modelled.
    Mode,
}

/// A failed access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub struct VmFault {
    /// The hub.
    pub hub: Hub,
    /// The address space.
    pub vmid: u8,
    /// The address.
    pub va: u64,
    /// What was tried.
    pub access: Access,
    /// Why it failed.
    pub reason: FaultReason,
}

impl fmt::Display for VmFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} hub VMID {}: {:?} of {:#x}: {:?}",
            self.hub, self.vmid, self.access, self.va, self.reason
        )
    }
}

/// Where a translated address lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Offset in VRAM.
    Vram(u64),
    /// Bus address: guest RAM.
    Bus(u64),
    /// None: of a page that isn't resident. Loads give zero, and stores are lost.
    Nothing,
}

impl Place {
    /// The place `n` bytes further on, wrapping as an adder does.
    pub fn plus(self, n: u64) -> Self {
        match self {
            Self::Vram(at) => Self::Vram(at.wrapping_add(n)),
            Self::Bus(at) => Self::Bus(at.wrapping_add(n)),
            Self::Nothing => Self::Nothing,
        }
    }
}

/// Rights of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rights(u64);

impl Rights {
    /// All of them: memory that is reached without a page table.
    pub const ALL: Self = Self(pte::READABLE | pte::WRITEABLE | pte::EXECUTABLE);

    /// Whether they allow an access.
    pub fn allow(self, access: Access) -> bool {
        let need = match access {
            Access::Read => pte::READABLE,
            Access::Write => pte::WRITEABLE,
            Access::Atomic => pte::READABLE | pte::WRITEABLE,
            Access::Execute => pte::EXECUTABLE,
        };
        self.0 & need == need
    }
}

/// The result of a walk: a range of virtual addresses that maps contiguous memory alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Translation {
    /// First virtual address.
    pub start: u64,
    /// Length in bytes, a power of two.
    pub len: u64,
    /// Where `start` lies.
    pub place: Place,
    /// What may be done.
    pub rights: Rights,
    /// The graphics core's second-level cache may hold back what is stored there.
    pub held_back: bool,
}

/// Bits of a directory entry that points at a table, apart from its block fragment size.
const PDE_BITS: u64 = pte::VALID | pte::SYSTEM | pte::SNOOPED | PDE_ADDRESS;
/// Address of a table: 64-byte grain.
const PDE_ADDRESS: u64 = 0x0000_ffff_ffff_ffc0;
/// Bits of an entry that maps memory, apart from those for its level and for caches.
const PTE_BITS: u64 = pte::VALID
    | pte::SYSTEM
    | pte::SNOOPED
    | pte::TMZ
    | pte::EXECUTABLE
    | pte::READABLE
    | pte::WRITEABLE
    | pte::fragment(0x1f)
    | pte::ADDRESS;

/// The entries that a walk has read: where each lies, and what it is. The first is the context's base.
#[derive(Default, Debug)]
pub struct Path {
    /// Offsets in VRAM or bus addresses, as the entry before tells.
    pub at: Vec<u64>,
    /// The entries.
    pub entries: Vec<u64>,
    /// Nobody makes an access: what is wrong with the tables is not recorded.
    pub is_look: bool,
}

impl Path {
    fn read(&mut self, table: Place, index: u64, entry: u64) {
        if let Place::Vram(at) | Place::Bus(at) = table.plus(index.wrapping_mul(8)) {
            self.at.push(at);
        }
        self.entries.push(entry);
    }
}

/// Walks the page tables of a context. Records entries that the chip does not define.
///
/// # Errors
/// Why there is no translation.
pub fn walk(
    memory: &Memory,
    hub: Hub,
    vmid: u8,
    context: &Context,
    va: u64,
    path: &mut Path,
) -> Result<Translation, FaultReason> {
    if !context.enabled {
        return Err(FaultReason::Disabled);
    }
    let bits = &memory.generation().entry;
    let is_look = path.is_look;
    let pde_bits = PDE_BITS | bits.bfs_mask();
    // Addresses are 48 bits, sign-extended; the context's range counts pages of the 48 bits.
    let canonical = ((va << 16) as i64 >> 16) as u64 == va;
    let pfn = (va >> 12) & 0xf_ffff_ffff;
    if !canonical || pfn < context.start || pfn > context.end {
        return Err(FaultReason::Range);
    }
    let bad = |level: u8, entry: u64, what: &str| {
        if !is_look {
            memory.report().violation(format_args!(
                "{hub} hub VMID {vmid}: {what} {entry:#018x} at level {level}"
            ));
        }
        FaultReason::Malformed(level)
    };
    if context
        .identity
        .is_some_and(|[low, high]| (low..=high).contains(&pfn))
    {
        return Err(FaultReason::Mode);
    }
    // What the entry points at is about to be read, or may be from now on.
    let see = |level: u8, entry: u64, address: u64| {
        let unseen = pte::VALID | pte::SYSTEM;
        let seen = is_look || entry & (unseen | pte::SNOOPED) != unseen;
        if !seen && memory.bus.needs_snoop(entry & address) {
            memory.report().violation(format_args!(
                "{hub} hub VMID {vmid}: walk for {va:#x}: entry {entry:#018x} at level {level} leads to \
                 system memory without SNOOPED: what the host's processors have stored there may \
                 still be in their caches"
            ));
        }
    };
    // The graphics core's second-level cache would keep a page that its entry doesn't forbid to.
    let keep = |level: u8, entry: u64| {
        let caches = matches!(hub, Hub::Gfx(_)) && vmid != 0 && entry & pte::SYSTEM != 0;
        if caches
            && !is_look
            && !bits.coherent_with_host(entry)
            && memory.bus.peek(entry & pte::ADDRESS).is_some()
        {
            memory.report().violation(format_args!(
                "{hub} hub VMID {vmid}: walk for {va:#x}: entry {entry:#018x} at level {level} leads to \
                 system memory with MTYPE {}, not UC: the second-level cache may keep old values of what \
                 the host's processors store there, and hold back what the GPU stores",
                bits.mtype_name(entry)
            ));
        }
    };
    // Where nothing is mapped, or what is mapped isn't resident.
    let missing = |level: u8, at: empty::At, word: Word| {
        let lacks = empty::lacks(bits, at, word.seen);
        if lacks != 0 && vmid != 0 && !is_look && !word.is_stale() {
            memory.report().violation(format_args!(
                "{hub} hub VMID {vmid}: walk for {va:#x}: entry {:#018x} at level {level} isn't valid and lacks \
                 {lacks:#x}, by which the fault there is reported as that of a missing page",
                word.seen
            ));
        }
    };
    let page = pfn - context.start;
    let block_bits = 9 + context.block_size;
    // Points at the next table. The base register has the form of a directory entry, too.
    let mut pde = context.base;
    if pde & pte::VALID == 0 {
        return Err(FaultReason::Invalid(context.depth + 1));
    }
    if pde & !pde_bits != 0 {
        return Err(bad(
            context.depth + 1,
            pde,
            "reserved bits in page table base",
        ));
    }
    see(context.depth + 1, pde, PDE_ADDRESS);
    for level in (1..=context.depth).rev() {
        let shift = block_bits + 9 * (u32::from(level) - 1);
        // The root has as many entries as the range needs, the others 512.
        let index = if level == context.depth {
            page >> shift
        } else {
            (page >> shift) & 0x1ff
        };
        let word = memory
            .entry(table(pde, memory, hub), index)
            .ok_or(FaultReason::NoMemory)?;
        let entry = word.seen;
        path.read(table(pde, memory, hub), index, entry);
        if entry & pte::VALID == 0 {
            record_stale_entry(memory, hub, vmid, va, word, is_look);
            missing(level, empty::At::Directory, word);
            let not_resident = bits.prt | bits.pde_pte;
            return match entry & not_resident == not_resident {
                true => Ok(nothing(va, shift)),
                false => Err(FaultReason::Invalid(level)),
            };
        }
        if entry & bits.pde_pte != 0 {
            see(level, entry, pte::ADDRESS);
            keep(level, entry);
            return leaf(memory, hub, entry & !bits.pde_pte, va, shift).map_err(
                |what| match what {
                    Some(what) => bad(level, entry, what),
                    None => FaultReason::Invalid(level),
                },
            );
        }
        if entry & !pde_bits != 0 {
            return Err(bad(level, entry, "reserved bits in directory entry"));
        }
        see(level, entry, PDE_ADDRESS);
        pde = entry;
    }
    let bfs = bits.bfs(pde);
    if bfs > block_bits {
        return Err(bad(1, pde, "block fragment larger than the block in"));
    }
    let index = (page & ((1 << block_bits) - 1)) >> bfs;
    let index = if context.depth == 0 {
        page >> bfs
    } else {
        index
    };
    let mut word = memory
        .entry(table(pde, memory, hub), index)
        .ok_or(FaultReason::NoMemory)?;
    let mut entry = word.seen;
    path.read(table(pde, memory, hub), index, entry);
    let mut shift = bfs;
    if entry & pte::VALID != 0 && entry & bits.further != 0 {
        if bfs == 0 || entry & !(PDE_BITS | bits.further) != 0 {
            return Err(bad(0, entry, "reserved bits in further-translating entry"));
        }
        see(0, entry, PDE_ADDRESS);
        let further = table(entry, memory, hub);
        let index = page & ((1 << bfs) - 1);
        word = memory.entry(further, index).ok_or(FaultReason::NoMemory)?;
        entry = word.seen;
        path.read(further, index, entry);
        shift = 0;
    }
    if entry & pte::VALID == 0 {
        record_stale_entry(memory, hub, vmid, va, word, is_look);
        let at = if shift == 0 {
            empty::At::Last
        } else {
            empty::At::Block
        };
        missing(0, at, word);
        return match entry & bits.prt != 0 {
            true => Ok(nothing(va, shift)),
            false => Err(FaultReason::Invalid(0)),
        };
    }
    see(0, entry, pte::ADDRESS);
    keep(0, entry);
    let own = if bits.leaf_marked {
        entry & !bits.pde_pte
    } else {
        entry
    };
    leaf(memory, hub, own, va, shift).map_err(|what| match what {
        Some(what) => bad(0, entry, what),
        None => FaultReason::Invalid(0),
    })
}

/// Records that a walk met an entry which is invalid only because HDP holds back what the host has
/// stored. For the kernel's own address space it is a violation. In a process' it is recorded as a
/// fault of the program, which may have used the address while the driver was still mapping it.
fn record_stale_entry(memory: &Memory, hub: Hub, vmid: u8, va: u64, word: Word, is_look: bool) {
    if is_look || !word.is_stale() {
        return;
    }
    let whose = if vmid == 0 {
        Whose::Driver
    } else {
        Whose::Program
    };
    memory.record_stale(whose, hub, vmid, &format!("walk for {va:#x}"), word);
}

/// Where the table lies that an entry points at.
fn table(entry: u64, memory: &Memory, hub: Hub) -> Place {
    place(entry, entry & PDE_ADDRESS, memory, hub)
}

/// An address of an entry: a bus address, or VRAM's physical address.
fn place(entry: u64, address: u64, memory: &Memory, hub: Hub) -> Place {
    if entry & pte::SYSTEM != 0 {
        Place::Bus(address)
    } else {
        Place::Vram(address.wrapping_sub(memory.hub(hub).fb_offset()))
    }
}

/// The translation by an entry of 2^`shift` pages that aren't resident (PRT without VALID, `gmc_v9_0_get_vm_pte`).
fn nothing(va: u64, shift: u32) -> Translation {
    let len = PAGE << shift;
    Translation {
        start: va & !(len - 1),
        len,
        place: Place::Nothing,
        rights: Rights::ALL,
        held_back: false,
    }
}

/// The translation by an entry that maps 2^`shift` pages.
///
/// The error names what is malformed, or is `None` for an entry that is meant to fault.
fn leaf(
    memory: &Memory,
    hub: Hub,
    entry: u64,
    va: u64,
    shift: u32,
) -> Result<Translation, Option<&'static str>> {
    let EntryBits {
        prt,
        further,
        no_retry,
        caching,
        not_modelled,
        ..
    } = memory.generation().entry;
    let known = PTE_BITS | caching | prt;
    if no_retry != 0 && entry & !known & !further == 0 && entry & no_retry == no_retry {
        return Err(None);
    }
    if entry & not_modelled != 0 {
        return Err(Some("compressed memory, which is not modelled, in entry"));
    }
    if entry & !known != 0 {
        return Err(Some("reserved bits in page table entry"));
    }
    if entry & prt != 0 {
        return Err(Some("valid entry with PRT"));
    }
    if entry & pte::TMZ != 0 {
        return Err(Some("entry of encrypted memory, which is not modelled:"));
    }
    let own = PAGE << shift;
    if entry & pte::ADDRESS & (own - 1) != 0 {
        return Err(Some("unaligned address for its level in entry"));
    }
    // The cache may keep the whole fragment. Its pages are contiguous, but need not be aligned.
    let len = (PAGE << pte::fragment_of(entry)).max(own);
    let start = va & !(len - 1);
    let back = (va & !(own - 1)) - start;
    let at = place(entry, entry & pte::ADDRESS, memory, hub).plus(back.wrapping_neg());
    let rights = Rights(entry & Rights::ALL.0);
    Ok(Translation {
        start,
        len,
        place: at,
        rights,
        held_back: memory.generation().entry.holds_back(entry),
    })
}
