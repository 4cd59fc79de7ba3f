// SPDX-License-Identifier: MIT OR Apache-2.0

//! PM4 packets of processes: taken apart and checked, nothing executed.
//!
//! Sources: [`rkfd_hw::pm4::commands`]; Linux, `amdgpu/soc15d.h` and `amdgpu/nvd.h`, whose comments
//! number what they select.

use super::pm4::{Bad, Wait};
use rkfd_hw::pm4::commands::{self, *};
use rkfd_hw::pm4::{self, op as common};

/// What differs between generations.
pub struct Dialect {
    /// Takes a RELEASE_MEM apart; `None` when its size is wrong.
    pub release: fn(&[u32]) -> Option<Checked<Release>>,
    /// The bits of COMPUTE_DISPATCH_INITIATOR that are modelled.
    pub initiator: u32,
    /// Whether PRED_EXEC lets only some XCCs execute packets.
    pub predicates: bool,
    /// Takes an ACQUIRE_MEM apart.
    pub acquire: fn(&[u32]) -> Option<Checked<Acquire>>,
}

/// A packet's content, or the first word with reserved bits.
pub type Checked<T> = Result<T, usize>;

/// RELEASE_MEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Release {
    /// EVENT_TYPE and EVENT_INDEX.
    pub event: (u64, u64),
    /// DST_SEL, INT_SEL and DATA_SEL.
    pub select: [u64; 3],
    /// Where the value goes.
    pub address: u64,
    /// The value.
    pub data: u64,
    /// The interrupt's data.
    pub context: u32,
    /// The second-level cache is written back first.
    pub write_back: bool,
}

impl Release {
    /// As six numbers.
    pub(crate) fn pack(&self) -> [u64; 6] {
        let [destination, interrupt, data] = self.select;
        let select =
            destination | (interrupt << 8) | (data << 16) | (u64::from(self.write_back) << 24);
        let (kind, index) = self.event;
        let context = self.context.into();
        [kind, index, select, self.address, self.data, context]
    }

    /// From six numbers that [`Release::pack`] gave.
    pub(crate) fn unpack(values: &[u64; 6]) -> Self {
        let &[kind, index, select, address, data, context] = values;
        Self {
            event: (kind, index),
            select: [select & 0xff, (select >> 8) & 0xff, (select >> 16) & 0xff],
            address,
            data,
            context: context as u32,
            write_back: (select >> 24) & 1 != 0,
        }
    }
}

/// ACQUIRE_MEM: caches of the first level may hold something old in this model, and the second level something new.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acquire {
    /// Instruction caches forget.
    pub code: bool,
    /// The vector and the scalar data caches of the first level forget.
    pub data: [bool; 2],
    /// The second-level cache is written back.
    pub write_back: bool,
}

/// DISPATCH_DIRECT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Workgroups, or work-items, of each dimension.
    pub dimensions: [u32; 3],
    /// COMPUTE_DISPATCH_INITIATOR.
    pub initiator: u32,
}

/// A packet without anything undefined in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Skipped.
    Nop,
    /// Words for memory.
    Write {
        /// Where.
        address: u64,
        /// All words go to one address.
        same: bool,
        /// What.
        data: Vec<u32>,
    },
    /// A value of some source for memory.
    Copy {
        /// From where.
        from: Source,
        /// Where to.
        to: u64,
        /// 64 bits, not 32.
        wide: bool,
    },
    /// Something to do when all before has ended.
    Release(Release),
    /// Caches forget.
    Acquire(Acquire),
    /// Waits until the shaders before have ended.
    Flush,
    /// Waits for a word, or a register.
    Wait(Wait),
    /// Registers of shaders.
    SetRegisters {
        /// The first, as SET_SH_REG counts.
        first: u32,
        /// What they hold from now on.
        values: Vec<u32>,
    },
    /// Registers that programs may change.
    SetConfig {
        /// The first, as SET_UCONFIG_REG counts.
        first: u32,
        /// What they hold from now on.
        values: Vec<u32>,
    },
    /// Only some XCCs execute what follows.
    Predicate {
        /// Words that follow.
        words: u32,
        /// A bit for each XCC of the partition.
        xccs: u8,
    },
    /// Starts a shader.
    Launch(Launch),
    /// Goes on elsewhere.
    Buffer {
        /// Where.
        address: u64,
        /// How many words.
        words: u32,
        /// Instead of the buffer that it is in.
        chain: bool,
    },
}

/// Where COPY_DATA takes its value from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// Memory.
    Memory(u64),
    /// A register, by its address in words.
    Register(u32),
    /// The packet.
    Immediate(u64),
    /// The clock.
    Clock,
}

impl Command {
    /// The name of the packet, for traces.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Nop => "NOP",
            Self::Write { .. } => "WRITE_DATA",
            Self::Copy { .. } => "COPY_DATA",
            Self::Release(_) => "RELEASE_MEM",
            Self::Acquire(_) => "ACQUIRE_MEM",
            Self::Flush => "EVENT_WRITE",
            Self::Wait(_) => "WAIT_REG_MEM",
            Self::SetRegisters { .. } => "SET_SH_REG",
            Self::SetConfig { .. } => "SET_UCONFIG_REG",
            Self::Predicate { .. } => "PRED_EXEC",
            Self::Launch(_) => "DISPATCH_DIRECT",
            Self::Buffer { .. } => "INDIRECT_BUFFER",
        }
    }
}

/// The size of a packet in words, from its first one.
///
/// # Errors
/// It is no header of a packet that a process may write.
pub fn size(header: u32) -> Result<usize, Bad> {
    super::pm4::size(header & !commands::SHADER_TYPE).map(|(_, words)| words)
}

/// Takes a whole packet apart.
///
/// # Errors
/// What is undefined about it, or not modelled.
pub fn parse(words: &[u32], dialect: &Dialect) -> Result<Command, Bad> {
    let header = words.first().copied().unwrap_or(0) & !commands::SHADER_TYPE;
    let (opcode, len) = super::pm4::size(header)?;
    if opcode == common::NOP {
        return Ok(Command::Nop);
    }
    let words = super::pm4::whole(words, len)?;
    let packet = Packet { words, len };
    match opcode {
        common::WRITE_DATA => packet.write(),
        op::COPY_DATA => packet.copy(),
        op::WAIT_REG_MEM => packet.wait(),
        op::INDIRECT_BUFFER => {
            let (address, words, chain) = packet.buffer()?;
            Ok(Command::Buffer {
                address,
                words,
                chain,
            })
        }
        op::EVENT_WRITE => packet.event(),
        op::RELEASE_MEM => packet.release(dialect),
        op::SET_SH_REG => packet.set_registers(),
        op::SET_UCONFIG_REG => packet.set_config(),
        op::PRED_EXEC if dialect.predicates => packet.predicate(),
        op::DISPATCH_DIRECT => packet.launch(dialect),
        op::ACQUIRE_MEM => {
            let acquire = packet.checked("ACQUIRE_MEM", (dialect.acquire)(words))?;
            Ok(Command::Acquire(acquire))
        }
        _ => {
            let name = pm4::name(opcode).unwrap_or("unknown");
            let what = format!("PM4 opcode {opcode:#04x} ({name}) in a process's queue");
            Err(Bad::Opcode(what))
        }
    }
}

/// Takes an INDIRECT_BUFFER apart, which must be one: address, size in words, whether it is a chain.
///
/// # Errors
/// What is undefined about it.
pub(crate) fn indirect_buffer(words: &[u32]) -> Result<(u64, u32, bool), Bad> {
    let header = words.first().copied().unwrap_or(0) & !commands::SHADER_TYPE;
    let (opcode, len) = super::pm4::size(header)?;
    if opcode != op::INDIRECT_BUFFER {
        return Err(Bad::Opcode(format!(
            "PM4 opcode {opcode:#04x} where an INDIRECT_BUFFER must be"
        )));
    }
    Packet { words, len }.buffer()
}

struct Packet<'a> {
    words: &'a [u32],
    len: usize,
}

fn bad<T>(what: String) -> Result<T, Bad> {
    Err(Bad::Content(what))
}

/// Reads a layout of the packet's first words and checks that no reserved bit is set.
macro_rules! layout {
    ($packet:expr, $layout:ty, $name:literal) => {{
        let read = <$layout>::read($packet.words);
        let checked = read.map(|p| match p.reserved_word() {
            Some(word) => Err(word),
            None => Ok(p),
        });
        $packet.checked($name, checked)?
    }};
}

impl Packet<'_> {
    fn checked<T>(&self, name: &str, found: Option<Checked<T>>) -> Result<T, Bad> {
        match found {
            Some(Ok(found)) => Ok(found),
            Some(Err(word)) => bad(format!("{name}: reserved bits of word {word} are set")),
            None => bad(format!("{name} of {} words", self.len)),
        }
    }

    /// That the packet is as long as it must be.
    fn exactly(&self, name: &str, words: usize) -> Result<(), Bad> {
        match self.len == words {
            true => Ok(()),
            false => bad(format!("{name} of {} words", self.len)),
        }
    }

    fn write(&self) -> Result<Command, Bad> {
        use WriteData as W;
        let p = layout!(self, W, "WRITE_DATA");
        let data = self.words.get(4..).unwrap_or_default();
        if data.is_empty() {
            return bad("WRITE_DATA: no data".into());
        }
        memory("WRITE_DATA", p.get(W::DST_SEL), &[SEL_TC_L2, DST_MEMORY])?;
        Ok(Command::Write {
            address: aligned("WRITE_DATA", p.get(W::ADDR), 4)?,
            same: p.get(W::ADDR_INCR) == 1,
            data: data.to_vec(),
        })
    }

    fn copy(&self) -> Result<Command, Bad> {
        use CopyData as C;
        self.exactly("COPY_DATA", 6)?;
        let p = layout!(self, C, "COPY_DATA");
        let wide = p.get(C::COUNT_SEL) == 1;
        let size = if wide { 8 } else { 4 };
        memory("COPY_DATA", p.get(C::DST_SEL), &[SEL_TC_L2, DST_MEMORY])?;
        let from = match p.get(C::SRC_SEL) {
            SRC_MEMORY | SEL_TC_L2 => Source::Memory(aligned("COPY_DATA", p.get(C::SRC), size)?),
            SEL_REGISTER => match u32::try_from(p.get(C::SRC)) {
                Ok(register) => Source::Register(register),
                Err(_) => return bad("COPY_DATA: no register has such an address".into()),
            },
            SRC_IMMEDIATE => Source::Immediate(p.get(C::SRC)),
            SRC_GPU_CLOCK => Source::Clock,
            other => return bad(format!("COPY_DATA: source {other} is not modelled")),
        };
        Ok(Command::Copy {
            from,
            to: aligned("COPY_DATA", p.get(C::DST), size)?,
            wide,
        })
    }

    fn wait(&self) -> Result<Command, Bad> {
        self.exactly("WAIT_REG_MEM", 7)?;
        let p = layout!(self, WaitRegMem, "WAIT_REG_MEM");
        super::pm4::wait(&p).map(Command::Wait)
    }

    fn buffer(&self) -> Result<(u64, u32, bool), Bad> {
        use IndirectBuffer as I;
        self.exactly("INDIRECT_BUFFER", 4)?;
        let p = layout!(self, I, "INDIRECT_BUFFER");
        if p.get(I::VALID) == 0 {
            return bad("INDIRECT_BUFFER is not valid".into());
        }
        if p.get(I::VMID) != 0 || p.get(I::PRIV) != 0 {
            return bad("INDIRECT_BUFFER: a process has no other VMID and no privilege".into());
        }
        Ok((
            (p.get(I::IB_BASE_HI) << 32) | (p.get(I::IB_BASE_LO) << 2),
            p.get(I::IB_SIZE) as u32,
            p.get(I::CHAIN) == 1,
        ))
    }

    fn set_registers(&self) -> Result<Command, Bad> {
        use SetShReg as S;
        let p = layout!(self, S, "SET_SH_REG");
        let values = self.words.get(2..).unwrap_or_default();
        if values.is_empty() {
            return bad("SET_SH_REG: no value".into());
        }
        if p.get(S::INDEX) != 0 || p.get(S::VMID_SHIFT) != 0 {
            return bad("SET_SH_REG: a process's packet has no index".into());
        }
        Ok(Command::SetRegisters {
            first: p.get(S::REG_OFFSET) as u32,
            values: values.to_vec(),
        })
    }

    fn set_config(&self) -> Result<Command, Bad> {
        use SetUconfigReg as S;
        let p = layout!(self, S, "SET_UCONFIG_REG");
        let values = self.words.get(2..).unwrap_or_default();
        if values.is_empty() {
            return bad("SET_UCONFIG_REG: no value".into());
        }
        Ok(Command::SetConfig {
            first: p.get(S::REG_OFFSET) as u32,
            values: values.to_vec(),
        })
    }

    fn predicate(&self) -> Result<Command, Bad> {
        use PredExec as P;
        self.exactly("PRED_EXEC", 2)?;
        let p = layout!(self, P, "PRED_EXEC");
        Ok(Command::Predicate {
            words: p.get(P::EXEC_COUNT) as u32,
            xccs: p.get(P::VIRTUAL_XCC_ID_SELECT) as u8,
        })
    }

    fn launch(&self, dialect: &Dialect) -> Result<Command, Bad> {
        use DispatchDirect as D;
        self.exactly("DISPATCH_DIRECT", 5)?;
        let p = layout!(self, D, "DISPATCH_DIRECT");
        let initiator = p.get(D::DISPATCH_INITIATOR) as u32;
        if initiator & !dialect.initiator != 0
            || !Initiator([initiator]).is_set(Initiator::COMPUTE_SHADER_EN)
        {
            return bad(format!(
                "DISPATCH_DIRECT: COMPUTE_DISPATCH_INITIATOR {initiator:#x}"
            ));
        }
        let dimensions = [D::DIM_X, D::DIM_Y, D::DIM_Z].map(|field| p.get(field) as u32);
        if dimensions.contains(&0) {
            return bad("DISPATCH_DIRECT: a dimension of 0 is not modelled".into());
        }
        Ok(Command::Launch(Launch {
            dimensions,
            initiator,
        }))
    }

    fn event(&self) -> Result<Command, Bad> {
        use EventWrite as E;
        self.exactly("EVENT_WRITE", 2)?;
        let p = layout!(self, E, "EVENT_WRITE");
        match (p.get(E::EVENT_TYPE), p.get(E::EVENT_INDEX)) {
            (EVENT_CS_PARTIAL_FLUSH, INDEX_CS_PARTIAL_FLUSH) => Ok(Command::Flush),
            (kind, index) => bad(format!(
                "EVENT_WRITE: event {kind:#x} of index {index} is not modelled"
            )),
        }
    }

    fn release(&self, dialect: &Dialect) -> Result<Command, Bad> {
        let release = self.checked("RELEASE_MEM", (dialect.release)(self.words))?;
        let [destination, interrupt, data] = release.select;
        let known = matches!(
            release.event,
            (
                EVENT_CACHE_FLUSH_AND_INV_TS | EVENT_BOTTOM_OF_PIPE_TS,
                INDEX_END_OF_PIPE
            ) | (EVENT_CS_DONE, INDEX_END_OF_SHADER)
        );
        if !known {
            let (kind, index) = release.event;
            return bad(format!("RELEASE_MEM: event {kind:#x} of index {index}"));
        }
        if destination > 1 || interrupt > INT_DATA_AFTER_WRITE || data > DATA_CLOCK {
            return bad(format!(
                "RELEASE_MEM: destination {destination}, interrupt {interrupt}, data {data}"
            ));
        }
        if interrupt == INT_ONLY && data != DATA_NONE {
            return bad("RELEASE_MEM: data with an interrupt only".into());
        }
        let size = match data {
            DATA_NONE => 1,
            DATA_32 => 4,
            _ => 8,
        };
        aligned("RELEASE_MEM", release.address, size)?;
        Ok(Command::Release(release))
    }
}

/// Whether a word compares with a reference as WAIT_REG_MEM's FUNCTION says.
pub(crate) fn compares(function: u64, value: u32, reference: u32) -> bool {
    match function {
        WAIT_LESS => value < reference,
        WAIT_LESS_EQUAL => value <= reference,
        WAIT_EQUAL => value == reference,
        WAIT_NOT_EQUAL => value != reference,
        WAIT_GREATER_EQUAL => value >= reference,
        WAIT_GREATER => value > reference,
        _ => true,
    }
}

/// That a field selects memory.
fn memory(name: &str, selected: u64, memory: &[u64]) -> Result<(), Bad> {
    match memory.contains(&selected) {
        true => Ok(()),
        false => bad(format!("{name}: {selected} is not memory")),
    }
}

fn aligned(name: &str, address: u64, size: u64) -> Result<u64, Bad> {
    match address % size {
        0 => Ok(address),
        _ => bad(format!("{name}: {address:#x} is not a multiple of {size}")),
    }
}

/// The bits of COMPUTE_DISPATCH_INITIATOR that all generations have.
const INITIATOR: u32 = Initiator::COMPUTE_SHADER_EN.mask()
    | Initiator::PARTIAL_TG_EN.mask()
    | Initiator::FORCE_START_AT_000.mask()
    | Initiator::USE_THREAD_DIMENSIONS.mask()
    | Initiator::ORDER_MODE.mask();

/// The packets of gfx9.
pub static GFX9: Dialect = Dialect {
    initiator: INITIATOR,
    predicates: true,
    release: |words| {
        use ReleaseMem9 as R;
        let p = R::read(words).filter(|_| words.len() == 8)?;
        Some(p.reserved_word().map_or_else(
            || {
                Ok(Release {
                    event: (p.get(R::EVENT_TYPE), p.get(R::EVENT_INDEX)),
                    select: [p.get(R::DST_SEL), p.get(R::INT_SEL), p.get(R::DATA_SEL)],
                    address: p.get(R::ADDR),
                    data: p.get(R::DATA),
                    context: p.get(R::INT_CTXID) as u32,
                    write_back: p.get(R::TC_WB_ACTION_EN) == 1,
                })
            },
            Err,
        ))
    },
    acquire: |words| {
        use AcquireMem9 as A;
        let mut p = A::read(words).filter(|_| words.len() == 7)?;
        // The chip ignores what is above the size's 24 upper bits.
        p.0[A::COHER_SIZE_HI.word()] &= A::COHER_SIZE_HI.mask();
        let code = p.get(A::SH_ICACHE_ACTION_ENA) == 1;
        let data = [A::TCL1_ACTION_ENA, A::SH_KCACHE_ACTION_ENA].map(|field| p.get(field) == 1);
        let write_back = p.get(A::TC_WB_ACTION_ENA) == 1;
        let acquire = Acquire {
            code,
            data,
            write_back,
        };
        Some(p.reserved_word().map_or(Ok(acquire), Err))
    },
};

/// The packets of gfx10 and later.
pub static GFX10: Dialect = Dialect {
    initiator: INITIATOR | Initiator::CS_W32_EN.mask(),
    predicates: false,
    release: |words| {
        use ReleaseMem10 as R;
        let p = R::read(words).filter(|_| words.len() == 8)?;
        Some(p.reserved_word().map_or_else(
            || {
                Ok(Release {
                    event: (p.get(R::EVENT_TYPE), p.get(R::EVENT_INDEX)),
                    select: [p.get(R::DST_SEL), p.get(R::INT_SEL), p.get(R::DATA_SEL)],
                    address: p.get(R::ADDR),
                    data: p.get(R::DATA),
                    context: p.get(R::INT_CTXID) as u32,
                    write_back: p.get(R::GL2_WB) == 1,
                })
            },
            Err,
        ))
    },
    acquire: |words| {
        use AcquireMem10 as A;
        let p = A::read(words).filter(|_| words.len() == 8)?;
        let code = p.get(A::GLI_INV) != 0;
        let data = [A::GLV_INV, A::GLK_INV].map(|field| p.get(field) == 1);
        let write_back = p.get(A::GL2_WB) == 1;
        let acquire = Acquire {
            code,
            data,
            write_back,
        };
        Some(p.reserved_word().map_or(Ok(acquire), Err))
    },
};
