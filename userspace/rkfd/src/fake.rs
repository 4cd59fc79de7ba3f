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

mod events;
mod memory;
mod queues;

use std::collections::HashMap;
use std::ffi::c_void;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use rkfd_uapi::device::{
    GetClockCountersArgs, GetProcessAperturesNewArgs, GetVersionArgs, ProcessDeviceApertures,
};
use rkfd_uapi::event::*;
use rkfd_uapi::memory::*;
use rkfd_uapi::mmap::DOORBELL_SLICE;
use rkfd_uapi::queue::DestroyQueueArgs;
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
use events::Event;
use memory::Object;

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
}
