// SPDX-License-Identifier: GPL-2.0

//! TLB flushes: until one is acknowledged, the GPU may use old page table entries.
//!
//! Each hub has 18 invalidation engines; number 17 is the driver's. A request names the address
//! spaces by number (VMID) and the acknowledgement has a bit for each. Which VMID a process has
//! only the scheduling firmware knows, so a process is flushed by PASID: by firmware
//! ([`Firmware`]) if that runs and can, otherwise the VMID is looked up where firmware noted it.
//!
//! Lock order: the locks of [`Tlb`] are leaves; its firmware is called without them.

use super::hub::{
    Hub,
    Hubs, //
};
use crate::{
    device::Handle,
    glue::{
        linux::ETIME,
        trace, //
    },
    hw::value::Bounded,
    types::Pasid,
    vram::Vram, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    },
    time::Delta, //
};

mod counts;

pub(crate) use counts::FlushCounts;
use counts::What;

const ENGINE: u32 = 17;
/// TIMEOUT: `AMDGPU_MAX_USEC_TIMEOUT`, as `gmc_v9_0_flush_gpu_tlb` waits.
const TIMEOUT: Delta = Delta::from_millis(100);
/// Type of flush: "legacy", all of the address space.
const LEGACY: Bounded<3> = Bounded::new::<0>();
/// Type of flush: also what caches hold by old translations. Memory may go only after it.
pub(crate) const HEAVY: Bounded<3> = Bounded::new::<2>();

/// Firmware that runs small commands for the kernel. The methods sleep.
pub(crate) trait Firmware: Send + Sync {
    /// Flushes the TLBs of a process' address space in all hubs. `None` when it can't.
    fn invalidate_tlbs(&self, pasid: Pasid, kind: Bounded<3>) -> Option<Result>;

    /// Stores a register and waits for another. `None` when the caller shall do that.
    fn write_and_wait(&self, _wait: &RegWait) -> Option<Result> {
        None
    }
}

/// A register to store to, and the bits of another that show when it is done. Words on BAR 5.
pub(crate) struct RegWait {
    pub(crate) write: u32,
    pub(crate) value: u32,
    pub(crate) wait: u32,
    pub(crate) mask: u32,
}

/// Hears that hardware doesn't acknowledge a flush. Called with locks held: passes it on and returns.
pub(crate) trait Unanswered: Send + Sync {
    /// A flush was not acknowledged in time.
    fn unanswered(&self);
}

/// The TLBs of a GPU.
#[pin_data]
pub(crate) struct Tlb {
    dev: Arc<Handle>,
    vram: Arc<Vram>,
    hubs: Hubs,
    counts: FlushCounts,
    #[pin]
    firmware: Mutex<Option<Arc<dyn Firmware>>>,
    #[pin]
    listener: Mutex<Option<Arc<dyn Unanswered>>>,
    /// Held over a flush by registers.
    #[pin]
    registers: Mutex<()>,
}

impl Tlb {
    /// Those of these hubs, which may have page table entries of that VRAM.
    pub(crate) fn new(dev: &Arc<Handle>, vram: &Arc<Vram>, hubs: Hubs) -> Result<Arc<Self>> {
        let (dev, vram) = (dev.clone(), vram.clone());
        Arc::pin_init(
            pin_init!(Self {
                dev,
                vram,
                hubs,
                counts: FlushCounts::new(),
                firmware <- new_mutex!(None, "rkfd firmware"),
                listener <- new_mutex!(None, "rkfd TLB listener"),
                registers <- new_mutex!((), "rkfd TLB"),
            }),
            GFP_KERNEL,
        )
    }

    /// Hands over firmware that runs commands for the kernel, or takes it away.
    pub(crate) fn set_firmware(&self, firmware: Option<Arc<dyn Firmware>>) {
        let old = core::mem::replace(&mut *self.firmware.lock(), firmware);
        // Not under the lock: its memory is unmapped, and that flushes.
        drop(old);
    }

    /// Sets or removes who hears of flushes that aren't acknowledged. Once this returned, the one before isn't
    /// called any more.
    pub(crate) fn set_listener(&self, listener: Option<Arc<dyn Unanswered>>) {
        let old = core::mem::replace(&mut *self.listener.lock(), listener);
        drop(old);
    }

    /// Tells the listener if a flush timed out.
    fn tell(&self, result: Result) -> Result {
        if result.is_err_and(|error| error == ETIME) {
            self.counts.add(What::Unanswered);
            if let Some(listener) = &*self.listener.lock() {
                listener.unanswered();
            }
        }
        result
    }

    /// The firmware, if it runs.
    fn firmware(&self) -> Option<Arc<dyn Firmware>> {
        self.firmware.lock().clone()
    }

    /// How often they were flushed.
    pub(crate) fn counts(&self) -> &FlushCounts {
        &self.counts
    }

    /// Flushes an address space in all hubs. While the whole device is being reset nothing is to be done: no
    /// TLB outlives that (`amdgpu_gmc_flush_gpu_tlb_pasid`).
    ///
    /// # Errors
    ///
    /// ETIME when a hub doesn't acknowledge, ENODEV when the device is gone.
    pub(crate) fn flush_vmid(&self, vmid: u32) -> Result {
        self.counts.add(What::Vmid);
        self.flush(vmid, LEGACY)
    }

    /// Flushes the address space of a process, if it has a VMID now.
    ///
    /// # Errors
    ///
    /// As [`Tlb::flush_vmid`].
    pub(crate) fn flush_pasid(&self, pasid: Pasid, kind: Bounded<3>) -> Result {
        self.dev.check_lost()?;
        let Some(_here) = self.hubs.regs().here() else {
            return Ok(());
        };
        self.vram.flush_hdp();
        trace::tlb_flushed(pasid.get().into(), 0, kind.get() as u32);
        self.counts.add(What::Process);
        if let Some(result) = self
            .firmware()
            .and_then(|firmware| firmware.invalidate_tlbs(pasid, kind))
        {
            self.counts.add(What::Firmware);
            return self.tell(result);
        }
        self.dev.check_there()?;
        for vmid in 1..16 {
            if self.hubs.pasid_of(vmid) == Some(u32::from(pasid.get())) {
                self.flush(vmid, kind)?;
            }
        }
        Ok(())
    }

    fn flush(&self, vmid: u32, kind: Bounded<3>) -> Result {
        self.dev.check_lost()?;
        let Some(_here) = self.hubs.regs().here() else {
            return Ok(());
        };
        self.vram.flush_hdp();
        trace::tlb_flushed(0, vmid, kind.get() as u32);
        let vmids = 1u16 << (vmid & 15);
        let bit = u32::from(vmids);
        for hub in self.hubs.iter() {
            let table = hub.table;
            let light = table.flush_vmids.set(table.flush_what.apply(0), vmids);
            let heavy = table.flush_heavy.map_or(light, |heavy| heavy.apply(light));
            let first = table.flush_heavy_first.then_some(heavy);
            let last = if kind == HEAVY { heavy } else { light };
            for request in [first, Some(last)].into_iter().flatten() {
                let (how, result) = match self.by_firmware(hub, request, bit) {
                    Some(result) => (What::Firmware, result),
                    None => (What::Registers, self.by_registers(hub, request, bit)),
                };
                self.counts.add(how);
                self.tell(result)?;
            }
        }
        Ok(())
    }

    /// Lets firmware store the request and wait, if it is up and does that.
    fn by_firmware(&self, hub: Hub, value: u32, mask: u32) -> Option<Result> {
        let firmware = self.firmware()?;
        let regs = self.hubs.regs();
        firmware.write_and_wait(&RegWait {
            write: regs.word(hub.table.flush_vmids.reg().at(ENGINE, 1), hub.instance)?,
            wait: regs.word(hub.table.flush_ack.at(ENGINE, 1), hub.instance)?,
            value,
            mask,
        })
    }

    fn by_registers(&self, hub: Hub, request: u32, bit: u32) -> Result {
        let (regs, table) = (self.hubs.regs(), hub.table);
        let _one_at_a_time = self.registers.lock();
        // Held, it keeps the hub from being powered down; a load that gives 1 takes it.
        let semaphore = table.flush_semaphore.map(|reg| reg.at(ENGINE, 1));
        if let Some(reg) = semaphore {
            regs.wait_at(hub.instance, reg, TIMEOUT, |value| value & 1 == 1)?;
        }
        hub.write(regs, table.flush_vmids.reg().at(ENGINE, 1), request);
        let ack = table.flush_ack.at(ENGINE, 1);
        let result = regs.wait_at(hub.instance, ack, TIMEOUT, |value| value & bit != 0);
        if let Some(reg) = semaphore {
            hub.write(regs, reg, 0);
        }
        if let Some(change) = table.flush_private {
            hub.change(regs, change);
            // Waits until the store has arrived.
            regs.read_at(hub.instance, change.reg());
        }
        result.map(|_| ())
    }
}
