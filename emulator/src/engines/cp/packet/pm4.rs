// SPDX-License-Identifier: MIT OR Apache-2.0

//! PM4 packets as KIQ, HIQ and run lists hold them: taken apart and checked, nothing executed.
//!
//! Sources: [`rkfd_hw::pm4`] and Linux, `amdgpu/soc15d.h`, `amdgpu/gfx_v9_4_3.c`
//! (`gfx_v9_4_3_kiq_*`, `_ring_test_ring`, `_ring_emit_fence_kiq`).

use rkfd_hw::pm4::commands::{self, WaitRegMem, WriteData, DST_MEMORY, SEL_REGISTER};
use rkfd_hw::pm4::{self, *};
use std::fmt;

/// A packet without anything undefined in it.
#[derive(Clone, PartialEq, Eq)]
pub enum Packet {
    /// Skipped.
    Nop,
    /// VMIDs, HQDs and limits of a scheduler.
    SetResources(SetResources),
    /// A run list's address and size.
    RunList(RunList),
    /// A process, in a run list.
    MapProcess(MapProcess),
    /// A queue.
    MapQueues(MapQueues),
    /// Queues to take off.
    UnmapQueues(UnmapQueues),
    /// A fence.
    QueryStatus(QueryStatus),
    /// Translations to forget: word 1.
    InvalidateTlbs(InvalidateTlbs),
    /// Words for memory of VMID 0.
    WriteMemory {
        /// Where.
        address: u64,
        /// All words go to one address.
        same: bool,
        /// What.
        data: Vec<u32>,
    },
    /// Words for registers.
    WriteRegister {
        /// Offset in words, of the whole register space.
        register: u32,
        /// All words go to one register.
        same: bool,
        /// What.
        data: Vec<u32>,
    },
    /// Waits for a register or a word of VMID 0's memory.
    Wait(Wait),
}

/// WAIT_REG_MEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The register that gets the reference first.
    pub first: Option<u32>,
    /// What is waited for.
    pub place: Place,
    /// How it compares.
    pub function: u64,
    /// With what.
    pub reference: u32,
    /// Which of its bits.
    pub mask: u32,
}

/// Where a packet finds a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// An address in the VMID of its queue.
    Memory(u64),
    /// An offset in words, of the whole register space.
    Register(u32),
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nop => write!(f, ""),
            Self::SetResources(p) => p.fmt(f),
            Self::RunList(p) => p.fmt(f),
            Self::MapProcess(p) => p.fmt(f),
            Self::MapQueues(p) => p.fmt(f),
            Self::UnmapQueues(p) => p.fmt(f),
            Self::QueryStatus(p) => p.fmt(f),
            Self::InvalidateTlbs(p) => write!(
                f,
                "InvalidateTlbs DST_SEL={:#x} ALL_HUB={:#x} PASID={:#x} FLUSH_TYPE={:#x}",
                p.get(InvalidateTlbs::DST_SEL),
                p.get(InvalidateTlbs::ALL_HUB),
                p.get(InvalidateTlbs::PASID),
                p.get(InvalidateTlbs::FLUSH_TYPE)
            ),
            Self::Wait(wait) => wait.fmt(f),
            Self::WriteMemory { address, data, .. } => {
                write!(f, "WriteData MEMORY={address:#x} DATA={data:x?}")
            }
            Self::WriteRegister { register, data, .. } => {
                write!(f, "WriteData REGISTER={register:#x} DATA={data:x?}")
            }
        }
    }
}

/// The name of a packet by opcode.
pub fn name(opcode: u8) -> &'static str {
    match pm4::name(opcode) {
        Some(name) => name,
        None if opcode == commands::op::SET_UCONFIG_REG => "SET_UCONFIG_REG",
        None => "unknown",
    }
}

/// Why a packet can't be executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bad {
    /// No packet that the firmware knows: raises CP_BAD_OPCODE.
    Opcode(String),
    /// A known packet with undefined content.
    Content(String),
}

/// The size of a packet in words and its opcode, from its first word.
///
/// # Errors
/// It is no type-3 header.
pub fn size(header: u32) -> Result<(u8, usize), Bad> {
    let (opcode, words) = parse_header(header)
        .ok_or_else(|| Bad::Opcode(format!("no type-3 PM4 header: {header:#010x}")))?;
    if words == 1 && opcode != op::NOP {
        return Err(Bad::Opcode(format!(
            "PM4 header {header:#010x}: only NOP has no body"
        )));
    }
    Ok((opcode, words as usize))
}

/// The words of a packet: those that follow are another's.
///
/// # Errors
/// There are fewer than its header counts.
pub(super) fn whole(words: &[u32], len: usize) -> Result<&[u32], Bad> {
    let all = words.get(..len);
    all.ok_or_else(|| Bad::Content(format!("{} words of a packet of {len}", words.len())))
}

/// Takes a whole packet apart. In a queue of the kernel interface (`kiq`), MAP_QUEUES names its slot.
///
/// # Errors
/// What is undefined about it.
pub fn parse(words: &[u32], kiq: bool) -> Result<Packet, Bad> {
    let (opcode, len) = size(words.first().copied().unwrap_or(0))?;
    if opcode == op::NOP {
        return Ok(Packet::Nop);
    }
    let words = whole(words, len)?;
    let name = name(opcode);
    let reserved = |word: Option<usize>| match word {
        Some(word) => Err(Bad::Content(format!(
            "{name}: reserved bits of word {word} are set"
        ))),
        None => Ok(()),
    };
    macro_rules! layout {
        ($t:ident) => {{
            ($t::zeroed().0.len() == len)
                .then(|| $t::read(words))
                .flatten()
                .ok_or_else(|| Bad::Content(format!("{name} of {len} words")))?
        }};
    }
    Ok(match opcode {
        op::SET_RESOURCES => {
            let p = layout!(SetResources);
            reserved(p.reserved_word())?;
            Packet::SetResources(p)
        }
        op::RUN_LIST => {
            let p = layout!(RunList);
            reserved(p.reserved_word())?;
            Packet::RunList(p)
        }
        op::MAP_PROCESS => {
            let p = layout!(MapProcess);
            reserved(p.reserved_word())?;
            Packet::MapProcess(p)
        }
        op::MAP_QUEUES => {
            let p = layout!(MapQueues);
            let mut rest = p;
            if kiq {
                rest.put(kiq_map::VMID.is::<0>());
                rest.put(kiq_map::QUEUE.is::<0>());
                rest.put(kiq_map::PIPE.is::<0>());
                rest.put(kiq_map::ME.is::<0>());
                rest.put(kiq_map::ALLOC_FORMAT.is::<0>());
            }
            reserved(rest.reserved_word())?;
            Packet::MapQueues(p)
        }
        op::UNMAP_QUEUES => {
            let p = layout!(UnmapQueues);
            let mut rest = p;
            if p.get(UnmapQueues::QUEUE_SEL) == SELECT_PASID {
                rest.0[2] &= !0xffff;
                if rest.get(UnmapQueues::DOORBELL_OFFSET0) != 0 {
                    reserved(Some(2))?;
                }
            }
            reserved(rest.reserved_word())?;
            Packet::UnmapQueues(p)
        }
        op::QUERY_STATUS => {
            let p = layout!(QueryStatus);
            reserved(p.reserved_word())?;
            Packet::QueryStatus(p)
        }
        op::INVALIDATE_TLBS => {
            let p = layout!(InvalidateTlbs);
            reserved(p.reserved_word())?;
            Packet::InvalidateTlbs(p)
        }
        op::WRITE_DATA => return write(words, name),
        commands::op::WAIT_REG_MEM => {
            let p = layout!(WaitRegMem);
            reserved(p.reserved_word())?;
            Packet::Wait(wait(&p)?)
        }
        // The KIQ's ring test writes a scratch register with it.
        commands::op::SET_UCONFIG_REG => match words {
            [_, offset, data @ ..] if !data.is_empty() && *offset < 0x400 => {
                let register = commands::UCONFIG + offset;
                Packet::WriteRegister {
                    register,
                    same: false,
                    data: data.to_vec(),
                }
            }
            [_, offset, ..] => {
                return Err(Bad::Content(format!("{name}: register offset {offset:#x}")))
            }
            _ => return Err(Bad::Content(format!("{name} of {len} words"))),
        },
        _ => return Err(Bad::Opcode(format!("unknown PM4 opcode {opcode:#04x}"))),
    })
}

/// As `gfx_v9_4_3_wait_reg_mem` fills it.
pub(super) fn wait(p: &WaitRegMem) -> Result<Wait, Bad> {
    use WaitRegMem as W;
    let address = p.get(W::ADDR);
    let [low, high] = [address as u32, (address >> 32) as u32];
    let (first, place) = match (p.get(W::MEM_SPACE), p.get(W::OPERATION)) {
        (
            commands::SPACE_MEMORY,
            commands::OPERATION_WAIT | commands::OPERATION_WAIT_PREEMPTABLE,
        ) if address % 4 == 0 => (None, Place::Memory(address)),
        (commands::SPACE_REGISTER, commands::OPERATION_WAIT) if high == 0 => {
            (None, Place::Register(low))
        }
        (commands::SPACE_REGISTER, commands::OPERATION_WRITE_WAIT) => {
            (Some(low), Place::Register(high))
        }
        (space, operation) => {
            return Err(Bad::Content(format!(
                "WAIT_REG_MEM: space {space}, operation {operation}, address {address:#x}"
            )))
        }
    };
    let function = p.get(W::FUNCTION);
    if function > commands::WAIT_GREATER {
        return Err(Bad::Content(format!("WAIT_REG_MEM: function {function}")));
    }
    Ok(Wait {
        first,
        place,
        function,
        reference: p.get(W::REFERENCE) as u32,
        mask: p.get(W::MASK) as u32,
    })
}

fn write(words: &[u32], name: &str) -> Result<Packet, Bad> {
    let bad = |what: String| Err(Bad::Content(format!("{name}: {what}")));
    let [_, control, low, high, data @ ..] = words else {
        return bad(format!("{} words", words.len()));
    };
    let known = [
        WriteData::DST_SEL.mask(),
        WriteData::ADDR_INCR.mask(),
        WriteData::WR_CONFIRM.mask(),
        WriteData::CACHE_POLICY.mask(),
    ]
    .iter()
    .fold(0, |known, mask| known | mask);
    let packet = WriteData([0, *control, *low, *high]);
    if data.is_empty() {
        return bad("no data".into());
    }
    if control & !known != 0 {
        return bad(format!(
            "reserved bits {:#x} of word 1 are set",
            control & !known
        ));
    }
    let (same, data) = (packet.is_set(WriteData::ADDR_INCR), data.to_vec());
    match packet.get(WriteData::DST_SEL) {
        // 18 bits of register offset (`kfd_pm4_headers_ai.h`, dst_mmreg_addr).
        SEL_REGISTER if *low < 1 << 18 && *high == 0 => Ok(Packet::WriteRegister {
            register: *low,
            same,
            data,
        }),
        SEL_REGISTER => bad(format!("register offset {high:#x}:{low:#x}")),
        DST_MEMORY if low % 4 == 0 && *high <= 0xffff => Ok(Packet::WriteMemory {
            address: (u64::from(*high) << 32) | u64::from(*low),
            same,
            data,
        }),
        DST_MEMORY => bad(format!(
            "misaligned or too large address {high:#x}:{low:#x}"
        )),
        dst => bad(format!("destination {dst} not modelled")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(words: &[u32], kiq: bool) -> String {
        match parse(words, kiq) {
            Err(Bad::Content(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parses_what_linux_writes() {
        // gfx_v9_4_3_kiq_map_queues for pipe 0, queue 0 of MEC2, as kgd_gfx_v9_hiq_mqd_load does.
        let map = [
            0xc005_a200,
            (1 << 26) | (1 << 29) | (1 << 18),
            2 << 2,
            0x1000,
            0x80,
            0x2000,
            0x80,
        ];
        let Ok(Packet::MapQueues(p)) = parse(&map, true) else {
            panic!()
        };
        assert_eq!((p.get(kiq_map::ME), p.get(MapQueues::ENGINE_SEL)), (1, 1));
        assert_eq!(
            content(&map, false),
            "MAP_QUEUES: reserved bits of word 1 are set"
        );
        // gfx_v9_4_3_ring_emit_fence_kiq.
        let fence = [0xc003_3700, (5 << 8) | (1 << 20), 0x3000, 0x80, 7];
        let expected = Packet::WriteMemory {
            address: 0x80_0000_3000,
            same: false,
            data: vec![7],
        };
        assert_eq!(parse(&fence, true), Ok(expected));
        // gfx_v9_4_3_ring_test_ring: SCRATCH_REG0.
        let test = [0xc001_7900, 0x40, 0xdead_beef];
        let expected = Packet::WriteRegister {
            register: 0xc040,
            same: false,
            data: vec![0xdead_beef],
        };
        assert_eq!(parse(&test, true), Ok(expected));
        assert_eq!(size(FILLER), Ok((op::NOP, 1)));
        // kfd: unmap by PASID 0x8003 (its low bits lie outside of the doorbell field).
        let unmap = [0xc004_a300, 1 << 4, 0x8003, 0, 0, 0];
        assert!(matches!(parse(&unmap, false), Ok(Packet::UnmapQueues(_))));
    }

    #[test]
    fn refuses_what_is_undefined() {
        assert!(matches!(size(0), Err(Bad::Opcode(_))));
        assert!(matches!(
            size((0x3fff << 16) | (3 << 30) | 0xa500),
            Err(Bad::Opcode(_))
        ));
        assert!(matches!(
            parse(&[header(0x22, 2), 0], true),
            Err(Bad::Opcode(_))
        ));
        let mut p = SetResources::zeroed();
        p.0[0] = header(op::SET_RESOURCES, 8);
        assert!(parse(&p.0, false).is_ok());
        p.0[1] |= 1 << 24;
        assert_eq!(
            content(&p.0, false),
            "SET_RESOURCES: reserved bits of word 1 are set"
        );
        assert_eq!(
            content(&[header(op::RUN_LIST, 3), 0, 0], false),
            "RUN_LIST of 3 words"
        );
        let by_doorbell = [0xc004_a300, 0, 3, 0, 0, 0];
        assert_eq!(
            content(&by_doorbell, false),
            "UNMAP_QUEUES: reserved bits of word 2 are set"
        );
        let write = |control, low| [header(op::WRITE_DATA, 5), control, low, 0, 0];
        assert_eq!(
            content(&write(1, 0), true),
            "WRITE_DATA: reserved bits 0x1 of word 1 are set"
        );
        assert_eq!(
            content(&write(2 << 8, 0), true),
            "WRITE_DATA: destination 2 not modelled"
        );
        assert_eq!(
            content(&write(5 << 8, 2), true),
            "WRITE_DATA: misaligned or too large address 0x0:0x2"
        );
    }
}
