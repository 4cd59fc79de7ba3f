// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compute unit's view of memory: what the embedder must provide, and a translation cache.

mod host;

use crate::fault::Fault;
pub use crate::fault::{Access, MemoryFault, Reason};
use crate::watch::Watches;
pub use host::{HostPage, PAGE};
use std::num::NonZeroU32;

/// An operation on one of the device's global semaphores and barriers (CDNA3 ISA, DS_GWS_*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gws {
    /// Set a resource up for so many waves, less one.
    Init,
    /// Wait until that many have come.
    Barrier,
    /// Semaphore: release one.
    Release,
    /// Semaphore: take one, or wait.
    Acquire,
    /// Semaphore: release so many.
    ReleaseMany,
    /// Semaphore: release all that wait.
    ReleaseAll,
}

/// What a wave asks of a global semaphore or barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GwsRequest {
    /// The operation.
    pub operation: Gws,
    /// The resource, from the first that the wave's queue has: 0 to 63.
    pub resource: u32,
    /// The first active lane's value.
    pub value: u32,
    /// The ticket of [`GwsAnswer::Wait`], if the wave asks again.
    pub ticket: Option<NonZeroU32>,
}

/// The device's answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GwsAnswer {
    /// The wave goes on.
    Go,
    /// The wave stands in line: it asks again later with this ticket, which is saved with the wave, so
    /// that the wave is not counted twice.
    Wait(NonZeroU32),
    /// There is no such resource.
    Refused,
}

/// What a compute unit needs from the rest of the GPU.
pub trait Env {
    /// A number that changes whenever translations given earlier may be wrong (a TLB flush).
    fn epoch(&self) -> u64;

    /// The host memory behind the 4 KiB page that holds `va`, if `vmid` may access it so.
    fn translate(&mut self, vmid: u8, va: u64, access: Access) -> Result<HostPage, Reason>;

    /// The GPU's reference clock, for s_memtime and s_memrealtime.
    fn clock(&mut self) -> u64;

    /// The number of the compute unit's XCC.
    fn xcc(&self) -> u32 {
        0
    }

    /// HW_ID, or HW_ID1 and HW_ID2, of a wave of the workgroup that runs: where it is. Of a device without
    /// such places it is the wave's number.
    fn hardware_id(&self, wave: u32) -> [u32; 2] {
        [wave & 15, 0]
    }

    /// s_sendmsg: the message and M0, and whether a trap handler sent it.
    fn interrupt(&mut self, message: u16, m0: u32, privileged: bool);

    /// The watched addresses of the process.
    fn watches(&self) -> Watches {
        Watches::default()
    }

    /// A wave has entered its trap handler for this.
    fn trapped(&mut self, _fault: &Fault) {}

    /// An operation of global wave synchronisation on a resource. A device without any refuses.
    fn synchronise(&mut self, _vmid: u8, _request: &GwsRequest) -> GwsAnswer {
        GwsAnswer::Refused
    }

    /// s_sendmsg_rtn: the answer to a message other than the time, if the device has one.
    fn reply(&mut self, _message: u16) -> Option<u64> {
        None
    }
}

struct Entry {
    // VMID and page number; no page has this many bits set.
    tag: u64,
    rights: u8,
    page: Option<HostPage>,
}

const ENTRIES: usize = 512;
const NO_TAG: u64 = u64::MAX;

/// Translations, kept until the embedder's epoch changes.
pub struct Tlb {
    entries: Vec<Entry>,
    epoch: u64,
    /// Translations asked of the embedder.
    pub misses: u64,
}

impl Default for Tlb {
    fn default() -> Self {
        let entries = (0..ENTRIES)
            .map(|_| Entry {
                tag: NO_TAG,
                rights: 0,
                page: None,
            })
            .collect();
        Self {
            entries,
            epoch: 0,
            misses: 0,
        }
    }
}

impl Tlb {
    /// Forget everything if the embedder flushed; true if so.
    pub fn follow(&mut self, epoch: u64) -> bool {
        if self.epoch == epoch {
            return false;
        }
        for entry in &mut self.entries {
            *entry = Entry {
                tag: NO_TAG,
                rights: 0,
                page: None,
            };
        }
        self.epoch = epoch;
        true
    }

    /// The page that holds `va`.
    #[inline]
    pub fn page(
        &mut self,
        env: &mut dyn Env,
        vmid: u8,
        va: u64,
        access: Access,
    ) -> Result<&HostPage, MemoryFault> {
        let tag = (va >> 12) | (u64::from(vmid) << 52);
        // Multiplied, so that buffers at power-of-two distances do not evict each other.
        let slot = (tag.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize % ENTRIES;
        let right = 1 << access as u8;
        let hit = self.entries[slot].tag == tag && self.entries[slot].rights & right != 0;
        if !hit {
            self.fill(env, vmid, va, access, tag, slot)?;
        }
        match &self.entries[slot].page {
            Some(page) => Ok(page),
            None => Err(MemoryFault {
                va,
                access,
                reason: Reason::NotPresent,
            }),
        }
    }

    #[cold]
    fn fill(
        &mut self,
        env: &mut dyn Env,
        vmid: u8,
        va: u64,
        access: Access,
        tag: u64,
        slot: usize,
    ) -> Result<(), MemoryFault> {
        self.misses += 1;
        let fault = |reason| MemoryFault { va, access, reason };
        let sign = (va as i64) >> 47;
        if sign != 0 && sign != -1 {
            return Err(fault(Reason::NotCanonical));
        }
        let page = env.translate(vmid, va, access).map_err(fault)?;
        let entry = &mut self.entries[slot];
        // Rights add up only for the same page: where none is resident, loads have another one than stores.
        let same = entry.page.as_ref().is_some_and(|old| old.is(&page));
        let before = if entry.tag == tag && same {
            entry.rights
        } else {
            0
        };
        let rights = before | (1 << access as u8);
        *entry = Entry {
            tag,
            rights,
            page: Some(page),
        };
        Ok(())
    }
}
