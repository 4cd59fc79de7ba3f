// SPDX-License-Identifier: MIT OR Apache-2.0

//! The counters of one XCC.

use super::super::slot::Slot;
use super::super::waves::Place;
use super::event::{Block, Chosen, Control, Event, Instances, Scheme, BUS};
use super::register::{Counters as Register, Who};
use crate::device::facts::GcShape;
use crate::device::Refused;
use rkfd_hw::regs::gc_9_4_3::CP_PERFMON_CNTL as State;
use rkfd_hw::regs::Value;
use rkfd_isa::Traffic;

/// `CP_PERFMON_STATE` of Linux's `soc24_enum.h`.
mod state {
    pub const RESET: u32 = 0;
    pub const START: u32 = 1;
    pub const STOP: u32 = 2;
}

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

/// What programs the counters of an instance of a block, and they.
struct Bank {
    selects: Vec<u32>,
    counters: Vec<Counter>,
}

impl Bank {
    fn new(block: &Block) -> Self {
        Self {
            selects: vec![0; block.counters * block.selects],
            counters: vec![Counter::IDLE; block.counters],
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

    fn add(&mut self, what: impl Fn(Event) -> u64) {
        for counter in &mut self.counters {
            counter.value += what(counter.event);
        }
    }

    fn choose(&mut self, at: usize, event: Event, all: u64, busy: u64) {
        if let Some(counter) = self.counters.get_mut(at) {
            counter.event = event;
            counter.since = counter.cycles(all, busy).unwrap_or(0);
        }
    }
}

/// An instance of a block.
struct Instance {
    who: Who,
    engine: u32,
    array: u32,
    unit: u32,
    bank: Bank,
}

impl Instance {
    fn all(who: Who, block: &Block, shape: &GcShape) -> Vec<Self> {
        let (engines, arrays, units) = match block.instances {
            Instances::One => (1, 1, 1),
            Instances::Engines => (shape.engines, 1, 1),
            Instances::Units(each) => (
                shape.engines,
                shape.arrays_per_engine,
                shape.cus_per_array.div_ceil(each),
            ),
            Instances::Channels => (1, 1, shape.cache_channels),
        };
        let places = (0..engines).flat_map(|engine| (0..arrays).map(move |array| (engine, array)));
        let places = places.flat_map(|place| (0..units).map(move |unit| (place, unit)));
        let instance = |((engine, array), unit)| Self {
            who,
            engine,
            array,
            unit,
            bank: Bank::new(block),
        };
        places.map(instance).collect()
    }

    /// Its cycles with waves, as far as it has any.
    fn busy(&self, times: &Times) -> u64 {
        let engine = times.engines.get(self.engine as usize);
        match self.who {
            Who::Bus => times.busy,
            _ => engine.copied().unwrap_or(0),
        }
    }

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
    instances: Vec<Instance>,
}

impl Core {
    pub fn new(scheme: &'static Scheme, shape: &GcShape) -> Self {
        let all = [Who::Bus, Who::Sequencer, Who::Vector, Who::Second];
        let instances = all.map(|who| Instance::all(who, block(scheme, who), shape));
        Self {
            scheme,
            shape: *shape,
            index: 0,
            state: 0,
            control: Control::default(),
            instances: instances.into_iter().flatten().collect(),
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

    /// Whether one of its counters counts look-ups in caches.
    pub fn counts_lookups(&self) -> bool {
        let mut all = self.instances.iter().flat_map(|i| &i.bank.counters);
        self.counts() && all.any(|counter| matches!(counter.event, Event::Lookups(_)))
    }

    /// Adds to the counters of the sequencer that a compute unit has.
    pub fn add(&mut self, place: Place, what: impl Fn(Event) -> u64) {
        if self.counts() && (self.scheme.counts)(&self.control, place.array, place.cu) {
            self.add_to(Who::Sequencer, place, what);
        }
    }

    /// Adds what a compute unit has asked of caches.
    pub fn add_traffic(&mut self, place: Place, traffic: &Traffic) {
        if !self.counts() {
            return;
        }
        let vector = traffic.vector();
        self.add_to(Who::Vector, place, |event| event.of_lookups(vector));
        let channels = self.instances.iter_mut().filter(|i| i.who == Who::Second);
        for (channel, lookups) in channels.zip(traffic.channels()) {
            channel.bank.add(|event| event.of_lookups(lookups));
        }
    }

    fn add_to(&mut self, who: Who, place: Place, what: impl Fn(Event) -> u64) {
        let own = match block(self.scheme, who).instances {
            Instances::Units(each) => (place.engine, place.array, place.cu / each),
            Instances::Engines => (place.engine, 0, 0),
            Instances::One | Instances::Channels => (0, 0, 0),
        };
        let mut all = self.instances.iter_mut().filter(|i| i.who == who);
        if let Some(instance) = all.find(|i| (i.engine, i.array, i.unit) == own) {
            instance.bank.add(what);
        }
    }

    /// A register's value, by GRBM_GFX_INDEX.
    pub fn read(&self, register: Register, index: u32) -> u32 {
        let bank = |who| {
            let chosen = (block(self.scheme, who).chosen)(index);
            let mut all = self.instances.iter();
            let found = all.find(|i| i.who == who && i.is(chosen));
            found.map(|i| &i.bank)
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

    /// Writes a register, by GRBM_GFX_INDEX.
    ///
    /// # Errors
    /// The register can't be written, or the value has no meaning that is modelled.
    pub fn write(
        &mut self,
        register: Register,
        value: u32,
        index: u32,
        times: &Times,
    ) -> Result<(), Refused> {
        match register {
            Register::State => return self.change(value, times),
            Register::Control => self.control.control = value,
            Register::Second => self.control.second = value,
            Register::Mask => self.control.mask = value,
            Register::Value(..) => return Err(Refused::ReadOnly),
            Register::Select(who, n) => return self.select((who, n), value, index, times),
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
        for instance in &mut self.instances {
            let busy = instance.busy(times);
            instance.bank.change(both, sample, times.all, busy);
        }
        self.state = value;
        Ok(())
    }

    /// A SELECT register.
    fn select(
        &mut self,
        (who, n): (Who, usize),
        value: u32,
        index: u32,
        times: &Times,
    ) -> Result<(), Refused> {
        let block = block(self.scheme, who);
        let (name, number, chosen) = (block.name, (block.number)(value), (block.chosen)(index));
        let (bits, wanted, other) = block.select;
        let leads = n % block.selects == 0;
        let found = match (block.event)(number) {
            // What a select holds after a reset: nothing is counted, but by the bus, whose event 0 is cycles.
            None if number == 0 => Ok(Event::None),
            _ if !leads => undefined(format!(
                "{name}_PERFCOUNTER{n}_SELECT is for streams of samples"
            )),
            _ if value & bits != wanted => {
                undefined(format!("{name}_PERFCOUNTER{n}_SELECT asks for {other}"))
            }
            None => undefined(format!("{name}'s event {number} is not modelled")),
            Some(event) => Ok(event),
        };
        let event = found.as_ref().copied().unwrap_or(Event::None);
        let all = self.instances.iter_mut();
        for instance in all.filter(|i| i.who == who && i.is(chosen)) {
            let busy = instance.busy(times);
            if let Some(select) = instance.bank.selects.get_mut(n) {
                *select = value;
            }
            if leads {
                let at = n / block.selects;
                instance.bank.choose(at, event, times.all, busy);
            }
        }
        found.map(|_| ())
    }
}

/// A block's counters.
fn block(scheme: &'static Scheme, who: Who) -> &'static Block {
    match who {
        Who::Bus => &BUS,
        Who::Sequencer => &scheme.sequencer,
        Who::Vector => &scheme.vector,
        Who::Second => &scheme.second,
    }
}

fn undefined<T>(what: String) -> Result<T, Refused> {
    Err(Refused::Undefined(what))
}
