// SPDX-License-Identifier: MIT OR Apache-2.0
//! One fuzzing process: its files, what it prepares so that queues can be made, and its threads.

use crate::act::Acts;
use crate::debugged;
use crate::pool::{Bo, Mapping, Pool};
use crate::request::Sender;
use crate::shared::Shared;
use crate::table::{self, Entry, Node as Of};
use crate::value;
use rkfd_bare::node::Node;
use rkfd_bare::rng::Rng;
use rkfd_bare::sys::{self, Map};
use rkfd_bare::task;
use rkfd_uapi::ioctl::{self as requests, IoctlInfo};
use rkfd_uapi::{debug, event, memory};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Sets of buffers that queues work on.
pub const KITS: usize = 2;
/// Where their addresses begin: above those that requests make up.
const KIT_VA: u64 = value::FIRST_VA + (1 << 32);
/// Bytes of memory of its own that a process registers with the GPU.
const USER: usize = 4 << 20;
/// Descriptors that are kept; older ones are closed.
const FILES: usize = 24;

/// Bits of a seed by which processes differ: the signal page is VRAM; there is a runtime from the begin; queues'
/// read pointers are memory of the process' own.
const PAGE_IN_VRAM: u64 = 1;
const HAS_RUNTIME: u64 = 2;
const READ_IS_OWN: u64 = 4;

const VRAM: u32 = memory::ALLOC_VRAM | memory::ALLOC_WRITABLE | memory::ALLOC_PUBLIC;
const GTT: u32 = memory::ALLOC_GTT | memory::ALLOC_WRITABLE | memory::ALLOC_EXECUTABLE;

/// The buffers of a queue.
#[derive(Clone, Copy)]
pub struct Kit {
    /// One page.
    pub ring: Bo,
    /// One page, with the write pointer.
    pub pointers: Bo,
    /// GPU address of the read pointer, behind which copy queues count.
    pub read: u64,
    /// One page.
    pub eop: Bo,
    /// The save area.
    pub save: Bo,
}

/// A process.
pub struct Process {
    /// /dev/kfd.
    pub kfd: OwnedFd,
    /// The render node.
    pub render: OwnedFd,
    /// The GPU.
    pub node: Node,
    /// All requests.
    pub requests: Vec<Entry>,
    /// Buffers of queues.
    pub kits: Vec<Kit>,
    /// GPU address of the page of signals.
    pub signals: u64,
    /// What all processes see.
    pub shared: &'static Shared,
    /// By which a debugger is woken: it is read by nobody, and full at some time.
    pub bell: File,
    _bell: File,
    ids: Map,
    user: Map,
    pool: Mutex<Pool>,
}

impl Process {
    /// Opens the nodes and prepares the buffers of queues and the signal page.
    pub fn new(
        node: &Node,
        shared: &'static Shared,
        seed: u64,
        kits: usize,
    ) -> Result<Self, String> {
        let open = |path: &str| sys::open(path).map_err(|e| format!("open {path}: errno {e}"));
        let rw = libc::PROT_READ | libc::PROT_WRITE;
        let memory = |len| Map::anonymous(len, rw, 0).map_err(|e| format!("memory: errno {e}"));
        let (_bell, bell) = sys::pipe().map_err(|e| format!("pipe: errno {e}"))?;
        let mut process = Self {
            kfd: open("/dev/kfd")?,
            render: open(&node.render)?,
            node: node.clone(),
            requests: table::all(),
            kits: Vec::new(),
            signals: KIT_VA - (1 << 21),
            shared,
            bell,
            _bell,
            ids: memory(4096)?,
            user: memory(USER)?,
            pool: Mutex::new(Pool::new()),
        };
        process.ids.write(0, u64::from(node.gpu));
        let mut acquire = memory::AcquireVmArgs {
            drm_fd: process.render.as_raw_fd() as u32,
            gpu_id: node.gpu,
        };
        process.must(&requests::ACQUIRE_VM, &mut acquire)?;
        if seed & HAS_RUNTIME != 0 {
            let mut runtime = debug::RuntimeEnableArgs {
                mode_mask: debug::RUNTIME_ENABLE_MODE_ENABLE_MASK,
                ..Default::default()
            };
            process.must(&requests::RUNTIME_ENABLE, &mut runtime)?;
        }
        for kit in 0..kits as u64 {
            let va = KIT_VA + (kit << 32);
            let read = match seed & READ_IS_OWN {
                0 => va + (1 << 21) + 8,
                _ => process.own(process.user.address + 4096 * kit)?,
            };
            let kit = Kit {
                ring: process.bo(va, 4096, GTT)?,
                pointers: process.bo(va + (1 << 21), 4096, GTT)?,
                read,
                eop: process.bo(va + (2 << 21), 4096, GTT)?,
                save: process.bo(va + (3 << 21), node.cwsr_total, GTT)?,
            };
            process.kits.push(kit);
        }
        let kind = match seed & PAGE_IN_VRAM {
            0 => GTT,
            _ => VRAM,
        };
        let page = process.bo(process.signals, event::SIGNAL_PAGE_SIZE as u64, kind)?;
        let mut first = event::CreateEventArgs {
            event_page_offset: page.handle,
            event_type: event::EVENT_SIGNAL,
            ..Default::default()
        };
        process.must(&requests::CREATE_EVENT, &mut first)?;
        Ok(process)
    }

    fn must<T: rkfd_uapi::abi::Abi>(
        &self,
        request: &requests::Request<T>,
        args: &mut T,
    ) -> Result<(), String> {
        let start = Instant::now();
        let errno = sys::ioctl(&self.kfd, request.command(), sys::address(args));
        self.shared.count(
            usize::from(request.info.number),
            errno == 0,
            start.elapsed(),
        );
        match errno {
            0 => Ok(()),
            e => Err(format!(
                "{}: {}",
                request.info.name,
                rkfd_bare::errno::name(e)
            )),
        }
    }

    /// A buffer object that is mapped on the GPU, and into the process at the same address, as ROCm has them.
    fn bo(&self, va: u64, size: u64, flags: u32) -> Result<Bo, String> {
        let made = self.on_gpu(va, size, 0, flags)?;
        let rw = libc::PROT_READ | libc::PROT_WRITE;
        let len = size as usize;
        let map = task::map_at(&self.render, va, made.offset, len, rw)
            .map_err(|e| format!("mmap: errno {e}"))?;
        let mut pool = self.pool();
        pool.maps.push(Mapping {
            map,
            len,
            writable: true,
        });
        Ok(made)
    }

    /// A page of the process' own memory, mapped on the GPU at the same address. Returns the address.
    fn own(&self, address: u64) -> Result<u64, String> {
        let flags = memory::ALLOC_USERPTR | memory::ALLOC_WRITABLE;
        Ok(self.on_gpu(address, 4096, address, flags)?.va)
    }

    /// A buffer object that is mapped on the GPU. `user` is where it lies if it is the process' own memory.
    fn on_gpu(&self, va: u64, size: u64, user: u64, flags: u32) -> Result<Bo, String> {
        let mut args = memory::AllocMemoryOfGpuArgs {
            va_addr: va,
            size,
            mmap_offset: user,
            gpu_id: self.node.gpu,
            flags,
            ..Default::default()
        };
        self.must(&requests::ALLOC_MEMORY_OF_GPU, &mut args)?;
        let mut map = memory::MapMemoryToGpuArgs {
            handle: args.handle,
            device_ids_array_ptr: self.gpu_ids(),
            n_devices: 1,
            n_success: 0,
        };
        self.must(&requests::MAP_MEMORY_TO_GPU, &mut map)?;
        Ok(Bo {
            handle: args.handle,
            va,
            size,
            offset: args.mmap_offset,
            flags,
        })
    }

    /// What there is. A thread that panics ends the process, so a poisoned lock isn't met.
    pub fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file to which requests go.
    pub fn file(&self, of: Of) -> &OwnedFd {
        match of {
            Of::Kfd => &self.kfd,
            Of::Render => &self.render,
        }
    }

    /// A request of the render node.
    pub fn of_render(&self, info: &IoctlInfo) -> Option<Entry> {
        let is_it = |entry: &&Entry| entry.node == Of::Render && entry.info.number == info.number;
        self.requests.iter().find(is_it).copied()
    }

    /// A request of /dev/kfd by its number.
    pub fn request(&self, number: u8) -> Option<Entry> {
        self.requests
            .get(usize::from(number).checked_sub(1)?)
            .copied()
    }

    /// An array with the GPU's id.
    pub fn gpu_ids(&self) -> u64 {
        self.ids.address
    }

    /// An address in the process' own memory with room for `size` bytes, or less.
    pub fn user_memory(&self, rng: &mut Rng, size: u64) -> u64 {
        let room = (USER as u64).saturating_sub(size).max(4096);
        self.user.address + rng.below(room / 4096) * 4096
    }

    /// The address of a word of that memory which is there.
    pub fn touched(&self, rng: &mut Rng) -> u64 {
        let at = rng.below(USER as u64 / 8) as usize * 8;
        self.user.write(at, 0);
        self.user.address + at as u64
    }

    /// Takes pages away from that memory; they come back empty.
    pub fn drop_user_pages(&self, rng: &mut Rng) {
        let at = rng.below(USER as u64 / 4096) as usize * 4096;
        self.user.dont_need(at, 4096);
    }

    /// Keeps a descriptor that the driver has given.
    pub fn keep_file(&self, rng: &mut Rng, fd: u32) {
        self.keep(rng, sys::own(fd));
    }

    /// Keeps a file, for one that is closed when there are enough.
    pub fn keep(&self, rng: &mut Rng, file: OwnedFd) {
        let mut pool = self.pool();
        if pool.files.len() >= FILES {
            let at = rng.below(FILES as u64) as usize;
            pool.files.swap_remove(at);
        }
        pool.files.push(file);
    }

    /// Runs `threads` threads with so many steps each; `first` numbers them in [`Shared`].
    pub fn run(&self, seed: u64, first: usize, threads: usize, steps: u64) {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || {
                    self.thread(seed ^ ((thread as u64) << 56), first + thread, steps)
                });
            }
        });
    }

    fn thread(&self, seed: u64, thread: usize, steps: u64) {
        let mut rng = Rng::new(seed);
        let Ok(mut sender) = Sender::new(self, thread) else {
            return;
        };
        let acts = Acts::new(self, thread);
        for _ in 0..steps {
            match rng.below(100) {
                0..=24 => sender.any(&mut rng),
                25..=59 => sender.valid(&mut rng),
                60..=84 => sender.burst(&mut rng),
                85 if rng.chance(1, 2) => debugged::one(&mut sender, thread, &mut rng),
                _ => acts.one(&mut rng),
            }
        }
    }
}

/// How a process ends to which the others left no memory to begin with.
pub const NO_MEMORY: i32 = 3;

/// Ends the process for an error.
pub fn end(error: &str) -> ! {
    if error.ends_with("ENOMEM") {
        sys::exit(NO_MEMORY);
    }
    eprintln!("rkfd-fuzz: {error}");
    sys::exit(1);
}
