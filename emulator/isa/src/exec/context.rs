// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every operation takes and answers: the wave's surroundings, and what the wave does next.

use crate::cache::Caches;
use crate::decode::{Inst, Op, Scope};
use crate::fault::{Access, FaultKind, MemoryFault, Reason};
use crate::memory::{Env, Tlb, PAGE};
use crate::watch::Watching;
use crate::wave::Wave;

/// What an instruction can reach besides its wave.
pub struct Context<'a> {
    /// The rest of the GPU.
    pub env: &'a mut dyn Env,
    /// The caches, if there are any.
    pub caches: Option<&'a mut Caches>,
    /// Translations.
    pub tlb: &'a mut Tlb,
    /// The workgroup's LDS.
    pub lds: &'a mut [u8],
    /// The process.
    pub vmid: u8,
    /// The workgroup's other waves.
    pub others: Others,
    /// The process's watched addresses.
    pub watching: Watching,
}

/// What a wave can learn of the others in its workgroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Those that have not ended.
    pub going: u32,
    /// Those that have arrived at the barrier.
    pub signalled: u32,
}

/// What the wave does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Goes on.
    Go,
    /// Lets others run first (s_sleep).
    Yield,
    /// Waits at a barrier.
    Barrier,
    /// Runs no more until somebody outside resumes it.
    Halt,
    /// Has ended.
    End,
    /// Has ended, and what it was lies in memory.
    Saved,
}

/// An operation of a wave on its own registers that nothing can refuse, as its decoding finds it.
pub type Step<const L: usize> = fn(&mut Wave<L>, &Inst);

macro_rules! scalar {
    ($load:ident, $store:ident, $update:ident, $int:ty) => {
        /// Load from memory, split into bytes where it crosses a page.
        #[inline]
        pub fn $load(&mut self, va: u64) -> Result<$int, FaultKind> {
            self.touch(va, size_of::<$int>(), Access::Read);
            let at = va as usize % PAGE;
            if at + size_of::<$int>() <= PAGE {
                let page = self.tlb.page(self.env, self.vmid, va, Access::Read)?;
                return Ok(match &mut self.caches {
                    Some(caches) => caches.load(page, at, size_of::<$int>()) as $int,
                    None => page.$load(at),
                });
            }
            let mut bytes = [0; size_of::<$int>()];
            for (n, byte) in bytes.iter_mut().enumerate() {
                let va = va.wrapping_add(n as u64);
                let page = self.tlb.page(self.env, self.vmid, va, Access::Read)?;
                let at = va as usize % PAGE;
                *byte = match &mut self.caches {
                    Some(caches) => caches.load(page, at, 1) as u8,
                    None => page.load_u8(at),
                };
            }
            Ok(<$int>::from_le_bytes(bytes))
        }

        /// Store to memory, split into bytes where it crosses a page.
        #[inline]
        pub fn $store(&mut self, va: u64, value: $int) -> Result<(), FaultKind> {
            self.touch(va, size_of::<$int>(), Access::Write);
            let at = va as usize % PAGE;
            if at + size_of::<$int>() <= PAGE {
                let page = self.tlb.page(self.env, self.vmid, va, Access::Write)?;
                match &mut self.caches {
                    Some(caches) => caches.store(page, at, size_of::<$int>(), value.into()),
                    None => page.$store(at, value),
                }
                return Ok(());
            }
            for (n, byte) in value.to_le_bytes().into_iter().enumerate() {
                let va = va.wrapping_add(n as u64);
                let page = self.tlb.page(self.env, self.vmid, va, Access::Write)?;
                match &mut self.caches {
                    Some(caches) => caches.store(page, va as usize % PAGE, 1, byte.into()),
                    None => page.store_u8(va as usize % PAGE, byte),
                }
            }
            Ok(())
        }

        /// Read, modify and write memory atomically; the old value.
        pub fn $update(&mut self, va: u64, f: impl Fn($int) -> $int) -> Result<$int, FaultKind> {
            self.touch(va, size_of::<$int>(), Access::Atomic);
            let page = self.tlb.page(self.env, self.vmid, va, Access::Atomic)?;
            if let Some(caches) = &mut self.caches {
                caches.settle(page, va as usize % PAGE, size_of::<$int>());
            }
            page.$update(va as usize % PAGE, f)
                .ok_or(FaultKind::Memory(MemoryFault {
                    va,
                    access: Access::Atomic,
                    reason: Reason::Unaligned,
                }))
        }
    };
}

impl Context<'_> {
    /// An access of the instruction to memory.
    #[inline]
    fn touch(&mut self, va: u64, bytes: usize, access: Access) {
        if self.watching.on {
            self.watching.touch(va, bytes, access);
        }
    }

    /// Chooses what an instruction of vector memory reads through.
    #[inline]
    pub(crate) fn vector(&mut self, i: &Inst) {
        self.watching.begin();
        if let Some(caches) = &mut self.caches {
            caches.vector(i);
        }
    }

    /// Chooses the scalar cache.
    #[inline]
    pub(crate) fn scalar(&mut self) {
        self.watching.on = false;
        if let Some(caches) = &mut self.caches {
            caches.scalar();
        }
    }

    /// Executes an instruction that maintains caches. What the second level has from memory is never old, so dropping
    /// it has no effect.
    pub(crate) fn maintain(&mut self, i: &Inst) {
        let Some(caches) = &mut self.caches else {
            return;
        };
        match i.op {
            Op::SDcacheInv | Op::SDcacheInvVol => caches.drop_scalar(),
            Op::BufferInv | Op::GlobalInv | Op::GlobalWbinv if i.scope != Scope::Wave => {
                caches.drop_vector();
            }
            Op::BufferWbinvl1 | Op::BufferWbinvl1Vol => caches.drop_vector(),
            _ => {}
        }
        if matches!(i.op, Op::BufferWbl2 | Op::GlobalWb | Op::GlobalWbinv) {
            caches.release(i.scope);
        }
    }

    /// A byte of memory as the compute unit's stores left it, if it may store there. No instruction has to do with
    /// that.
    pub(crate) fn look(&mut self, va: u64) -> Option<u8> {
        let page = self.tlb.page(self.env, self.vmid, va, Access::Write).ok()?;
        let at = va as usize % PAGE;
        Some(match &self.caches {
            Some(caches) => caches.look(page, at),
            None => page.load_u8(at),
        })
    }

    scalar!(load_u8, store_u8, update_u8, u8);
    scalar!(load_u16, store_u16, update_u16, u16);
    scalar!(load_u32, store_u32, update_u32, u32);
    scalar!(load_u64, store_u64, update_u64, u64);
}
