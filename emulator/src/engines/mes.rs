// SPDX-License-Identifier: MIT OR Apache-2.0

//! The micro engine scheduler (MES) of gfx12: registers, rings of frames, completions.
//!
//! ```text
//! registers ---> ring of pipe 1 (kernel) --ADD_QUEUE, map_legacy_kq--> ring of pipe 0 (scheduler)
//! doorbells ---> frames of both ---> control: resources, registers, TLBs
//!                        |             |
//!                        |             +--> queues, gangs ---> compute micro engine (crate::engines::cpsch)
//! completion fence <-----+ in the order of the frames
//! ```
//!
//! Written from the firmware's side: Linux's definition of its interface and its driver's comments
//! about it (`include/mes_v12_api_def.h`, `amdgpu/mes_v12_0.c`, `amdgpu/amdgpu_mes.c`).
//!
//! Threads: the transport's thread accesses registers ([`regs`]) and never waits. One *firmware*
//! thread ([`firmware`]) owns the rings and all queues: it looks at doorbells, more and more seldom
//! while nothing happens, carries out frames, takes AQL packets and completes them. *Workers* run
//! workgroups ([`crate::engines::cp`]).

mod control;
mod debugger;
mod failure;
mod firmware;
pub mod frame;
mod gangs;
mod log;
mod members;
mod misc;
mod programs;
mod queues;
pub mod regs;
mod resources;
pub mod ring;
pub mod slot;
mod state;

use super::cp::front::counters::{gfx12, is_counters, Counters};
use super::cp::front::generation::GFX12;
use super::cp::front::registers::{Registers, Vmid};
use super::cp::front::waves::WaveSlots;
use super::sdma::Engines;
use crate::device::doorbell::NOT_RUNG;
use crate::device::facts::Facts;
use crate::device::firmware::Firmware as Loaded;
use crate::device::Env;
use crate::device::{IpBlock, Refused};
use crate::engines::cp::front::hqd::Image;
use crate::engines::cp::front::slot::Slot;
use crate::engines::runner::{Runner, Thread};
use crate::memory::hub::Client;
use crate::memory::Hub;
use firmware::Firmware;
use regs::{Order, Regs};
use rkfd_hw::regs::gc_12_0_0::SPI_CSQ_WF_ACTIVE_COUNT_0;
use rkfd_hw::regs::RegInfo;
use slot::Bank;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What the threads share.
pub(crate) struct Shared {
    env: Arc<dyn Env>,
    facts: Facts,
    sdma: Arc<Engines>,
    regs: Mutex<Regs>,
    runner: Arc<Runner>,
    waves: Arc<WaveSlots>,
    counters: Arc<Counters>,
}

impl Shared {
    fn regs(&self) -> MutexGuard<'_, Regs> {
        self.regs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same for an access by the host: engines have the firmware that has come meanwhile.
    fn accessed(&self) -> MutexGuard<'_, Regs> {
        let mut regs = self.regs();
        regs.loaded = is_loaded(&*self.env);
        regs
    }

    /// The registers after a reset.
    fn start_up(&self) -> Regs {
        start_up(&*self.env, &self.facts)
    }
}

impl Registers for Shared {
    fn change(&self, slot: Slot, change: &mut dyn FnMut(&mut Image)) {
        change(self.regs().image_mut(Bank::Compute(slot)));
    }

    fn leave(&self, slot: Slot, change: &mut dyn FnMut(&mut Image)) {
        let (mut regs, bank) = (self.regs(), Bank::Compute(slot));
        if regs.is_active(bank) && !regs.orders.contains(&Order::Drop(bank)) {
            change(regs.image_mut(bank));
        }
    }

    fn is_halted(&self, slot: Slot) -> bool {
        self.regs().is_halted(slot)
    }

    fn doorbells_on(&self, _: Slot) -> bool {
        true
    }

    /// MES has no such time: waves are saved at once.
    fn grace(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    fn int_cntl(&self, slot: Slot) -> u32 {
        self.regs().int_cntl(slot.pipe())
    }

    fn vmid(&self, vmid: u8) -> Vmid {
        self.regs().vmid(vmid)
    }

    fn set_vmid(&self, vmid: u8, bank: Vmid) {
        self.regs().set_vmid(vmid, bank);
    }

    fn watched(&self, _: u8) -> [u64; 4] {
        self.regs().watched()
    }

    fn waves(&self) -> &Arc<WaveSlots> {
        &self.waves
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}

/// MES and MEC have their programs in memory (CP_MES_IC_BASE, CP_CPC_IC_BASE), and look for work there.
impl Client for Shared {
    fn fetches(&self, _: Hub) -> Option<String> {
        let regs = self.regs();
        let mut running = slot::Pipe::ALL.into_iter().filter(|pipe| regs.runs(*pipe));
        if let Some(pipe) = running.next() {
            let pipe = pipe as u32;
            return Some(format!("pipe {pipe} of MES runs and reads its program"));
        }
        let mec = GFX12.slots.all().find(|slot| !regs.is_halted(*slot))?;
        let pipe = mec.pipe();
        Some(format!("pipe {pipe} of MEC runs and reads its program"))
    }
}

/// The most waves that a register counts.
const MOST: u32 = SPI_CSQ_WF_ACTIVE_COUNT_0::COUNT.mask();

/// The run list controller has its firmware, and has given the others theirs.
fn is_loaded(env: &dyn Env) -> bool {
    env.firmware().has(Loaded::RlcStarted(0))
}

fn start_up(env: &dyn Env, facts: &Facts) -> Regs {
    let mut regs = Regs::new(facts, is_loaded(env), env.start());
    if env.start().used {
        regs.leave_queues();
    }
    regs
}

/// MES as a block of the device.
pub struct Mes {
    shared: Arc<Shared>,
    thread: Thread,
}

impl Mes {
    /// A MES whose firmware is loaded, but halted.
    pub fn new(env: Arc<dyn Env>, facts: Facts, sdma: Arc<Engines>) -> Arc<Self> {
        let waves = WaveSlots::new(&facts);
        let counts = (&facts.gc, facts.xccs);
        let counters = Counters::new(env.clone(), &gfx12::GFX12, counts, waves.clone());
        let shared = Arc::new(Shared {
            regs: Mutex::new(start_up(&*env, &facts)),
            env,
            facts,
            sdma,
            runner: Arc::default(),
            waves,
            counters,
        });
        let client: Arc<dyn Client> = shared.clone();
        let hub = shared.env.memory().hub(Hub::Gfx(0));
        hub.add_client(Arc::downgrade(&client));
        let its = shared.clone();
        let thread = Thread::start("rkfd-mes", &shared.env, shared.runner.clone(), || {
            Firmware::new(its)
        });
        Arc::new(Self { shared, thread })
    }
}

impl IpBlock for Mes {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        let mut regs = self.shared.accessed();
        let chosen = regs.chosen_wave();
        if reg.reg.name == "SQ_IND_DATA" {
            drop(regs);
            return self.shared.waves.read(0, chosen, GFX12.waves);
        }
        if is_counters(reg) {
            drop(regs);
            let value = self.shared.counters.read(0, reg, chosen[0]);
            return value.ok_or(Refused::NotModelled);
        }
        match regs.count_of(reg) {
            None => regs.read(reg),
            Some(count) => {
                drop(regs);
                Ok(count.value(&self.shared.waves, 0, chosen[0], (GFX12.waves, MOST)))
            }
        }
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        if reg.reg.name == "GRBM_SOFT_RESET" && !self.thread.is_this() {
            return self.soft_reset(value);
        }
        let index = is_counters(reg).then(|| self.shared.regs().chosen_wave()[0]);
        if let Some(done) = index.and_then(|index| self.shared.counters.write(0, reg, value, index))
        {
            return done;
        }
        let mut regs = self.shared.accessed();
        let before = regs.orders.len();
        regs.write(reg, value, || self.shared.env.clock().now())?;
        for order in regs.orders.iter().skip(before) {
            // A ring from now on is for the queue, even before the firmware's thread has it.
            if let Order::Connect(_, ring, _) = order {
                self.shared.env.doorbells().store(ring.doorbell, NOT_RUNG);
            }
        }
        let work = regs.orders.len() > before;
        drop(regs);
        if work {
            self.shared.runner.wake.ring();
        }
        Ok(())
    }

    fn reset(&self) {
        self.shared.counters.reset(0);
        self.thread.reset();
    }
}

impl Mes {
    fn soft_reset(&self, value: u32) -> Result<(), Refused> {
        let resets = self.shared.regs().resets(value)?;
        for (engine, _) in (0..).zip(resets.sdma).filter(|(_, reset)| *reset) {
            if !self.shared.sdma.stands_still(engine) {
                let what = format!("SDMA engine {engine} is reset before a halt has taken effect");
                return Err(Refused::Undefined(what));
            }
            self.shared.sdma.soft_reset(engine);
        }
        if resets.cp {
            self.thread.soft_reset(0, value);
        }
        self.shared.regs().hold(value);
        Ok(())
    }
}
