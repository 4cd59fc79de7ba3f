// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a wave stopped before it reached s_endpgm.

use crate::decode::counters::Counter;
use crate::decode::Register;
use crate::text::Text;
use std::fmt;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Load.
    Read,
    /// Store.
    Write,
    /// Read, modify, write.
    Atomic,
    /// Fetch an instruction.
    Execute,
}

/// Why an address cannot be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No valid translation.
    NotPresent,
    /// Translated, but this kind of access is not permitted.
    NotPermitted,
    /// The address is not canonical: its upper bits are no sign extension.
    NotCanonical,
    /// The translation leads outside of memory.
    NoMemory,
    /// An atomic at an address that is not a multiple of its size.
    Unaligned,
}

/// A failed access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFault {
    /// The GPU virtual address.
    pub va: u64,
    /// What was tried.
    pub access: Access,
    /// Why it failed.
    pub reason: Reason,
}

/// What the waves of a workgroup share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// The workgroup's LDS.
    Lds,
    /// Memory, by the GPU's virtual address.
    Memory,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lds => "LDS",
            Self::Memory => "memory",
        })
    }
}

/// Why an instruction could not be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A memory access failed.
    Memory(MemoryFault),
    /// An instruction of the chip that this compute unit does not execute.
    Illegal,
    /// A form that is not executed, of an instruction that is.
    Unsupported(&'static str),
    /// Words that are no instruction of the chip.
    Undecodable,
    /// A register beyond what the wave was given.
    Register,
    /// An LDS access beyond what the workgroup was given.
    Lds(u64),
    /// A scratch access beyond what the wave was given.
    Scratch(u64),
    /// An access to memory that the chip refuses, whatever the address.
    Violation(&'static str),
    /// A global semaphore or barrier that the wave's queue was not given.
    Gws(u32),
    /// A register that an operation of memory has yet to write, or to read: the program has not waited for it.
    Unwaited {
        /// The register's operand code.
        register: u16,
        /// The counter that shows when the operation has.
        counter: Counter,
        /// The operation's address.
        pc: u64,
    },
    /// Two waves of a workgroup access the same bytes, at least one writes, and nothing orders them.
    Race {
        /// Where the bytes are.
        space: Space,
        /// The first byte's address there.
        at: u64,
        /// The address of the other wave's instruction.
        pc: u64,
        /// The other wave.
        wave: u8,
        /// The other one has written.
        wrote: bool,
        /// This one writes.
        writes: bool,
    },
    /// s_trap.
    Trap(u8),
    /// The instruction has met watched addresses. It was executed.
    Watched {
        /// Bit n: watched address n.
        met: u8,
        /// The instruction's address.
        pc: u64,
    },
    /// The wave goes on by single instructions, and has executed one.
    Stepped,
    /// Exceptions of arithmetic that trap. The instruction was executed.
    Arithmetic {
        /// Their bits in EXCP.
        flags: u32,
        /// The instruction's address.
        pc: u64,
    },
    /// s_rfe_b64 in a trap handler, with the address to return to: no fault; the workgroup carries it out.
    Return(u64),
}

/// A wave's fatal instruction, its address and its wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Why.
    pub kind: FaultKind,
    /// The instruction's address.
    pub pc: u64,
    /// Its first words.
    pub words: [u32; 2],
    /// The same as text, if they are an instruction of the chip.
    pub text: Option<Text>,
    /// The other instruction that has to do with it, if there is one: its address and its text.
    pub other: Option<(u64, Text)>,
    /// The wave in its workgroup.
    pub wave: u32,
    /// The workgroup in its grid.
    pub workgroup: [u32; 3],
}

impl From<MemoryFault> for FaultKind {
    fn from(fault: MemoryFault) -> Self {
        Self::Memory(fault)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(m) => write!(
                f,
                "memory access fault: {:?} at {:#x}: {:?}",
                m.access, m.va, m.reason
            ),
            Self::Illegal => write!(f, "illegal instruction: not executed by this compute unit"),
            Self::Unsupported(what) => write!(
                f,
                "illegal instruction: {what} not executed by this compute unit"
            ),
            Self::Undecodable => write!(f, "illegal instruction: no instruction of this chip"),
            Self::Register => write!(
                f,
                "illegal instruction: a register beyond the wave's allocation"
            ),
            Self::Lds(at) => write!(f, "LDS access beyond the workgroup's allocation at {at:#x}"),
            Self::Scratch(at) => {
                write!(f, "scratch access beyond the wave's allocation at {at:#x}")
            }
            Self::Violation(what) => write!(f, "memory violation: {what}"),
            Self::Gws(resource) => write!(
                f,
                "global wave sync: resource {resource} is beyond what the queue was given"
            ),
            Self::Unwaited {
                register,
                counter,
                pc,
            } => {
                let register = Register(*register);
                write!(
                    f,
                    "{register} is used before a wait for {counter}, which counts "
                )?;
                write!(
                    f,
                    "the instruction at {pc:#x} until it is done with {register}"
                )
            }
            Self::Race {
                space,
                at,
                pc,
                wave,
                wrote,
                writes,
            } => {
                let (now, before) = (
                    ["read", "write"][usize::from(*writes)],
                    ["read", "write"][usize::from(*wrote)],
                );
                write!(
                    f,
                    "race for {space} at {at:#x}: nothing orders this {now} and "
                )?;
                write!(
                    f,
                    "the {before} of wave {wave} by the instruction at {pc:#x}"
                )
            }
            Self::Trap(id) => write!(f, "trap {id} with no trap handler"),
            Self::Watched { met, .. } => write!(f, "watched addresses {met:#x} met"),
            Self::Arithmetic { flags, .. } => write!(f, "exceptions of arithmetic {flags:#x}"),
            Self::Stepped => write!(f, "a single instruction was executed"),
            Self::Return(to) => write!(f, "return from a trap to {to:#x}"),
        }
    }
}

impl FaultKind {
    /// The address of the instruction that it is about, if the wave is behind that.
    pub(crate) fn executed(&self) -> Option<u64> {
        match self {
            Self::Watched { pc, .. } | Self::Arithmetic { pc, .. } => Some(*pc),
            _ => None,
        }
    }

    /// The address of the other instruction that has to do with it, if there is one.
    pub(crate) fn other(&self) -> Option<u64> {
        match self {
            Self::Unwaited { pc, .. } | Self::Race { pc, .. } => Some(*pc),
            _ => None,
        }
    }
}

impl Fault {
    /// The instruction's mnemonic, if it has one.
    pub fn mnemonic(&self) -> Option<&'static str> {
        self.text.map(|text| text.mnemonic())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "{} (pc {:#x}, ", self.kind, self.pc)?;
        match self.text {
            Some(text) => write!(f, "{text}")?,
            None => write!(f, "words {:#010x} {:#010x}", self.words[0], self.words[1])?,
        }
        write!(f, ", wave {} of workgroup {x},{y},{z}", self.wave)?;
        if let Some((pc, text)) = &self.other {
            write!(f, "; at {pc:#x}: {text}")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Fault {}
