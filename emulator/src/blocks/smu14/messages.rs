// SPDX-License-Identifier: MIT OR Apache-2.0

//! What each message of MP1 14.0.2 does.

use super::table::{self, levels, CARD, FEATURES, FINE};
use super::{Smu, State, VERSION};
use crate::memory::Hub;
use rkfd_hw::smu::answer;
use rkfd_hw::smu::v14_0::{clock, feature, message, table as number, COUNT, INTERFACE};
use std::sync::atomic::Ordering;

/// Tables are written in the kernel's address space, through the multimedia hub.
const VMID: u8 = 0;
/// SetSoftMaxByFreq with this clock takes the limit away.
const NO_LIMIT: u32 = 0xffff;
/// More than drivers read of a table without content: they have one place for all, where another table was.
const EMPTY: [u32; 256] = [0; 256];

impl State {
    /// Bits of the features that run.
    fn running(&self) -> u64 {
        match self.enabled {
            true => self.allowed & FEATURES,
            false => 0,
        }
    }

    /// The levels of the clock in bits 31:16; the refusal when no feature that runs has it.
    fn clock(&self, given: u32) -> Result<&'static [u32], u32> {
        let (levels, feature) = levels(given >> 16).ok_or(answer::FAILED)?;
        match (self.running() >> feature) & 1 {
            0 => Err(answer::FAILED),
            _ => Ok(levels),
        }
    }
}

impl Smu {
    /// Carries a message out: its answer and its value are in the state then.
    pub(super) fn carry_out(&self, state: &mut State, asked: u32) {
        let given = state.argument;
        state.answer = match self.value_of(state, asked, given) {
            Ok(value) => {
                state.argument = value;
                answer::OK
            }
            Err(refusal) => refusal,
        };
    }

    /// The value, which for messages without one is what was given; or the refusal.
    fn value_of(&self, state: &mut State, asked: u32, given: u32) -> Result<u32, u32> {
        let low = |wide: u64| (wide & !0xffff_ffff) | u64::from(given);
        let high = |wide: u64| (wide & 0xffff_ffff) | (u64::from(given) << 32);
        let mhz = given & 0xffff;
        let limits_gfx = given >> 16 == clock::GFXCLK;
        match asked {
            message::TEST => return Ok(given.wrapping_add(1)),
            message::GET_VERSION => return Ok(VERSION),
            message::GET_INTERFACE_VERSION => return Ok(INTERFACE),
            message::ALLOW_FEATURES_LOW => state.allowed = low(state.allowed),
            message::ALLOW_FEATURES_HIGH => state.allowed = high(state.allowed),
            message::ENABLE_ALL_FEATURES => state.enabled = true,
            message::DISABLE_ALL_FEATURES | message::PREPARE_FOR_UNLOAD => {
                state.enabled = false;
                self.allow_off(false);
            }
            // Its feature has to run.
            message::ALLOW_GFX_OFF | message::DISALLOW_GFX_OFF => {
                self.allow_off(asked == message::ALLOW_GFX_OFF && state.enabled);
            }
            message::GET_FEATURES_LOW => return Ok(state.running() as u32),
            message::GET_FEATURES_HIGH => return Ok((state.running() >> 32) as u32),
            message::SET_DRIVER_ADDRESS_HIGH => state.tables = high(state.tables),
            message::SET_DRIVER_ADDRESS_LOW => state.tables = low(state.tables),
            message::GET_TABLE => self.give_table(state, given)?,
            message::GET_FREQUENCY if given & 0xffff == COUNT => {
                let fine = if limits_gfx { FINE } else { 0 };
                return Ok(state.clock(given)?.len() as u32 | fine);
            }
            message::GET_FREQUENCY => {
                let level = state.clock(given)?.get(mhz as usize).copied();
                return level.ok_or(answer::FAILED);
            }
            message::GET_MIN_FREQUENCY => {
                return state.clock(given)?.first().copied().ok_or(answer::FAILED)
            }
            message::GET_MAX_FREQUENCY => {
                return state.clock(given)?.last().copied().ok_or(answer::FAILED)
            }
            message::SET_SOFT_MIN if limits_gfx => {
                state.clock(given)?;
                state.power.gfx.0 = mhz.clamp(CARD.gfx.0, CARD.gfx.1);
            }
            message::SET_SOFT_MAX if limits_gfx => {
                state.clock(given)?;
                state.power.gfx.1 = match mhz {
                    NO_LIMIT => CARD.gfx.1,
                    _ => mhz.clamp(CARD.gfx.0, CARD.gfx.1),
                };
            }
            // Other clocks have their levels, whatever limits a driver sets.
            message::SET_SOFT_MIN | message::SET_SOFT_MAX => drop(state.clock(given)?),
            message::SET_POWER_LIMIT | message::GET_POWER_LIMIT
                if (state.running() >> feature::THROTTLERS) & 1 == 0 =>
            {
                return Err(answer::FAILED)
            }
            message::SET_POWER_LIMIT if given > CARD.most => return Err(answer::FAILED),
            message::SET_POWER_LIMIT => state.power.limit = given,
            message::GET_POWER_LIMIT => return Ok(state.power.limit),
            // What is set or logged by these changes nothing here.
            message::SET_TOOLS_ADDRESS_HIGH
            | message::SET_TOOLS_ADDRESS_LOW
            | message::SET_TABLE
            | message::SET_PCIE
            | message::SET_LOG_ADDRESS_HIGH
            | message::SET_LOG_ADDRESS_LOW
            | message::SET_LOG_SIZE
            | message::SET_WORKLOAD
            | message::CALIBRATE
            | message::ALLOW_INTERRUPT => {}
            _ => return Err(answer::UNKNOWN),
        }
        Ok(given)
    }

    /// Whether the graphics core may be switched off.
    fn allow_off(&self, allowed: bool) {
        self.env.load().may_be_off.store(allowed, Ordering::Release);
    }

    /// Writes a table where the driver wants it. Those without content are [`EMPTY`].
    fn give_table(&self, state: &mut State, given: u32) -> Result<(), u32> {
        let space = self.env.memory().space(Hub::Mm(0), VMID);
        let kind = given & 0xffff;
        if kind >= number::COUNT {
            return Err(answer::FAILED);
        }
        let written = state.tables != 0
            && match kind {
                number::METRICS => {
                    state.power.measure(self.env.load());
                    let words = table::metrics(&state.power, self.env.serial()).0;
                    space.write_words(state.tables, &words).is_ok()
                }
                number::POWER_PLAY => {
                    let words = table::power_play().0;
                    space.write_words(state.tables, &words).is_ok()
                }
                _ => space.write_words(state.tables, &EMPTY).is_ok(),
            };
        if !written {
            self.env.report().violation(format_args!(
                "TransferTableSmu2Dram: the driver's table is at {:#x}, where nothing can be written",
                state.tables
            ));
            return Err(answer::FAILED);
        }
        if kind == number::METRICS {
            state.power.note(self.env.trace());
        }
        Ok(())
    }
}
