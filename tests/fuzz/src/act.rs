// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program does beside requests: mappings, garbage in what the GPU reads, dispatches, descriptors that
//! travel, files that are read, and children.

use crate::dispatch;
use crate::look;
use crate::memory as sides;
use crate::pool::{Mapping, Queue};
use crate::process::Process;
use crate::table::Node;
use rkfd_bare::files;
use rkfd_bare::rng::Rng;
use rkfd_bare::sys::{self, Map};
use rkfd_uapi::{debug, memory};
use std::mem::offset_of;
use std::time::Instant;

/// Mappings that are kept.
const MAPS: usize = 48;
/// Offsets in the header of a save area: the address of the word for errors, and the event's id.
const HEADER_WORD: usize = offset_of!(debug::ContextSaveAreaHeader, err_payload_addr);
const HEADER_EVENT: usize = offset_of!(debug::ContextSaveAreaHeader, err_event_id);
const RW: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// A thread's acts.
pub struct Acts<'a> {
    process: &'a Process,
    thread: usize,
}

impl<'a> Acts<'a> {
    /// Of the thread with this number.
    pub fn new(process: &'a Process, thread: usize) -> Self {
        Self { process, thread }
    }

    /// One of them.
    pub fn one(&self, rng: &mut Rng) {
        self.process.shared.doing(self.thread, Some(0));
        let start = Instant::now();
        match rng.below(100) {
            0..=17 => self.map(rng),
            18 | 19 => self.header(rng),
            20..=27 => self.unmap(rng),
            28..=31 => self.protect(rng),
            32..=33 => self.grow(rng),
            34..=51 => self.garbage(rng),
            52..=59 => self.dispatch(rng),
            60..=74 => self.doorbell(rng),
            75..=82 => self.process.drop_user_pages(rng),
            83..=85 => self.open(rng),
            86..=89 => self.close(rng),
            90..=93 => self.read_and_write(rng),
            94..=96 => {
                (0..8).for_each(|_| look::one(self.process, rng));
                sides::one(self.process, rng);
            }
            97 => self.send(rng),
            98 => self.fork(rng),
            _ => self.exec(),
        }
        self.process.shared.doing(self.thread, None);
        self.process.shared.count(0, true, start.elapsed());
    }

    /// Gives the GPU work to do.
    pub fn work(&self, rng: &mut Rng) {
        match rng.below(8) {
            0 => self.header(rng),
            1 => self.doorbell(rng),
            _ => self.dispatch(rng),
        }
    }

    fn keep(&self, rng: &mut Rng, mapping: Mapping) {
        let mut pool = self.process.pool();
        if pool.maps.len() >= MAPS {
            // The kits' mappings, which come first, stay.
            let first = self.process.kits.len() * 4 + 1;
            let at = first + rng.below((MAPS - first) as u64) as usize;
            pool.maps.swap_remove(at);
        }
        pool.maps.push(mapping);
    }

    /// Maps a buffer, a doorbell, or what isn't there.
    fn map(&self, rng: &mut Rng) {
        let (bo, queue, gem) = {
            let pool = self.process.pool();
            (
                pool.bos.any(rng),
                pool.queues.any(rng),
                pool.offsets.any(rng),
            )
        };
        let gem = gem.filter(|_| rng.chance(1, 4));
        let (mut offset, mut len) = match (rng.below(3), bo, queue) {
            _ if gem.is_some() => (gem.unwrap_or(0), rng.pick(&[4096, 8192, 0x1_0000])),
            (0, _, Some(queue)) => (queue.doorbell & !0x1fff, 8192),
            (_, Some(bo), _) => (bo.offset, bo.size.min(1 << 22)),
            _ => (rng.bits() & !0xfff, 4096),
        };
        if rng.chance(1, 12) {
            offset = offset.wrapping_add(rng.pick(&[4096, 8192, 1 << 20, 1 << 46]));
        }
        if rng.chance(1, 12) {
            len = rng.pick(&[1, 4096, 12288, 1 << 30]);
        }
        let on_kfd = gem.is_none()
            && (bo.is_none_or(|bo| {
                bo.flags & (memory::ALLOC_DOORBELL | memory::ALLOC_MMIO_REMAP) != 0
            }) || offset >> 62 == 3);
        let file = if on_kfd {
            &self.process.kfd
        } else {
            &self.process.render
        };
        let prot = rng.pick(&[RW, RW, libc::PROT_READ, libc::PROT_EXEC | libc::PROT_READ]);
        let flags = rng.pick(&[libc::MAP_SHARED, libc::MAP_SHARED, libc::MAP_PRIVATE]);
        if let Ok(map) = Map::file(file, offset, len as usize, prot, flags) {
            // Doorbells and registers are only stored to by `doorbell`.
            let writable = prot == RW && !on_kfd;
            self.keep(
                rng,
                Mapping {
                    map,
                    len: len as usize,
                    writable,
                },
            );
        }
    }

    fn unmap(&self, rng: &mut Rng) {
        let mut pool = self.process.pool();
        let first = self.process.kits.len() * 4 + 1;
        if pool.maps.len() > first {
            let at = first + rng.below((pool.maps.len() - first) as u64) as usize;
            pool.maps.swap_remove(at);
        }
    }

    fn protect(&self, rng: &mut Rng) {
        let mut pool = self.process.pool();
        let count = pool.maps.len() as u64;
        if let Some(mapping) = pool.maps.get_mut(rng.below(count) as usize) {
            let prot = rng.pick(&[RW, libc::PROT_READ, libc::PROT_NONE]);
            if mapping.map.protect(0, mapping.len, prot).is_ok() {
                mapping.writable = mapping.writable && prot == RW;
            }
        }
    }

    fn grow(&self, rng: &mut Rng) {
        let mut pool = self.process.pool();
        let first = self.process.kits.len() * 4 + 1;
        if pool.maps.len() > first {
            let at = first + rng.below((pool.maps.len() - first) as u64) as usize;
            let mapping = pool.maps.swap_remove(at);
            mapping.map.grow(mapping.len * 2);
        }
    }

    /// Writes words to memory that the GPU may read: rings, pointers, signals, save areas.
    fn garbage(&self, rng: &mut Rng) {
        let pool = self.process.pool();
        let Some(mapping) = rng.maybe(&pool.maps) else {
            return;
        };
        if !mapping.writable || mapping.len < 8 {
            return;
        }
        for _ in 0..1 + rng.below(16) {
            let at = rng.below(mapping.len.min(8192) as u64 / 8) as usize * 8;
            let word = match rng.below(8) {
                0 => 0,
                1 => rng.bits(),
                2 => rng.below(64),
                // Headers of AQL packets: invalid, barrier, dispatch, vendor specific.
                3 => rng.pick(&[0x1501, 0x1503, 0x1502, 0x1500, 0x1505]),
                // PM4 and SDMA packets.
                4 => 0xc000_0000 | rng.below(1 << 24),
                5 => rng.below(16) | (rng.below(1 << 16) << 8),
                6 => crate::value::va(rng, &pool),
                _ => u64::MAX,
            };
            mapping.map.write(at, word);
        }
    }

    /// Names a word and an event in a queue's save area, for what goes wrong in the queue
    /// (`struct kfd_context_save_area_header`).
    fn header(&self, rng: &mut Rng) {
        let pool = self.process.pool();
        let kit = rng.below(self.process.kits.len() as u64) as usize;
        let Some(area) = pool.maps.get(kit * 4 + 3).filter(|area| area.writable) else {
            return;
        };
        let word = match rng.chance(1, 8) {
            true => rng.bits(),
            false => self.process.touched(rng),
        };
        area.map.write(HEADER_WORD, word);
        area.map
            .write(HEADER_EVENT, pool.events.any(rng).map_or(0, u64::from));
    }

    /// Dispatches a kernel on a queue that is there.
    fn dispatch(&self, rng: &mut Rng) {
        let pool = self.process.pool();
        let Some(queue) = pool.queues.live(rng) else {
            return;
        };
        dispatch::write(self.process, &pool, queue.kit, rng);
        drop(pool);
        self.ring(queue, queue.doorbell & 0x1ff8, 1 + rng.below(4));
    }

    /// Rings a doorbell of the process, of a queue or of none.
    fn doorbell(&self, rng: &mut Rng) {
        let Some(queue) = self.process.pool().queues.any(rng) else {
            return;
        };
        let at = match rng.chance(1, 5) {
            true => rng.below(1024) * 8,
            false => queue.doorbell & 0x1ff8,
        };
        self.ring(
            queue,
            at,
            rng.pick(&[0, 1, 2, 3, 63, 64, 1 << 20, u64::MAX]),
        );
    }

    /// Stores to a doorbell at an offset in bytes of the pages in which a queue's is.
    fn ring(&self, queue: Queue, at: u64, value: u64) {
        let offset = queue.doorbell & !0x1fff;
        if let Ok(map) = Map::file(&self.process.kfd, offset, 8192, RW, libc::MAP_SHARED) {
            map.write(at as usize, value);
        }
    }

    /// Another file of a node.
    fn open(&self, rng: &mut Rng) {
        let path = rng.pick(&["/dev/kfd", self.process.node.render.as_str()]);
        // Or memory that another driver exports.
        let file = match rng.chance(1, 3) {
            true => sys::udmabuf(8192).ok(),
            false => sys::open(path).ok(),
        };
        if let Some(file) = file {
            self.process.keep(rng, file);
        }
    }

    fn close(&self, rng: &mut Rng) {
        let mut pool = self.process.pool();
        let count = pool.files.len() as u64;
        if count > 0 {
            pool.files.swap_remove(rng.below(count) as usize);
        }
    }

    /// Reads or writes a file that the driver has given, or one of the nodes.
    fn read_and_write(&self, rng: &mut Rng) {
        let pool = self.process.pool();
        let file = match rng.below(8) {
            0 => Some(&self.process.kfd),
            1 => Some(&self.process.render),
            _ => rng.maybe(&pool.files),
        };
        // What is read may be too short for what is there; what is written to a file of management events are
        // the kinds that are wanted.
        let what = rng.pick(&["read", "read", "write", "lseek"]);
        if let Some(file) = file.and_then(|file| sys::dup(file).ok()) {
            drop(pool);
            // A read of the node waits for an event that never comes.
            files::do_not_wait(&file);
            sys::file_call(&file, what);
        }
    }

    /// Sends a descriptor through a socket to itself.
    fn send(&self, rng: &mut Rng) {
        let file = match rng.below(2) {
            0 => &self.process.kfd,
            _ => &self.process.render,
        };
        if let Ok(received) = sys::send_to_self(file) {
            self.process.keep(rng, received);
        }
    }

    /// A child with the parent's files: it makes requests of /dev/kfd by them and ends without cleaning up.
    fn fork(&self, rng: &mut Rng) {
        let requests = [rng.bits(), rng.bits(), rng.bits()];
        let all = self.process.requests.iter();
        let kfd = all.filter(|entry| entry.node == Node::Kfd).count();
        let mut argument = [0u64; 64];
        match sys::fork() {
            None => {
                for request in requests {
                    let entry = &self.process.requests[request as usize % kfd];
                    argument.fill(request >> 32);
                    sys::ioctl(
                        &self.process.kfd,
                        entry.info.command,
                        argument.as_mut_ptr() as u64,
                    );
                }
                sys::exit(0);
            }
            Some(child) if child > 0 => {
                sys::wait(child);
            }
            Some(_) => {}
        }
    }

    /// A child that becomes another program.
    fn exec(&self) {
        // Whether it works doesn't matter: the files' ends in the child do.
        let _ = std::process::Command::new("/bin/true").status();
    }
}
