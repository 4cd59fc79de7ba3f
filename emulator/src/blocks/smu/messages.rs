// SPDX-License-Identifier: MIT OR Apache-2.0

//! What each message of MP1 13.0.6 does.

use super::super::mode1::Asked;
use super::table::{levels, table, CARD};
use super::{Smu, State, UNREAD, VERSION};
use crate::memory::Hub;
use rkfd_hw::smu::answer;
use rkfd_hw::smu::v13_0_6::{
    limit, message, sensor, Metrics, FEATURES, INTERFACE, METRICS, RESET_MODE_1,
};

/// Tables are written in the kernel's address space, through the multimedia hub.
const VMID: u8 = 0;
/// GetDpmFreqByIndex with this level asks for the number of the last one.
const LAST: u32 = 0xff;
/// Degrees at which clocks are limited, and at which the chip switches itself off.
const LIMIT: u32 = 100;
const CRITICAL: u32 = 105;

impl Smu {
    /// Carries a message out: its answer and its value are in the state then.
    pub(super) fn carry_out(&self, state: &mut State, asked: u32) {
        let given = state.argument;
        let result = self.value_of(state, asked, given);
        state.answer = match result {
            Ok(value) => {
                state.argument = value;
                answer::OK
            }
            Err(refusal) => refusal,
        };
    }

    /// The value, which for messages without one is what was given; or the refusal.
    fn value_of(&self, state: &mut State, asked: u32, given: u32) -> Result<u32, u32> {
        // The clock in bits 31:16.
        let clock = || levels(given >> 16).ok_or(answer::FAILED);
        let all = (1u64 << FEATURES) - 1;
        let features = if state.features { all } else { 0 };
        Ok(match asked {
            message::TEST => given.wrapping_add(1),
            message::GET_VERSION => VERSION,
            message::GET_INTERFACE_VERSION => INTERFACE,
            message::DRIVER_RESET if given & 0xffff == RESET_MODE_1 => {
                state.reset = Some(Asked::new(&self.env, UNREAD));
                given
            }
            // Resets of other kinds are not modelled.
            message::DRIVER_RESET => return Err(answer::FAILED),
            message::ENABLE_ALL_FEATURES => {
                state.features = true;
                given
            }
            message::DISABLE_ALL_FEATURES | message::PREPARE_FOR_UNLOAD => {
                state.features = false;
                given
            }
            message::GET_FEATURES_LOW => features as u32,
            message::GET_FEATURES_HIGH => (features >> 32) as u32,
            message::SET_DRIVER_ADDRESS_HIGH => {
                state.tables = (state.tables & 0xffff_ffff) | (u64::from(given) << 32);
                given
            }
            message::SET_DRIVER_ADDRESS_LOW => {
                state.tables = (state.tables & !0xffff_ffff) | u64::from(given);
                given
            }
            // A log for tools is not written.
            message::SET_TOOLS_ADDRESS_HIGH | message::SET_TOOLS_ADDRESS_LOW => given,
            message::GET_METRICS_VERSION => METRICS,
            message::GET_METRICS_TABLE => {
                self.write_table(state)?;
                given
            }
            message::GET_FREQUENCY if given & 0xffff == LAST => clock()?.len() as u32 - 1,
            message::GET_FREQUENCY => {
                let level = clock()?.get(given as usize & 0xffff).copied();
                level.ok_or(answer::FAILED)?
            }
            message::GET_MIN_FREQUENCY => clock()?[0],
            message::GET_MAX_FREQUENCY => clock()?[3],
            message::GET_MIN_GFX => CARD.gfx.0,
            message::GET_MAX_GFX => CARD.gfx.1,
            message::SET_SOFT_MIN_GFX => {
                state.power.gfx.0 = given.clamp(CARD.gfx.0, CARD.gfx.1);
                given
            }
            message::SET_SOFT_MAX_GFX => {
                state.power.gfx.1 = given.clamp(CARD.gfx.0, CARD.gfx.1);
                given
            }
            // Other clocks have their levels, whatever limits a driver sets.
            message::SET_SOFT_MAX => clock().map(|_| given)?,
            message::SET_POWER_LIMIT if given > CARD.most => return Err(answer::FAILED),
            message::SET_POWER_LIMIT => {
                state.power.limit = given;
                given
            }
            message::GET_POWER_LIMIT => state.power.limit,
            message::GET_THERMAL_LIMIT => match given {
                limit::SOCKET | limit::HBM => LIMIT,
                _ => return Err(answer::FAILED),
            },
            message::GET_CRITICAL => match given {
                sensor::AID | sensor::XCD | sensor::HBM => CRITICAL,
                _ => return Err(answer::FAILED),
            },
            // There are no links, and nothing gets hot enough to throttle.
            message::SELECT_LINK_POWER | message::SET_THROTTLING_POLICY => given,
            message::RESET_SDMA => self.reset_copies(given)?,
            _ => return Err(answer::UNKNOWN),
        })
    }

    /// Resets the engines of a mask.
    fn reset_copies(&self, mask: u32) -> Result<u32, u32> {
        let there = (1u32 << self.copies.count()) - 1;
        if mask == 0 || mask & !there != 0 {
            return Err(answer::FAILED);
        }
        let engines = 0..self.copies.count();
        for engine in engines.filter(|engine| (mask >> engine) & 1 == 1) {
            self.copies.reset(engine);
        }
        Ok(mask)
    }

    /// Measures, and writes the table where the driver wants it. Who asks first finds that nothing was measured yet:
    /// Linux asks again until the counter of measurements isn't 0 (`smu_v13_0_6_setup_driver_pptable`).
    fn write_table(&self, state: &mut State) -> Result<(), u32> {
        let table = match state.measures {
            true => {
                state.power.measure(self.env.load());
                table(&state.power, self.xccs, self.env.serial())
            }
            false => Metrics::zeroed(),
        };
        let space = self.env.memory().space(Hub::Mm(0), VMID);
        if state.tables == 0 || space.write_words(state.tables, &table.0).is_err() {
            self.env.report().violation(format_args!(
                "GetMetricsTable: the driver's table is at {:#x}, where nothing can be written",
                state.tables
            ));
            return Err(answer::FAILED);
        }
        if state.measures {
            state.power.note(self.env.trace());
        }
        state.measures = true;
        Ok(())
    }
}
