// SPDX-License-Identifier: MIT OR Apache-2.0

//! Performance counters: those of the sequencers (SQ) and of the register bus (GRBM) of each XCC.
//!
//! ```text
//! select an event  -->  CP_PERFMON_CNTL: start  -->  waves run  -->  sample  -->  read LO and HI
//! ```
//!
//! GRBM_GFX_INDEX chooses the sequencer that is programmed or read. Packets have one of their own: a driver sets the host's
//! under a lock that programs don't know (Linux, `grbm_idx_mutex`). A sequencer counts waves of queues whose
//! COMPUTE_PERFCOUNT_ENABLE is set, of VMIDs that its control register has, while CS_EN is set. What LO and HI show
//! is the last sample.
//!
//! Sources: Linux, `include/asic_reg/gc/gc_9_4_3_sh_mask.h`, `gc_12_0_0_sh_mask.h`, `include/soc24_enum.h`
//! (`CP_PERFMON_STATE`); the packets that AMD's aqlprofile makes.

mod core;
pub(crate) mod event;
pub(crate) mod gfx12;
pub(crate) mod gfx9_4_3;
mod register;

use self::core::{Core, Times};
use self::event::Waves;
use super::slot::Slot;
use super::waves::{Place, WaveSlots};
use crate::device::facts::GcShape;
use crate::device::{Env, Refused};
pub(crate) use event::Scheme;
pub(crate) use register::is_counters;
use register::Counters as Register;
use rkfd_hw::regs::RegInfo;
use rkfd_isa::{Tally, Traffic};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The counters of all XCCs.
pub(crate) struct Counters {
    env: Arc<dyn Env>,
    scheme: &'static Scheme,
    waves: Arc<WaveSlots>,
    xccs: Vec<(AtomicBool, Mutex<Core>)>,
}

impl Counters {
    /// Those of a chip, of which none counts.
    pub fn new(
        env: Arc<dyn Env>,
        scheme: &'static Scheme,
        (shape, xccs): (&GcShape, u8),
        waves: Arc<WaveSlots>,
    ) -> Arc<Self> {
        let core = || (AtomicBool::new(false), Mutex::new(Core::new(scheme, shape)));
        Arc::new(Self {
            env,
            scheme,
            waves,
            xccs: (0..xccs).map(|_| core()).collect(),
        })
    }

    fn core(&self, xcc: u8) -> Option<MutexGuard<'_, Core>> {
        let (_, core) = self.xccs.get(usize::from(xcc))?;
        Some(core.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether an XCC's counters count.
    pub fn are_on(&self, xcc: u8) -> bool {
        let mut on = self.xccs.get(usize::from(xcc)).into_iter();
        on.any(|(on, _)| on.load(Ordering::Acquire))
    }

    /// Cycles so far.
    fn times(&self, xcc: u8) -> Times {
        let clock = self.env.clock();
        let mhz = u128::from(self.scheme.mhz);
        let cycles = |time: std::time::Duration| (time.as_nanos() * mhz / 1000) as u64;
        let all = u128::from(clock.now()) * mhz * 1_000_000 / u128::from(clock.hz());
        let meter = self.env.load().xccs.get(usize::from(xcc));
        Times {
            all: all as u64,
            busy: meter.map_or(0, |meter| cycles(meter.total())),
            engines: self.waves.busy(xcc).into_iter().map(cycles).collect(),
        }
    }

    /// Reads a register, if it is one of these, by GRBM_GFX_INDEX.
    pub fn read(&self, xcc: u8, reg: &RegInfo, index: u32) -> Option<u32> {
        let register = Register::of(reg)?;
        Some(self.core(xcc)?.read(register, index))
    }

    /// Writes a register, if it is one of these, by GRBM_GFX_INDEX.
    ///
    /// # Errors
    /// The register can't be written, or the value has no meaning that is modelled.
    pub fn write(
        &self,
        xcc: u8,
        reg: &RegInfo,
        value: u32,
        index: u32,
    ) -> Option<Result<(), Refused>> {
        let register = Register::of(reg)?;
        let times = self.times(xcc);
        let mut core = self.core(xcc)?;
        let done = core.write(register, value, index, &times);
        if let Some((on, _)) = self.xccs.get(usize::from(xcc)) {
            on.store(core.counts(), Ordering::Release);
        }
        Some(done)
    }

    /// GRBM_GFX_INDEX as an XCC's packets have set it.
    pub fn packets_index(&self, xcc: u8) -> u32 {
        self.core(xcc).map_or(0, |core| core.index)
    }

    /// Sets GRBM_GFX_INDEX for an XCC's packets.
    pub fn set_packets_index(&self, xcc: u8, index: u32) {
        if let Some(mut core) = self.core(xcc) {
            core.index = index;
        }
    }

    /// None of an XCC's counters counts any more, and all are 0.
    pub fn reset(&self, xcc: u8) {
        if let Some((on, _)) = self.xccs.get(usize::from(xcc)) {
            on.store(false, Ordering::Release);
        }
        if let Some(mut core) = self.core(xcc) {
            core.reset();
        }
    }

    /// Whether instructions of a queue's waves are counted on an XCC. `enabled` is its COMPUTE_PERFCOUNT_ENABLE.
    pub fn count(&self, xcc: u8, hqd: Slot, vmid: u8, enabled: bool) -> bool {
        let core = self.core(xcc);
        core.is_some_and(|core| core.takes(hqd, vmid, enabled))
    }

    /// A work-group's waves have executed something.
    pub fn executed(&self, xcc: u8, place: Place, tally: &Tally) {
        if let Some(mut core) = self.core(xcc) {
            core.add(place, |event| event.of_instructions(tally));
        }
    }

    /// Whether look-ups in an XCC's caches are counted.
    pub fn count_lookups(&self, xcc: u8) -> bool {
        self.are_on(xcc) && self.core(xcc).is_some_and(|core| core.counts_lookups())
    }

    /// A work-group's waves have asked caches for something.
    pub fn asked(&self, xcc: u8, place: Place, traffic: &Traffic) {
        if let Some(mut core) = self.core(xcc) {
            core.add_traffic(place, traffic);
        }
    }

    /// A work-group's waves begin, or go on after they were saved.
    pub fn begun(&self, xcc: u8, place: Place, waves: Waves) {
        if let Some(mut core) = self.core(xcc) {
            core.add(place, |event| event.of_waves(waves));
        }
    }
}
