// SPDX-License-Identifier: MIT OR Apache-2.0

//! Wave slots: which wave is in which, and their registers through SQ_IND_INDEX and SQ_IND_DATA.
//!
//! A SIMD has a number of slots, and a wave that has begun and not ended is in one. A driver points
//! GRBM_GFX_INDEX at a SIMD, chooses a slot and a register by SQ_IND_INDEX, and reads SQ_IND_DATA
//! (Linux, `amdgpu_debugfs_wave_read`, `gfx_v9_4_3_read_wave_data`, `gfx_v12_0_read_wave_data`).
//! Of a slot without a wave all registers read 0, so that STATUS.VALID is 0.
//!
//! All waves of a work-group are in slots of one compute unit; units that the queue's mask allows have their
//! turns, engine by engine. How the chip spreads them isn't published. Where dispatches run at once whose waves
//! are more than there are slots, those of the last have none, and don't show: the model gives each dispatch
//! all slots.

pub(crate) mod count;
pub(crate) mod gfx12;
pub(crate) mod gfx9_4_3;

use super::slot::Slot;
use crate::device::facts::{Facts, GcShape};
use crate::device::load::Meter;
use crate::device::Refused;
use rkfd_hw::mqd::Common as Image;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Where a slot is in its XCC.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Place {
    /// Shader engine.
    pub engine: u32,
    /// Shader array in the engine.
    pub array: u32,
    /// Compute unit in the array.
    pub cu: u32,
    /// SIMD in the compute unit.
    pub simd: u32,
    /// Slot in the SIMD.
    pub slot: u32,
}

/// What the registers of a wave show, between two instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaveState {
    pub pc: u64,
    pub exec: u64,
    pub vcc: u64,
    pub scc: bool,
    pub m0: u32,
    pub mode: u32,
    /// TRAPSTS, or gfx12's EXCP_FLAG_PRIV.
    pub exceptions: u32,
    /// gfx12's EXCP_FLAG_USER: exceptions of arithmetic.
    pub arithmetic: u32,
    /// gfx12's TRAP_CTRL: which of both kinds trap.
    pub trap_control: u32,
    /// It is in its trap handler.
    pub privileged: bool,
    /// It has a trap handler.
    pub traps: bool,
    /// HALT is set, which holds it unless it is in its trap handler.
    pub halted: bool,
    /// An error that no trap handler could take has stopped it.
    pub failed: bool,
    /// It waits for its work-group.
    pub waits: bool,
    /// Its work-group has arrived, and it has not waited yet.
    pub arrived: bool,
    pub lanes: u32,
    /// Vector registers of both kinds, and the first for accumulation.
    pub registers: u16,
    pub accumulation: u16,
    /// Bytes of its work-group's LDS, and waves.
    pub lds: u32,
    pub waves: u32,
    /// The HQD that its queue was on when it began or went on.
    pub hqd: Slot,
    pub vmid: u8,
}

impl WaveState {
    /// Whether it executes nothing until somebody lets it go on.
    pub fn is_held(&self) -> bool {
        self.failed || self.halted && !self.privileged
    }
}

/// Who has waves in slots.
pub(crate) trait Occupant: Send + Sync {
    /// A wave of a work-group, by the numbers that were given with it; `None` when it has ended.
    fn wave(&self, group: u32, wave: u32) -> Option<WaveState>;

    /// The words at an address of its code; 0 where none can be read.
    fn code(&self, pc: u64) -> [u32; 2];
}

/// A wave's registers, as a generation lays them out.
pub(crate) struct Registers {
    /// The slot and the register that GRBM_GFX_INDEX and SQ_IND_INDEX choose. Where an access goes to all
    /// instances, a read is of the first.
    pub chosen: fn(u32, u32) -> (Place, u32),
    /// A register of the wave in a slot; `None` if it isn't modelled.
    pub read: fn(u32, &Seen<'_>) -> Option<u32>,
    /// HW_ID, or HW_ID1 and HW_ID2, of a wave in this slot, of the queue on this HQD, under this VMID.
    pub ids: fn(Place, Slot, u8) -> [u32; 2],
}

/// The compute units that a queue's waves may be on: COMPUTE_STATIC_THREAD_MGMT_SE0 to SE3. An array has half a
/// word, in which bit n is the nth unit that works (Linux, `mqd_symmetrically_map_cu_mask`: "HW expects disabled
/// CUs to be represented in the high bits").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Allowed([u32; 4]);

impl Allowed {
    /// Those of a queue.
    pub fn of(mqd: &Image) -> Self {
        let engines = [
            Image::COMPUTE_STATIC_THREAD_MGMT_SE0,
            Image::COMPUTE_STATIC_THREAD_MGMT_SE1,
            Image::COMPUTE_STATIC_THREAD_MGMT_SE2,
            Image::COMPUTE_STATIC_THREAD_MGMT_SE3,
        ];
        Self(engines.map(|engine| mqd.get(engine) as u32))
    }

    fn has(self, unit: &Unit) -> bool {
        let mask = self.0.get(unit.place.engine as usize).unwrap_or(&0);
        (mask >> unit.bit) & 1 == 1
    }
}

/// What is seen of a slot and of its SIMD.
pub(crate) struct Seen<'a> {
    pub place: Place,
    /// The wave in the slot.
    pub wave: Option<WaveState>,
    /// Its instruction's words.
    pub code: &'a dyn Fn() -> [u32; 2],
    /// The waves of the SIMD's slots.
    pub simd: &'a dyn Fn() -> Vec<Option<WaveState>>,
}

/// Whose wave is in a slot: which work-group of which dispatch, and which wave of that.
#[derive(Clone)]
struct Owner {
    who: Weak<dyn Occupant>,
    group: u32,
    wave: u32,
}

impl Owner {
    fn wave(&self) -> Option<WaveState> {
        self.who.upgrade()?.wave(self.group, self.wave)
    }
}

/// The slots of all compute units.
pub(crate) struct WaveSlots {
    shape: GcShape,
    /// Those that work, in the order of their turns.
    order: Vec<Unit>,
    xccs: Vec<Mutex<Units>>,
    /// How long each engine of each XCC has had waves.
    busy: Vec<Vec<Meter>>,
}

struct Units {
    /// Those that are fused off, too, by engine, array and number.
    units: Vec<Vec<Option<Owner>>>,
    /// Whose turn is next.
    turn: usize,
}

/// A compute unit that works.
#[derive(Clone, Copy, Debug)]
struct Unit {
    /// Its number with those that are fused off.
    at: usize,
    /// Where its first slot is.
    place: Place,
    /// Its bit of its engine's mask.
    bit: u32,
}

/// Slots that are taken until this is dropped.
pub(crate) struct Taken {
    slots: Arc<WaveSlots>,
    xcc: u8,
    unit: Unit,
    which: Vec<usize>,
    /// The waves' numbers in their work-group, in the same order.
    numbers: Vec<u32>,
}

impl Taken {
    /// The compute unit: the first slot of it.
    pub fn unit(&self) -> Place {
        self.unit.place
    }

    /// Where the wave of a number is: that it is in no slot doesn't show here.
    pub fn place(&self, wave: u32) -> Place {
        let each = self.slots.shape.waves_per_simd.max(1);
        let mut all = self.which.iter().zip(&self.numbers);
        let at = all.find(|(_, number)| **number == wave);
        let at = at.map_or(0, |(at, _)| *at as u32);
        Place {
            simd: at / each,
            slot: at % each,
            ..self.unit.place
        }
    }
}

impl WaveSlots {
    /// Those of a chip, all free.
    pub fn new(facts: &Facts) -> Arc<Self> {
        let shape = facts.gc;
        let units = || {
            Mutex::new(Units {
                units: vec![vec![None; slots_of(&shape)]; units_of(&shape)],
                turn: 0,
            })
        };
        Arc::new(Self {
            shape,
            order: order(&shape),
            xccs: (0..facts.xccs).map(|_| units()).collect(),
            busy: (0..facts.xccs)
                .map(|_| (0..shape.engines).map(|_| Meter::default()).collect())
                .collect(),
        })
    }

    fn lock(&self, xcc: u8) -> Option<MutexGuard<'_, Units>> {
        let units = self.xccs.get(usize::from(xcc))?;
        Some(units.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How long each engine of an XCC has had waves.
    pub fn busy(&self, xcc: u8) -> Vec<Duration> {
        let meters = self.busy.get(usize::from(xcc)).into_iter().flatten();
        meters.map(Meter::total).collect()
    }

    fn meter(&self, xcc: u8, engine: u32) -> Option<&Meter> {
        self.busy.get(usize::from(xcc))?.get(engine as usize)
    }

    /// How many compute units of an XCC are allowed.
    pub fn count_of(&self, allowed: Allowed) -> u32 {
        let units = self.order.iter();
        units.filter(|unit| allowed.has(unit)).count() as u32
    }

    /// Takes slots of one of the allowed compute units for the waves of a work-group, which has them by these numbers.
    /// While no unit has as many, they are on one and in none of its slots. `None` if no unit is allowed.
    pub fn take(
        self: &Arc<Self>,
        xcc: u8,
        numbers: Vec<u32>,
        (who, group): (Weak<dyn Occupant>, u32),
        allowed: Allowed,
    ) -> Option<Taken> {
        let waves = numbers.len();
        let mut units = self.lock(xcc)?;
        let (turns, turn) = (self.order.len(), units.turn);
        let free = |unit: &Unit| {
            let slots = units.units.get(unit.at);
            slots.map_or(0, |slots| slots.iter().filter(|s| s.is_none()).count())
        };
        let all = self.order.iter().enumerate().cycle().skip(turn).take(turns);
        let all = all.filter(|(_, unit)| allowed.has(unit));
        let roomy = all.clone().find(|(_, unit)| free(unit) >= waves);
        let (n, unit) = roomy.or_else(|| all.clone().next())?;
        let (n, unit, waves) = (n, *unit, roomy.map_or(0, |_| waves));
        units.turn = (n + 1) % turns;
        let slots = units.units.get_mut(unit.at)?;
        let (simds, each) = (self.shape.simds_per_cu, self.shape.waves_per_simd);
        // One SIMD after the other.
        let by_turns = (0..each).flat_map(|slot| (0..simds).map(move |simd| simd * each + slot));
        let mut which = Vec::with_capacity(waves);
        for at in by_turns.map(|at| at as usize) {
            if which.len() == waves {
                break;
            }
            let Some(slot @ None) = slots.get_mut(at) else {
                continue;
            };
            *slot = Some(Owner {
                who: who.clone(),
                group,
                wave: which.len() as u32,
            });
            which.push(at);
        }
        drop(units);
        self.meter(xcc, unit.place.engine)
            .into_iter()
            .for_each(Meter::begin);
        Some(Taken {
            slots: self.clone(),
            xcc,
            unit,
            which,
            numbers,
        })
    }

    /// Whose waves are in the slots of a SIMD.
    fn simd(&self, xcc: u8, at: Place) -> Vec<Option<Owner>> {
        let shape = &self.shape;
        let is_there = at.engine < shape.engines
            && at.array < shape.arrays_per_engine
            && at.cu < shape.cus_per_array
            && at.simd < shape.simds_per_cu;
        let array = at.engine.wrapping_mul(shape.arrays_per_engine) + at.array;
        let unit = array.wrapping_mul(shape.cus_per_array) + at.cu;
        let first = (at.simd * shape.waves_per_simd) as usize;
        let found = self.lock(xcc).filter(|_| is_there).and_then(|units| {
            let slots = units.units.get(unit as usize)?;
            let slots = slots.get(first..first + shape.waves_per_simd as usize)?;
            Some(slots.to_vec())
        });
        found.unwrap_or_default()
    }

    /// Waves in flight on a shader engine of an XCC, of the queue on an HQD.
    fn count(&self, xcc: u8, engine: u32, hqd: Slot) -> u32 {
        let of_engine = (self.shape.arrays_per_engine * self.shape.cus_per_array) as usize;
        // They are asked without the lock: one that ends meanwhile gives its slots back.
        let owners: Vec<Owner> = self.lock(xcc).map_or_else(Vec::new, |units| {
            let units = units.units.chunks(of_engine.max(1)).nth(engine as usize);
            let owners = units.into_iter().flatten().flatten().flatten();
            owners.cloned().collect()
        });
        let waves = owners.iter().filter_map(Owner::wave);
        waves.filter(|wave| wave.hqd.index() == hqd.index()).count() as u32
    }

    /// SQ_IND_DATA of an XCC, of its GRBM_GFX_INDEX and SQ_IND_INDEX. It changes nothing.
    ///
    /// # Errors
    /// The register isn't modelled.
    pub fn read(&self, xcc: u8, chosen: [u32; 2], registers: &Registers) -> Result<u32, Refused> {
        let [grbm, index] = chosen;
        let (place, register) = (registers.chosen)(grbm, index);
        let simd = self.simd(xcc, place);
        let owner = simd.get(place.slot as usize).cloned().flatten();
        let wave = owner.as_ref().and_then(Owner::wave);
        let code = || {
            let who = owner.as_ref().and_then(|owner| owner.who.upgrade());
            who.zip(wave)
                .map_or([0; 2], |(who, wave)| who.code(wave.pc))
        };
        let seen = Seen {
            place,
            wave,
            code: &code,
            simd: &|| {
                let wave = |owner: &Option<Owner>| owner.as_ref().and_then(Owner::wave);
                simd.iter().map(wave).collect()
            },
        };
        let value = (registers.read)(register, &seen);
        value.ok_or_else(|| {
            let what = format!("SQ_IND_INDEX chooses register {register:#x} of a wave");
            Refused::Undefined(format!("{what}, which is not modelled"))
        })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let meter = self.slots.meter(self.xcc, self.unit.place.engine);
        meter.into_iter().for_each(Meter::end);
        let Some(mut units) = self.slots.lock(self.xcc) else {
            return;
        };
        let Some(slots) = units.units.get_mut(self.unit.at) else {
            return;
        };
        for at in &self.which {
            if let Some(slot) = slots.get_mut(*at) {
                *slot = None;
            }
        }
    }
}

/// Compute units of an XCC, with those that are fused off.
fn units_of(shape: &GcShape) -> usize {
    (shape.engines * shape.arrays_per_engine * shape.cus_per_array) as usize
}

/// Slots of a compute unit.
fn slots_of(shape: &GcShape) -> usize {
    (shape.simds_per_cu * shape.waves_per_simd) as usize
}

/// Compute units that work: one of each engine, then the next of each.
fn order(shape: &GcShape) -> Vec<Unit> {
    let (arrays, each) = (shape.arrays_per_engine, shape.cus_per_array);
    let fused = |engine: u32| *shape.inactive_cus.get(engine as usize).unwrap_or(&0);
    let works = |engine: u32, cu: u32| (fused(engine) >> cu) & 1 == 0;
    let of_engine = arrays * each;
    // The rank of a unit among those of its engine.
    let mut all: Vec<(usize, Unit)> = (0..shape.engines)
        .flat_map(|engine| {
            let units = (0..of_engine).filter(move |&cu| works(engine, cu));
            units.enumerate().map(move |(rank, cu)| {
                let (array, number) = (cu / each, cu % each);
                let before = (array * each..cu).filter(|other| works(engine, *other));
                let unit = Unit {
                    at: (engine * of_engine + cu) as usize,
                    place: Place {
                        engine,
                        array,
                        cu: number,
                        ..Place::default()
                    },
                    bit: 16 * array + before.count() as u32,
                };
                (rank, unit)
            })
        })
        .collect();
    // Stable: of one rank the first engine's comes first.
    all.sort_by_key(|(rank, _)| *rank);
    all.into_iter().map(|(_, unit)| unit).collect()
}

#[cfg(test)]
mod tests {
    use super::super::slot::Slots;
    use super::*;
    use crate::chip::mi308x;

    /// Linux, `mqd_symmetrically_map_cu_mask`: a mask's bits are those of units that work, whichever are fused off.
    #[test]
    fn a_mask_counts_units_that_work() {
        let shape = GcShape {
            engines: 2,
            arrays_per_engine: 2,
            cus_per_array: 3,
            inactive_cus: &[0b001_010, 0],
            ..mi308x::SPX.gc
        };
        let all = order(&shape);
        let bits = |engine| {
            let units = all.iter().filter(|unit| unit.place.engine == engine);
            let mut units: Vec<_> = units
                .map(|unit| (unit.place.array, unit.place.cu, unit.bit))
                .collect();
            units.sort_unstable();
            units
        };
        assert_eq!(bits(0), [(0, 0, 0), (0, 2, 1), (1, 1, 16), (1, 2, 17)]);
        let whole = [0, 1, 2].map(|cu| (0, cu, cu)).into_iter();
        let whole: Vec<_> = whole.chain([0, 1, 2].map(|cu| (1, cu, 16 + cu))).collect();
        assert_eq!(bits(1), whole);
        // The last one of the first array of engine 0, and nothing of engine 1.
        let allowed = Allowed([0b10, 0, 0, 0]);
        let found: Vec<_> = all.iter().filter(|unit| allowed.has(unit)).collect();
        let [unit] = found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((unit.place.array, unit.place.cu), (0, 2));
    }

    /// Who has a wave that ends as soon as somebody asks for it.
    #[derive(Default)]
    struct Leaving(Mutex<Option<Taken>>);

    impl Occupant for Leaving {
        fn wave(&self, _group: u32, _wave: u32) -> Option<WaveState> {
            *self.0.lock().unwrap() = None;
            None
        }

        fn code(&self, _pc: u64) -> [u32; 2] {
            [0; 2]
        }
    }

    fn take(slots: &Arc<WaveSlots>, who: &Arc<Leaving>, numbers: Vec<u32>) -> Taken {
        let who: Weak<dyn Occupant> = Arc::downgrade(who) as _;
        let all = Allowed([u32::MAX; 4]);
        slots.take(0, numbers, (who, 0), all).unwrap()
    }

    #[test]
    fn a_wave_that_ends_while_it_is_counted_keeps_nobody_waiting() {
        let slots = WaveSlots::new(&mi308x::CPX.facts());
        let who = Arc::new(Leaving::default());
        *who.0.lock().unwrap() = Some(take(&slots, &who, vec![0]));
        let (done, counted) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let (pipes, queues) = ([1, 1], 1);
            let hqd = Slots { pipes, queues }.all().next().unwrap();
            let waves = (0..4).map(|engine| slots.count(0, engine, hqd));
            done.send(waves.sum::<u32>()).unwrap();
            drop(who);
        });
        assert_eq!(counted.recv_timeout(Duration::from_secs(20)), Ok(0));
    }

    #[test]
    fn waves_that_came_back_are_found_by_their_numbers() {
        let slots = WaveSlots::new(&mi308x::CPX.facts());
        let who = Arc::new(Leaving::default());
        // Waves 0 and 2 had ended.
        let taken = take(&slots, &who, vec![1, 3]);
        let [first, second] = [1, 3].map(|number| taken.place(number));
        assert_eq!((first.simd, first.slot), (0, 0));
        assert_eq!((second.simd, second.slot), (1, 0));
    }
}
