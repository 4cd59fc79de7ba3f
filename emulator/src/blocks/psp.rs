// SPDX-License-Identifier: MIT OR Apache-2.0

//! The security processor (PSP): its mailboxes, boot loader, and the ring of the kernel's driver.
//!
//! ```text
//! cold: C2PMSG_36, 35 --> boot loader: key database ... secure OS --> C2PMSG_81 is its version
//! warm: C2PMSG_69..71, 64 --> ring; C2PMSG_67 --> frames --> commands: TMR, firmware of the engines
//! ```
//!
//! What engines take of it: each as it comes, or, where the run list controller hands it out, all at once
//! ([`Autoload`]).
//!
//! Sources: Linux, `amdgpu/psp_v13_0.c`, `amdgpu/psp_v14_0.c` (mailboxes), `amdgpu/amdgpu_psp.c` (order and
//! commands), `amdgpu/amdgpu_discovery.c` (C2PMSG_33). The registers' names differ by generation, and a
//! chip has those of its table. Commands are done at once, so nobody sees the mailbox busy; but the secure
//! OS takes its time to start, which here ends with the first look for it: Linux waits 20 ms, reads
//! C2PMSG_81, and then waits until that changes. What lies in the memory that a command names is never
//! executed; of its header the mark and the size are looked at ([`image`]), as what else the processor checks is not public.
//!
//! Not modelled: trusted applications, flash, USB, the ring of virtual functions, the load of a second
//! secure OS.

mod autoload;
mod boot;
mod image;
pub(super) mod kept;
mod ring;

use crate::device::{Env, IpBlock, Refused};
pub use autoload::Autoload;
use boot::Boot;
use ring::Ring;
use rkfd_hw::psp::control;
use rkfd_hw::regs::RegInfo;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bit 31 of C2PMSG_33 and C2PMSG_35: the boot firmware has finished, and a command may come.
const READY: u32 = 1 << 31;
/// The version of a secure OS that was there before the device was looked at.
const EARLIER: u32 = 0x0038_0000;
/// Frames are read, and memory is written, in the kernel's address space, through the multimedia hub.
const VMID: u8 = 0;

/// What firmware the processor takes, by its number in LOAD_IP_FW.
#[derive(Clone, Copy)]
pub struct Takes {
    /// Numbers, and the engines' firmware that each is; none for tables of other use.
    pub kinds: &'static [(u32, Kind)],
    /// Which of them are data of an engine.
    pub data: &'static [u32],
    /// What header and signature of an image take, in bytes.
    pub overhead: u64,
    /// The trusted memory region is there from power-on: a driver names none.
    pub boot_time_tmr: bool,
    /// The secure OS tells which parts of VRAM firmware keeps, from this version on; `None`: none does.
    pub tells_parts: Option<u32>,
    /// Who hands parts out to the engines; `None`: the processor does, as they come.
    pub autoload: Option<Autoload>,
}

/// Whose firmware one is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Each XCC's run list controller.
    Rlc,
    /// Each XCC's compute micro engine.
    Mec,
    /// Its jump table.
    MecJumpTable,
    /// A copy engine of each base die.
    Sdma(u8),
    /// The management unit.
    Smu,
    /// A part that lies in the trusted memory region until the run list controller hands it out.
    Part,
    /// Nobody's that is modelled.
    Other,
}

/// The processor's state.
struct State {
    boot: Boot,
    /// The secure OS' version, once it runs.
    secure_os: Option<u32>,
    /// That of one that was loaded and isn't up yet: it is when somebody has looked and not found it.
    starting: Option<u32>,
    ring: Option<Ring>,
    /// There is a trusted memory region.
    tmr: bool,
    /// Which parts lie in it, by their numbers in LOAD_IP_FW.
    parts: BTreeSet<u32>,
    /// By a rule the secure OS hangs at a command: `Rules::changes` then. It does so until rules change, and then
    /// goes on with what the mailbox has.
    hangs: Option<u64>,
    waiting: Option<u32>,
    /// C2PMSG_36, and C2PMSG_69 to 71.
    address: u32,
    ring_at: [u32; 3],
    /// C2PMSG_64's last answer, and whether somebody has looked at it.
    answer: u32,
    answer_seen: bool,
}

impl State {
    fn new(cold: bool, takes: &Takes) -> Self {
        let secure_os = (!cold).then_some(EARLIER);
        Self {
            boot: Boot::default(),
            secure_os,
            starting: None,
            ring: None,
            // Where parts are handed out later, no driver asks for it (`psp_skip_tmr`).
            tmr: !cold || takes.boot_time_tmr && takes.autoload.is_some(),
            parts: BTreeSet::new(),
            hangs: None,
            waiting: None,
            address: 0,
            ring_at: [0; 3],
            answer: if cold { 0 } else { control::DONE },
            answer_seen: false,
        }
    }
}

/// The block.
pub struct Psp {
    env: Arc<dyn Env>,
    takes: Takes,
    xccs: u8,
    /// Base dies.
    dies: u8,
    state: Mutex<State>,
}

impl Psp {
    /// Start-up state: a secure OS runs, or, for a cold device, the boot loader.
    pub fn new(env: Arc<dyn Env>, takes: Takes, (xccs, dies): (u8, u8)) -> Self {
        let state = Mutex::new(State::new(env.start().cold, &takes));
        Self {
            env,
            takes,
            xccs,
            dies,
            state,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a secure OS of this version tells which parts of VRAM firmware keeps.
    fn tells_parts(&self, version: Option<u32>) -> bool {
        let since = self.takes.tells_parts;
        since.is_some_and(|since| version.is_some_and(|version| version >= since))
    }

    /// Whether the secure OS takes nothing, by a rule.
    fn hangs(&self, state: &State) -> bool {
        state.hangs == Some(self.env.rules().changes())
    }

    /// A command of the boot loader (C2PMSG_35).
    fn boot(&self, state: &mut State, command: u32) -> Result<(), Refused> {
        if state.secure_os.is_some() || state.starting.is_some() {
            return undefined("the boot loader has gone: the secure OS runs");
        }
        let at = u64::from(state.address) << 20;
        let started = state.boot.load(&*self.env, command, at)?;
        if started.is_some() {
            state.starting = started;
            state.answer = control::DONE;
            if self.tells_parts(started) {
                kept::mark(&*self.env);
            }
        }
        Ok(())
    }

    /// A command of the secure OS' mailbox (C2PMSG_64).
    fn control(&self, state: &mut State, command: u32) -> Result<(), Refused> {
        if state.secure_os.is_none() {
            return undefined("no secure OS runs");
        }
        if self.hangs(state) {
            state.answer = 0;
            state.waiting = Some(command);
            return Ok(());
        }
        // `psp_v13_0_ring_create`, "Wait for sOS ready for ring creation", and behind each command.
        if !state.answer_seen {
            return undefined("the mailbox: nobody has waited until it is ready");
        }
        state.answer_seen = false;
        match command {
            control::INIT_KERNEL_RING => {
                let [low, high, size] = state.ring_at;
                let base = u64::from(low) | (u64::from(high) << 32);
                state.ring = Some(Ring::new(&*self.env, base, size)?);
            }
            control::DESTROY_RINGS => state.ring = None,
            _ => return undefined(format!("the mailbox command {command:#x} is not modelled")),
        }
        state.answer = control::DONE;
        Ok(())
    }

    /// Frames up to the write pointer, which counts words (C2PMSG_67).
    fn frames(&self, state: &mut State, to: u32) -> Result<(), Refused> {
        if self.hangs(state) {
            return Ok(());
        }
        let Some(mut ring) = state.ring.take() else {
            return undefined("there is no ring");
        };
        let done = ring.take(to, |frame| self.frame(state, frame));
        state.ring = Some(ring);
        done
    }
}

impl IpBlock for Psp {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        let mut state = self.state();
        Ok(match mailbox(reg).ok_or(Refused::NotModelled)? {
            33 => READY,
            35 => state.boot.look(),
            36 => state.address,
            58 => state.secure_os.unwrap_or(0),
            81 => {
                let seen = state.secure_os.unwrap_or(0);
                state.secure_os = state.secure_os.or(state.starting.take());
                seen
            }
            64 => {
                let waiting = match self.hangs(&state) {
                    true => None,
                    false => state.waiting.take(),
                };
                if let Some(command) = waiting {
                    self.control(&mut state, command)?;
                }
                state.answer_seen |= state.answer == control::DONE;
                state.answer
            }
            67 => state.ring.as_ref().map_or(0, Ring::at),
            n @ 69..=71 => state.ring_at.get(n as usize - 69).copied().unwrap_or(0),
            // The boot loader's progress, and errors that memory and links can report: none.
            92 | 127 => 0,
            _ => return Err(Refused::NotModelled),
        })
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        let mut state = self.state();
        match mailbox(reg).ok_or(Refused::NotModelled)? {
            35 => self.boot(&mut state, value),
            36 => {
                state.address = value;
                Ok(())
            }
            64 => self.control(&mut state, value),
            67 => self.frames(&mut state, value),
            n @ 69..=71 => {
                if let Some(word) = state.ring_at.get_mut(n as usize - 69) {
                    *word = value;
                }
                Ok(())
            }
            33 | 58 | 81 | 92 | 127 => Err(Refused::ReadOnly),
            _ => Err(Refused::NotModelled),
        }
    }

    fn reset(&self) {
        let start = self.env.start();
        let mut state = self.state();
        let before = std::mem::replace(&mut *state, State::new(start.cold, &self.takes));
        if start.keeps_os && before.secure_os.is_some() {
            state.boot = before.boot;
            state.secure_os = before.secure_os;
            state.tmr = before.tmr;
            state.answer = control::DONE;
            if self.tells_parts(state.secure_os) {
                kept::mark(&*self.env);
            }
        }
    }
}

/// The number of a mailbox register.
fn mailbox(reg: &RegInfo) -> Option<u32> {
    let (_, number) = reg.reg.name.split_once("_SMN_C2PMSG_")?;
    number.parse().ok()
}

fn undefined<T>(what: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Undefined(what.into()))
}
