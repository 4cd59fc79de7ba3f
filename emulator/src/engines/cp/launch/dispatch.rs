// SPDX-License-Identifier: MIT OR Apache-2.0

//! A kernel dispatch, or an XCC's share of it, while it runs: workgroups not yet started, started ones that had to wait,
//! and how a worker's turn on it goes.
//!
//! As on the chip, more workgroups are resident than run at a time: one that used up its slice goes
//! to the back of the line and a new one starts, as long as the compute units' wave slots last; so
//! workgroups that wait for each other make progress. Each dispatch is given all of the wave slots.

mod residents;
pub(crate) mod saving;
mod seats;

use super::group::Group;
use super::gws::Gws;
use super::limits::Limits;
use super::room::{self, Room};
use super::saved::SavedGroup;
use super::share::Share;
use super::state::Seen;
use super::window::{Failure, Notice, Seats, Window};
use crate::device::facts::GcShape;
use crate::device::views::Groups;
use crate::device::Env;
use crate::engines::cp::front::counters::Counters;
use crate::engines::cp::front::debug::Debugged;
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::front::waves::{Allowed, Registers, Taken, WaveSlots, WaveState};
use crate::memory::{Hub, Memory};
use crate::rules::{Event, Kind};
use crate::trace::Value;
use residents::NoGroup;
use rkfd_isa::{ComputeUnit, Fault, Kernel, Outcome, Target};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Instructions of a worker's turn.
pub const TURN: u64 = 1 << 16;
/// Instructions of a workgroup's slice in a turn.
const SLICE: u64 = 1 << 14;
/// Notices that wait for the packet processor before no workgroup of their dispatch gets another slice: as on the chip,
/// where a wave's message waits in the sequencer while the interrupt handler takes none.
const NOTICES: usize = 1024;

/// Scratch memory that a queue provides.
#[derive(Clone, Copy, Default, Debug)]
pub struct ScratchArea {
    /// GPU address.
    pub base: u64,
    /// Bytes of a wave.
    pub wave_size: u64,
    /// Waves that it is large enough for.
    pub waves: u32,
}

/// What a dispatch has of its queue.
pub struct FromQueue {
    /// The XCC on which it runs, and its part of the work-groups.
    pub share: Share,
    /// Where its waves may be.
    pub(crate) seats: Seats,
    /// What its debugger has chosen.
    pub(crate) debugged: Debugged,
    /// The VMID of the process now.
    pub vmid: u8,
    /// Scratch memory.
    pub scratch: ScratchArea,
    /// What is left of the save area.
    pub room: Arc<Room>,
    /// Semaphores and barriers.
    pub(crate) gws: Option<Arc<Gws>>,
    /// Whose dispatches come first: 2 is high, 0 low.
    pub priority: u32,
}

/// How far the dispatch may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Go {
    /// On.
    Run = 0,
    /// Stops where it is, and may go on later.
    Pause = 1,
    /// No workgroup starts any more; those that did go on.
    Finish = 3,
    /// Only those go on whose waves are being saved or loaded.
    Settle = 4,
    /// No workgroup starts any more; those that did have been asked to save themselves.
    Save = 5,
    /// Stops for ever.
    Kill = 2,
}

/// A dispatch.
pub struct Dispatch {
    env: Arc<dyn Env>,
    target: &'static Target,
    /// Shader engines, which have equal parts of the scratch memory.
    engines: u32,
    kernel: Kernel,
    params: rkfd_isa::Dispatch,
    preloaded: Vec<u32>,
    /// The VMID of the process now; the waves know only its tag.
    pub vmid: AtomicU8,
    share: Share,
    slots: Arc<WaveSlots>,
    counters: Arc<Counters>,
    /// Whether its queue enables them.
    counted: bool,
    registers: &'static Registers,
    debugged: Debugged,
    /// Workgroups in each dimension, of all XCCs.
    pub groups: [u32; 3],
    /// Workgroups of its share.
    pub total: u64,
    waves_per_group: u32,
    next: AtomicU64,
    finished: AtomicU64,
    go: AtomicU8,
    /// It ran since it was launched or went on.
    had_turn: AtomicBool,
    /// Workers that have a turn on it, or wait for one.
    tickets: AtomicU32,
    inner: Mutex<Inner>,
    scratch: ScratchArea,
    limits: Limits,
    /// What is left of the queue's save area, and words of it that a workgroup takes. Those of one
    /// are taken as long as the dispatch is there.
    room: Arc<Room>,
    words: u64,
    gws: Option<Arc<Gws>>,
    /// The device's time when the packet processor launched it.
    pub started: u64,
    /// Of its queue: whose dispatches come first.
    pub priority: u32,
    /// Who looks into the device knows of it.
    is_shown: AtomicBool,
}

struct Inner {
    waiting: VecDeque<(Group, u32)>,
    /// How many of them, from the front, were about to run when the device came to stand still.
    held: usize,
    /// Those that a halted wave holds.
    halted: Vec<(Group, u32)>,
    /// Those that were saved and are to be launched again, and those that were and are not.
    coming: VecDeque<SavedGroup>,
    saved: Vec<SavedGroup>,
    resident: u32,
    free: Vec<u32>,
    /// The slots of the waves of those that are resident, as far as there were any.
    slots: HashMap<u32, Arc<Taken>>,
    /// What those were that workers run when their turn began.
    running: Vec<(u32, Vec<Option<WaveState>>)>,
    slot: Slot,
    /// The compute units that its queue allows, and how many work-groups they hold.
    allowed: Allowed,
    most: u32,
    failure: Option<Failure>,
    counts: Counts,
    notices: Vec<Notice>,
}

/// How far a dispatch got: next workgroup, those that have ended, [`Counts`], and when it began.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Progress(pub [u64; 6]);

/// What was executed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Workgroups that have ended.
    pub workgroups: u64,
    /// Waves that were started.
    pub waves: u64,
    /// Instructions, each once for a whole wave.
    pub instructions: u64,
}

impl Dispatch {
    /// A dispatch of which nothing runs yet. `params.vmid` is the process's tag.
    pub fn new(
        env: Arc<dyn Env>,
        target: &'static Target,
        shape: &GcShape,
        kernel: Kernel,
        params: rkfd_isa::Dispatch,
        preloaded: Vec<u32>,
        queue: FromQueue,
    ) -> Arc<Self> {
        let FromQueue {
            share,
            seats,
            debugged,
            vmid,
            scratch,
            room,
            gws,
            priority,
        } = queue;
        let mut groups = [0; 3];
        for (n, group) in groups.iter_mut().enumerate() {
            let size = u32::from(params.workgroup_size.get(n).copied().unwrap_or(1).max(1));
            *group = params.grid_size.get(n).copied().unwrap_or(1).div_ceil(size);
        }
        let items: u32 = params
            .workgroup_size
            .iter()
            .map(|&n| u32::from(n))
            .product();
        let waves_per_group = items.div_ceil(kernel.lanes.max(1)).max(1);
        let needs_scratch = params.private_segment_size > 0;
        let limits = Limits::new(
            shape,
            waves_per_group,
            params.group_segment_size,
            needs_scratch.then_some(scratch.waves),
        );
        let places = limits.of(shape.active_cus());
        let mut inner = Inner::new(places, seats.hqd, seats.allowed);
        inner.most = limits.of(seats.slots.count_of(seats.allowed));
        let started = env.clock().now();
        let words = room::words(
            target,
            waves_per_group.into(),
            kernel.lanes.into(),
            kernel.vgprs.max(1).into(),
            params.group_segment_size.next_multiple_of(512).into(),
        );
        let words = if room.take(words) { words } else { 0 };
        Arc::new(Self {
            env,
            target,
            engines: shape.engines.max(1),
            kernel,
            params,
            preloaded,
            vmid: AtomicU8::new(vmid),
            share,
            slots: seats.slots,
            counters: seats.counters,
            counted: seats.counted,
            registers: seats.registers,
            debugged,
            groups,
            // More than can ever be counted to is as good as endless.
            total: share.count(
                groups
                    .iter()
                    .fold(1, |n: u64, &size| n.saturating_mul(size.into())),
            ),
            waves_per_group,
            next: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            go: AtomicU8::new(Go::Run as u8),
            had_turn: AtomicBool::new(false),
            tickets: AtomicU32::new(0),
            inner: Mutex::new(inner),
            scratch,
            limits,
            room,
            words,
            gws,
            started,
            priority,
            is_shown: AtomicBool::new(false),
        })
    }

    /// Lets it be looked into from now on. Who restores one is its only owner until then.
    pub(super) fn show(self: &Arc<Self>) {
        if !self.is_shown.swap(true, Ordering::AcqRel) {
            let groups: Weak<dyn Groups> = Arc::downgrade(self) as _;
            self.env.views().show_groups(groups);
        }
    }

    /// What its instructions are those of.
    pub(super) fn target(&self) -> &'static Target {
        self.target
    }

    /// Its queue is on an HQD from now on, which allows these compute units.
    pub(crate) fn move_to(&self, slot: Slot, allowed: Allowed) {
        let mut inner = self.lock();
        (inner.slot, inner.allowed) = (slot, allowed);
        inner.most = self.limits.of(self.slots.count_of(allowed));
    }

    /// The HQD that its queue is on.
    pub(super) fn slot(&self) -> Slot {
        self.lock().slot
    }

    /// What is shown of each work-group that has begun and that no worker runs at the moment.
    pub(super) fn with_groups<T>(&self, show: impl Fn(&Group) -> T) -> Vec<T> {
        let inner = self.lock();
        let all = inner.waiting.iter().chain(&inner.halted);
        all.map(|(group, _)| show(group)).collect()
    }

    /// What is seen of a work-group that has begun and not ended, and what has stopped the dispatch.
    pub(super) fn with_group<T>(
        &self,
        place: u32,
        show: impl Fn(Seen<'_>, Option<&Fault>) -> T,
    ) -> Option<T> {
        let inner = self.lock();
        let failure = inner.failure.as_ref().map(|failure| &failure.fault);
        if let Some(group) = inner.resting(place) {
            return Some(show(Seen::Resting(group), failure));
        }
        let mut running = inner.running.iter();
        let (_, states) = running.find(|(other, _)| *other == place)?;
        Some(show(Seen::Running(states), failure))
    }

    /// The memory that its waves reach.
    pub(super) fn memory(&self) -> &Memory {
        self.env.memory()
    }

    /// The XCC that it runs on.
    pub fn xcc(&self) -> u8 {
        self.share.xcc
    }

    /// Makes the workers run it, pause or end.
    pub fn set(&self, go: Go) {
        self.go.store(go as u8, Ordering::Release);
    }

    /// Goes on after a pause.
    pub(crate) fn begin(&self) {
        self.had_turn.store(false, Ordering::Release);
        let inner = &mut *self.lock();
        inner.waiting.extend(inner.halted.drain(..));
        inner.coming.extend(inner.saved.drain(..));
        self.set(Go::Run);
    }

    /// Whether a worker has run some of it since it was launched or went on.
    pub(crate) fn had_turn(&self) -> bool {
        self.had_turn.load(Ordering::Acquire)
    }

    /// Whether all workgroups have ended.
    pub fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire) == self.total
    }

    /// Whether no worker is on it.
    pub fn is_idle(&self) -> bool {
        self.tickets.load(Ordering::Acquire) == 0
    }

    /// What stopped it.
    pub fn failure(&self) -> Option<Failure> {
        self.lock().failure.clone()
    }

    /// What was executed so far.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// What shaders have reported since the last call.
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.lock().notices)
    }

    /// Whether it stands still until the packet processor has taken what its shaders have reported.
    pub(crate) fn is_stalled(&self) -> bool {
        self.lock().notices.len() >= NOTICES
    }

    /// Waves of a whole workgroup.
    pub fn waves_per_group(&self) -> u32 {
        self.waves_per_group
    }

    /// Counts `n` workers that are about to get a turn.
    pub(crate) fn add_tickets(&self, n: u32) {
        self.tickets.fetch_add(n, Ordering::AcqRel);
    }

    /// A worker leaves; true for the last one.
    pub(crate) fn drop_ticket(&self) -> bool {
        self.tickets.fetch_sub(1, Ordering::AcqRel) == 1
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is(&self, go: Go) -> bool {
        self.go.load(Ordering::Acquire) == go as u8
    }

    fn may_run(&self) -> bool {
        !self.is(Go::Pause) && !self.is(Go::Kill)
    }

    /// One turn of a worker, that of a compute unit of this number; false when it finds nothing more to do here.
    pub(crate) fn turn(self: &Arc<Self>, unit: usize, cu: &mut ComputeUnit) -> bool {
        let vmid = self.vmid.load(Ordering::Acquire);
        let mut window = Window {
            env: &*self.env,
            watches: self.debugged.watches(vmid, self.share.xcc),
            hub: Hub::Gfx(self.share.xcc),
            vmid: &self.vmid,
            gws: self.gws.as_deref(),
            seat: None,
            fault: None,
            notices: Vec::new(),
        };
        let before = cu.statistics();
        let begin = self.env.trace().now();
        let mut left = TURN;
        let mut more = true;
        while left > 0 && self.may_run() {
            if self.is_stalled() {
                self.env.pause().hold();
                break;
            }
            let (mut group, place) = match self.next_group(cu) {
                Some(Ok(next)) => next,
                Some(Err(NoGroup::Still)) => {
                    self.env.pause().hold();
                    continue;
                }
                Some(Err(NoGroup::Failed)) | None => {
                    more = false;
                    break;
                }
            };
            if self.env.pause().stands() {
                self.hold(group, place);
                continue;
            }
            window.seat = self.seat_of(place);
            let done = cu.statistics().instructions;
            let steps = self.env.pause().steps();
            let slice = if steps { 1 } else { left.min(SLICE) };
            self.begin_count(cu);
            let outcome = group.run(cu, &mut window, slice);
            self.end_count(cu, window.seat.as_ref());
            // To come back from memory alone is no progress.
            if !group.is_moving() {
                self.had_turn.store(true, Ordering::Release);
            }
            // A turn ends even if a workgroup does nothing but wait.
            left = left.saturating_sub((cu.statistics().instructions - done).max(16));
            let mut inner = self.lock();
            inner.notices.append(&mut window.notices);
            inner.rests(place);
            match outcome {
                Outcome::Done if group.saved(place).is_some() => {
                    inner.slots.remove(&place);
                    match self.is(Go::Save) {
                        true => inner.saved.extend(group.saved(place)),
                        false => inner.coming.extend(group.saved(place)),
                    }
                    drop(inner);
                    group.retire(cu);
                }
                Outcome::Done => {
                    inner.resident -= 1;
                    if inner.resident > 0 {
                        self.room.give(self.words);
                    }
                    inner.free.push(place);
                    inner.slots.remove(&place);
                    inner.counts.workgroups += 1;
                    self.finished.fetch_add(1, Ordering::AcqRel);
                    drop(inner);
                    group.retire(cu);
                }
                Outcome::Budget if group.is_halted() => inner.halted.push((group, place)),
                Outcome::Budget if steps => {
                    inner.waiting.push_front((group, place));
                    inner.held += 1;
                    self.env.pause().stop("one instruction");
                }
                Outcome::Budget => inner.waiting.push_back((group, place)),
                Outcome::Fault(fault) => {
                    inner.waiting.push_back((group, place));
                    let failure = window.failure(fault);
                    inner.failure.get_or_insert(failure);
                    self.set(Go::Kill);
                    more = false;
                    break;
                }
            }
        }
        let after = cu.statistics();
        self.trace_turn(unit, begin, after.instructions - before.instructions);
        let mut inner = self.lock();
        inner.counts.waves += after.waves - before.waves;
        inner.counts.instructions += after.instructions - before.instructions;
        more && self.may_run() && !self.is_finished()
    }

    /// A compute unit has executed so many instructions since then.
    fn trace_turn(&self, unit: usize, begin: u64, instructions: u64) {
        if instructions > 0 {
            let members = [
                ("unit", Value::Num(unit as u64)),
                ("xcc", Value::Num(self.share.xcc.into())),
                ("doorbell", Value::Num(self.params.doorbell.into())),
                ("index", Value::Num(self.params.dispatch_id)),
                ("instructions", Value::Num(instructions)),
                ("begin_ns", Value::Num(begin)),
            ];
            self.env.trace().event("turn", &members);
        }
    }

    /// Keeps a workgroup that is about to run while the device stands still. It is the next one then.
    fn hold(&self, group: Group, place: u32) {
        let mut inner = self.lock();
        inner.rests(place);
        inner.waiting.push_front((group, place));
        inner.held += 1;
        drop(inner);
        self.env.pause().hold();
    }

    /// One that comes back, or that was held, else a new workgroup while there is room, else the one that waits
    /// longest. One that can't be launched ends the dispatch.
    fn next_group(self: &Arc<Self>, cu: &mut ComputeUnit) -> Option<Result<(Group, u32), NoGroup>> {
        let vmid = self.vmid.load(Ordering::Acquire);
        let mut inner = self.lock();
        // Who steps stops the device under this lock: what waits then is seen waiting, by whoever looks.
        if self.env.pause().stands() {
            return Some(Err(NoGroup::Still));
        }
        let failed = || {
            self.set(Go::Kill);
            NoGroup::Failed
        };
        if let Some(saved) = inner.coming.pop_front() {
            drop(inner);
            let group = self.relaunch(cu, &saved).ok_or_else(failed);
            return Some(group.inspect(|(group, place)| self.seat(group, *place)));
        }
        if self.is(Go::Settle) {
            let at = inner
                .waiting
                .iter()
                .position(|(group, _)| group.is_moving())?;
            return inner.take(at, vmid).map(Ok);
        }
        if let Some(held) = inner.held.checked_sub(1) {
            inner.held = held;
            // It may have been taken off meanwhile, and then others are next.
            if let Some(next) = inner.take(0, vmid) {
                return Some(Ok(next));
            }
        }
        let more = self.is(Go::Run)
            && inner.resident < inner.most
            && self.next.load(Ordering::Acquire) < self.total;
        if more && (inner.resident == 0 || self.room.take(self.words)) {
            let Some(place) = inner.free.pop() else {
                return inner.take(0, vmid).map(Ok);
            };
            let n = self.share.nth(self.next.fetch_add(1, Ordering::AcqRel));
            inner.resident += 1;
            drop(inner);
            let [x, y, _] = self.groups.map(u64::from);
            let id = [(n % x) as u32, (n / x % y) as u32, (n / (x * y)) as u32];
            let scratch = self.scratch_of(place);
            let params = rkfd_isa::Dispatch {
                launch: self.debugged.launch(vmid),
                ..self.params
            };
            let group = Group::launch(cu, &self.kernel, &params, id, scratch, &self.preloaded);
            let _ = group.as_ref().map(|group| self.seat(group, place));
            let keys = [("vmid", self.vmid.load(Ordering::Acquire).into())];
            // A rule that stops the device here stops it before the first instruction.
            self.env.announce(&Event::of(Kind::WaveLaunch).with(&keys));
            // The packet processor has launched one for a trial, so this does not fail.
            return Some(group.map(|group| (group, place)).map_err(|_| failed()));
        }
        inner.take(0, vmid).map(Ok)
    }
}

impl Drop for Dispatch {
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.room
            .give(self.words * u64::from(inner.resident.max(1)));
    }
}
