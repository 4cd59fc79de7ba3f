// SPDX-License-Identifier: GPL-2.0

//! What a debugger chooses for a process' waves: what makes them trap, how they begin, and which addresses are watched.
//!
//! The values are for a process, and its scheduler passes them on. Only the addresses themselves are in registers that
//! all processes share: who has a [`WatchPoint`] has its registers.
//!
//! Source: Linux, `amdgpu/amdgpu_amdkfd_gc_9_4_3.c`, `amdgpu/amdgpu_amdkfd_aldebaran.c`,
//! `amdgpu/amdgpu_amdkfd_gfx_v12.c`; `kfd_dbg_get_dev_watch_id` of `amdkfd/kfd_debug.c`.

use super::{
    hal::WATCHES,
    Gfx, //
};
use crate::{
    hw::{
        regs::Block,
        value::Bounded, //
    },
    uapi::debug as abi, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The exceptions that both generations know (`validate_trap_override_request`).
pub(crate) const TRAPS: u32 = EXCEPTIONS | abi::TRAP_MASK_WAVE_START | abi::TRAP_MASK_WAVE_END;
/// Those that EXCP_EN has, each at its bit.
const EXCEPTIONS: u32 = abi::TRAP_MASK_FP_INVALID
    | abi::TRAP_MASK_FP_INPUT_DENORMAL
    | abi::TRAP_MASK_FP_DIVIDE_BY_ZERO
    | abi::TRAP_MASK_FP_OVERFLOW
    | abi::TRAP_MASK_FP_UNDERFLOW
    | abi::TRAP_MASK_FP_INEXACT
    | abi::TRAP_MASK_INT_DIVIDE_BY_ZERO
    | abi::TRAP_MASK_ADDRESS_WATCH
    | abi::TRAP_MASK_MEMORY_VIOLATION;
/// The mask of a watch has address bits from this one on.
const MASK_LOW: u32 = 7;
/// Bits of the upper half of an address.
const HIGH: u32 = 0xffff;

impl Gfx {
    /// SPI_GDBG_PER_VMID_CNTL without a launch mode, for these exceptions, which `replace` those that a kernel
    /// chooses or are added to them (`set_wave_launch_trap_override`).
    pub(crate) fn trap_override(&self, traps: u32, replace: bool) -> u32 {
        let its = &self.hal.registers().debug;
        let exceptions = Bounded::low_bits_of((traps & EXCEPTIONS).into());
        let control = its.exceptions.set(0, exceptions);
        let control = its
            .start
            .set(control, traps & abi::TRAP_MASK_WAVE_START != 0);
        let control = its.end.set(control, traps & abi::TRAP_MASK_WAVE_END != 0);
        its.replace.set(its.trap.set(control, true), replace)
    }

    /// The exceptions of such a value (`trap_mask_map_hw_to_sw`).
    pub(crate) fn traps_of(&self, control: u32) -> u32 {
        let its = &self.hal.registers().debug;
        let bit = |field: u32, bit: u32| if field != 0 { bit } else { 0 };
        its.exceptions.get(control)
            | bit(its.start.get(control), abi::TRAP_MASK_WAVE_START)
            | bit(its.end.get(control), abi::TRAP_MASK_WAVE_END)
    }

    /// The launch mode in SPI_GDBG_PER_VMID_CNTL (`set_wave_launch_mode`).
    pub(crate) fn launch_mode(&self, mode: u32) -> u32 {
        let its = &self.hal.registers().debug;
        its.mode.set(0, Bounded::low_bits_of(mode.into()))
    }

    /// The highest and the lowest bit of addresses that a watch's mask has.
    pub(crate) fn watch_mask(&self) -> (u32, u32) {
        let bits = self.hal.registers().debug.watch_mask.count_ones();
        (MASK_LOW.wrapping_add(bits).wrapping_sub(1), MASK_LOW)
    }
}

/// One of a GPU's registers for watched addresses, of a process that watches one; dropped, it is free.
pub(crate) struct WatchPoint {
    gfx: Arc<Gfx>,
    number: usize,
}

impl WatchPoint {
    /// The first that is free.
    ///
    /// # Errors
    ///
    /// ENOMEM when none is.
    pub(crate) fn new(gfx: &Arc<Gfx>) -> Result<Self> {
        let mut taken = gfx.watches.lock();
        let number = taken.iter().position(|taken| !taken).ok_or(ENOMEM)?;
        *taken.get_mut(number).ok_or(ENOMEM)? = true;
        drop(taken);
        Ok(Self {
            gfx: gfx.clone(),
            number,
        })
    }

    /// Its number, from 0.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Sets the address on each XCC, and returns TCP_WATCH_CNTL of the process (`set_address_watch`).
    pub(crate) fn set(&self, address: u64, mask: u32, mode: u32) -> u32 {
        let its = &self.gfx.hal.registers().debug;
        // A reset of the whole device loses it anyway, and the queues that it was for.
        let here = self.gfx.regs.here_with_graphics();
        if let (Some(_here), Some([high, low])) = (here, its.watched.get(self.number)) {
            for xcc in self.gfx.regs.instances(Block::Gc) {
                // CAST: Halves.
                let halves = [(address >> 32) as u32 & HIGH, address as u32];
                self.gfx.regs.write_at(xcc, *high, halves[0]);
                self.gfx.regs.write_at(xcc, *low, halves[1]);
            }
        }
        let control = its.watch_mode.set(0, Bounded::low_bits_of(mode.into()));
        its.watch_valid.set(control, true) | mask >> MASK_LOW & its.watch_mask
    }
}

impl Drop for WatchPoint {
    fn drop(&mut self) {
        if let Some(taken) = self.gfx.watches.lock().get_mut(self.number) {
            *taken = false;
        }
    }
}

/// The watches of a process, by their numbers.
pub(crate) type WatchPoints = [Option<WatchPoint>; WATCHES];
