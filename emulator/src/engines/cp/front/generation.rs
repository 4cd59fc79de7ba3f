// SPDX-License-Identifier: MIT OR Apache-2.0

//! What differs between generations of the compute engine: one description each.
//!
//! Another generation is another constant; what reads queues, takes packets and runs waves asks a
//! description, never which chip it is.

mod gfx12;
mod gfx9_4_3;

pub use gfx12::GFX12;
pub use gfx9_4_3::GFX9_4_3;

use super::relaunch;
use super::slot::Slots;
use super::waves;
use crate::engines::cp::packet::command::Dialect;
use rkfd_hw::layout::FieldInfo;
use rkfd_hw::mqd::{Common as Image, FIRST_HQD_WORD};
use rkfd_hw::regs::{AnyField, Table};
use rkfd_isa::{FaultKind, Target};

/// A generation.
pub struct Generation {
    /// Instruction set of the compute units.
    pub isa: &'static Target,
    /// Its HQDs.
    pub slots: Slots,
    /// Its MQDs.
    pub mqd: Format,
    /// Bytes from a queue's MQD to its control stack, if that is not in the save area.
    pub stack_behind_mqd: Option<u64>,
    /// What is in the control stack.
    pub stack: &'static relaunch::Format,
    /// What a process' SH_MEM_CONFIG must have: the part of it, its bits, and their value. What
    /// other values mean is not modelled.
    pub shader_memory: &'static [(&'static str, u32, u32)],
    /// Registers of its graphics core.
    pub registers: &'static Table,
    /// Packets of PM4 that processes write.
    pub commands: &'static Dialect,
    /// The fields of a queue's COMPUTE_TMPRING_SIZE.
    pub scratch: TmpRing,
    /// Words of an interrupt for a wave's error: what failed, number of the wave.
    pub wave_error: fn(&FaultKind, u32) -> [u32; 4],
    /// Words of the interrupt that a shader asks for, of M0, and whether a trap handler does.
    pub message: fn(u32, bool) -> [u32; 4],
    /// Waves have a trap handler only where COMPUTE_PGM_RSRC2.TRAP_PRESENT is set.
    pub asks_for_traps: bool,
    /// Bits of TCP_WATCH0_CNTL.MASK.
    pub watch_mask: u32,
    /// What SQ_IND_DATA shows.
    pub(crate) waves: &'static waves::Registers,
}

/// A compute MQD and the HQD registers that it is loaded into.
pub struct Format {
    /// Its fields.
    pub fields: &'static [FieldInfo],
    /// The first word with bits outside of the fields.
    pub reserved_word: fn(&Image) -> Option<usize>,
    /// The bits that the register of a word has, all for a word that is none.
    pub mask: fn(usize) -> u32,
    /// The words whose registers do not read zero after a reset.
    pub reset: &'static [(usize, u32)],
    /// The words whose registers a driver writes from the MQD, where it connects a queue by registers.
    pub by_registers: &'static [usize],
    /// CP_HQD_PERSISTENT_STATE.PRELOAD_SIZE: the size of the image.
    pub preload: u32,
    /// CP_HQD_PQ_CONTROL.SLOT_BASED_WPTR.
    pub slot_based_wptr: AnyField<2>,
    /// Bits of CP_HQD_PQ_CONTROL that must be 0.
    pub clear: &'static [(u32, &'static str)],
    /// Bits of CP_HQD_PQ_CONTROL that an AQL queue must have.
    pub aql: &'static [(u32, &'static str)],
    /// CP_HQD_PQ_CONTROL.NO_UPDATE_RPTR keeps an AQL queue's read index unreported: so several dies
    /// share a queue. Elsewhere it is set on every AQL queue, whose packet processor reports it.
    pub mutes_aql: bool,
    /// The word of COMPUTE_PGM_RSRC3, by the order of the registers.
    pub rsrc3: usize,
    /// Where it describes how a queue is spread over XCCs, where a queue may be on several.
    pub spread: Option<Spread>,
    /// What else a whole MQD must hold, of a program's queue or the kernel's, of AQL or PM4.
    pub check: fn(&Image, user: bool, aql: bool) -> Result<(), String>,
}

/// Where the MQDs of a generation store how a queue is spread over XCCs.
pub struct Spread {
    /// CP_MQD_STRIDE_SIZE: bytes from one XCC's MQD to the next one's.
    pub stride: fn(&Image) -> u64,
    /// COMPUTE_CURRENT_LOGIC_XCC_ID.
    pub logical: fn(&Image) -> u32,
    /// PM4_TARGET_XCC_IN_XCP.
    pub target: fn(&Image) -> u32,
}

/// How a queue's scratch is counted.
pub struct TmpRing {
    /// Size of a wave's: these bits from bit 12 on.
    pub wave_size: u32,
    /// Bytes of its unit.
    pub unit: u64,
    /// Its waves are those of one shader engine, not of all.
    pub per_engine: bool,
}

impl Format {
    /// The HQD registers after a reset.
    pub fn start_up(&self) -> Image {
        let mut image = Image::zeroed();
        for &(word, value) in self.reset {
            if let Some(w) = image.0.get_mut(word) {
                *w = value;
            }
        }
        image
    }

    /// The name of a word, for violations and traces.
    pub fn word_name(&self, word: usize) -> String {
        let named = self.fields.iter().find(|f| {
            let first = usize::from(f.bit) / 32;
            word == first || (f.width > 32 && word == first + 1)
        });
        match named {
            Some(f) if usize::from(f.bit) / 32 == word && f.width > 32 => format!("{}_LO", f.name),
            Some(f) if f.width > 32 => format!("{}_HI", f.name),
            Some(f) => f.name.to_string(),
            None => format!("reserved word {word}"),
        }
    }

    /// The first field that the packet processor fills for a dispatch, and that is not 0.
    pub fn filled(&self, image: &Image) -> Option<&'static str> {
        let found = self.fields.iter().find(|field| {
            let name = field.name;
            let filled_by_cp = name.starts_with("COMPUTE_DIM")
                || name.starts_with("COMPUTE_START")
                || name.starts_with("COMPUTE_NUM_THREAD")
                || name.starts_with("COMPUTE_USER_DATA")
                || matches!(
                    name,
                    "COMPUTE_DISPATCH_INITIATOR"
                        | "COMPUTE_PGM"
                        | "COMPUTE_PGM_RSRC1"
                        | "COMPUTE_VMID"
                );
            let value = field.get(&image.0);
            usize::from(field.bit) / 32 < FIRST_HQD_WORD && filled_by_cp && value != 0
        });
        found.map(|field| field.name)
    }
}

#[cfg(test)]
mod tests {
    use super::Table;
    use rkfd_hw::regs::{gc_12_0_0 as gc12, gc_9_4_3 as gc9};

    /// The fields that shared code takes from one generation's registers.
    #[test]
    fn shared_register_fields_are_the_same_in_all_generations() {
        let fields = |table: &Table, name: &str| -> Vec<(&'static str, u16, u8)> {
            let found = table.regs.iter().find(|r| r.reg.name == name);
            let fields = found.map_or(&[][..], |r| r.fields).iter();
            fields
                .map(|field| (field.name, field.bit, field.width))
                .collect()
        };
        for (register, names) in [
            (
                "CP_HQD_PQ_CONTROL",
                &["QUEUE_SIZE", "NO_UPDATE_RPTR", "PRIV_STATE", "KMD_QUEUE"][..],
            ),
            (
                "CP_HQD_PQ_DOORBELL_CONTROL",
                &["DOORBELL_OFFSET", "DOORBELL_MODE"],
            ),
            (
                "CP_HQD_PERSISTENT_STATE",
                &[
                    "PRELOAD_SIZE",
                    "QSWITCH_MODE",
                    "RESTORE_ACTIVE",
                    "RELAUNCH_WAVES",
                ],
            ),
            ("CP_HQD_EOP_CONTROL", &["EOP_SIZE"]),
            ("CP_MQD_CONTROL", &["VMID"]),
            (
                "CP_HQD_QUANTUM",
                &["QUANTUM_EN", "QUANTUM_SCALE", "QUANTUM_DURATION"],
            ),
            (
                "CP_ME1_PIPE0_INT_CNTL",
                &["TIME_STAMP_INT_ENABLE", "OPCODE_ERROR_INT_ENABLE"],
            ),
            ("GRBM_GFX_CNTL", &["PIPEID", "MEID", "VMID", "QUEUEID"]),
            ("GRBM_PERFCOUNTER0_SELECT", &["PERF_SEL"]),
            ("SQ_PERFCOUNTER0_SELECT", &["PERF_SEL"]),
        ] {
            for name in names {
                let of = |table| fields(table, register).into_iter().find(|f| f.0 == *name);
                assert!(of(&gc9::TABLE).is_some(), "{register}.{name}");
                assert_eq!(of(&gc9::TABLE), of(&gc12::TABLE), "{register}.{name}");
            }
        }
    }
}
