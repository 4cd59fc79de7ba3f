// SPDX-License-Identifier: GPL-2.0

//! What memory and address spaces need of a GPU: registers, VRAM, GART, doorbells, firmware.
//!
//! Made once at probe, after the checks that the device is there and its firmware runs. It
//! outlives the device: see [`super`].
//!
//! Lock order: `bound`, `firmware`, `sdma`, `tlb` and `kept` are leaves, taken in that order if at all.

use crate::{
    bo::{kernel_mem::Words, vram::Vram},
    chip::ChipInfo,
    doorbell::Doorbells,
    driver::PciInfo,
    glue,
    gmc::{gart::Gart, Layout},
    regs::Regs,
    ring::Firmware,
    sched::{Hang, Keep, Notice},
    sdma,
};
use kernel::{
    device::{self, Bound},
    new_mutex,
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{Atomic, Relaxed},
        Arc, Mutex,
    },
};

/// Byte offset of the page of BAR 5 where the HDP flush registers are made visible, and where
/// user programs map them (`MMIO_REG_HOLE_OFFSET` of `nbio_v7_9.c`).
pub(crate) const REMAP_OFFSET: u32 = 0x80000 - 4096;

/// The lower layer of a GPU.
#[pin_data]
pub(crate) struct Hw {
    dev: ARef<device::Device>,
    pub(crate) regs: Arc<Regs>,
    pub(crate) vram: Arc<Vram>,
    pub(crate) gart: Arc<Gart>,
    pub(crate) doorbells: Arc<Doorbells>,
    pub(crate) layout: Layout,
    pub(crate) chip: ChipInfo,
    pub(crate) pci: PciInfo,
    /// Physical address of BAR 5.
    pub(crate) mmio_phys: u64,
    /// Where stray accesses to system memory go.
    pub(crate) dummy_page: Words,
    /// Offset in VRAM of where stray accesses to VRAM go.
    pub(crate) scratch_page: u64,
    lost: Atomic<u32>,
    /// Resets the device went through: a fence of an earlier one never completes.
    generation: Atomic<u32>,
    /// Held while something is added to the device's managed resources; false after unbind.
    #[pin]
    bound: Mutex<bool>,
    #[pin]
    firmware: Mutex<Option<Arc<dyn Firmware>>>,
    /// Queues of copy engines that nobody has.
    #[pin]
    pub(crate) sdma: Mutex<sdma::Free>,
    /// Held over a TLB flush by registers.
    #[pin]
    pub(crate) tlb: Mutex<()>,
    /// Held while GRBM_GFX_CNTL or GRBM_GFX_INDEX point somewhere else than usual.
    #[pin]
    pub(crate) grbm: Mutex<()>,
    /// What hardware that didn't acknowledge may still touch; freed when it provably can't.
    #[pin]
    kept: Mutex<KVec<Keep>>,
    /// Whom to tell of a hang.
    #[pin]
    hang_notice: Mutex<Option<Arc<Notice>>>,
}

/// What [`Hw::new`] is made of, in order of bring-up.
pub(crate) struct Parts {
    pub(crate) dev: ARef<device::Device>,
    pub(crate) regs: Arc<Regs>,
    pub(crate) vram: Arc<Vram>,
    pub(crate) gart: Arc<Gart>,
    pub(crate) doorbells: Arc<Doorbells>,
    pub(crate) layout: Layout,
    pub(crate) chip: ChipInfo,
    pub(crate) pci: PciInfo,
    pub(crate) mmio_phys: u64,
    pub(crate) dummy_page: Words,
    pub(crate) scratch_page: u64,
}

impl Hw {
    /// The device.
    pub(crate) fn device(&self) -> &device::Device {
        &self.dev
    }

    /// ENODEV after unbind, or when the device was found not to answer.
    pub(crate) fn alive(&self) -> Result {
        if self.lost.load(Relaxed) != 0 {
            return Err(ENODEV);
        }
        if self.regs.gone() {
            self.set_lost();
            return Err(ENODEV);
        }
        Ok(())
    }

    /// From now on the device counts as gone.
    pub(crate) fn set_lost(&self) {
        self.lost.store(1, Relaxed);
    }

    /// The generation that fences made now belong to.
    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Relaxed)
    }

    /// Runs `f` while the device can't be unbound.
    pub(crate) fn while_bound<R>(
        &self,
        f: impl FnOnce(&device::Device<Bound>) -> Result<R>,
    ) -> Result<R> {
        let bound = self.bound.lock();
        if !*bound {
            return Err(ENODEV);
        }
        // SAFETY: `unbind` takes the lock and clears the flag before the device is let go.
        f(unsafe { glue::dma::assume_bound(&self.dev) })
    }

    /// The device is about to be unbound: nothing is added to its resources any more.
    pub(crate) fn unbind(&self) {
        self.set_lost();
        *self.bound.lock() = false;
    }

    /// Makes what the CPU wrote to VRAM visible to the GPU.
    pub(crate) fn flush_hdp(&self) {
        let _ = self.vram.with(|bytes| {
            bytes.flush();
            Ok(())
        });
        self.regs.write_word(REMAP_OFFSET / 4, 0);
        // Waits until the store has arrived.
        self.regs.read(self.chip.family.nbio.memory_size);
    }

    /// The GPU's clock counter.
    pub(crate) fn clock(&self) -> u64 {
        let core = self.chip.family.core;
        let _lock = self.grbm.lock();
        self.regs.write(core.clock_capture, 1);
        let low = u64::from(self.regs.read(core.clock_low));
        let high = u64::from(self.regs.read(core.clock_high));
        match high << 32 | low {
            u64::MAX => 0,
            clock => clock,
        }
    }

    /// Hands over firmware that runs commands for the kernel, or takes it away.
    pub(crate) fn set_firmware(&self, firmware: Option<Arc<dyn Firmware>>) {
        let old = core::mem::replace(&mut *self.firmware.lock(), firmware);
        // Not under the lock: its memory is unmapped, and that flushes.
        drop(old);
    }

    /// The firmware, if it runs.
    pub(crate) fn firmware(&self) -> Option<Arc<dyn Firmware>> {
        self.firmware.lock().clone()
    }

    /// Keeps something that the hardware may still touch.
    pub(crate) fn keep(&self, what: Keep) {
        let mut kept = self.kept.lock();
        if let Err(error) = kept.reserve(1, GFP_KERNEL) {
            drop(kept);
            dev_err!(
                self.dev,
                "no memory to keep track of a hung queue ({:?})\n",
                error
            );
            // Leaked, since freeing it would hand memory to others that the GPU writes to.
            core::mem::forget(what);
            return;
        }
        // There is room.
        let _ = kept.push(what, GFP_KERNEL);
    }

    /// Says whom to tell of a hang.
    pub(crate) fn set_hang_notice(&self, notice: Option<Arc<Notice>>) -> Option<Arc<Notice>> {
        core::mem::replace(&mut *self.hang_notice.lock(), notice)
    }

    /// Tells of a hang, later and without the caller's locks.
    pub(crate) fn report_hang(&self, hang: Hang) {
        if let Some(notice) = &*self.hang_notice.lock() {
            notice.send(hang);
        }
    }

    /// The hardware was stopped for good: frees what was kept.
    pub(crate) fn release_kept(&self) {
        let kept = core::mem::replace(&mut *self.kept.lock(), KVec::new());
        drop(kept);
    }
}

impl Hw {
    /// Puts the parts together.
    pub(crate) fn new(parts: Parts) -> Result<Arc<Self>> {
        let Parts {
            dev,
            regs,
            vram,
            gart,
            doorbells,
            layout,
            chip,
            pci,
            mmio_phys,
            dummy_page,
            scratch_page,
        } = parts;
        let free = sdma::Free::new(&chip);
        Arc::pin_init(
            pin_init!(Self {
                dev,
                regs,
                vram,
                gart,
                doorbells,
                layout,
                chip,
                pci,
                mmio_phys,
                dummy_page,
                scratch_page,
                lost: Atomic::new(0),
                generation: Atomic::new(0),
                bound <- new_mutex!(true, "rkfd bound"),
                firmware <- new_mutex!(None, "rkfd firmware"),
                sdma <- new_mutex!(free, "rkfd SDMA queues"),
                tlb <- new_mutex!((), "rkfd TLB"),
                grbm <- new_mutex!((), "rkfd GRBM"),
                kept <- new_mutex!(KVec::new(), "rkfd kept"),
                hang_notice <- new_mutex!(None, "rkfd hang notice"),
            }),
            GFP_KERNEL,
        )
    }
}
