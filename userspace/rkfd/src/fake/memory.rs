// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory objects, and where an address leads.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::Arc;

use rkfd_uapi::memory::{AllocMemoryOfGpuArgs, ALLOC_KINDS};
use rustix::fs::ftruncate;
use rustix::io::Errno;

use super::{Inner, State, GPU_ID};
use crate::driver::lock;
use crate::sys::map::Mapping;

#[derive(Debug)]
pub(super) struct Object {
    pub(super) va: u64,
    pub(super) size: u64,
    pub(super) mapped: bool,
    /// The device's own view of its memory.
    pub(super) memory: Arc<Mapping>,
}

/// An address that the GPU can't access.
#[derive(Debug)]
pub(super) struct Fault(pub(super) u64);

/// Where an address leads.
#[derive(Debug)]
pub(super) struct Place {
    address: u64,
    /// The first address behind the object.
    end: u64,
    /// The object's memory, which stays as long as this does.
    memory: Arc<Mapping>,
    offset: usize,
}

impl Place {
    pub(super) fn word64(&self, at: usize) -> Result<&AtomicU64, Fault> {
        let word = self.memory.word64(self.offset + at);
        word.ok_or(Fault(self.address + at as u64))
    }

    pub(super) fn word32(&self, at: usize) -> Result<&AtomicU32, Fault> {
        let words = self.memory.words32(self.offset + at, 1);
        let word = words.and_then(<[AtomicU32]>::first);
        word.ok_or(Fault(self.address + at as u64))
    }

    pub(super) fn words32(&self, count: usize) -> Result<&[AtomicU32], Fault> {
        let words = self.memory.words32(self.offset, count);
        words.ok_or(Fault(match self.offset % 4 {
            0 => self.end,
            _ => self.address,
        }))
    }
}

impl State {
    /// Where an address leads.
    pub(super) fn reach(&self, address: u64) -> Result<Place, Fault> {
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

impl Inner {
    pub(super) fn alloc(&self, args: &mut AllocMemoryOfGpuArgs) -> Result<(), Errno> {
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

    pub(super) fn reach(&self, address: u64) -> Result<Place, Fault> {
        lock(&self.state).reach(address)
    }
}
