// SPDX-License-Identifier: MIT OR Apache-2.0

//! The counters of one XCC.

use super::super::slot::Slot;
use super::super::waves::Place;
use super::event::{of_bus, Chosen, Control, Event, Scheme};
use super::register::{Counters as Register, Who};
use crate::device::facts::GcShape;
use crate::device::Refused;
use rkfd_hw::regs::gc_9_4_3::SQ_PERFCOUNTER0_SELECT as Select;
use rkfd_hw::regs::gc_9_4_3::{CP_PERFMON_CNTL as State, GRBM_PERFCOUNTER0_SELECT as BusSelect};
use rkfd_hw::regs::Value;

/// `CP_PERFMON_STATE` of Linux's `soc24_enum.h`.
mod state {
    pub const RESET: u32 = 0;
    pub const START: u32 = 1;
    pub const STOP: u32 = 2;
}

/// SQ_PERFCOUNTERn_SELECT of a sequencer.
const SELECTS: usize = 16;
/// The register bus' counters.
const OF_BUS: usize = 2;

/// Cycles so far: all, those in which the XCC was busy, and each engine.
pub(super) struct Times {
    pub all: u64,
    pub busy: u64,
    pub engines: Vec<u64>,
}

/// A counter.
#[derive(Clone, Copy)]
struct Counter {
    event: Event,
    value: u64,
    /// The cycles that had passed when it began to count some.
    since: u64,
    sample: u64,
}

impl Counter {
    const IDLE: Self = Self {
        event: Event::None,
        value: 0,
        since: 0,
        sample: 0,
    };

    /// The cycles that its event is about, up to now.
    fn cycles(&self, all: u64, busy: u64) -> Option<u64> {
        match self.event {
            Event::Cycles => Some(all),
            Event::BusyCycles => Some(busy),
            _ => None,
        }
    }
}

/// What programs the counters of a sequencer, or of the bus, and they.
struct Bank {
    selects: Vec<u32>,
    counters: Vec<Counter>,
}

impl Bank {
    fn new(selects: usize, counters: usize) -> Self {
        Self {
            selects: vec![0; selects],
            counters: vec![Counter::IDLE; counters],
        }
    }

    /// They stand still, or begin: those of cycles from now on.
    fn change(&mut self, (before, after): (u32, u32), sample: bool, all: u64, busy: u64) {
        for counter in &mut self.counters {
            if after == state::RESET {
                (counter.value, counter.sample) = (0, 0);
            }
            if let Some(now) = counter.cycles(all, busy) {
                if before == state::START && after != state::RESET {
                    counter.value += now.saturating_sub(counter.since);
                }
                counter.since = now;
            }
            if sample {
                counter.sample = counter.value;
            }
        }
    }

    fn choose(&mut self, at: usize, event: Event, all: u64, busy: u64) {
        if let Some(counter) = self.counters.get_mut(at) {
            counter.event = event;
            counter.since = counter.cycles(all, busy).unwrap_or(0);
        }
    }
}

/// A sequencer: of an engine, or of some compute units.
struct Sequencer {
    engine: u32,
    array: u32,
    unit: u32,
    bank: Bank,
}

impl Sequencer {
    fn is(&self, chosen: Chosen) -> bool {
        let fits = |wanted: Option<u32>, own| wanted.is_none_or(|wanted| wanted == own);
        fits(chosen.engine, self.engine)
            && fits(chosen.array, self.array)
            && fits(chosen.unit, self.unit)
    }
}

/// All counters of an XCC.
pub(super) struct Core {
    scheme: &'static Scheme,
    shape: GcShape,
    /// GRBM_GFX_INDEX of packets.
    pub index: u32,
    state: u32,
    control: Control,
    sequencers: Vec<Sequencer>,
    bus: Bank,
}

impl Core {
    pub fn new(scheme: &'static Scheme, shape: &GcShape) -> Self {
        let mut sequencers = Vec::new();
        let (arrays, units) = match scheme.units {
            0 => (1, 1),
            each => (shape.arrays_per_engine, shape.cus_per_array.div_ceil(each)),
        };
        for engine in 0..shape.engines {
            let all = (0..arrays).flat_map(|array| (0..units).map(move |unit| (array, unit)));
            sequencers.extend(all.map(|(array, unit)| Sequencer {
                engine,
                array,
                unit,
                bank: Bank::new(SELECTS, scheme.counters),
            }));
        }
        Self {
            scheme,
            shape: *shape,
            index: 0,
            state: 0,
            control: Control::default(),
            sequencers,
            bus: Bank::new(OF_BUS, OF_BUS),
        }
    }

    pub fn reset(&mut self) {
        *self = Self::new(self.scheme, &self.shape);
    }

    fn state_of(register: u32) -> u32 {
        Value::<State>::new(register).get(State::PERFMON_STATE)
    }

    /// Whether the counters count.
    pub fn counts(&self) -> bool {
        Self::state_of(self.state) == state::START
    }

    /// Whether a queue's waves are counted.
    pub fn takes(&self, hqd: Slot, vmid: u8, enabled: bool) -> bool {
        let scheme = self.scheme;
        let enabled = enabled || (scheme.forced)(&self.control);
        self.counts() && enabled && (scheme.takes)(&self.control, hqd, vmid)
    }

    /// Adds to the counters of the sequencer that a compute unit has.
    pub fn add(&mut self, place: Place, what: impl Fn(Event) -> u64) {
        if !self.counts() || !(self.scheme.counts)(&self.control, place.array, place.cu) {
            return;
        }
        let own = match self.scheme.units {
            0 => (place.engine, 0, 0),
            each => (place.engine, place.array, place.cu / each),
        };
        let mut all = self.sequencers.iter_mut();
        if let Some(sequencer) = all.find(|s| (s.engine, s.array, s.unit) == own) {
            for counter in &mut sequencer.bank.counters {
                counter.value += what(counter.event);
            }
        }
    }

    /// A register's value.
    pub fn read(&self, register: Register, chosen: Chosen) -> u32 {
        let bank = |who| match who {
            Who::Bus => Some(&self.bus),
            Who::Sequencer => {
                let mut all = self.sequencers.iter();
                all.find(|s| s.is(chosen)).map(|s| &s.bank)
            }
        };
        match register {
            Register::State => self.state,
            Register::Control => self.control.control,
            Register::Second => self.control.second,
            Register::Mask => self.control.mask,
            Register::Select(who, n) => bank(who)
                .and_then(|b| b.selects.get(n).copied())
                .unwrap_or(0),
            Register::Value(who, n, high) => {
                let counter = bank(who).and_then(|bank| bank.counters.get(n));
                let sample = counter.map_or(0, |counter| counter.sample);
                (sample >> if high { 32 } else { 0 }) as u32
            }
        }
    }

    /// Writes a register.
    ///
    /// # Errors
    /// The register can't be written, or the value has no meaning that is modelled.
    pub fn write(
        &mut self,
        register: Register,
        value: u32,
        chosen: Chosen,
        times: &Times,
    ) -> Result<(), Refused> {
        match register {
            Register::State => return self.change(value, times),
            Register::Control => self.control.control = value,
            Register::Second => self.control.second = value,
            Register::Mask => self.control.mask = value,
            Register::Value(..) => return Err(Refused::ReadOnly),
            Register::Select(Who::Bus, n) => {
                let number = Value::<BusSelect>::new(value).get(BusSelect::PERF_SEL);
                let event = of_bus(number);
                if let Some(select) = self.bus.selects.get_mut(n) {
                    *select = value;
                }
                let none = event.unwrap_or(Event::None);
                self.bus.choose(n, none, times.all, times.busy);
                if event.is_none() {
                    return undefined(format!("GRBM's event {number} is not modelled"));
                }
            }
            Register::Select(Who::Sequencer, n) => return self.select(n, value, chosen, times),
        }
        Ok(())
    }

    /// CP_PERFMON_CNTL.
    fn change(&mut self, value: u32, times: &Times) -> Result<(), Refused> {
        let new = Value::<State>::new(value);
        let after = new.get(State::PERFMON_STATE);
        if after > state::STOP || new.get(State::SPM_PERFMON_STATE) != 0 {
            return undefined(format!("CP_PERFMON_CNTL {value:#x} is not modelled"));
        }
        let both = (Self::state_of(self.state), after);
        let sample = new.is_set(State::PERFMON_SAMPLE_ENABLE);
        self.bus.change(both, sample, times.all, times.busy);
        for sequencer in &mut self.sequencers {
            let busy = times.engines.get(sequencer.engine as usize).copied();
            sequencer
                .bank
                .change(both, sample, times.all, busy.unwrap_or(0));
        }
        self.state = value;
        Ok(())
    }

    /// SQ_PERFCOUNTERn_SELECT.
    fn select(
        &mut self,
        n: usize,
        value: u32,
        chosen: Chosen,
        times: &Times,
    ) -> Result<(), Refused> {
        let scheme = self.scheme;
        let number = Value::<Select>::new(value).get(Select::PERF_SEL);
        let (bits, wanted, other) = scheme.select;
        let leads = n % scheme.selects == 0;
        let found = match number {
            0 => Ok(Event::None),
            _ if !leads => undefined(format!(
                "SQ_PERFCOUNTER{n}_SELECT is for streams of samples"
            )),
            _ if value & bits != wanted => {
                undefined(format!("SQ_PERFCOUNTER{n}_SELECT asks for {other}"))
            }
            _ => (scheme.event)(number).map_or_else(
                || undefined(format!("SQ's event {number} is not modelled")),
                Ok,
            ),
        };
        let event = found.as_ref().copied().unwrap_or(Event::None);
        for sequencer in self.sequencers.iter_mut().filter(|s| s.is(chosen)) {
            let busy = times.engines.get(sequencer.engine as usize).copied();
            if let Some(select) = sequencer.bank.selects.get_mut(n) {
                *select = value;
            }
            if leads {
                let at = n / scheme.selects;
                sequencer
                    .bank
                    .choose(at, event, times.all, busy.unwrap_or(0));
            }
        }
        found.map(|_| ())
    }
}

fn undefined<T>(what: String) -> Result<T, Refused> {
    Err(Refused::Undefined(what))
}
