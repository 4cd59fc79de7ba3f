// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations that come in regular families, taken apart once from their names.

use super::atomic::Atomic;
use super::formatted::Data;
use super::matrix::Matrix;
use crate::decode::ops::{Op, NAMES};
use std::sync::OnceLock;

/// Type of a comparison's sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of types")]
pub enum Type {
    F16,
    F32,
    F64,
    I16,
    I32,
    I64,
    U16,
    U32,
    U64,
}

/// A member of a regular family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something of its own.
    Plain,
    /// v_cmp and v_cmpx.
    Compare {
        /// Type of the sources.
        ty: Type,
        /// Result by relation: bit 0 less, 1 equal, 2 greater, 3 unordered.
        when: u8,
        /// v_cmpx writes EXEC too.
        exec: bool,
    },
    /// v_cmp_class and v_cmpx_class.
    Class(Type, bool),
    /// A load of whole dwords.
    Load(u8),
    /// A load of 1 or 2 bytes.
    LoadSmall {
        /// 1 or 2.
        bytes: u8,
        /// Sign-extend.
        signed: bool,
        /// Into one half only: 0 whole register, 1 low, 2 high.
        half: u8,
    },
    /// A store of whole dwords.
    Store(u8),
    /// A store of 1 or 2 bytes, and whether they come from the upper half.
    StoreSmall(u8, bool),
    /// A load of so many bytes into LDS at M0's address, and whether it sign-extends.
    LoadLds(u8, bool),
    /// A store of the dword that LDS has at M0's address.
    StoreLds,
    /// A load, or a store, of those of 32 registers that M0 names.
    Block(bool),
    /// A load or a store that converts.
    Formatted(Data),
    /// An atomic of 32 bits, or 64.
    Atomic(Atomic, bool),
    /// A matrix operation.
    Matrix(Matrix),
    /// A wait or a hint: every instruction completes before the next, so there is nothing to do. Or maintenance of
    /// caches, of which only the first level holds anything.
    Hint,
    /// s_getreg and s_setreg.
    Hardware(Register),
    /// s_sendmsg that asks for the queue's doorbell.
    Doorbell,
    /// s_sendmsg by which a trap handler says that it is ready to save its wave.
    SaveWave,
}

/// A hardware register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// One that is not emulated.
    Unknown,
    /// MODE, and which of its bits the chip has.
    Mode(u32),
    /// STATUS, with SCC in it or not.
    Status {
        /// SCC is bit 0.
        scc: bool,
    },
    /// gfx12's STATE_PRIV, which a trap handler has.
    StatePrivate,
    /// The exceptions that a trap handler reads: gfx9's TRAPSTS, gfx12's EXCP_FLAG_PRIV. The value is its
    /// bits for exceptions of arithmetic, which belong to the program.
    TrapStatus(u32),
    /// gfx12's EXCP_FLAG_USER: the exceptions of arithmetic.
    UserFlags,
    /// gfx12's TRAP_CTRL: which exceptions trap.
    TrapControl,
    /// gfx9's SQ_SHADER_TBA and SQ_SHADER_TMA: half of an address without its low 8 bits.
    Handler {
        /// Of its memory.
        memory: bool,
        /// The upper half.
        high: bool,
    },
    /// Where the wave runs; gfx12's second one has the queue that it is of.
    HardwareId {
        /// HW_ID2.
        second: bool,
    },
    /// Instruction scheduling, which has no effect here.
    Scheduling,
    /// The workgroup's LDS: its size, in units of so many bytes.
    LdsAlloc(u32),
    /// The wave's registers: how many it has of each kind.
    GprAlloc,
    /// Counters of outstanding operations: always 0 here.
    Nothing,
    /// The apertures.
    ShMemBases,
    /// The wave's scratch.
    ScratchBase {
        /// The address's upper half.
        high: bool,
    },
    /// The number of the compute unit's XCC.
    XccId,
    /// The clock's lower 32 bits.
    CyclesLow,
    /// The clock's upper 32 bits.
    CyclesHigh,
}

/// The family member that `op` is.
pub fn of(op: Op) -> Kind {
    static KINDS: OnceLock<Vec<Kind>> = OnceLock::new();
    KINDS.get_or_init(|| NAMES.iter().map(|name| parse(name)).collect())[op as usize]
}

fn parse(name: &str) -> Kind {
    if is_hint(name) {
        return Kind::Hint;
    }
    if let Some(matrix) = name.strip_prefix("v_").and_then(Matrix::parse) {
        return Kind::Matrix(matrix);
    }
    if let Some(rest) = name.strip_prefix("v_cmp") {
        return compare(rest).unwrap_or(Kind::Plain);
    }
    // The names of the integer comparisons spell their type.
    if let Some(rest) = name
        .strip_prefix("s_cmp")
        .filter(|_| name.ends_with("_f32") || name.ends_with("_f16"))
    {
        return compare(rest).unwrap_or(Kind::Plain);
    }
    for space in ["s_buffer_", "s_scratch_", "s_"] {
        if let Some(rest) = name.strip_prefix(space).and_then(scalar) {
            return rest;
        }
    }
    for space in ["flat_", "global_", "scratch_", "buffer_", "tbuffer_"] {
        if let Some(rest) = name.strip_prefix(space) {
            return memory(rest).unwrap_or(Kind::Plain);
        }
    }
    if let Some(rest) = name.strip_prefix("ds_") {
        return lds(rest).unwrap_or(Kind::Plain);
    }
    Kind::Plain
}

fn is_hint(name: &str) -> bool {
    const EXACT: [&str; 29] = [
        "s_nop",
        "s_waitcnt",
        "s_setprio",
        "s_icache_inv",
        "s_wakeup",
        "s_incperflevel",
        "s_decperflevel",
        "s_ttracedata",
        "s_ttracedata_imm",
        "s_clause",
        "s_delay_alu",
        "s_singleuse_vdst",
        "s_dcache_inv",
        "s_dcache_wb",
        "s_dcache_inv_vol",
        "s_dcache_wb_vol",
        "s_dcache_discard",
        "s_dcache_discard_x2",
        "s_atc_probe",
        "s_atc_probe_buffer",
        "s_buffer_prefetch_data",
        "s_version",
        "buffer_wbinvl1",
        "buffer_wbinvl1_vol",
        "buffer_inv",
        "buffer_wbl2",
        "global_inv",
        "global_wb",
        "global_wbinv",
    ];
    let waits = name.starts_with("s_wait_");
    waits || name.starts_with("s_prefetch_") || EXACT.contains(&name)
}

fn compare(rest: &str) -> Option<Kind> {
    let (exec, rest) = match rest.strip_prefix("x_") {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix('_')?),
    };
    let (relation, ty) = rest.rsplit_once('_')?;
    let ty = match ty {
        "f16" => Type::F16,
        "f32" => Type::F32,
        "f64" => Type::F64,
        "i16" => Type::I16,
        "i32" => Type::I32,
        "i64" => Type::I64,
        "u16" => Type::U16,
        "u32" => Type::U32,
        "u64" => Type::U64,
        _ => return None,
    };
    let float = matches!(ty, Type::F16 | Type::F32 | Type::F64);
    // The ISA's negated forms are true for unordered sources.
    let when = match relation {
        "class" => return Some(Kind::Class(ty, exec)),
        "f" => 0,
        "lt" => 0b0001,
        "eq" => 0b0010,
        "le" => 0b0011,
        "gt" => 0b0100,
        "lg" => 0b0101,
        "ne" => 0b0101,
        "ge" => 0b0110,
        "o" => 0b0111,
        "u" => 0b1000,
        "nge" => 0b1001,
        "nlg" => 0b1010,
        "ngt" => 0b1011,
        "nle" => 0b1100,
        "neq" => 0b1101,
        "nlt" => 0b1110,
        "tru" if float => 0b1111,
        "t" => 0b1111,
        _ => return None,
    };
    Some(Kind::Compare { ty, when, exec })
}

fn small(rest: &str) -> Option<(u8, bool, u8)> {
    // gfx9's names have this at the end, gfx12's at the beginning.
    let ways = [
        (rest.strip_suffix("_d16_hi"), 2),
        (rest.strip_prefix("d16_hi_"), 2),
        (rest.strip_suffix("_d16"), 1),
        (rest.strip_prefix("d16_"), 1),
        (Some(rest), 0),
    ];
    let (rest, half) = ways
        .into_iter()
        .find_map(|(rest, half)| Some((rest?, half)))?;
    Some(match rest {
        "ubyte" | "u8" => (1, false, half),
        "sbyte" | "i8" => (1, true, half),
        "ushort" | "u16" | "short" | "b16" => (2, false, half),
        "sshort" | "i16" => (2, true, half),
        _ => return None,
    })
}

fn dwords(rest: &str) -> Option<u8> {
    Some(match rest {
        "dword" | "b32" => 1,
        "dwordx2" | "b64" => 2,
        "dwordx3" | "b96" => 3,
        "dwordx4" | "b128" => 4,
        "dwordx8" | "b256" => 8,
        "dwordx16" | "b512" => 16,
        _ => return None,
    })
}

fn load(rest: &str) -> Option<Kind> {
    if let Some(count) = dwords(rest) {
        return Some(Kind::Load(count));
    }
    small(rest).map(|(bytes, signed, half)| Kind::LoadSmall {
        bytes,
        signed,
        half,
    })
}

fn store(rest: &str) -> Option<Kind> {
    if let Some(count) = dwords(rest) {
        return Some(Kind::Store(count));
    }
    Some(match rest {
        "byte" | "b8" => Kind::StoreSmall(1, false),
        "short" | "b16" => Kind::StoreSmall(2, false),
        "byte_d16_hi" | "b8_d16_hi" | "d16_hi_b8" => Kind::StoreSmall(1, true),
        "short_d16_hi" | "b16_d16_hi" | "d16_hi_b16" => Kind::StoreSmall(2, true),
        _ => return None,
    })
}

/// Scalar memory: loads, stores and atomics.
fn scalar(rest: &str) -> Option<Kind> {
    if let Some(rest) = rest.strip_prefix("load_") {
        return load(rest);
    }
    if let Some(rest) = rest.strip_prefix("store_") {
        return store(rest);
    }
    rest.starts_with("atomic_").then(|| memory(rest)).flatten()
}

fn memory(rest: &str) -> Option<Kind> {
    if let Some(data) = Data::parse(rest) {
        return Some(Kind::Formatted(data));
    }
    if let Some(rest) = rest.strip_prefix("load_lds_") {
        return match small(rest) {
            Some((bytes, signed, _)) => Some(Kind::LoadLds(bytes, signed)),
            None => dwords(rest).map(|_| Kind::LoadLds(4, false)),
        };
    }
    match rest {
        "load_block" => return Some(Kind::Block(false)),
        "store_block" => return Some(Kind::Block(true)),
        "load_addtid_b32" => return Some(Kind::Load(1)),
        "store_addtid_b32" => return Some(Kind::Store(1)),
        "store_lds_dword" => return Some(Kind::StoreLds),
        _ => {}
    }
    if let Some(rest) = rest.strip_prefix("load_") {
        return load(rest);
    }
    if let Some(rest) = rest.strip_prefix("store_") {
        return store(rest);
    }
    let rest = rest.strip_prefix("atomic_")?;
    if let Some(kind) = typed(rest) {
        return Some(kind);
    }
    match rest.strip_suffix("_x2") {
        Some(name) => Atomic::parse(name, false).map(|a| Kind::Atomic(a, true)),
        None => Atomic::parse(rest, false).map(|a| Kind::Atomic(a, false)),
    }
}

fn lds(rest: &str) -> Option<Kind> {
    for read in ["read_", "load_"] {
        if let Some(rest) = rest.strip_prefix(read) {
            return load(rest);
        }
    }
    for write in ["write_", "store_"] {
        if let Some(rest) = rest.strip_prefix(write) {
            return store(rest);
        }
    }
    typed(rest)
}

/// An atomic whose name ends in its type.
fn typed(rest: &str) -> Option<Kind> {
    let (name, ty) = rest.rsplit_once('_')?;
    let name = name.strip_suffix("_rtn").unwrap_or(name);
    let signed = ty.starts_with('i');
    let name = match (name, signed, ty.starts_with('u')) {
        ("min", true, _) => "smin",
        ("min", _, true) => "umin",
        ("max", true, _) => "smax",
        ("max", _, true) => "umax",
        _ => name,
    };
    match ty {
        "u32" | "i32" | "b32" => Atomic::parse(name, false).map(|a| Kind::Atomic(a, false)),
        "u64" | "i64" | "b64" => Atomic::parse(name, false).map(|a| Kind::Atomic(a, true)),
        "f32" => Atomic::parse(name, true).map(|a| Kind::Atomic(a, false)),
        "f64" => Atomic::parse(name, true).map(|a| Kind::Atomic(a, true)),
        "f16" if name == "pk_add" => Some(Kind::Atomic(Atomic::AddHalves, false)),
        "bf16" if name == "pk_add" => Some(Kind::Atomic(Atomic::AddBrain, false)),
        _ => None,
    }
}
