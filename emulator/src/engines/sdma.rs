// SPDX-License-Identifier: MIT OR Apache-2.0

//! The SDMA engines: copies, fills and what goes with them, from rings of processes.
//!
//! ```text
//! scheduler --map, stop--> Engines --orders--> engine's thread: MQD -> queue of the engine
//! doorbells ----------------------------------> ring, indirect buffers -> packets -> memory
//! scheduler <--state------ Engines <--view---- engine's thread ----> trap: interrupt
//! ```
//!
//! Written from the hardware's side: Linux's packet headers ([`rkfd_hw::sdma`]), what its drivers
//! program (`amdgpu/sdma_v4_4_2.c`, `sdma_v7_0.c`) and what its MQD managers fill in
//! (`amdkfd/kfd_mqd_manager_v9.c`, `kfd_mqd_manager_v12.c`). What differs between generations is a
//! table ([`generation`]).
//!
//! An engine has eight queues. A process' MQD names the one that it gets (`sdma_queue_id`), since the
//! doorbells that reach a queue are fixed by it (`allocate_doorbell` in
//! `kfd_device_queue_manager.c`). The scheduling firmware loads the MQD and takes the queue off.
//!
//! Threads: one for each engine, which owns the engine's queues; engines run side by side. The
//! scheduler's thread and the transport's leave orders and look at views, and never wait. A queue
//! that waits for memory (POLL_REGMEM) is looked at as seldom as an idle one.
//!
//! The kernel's driver has a queue of each engine, too, in VMID 0, which it sets up by registers
//! ([`kernel`]). It executes the same packets.
//!
//! Not modelled: the kernel's second ring (PAGE), waits for registers and writes to them, AQL mode,
//! encrypted and compressed memory, tiled images. A preempted queue stops between packets; what the chip keeps of a packet that was
//! interrupted (MIDCMD) is not needed then, and stays zero.

mod engine;
mod execute;
pub mod generation;
mod kernel;
mod memory;
pub mod packet;
mod places;
mod queue;
pub mod regs;

use crate::blocks::smu::CopyEngines;
use crate::device::doorbell::NOT_RUNG;
pub use crate::device::facts::COPY_ENGINES_PER_DIE as PER_DIE;
use crate::device::firmware::Firmware;
use crate::device::Env;
use crate::engines::Wake;
use crate::memory::hub::Client;
use crate::memory::Hub;
use crate::report::Wrong;
use engine::Worker;
pub use generation::Generation;
use queue::Queue;
pub use regs::QueueRegister;
use rkfd_hw::mqd::v9::SdmaMqd;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Queues of an engine that processes may have.
pub const QUEUES: usize = 8;
/// Their places, and one that is the kernel's where it has none of them.
const PLACES: usize = QUEUES + 1;
/// Words of an MQD.
const MQD_WORDS: usize = SdmaMqd::zeroed().0.len();

/// Every place, as bits.
const ALL: u32 = u32::MAX;

/// How often, and how long each time, a reset waits for an engine's thread.
const RESET_STEPS: u32 = 100;
const RESET_STEP: Duration = Duration::from_millis(100);

/// How often, and how long each time, a halt waits for the packet in progress.
const HALT_STEPS: u32 = 10_000;
const HALT_STEP: Duration = Duration::from_micros(100);

/// The engines of a chip.
#[derive(Clone, Copy)]
pub struct Shape {
    /// How many there are.
    pub engines: u8,
    /// What they look like.
    pub generation: &'static Generation,
}

/// A queue's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// The engine.
    pub engine: u8,
    /// The queue of it, below [`QUEUES`].
    pub queue: u8,
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sdma{} queue{}", self.engine, self.queue)
    }
}

/// A queue as a scheduler maps it.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// The engine that the scheduler's packet names; the MQD must name the same.
    pub engine: Option<u8>,
    /// Address of the MQD in VMID 0.
    pub mqd: u64,
    /// Index of the doorbell's low word on the BAR; the MQD must agree.
    pub doorbell: u32,
    /// Where the write pointer lies, which counts bytes, and in which address space: the queue's
    /// own, or VMID 0.
    pub wptr: u64,
    /// That address space.
    pub wptr_vmid: u8,
    /// The address space.
    pub vmid: u8,
    /// Whose it is, for the trace.
    pub pasid: u16,
}

/// How a queue is taken off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// After the packet in progress, so that it can go on later.
    Preempt,
    /// At once; what was begun is lost.
    Reset,
}

/// What a scheduler may know of a mapped queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// It has something to do.
    pub busy: bool,
    /// It has executed something since it was mapped.
    pub worked: bool,
}

/// What an engine's thread is asked for.
enum Order {
    /// The engine was reset: its queues are dropped as they are.
    DropAll,
    Connect(Box<Queue>),
    Stop(u8, Stop),
    /// A stop is taken back.
    GoOn(u8),
}

/// What others see of a queue.
#[derive(Clone, Debug)]
struct View {
    serial: u64,
    /// None of the kernel's.
    mqd: Option<u64>,
    doorbell: u32,
    state: State,
    /// The MQD's words, for the registers.
    image: Box<[u32; MQD_WORDS]>,
}

#[derive(Default)]
struct Shared {
    orders: Vec<Order>,
    views: [Option<View>; PLACES],
    /// Queues that were added so far.
    added: u64,
    /// Resets asked for and done.
    asked: u64,
    done: u64,
}

impl Shared {
    /// Shows a new queue at its place.
    fn add(&mut self, queue: &mut Queue) {
        self.added += 1;
        queue.serial = self.added;
        if let Some(view) = self.views.get_mut(usize::from(queue.slot.queue)) {
            *view = Some(queue.view());
        }
    }

    /// The view of a queue, if no later one is at its place.
    fn view_of(&mut self, queue: &Queue) -> Option<&mut Option<View>> {
        let view = self.views.get_mut(usize::from(queue.slot.queue))?;
        let own = view
            .as_ref()
            .is_some_and(|view| view.serial == queue.serial);
        own.then_some(view)
    }
}

/// An engine as others see it.
#[derive(Default)]
struct Engine {
    shared: Mutex<Shared>,
    reset_done: Condvar,
    wake: Wake,
    /// Held while packets are executed.
    turn: Mutex<()>,
    /// Queues, a bit for each place, whose packet in progress ends at once.
    abort: AtomicU32,
    /// Queues that were to be reset by SDMA0_QUEUE_RESET_REQ, a bit for each place.
    resets: AtomicU32,
    regs: regs::Regs,
    kernel: kernel::Regs,
}

impl Engine {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self, order: Order) {
        self.shared().orders.push(order);
        self.wake.ring();
    }

    /// Its firmware stands still from now on, as that of the chip does within a few cycles: the packet in
    /// progress ends first. A packet that halts its own engine waits in vain, for a second.
    fn halt(&self) {
        self.wake.ring();
        for _ in 0..HALT_STEPS {
            match self.turn.try_lock() {
                Err(TryLockError::WouldBlock) => std::thread::sleep(HALT_STEP),
                Ok(_) | Err(TryLockError::Poisoned(_)) => return,
            }
        }
    }
}

/// The engines as schedulers and registers see them.
pub struct Engines {
    env: Arc<dyn Env>,
    shape: Shape,
    engines: Vec<Engine>,
    end: AtomicBool,
}

impl Engines {
    /// Engines without queues.
    pub fn new(env: Arc<dyn Env>, shape: Shape) -> Self {
        Self {
            env,
            shape,
            engines: (0..shape.engines).map(|_| Engine::default()).collect(),
            end: AtomicBool::new(false),
        }
        .started()
    }

    /// With each engine's registers as they are at start-up.
    fn started(self) -> Self {
        let warm = self.env.firmware().was_there();
        self.engines
            .iter()
            .for_each(|engine| engine.regs.reset(warm, self.shape.generation.halts));
        self
    }

    /// Loads and checks an MQD, and loads its queue into the place that the MQD names.
    ///
    /// # Errors
    /// What is wrong with the MQD or the mapping; a fault was reported besides.
    pub fn map(&self, mapping: &Mapping) -> Result<Slot, Wrong> {
        let mut queue = Queue::load(&*self.env, self.shape.generation, mapping)?;
        let slot = queue.slot;
        let engine = self
            .engines
            .get(usize::from(slot.engine))
            .ok_or_else(|| format!("SDMA engine {} is not there", slot.engine))?;
        engine.regs.are_golden(self.shape.generation)?;
        for other in self.engines.iter().flat_map(|e| e.shared().views.clone()) {
            let Some(other) = other else { continue };
            if other.mqd == queue.mqd || other.doorbell == queue.doorbell {
                return Err("MQD or doorbell is that of a mapped SDMA queue".into());
            }
        }
        // What is rung from now on is for the queue; what was before is in memory, where it may have come after the
        // first look.
        self.env.doorbells().store(queue.doorbell, NOT_RUNG);
        queue.look_for_wptr(&*self.env, self.shape.generation, mapping)?;
        let mut shared = engine.shared();
        match shared.views.get(usize::from(slot.queue)) {
            None => return Err(format!("{slot} is not there").into()),
            Some(Some(_)) => return Err(format!("{slot} is taken").into()),
            Some(None) => shared.add(&mut queue),
        }
        shared.orders.push(Order::Connect(Box::new(queue)));
        drop(shared);
        engine.wake.ring();
        Ok(slot)
    }

    /// Checks what [`Engines::map`] would take, and returns the place and the ring's size in bytes.
    ///
    /// # Errors
    /// As [`Engines::map`].
    pub fn check(&self, mapping: &Mapping) -> Result<(Slot, u64), Wrong> {
        let queue = Queue::load(&*self.env, self.shape.generation, mapping)?;
        Ok((queue.slot, queue.size))
    }

    /// Asks a queue to leave. It has left when [`Engines::state`] is `None`.
    pub fn stop(&self, slot: Slot, stop: Stop) {
        if let Some(engine) = self.engines.get(usize::from(slot.engine)) {
            // Before the order: who obeys it clears this, or else the next queue there would never begin.
            if stop == Stop::Reset {
                engine.abort.fetch_or(1 << slot.queue, Ordering::Release);
            }
            engine.order(Order::Stop(slot.queue, stop));
        }
    }

    /// SDMA0_QUEUE_RESET_REQ: queues of an engine, a bit for each, leave as they are; the others go on.
    fn reset_queues(&self, number: u8, bits: u32) {
        let Some(engine) = self.engines.get(usize::from(number)) else {
            return;
        };
        let kernels = self.shape.generation.kernel.queue;
        engine.resets.store(bits, Ordering::Release);
        for queue in (0..QUEUES as u8).filter(|queue| (bits >> queue) & 1 == 1) {
            if queue == kernels {
                engine.kernel.reset();
            }
            let slot = Slot {
                engine: number,
                queue,
            };
            self.stop(slot, Stop::Reset);
        }
    }

    /// Which of the queues that were to be reset are still there.
    fn resetting(&self, engine: &Engine) -> u32 {
        let shared = engine.shared();
        let there = (0..).zip(&shared.views).filter(|(_, view)| view.is_some());
        let there = there.fold(0, |bits, (place, _)| bits | (1 << place));
        engine.resets.fetch_and(there, Ordering::AcqRel) & there
    }

    /// Takes a [`Stop::Preempt`] back.
    pub fn go_on(&self, slot: Slot) {
        if let Some(engine) = self.engines.get(usize::from(slot.engine)) {
            engine.order(Order::GoOn(slot.queue));
        }
    }

    /// Resets an engine: its queues are dropped as they are, none is mapped any more, and that of the
    /// kernel's driver is to be set up again.
    pub fn soft_reset(&self, engine: u8) {
        let Some(engine) = self.engines.get(usize::from(engine)) else {
            return;
        };
        engine.abort.store(ALL, Ordering::Release);
        engine.kernel.reset();
        let mut shared = engine.shared();
        shared.orders.clear();
        shared.orders.push(Order::DropAll);
        shared.views = Default::default();
        drop(shared);
        engine.wake.ring();
    }

    /// Whether an engine is halted, and that has taken effect.
    pub fn stands_still(&self, engine: u8) -> bool {
        let engine = self.engines.get(usize::from(engine));
        engine.is_none_or(|engine| engine.regs.stands_still())
    }

    /// Start-up state: queues are dropped as they are. Work in progress has ended when this returns.
    fn full_reset(&self, number: u8, firmware_is_there: bool) {
        let Some(engine) = self.engines.get(usize::from(number)) else {
            return;
        };
        let halts = self.shape.generation.halts;
        engine.regs.reset(firmware_is_there, halts);
        engine.kernel.reset();
        engine.abort.store(ALL, Ordering::Release);
        let mut shared = engine.shared();
        shared.asked += 1;
        let asked = shared.asked;
        engine.wake.ring();
        // The thread is gone only if the host refused it or while all ends.
        for _ in 0..RESET_STEPS {
            if shared.done >= asked || self.ends() {
                return;
            }
            // A device that is reset does not stand still.
            self.env.pause().go_on();
            shared = engine
                .reset_done
                .wait_timeout(shared, RESET_STEP)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// What a mapped queue does; `None` when none is there.
    pub fn state(&self, slot: Slot) -> Option<State> {
        let engine = self.engines.get(usize::from(slot.engine))?;
        let shared = engine.shared();
        let view = shared.views.get(usize::from(slot.queue))?;
        view.as_ref().map(|view| view.state)
    }

    fn ends(&self) -> bool {
        self.end.load(Ordering::Acquire)
    }
}

/// An engine fetches from its own ring without being asked, since it looks for the write pointer in memory
/// (WPTR_POLL). That of SDMA 7.0 has its program in memory, too (`sdma_v7_0_load_microcode` sets IC_BASE).
impl Client for Engines {
    fn fetches(&self, hub: Hub) -> Option<String> {
        let in_memory = self.shape.generation.program_in_memory;
        let all = (0..).zip(&self.engines);
        let mut all = all.filter(|(n, _)| (self.shape.generation.hub)(*n) == hub);
        all.find_map(|(n, engine)| {
            if engine.kernel.runs() {
                Some(format!("SDMA engine {n} reads its ring (RB_ENABLE)"))
            } else if in_memory && engine.regs.was_let_run() {
                Some(format!(
                    "SDMA engine {n} isn't halted and reads its program"
                ))
            } else {
                None
            }
        })
    }
}

impl CopyEngines for Engines {
    fn count(&self) -> u8 {
        self.shape.engines
    }

    fn reset(&self, engine: u8) {
        let firmware = self.env.firmware();
        let is_there = firmware.was_there() || firmware.has(Firmware::Sdma(engine));
        let its = self.engines.get(usize::from(engine));
        let kept = its.map(|engine| engine.regs.addresses());
        // The management unit lets it run again (`sdma_v4_4_2_restore_queue` waits for that).
        self.full_reset(engine, is_there);
        if let (Some(its), Some(kept)) = (its, kept) {
            its.regs.set_addresses(kept);
        }
    }
}

/// The engines' threads: they run as long as this lives.
pub struct Sdma {
    all: Arc<Engines>,
    threads: Vec<JoinHandle<()>>,
}

impl Sdma {
    /// Starts the engines: firmware runs on them since power-on.
    pub fn new(all: Arc<Engines>) -> Self {
        let threads = (0..all.shape.engines).filter_map(|engine| {
            let its = all.clone();
            let thread = std::thread::Builder::new()
                .name(format!("rkfd-sdma{engine}"))
                .spawn(move || Worker::new(its, engine).run());
            match thread {
                Ok(thread) => Some(thread),
                Err(why) => {
                    all.env
                        .report()
                        .violation(format_args!("the host refuses a thread: {why}"));
                    None
                }
            }
        });
        let threads = threads.collect();
        if all.env.start().used {
            all.engines
                .iter()
                .for_each(|engine| engine.kernel.leave_queue());
        }
        Self { all, threads }
    }

    /// Start-up state: queues are dropped as they are. Work in progress has ended when this returns.
    pub fn reset(&self) {
        let firmware = self.all.env.firmware().was_there();
        for number in 0..self.all.shape.engines {
            self.all.full_reset(number, firmware);
        }
        if self.all.env.start().used {
            self.all
                .engines
                .iter()
                .for_each(|engine| engine.kernel.leave_queue());
        }
    }
}

impl Drop for Sdma {
    fn drop(&mut self) {
        self.all.end.store(true, Ordering::Release);
        for engine in &self.all.engines {
            engine.abort.store(ALL, Ordering::Release);
            engine.wake.ring();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
