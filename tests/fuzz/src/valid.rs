// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that can work: what a program asks for that means it.

use crate::request::Sender;
use crate::role::Role;
use crate::table::Entry;
use crate::value;
use rkfd_bare::rng::Rng;
use rkfd_uapi::ioctl::nr;
use rkfd_uapi::{event, memory, queue};
use std::os::fd::AsRawFd;

impl Sender<'_> {
    /// Makes a request that can work.
    pub(crate) fn something_valid(&mut self, rng: &mut Rng) -> Option<Entry> {
        self.argument.fill(0);
        let number = match rng.below(36) {
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
            19 => self.by_role(rng, nr::DESTROY_EVENT),
            20 => self.cu_mask(rng),
            21 => self.wave_state(rng),
            22 => self.export(rng),
            23 => self.of_a_file(rng),
            24..=27 => self.trap_self(rng),
            28 => self.runtime(rng),
            _ => return self.something_of_render(rng),
        };
        self.process.request(number)
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
            read_pointer_address: kit.read,
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

    /// All compute units that the mask's words name, or some of them.
    fn cu_mask(&mut self, rng: &mut Rng) -> u8 {
        let bits = rng.pick(&[32, 64, 128, 1024]);
        let some = rng.bits() | 3;
        let mask = rng.pick(&[u64::MAX, some]);
        let Some(queue) = self.process.pool().queues.any(rng) else {
            return nr::GET_VERSION;
        };
        self.put(&queue::SetCuMaskArgs {
            queue_id: queue.id,
            num_cu_mask: bits,
            cu_mask_ptr: self.scratch.filled(mask),
        });
        nr::SET_CU_MASK
    }

    /// Of a queue that may be off, into its own save area or where there is less room.
    fn wave_state(&mut self, rng: &mut Rng) -> u8 {
        let pool = self.process.pool();
        let Some(queue) = pool.queues.any(rng) else {
            return nr::GET_VERSION;
        };
        // The kits' mappings come first, four of each.
        let area = pool.maps.get(queue.kit * 4 + 3).map(|m| m.map.address);
        drop(pool);
        let less = self.process.user_memory(rng, 4096);
        self.put(&queue::GetQueueWaveStateArgs {
            ctl_stack_address: rng.pick(&[area.unwrap_or(less), less]),
            queue_id: queue.id,
            ..Default::default()
        });
        nr::GET_QUEUE_WAVE_STATE
    }

    fn export(&mut self, rng: &mut Rng) -> u8 {
        let bo = self.process.pool().bos.any(rng);
        let exportable = memory::ALLOC_VRAM | memory::ALLOC_GTT;
        self.put(&memory::ExportDmabufArgs {
            handle: bo
                .filter(|bo| bo.flags & exportable != 0)
                .map_or(0, |bo| bo.handle),
            flags: rng.pick(&[0, libc::O_CLOEXEC as u32, libc::O_RDWR as u32]),
            dmabuf_fd: 0,
        });
        nr::EXPORT_DMABUF
    }

    /// What a file that may be a DMA-buf holds, or a buffer made of it.
    fn of_a_file(&mut self, rng: &mut Rng) -> u8 {
        let va_addr = value::va(rng, &self.process.pool()) & !0xfff;
        let pool = self.process.pool();
        let dmabuf_fd = rng
            .maybe(&pool.files)
            .map_or(0, |file| file.as_raw_fd() as u32);
        drop(pool);
        if rng.chance(1, 2) {
            self.put(&memory::ImportDmabufArgs {
                va_addr,
                handle: 0,
                gpu_id: self.process.node.gpu,
                dmabuf_fd,
            });
            return nr::IMPORT_DMABUF;
        }
        self.put(&memory::GetDmabufInfoArgs {
            metadata_ptr: self.scratch.filled(0),
            metadata_size: rng.pick(&[0, 64, 4096]),
            dmabuf_fd,
            ..Default::default()
        });
        nr::GET_DMABUF_INFO
    }
}
