// SPDX-License-Identifier: MIT OR Apache-2.0

//! The system management unit (SMU): the mailbox by which drivers ask its firmware, which runs from
//! power-on since it is in the chip.
//!
//! A driver clears C2PMSG_90, writes an argument into C2PMSG_82 and a message into C2PMSG_66, and gets the
//! answer in C2PMSG_90 and 82. It sends no message before the last one is answered. Sources: Linux,
//! `pm/swsmu/smu_cmn.c` (`__smu_msg_v1_send`; `smu_msg_v1_send_msg`, "ensure previous message completed"),
//! `pm/swsmu/inc/pmfw_if/smu_v13_0_6_ppsmc.h` (messages and answers),
//! `smu13_driver_if_v13_0_6.h` (version).
//!
//! It resets single copy engines (`smu_v13_0_6_reset_sdma`) and the whole chip (mode 1,
//! `smu_v13_0_6_mode1_reset`), and writes what it measures into memory ([`table`]).
//!
//! Not modelled: other resets, gfxoff, what memory and links report of errors, I2C. Such a message has the answer that firmware
//! gives to one that it does not know. The interrupt by which the unit speaks to the driver (heat, power,
//! bad memory) can be set up as in `smu_v13_0_6_set_irq_state`, and never comes, as nothing here gets hot.

mod messages;
mod table;

use super::mode1::Asked;
use super::power::Power;
use crate::device::load::Load;
use crate::device::{Env, IpBlock, Refused};
use crate::rules::{Effect, Event, Kind};
use crate::trace::Value;
use rkfd_hw::regs::mp1_13_0_6::MP1_SMN_IH_SW_INT_CTRL;
use rkfd_hw::regs::mp1_public::MP1_FIRMWARE_FLAGS;
use rkfd_hw::regs::RegInfo;
use rkfd_hw::smu::answer;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A reset of the chip begins so much later if nobody reads the answer.
const UNREAD: Duration = Duration::from_secs(1);

/// 85.121.0: above 85.115.0 amdgpu loads the newer secure OS (`psp_v13_0_is_aux_sos_load_required`), and up to
/// 85.127.0 it asks for no second table (`smu_v13_0_6_init_caps`).
const VERSION: u32 = 0x0055_7900;

/// The mailbox.
struct State {
    message: u32,
    argument: u32,
    answer: u32,
    features: bool,
    /// Where tables go, in the kernel's address space.
    tables: u64,
    power: Power,
    /// It has begun to measure.
    measures: bool,
    /// MP1_SMN_IH_SW_INT, and its CTRL.
    interrupt: [u32; 2],
    /// By a rule the last message is not answered: `Rules::changes` then.
    unanswered: Option<u64>,
    /// By a rule the firmware hangs at it.
    hangs: bool,
    /// The chip is to be reset, once the driver has read the answer.
    reset: Option<Asked>,
}

impl State {
    /// Nothing was asked; the last answer is a good one, or drivers would wait for it.
    fn start(load: &Load) -> Self {
        Self {
            message: 0,
            argument: 0,
            answer: answer::OK,
            features: false,
            tables: 0,
            power: Power::new(&table::CARD, load),
            measures: false,
            interrupt: [0; 2],
            unanswered: None,
            hangs: false,
            reset: None,
        }
    }
}

/// The copy engines, as the unit knows them.
pub trait CopyEngines: Send + Sync {
    /// How many there are.
    fn count(&self) -> u8;

    /// Resets one: none of its queues is left, its registers have their start-up values but for how addresses are
    /// laid out, and its firmware runs again.
    fn reset(&self, engine: u8);
}

/// The block.
pub struct Smu {
    env: Arc<dyn Env>,
    copies: Arc<dyn CopyEngines>,
    xccs: u8,
    state: Mutex<State>,
}

impl Smu {
    /// Start-up state.
    pub fn new(env: Arc<dyn Env>, copies: Arc<dyn CopyEngines>, xccs: u8) -> Self {
        let state = Mutex::new(State::start(env.load()));
        Self {
            env,
            copies,
            xccs,
            state,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message.
    fn ask(&self, state: &mut State, asked: u32) {
        let given = state.argument;
        let rules = self.env.rules();
        let keys = [("message", u64::from(asked))];
        let effect = rules.ask(&Event::of(Kind::Message).with(&keys));
        state.message = asked;
        match effect {
            Some(Effect::Hang | Effect::Drop) => {}
            Some(Effect::Fail(code)) => state.answer = code.into(),
            _ => self.carry_out(state, asked),
        }
        if let Some(effect) = effect {
            let answer = effect.answer(state.answer.into());
            state.answer = answer.map_or(0, |answer| answer as u32);
        }
        state.unanswered = (state.answer == 0).then(|| rules.changes());
        state.hangs = effect == Some(Effect::Hang);
        let members = [
            ("message", Value::Hex(asked.into())),
            ("argument", Value::Hex(given.into())),
            ("answer", Value::Hex(state.answer.into())),
            ("value", Value::Hex(state.argument.into())),
        ];
        self.env.trace().event("smu_message", &members);
    }
}

impl IpBlock for Smu {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        let mut state = self.state();
        if reg.reg.name == "MP1_SMN_C2PMSG_90" {
            if let Some(asked) = state.reset.take() {
                asked.begin();
            }
        }
        Ok(match reg.reg.name {
            "MP1_SMN_C2PMSG_66" => state.message,
            "MP1_SMN_C2PMSG_82" => state.argument,
            "MP1_SMN_C2PMSG_90" => state.answer,
            "MP1_SMN_IH_SW_INT" => state.interrupt[0],
            "MP1_SMN_IH_SW_INT_CTRL" => state.interrupt[1],
            "MP1_FIRMWARE_FLAGS" => MP1_FIRMWARE_FLAGS::INTERRUPTS_ENABLED.mask(),
            "MP1_PUB_SCRATCH0" => VERSION,
            _ => return Err(Refused::NotModelled),
        })
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        let mut state = self.state();
        match reg.reg.name {
            "MP1_SMN_C2PMSG_66" if state.answer != 0 => {
                return Err(Refused::Undefined("the last answer was not cleared".into()));
            }
            "MP1_SMN_C2PMSG_66" => {
                // Until rules change.
                let waits = state.unanswered == Some(self.env.rules().changes());
                if waits {
                    self.env.report().violation(format_args!(
                        "message {value:#x} comes while message {:#x} is not answered",
                        state.message
                    ));
                }
                if !(waits && state.hangs) {
                    self.ask(&mut state, value);
                }
            }
            "MP1_SMN_C2PMSG_82" => state.argument = value,
            "MP1_SMN_C2PMSG_90" => state.answer = value,
            "MP1_SMN_IH_SW_INT" => state.interrupt[0] = value,
            // The acknowledgement is taken at once, and does not stay.
            "MP1_SMN_IH_SW_INT_CTRL" => {
                state.interrupt[1] = value & !MP1_SMN_IH_SW_INT_CTRL::INT_ACK.mask();
            }
            _ => return Err(Refused::ReadOnly),
        }
        Ok(())
    }

    fn reset(&self) {
        *self.state() = State::start(self.env.load());
    }
}
