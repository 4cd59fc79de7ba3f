// SPDX-License-Identifier: GPL-2.0

//! The graphics core (GC): its selectors, its clock, the interrupts of its compute pipes.
//!
//! Two registers choose what others show: GRBM_GFX_CNTL which hardware queue's (HQD's) or which
//! address space's, GRBM_GFX_INDEX which shader array's. Whoever points one of them somewhere else
//! than usual holds the lock of [`Gfx`] over it; who reads the chip at probe, when nobody else is there, has none.
//!
//! Lock order: the locks are leaves.

use crate::{
    chip::ChipInfo,
    firmware::Starts,
    hw::{
        regs::Block,
        value::Bounded, //
    },
    regs::Regs,
    types::HqdSlot, //
};
use kernel::{
    device::Device,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex,
        MutexGuard, //
    }, //
};

mod debug;
mod hal;
mod hqd;
mod info;
mod occupancy;
mod safe_mode;
mod waves;

pub(crate) use debug::{
    WatchPoint,
    WatchPoints,
    TRAPS, //
};
pub(crate) use hal::{
    hal,
    Files,
    Hal,
    WATCHES, //
};
pub(crate) use hqd::Loaded;
pub(crate) use info::read_chip;
pub(crate) use waves::Wave;

/// The graphics core of a GPU, all its XCCs.
#[pin_data]
pub(crate) struct Gfx {
    regs: Arc<Regs>,
    hal: &'static dyn Hal,
    /// Held while GRBM_GFX_CNTL or GRBM_GFX_INDEX points somewhere else than usual.
    #[pin]
    selected: Mutex<()>,
    /// Held while the clock is captured: a lock of its own, since the other one is kept while hung queues are waited for.
    #[pin]
    capture: Mutex<()>,
    /// Where programs begin, if the driver has loaded them and has to say so.
    #[pin]
    starts: Mutex<Option<Starts>>,
    /// Which registers of watched addresses are taken.
    #[pin]
    watches: Mutex<[bool; WATCHES]>,
}

impl Gfx {
    /// That of a device with these registers, and where programs begin that were loaded before.
    pub(crate) fn new(
        regs: &Arc<Regs>,
        hal: &'static dyn Hal,
        starts: Option<Starts>,
    ) -> Result<Arc<Self>> {
        let regs = regs.clone();
        Arc::pin_init(
            pin_init!(Self {
                regs,
                hal,
                selected <- new_mutex!((), "rkfd GRBM"),
                capture <- new_mutex!((), "rkfd clock"),
                starts <- new_mutex!(starts, "rkfd starts"),
                watches <- new_mutex!([false; WATCHES], "rkfd watches"),
            }),
            GFP_KERNEL,
        )
    }

    /// Where programs begin, if the driver has loaded them and has to say so.
    pub(crate) fn starts(&self) -> Option<Starts> {
        *self.starts.lock()
    }

    /// Its registers. Those of HQDs are seen within [`Gfx::select`] only.
    pub(crate) fn regs(&self) -> &Regs {
        &self.regs
    }

    /// Runs `f` while the registers of HQDs are those of `slot` (`soc15_grbm_select`).
    pub(crate) fn select<R>(&self, xcc: u8, slot: HqdSlot, f: impl FnOnce(&Regs) -> R) -> R {
        self.pointing_at(&self.selected.lock(), xcc, self.pointer_to(slot), f)
    }

    /// As [`Gfx::select`], unless somebody else has pointed GRBM_GFX_CNTL somewhere, or the whole device is being reset.
    fn try_select<R>(&self, xcc: u8, slot: HqdSlot, f: impl FnOnce(&Regs) -> R) -> Option<R> {
        let _here = self.regs.here_with_graphics()?;
        let lock = self.selected.try_lock()?;
        Some(self.pointing_at(&lock, xcc, self.pointer_to(slot), f))
    }

    fn pointer_to(&self, slot: HqdSlot) -> u32 {
        let grbm = &self.hal.registers().grbm;
        let value = grbm.me.set(0, slot.me());
        let value = grbm.pipe.set(value, slot.pipe());
        grbm.queue.set(value, slot.queue())
    }

    /// Runs `f` while the registers of address spaces are those of `vmid`.
    pub(crate) fn select_vmid<R>(
        &self,
        xcc: u8,
        vmid: Bounded<4>,
        f: impl FnOnce(&Regs) -> R,
    ) -> R {
        let value = self.hal.registers().grbm.vmid.set(0, vmid);
        self.pointing_at(&self.selected.lock(), xcc, value, f)
    }

    fn pointing_at<R>(
        &self,
        _lock: &MutexGuard<'_, ()>,
        xcc: u8,
        value: u32,
        f: impl FnOnce(&Regs) -> R,
    ) -> R {
        let reg = self.hal.registers().grbm.me.reg();
        self.regs.write_at(xcc, reg, value);
        let result = f(&self.regs);
        self.regs.write_at(xcc, reg, 0);
        result
    }

    /// Sets what has other values after a reset of the graphics core than the chip should run with.
    pub(crate) fn set_golden(&self) {
        let _lock = self.selected.lock();
        self.hal.set_golden(&self.regs);
    }

    /// Does something while the run list controller of an XCC gates no clocks.
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone; then nothing was done.
    pub(crate) fn in_safe_mode<R>(&self, xcc: u8, f: impl FnOnce() -> R) -> Result<R> {
        safe_mode::within(&self.regs, xcc, self.hal.registers(), f)
    }

    /// As of [`Hal::gate_clocks`].
    pub(crate) fn gate_clocks(&self, on: bool) -> Result {
        self.hal.gate_clocks(&self.regs, on)
    }

    /// As of [`Hal::chain_xnack`].
    pub(crate) fn chain_xnack(&self, version: u32) -> bool {
        self.hal.chain_xnack(&self.regs, version)
    }

    /// Resets the command processor with everything that it runs, by registers (a soft reset), and lets
    /// its firmware go on: afterwards no queue is on the hardware, and no wave.
    pub(crate) fn soft_reset(&self) {
        let _lock = self.selected.lock();
        self.hal.soft_reset(&self.regs);
    }

    /// Starts firmware that was loaded, and begins where its files say, if they do ([`Hal::start_firmware`]).
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone, ETIME when the firmware doesn't start; logged.
    pub(crate) fn start_firmware(&self, dev: &Device, starts: Option<Starts>) -> Result {
        *self.starts.lock() = starts;
        let _lock = self.selected.lock();
        self.hal.start_firmware(dev, &self.regs, starts.as_ref())
    }

    /// Halts the engines whose code the driver had loaded.
    pub(crate) fn halt_firmware(&self) {
        self.hal.halt_firmware(&self.regs);
    }

    /// The GPU's clock counter; 0 when the device is gone, or being reset as a whole.
    pub(crate) fn clock(&self) -> u64 {
        let Some(_here) = self.regs.here_with_graphics() else {
            return 0;
        };
        let its = self.hal.registers();
        let _lock = self.capture.lock();
        self.regs.write(its.capture_clock, 1);
        let low = u64::from(self.regs.read(its.clock_low));
        let high = u64::from(self.regs.read(its.clock_high));
        match high << 32 | low {
            u64::MAX => 0,
            clock => clock,
        }
    }

    /// Word on BAR 5 of the register with the layout of addresses in memory.
    pub(crate) fn gb_addr_config_word(&self) -> Option<u32> {
        self.regs.word(self.hal.registers().addresses, 0)
    }
}

/// The compute pipes raise interrupts: end of pipe and bad opcodes (`kgd_gfx_v9_init_interrupts`,
/// `init_interrupts_v12`); dropped, they don't.
pub(crate) struct PipeInterrupts {
    gfx: Arc<Gfx>,
    pipes: u32,
}

impl PipeInterrupts {
    /// Turns them on.
    pub(crate) fn new(gfx: &Arc<Gfx>, chip: &ChipInfo) -> Self {
        let on = Self {
            gfx: gfx.clone(),
            pipes: chip.family.mec_pipes,
        };
        on.set(true);
        on
    }

    /// Turns them on again, after a reset turned them off.
    pub(crate) fn renew(&self) {
        self.set(true);
    }

    fn set(&self, on: bool) {
        let its = self.gfx.hal.registers();
        let wanted = its.bad_opcode.set(its.end_of_pipe.set(0, on), on);
        for xcc in self.gfx.regs.instances(Block::Gc) {
            for slot in (0..self.pipes).filter_map(|pipe| HqdSlot::compute(pipe, 0)) {
                self.gfx.select(xcc, slot, |regs| {
                    regs.write_at(xcc, its.end_of_pipe.reg(), wanted);
                });
            }
        }
    }
}

impl Drop for PipeInterrupts {
    fn drop(&mut self) {
        self.set(false);
    }
}
