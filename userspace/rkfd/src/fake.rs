// SPDX-License-Identifier: MIT OR Apache-2.0

//! A driver and a GPU in this process, to test programs where there is no GPU.
//!
//! One file in memory stands for `/dev/kfd` and the render node. Each AQL queue gets a thread that
//! does what a packet processor does: it waits for the doorbell, honours types and barriers, and
//! completes signals. It runs no code: whatever the kernel, it adds vectors, as [`VADD`] does. It
//! refuses what the driver refuses, and has no PM4 queues and no copy engines.
//!
//! It accesses memory that the library allocated, and nothing else of the process. An address beyond is a
//! fault, which takes all queues off for good, as with the driver:
//! [`Error::MemoryFault`].
//!
//! The feature `fake` has this module. A program that wants it in its tests only names it in its
//! `dev-dependencies`.
//!
//! ```
//! let (gpu, driver) = rkfd::fake::open();
//! let buffer = gpu.upload(&[1u32, 2, 3])?;
//! assert_eq!(buffer.to_vec()?, [1, 2, 3]);
//! assert_eq!(driver.objects(), 1);
//! drop(buffer);
//! assert_eq!(driver.objects(), 0);
//! # Ok::<(), rkfd::Error>(())
//! ```

use std::collections::HashMap;
use std::ffi::c_void;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rkfd_hw::aql;
use rkfd_uapi::device::{
    GetClockCountersArgs, GetProcessAperturesNewArgs, GetVersionArgs, ProcessDeviceApertures,
};
use rkfd_uapi::event::*;
use rkfd_uapi::memory::*;
use rkfd_uapi::mmap::DOORBELL_SLICE;
use rkfd_uapi::queue::{CreateQueueArgs, DestroyQueueArgs, QUEUE_TYPE_COMPUTE_AQL};
use rkfd_uapi::{ioctl as requests, VERSION_MAJOR, VERSION_MINOR};
use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
use rustix::io::Errno;
use rustix::time::{clock_gettime, ClockId};

use crate::driver::{lock, Driver};
use crate::error::Error;
use crate::gpu::{Gpu, Process};
use crate::queue::SaveArea;
use crate::sys::ioctl::Device;
use crate::sys::kfd::Kfd;
use crate::sys::map::Mapping;
use crate::topology::Node;

const GPU_ID: u32 = 0x1234;
/// Ticks of the GPU's clock in a microsecond.
const TICKS: u64 = 100;

/// A code object for the fake GPU with a kernel `vadd(a, b, c, n)`, which stores `a[i] + b[i]` in
/// `c[i]`, of 32-bit floats, for all `i` below `n`, an `i32`.
pub const VADD: &[u8] = include_bytes!("fake/vadd.co");

/// The stand-in for a driver, to look at and to hold up.
#[derive(Clone, Debug)]
pub struct Fake {
    inner: Arc<Inner>,
}

/// The driver's state.
#[derive(Debug)]
struct Inner {
    file: OwnedFd,
    save_area: SaveArea,
    state: Mutex<State>,
    doorbells: Mapping,
    signalled: Condvar,
    /// The packet processors stand still.
    paused: AtomicBool,
    /// A fault has ended all packet processors.
    faulted: AtomicBool,
    /// Calls of WAIT_EVENTS.
    waits: AtomicU32,
}

#[derive(Debug, Default)]
struct State {
    objects: HashMap<u64, Object>,
    queues: HashMap<u32, (Arc<AtomicBool>, JoinHandle<()>)>,
    events: HashMap<u32, Event>,
    /// The page of signals.
    page: Option<Arc<Mapping>>,
    next: u64,
    end: u64,
    last_event: u32,
}

#[derive(Debug)]
struct Object {
    va: u64,
    size: u64,
    mapped: bool,
    /// The device's own view of its memory.
    memory: Arc<Mapping>,
}

#[derive(Debug)]
struct Event {
    kind: u32,
    auto_reset: bool,
    signalled: bool,
    /// The address of a fault.
    fault: Option<u64>,
}

/// An address that the GPU can't access.
#[derive(Debug)]
struct Fault(u64);

/// Where an address leads.
#[derive(Debug)]
struct Place {
    address: u64,
    /// The first address behind the object.
    end: u64,
    /// The object's memory, which stays as long as this does.
    memory: Arc<Mapping>,
    offset: usize,
}

impl Place {
    fn word64(&self, at: usize) -> Result<&AtomicU64, Fault> {
        let word = self.memory.word64(self.offset + at);
        word.ok_or(Fault(self.address + at as u64))
    }

    fn word32(&self, at: usize) -> Result<&AtomicU32, Fault> {
        let words = self.memory.words32(self.offset + at, 1);
        let word = words.and_then(<[AtomicU32]>::first);
        word.ok_or(Fault(self.address + at as u64))
    }

    fn words32(&self, count: usize) -> Result<&[AtomicU32], Fault> {
        let words = self.memory.words32(self.offset, count);
        words.ok_or(Fault(match self.offset % 4 {
            0 => self.end,
            _ => self.address,
        }))
    }
}

impl State {
    /// Where an address leads.
    fn reach(&self, address: u64) -> Result<Place, Fault> {
        let has = |object: &&Object| {
            object.mapped && (object.va..object.va + object.size).contains(&address)
        };
        let object = self.objects.values().find(has).ok_or(Fault(address))?;
        Ok(Place {
            address,
            end: object.va + object.size,
            memory: object.memory.clone(),
            offset: (address - object.va) as usize,
        })
    }
}

/// A node of the topology that the fake GPU could have.
fn node() -> Node {
    let mut node = Node::of_properties(&[
        ("gfx_target_version", 90402),
        ("simd_count", 16),
        ("simd_per_cu", 4),
        ("max_waves_per_simd", 8),
        ("array_count", 1),
        ("simd_arrays_per_engine", 1),
        ("lds_size_in_kb", 64),
    ]);
    node.gpu_id = GPU_ID;
    node
}

/// Opens a new fake GPU, which has a driver of its own.
///
/// # Panics
///
/// When the operating system gives no memory.
pub fn open() -> (Gpu, Fake) {
    let file = memfd_create("fake-kfd", MemfdFlags::CLOEXEC).expect("a file in memory");
    ftruncate(&file, DOORBELL_SLICE as u64).expect("a larger file");
    let doorbells = Mapping::of_file(file.as_fd(), 0, DOORBELL_SLICE).expect("doorbells");
    let inner = Inner {
        file,
        save_area: SaveArea::of(&node()).expect("a GPU with compute units"),
        state: Mutex::new(State {
            end: DOORBELL_SLICE as u64,
            next: 1,
            ..Default::default()
        }),
        doorbells,
        signalled: Condvar::new(),
        paused: AtomicBool::new(false),
        faulted: AtomicBool::new(false),
        waits: AtomicU32::new(0),
    };
    let fake = Fake {
        inner: Arc::new(inner),
    };
    let driver = Driver::of_device(Kfd::of_device(fake.clone())).expect("a driver that answers");
    let hold = Process::of_driver(driver).hold(GPU_ID, || {
        rustix::io::dup(&fake).map_err(|errno| Error::Open {
            path: "/dev/dri/fake".into(),
            errno,
        })
    });
    (Gpu::of_hold(hold.expect("a GPU"), node()), fake)
}

impl AsFd for Fake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.file.as_fd()
    }
}

impl Device for Fake {
    unsafe fn request(&self, command: u32, args: *mut c_void) -> rustix::io::Result<()> {
        self.inner.answer(command, args.cast())
    }
}

impl Fake {
    /// Memory objects that were not freed.
    pub fn objects(&self) -> usize {
        lock(&self.inner.state).objects.len()
    }

    /// Queues that were not destroyed.
    pub fn queues(&self) -> usize {
        lock(&self.inner.state).queues.len()
    }

    /// How often somebody has gone to sleep in the driver.
    pub fn waits(&self) -> u32 {
        self.inner.waits.load(Ordering::Relaxed)
    }

    /// Makes the packet processors stand still.
    pub fn pause(&self) {
        self.inner.paused.store(true, Ordering::Relaxed);
    }

    /// Lets the packet processors go on.
    pub fn resume(&self) {
        self.inner.paused.store(false, Ordering::Relaxed);
    }
}

/// The argument of a request.
fn argument<'a, T>(arg: *mut u8) -> &'a mut T {
    // SAFETY: the command that named `T` was made from a `Request<T>`, whose argument this is,
    // exclusively borrowed during the call.
    unsafe { &mut *arg.cast::<T>() }
}

/// The host's time since its start.
fn nanos() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The GPU's clock.
fn ticks() -> u64 {
    nanos() / 1000 * TICKS
}

impl Inner {
    fn answer(self: &Arc<Self>, cmd: u32, arg: *mut u8) -> Result<(), Errno> {
        match cmd {
            c if c == requests::GET_VERSION.command() => {
                let args: &mut GetVersionArgs = argument(arg);
                (args.major_version, args.minor_version) = (VERSION_MAJOR, VERSION_MINOR);
                Ok(())
            }
            c if c == requests::GET_PROCESS_APERTURES_NEW.command() => {
                let args: &mut GetProcessAperturesNewArgs = argument(arg);
                if args.num_of_nodes != 0 {
                    let entry: &mut ProcessDeviceApertures =
                        argument(args.kfd_process_device_apertures_ptr as *mut u8);
                    entry.gpu_id = GPU_ID;
                    (entry.gpuvm_base, entry.gpuvm_limit) = (0x10000, (1 << 47) - 1);
                    (entry.lds_base, entry.scratch_base) = (1 << 48, 2 << 48);
                }
                args.num_of_nodes = 1;
                Ok(())
            }
            c if c == requests::ACQUIRE_VM.command() => Ok(()),
            c if c == requests::SET_TRAP_HANDLER.command() => Ok(()),
            c if c == requests::ALLOC_MEMORY_OF_GPU.command() => self.alloc(argument(arg)),
            c if c == requests::MAP_MEMORY_TO_GPU.command() => {
                let args: &mut MapMemoryToGpuArgs = argument(arg);
                let mut state = lock(&self.state);
                let object = state.objects.get_mut(&args.handle).ok_or(Errno::NOMEM)?;
                object.mapped = true;
                args.n_success = args.n_devices;
                Ok(())
            }
            c if c == requests::UNMAP_MEMORY_FROM_GPU.command() => {
                let args: &mut UnmapMemoryFromGpuArgs = argument(arg);
                let mut state = lock(&self.state);
                let object = state.objects.get_mut(&args.handle).ok_or(Errno::NOMEM)?;
                object.mapped = false;
                Ok(())
            }
            c if c == requests::FREE_MEMORY_OF_GPU.command() => {
                let args: &mut FreeMemoryOfGpuArgs = argument(arg);
                let mut state = lock(&self.state);
                match state.objects.get(&args.handle) {
                    None => return Err(Errno::INVAL),
                    Some(object) if object.mapped => return Err(Errno::BUSY),
                    Some(_) => state.objects.remove(&args.handle),
                };
                Ok(())
            }
            c if c == requests::CREATE_QUEUE.command() => self.create_queue(argument(arg)),
            c if c == requests::DESTROY_QUEUE.command() => {
                let args: &mut DestroyQueueArgs = argument(arg);
                let queue = lock(&self.state).queues.remove(&args.queue_id);
                let (stop, thread) = queue.ok_or(Errno::INVAL)?;
                stop.store(true, Ordering::Relaxed);
                thread.join().map_err(|_| Errno::IO)
            }
            c if c == requests::GET_CLOCK_COUNTERS.command() => {
                let args: &mut GetClockCountersArgs = argument(arg);
                let nanos = nanos();
                (args.system_clock_counter, args.cpu_clock_counter) = (nanos, nanos);
                args.gpu_clock_counter = ticks();
                args.system_clock_freq = 1_000_000_000;
                Ok(())
            }
            c if c == requests::AVAILABLE_MEMORY.command() => {
                let args: &mut GetAvailableMemoryArgs = argument(arg);
                args.available = 1 << 30;
                Ok(())
            }
            c if c == requests::SET_EVENT.command() => {
                let args: &mut SetEventArgs = argument(arg);
                let mut state = lock(&self.state);
                let event = state.events.get_mut(&args.event_id);
                event.ok_or(Errno::INVAL)?.signalled = true;
                self.signalled.notify_all();
                Ok(())
            }
            c if c == requests::DESTROY_EVENT.command() => {
                let args: &mut DestroyEventArgs = argument(arg);
                let event = lock(&self.state).events.remove(&args.event_id);
                event.map(drop).ok_or(Errno::INVAL)
            }
            c if c == requests::CREATE_EVENT.command() => self.create_event(argument(arg)),
            c if c == requests::WAIT_EVENTS.command() => self.wait(argument(arg)),
            _ => Err(Errno::NOTTY),
        }
    }

    fn alloc(&self, args: &mut AllocMemoryOfGpuArgs) -> Result<(), Errno> {
        let kinds = (args.flags & ALLOC_KINDS).count_ones();
        if args.size == 0 || args.size % 4096 != 0 || args.va_addr % 4096 != 0 || kinds != 1 {
            return Err(Errno::INVAL);
        }
        let mut state = lock(&self.state);
        args.mmap_offset = state.end;
        state.end += args.size;
        ftruncate(&self.file, state.end)?;
        let memory = Mapping::of_file(self.file.as_fd(), args.mmap_offset, args.size as usize);
        args.handle = (u64::from(GPU_ID) << 32) | state.next;
        state.next += 1;
        let object = Object {
            va: args.va_addr,
            size: args.size,
            mapped: false,
            memory: Arc::new(memory.map_err(|_| Errno::NOMEM)?),
        };
        state.objects.insert(args.handle, object);
        Ok(())
    }

    fn create_queue(self: &Arc<Self>, args: &mut CreateQueueArgs) -> Result<(), Errno> {
        if args.queue_type != QUEUE_TYPE_COMPUTE_AQL {
            return Err(Errno::INVAL);
        }
        let mut state = lock(&self.state);
        let exact = |va: u64, size: u64| {
            let found = state
                .objects
                .values()
                .any(|o| o.mapped && o.va == va && o.size == size);
            found.then_some(()).ok_or(Errno::INVAL)
        };
        exact(args.ring_base_address, u64::from(args.ring_size))?;
        exact(args.write_pointer_address & !0xfff, 4096)?;
        exact(args.read_pointer_address & !0xfff, 4096)?;
        exact(args.ctx_save_restore_address, self.save_area.total as u64)?;
        let area = &self.save_area;
        if args.ctl_stack_size != area.control_stack || args.ctx_save_restore_size < area.size {
            return Err(Errno::INVAL);
        }
        let reach = |address| state.reach(address).map_err(|_| Errno::INVAL);
        let (ring, read) = (
            reach(args.ring_base_address)?,
            reach(args.read_pointer_address)?,
        );
        let id = state.next as u32;
        state.next += 1;
        args.queue_id = id;
        args.doorbell_offset = u64::from(id % 1024) * 8;
        let bell = self
            .doorbells
            .word64(args.doorbell_offset as usize)
            .ok_or(Errno::INVAL)?;
        bell.store(u64::MAX, Ordering::Relaxed);
        let stop = Arc::new(AtomicBool::new(false));
        let processor = Processor {
            fake: self.clone(),
            ring,
            packets: u64::from(args.ring_size) / 64,
            read,
            bell: args.doorbell_offset as usize,
            stop: stop.clone(),
        };
        state
            .queues
            .insert(id, (stop, std::thread::spawn(move || processor.run())));
        Ok(())
    }

    fn create_event(&self, args: &mut CreateEventArgs) -> Result<(), Errno> {
        let mut state = lock(&self.state);
        if args.event_page_offset != 0 {
            let object = state
                .objects
                .get(&args.event_page_offset)
                .ok_or(Errno::INVAL)?;
            if state.page.is_some() || object.size < SIGNAL_PAGE_SIZE as u64 {
                return Err(Errno::INVAL);
            }
            let page = object.memory.clone();
            (0..SIGNAL_EVENT_LIMIT as usize)
                .filter_map(|i| page.word64(i * 8))
                .for_each(|slot| slot.store(SLOT_UNSIGNALED, Ordering::Relaxed));
            state.page = Some(page);
        } else if args.event_type == EVENT_SIGNAL && state.page.is_none() {
            return Err(Errno::NOMEM);
        }
        state.last_event += 1;
        args.event_id = state.last_event;
        args.event_slot_index = args.event_id;
        let event = Event {
            kind: args.event_type,
            auto_reset: args.auto_reset != 0,
            signalled: false,
            fault: None,
        };
        state.events.insert(args.event_id, event);
        Ok(())
    }

    fn wait(&self, args: &mut WaitEventsArgs) -> Result<(), Errno> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        if args.num_events > SIGNAL_EVENT_LIMIT {
            return Err(Errno::NOMEM);
        }
        let end = Instant::now() + Duration::from_millis(args.timeout.into());
        let entry = |i: usize| (args.events_ptr + i as u64 * 48) as *mut u8;
        let ids: Vec<u32> = (0..args.num_events as usize)
            .map(|i| argument::<EventData>(entry(i)).event_id)
            .collect();
        let mut state = lock(&self.state);
        loop {
            for (i, id) in ids.iter().enumerate() {
                let event = state.events.get_mut(id).ok_or(Errno::INVAL)?;
                if !event.signalled {
                    continue;
                }
                event.signalled = !event.auto_reset;
                if let Some(va) = event.fault {
                    let failure = MemoryExceptionFailure {
                        not_present: 1,
                        ..Default::default()
                    };
                    let exception = MemoryExceptionData {
                        failure,
                        va,
                        gpu_id: GPU_ID,
                        error_type: 0,
                    };
                    argument::<EventData>(entry(i)).set_memory_exception(exception);
                }
                args.wait_result = WAIT_RESULT_COMPLETE;
                return Ok(());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                args.wait_result = WAIT_RESULT_TIMEOUT;
                return Ok(());
            }
            state = match self.signalled.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// The end-of-pipe interrupt: looks at the slot, as the driver does.
    fn interrupt(&self, id: u32) {
        let mut state = lock(&self.state);
        let page = state.page.as_ref();
        let slot = page.and_then(|page| page.word64(id as usize * 8));
        let told = slot.map(|slot| slot.swap(SLOT_UNSIGNALED, Ordering::AcqRel));
        if told == Some(u64::from(id)) {
            if let Some(event) = state.events.get_mut(&id) {
                event.signalled = true;
            }
            self.signalled.notify_all();
        }
    }

    fn reach(&self, address: u64) -> Result<Place, Fault> {
        lock(&self.state).reach(address)
    }

    /// Takes all queues off, and tells those who wait for faults of this one.
    fn fault(&self, address: u64) {
        self.faulted.store(true, Ordering::Relaxed);
        let mut state = lock(&self.state);
        let events = state.events.values_mut();
        for event in events.filter(|event| event.kind == EVENT_MEMORY) {
            event.signalled = true;
            event.fault = Some(address);
        }
        self.signalled.notify_all();
    }
}

struct Processor {
    fake: Arc<Inner>,
    ring: Place,
    packets: u64,
    read: Place,
    bell: usize,
    stop: Arc<AtomicBool>,
}

impl Processor {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.fake.faulted.load(Ordering::Relaxed)
    }

    fn run(self) {
        if let Err(Fault(address)) = self.process() {
            self.fake.fault(address);
        }
    }

    /// Processes packets until the queue is stopped.
    fn process(&self) -> Result<(), Fault> {
        let read = self.read.word64(0)?;
        let ring = self.ring.words32(self.packets as usize * 16)?;
        while !self.stopped() {
            if self.fake.paused.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            std::thread::yield_now();
            let bell = self.fake.doorbells.word64(self.bell);
            let rung = bell.map_or(u64::MAX, |bell| bell.load(Ordering::Acquire));
            if rung == u64::MAX {
                continue;
            }
            let next = read.load(Ordering::Relaxed);
            let first = (next & (self.packets - 1)) as usize * 16;
            let slot = &ring[first..first + 16];
            let header = slot[0].load(Ordering::Acquire);
            if header as u8 == aql::TYPE_INVALID {
                continue;
            }
            let mut words = [header; 16];
            for (word, place) in words.iter_mut().zip(slot).skip(1) {
                *word = place.load(Ordering::Relaxed);
            }
            let start = ticks();
            if !self.execute(&words)? {
                break;
            }
            slot[0].store(aql::TYPE_INVALID.into(), Ordering::Relaxed);
            read.store(next + 1, Ordering::Release);
            self.complete(u64::from(words[14]) | (u64::from(words[15]) << 32), start)?;
        }
        Ok(())
    }

    /// Does a packet's work: false when the queue was stopped meanwhile.
    fn execute(&self, words: &[u32; 16]) -> Result<bool, Fault> {
        let header = aql::Header::parse(words[0] as u16).expect("a valid header");
        let pair = |i: usize| u64::from(words[i]) | (u64::from(words[i + 1]) << 32);
        match header.packet_type {
            aql::TYPE_KERNEL_DISPATCH => {
                let args = self.fake.reach(pair(10))?;
                let n = args.word32(24)?.load(Ordering::Relaxed).min(words[3]) as usize;
                if n == 0 {
                    return Ok(true);
                }
                let array = |i: usize| {
                    let base = args.word64(i * 8)?.load(Ordering::Relaxed);
                    self.fake.reach(base)
                };
                let [a, b, c] = [array(0)?, array(1)?, array(2)?];
                let operands = a.words32(n)?.iter().zip(b.words32(n)?);
                for ((a, b), sum) in operands.zip(c.words32(n)?) {
                    let value = |word: &AtomicU32| f32::from_bits(word.load(Ordering::Relaxed));
                    sum.store((value(a) + value(b)).to_bits(), Ordering::Relaxed);
                }
            }
            kind @ (aql::TYPE_BARRIER_AND | aql::TYPE_BARRIER_OR) => {
                let signals = [2, 4, 6, 8, 10].map(pair);
                let signals = signals.into_iter().filter(|&signal| signal != 0);
                let signals = signals.map(|signal| self.fake.reach(signal + 8));
                let signals = signals.collect::<Result<Vec<_>, _>>()?;
                let values = signals.iter().map(|signal| signal.word64(0));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                let is_zero = |value: &&AtomicU64| value.load(Ordering::Acquire) == 0;
                while match kind {
                    aql::TYPE_BARRIER_AND => !values.iter().all(is_zero),
                    _ => !values.is_empty() && !values.iter().any(is_zero),
                } {
                    if self.stopped() {
                        return Ok(false);
                    }
                    std::thread::yield_now();
                }
            }
            other => panic!("packet type {other}"),
        }
        Ok(true)
    }

    /// Completes a packet's signal; it may have none.
    fn complete(&self, signal: u64, start: u64) -> Result<(), Fault> {
        if signal == 0 {
            return Ok(());
        }
        let signal = self.fake.reach(signal)?;
        let end = ticks().max(start + 1);
        signal.word64(32)?.store(start, Ordering::Relaxed);
        signal.word64(40)?.store(end, Ordering::Relaxed);
        signal.word64(8)?.fetch_sub(1, Ordering::Release);
        let mailbox = signal.word64(16)?.load(Ordering::Relaxed);
        let id = signal.word32(24)?.load(Ordering::Relaxed);
        if mailbox != 0 {
            let slot = self.fake.reach(mailbox)?;
            slot.word64(0)?.store(u64::from(id), Ordering::Release);
            self.fake.interrupt(id);
        }
        Ok(())
    }
}
