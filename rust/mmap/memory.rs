// SPDX-License-Identifier: GPL-2.0

//! How much memory a process has mapped by /dev/kfd in a file's address space, for people to look at: buffers that the
//! file has GEM handles to are the DRM core's to list.
//!
//! Source: Linux, `amdgpu_vm_update_stats_locked`: an object counts from when it is mapped the first time until it goes.

use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            AtomicFlag,
            Full,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// Bytes of a kind of memory.
struct Kind {
    private: Atomic<u64>,
    shared: Atomic<u64>,
}

/// Bytes of a kind of memory as they are.
pub(crate) struct Bytes {
    /// Of objects that nobody else has.
    pub(crate) private: u64,
    /// Of objects that went out or came in as DMA-bufs.
    pub(crate) shared: u64,
}

/// The counts of a file.
pub(crate) struct FileMemory {
    vram: Kind,
    system: Kind,
}

impl FileMemory {
    /// Nothing yet.
    pub(super) fn new() -> Result<Arc<Self>> {
        let kind = || Kind {
            private: Atomic::new(0),
            shared: Atomic::new(0),
        };
        let memory = Self {
            vram: kind(),
            system: kind(),
        };
        Ok(Arc::new(memory, GFP_KERNEL_ACCOUNT)?)
    }

    fn kind(&self, vram: bool) -> &Kind {
        match vram {
            true => &self.vram,
            false => &self.system,
        }
    }

    /// How much VRAM, or of the system's memory, there is.
    pub(crate) fn bytes(&self, vram: bool) -> Bytes {
        let kind = self.kind(vram);
        Bytes {
            private: kind.private.load(Relaxed),
            shared: kind.shared.load(Relaxed),
        }
    }

    /// Counts an object, until the result is dropped.
    pub(crate) fn count(self: &Arc<Self>, vram: bool, bytes: u64, shared: bool) -> MemoryUse {
        let kind = self.kind(vram);
        match shared {
            true => kind.shared.fetch_add(bytes, Relaxed),
            false => kind.private.fetch_add(bytes, Relaxed),
        };
        MemoryUse {
            memory: self.clone(),
            vram,
            bytes,
            shared: AtomicFlag::new(shared),
        }
    }
}

/// An object that is counted.
pub(crate) struct MemoryUse {
    memory: Arc<FileMemory>,
    vram: bool,
    bytes: u64,
    shared: AtomicFlag,
}

impl MemoryUse {
    /// It went out as a DMA-buf.
    pub(crate) fn share(&self) {
        if !self.shared.xchg(true, Full) {
            let kind = self.memory.kind(self.vram);
            kind.private.fetch_sub(self.bytes, Relaxed);
            kind.shared.fetch_add(self.bytes, Relaxed);
        }
    }
}

impl Drop for MemoryUse {
    fn drop(&mut self) {
        let kind = self.memory.kind(self.vram);
        match self.shared.load(Relaxed) {
            true => kind.shared.fetch_sub(self.bytes, Relaxed),
            false => kind.private.fetch_sub(self.bytes, Relaxed),
        };
    }
}
