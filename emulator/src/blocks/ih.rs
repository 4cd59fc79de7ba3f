// SPDX-License-Identifier: MIT OR Apache-2.0

//! The interrupt handler (IH 4.4.2 and 7.0): entries into a ring, the write pointer to memory, MSI.
//!
//! Sources: Linux, `amdgpu/vega20_ih.c`, `amdgpu/ih_v7_0.c`, `asic_reg/oss/osssys_4_4_2_sh_mask.h`;
//! the fields used here are the same in 7.0.
//!
//! With `RPTR_REARM` (set for MSI) one message is sent, and the next only after the driver has
//! moved the read pointer; if entries are left then, it is sent at once. The read pointer comes by
//! register or by doorbell; the doorbell is looked at by [`Interrupts::poll`], which whoever polls
//! doorbells calls too.
//!
//! What the driver has routed there goes to ring 1, which raises no message: an entry in ring 0 (client IH, ring 1)
//! tells of it, and the next only after the driver has moved ring 1's read pointer.

use crate::device::doorbell::Doorbells;
use crate::device::interrupt::Interrupt;
use crate::memory::walk::{Access, Place};
use crate::memory::{Hub, Memory, Space};
use crate::pause::Pause;
use crate::report::Report;
use crate::rules::{Effect, Event, Kind, Rules};
use crate::trace::{Trace, Value};
use ring::Ring;
pub use ring::Which;
use rkfd_hw::ih::{client, Entry, ENTRY_SIZE};
use rkfd_hw::regs::osssys_4_4_2::{IH_CHICKEN, IH_DOORBELL_RPTR, IH_RB_CNTL};
use rkfd_hw::regs::osssys_7_0_0::IH_RING1_CLIENT_CFG_DATA as Route;
use rkfd_hw::regs::Value as Contents;
use rkfd_hw::value::Bounded;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod ring;

/// Routes to ring 1: their index has 3 bits.
const ROUTES: usize = 8;

/// The way to the rings.
pub struct Interrupts {
    memory: Arc<Memory>,
    doorbells: Arc<Doorbells>,
    report: Arc<Report>,
    trace: Arc<Trace>,
    rules: Arc<Rules>,
    pause: Arc<Pause>,
    /// The number of each XCC's die.
    nodes: &'static [u8],
    zero: Mutex<Ring>,
    one: Mutex<Ring>,
    /// `IH_CHICKEN`.
    chicken: AtomicU32,
    /// Whether what tells of ring 1 has its present write pointer.
    is_fresh: AtomicBool,
    /// Whether entries have a time without RB_GPU_TS_ENABLE.
    has_times: AtomicBool,
    /// The write pointer of ring 1 that was last told.
    told: AtomicU32,
    /// Which interrupts go to ring 1 (`IH_RING1_CLIENT_CFG_DATA`, by its index); 0 is none.
    routes: Mutex<[u32; ROUTES]>,
    /// The event that makes QEMU send the message.
    msi: Mutex<Option<File>>,
}

impl Interrupts {
    /// The handler, disabled.
    pub fn new(
        memory: Arc<Memory>,
        doorbells: Arc<Doorbells>,
        report: Arc<Report>,
        trace: Arc<Trace>,
        (rules, pause): (Arc<Rules>, Arc<Pause>),
        nodes: &'static [u8],
    ) -> Self {
        Self {
            memory,
            doorbells,
            report,
            trace,
            rules,
            pause,
            nodes,
            zero: Mutex::default(),
            one: Mutex::default(),
            chicken: AtomicU32::new(0),
            is_fresh: AtomicBool::new(true),
            has_times: AtomicBool::new(true),
            told: AtomicU32::new(0),
            routes: Mutex::default(),
            msi: Mutex::new(None),
        }
    }

    /// A ring's registers, locked.
    pub fn ring(&self, which: Which) -> MutexGuard<'_, Ring> {
        let ring = match which {
            Which::Zero => &self.zero,
            Which::One => &self.one,
        };
        ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a ring takes entries.
    pub fn is_on(&self) -> bool {
        [Which::Zero, Which::One]
            .iter()
            .any(|&which| self.ring(which).has(IH_RB_CNTL::RB_ENABLE))
    }

    /// `IH_CHICKEN`.
    pub fn chicken(&self) -> u32 {
        self.chicken.load(Ordering::Acquire)
    }

    /// Sets `IH_CHICKEN`.
    pub fn set_chicken(&self, value: u32) {
        self.chicken.store(value, Ordering::Release);
    }

    /// From now on what tells of ring 1 has its present write pointer, or that of the time before
    /// (`SELF_IV_FORCE_WPTR_UPDATE_ENABLE`).
    pub fn tell_present(&self, on: bool) {
        self.is_fresh.store(on, Ordering::Release);
    }

    /// From now on entries have a time whatever their ring's registers say, or only with RB_GPU_TS_ENABLE.
    pub fn always_tell_time(&self, on: bool) {
        self.has_times.store(on, Ordering::Release);
    }

    /// A route to ring 1.
    pub fn route(&self, n: usize) -> u32 {
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        routes.get(n).copied().unwrap_or(0)
    }

    /// Sets a route to ring 1.
    pub fn set_route(&self, n: usize, value: u32) {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(route) = routes.get_mut(n) {
            *route = value;
        }
    }

    /// Sets the routes to ring 1 that there are at start-up: the first, or none.
    pub fn start_routes(&self, first: u32) {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        *routes = Default::default();
        let [route, ..] = &mut *routes;
        *route = first;
    }

    /// Whether an interrupt goes to ring 1.
    fn goes_to_ring_1(&self, what: &Interrupt) -> bool {
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        routes.iter().filter(|route| **route != 0).any(|&route| {
            let route = Contents::new(route);
            let any_source = route.get(Route::SOURCE_ID_MATCH_ENABLE) == 0;
            route.get(Route::CLIENT_ID) == u32::from(what.client)
                && (any_source || route.get(Route::SOURCE_ID) == u32::from(what.source))
        })
    }

    /// Connects the event that sends the message, or disconnects it.
    /// Entries that wait without a message get one.
    pub fn set_msi(&self, event: Option<File>) {
        *self.msi.lock().unwrap_or_else(PoisonError::into_inner) = event;
        let ring = self.ring(Which::Zero);
        if !ring.sent {
            self.settle(Which::Zero, ring);
        }
    }

    /// Connects a ring's read pointer to a doorbell (`IH_DOORBELL_RPTR`). What it was rung with before
    /// was for nobody.
    pub fn set_doorbell(&self, which: Which, value: u32) {
        let mut ring = self.ring(which);
        ring.doorbell = value;
        ring.rung = 0;
        if Contents::new(value).get(IH_DOORBELL_RPTR::ENABLE) != 0 {
            self.doorbells
                .store_u32(Contents::new(value).get(IH_DOORBELL_RPTR::OFFSET), 0);
        }
    }

    /// Raises an interrupt. `pasid` is the process of the VMID by the handler's table, `now` the
    /// device's time. While the ring is disabled it is lost. Waits while the device stands still: for an engine, which
    /// holds no lock.
    pub fn raise(&self, what: &Interrupt, pasid: u16, now: u64) {
        self.trace_entry(what, pasid);
        let which = match self.goes_to_ring_1(what) {
            true => Which::One,
            false => Which::Zero,
        };
        if self.room(which).is_none() {
            // Without ring 0 no interrupt is wanted.
            if which == Which::One && self.ring(Which::Zero).has(IH_RB_CNTL::RB_ENABLE) {
                self.report.violation(format_args!(
                    "interrupt of client {:#x}, source {:#x} is routed to ring 1, which is off: it is lost",
                    what.client, what.source
                ));
            }
            return;
        }
        let has_time = self.has_times.load(Ordering::Acquire)
            || self.ring(which).has(IH_RB_CNTL::RB_GPU_TS_ENABLE);
        let time = if has_time { now } else { 0 };
        let entry = Entry::zeroed()
            .with(Entry::CLIENT_ID, what.client)
            .with(Entry::SOURCE_ID, what.source)
            .with(Entry::RING_ID, what.ring_id)
            .with(Entry::VMID, Bounded::low_bits_of(what.vmid.into()))
            .with(Entry::VMID_SRC, matches!(what.hub, Hub::Mm(_)))
            .with(Entry::TIMESTAMP, Bounded::low_bits_of(time))
            .with(Entry::PASID, pasid)
            .with(Entry::NODE_ID, self.node(what.hub));
        let mut words = entry.0;
        for (word, data) in words.iter_mut().skip(4).zip(what.data) {
            *word = data;
        }
        let keys = [
            ("client", what.client.into()),
            ("source", what.source.into()),
            ("vmid", what.vmid.into()),
            ("pasid", pasid.into()),
        ];
        let event = Event::of(Kind::IhEntry).with(&keys);
        let effect = self.rules.ask(&event);
        self.pause.at(&event);
        // The driver may have taken the ring away meanwhile.
        let Some((mut ring, size)) = self.room(which) else {
            return;
        };
        ring.time = now;
        let count = match effect {
            Some(Effect::Drop) => 0,
            Some(Effect::Twice) => 2,
            Some(Effect::Storm(count)) => count,
            Some(Effect::Overflow) => size / ENTRY_SIZE as u32 + 1,
            Some(Effect::Garbage) => {
                words = words.map(|word| !word);
                1
            }
            _ => 1,
        };
        (0..count).all(|_| self.put(which, &mut ring, size, &words));
        drop(ring);
        if which == Which::One {
            self.tell();
        }
    }

    /// Has an entry in ring 0 tell of those in ring 1, unless one did since the driver moved the read pointer. It is
    /// the handler's own, and no rule is asked.
    fn tell(&self) {
        let (wptr, now) = {
            let mut ring = self.ring(Which::One);
            if ring.sent || !ring.has_entries() {
                return;
            }
            ring.sent = true;
            (ring.wptr, ring.time)
        };
        let before = self.told.swap(wptr, Ordering::AcqRel);
        let wptr = match self.is_fresh.load(Ordering::Acquire) {
            true => wptr,
            false => before,
        };
        let entry = Entry::zeroed()
            .with(Entry::CLIENT_ID, client::IH)
            .with(Entry::RING_ID, 1u8)
            .with(Entry::TIMESTAMP, Bounded::low_bits_of(now))
            .with(Entry::DATA_0, wptr);
        let told = self
            .room(Which::Zero)
            .is_some_and(|(mut ring, size)| self.put(Which::Zero, &mut ring, size, &entry.0));
        // If it was, the driver may have moved the read pointer by now, and is to be told of what comes next.
        if !told {
            self.ring(Which::One).sent = false;
        }
    }

    /// A ring and its size, if it is enabled.
    fn room(&self, which: Which) -> Option<(MutexGuard<'_, Ring>, u32)> {
        self.read_doorbell(which);
        let ring = self.ring(which);
        if !ring.has(IH_RB_CNTL::RB_ENABLE) {
            return None;
        }
        let Some(size) = ring.size() else {
            let field = Contents::new(ring.cntl).get(IH_RB_CNTL::RB_SIZE);
            self.report
                .violation(format_args!("interrupt into a ring with RB_SIZE {field}"));
            return None;
        };
        Some((ring, size))
    }

    /// Puts an entry into a ring; `false` if nothing more can be.
    fn put(&self, which: Which, ring: &mut Ring, size: u32, words: &[u32]) -> bool {
        let at = ring.offset() % size;
        let next = (at + ENTRY_SIZE as u32) % size;
        let full = next == ring.rptr % size;
        if full && !ring.has(IH_RB_CNTL::WPTR_OVERFLOW_ENABLE) {
            self.trace.event("ih_full", &[]);
            return false;
        }
        if !self.store(ring, ring.address() + u64::from(at), words) {
            return false;
        }
        ring.lost |= full;
        let overflow = ring.wptr & 1 | u32::from(full);
        ring.wptr = next | overflow;
        self.trace.event(
            "ih_write",
            &[
                ("ring", Value::Hex(ring.address())),
                ("bytes", Value::Num(size.into())),
                ("at", Value::Num(at.into())),
                ("rptr", Value::Num(ring.rptr.into())),
                ("wptr", Value::Num(ring.wptr.into())),
                ("words", Value::Words(words)),
            ],
        );
        if which == Which::One {
            // It has no write-back, and raises no message.
            return true;
        }
        if ring.has(IH_RB_CNTL::WPTR_WRITEBACK_ENABLE)
            && !self.store(ring, ring.pointer_address(), &[ring.wptr])
        {
            return false;
        }
        self.message(ring);
        true
    }

    /// Looks at the read pointers' doorbells: call it as often as other doorbells are looked at.
    pub fn poll(&self) {
        self.read_doorbell(Which::Zero);
        self.read_doorbell(Which::One);
    }

    /// Acts on a read pointer that the driver wrote: told again if entries are left.
    fn settle(&self, which: Which, mut ring: MutexGuard<'_, Ring>) {
        ring.sent = false;
        match which {
            Which::Zero if ring.has_entries() => self.message(&mut ring),
            Which::Zero => {}
            Which::One => {
                drop(ring);
                self.tell();
            }
        }
    }

    /// Start-up state of the rings. The connection to the host stays.
    pub fn reset(&self) {
        *self.ring(Which::Zero) = Ring::default();
        *self.ring(Which::One) = Ring::default();
        self.set_chicken(0);
        self.told.store(0, Ordering::Release);
    }

    /// Another driver's rings were here, and are off. Ring 0 may have overflowed at last.
    pub fn leave_rings(&self, overflowed: bool) {
        for which in [Which::Zero, Which::One] {
            let mut ring = self.ring(which);
            (ring.base, ring.base_hi) = (0x0123_4000, 1);
            (ring.rptr, ring.wptr) = (0x340, 0x340);
        }
        let mut ring = self.ring(Which::Zero);
        ring.wptr |= u32::from(overflowed);
        ring.wptr_addr = [0x5678_9000, 1];
    }

    /// Sends the message, if the ring may.
    fn message(&self, ring: &mut Ring) {
        if !ring.has(IH_RB_CNTL::ENABLE_INTR) || (ring.has(IH_RB_CNTL::RPTR_REARM) && ring.sent) {
            return;
        }
        let msi = self.msi.lock().unwrap_or_else(PoisonError::into_inner);
        ring.sent = msi
            .as_ref()
            .is_some_and(|mut event| event.write_all(&1u64.to_ne_bytes()).is_ok());
        self.trace
            .event("msi", &[("sent", Value::Num(ring.sent.into()))]);
    }

    /// Takes a read pointer that came by doorbell.
    fn read_doorbell(&self, which: Which) {
        let mut ring = self.ring(which);
        if Contents::new(ring.doorbell).get(IH_DOORBELL_RPTR::ENABLE) == 0 {
            return;
        }
        if !self.doorbells.is_enabled() {
            // Disabling clears the doorbells.
            ring.rung = 0;
            return;
        }
        let index = Contents::new(ring.doorbell).get(IH_DOORBELL_RPTR::OFFSET);
        let rung = self.doorbells.load_u32(index);
        if rung == ring.rung {
            return;
        }
        ring.rung = rung;
        // The range that Linux opens on NBIF 6.3.1 ends before ring 1's doorbell; that it arrives all the same is
        // assumed.
        if which == Which::Zero && !self.doorbells.reaches_ih(index) {
            self.report.violation(format_args!(
                "doorbell {index:#x} of the IH ring is not routed to it"
            ));
            return;
        }
        self.take_rptr(which, ring, rung);
    }

    /// Takes a read pointer that was written to the register.
    pub fn set_rptr(&self, which: Which, rptr: u32) {
        self.take_rptr(which, self.ring(which), rptr);
    }

    /// Takes a read pointer. The ring stays locked since it was looked at: of two threads that look at the doorbell the
    /// later one has the last word.
    fn take_rptr(&self, which: Which, mut ring: MutexGuard<'_, Ring>, rptr: u32) {
        if !ring.has_place(rptr) {
            self.report.violation(format_args!(
                "IH read pointer {rptr:#x} outside the ring or inside an entry"
            ));
            return;
        }
        if !ring.covers(rptr) {
            self.report.violation(format_args!(
                "IH read pointer {rptr:#x} is beyond the write pointer {:#x}: the driver took entries that weren't written",
                ring.offset()
            ));
        }
        ring.lost &= rptr != ring.offset();
        ring.rptr = rptr;
        self.settle(which, ring);
    }

    /// The number of the die that a hub is on. Those of base dies are multiples of 4 (`AID1_NODEID` and so on in
    /// `amdgpu/amdgpu_irq.h`).
    fn node(&self, hub: Hub) -> u8 {
        match hub {
            Hub::Gfx(xcc) => self.nodes.get(usize::from(xcc)).copied().unwrap_or(0),
            Hub::Mm(die) => die * 4,
        }
    }

    /// Stores words in the memory space of the ring.
    fn store(&self, ring: &Ring, address: u64, words: &[u32]) -> bool {
        let vmid = Contents::new(ring.cntl).get(IH_RB_CNTL::MC_VMID) as u8;
        match Contents::new(ring.cntl).get(IH_RB_CNTL::MC_SPACE) {
            // Bus address. The chip takes it for one only if IH_CHICKEN allows it.
            1 if Contents::new(self.chicken()).get(IH_CHICKEN::MC_SPACE_GPA_ENABLE) != 0 => {
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                let bus = &self.memory.bus;
                if !ring.has(IH_RB_CNTL::MC_SNOOP) && bus.needs_snoop(address) {
                    self.is_stale("IH_RB_CNTL.MC_SNOOP is 0");
                }
                self.passes_bridge(address);
                let page = self.memory.bus.page(address);
                page.is_some_and(|page| {
                    page.write((address % crate::memory::PAGE) as usize, &bytes)
                })
            }
            4 => self.store_virtual(self.memory.space(Hub::Mm(0), vmid), address, words),
            space => {
                self.report.violation(format_args!(
                    "IH ring in memory space {space} without IH_CHICKEN for it"
                ));
                false
            }
        }
    }

    /// The bridge lets what goes to system memory snoop, if it is told so.
    fn passes_bridge(&self, address: u64) {
        let bus = &self.memory.bus;
        if !bus.interrupts_snoop() && bus.needs_snoop(address) {
            self.is_stale("INTERRUPT_CNTL.IH_REQ_NONSNOOP_EN is 1");
        }
    }

    fn is_stale(&self, why: &str) {
        self.report.violation(format_args!(
            "{why}: the host's processors may still have old entries of the ring in system memory in \
             their caches"
        ));
    }

    fn store_virtual(&self, space: Space<'_>, address: u64, words: &[u32]) -> bool {
        if let (_, Ok(found)) = space.look(address) {
            let place = found.place.plus(address.wrapping_sub(found.start));
            if let Place::Bus(at) = place {
                self.passes_bridge(at);
            }
        }
        let [word] = words else {
            let done = space.write_words(address, words);
            return self.stored(done);
        };
        let done = space
            .page(address, Access::Write)
            .and_then(|_| space.store_u32(address, *word));
        self.stored(done)
    }

    fn stored(&self, done: Result<(), crate::memory::VmFault>) -> bool {
        if let Err(fault) = done {
            self.report
                .violation(format_args!("IH ring or write pointer: {fault}"));
        }
        done.is_ok()
    }

    fn trace_entry(&self, what: &Interrupt, pasid: u16) {
        self.trace.event(
            "interrupt",
            &[
                ("client", Value::Num(what.client.into())),
                ("source", Value::Num(what.source.into())),
                ("ring_id", Value::Num(what.ring_id.into())),
                ("vmid", Value::Num(what.vmid.into())),
                ("pasid", Value::Num(pasid.into())),
                ("data", Value::Words(&what.data)),
            ],
        );
    }
}
