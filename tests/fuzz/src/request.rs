// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests: made from their tables or from what works, sent, and what is learned from the answer.

use crate::pool::{Bo, Queue};
use crate::process::Process;
use crate::role::{self, Role};
use crate::table::Entry;
use crate::value::{self, Scratch};
use rkfd_bare::rng::Rng;
use rkfd_bare::sys;
use rkfd_uapi::abi::Abi;
use rkfd_uapi::ioctl::{self, nr};
use rkfd_uapi::{event, memory, queue};
use std::time::Instant;

/// Room for the largest argument that an encoded size can name.
const ROOM: usize = ioctl::SIZE_MAX / 8 + 1;

/// A thread's means to send requests.
pub struct Sender<'a> {
    process: &'a Process,
    thread: usize,
    scratch: Scratch,
    argument: Box<[u64; ROOM]>,
}

impl<'a> Sender<'a> {
    /// For the thread with this number.
    pub fn new(process: &'a Process, thread: usize) -> Result<Self, i32> {
        Ok(Self {
            process,
            thread,
            scratch: Scratch::new()?,
            argument: Box::new([0; ROOM]),
        })
    }

    /// One request, whatever it is.
    pub fn any(&mut self, rng: &mut Rng) {
        let Some(&entry) = rng.maybe(&self.process.requests) else {
            return;
        };
        self.argument.fill(0);
        for at in 0..entry.fields.len() {
            self.change(rng, &entry, at);
        }
        self.send(rng, &entry);
    }

    /// A request that can work, sometimes with one field changed.
    pub fn valid(&mut self, rng: &mut Rng) {
        self.argument.fill(0);
        let number = match rng.below(20) {
            0..=4 => self.alloc(rng),
            5..=7 => self.map(rng, nr::MAP_MEMORY_TO_GPU),
            8 => self.map(rng, nr::UNMAP_MEMORY_FROM_GPU),
            9 | 10 => self.by_role(rng, nr::FREE_MEMORY_OF_GPU),
            11 | 12 => self.queue(rng),
            13 => self.by_role(rng, nr::DESTROY_QUEUE),
            14 => self.update(rng),
            15 | 16 => self.event(rng),
            17 => self.wait(rng),
            18 => self.by_role(rng, nr::SET_EVENT),
            _ => self.by_role(rng, nr::DESTROY_EVENT),
        };
        let Some(entry) = self.process.request(number) else {
            return;
        };
        if rng.chance(1, 5) && !entry.fields.is_empty() {
            let at = rng.below(entry.fields.len() as u64) as usize;
            self.change(rng, &entry, at);
        }
        self.send(rng, &entry);
    }

    /// Gives a field another value.
    fn change(&mut self, rng: &mut Rng, entry: &Entry, at: usize) {
        let field = &entry.fields[at];
        let role = role::of(field.name).unwrap_or(Role::Out);
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

    fn put<T: Abi>(&mut self, args: &T) {
        let bytes = sys::bytes(args);
        self.bytes()[..bytes.len()].copy_from_slice(&bytes);
    }

    fn field(&mut self, entry: &Entry, name: &str) -> u64 {
        let Some(field) = entry.fields.iter().find(|f| f.name == name) else {
            return 0;
        };
        let mut value = [0; 8];
        let len = field.size.min(8);
        value[..len].copy_from_slice(&self.bytes()[field.offset..field.offset + len]);
        u64::from_le_bytes(value)
    }

    /// Sends the argument.
    fn send(&mut self, rng: &mut Rng, entry: &Entry) {
        let mut command = entry.info.command;
        if rng.chance(1, 50) {
            let size = rng.pick(&[0, 1, 4, 8, entry.size + 8, ioctl::SIZE_MAX]);
            let direction = ioctl::ioc_direction(command);
            command = ioctl::ioc(direction, ioctl::TYPE, entry.info.number, size);
        }
        // A wait without an end would keep the thread until somebody signals.
        if entry.info.number == nr::WAIT_EVENTS {
            let timeout = (self.field(entry, "timeout") as u32).min(50);
            let args = self.bytes();
            args[16..20].copy_from_slice(&timeout.to_le_bytes());
        }
        self.process
            .shared
            .doing(self.thread, Some(entry.info.number));
        let address = self.argument.as_mut_ptr() as u64;
        let start = Instant::now();
        let errno = sys::ioctl(&self.process.kfd, command, address);
        self.process.shared.doing(self.thread, None);
        self.process
            .shared
            .count(entry.info.number, errno == 0, start.elapsed());
        if errno == 0 {
            self.learn(rng, entry);
        }
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

    fn alloc(&mut self, rng: &mut Rng) -> u8 {
        let kind = rng.pick(&[
            memory::ALLOC_VRAM,
            memory::ALLOC_VRAM,
            memory::ALLOC_GTT,
            memory::ALLOC_GTT,
            memory::ALLOC_USERPTR,
            memory::ALLOC_DOORBELL,
            memory::ALLOC_MMIO_REMAP,
        ]);
        let size = match kind {
            memory::ALLOC_DOORBELL => 8192,
            memory::ALLOC_MMIO_REMAP => 4096,
            _ if rng.chance(1, 100) => 16 << 20,
            _ => rng.pick(&[4096, 4096, 8192, 0x1_0000, 0x20_0000]),
        };
        let bits = [
            memory::ALLOC_WRITABLE,
            memory::ALLOC_EXECUTABLE,
            memory::ALLOC_PUBLIC,
            memory::ALLOC_NO_SUBSTITUTE,
            memory::ALLOC_COHERENT,
            memory::ALLOC_UNCACHED,
        ];
        let flags = (0..rng.below(4)).fold(kind, |flags, _| flags | rng.pick(&bits));
        let user = self.process.user_memory(rng, size);
        let args = memory::AllocMemoryOfGpuArgs {
            va_addr: value::va(rng, &self.process.pool()) & !0xfff,
            size,
            mmap_offset: if kind == memory::ALLOC_USERPTR {
                user
            } else {
                0
            },
            gpu_id: self.process.node.gpu,
            flags,
            ..Default::default()
        };
        self.put(&args);
        nr::ALLOC_MEMORY_OF_GPU
    }

    fn map(&mut self, rng: &mut Rng, number: u8) -> u8 {
        let handle = self.process.pool().bos.any(rng).map_or(0, |bo| bo.handle);
        self.put(&memory::MapMemoryToGpuArgs {
            handle,
            device_ids_array_ptr: self.process.gpu_ids(),
            n_devices: 1,
            n_success: 0,
        });
        number
    }

    fn queue(&mut self, rng: &mut Rng) -> u8 {
        let kit = self.process.kits[rng.below(self.process.kits.len() as u64) as usize];
        self.put(&queue::CreateQueueArgs {
            ring_base_address: kit.ring.va,
            write_pointer_address: kit.pointers.va,
            read_pointer_address: kit.pointers.va + 8,
            ring_size: 4096,
            gpu_id: self.process.node.gpu,
            queue_type: rng.pick(&[
                queue::QUEUE_TYPE_COMPUTE_AQL,
                queue::QUEUE_TYPE_COMPUTE_AQL,
                queue::QUEUE_TYPE_COMPUTE,
                queue::QUEUE_TYPE_SDMA,
                queue::QUEUE_TYPE_SDMA_XGMI,
                queue::QUEUE_TYPE_SDMA_BY_ENG_ID,
            ]),
            queue_percentage: 100,
            queue_priority: rng.below(16) as u32,
            eop_buffer_address: kit.eop.va,
            eop_buffer_size: kit.eop.size,
            ctx_save_restore_address: kit.save.va,
            ctx_save_restore_size: self.process.node.cwsr,
            ctl_stack_size: self.process.node.ctl_stack,
            ..Default::default()
        });
        nr::CREATE_QUEUE
    }

    fn update(&mut self, rng: &mut Rng) -> u8 {
        let Some(queue) = self.process.pool().queues.any(rng) else {
            return nr::GET_VERSION;
        };
        self.put(&queue::UpdateQueueArgs {
            ring_base_address: rng.pick(&[0, self.process.kits[queue.kit].ring.va]),
            queue_id: queue.id,
            ring_size: rng.pick(&[0, 1024, 4096]),
            queue_percentage: rng.pick(&[0, 50, 100]),
            queue_priority: rng.below(16) as u32,
        });
        nr::UPDATE_QUEUE
    }

    fn event(&mut self, rng: &mut Rng) -> u8 {
        self.put(&event::CreateEventArgs {
            event_type: rng.pick(&[
                event::EVENT_SIGNAL,
                event::EVENT_MEMORY,
                event::EVENT_HW_EXCEPTION,
                event::EVENT_DEBUG_EVENT,
            ]),
            auto_reset: rng.below(2) as u32,
            event_page_offset: 0,
            ..Default::default()
        });
        nr::CREATE_EVENT
    }

    fn wait(&mut self, rng: &mut Rng) -> u8 {
        let pool = self.process.pool();
        let events_ptr = value::make(Role::Pointer, rng, self.process, &pool, &self.scratch);
        drop(pool);
        self.put(&event::WaitEventsArgs {
            events_ptr,
            num_events: 1 + rng.below(4) as u32,
            wait_for_all: rng.below(2) as u32,
            timeout: rng.pick(&[0, 1, 5, 20]),
            wait_result: 0,
        });
        nr::WAIT_EVENTS
    }

    /// A request all of whose fields follow from their roles.
    fn by_role(&mut self, rng: &mut Rng, number: u8) -> u8 {
        if let Some(entry) = self.process.request(number) {
            for at in 0..entry.fields.len() {
                self.change(rng, &entry, at);
            }
        }
        number
    }
}
