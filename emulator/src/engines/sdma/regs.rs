// SPDX-License-Identifier: MIT OR Apache-2.0

//! The engines' registers: what drivers program ([`Store`]), and the queues as they stand.
//!
//! Sources: Linux, `amdgpu/sdma_v4_4_2.c` (`sdma_v4_4_2_inst_start`), `amdgpu/sdma_v7_0.c`
//! (`sdma_v7_0_gfx_resume_instance`); start-up values: `sdma0/sdma0_4_0_default.h`, the engine's
//! nearest kin whose values are public. Processes' queues are the scheduler's: the host reads
//! their registers, and writes only what takes a queue off (`kgd_gfx_v9_4_3_hqd_sdma_destroy`). The
//! kernel's queue is the host's ([`kernel`]). The engine of a warm device runs from the start, since
//! firmware was loaded (PSP) before the host may use the device. That of a cold one is halted, and starts
//! only with firmware: the security processor's, or words that came by UCODE_DATA
//! (`sdma_v4_4_2_inst_load_microcode`).

use super::generation::{Generation, Names};
use super::queue::DOORBELL_ENABLE;
use super::{kernel, Engines, Order, Slot, Stop, QUEUES};
use crate::blocks::store::Store;
use crate::device::firmware::Firmware;
use crate::device::{IpBlock, Refused};
use crate::engines::settling::Settling;
use rkfd_hw::regs::gc_12_0_0::SDMA0_MCU_CNTL;
use rkfd_hw::regs::sdma_4_4_2::{SDMA_CNTL, SDMA_F32_CNTL};
use rkfd_hw::regs::RegInfo;
use rkfd_hw::regs::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Registers that are storage, without what stands in front of the name, and their values at
/// start-up. UTC_L1_ENABLE of CNTL is off, as stock amdgpu leaves it (`sdma_v4_4_2_inst_gfx_stop`).
const STORED: &[(&str, u32)] = &[
    ("CNTL", 0),
    ("F32_CNTL", 0),
    ("MCU_CNTL", 0),
    ("UCODE_ADDR", 0),
    ("CLK_CTRL", 0xff00_0100),
    ("POWER_CNTL", 0x0003_c000),
    ("UTCL1_TIMEOUT", 0),
    ("UTCL1_CNTL", 0),
    ("UTCL1_PAGE", 0x3e0),
    ("WATCHDOG_CNTL", 0),
    ("PHASE0_QUANTUM", 0),
    ("PHASE1_QUANTUM", 0),
    ("PHASE2_QUANTUM", 0),
    ("SEM_WAIT_FAIL_TIMER_CNTL", 0),
    ("GB_ADDR_CONFIG", 0x0010_0012),
    ("GB_ADDR_CONFIG_READ", 0x0010_0012),
    ("RLC_CGCG_CTRL", 0),
];

/// `CONTEXT_STATUS`: SELECTED and IDLE, in both generations.
const SELECTED: u32 = 1;
const IDLE: u32 = 1 << 2;

/// The register by which single queues are reset (`mes_v12_0_reset_queue_mmio`): a bit for each, which reads as
/// set until the queue is gone.
const RESET_REQUEST: &str = "QUEUE_RESET_REQ";

/// An engine's registers that are storage, and whether the host has let it run since start-up.
pub(super) struct Regs(Store, AtomicBool, Mutex<Settling>);

impl Default for Regs {
    fn default() -> Self {
        Self(Store::new(STORED), AtomicBool::new(false), Mutex::default())
    }
}

impl Regs {
    /// `CNTL`.
    pub fn control(&self) -> u32 {
        self.0.get("CNTL").unwrap_or(0)
    }

    /// Whether the engine runs: HALT is the same bit of both generations' registers.
    pub fn runs(&self) -> bool {
        let halt = |name| Value::new(self.0.get(name).unwrap_or(0)).get(SDMA_F32_CNTL::HALT);
        let reset = Value::new(self.0.get("MCU_CNTL").unwrap_or(0)).get(SDMA0_MCU_CNTL::RESET);
        halt("F32_CNTL") == 0 && halt("MCU_CNTL") == 0 && reset == 0
    }

    fn settling(&self) -> MutexGuard<'_, Settling> {
        self.2.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the engine stands still, its halt having taken effect.
    pub fn stands_still(&self) -> bool {
        !self.runs() && self.settling().is_done()
    }

    /// Whether the engine runs, and the host has let it.
    pub fn was_let_run(&self) -> bool {
        self.runs() && self.1.load(Ordering::Acquire)
    }

    /// Whether the engine takes turns between its queues (AUTO_CTXSW_ENABLE of SDMA 4.4.2).
    pub fn switches(&self) -> bool {
        Value::new(self.control()).get(SDMA_CNTL::AUTO_CTXSW_ENABLE) == 1
    }

    /// Whether the engine has its addresses translated.
    pub fn translates(&self, generation: &Generation) -> bool {
        self.control() & generation.translates == generation.translates
    }

    /// That the registers have what a queue needs.
    ///
    /// # Errors
    /// What one has instead.
    pub fn are_golden(&self, generation: &Generation) -> Result<(), String> {
        for &(name, bits, value) in generation.golden {
            let got = self.0.get(name).unwrap_or(0) & bits;
            if got != value {
                return Err(format!(
                    "{name} of the engine has {got:#x} in bits {bits:#x}, not {value:#x}"
                ));
            }
        }
        Ok(())
    }

    /// The security processor has loaded the firmware, and lets the engine run.
    fn start(&self) {
        self.0.set("F32_CNTL", 0);
    }

    /// What Linux sets when the device starts, and not again after it has an engine reset
    /// (`sdma_v4_4_2_restore_queue`).
    pub fn addresses(&self) -> [(&'static str, u32); 2] {
        let names = ["GB_ADDR_CONFIG", "GB_ADDR_CONFIG_READ"];
        names.map(|name| (name, self.0.get(name).unwrap_or(0)))
    }

    /// Sets them.
    pub fn set_addresses(&self, all: [(&'static str, u32); 2]) {
        all.iter()
            .for_each(|&(name, value)| self.0.set(name, value));
    }

    /// Start-up values: the engine runs, or is halted by that register.
    pub fn reset(&self, runs: bool, halts: &str) {
        self.0.reset();
        self.1.store(false, Ordering::Release);
        if !runs {
            self.0.set(halts, SDMA_F32_CNTL::HALT.mask());
        }
    }
}

impl Names {
    /// Splits the name of an engine's register into the engine's number, if it has one, and the rest.
    fn split(self, name: &str) -> Option<(Option<u8>, &str)> {
        let (front, rest) = name.split_once('_')?;
        let number = front.strip_prefix("SDMA")?;
        match (self.numbered, number) {
            (false, "") => Some((None, rest)),
            (true, number) => Some((Some(number.parse().ok()?), rest)),
            _ => None,
        }
    }

    /// What the register of the kernel's queue is.
    fn of_kernel(self, rest: &str) -> Option<&str> {
        let what = rest.strip_prefix(self.kernel)?.strip_prefix('_')?;
        kernel::is_one(what).then_some(what)
    }

    /// Splits the rest of a queue's register: the queue and what it is.
    fn of_queue(self, rest: &str) -> Option<(usize, &str)> {
        let (number, what) = rest.strip_prefix(self.queue)?.split_once('_')?;
        let queue = number.parse().ok().filter(|&n| n < QUEUES)?;
        Some((queue, what))
    }
}

/// A register of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueRegister {
    slot: Slot,
    /// In words behind RB_CNTL.
    place: u32,
}

impl Generation {
    /// The registers of the queue whose RB_CNTL this is, and how many words they are behind it. None of other
    /// registers.
    pub fn registers_of(
        &'static self,
        reg: &RegInfo,
        instance: u8,
    ) -> impl Iterator<Item = (u64, QueueRegister)> {
        let split = self.names.split(reg.reg.name);
        let slot = split.and_then(|(engine, rest)| {
            let (queue, what) = self.names.of_queue(rest)?;
            let engine = engine.unwrap_or(instance);
            // CAST: Below QUEUES.
            let queue = queue as u8;
            (what == "RB_CNTL").then_some(Slot { engine, queue })
        });
        slot.into_iter().flat_map(|slot| {
            (0..=self.places.last).map(move |place| (place.into(), QueueRegister { slot, place }))
        })
    }
}

impl Engines {
    /// `CNTL` of an engine.
    pub(super) fn control(&self, engine: u8) -> u32 {
        let engine = self.engines.get(usize::from(engine));
        engine.map_or(0, |engine| engine.regs.control())
    }

    /// A queue's register, so many words behind RB_CNTL, from its MQD; zero while none is mapped there. `None`: the
    /// engine has no such queue.
    pub(super) fn of_queue(&self, engine: &super::Engine, queue: usize, place: u32) -> Option<u32> {
        let (places, at) = (&self.shape.generation.places, self.shape.generation.mqd);
        let shared = engine.shared();
        let view = shared.views.get(queue)?.as_ref();
        if place == places.status {
            // One that is to leave is not idle before it has left.
            let leaves =
                |order: &Order| matches!(order, Order::Stop(q, _) if usize::from(*q) == queue);
            let busy = view.is_some_and(|view| view.state.busy)
                || view.is_some() && shared.orders.iter().any(leaves);
            return Some(if busy { SELECTED } else { IDLE });
        }
        let (Some(view), Some(word)) = (view, places.word(place)) else {
            return Some(0);
        };
        let value = view.image.get(word).copied().unwrap_or(0);
        // What connecting sets: RB_ENABLE, and ENABLE of the doorbell.
        Some(match word {
            _ if word == at.rb_cntl => value | 1,
            _ if word == at.doorbell => value | DOORBELL_ENABLE,
            _ => value,
        })
    }

    /// Reads a register of a queue that no table names: 0 where the chip has no such engine.
    pub fn read_unnamed(&self, QueueRegister { slot, place }: QueueRegister) -> u32 {
        let engine = self.engines.get(usize::from(slot.engine));
        let value = engine.and_then(|engine| {
            let queue = usize::from(slot.queue);
            (queue < QUEUES).then(|| self.of_queue(engine, queue, place))?
        });
        value.unwrap_or(0)
    }

    /// Whether a register of the graphics core is one of an engine.
    pub fn owns(&self, reg: &RegInfo) -> bool {
        let names = self.shape.generation.names;
        let split = names.split(reg.reg.name);
        names.numbered
            && split.is_some_and(|(_, rest)| {
                names.of_queue(rest).is_some()
                    || names.of_kernel(rest).is_some()
                    || ["STATUS_REG", RESET_REQUEST].contains(&rest)
                    || STORED.iter().any(|(name, _)| *name == rest)
            })
    }
}

/// The registers as a block: all engines', or those of one where each is a block of its own.
pub struct Registers {
    all: Arc<Engines>,
    /// The engine of registers whose names have no number.
    engine: u8,
}

impl Registers {
    /// The registers of an engine, or of all.
    pub fn new(all: Arc<Engines>, engine: u8) -> Self {
        Self { all, engine }
    }

    /// The engine, its number, and what the register is.
    fn find(&self, reg: &RegInfo) -> Option<(&super::Engine, u8, &'static str)> {
        let names = self.all.shape.generation.names;
        let (number, rest) = names.split(reg.reg.name)?;
        let number = number.unwrap_or(self.engine);
        let engine = self.all.engines.get(usize::from(number))?;
        let started = Firmware::SdmaStarted(number);
        // Nobody sees the engine or gives it a queue but by a register.
        if self.all.env.firmware().remove(started) {
            engine.regs.start();
        }
        Some((engine, number, rest))
    }

    /// Whether a write brings a word of firmware to an engine.
    ///
    /// # Errors
    /// The engine runs meanwhile, or it starts without firmware.
    fn loads(
        &self,
        engine: &super::Engine,
        number: u8,
        rest: &str,
        value: u32,
    ) -> Result<bool, Refused> {
        let firmware = self.all.env.firmware();
        match rest {
            "UCODE_DATA" if engine.regs.runs() => {
                let what = "the engine runs while its firmware is written";
                return Err(Refused::Undefined(what.into()));
            }
            "UCODE_DATA" => {
                let next = engine.regs.0.get("UCODE_ADDR").unwrap_or(0);
                engine.regs.0.set("UCODE_ADDR", next.wrapping_add(1));
                firmware.add(Firmware::Sdma(number));
                return Ok(true);
            }
            _ if rest == self.all.shape.generation.halts
                && Value::new(value).get(SDMA_F32_CNTL::HALT) == 0 =>
            {
                if !firmware.has(Firmware::Sdma(number)) {
                    let what = "the engine starts without firmware";
                    return Err(Refused::Undefined(what.into()));
                }
            }
            _ => {}
        }
        Ok(false)
    }

    /// A register of the kernel's queue. Its pointers are those of the queue while that runs.
    fn of_kernel(&self, engine: &super::Engine, what: &str, place: u32) -> Option<u32> {
        let pointer = matches!(what, "RB_RPTR" | "RB_RPTR_HI" | "RB_WPTR" | "RB_WPTR_HI");
        if pointer && engine.kernel.runs() || what == "CONTEXT_STATUS" {
            let queue = self.all.shape.generation.kernel.queue;
            return self.all.of_queue(engine, queue.into(), place);
        }
        engine.kernel.get(what)
    }

    /// What the host may write of a queue: RB_ENABLE off, and then the doorbell.
    fn take_off(
        &self,
        engine: &super::Engine,
        queue: usize,
        what: &str,
        value: u32,
    ) -> Result<(), Refused> {
        let mapped = engine
            .shared()
            .views
            .get(queue)
            .is_some_and(Option::is_some);
        match (what, value & 1) {
            ("RB_CNTL", 0) if mapped => engine.order(Order::Stop(queue as u8, Stop::Preempt)),
            ("RB_CNTL", 0) => {}
            ("DOORBELL", _) if value == 0 && !mapped => {}
            _ => {
                let why = "the queue is the scheduler's, not the host's";
                return Err(Refused::Undefined(why.into()));
            }
        }
        Ok(())
    }
}

impl IpBlock for Registers {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        let (engine, number, rest) = self.find(reg).ok_or(Refused::NotModelled)?;
        let generation = self.all.shape.generation;
        let place = generation.places.of(reg, number);
        let of_queue = match generation.names.of_kernel(rest) {
            Some(what) => Some(self.of_kernel(engine, what, place)),
            None => generation
                .names
                .of_queue(rest)
                .map(|(queue, _)| self.all.of_queue(engine, queue, place)),
        };
        if let Some(value) = of_queue {
            return value.ok_or(Refused::NotModelled);
        }
        if rest == "STATUS_REG" {
            let shared = engine.shared();
            let busy = shared.views.iter().flatten().any(|view| view.state.busy);
            return Ok(u32::from(!busy));
        }
        match rest {
            "UCODE_DATA" => return Ok(0),
            RESET_REQUEST => return Ok(self.all.resetting(engine)),
            _ => {}
        }
        // A generation without one of the bits at start-up doesn't show it.
        let value = engine.regs.0.get(rest).ok_or(Refused::NotModelled)?;
        Ok(value & known(reg))
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        let (engine, number, rest) = self.find(reg).ok_or(Refused::NotModelled)?;
        if let Some(what) = self.all.shape.generation.names.of_kernel(rest) {
            return self.all.write_kernel(engine, number, what, value);
        }
        if let Some((queue, what)) = self.all.shape.generation.names.of_queue(rest) {
            return self.take_off(engine, queue, what, value);
        }
        if rest == RESET_REQUEST {
            if value >> QUEUES != 0 {
                let what = format!("an engine has {QUEUES} queues");
                return Err(Refused::Undefined(what));
            }
            self.all.reset_queues(number, value);
            return Ok(());
        }
        if rest == "CNTL" && value & !known(reg) != 0 {
            return Err(Refused::Undefined(format!(
                "bits {:#x} are reserved",
                value & !known(reg)
            )));
        }
        if !self.all.env.firmware().was_there() && self.loads(engine, number, rest, value)? {
            return Ok(());
        }
        let ran = engine.regs.runs();
        engine.regs.0.put(rest, value)?;
        if ran && !engine.regs.runs() {
            engine.regs.settling().begin();
        }
        if rest == self.all.shape.generation.halts {
            engine.regs.1.store(true, Ordering::Release);
        }
        match engine.regs.runs() {
            true => engine.wake.ring(),
            false => engine.halt(),
        }
        Ok(())
    }

    fn reset(&self) {}
}

/// The bits that a register has: all, when its header names none.
fn known(reg: &RegInfo) -> u32 {
    if reg.fields.is_empty() {
        return u32::MAX;
    }
    reg.known_bits()
}
