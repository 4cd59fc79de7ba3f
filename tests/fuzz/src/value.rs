// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values by role: mostly ones that can work, sometimes those of others, of the past, and extremes.

use crate::pool::Pool;
use crate::process::Process;
use crate::role::Role;
use rkfd_bare::rng::Rng;
use rkfd_bare::sys::Map;
use std::os::fd::AsRawFd;

/// First GPU address that processes use; below 2^47.
pub const FIRST_VA: u64 = 0x10_0000_0000;
/// Addresses that are tried: a small range, so that they overlap.
const VA_PAGES: u64 = 1 << 15;
/// An address of the kernel's half.
const KERNEL: u64 = 0xffff_8880_0000_0000;

const EXTREME: [u64; 16] = [
    0,
    1,
    0xfff,
    0x1000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_f000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_f000,
    0x8000_0000_0000,
    1 << 57,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 0xfff,
    u64::MAX,
];
const SIZES: [u64; 12] = [
    1, 1023, 1024, 4095, 4096, 8192, 0x7000, 0x1_0000, 0x10_0000, 0x20_0000, 0x20_1000, 0x40_0000,
];

/// Memory that pointers point to: anything in front, a page that can only be read, and nothing after it.
pub struct Scratch {
    map: Map,
}

/// Bytes of scratch memory that can be written.
const SCRATCH: usize = 16 * 4096;

impl Scratch {
    /// New memory.
    pub fn new() -> Result<Self, i32> {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let map = Map::anonymous(SCRATCH + 2 * 4096, prot, 0)?;
        map.protect(SCRATCH, 4096, libc::PROT_READ)?;
        map.protect(SCRATCH + 4096, 4096, libc::PROT_NONE)?;
        Ok(Self { map })
    }

    /// A pointer to 128 bytes that say so.
    pub fn filled(&self, word: u64) -> u64 {
        for at in (0..128).step_by(8) {
            self.map.write(at, word);
        }
        self.map.address
    }

    /// A pointer to these words.
    pub fn words(&self, words: &[u64]) -> u64 {
        for (n, &word) in words.iter().enumerate() {
            self.map.write(n * 8, word);
        }
        self.map.address
    }

    /// A pointer to handles of synchronisation objects, 32 bits each.
    pub fn syncobjs(&self, rng: &mut Rng, pool: &Pool) -> u64 {
        let at = rng.below(SCRATCH as u64 / 128) as usize * 64;
        let mut handle = || pool.syncobjs.any(rng).map_or(0, u64::from);
        for pair in 0..8 {
            let both = handle() | (handle() << 32);
            self.map.write(at + pair * 8, both);
        }
        self.map.address + at as u64
    }

    /// A pointer to elements that make some sense: GPU ids, events, masks.
    fn pointer(&self, rng: &mut Rng, process: &Process, pool: &Pool) -> u64 {
        let at = rng.below(SCRATCH as u64 / 64) as usize * 64;
        match rng.below(3) {
            0 => {
                let ids = (u64::from(process.node.gpu) << 32) | u64::from(process.node.gpu);
                self.map.write(at, ids);
            }
            // An array of `struct kfd_event_data`: 48 bytes each, the id after 40.
            1 => {
                let room = (SCRATCH - at) / 48;
                for element in 0..room.min(1 + rng.below(8) as usize) {
                    let id = pool.events.any(rng).map_or(rng.below(10), u64::from);
                    self.map.write(at + element * 48, rng.below(3));
                    self.map.write(at + element * 48 + 40, id);
                }
            }
            _ => self.map.write(at, rng.bits()),
        }
        self.map.address + at as u64
    }
}

/// A value for a field of `size` bytes.
pub fn make(role: Role, rng: &mut Rng, process: &Process, pool: &Pool, scratch: &Scratch) -> u64 {
    if rng.chance(1, 24) {
        return rng.pick(&EXTREME);
    }
    if rng.chance(1, 64) {
        return rng.bits();
    }
    match role {
        Role::Gpu => u64::from(process.node.gpu),
        Role::Handle => handle(rng, process, pool),
        Role::Va => va(rng, pool),
        Role::Size => rng.pick(&SIZES),
        Role::Event => match rng.chance(1, 8) {
            true => process.shared.foreign(rng.bits()) & 0xffff_ffff,
            false => pool.events.any(rng).map_or(rng.below(20), u64::from),
        },
        Role::Queue => match rng.chance(1, 8) {
            true => process.shared.foreign(rng.bits()) & 0xffff_ffff,
            false => pool
                .queues
                .any(rng)
                .map_or(rng.below(20), |q| u64::from(q.id)),
        },
        Role::Fd => match rng.below(4) {
            0 => process.render.as_raw_fd() as u64,
            1 => process.kfd.as_raw_fd() as u64,
            2 => rng.below(64),
            _ => rng.maybe(&pool.files).map_or(0, |f| f.as_raw_fd() as u64),
        },
        Role::Gem => pool.gems.any(rng).map_or(rng.below(4), u64::from),
        Role::Syncobj => pool.syncobjs.any(rng).map_or(rng.below(4), u64::from),
        Role::Syncobjs => scratch.syncobjs(rng, pool),
        Role::Pointer => match rng.below(10) {
            0 => 0,
            1 => KERNEL + rng.below(1 << 30),
            // Reaches into what can't be written, or isn't there.
            2 => {
                scratch.map.address + (SCRATCH + rng.pick(&[0usize, 4088, 4096, 8184])) as u64 - 16
            }
            _ => scratch.pointer(rng, process, pool),
        },
        Role::Flags => (0..rng.below(4)).fold(0, |bits, _| bits | (1 << rng.below(32))),
        Role::Count => rng.pick(&[0, 1, 1, 1, 2, 3, 8, 32, 64, 1024, 4096, 4097]),
        Role::Timeout => rng.pick(&[0, 0, 1, 2, 5, 10, 50]),
        Role::Pid => match rng.below(8) {
            0 => process.shared.foreign(rng.bits()) & 0xffff,
            1 => rng.below(300),
            _ => u64::from(std::process::id()),
        },
        Role::Small => rng.pick(&[0, 1, 2, 3, 4, 7, 8, 15, 16, 100, 101, 255, 256]),
        Role::Out => rng.below(4),
    }
}

fn handle(rng: &mut Rng, process: &Process, pool: &Pool) -> u64 {
    match rng.chance(1, 10) {
        true => process.shared.foreign(rng.bits()),
        false => pool.bos.any(rng).map_or(0, |bo| bo.handle),
    }
}

/// An address: of a buffer, near one, or free.
pub fn va(rng: &mut Rng, pool: &Pool) -> u64 {
    let free = FIRST_VA + rng.below(VA_PAGES) * 4096;
    match rng.below(6) {
        0 => free | rng.below(4096),
        1 | 2 => pool.bos.any(rng).map_or(free, |bo| bo.va),
        3 => pool
            .bos
            .any(rng)
            .map_or(free, |bo| bo.va.wrapping_add(bo.size).wrapping_sub(4096)),
        _ => free,
    }
}
