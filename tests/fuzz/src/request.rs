// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests: made from their tables, or as in `valid.rs`, sent, and what is learned from the answer.

use crate::counted;
use crate::pool::{Bo, Queue};
use crate::process::Process;
use crate::role::{self, Role};
use crate::table::{Entry, Node};
use crate::value::{self, Scratch};
use rkfd_bare::rng::Rng;
use rkfd_bare::sys;
use rkfd_bare::task::Timer;
use rkfd_uapi::abi::Abi;
use rkfd_uapi::ioctl::{self, nr};
use rkfd_uapi::{gem, memory};
use std::time::Instant;

/// Room for the largest argument that an encoded size can name.
const ROOM: usize = ioctl::SIZE_MAX / 8 + 1;
/// Requests of a burst: the neighbours of one, each with one field changed.
const BURST: u64 = 48;
/// Requests for which the driver asks the GPU, or clears memory: seldom in bursts, which are to be many calls.
const SLOW: [u8; 10] = [
    nr::SET_CU_MASK,
    nr::CREATE_QUEUE,
    nr::DESTROY_QUEUE,
    nr::UPDATE_QUEUE,
    nr::RUNTIME_ENABLE,
    nr::ALLOC_QUEUE_GWS,
    nr::ALLOC_MEMORY_OF_GPU,
    nr::FREE_MEMORY_OF_GPU,
    nr::MAP_MEMORY_TO_GPU,
    nr::UNMAP_MEMORY_FROM_GPU,
];

/// Elements of an array of handles, at most: the core of DRM allocates one for as many as a program names, and warns
/// when that is more than the page allocator has at once, whatever the driver.
const HANDLES: u64 = 4097;
/// How long a wait for synchronisation objects may last, in nanoseconds.
const WAIT: u64 = 20_000_000;

/// A thread's means to send requests.
pub struct Sender<'a> {
    pub(crate) process: &'a Process,
    thread: usize,
    pub(crate) scratch: Scratch,
    pub(crate) argument: Box<[u64; ROOM]>,
    timer: Timer,
}

impl<'a> Sender<'a> {
    /// For the thread with this number.
    pub fn new(process: &'a Process, thread: usize) -> Result<Self, i32> {
        Ok(Self {
            process,
            thread,
            scratch: Scratch::new()?,
            argument: Box::new([0; ROOM]),
            timer: Timer::new()?,
        })
    }

    /// One request, whatever it is.
    pub fn any(&mut self, rng: &mut Rng) {
        if let Some(entry) = self.anything(rng) {
            self.send(rng, &entry);
        }
    }

    /// One request and its neighbours: the same with one field changed, which most often is one that is refused.
    /// Nothing is awaited in between.
    pub fn burst(&mut self, rng: &mut Rng) {
        let entry = match rng.below(2) {
            0 => self.anything(rng),
            _ => self.something_valid(rng),
        };
        let slow_too = rng.chance(1, 16);
        let fits = |entry: &Entry| !entry.fields.is_empty() && (slow_too || !is_slow(entry));
        let Some(entry) = entry.filter(fits) else {
            return;
        };
        let first = self.argument.clone();
        for _ in 0..BURST {
            self.argument.copy_from_slice(&first[..]);
            let at = rng.below(entry.fields.len() as u64) as usize;
            self.change(rng, &entry, at);
            self.send(rng, &entry);
        }
    }

    /// Makes a request each of whose fields has some value of its kind.
    fn anything(&mut self, rng: &mut Rng) -> Option<Entry> {
        let &entry = rng.maybe(&self.process.requests)?;
        self.argument.fill(0);
        for at in 0..entry.fields.len() {
            self.change(rng, &entry, at);
        }
        Some(entry)
    }

    /// A request that can work, sometimes with one field changed.
    pub fn valid(&mut self, rng: &mut Rng) {
        let Some(entry) = self.something_valid(rng) else {
            return;
        };
        if rng.chance(1, 5) && !entry.fields.is_empty() {
            let at = rng.below(entry.fields.len() as u64) as usize;
            self.change(rng, &entry, at);
        }
        self.send(rng, &entry);
    }

    /// Gives a field another value.
    pub(crate) fn change(&mut self, rng: &mut Rng, entry: &Entry, at: usize) {
        let field = &entry.fields[at];
        let role = role::of(entry, field.name).unwrap_or(Role::Out);
        let pool = self.process.pool();
        let value = value::make(role, rng, self.process, &pool, &self.scratch);
        let bytes = value.to_le_bytes();
        let room = self.bytes();
        let len = field.size.min(8);
        room[field.offset..field.offset + len].copy_from_slice(&bytes[..len]);
    }

    fn bytes(&mut self) -> &mut [u8] {
        sys::words_as_bytes(&mut self.argument[..])
    }

    pub(crate) fn put<T: Abi>(&mut self, args: &T) {
        let bytes = sys::bytes(args);
        self.bytes()[..bytes.len()].copy_from_slice(&bytes);
    }

    pub(crate) fn field(&mut self, entry: &Entry, name: &str) -> u64 {
        let Some(field) = entry.fields.iter().find(|f| f.name == name) else {
            return 0;
        };
        let mut value = [0; 8];
        let len = field.size.min(8);
        value[..len].copy_from_slice(&self.bytes()[field.offset..field.offset + len]);
        u64::from_le_bytes(value)
    }

    /// Nothing is asked for yet.
    pub(crate) fn clear(&mut self) {
        self.argument.fill(0);
    }

    /// Sends the argument.
    pub(crate) fn send(&mut self, rng: &mut Rng, entry: &Entry) {
        let mut command = entry.info.command;
        if rng.chance(1, 50) {
            let size = rng.pick(&[0, 1, 4, 8, entry.size + 8, ioctl::SIZE_MAX]);
            let direction = ioctl::ioc_direction(command);
            command = ioctl::ioc(direction, entry.kind(), entry.info.number, size);
        }
        let signals = self.bound(rng, entry);
        let operation = self.operation(entry);
        if signals > 0 {
            self.timer.set(signals);
        }
        self.process.shared.doing(self.thread, Some(entry.slot()));
        let address = self.argument.as_mut_ptr() as u64;
        let start = Instant::now();
        let errno = sys::ioctl(self.process.file(entry.node), command, address);
        if signals > 0 {
            self.timer.set(0);
        }
        self.process.shared.doing(self.thread, None);
        if let Some(op) = operation {
            let slot = counted::operation(op);
            self.process.shared.count(slot, errno == 0, start.elapsed());
        }
        self.process
            .shared
            .count(entry.slot(), errno == 0, start.elapsed());
        // The driver answers as much as the command's size tells; what is behind it is still what was asked.
        let is_answered = errno == 0 && command == entry.info.command;
        match entry.node {
            Node::Kfd if is_answered => self.learn(rng, entry),
            Node::Render if is_answered => self.learn_of_render(rng, entry),
            _ => {}
        }
    }

    /// Bounds what would keep the thread until somebody signals, and how many handles there are. Returns after how
    /// many milliseconds the thread is to get a signal, which ends what it waits for; 0 for never.
    fn bound(&mut self, rng: &mut Rng, entry: &Entry) -> i64 {
        match entry.node {
            Node::Kfd => match entry.info.number {
                nr::WAIT_EVENTS if rng.chance(1, 8) => return 5 + rng.below(20) as i64,
                nr::WAIT_EVENTS => self.limit(entry, "timeout", 50),
                // Both wait for a debugger.
                nr::RUNTIME_ENABLE | nr::DESTROY_QUEUE => return 10,
                _ => {}
            },
            Node::Render => {
                let end = sys::clock(libc::CLOCK_MONOTONIC) + WAIT;
                self.limit(entry, "timeout_nsec", end);
                self.limit(entry, "count_handles", HANDLES);
                self.limit(entry, "num_syncobj_handles", HANDLES);
            }
        }
        0
    }

    /// Changes a field, if there is such a one, that is larger.
    fn limit(&mut self, entry: &Entry, name: &str, largest: u64) {
        let Some(field) = entry.fields.iter().find(|f| f.name == name) else {
            return;
        };
        let bytes = self.field(entry, name).min(largest).to_le_bytes();
        let len = field.size.min(8);
        self.bytes()[field.offset..field.offset + len].copy_from_slice(&bytes[..len]);
    }

    /// Notes what a request has made or ended.
    fn learn(&mut self, rng: &mut Rng, entry: &Entry) {
        let process = self.process;
        let mut field = |name| self.field(entry, name);
        match entry.info.number {
            nr::ALLOC_MEMORY_OF_GPU => {
                let bo = Bo {
                    handle: field("handle"),
                    va: field("va_addr"),
                    size: field("size"),
                    offset: field("mmap_offset"),
                    flags: field("flags") as u32,
                };
                process.shared.publish(rng.bits(), bo.handle);
                process.pool().bos.add(bo);
            }
            nr::IMPORT_DMABUF => {
                let (handle, va) = (field("handle"), field("va_addr"));
                let (size, offset, flags) = (4096, 0, memory::ALLOC_GTT);
                process.pool().bos.add(Bo {
                    handle,
                    va,
                    size,
                    offset,
                    flags,
                });
            }
            nr::FREE_MEMORY_OF_GPU => {
                let handle = field("handle");
                process.pool().bos.remove(|bo| bo.handle == handle);
            }
            nr::CREATE_QUEUE => {
                let id = field("queue_id") as u32;
                let ring = field("ring_base_address");
                let kit = process.kits.iter().position(|kit| kit.ring.va == ring);
                let doorbell = field("doorbell_offset");
                process.shared.publish(rng.bits(), u64::from(id));
                process.pool().queues.add(Queue {
                    id,
                    doorbell,
                    kit: kit.unwrap_or(0),
                });
            }
            nr::DESTROY_QUEUE => {
                let id = field("queue_id") as u32;
                process.pool().queues.remove(|queue| queue.id == id);
            }
            nr::CREATE_EVENT => {
                let id = field("event_id") as u32;
                process.shared.publish(rng.bits(), u64::from(id));
                process.pool().events.add(id);
            }
            nr::DESTROY_EVENT => {
                let id = field("event_id") as u32;
                process.pool().events.remove(|event| *event == id);
            }
            nr::EXPORT_DMABUF => process.keep_file(rng, field("dmabuf_fd") as u32),
            nr::SMI_EVENTS => process.keep_file(rng, field("anon_fd") as u32),
            _ => {}
        }
    }
}

/// Whether a request is one of [`SLOW`], or does the same by the render node.
fn is_slow(entry: &Entry) -> bool {
    match entry.node {
        Node::Kfd => SLOW.contains(&entry.info.number),
        Node::Render => [&gem::GEM_CREATE.info, &gem::GEM_VA.info]
            .iter()
            .any(|info| info.number == entry.info.number),
    }
}
