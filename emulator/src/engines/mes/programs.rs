// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the programs of the graphics core's engines begin: each pipe has a register for it, which it takes
//! over when its reset ends.
//!
//! Where a program begins stands in its file's header, which the driver alone reads; the security processor
//! and the run list controller bring only the code. So a pipe whose register nobody has written since
//! power-on begins nowhere. Source: Linux, `amdgpu/gfx_v12_0.c` (`gfx_v12_0_config_gfx_rs64`),
//! `amdgpu/mes_v12_0.c` (`mes_v12_0_enable`).

use rkfd_hw::regs::gc_12_0_0::{self as gc, GRBM_GFX_CNTL};
use rkfd_hw::regs::{RegInfo, Value};

/// An engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// The graphics pipe's prefetch parser.
    Pfp,
    /// Its micro engine.
    Me,
    /// The compute micro engine.
    Mec,
    /// The scheduler.
    Mes,
}

/// Pipes of the engine that has most.
const PIPES: usize = 4;

impl Engine {
    const ALL: [Self; 4] = [Self::Pfp, Self::Me, Self::Mec, Self::Mes];

    /// Its name, as Linux has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pfp => "PFP",
            Self::Me => "ME",
            Self::Mec => "MEC",
            Self::Mes => "MES",
        }
    }

    /// How GRBM_GFX_CNTL calls it, and what its registers' names begin with.
    fn names(self) -> (u32, &'static str) {
        match self {
            Self::Pfp => (0, "CP_PFP_PRGRM_CNTR_START"),
            Self::Me => (0, "CP_ME_PRGRM_CNTR_START"),
            Self::Mec => (1, "CP_MEC_RS64_PRGRM_CNTR_START"),
            Self::Mes => (3, "CP_MES_PRGRM_CNTR_START"),
        }
    }

    /// How many pipes it has.
    fn pipes(self) -> u32 {
        match self {
            Self::Mec => 4,
            Self::Pfp | Self::Me | Self::Mes => 2,
        }
    }

    /// The bit of its control register that holds its first pipe in reset. Those of the others follow.
    fn reset(self) -> u16 {
        match self {
            Self::Pfp => gc::CP_ME_CNTL::PFP_PIPE0_RESET.bit(),
            Self::Me => gc::CP_ME_CNTL::ME_PIPE0_RESET.bit(),
            Self::Mec => gc::CP_MEC_RS64_CNTL::MEC_PIPE0_RESET.bit(),
            Self::Mes => gc::CP_MES_CNTL::MES_PIPE0_RESET.bit(),
        }
    }
}

/// Where a pipe begins.
#[derive(Clone, Copy, Default, Debug)]
struct Start {
    /// The register's halves.
    words: [u32; 2],
    /// Somebody has written them.
    written: bool,
    /// The pipe has taken them over.
    taken: bool,
}

/// Where all pipes of all engines begin.
pub struct Programs([[Start; PIPES]; Engine::ALL.len()]);

impl Programs {
    /// Where a driver before has left it, or nowhere.
    pub fn new(known: bool) -> Self {
        let start = Start {
            words: [0; 2],
            written: known,
            taken: known,
        };
        Self([[start; PIPES]; Engine::ALL.len()])
    }

    fn pipe(&self, engine: Engine, pipe: u32) -> Option<&Start> {
        self.0.get(engine as usize)?.get(pipe as usize)
    }

    /// The register's half, of the pipe that GRBM_GFX_CNTL selects; `None` for other registers, and where it
    /// selects no pipe of the engine.
    fn find(&mut self, reg: &RegInfo, select: u32) -> Option<(&mut Start, usize)> {
        let engine = engine_of(reg)?;
        let (me, name) = engine.names();
        let select = Value::<GRBM_GFX_CNTL>::new(select);
        let pipe = select.get(GRBM_GFX_CNTL::PIPEID);
        let half = usize::from(reg.reg.name != name);
        let there = select.get(GRBM_GFX_CNTL::MEID) == me && pipe < engine.pipes();
        let start = self.0.get_mut(engine as usize)?.get_mut(pipe as usize)?;
        there.then_some((start, half))
    }

    /// Reads such a register; `None` where no pipe of its engine is selected.
    pub fn read(&mut self, reg: &RegInfo, select: u32) -> Option<u32> {
        let (start, half) = self.find(reg, select)?;
        start.words.get(half).copied()
    }

    /// Writes such a register; `None` where no pipe of its engine is selected.
    pub fn write(&mut self, reg: &RegInfo, select: u32, value: u32) -> Option<()> {
        let (start, half) = self.find(reg, select)?;
        *start.words.get_mut(half)? = value;
        start.written = true;
        Some(())
    }

    /// An engine's control register changes: pipes whose reset ends begin where their registers say.
    pub fn control(&mut self, engine: Engine, old: u32, new: u32) {
        for pipe in 0..engine.pipes() {
            let reset = 1 << (u32::from(engine.reset()) + pipe);
            let start = self.0.get_mut(engine as usize);
            let start = start.and_then(|pipes| pipes.get_mut(pipe as usize));
            if let Some(start) = start.filter(|_| old & reset != 0 && new & reset == 0) {
                start.taken = start.written;
            }
        }
    }

    /// Whether a pipe knows where it begins.
    pub fn begins(&self, engine: Engine, pipe: u32) -> bool {
        self.pipe(engine, pipe).is_some_and(|start| start.taken)
    }
}

/// The engine whose pipes a register tells where they begin.
pub fn engine_of(reg: &RegInfo) -> Option<Engine> {
    Engine::ALL.into_iter().find(|engine| {
        let (_, name) = engine.names();
        let rest = reg.reg.name.strip_prefix(name);
        matches!(rest, Some("" | "_HI"))
    })
}
