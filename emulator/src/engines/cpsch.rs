// SPDX-License-Identifier: MIT OR Apache-2.0

//! The firmware that schedules gfx942's queues: KIQ, HIQ and run lists.
//!
//! ```text
//! registers --> KIQ --MAP_QUEUES--> HIQ --RUN_LIST--> processes, queues --> cp: VMIDs, HQDs
//! ```
//!
//! Written from the firmware's side: Linux's packet definitions and their comments about the firmware
//! (`amdgpu/gfx_v9_4_3.c`, `amdkfd/kfd_packet_manager_v9.c`, `kfd_pm4_headers_ai.h`).
//!
//! The XCCs of a partition act as one, as their firmware does: each has registers, KIQ, HIQ, HQDs,
//! compute units and a graphics hub of its own, and the HIQs take the same packets of the same ring.
//! What the first one decides (VMIDs, HQDs, whose turn it is) is done by all, each with its own MQD of
//! a queue; an AQL dispatch is split among them ([`super::cp`]).
//!
//! Threads: the transport's thread accesses registers ([`regs`]) and never waits. One *firmware*
//! thread ([`firmware`]) owns all queues: it looks at doorbells, more and more seldom while nothing
//! happens, takes packets and completes them.

pub mod firmware;
mod hiq;
mod kernel;
mod kiq;
mod ports;
pub mod regs;
mod runlist;
mod stuck;
mod waits;

use super::cp::front::counters::{gfx9_4_3, is_counters, Counters};
use super::cp::front::generation::GFX9_4_3;
use super::cp::front::hqd::Image;
use super::cp::front::registers::{Registers, Vmid};
use super::cp::front::slot::Slot;
use super::cp::front::waves::WaveSlots;
use super::runner::{Runner, Thread};
use super::sdma::Engines;
use crate::device::doorbell::NOT_RUNG;
use crate::device::facts::Facts;
use crate::device::Env;
use crate::device::{IpBlock, Refused};
use firmware::Firmware;
use regs::{Order, Regs};
use rkfd_hw::regs::gc_9_4_3::SPI_CSQ_WF_ACTIVE_COUNT_0;
use rkfd_hw::regs::RegInfo;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What the threads share.
pub struct Shared {
    /// The rest of the chip.
    pub env: Arc<dyn Env>,
    facts: Facts,
    sdma: Arc<Engines>,
    /// Each XCC's registers.
    regs: Vec<Mutex<Regs>>,
    runner: Arc<Runner>,
    waves: Arc<WaveSlots>,
    counters: Arc<Counters>,
}

impl Shared {
    /// An XCC's registers, locked for a moment.
    pub fn regs(&self, xcc: u8) -> MutexGuard<'_, Regs> {
        // There are some for each XCC of the chip, and nobody names another.
        let regs = &self.regs[usize::from(xcc)];
        regs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All XCCs.
    pub fn xccs(&self) -> std::ops::Range<u8> {
        0..self.regs.len() as u8
    }

    /// Writes a register of an XCC, by the host or by a packet.
    fn write(&self, xcc: u8, reg: &RegInfo, value: u32) -> Result<(), Refused> {
        if !self.env.firmware().was_there() {
            if let Some(done) = self.write_port(xcc, reg, value) {
                return done;
            }
            self.may_start(xcc, reg, value)?;
        }
        let mut regs = self.regs(xcc);
        let before = regs.orders.len();
        regs.write(reg, value, || self.env.clock().now())?;
        for order in regs.orders.iter().skip(before) {
            // A ring from now on is for the queue, even before the firmware's thread has it.
            if let Order::Connect(_, queue, ..) = order {
                self.env.doorbells().store(queue.doorbell, NOT_RUNG);
            }
        }
        let work = regs.orders.len() > before;
        drop(regs);
        if work {
            self.runner.wake.ring();
        }
        Ok(())
    }
}

impl Registers for Shared {
    fn change(&self, slot: Slot, change: &mut dyn FnMut(&mut Image)) {
        change(self.regs(slot.xcc()).image_mut(slot));
    }

    fn leave(&self, slot: Slot, change: &mut dyn FnMut(&mut Image)) {
        let mut regs = self.regs(slot.xcc());
        if regs.is_active(slot) && !regs.orders.contains(&Order::Drop(slot)) {
            let image = regs.image_mut(slot);
            let request = image.get(Image::CP_HQD_DEQUEUE_REQUEST) as u32;
            change(image);
            // Whoever made it by registers takes it back.
            image.set(Image::CP_HQD_DEQUEUE_REQUEST, request);
        }
    }

    fn is_halted(&self, slot: Slot) -> bool {
        self.regs(slot.xcc()).is_halted(slot)
    }

    fn doorbells_on(&self, slot: Slot) -> bool {
        self.regs(slot.xcc()).doorbells_on()
    }

    fn grace(&self) -> Option<Duration> {
        self.regs(0).grace()
    }

    fn int_cntl(&self, slot: Slot) -> u32 {
        self.regs(slot.xcc()).int_cntl(slot.me(), slot.pipe())
    }

    fn vmid(&self, vmid: u8) -> Vmid {
        // The scheduler has set them alike on all.
        self.regs(0).vmid(vmid)
    }

    fn set_vmid(&self, vmid: u8, bank: Vmid) {
        for xcc in self.xccs() {
            self.regs(xcc).set_vmid(vmid, bank);
        }
    }

    fn watched(&self, xcc: u8) -> [u64; 4] {
        self.regs(xcc).watched()
    }

    fn waves(&self) -> &Arc<WaveSlots> {
        &self.waves
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}

/// The most waves that a register counts.
const MOST: u32 = SPI_CSQ_WF_ACTIVE_COUNT_0::COUNT.mask();

/// An XCC's registers as its firmware finds them.
fn start_up(env: &dyn Env, facts: &Facts, xcc: u8) -> Regs {
    let mut regs = Regs::new(facts, xcc, !env.firmware().was_there());
    if env.start().used {
        regs.leave_queues();
    }
    regs
}

/// An XCC's command processor as a block of the device.
pub struct Cp {
    partition: Arc<Partition>,
    xcc: u8,
}

/// The command processors of all XCCs.
struct Partition {
    shared: Arc<Shared>,
    thread: Thread,
}

impl Cp {
    /// The command processors of a chip, in one partition, whose firmware runs and has no queue.
    pub fn partition(env: Arc<dyn Env>, facts: Facts, sdma: Arc<Engines>) -> Vec<Arc<dyn IpBlock>> {
        let regs = |xcc| Mutex::new(start_up(&*env, &facts, xcc));
        let waves = WaveSlots::new(&facts);
        let counts = (&facts.gc, facts.xccs);
        let counters = Counters::new(env.clone(), &gfx9_4_3::GFX9_4_3, counts, waves.clone());
        let shared = Arc::new(Shared {
            regs: (0..facts.xccs).map(regs).collect(),
            env,
            facts,
            sdma,
            runner: Arc::default(),
            waves,
            counters,
        });
        let its = shared.clone();
        let thread = Thread::start("rkfd-cp", &shared.env, shared.runner.clone(), || {
            Firmware::new(its)
        });
        let partition = Arc::new(Partition { shared, thread });
        let xccs = partition.shared.xccs();
        let block = |xcc| -> Arc<dyn IpBlock> {
            let partition = partition.clone();
            Arc::new(Self { partition, xcc })
        };
        xccs.map(block).collect()
    }
}

impl IpBlock for Cp {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        let shared = &self.partition.shared;
        let regs = shared.regs(self.xcc);
        let chosen = regs.chosen_wave();
        if reg.reg.name == "SQ_IND_DATA" {
            drop(regs);
            return shared.waves.read(self.xcc, chosen, GFX9_4_3.waves);
        }
        if reg.reg.name == "RLC_CNTL" {
            drop(regs);
            return Ok(shared.rlc_runs(self.xcc).into());
        }
        if is_counters(reg) {
            drop(regs);
            let value = shared.counters.read(self.xcc, reg, chosen[0]);
            return value.ok_or(Refused::NotModelled);
        }
        match regs.count_of(reg) {
            None => regs.read(reg),
            Some(count) => {
                drop(regs);
                let laid_out = (GFX9_4_3.waves, MOST);
                Ok(count.value(&shared.waves, self.xcc, chosen[0], laid_out))
            }
        }
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        let Partition { shared, thread } = &*self.partition;
        let resets = reg.reg.name == "GRBM_SOFT_RESET" && !thread.is_this();
        if resets && shared.regs(self.xcc).resets(value)? {
            thread.soft_reset(self.xcc, value);
            return Ok(());
        }
        let index = is_counters(reg).then(|| shared.regs(self.xcc).chosen_wave()[0]);
        let counters = index.and_then(|index| shared.counters.write(self.xcc, reg, value, index));
        counters.unwrap_or_else(|| shared.write(self.xcc, reg, value))
    }

    /// Resets the partition: what runs on one XCC runs on all.
    fn reset(&self) {
        self.partition.shared.counters.reset(self.xcc);
        self.partition.thread.reset();
    }
}
