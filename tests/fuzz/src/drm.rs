// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests of the render node that can work, and what is learned from their answers.

use crate::request::Sender;
use crate::role::Role;
use crate::table::Entry;
use crate::value;
use rkfd_bare::rng::Rng;
use rkfd_uapi::abi::Abi;
use rkfd_uapi::ioctl::Request;
use rkfd_uapi::{amdgpu, drm, gem, syncobj};
use std::os::fd::AsRawFd;

/// Sizes of buffers.
const SIZES: [u64; 6] = [1, 4096, 4096, 8192, 0x1_0000, 0x20_0000];

impl Sender<'_> {
    fn is<T: Abi>(&mut self, request: &Request<T>, args: &T) -> Option<Entry> {
        self.put(args);
        self.process.of_render(&request.info)
    }

    /// Makes a request of the render node that can work.
    pub(crate) fn something_of_render(&mut self, rng: &mut Rng) -> Option<Entry> {
        match rng.below(24) {
            0..=2 => self.create(rng),
            3 => self.of_own_memory(rng),
            4..=10 => self.of_a_gem(rng),
            11..=13 => self.address(rng),
            14 => self.import(rng),
            15 => self.info(rng),
            16 => self.capability(rng),
            _ => self.of_syncobjs(rng),
        }
    }

    fn create(&mut self, rng: &mut Rng) -> Option<Entry> {
        let flags = [
            0,
            gem::CREATE_CPU_ACCESS_REQUIRED,
            gem::CREATE_NO_CPU_ACCESS,
            gem::CREATE_CPU_GTT_USWC,
            gem::CREATE_VRAM_CLEARED,
            gem::CREATE_VM_ALWAYS_VALID,
            gem::CREATE_VRAM_WIPE_ON_RELEASE,
            gem::CREATE_COHERENT,
        ];
        let domains = [
            gem::DOMAIN_VRAM,
            gem::DOMAIN_GTT,
            gem::DOMAIN_CPU,
            gem::DOMAIN_VRAM | gem::DOMAIN_GTT,
        ];
        let args = gem::GemCreate {
            bo_size: rng.pick(&SIZES),
            alignment: rng.pick(&[0, 4096, 0x1_0000]),
            domains: rng.pick(&domains).into(),
            domain_flags: rng.pick(&flags) | rng.pick(&flags),
        };
        self.is(&gem::GEM_CREATE, &args)
    }

    /// A buffer of the fuzzer's own memory, or the list of buffers.
    fn of_own_memory(&mut self, rng: &mut Rng) -> Option<Entry> {
        let pool = self.process.pool();
        let address = value::make(Role::Pointer, rng, self.process, &pool, &self.scratch);
        drop(pool);
        if rng.chance(1, 4) {
            let args = gem::GemListHandles {
                entries: address,
                num_entries: rng.pick(&[0, 1, 64]),
                padding: 0,
            };
            return self.is(&gem::GEM_LIST_HANDLES, &args);
        }
        let flags = [
            gem::USERPTR_READONLY,
            gem::USERPTR_ANONONLY | gem::USERPTR_REGISTER,
            gem::USERPTR_VALIDATE | gem::USERPTR_REGISTER,
            gem::USERPTR_REGISTER,
        ];
        let args = gem::GemUserptr {
            addr: address & !0xfff,
            size: rng.pick(&SIZES[1..]),
            flags: rng.pick(&flags) | rng.pick(&flags),
            handle: 0,
        };
        self.is(&gem::GEM_USERPTR, &args)
    }

    /// What one may do with a buffer.
    fn of_a_gem(&mut self, rng: &mut Rng) -> Option<Entry> {
        let handle = self.process.pool().gems.any(rng)?;
        match rng.below(7) {
            0 => self.is(&gem::GEM_CLOSE, &gem::GemClose { handle, pad: 0 }),
            1 | 2 => {
                let addr_ptr = handle.into();
                self.is(&gem::GEM_MMAP, &gem::GemMmap { addr_ptr })
            }
            3 => {
                let args = gem::GemMetadata {
                    handle,
                    op: rng.pick(&[gem::METADATA_SET, gem::METADATA_GET]),
                    flags: rng.bits(),
                    tiling_info: rng.bits(),
                    data_size_bytes: rng.pick(&[0, 4, 256]),
                    ..Default::default()
                };
                self.is(&gem::GEM_METADATA, &args)
            }
            4 => {
                let args = gem::GemWaitIdle {
                    handle,
                    ..Default::default()
                };
                self.is(&gem::GEM_WAIT_IDLE, &args)
            }
            5 => {
                let args = gem::GemOp {
                    handle,
                    op: rng.pick(&[
                        gem::OP_GET_GEM_CREATE_INFO,
                        gem::OP_SET_PLACEMENT,
                        gem::OP_GET_MAPPING_INFO,
                    ]),
                    value: self.scratch.filled(0),
                    num_entries: rng.pick(&[0, 1, 16]),
                    ..Default::default()
                };
                self.is(&gem::GEM_OP, &args)
            }
            _ => {
                let args = gem::PrimeHandle {
                    handle,
                    flags: rng.pick(&[0, libc::O_CLOEXEC as u32, libc::O_RDWR as u32]),
                    fd: 0,
                };
                self.is(&gem::PRIME_HANDLE_TO_FD, &args)
            }
        }
    }

    /// Maps a buffer on the GPU, or takes it off.
    fn address(&mut self, rng: &mut Rng) -> Option<Entry> {
        let rights = [
            gem::VM_PAGE_READABLE,
            gem::VM_PAGE_WRITEABLE,
            gem::VM_PAGE_EXECUTABLE,
            gem::VM_MTYPE_UC,
        ];
        let pool = self.process.pool();
        let (wait, tell) = (rng.chance(1, 8), rng.chance(1, 4));
        let args = gem::GemVa {
            handle: pool.gems.any(rng)?,
            operation: rng.pick(&[
                gem::VA_OP_MAP,
                gem::VA_OP_MAP,
                gem::VA_OP_UNMAP,
                gem::VA_OP_CLEAR,
                gem::VA_OP_REPLACE,
            ]),
            flags: rng.pick(&rights) | rng.pick(&rights),
            va_address: value::va(rng, &pool) & !0xfff,
            offset_in_bo: rng.pick(&[0, 0, 4096]),
            map_size: rng.pick(&SIZES[1..]),
            vm_timeline_syncobj_out: match tell {
                true => pool.syncobjs.any(rng).unwrap_or(0),
                false => 0,
            },
            vm_timeline_point: rng.below(4),
            num_syncobj_handles: wait.into(),
            input_fence_syncobj_handles: self.scratch.syncobjs(rng, &pool),
            ..Default::default()
        };
        drop(pool);
        self.is(&gem::GEM_VA, &args)
    }

    /// A handle of a file that may be a DMA-buf, or a synchronisation object.
    fn import(&mut self, rng: &mut Rng) -> Option<Entry> {
        let pool = self.process.pool();
        let fd = rng.maybe(&pool.files)?.as_raw_fd();
        drop(pool);
        if rng.chance(1, 3) {
            let args = syncobj::SyncobjHandle {
                flags: rng.pick(&[0, syncobj::IMPORT_SYNC_FILE]),
                fd,
                ..Default::default()
            };
            return self.is(&syncobj::FD_TO_HANDLE, &args);
        }
        let args = gem::PrimeHandle {
            fd,
            ..Default::default()
        };
        self.is(&gem::PRIME_FD_TO_HANDLE, &args)
    }

    fn info(&mut self, rng: &mut Rng) -> Option<Entry> {
        let args = amdgpu::Info {
            return_pointer: self.scratch.filled(0),
            return_size: rng.pick(&[4, 8, 64, 128]),
            query: rng.below(0x24) as u32,
            of: [rng.below(4) as u32, rng.below(4) as u32, 0, 0],
        };
        self.is(&amdgpu::INFO, &args)
    }

    fn capability(&mut self, rng: &mut Rng) -> Option<Entry> {
        if rng.chance(1, 2) {
            return self.is(&drm::VERSION, &drm::DrmVersion::default());
        }
        let args = drm::DrmGetCap {
            capability: rng.below(0x16),
            value: 0,
        };
        self.is(&drm::GET_CAP, &args)
    }

    fn of_syncobjs(&mut self, rng: &mut Rng) -> Option<Entry> {
        let pool = self.process.pool();
        let handle = pool.syncobjs.any(rng).unwrap_or(0);
        let other = pool.syncobjs.any(rng).unwrap_or(0);
        let handles = self.scratch.syncobjs(rng, &pool);
        let points = value::make(Role::Pointer, rng, self.process, &pool, &self.scratch);
        drop(pool);
        let count_handles = 1 + rng.below(3) as u32;
        let array = syncobj::SyncobjArray {
            handles,
            count_handles,
            pad: 0,
        };
        let timeline = syncobj::SyncobjTimelineArray {
            handles,
            points,
            count_handles,
            flags: 0,
        };
        let wait = rng.pick(&[0, syncobj::WAIT_ALL, syncobj::WAIT_FOR_SUBMIT]);
        let timeout_nsec = rng.pick(&[0, i64::MAX]);
        match rng.below(13) {
            0..=3 => {
                let flags = rng.pick(&[0, syncobj::CREATE_SIGNALED]);
                let args = syncobj::SyncobjCreate { handle: 0, flags };
                self.is(&syncobj::CREATE, &args)
            }
            4 => self.is(
                &syncobj::DESTROY,
                &syncobj::SyncobjDestroy { handle, pad: 0 },
            ),
            5 => {
                let args = syncobj::SyncobjHandle {
                    handle,
                    flags: rng.pick(&[0, syncobj::EXPORT_SYNC_FILE]),
                    ..Default::default()
                };
                self.is(&syncobj::HANDLE_TO_FD, &args)
            }
            6 => self.is(&syncobj::RESET, &array),
            7 | 8 => self.is(&syncobj::SIGNAL, &array),
            9 => {
                let args = syncobj::SyncobjWait {
                    handles,
                    timeout_nsec,
                    count_handles,
                    flags: wait,
                    ..Default::default()
                };
                self.is(&syncobj::WAIT, &args)
            }
            10 => {
                let args = syncobj::SyncobjTimelineWait {
                    handles,
                    points,
                    timeout_nsec,
                    count_handles,
                    flags: wait,
                    ..Default::default()
                };
                self.is(&syncobj::TIMELINE_WAIT, &args)
            }
            11 => {
                let args = syncobj::SyncobjTransfer {
                    src_handle: handle,
                    dst_handle: other,
                    dst_point: rng.below(4),
                    ..Default::default()
                };
                self.is(&syncobj::TRANSFER, &args)
            }
            _ if rng.chance(1, 2) => self.is(&syncobj::QUERY, &timeline),
            _ => self.is(&syncobj::TIMELINE_SIGNAL, &timeline),
        }
    }

    /// Notes what a request of the render node has made or ended.
    pub(crate) fn learn_of_render(&mut self, rng: &mut Rng, entry: &Entry) {
        let process = self.process;
        let is = |info: &rkfd_uapi::ioctl::IoctlInfo| entry.info.number == info.number;
        let mut field = |name| self.field(entry, name);
        if is(&gem::GEM_CREATE.info) {
            process.pool().gems.add(field("bo_size") as u32);
        } else if is(&gem::PRIME_FD_TO_HANDLE.info) {
            process.pool().gems.add(field("handle") as u32);
        } else if is(&gem::GEM_CLOSE.info) {
            let handle = field("handle") as u32;
            process.pool().gems.remove(|gem| *gem == handle);
        } else if is(&gem::GEM_MMAP.info) {
            process.pool().offsets.add(field("addr_ptr"));
        } else if is(&gem::PRIME_HANDLE_TO_FD.info) || is(&syncobj::HANDLE_TO_FD.info) {
            process.keep_file(rng, field("fd") as u32);
        } else if is(&syncobj::CREATE.info) || is(&syncobj::FD_TO_HANDLE.info) {
            process.pool().syncobjs.add(field("handle") as u32);
        } else if is(&syncobj::DESTROY.info) {
            let handle = field("handle") as u32;
            process.pool().syncobjs.remove(|one| *one == handle);
        }
    }
}
