// SPDX-License-Identifier: MIT OR Apache-2.0

//! The system management unit (SMU) of gfx12. Unlike that of gfx942 ([`super::smu`]) it has no firmware from
//! power-on: the security processor brings it, and until then nobody answers.
//!
//! A driver clears C2PMSG_90, writes an argument into C2PMSG_82 and a message into C2PMSG_66, and gets the
//! answer in C2PMSG_90 and 82. A second mailbox, for debugging, takes the message in C2PMSG_75, and nobody waits
//! for its answer: by it the whole chip is reset (mode 1). Sources: Linux, `pm/swsmu/smu_cmn.c`
//! (`smu_msg_v1_send_msg`, `smu_msg_v1_send_debug_msg`), `pm/swsmu/smu14/smu_v14_0_2_ppt.c`,
//! `pm/swsmu/inc/pmfw_if/smu_v14_0_2_ppsmc.h` (messages), `smu14_driver_if_v14_0.h` (version).
//!
//! Not modelled: clocks, limits, fans, metrics, gfxoff. No feature of the unit's runs, whatever a driver allows,
//! and it says so (GetRunningSmuFeatures): drivers then ask for no levels, and take the clocks that the ROM has.
//! Its tables are empty. A message that belongs to something else has the answer that firmware gives to one that
//! it does not know.

use crate::device::firmware::Firmware;
use crate::device::{Env, IpBlock, Refused};
use crate::memory::Hub;
use crate::trace::Value;
use rkfd_hw::regs::mp1_14_0_2::MP1_SMN_IH_SW_INT_CTRL;
use rkfd_hw::regs::mp1_public_14::MP1_FIRMWARE_FLAGS;
use rkfd_hw::regs::RegInfo;
use rkfd_hw::smu::answer;
use rkfd_hw::smu::v14_0::{message, DEBUG_MODE_1};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// 104.64.0, of Navi 48's kind.
const VERSION: u32 = 0x0068_4000;
/// `SMU14_0_2_DRIVER_IF_VERSION` (`SMU14_DRIVER_IF_VERSION`).
const INTERFACE: u32 = 0x2e;

/// The mailboxes.
#[derive(Clone, Copy)]
struct State {
    message: u32,
    argument: u32,
    answer: u32,
    /// C2PMSG_53 and 54.
    debug: [u32; 2],
    /// Where tables go, in the kernel's address space.
    tables: u64,
    /// MP1_SMN_IH_SW_INT, and its CTRL.
    interrupt: [u32; 2],
}

impl State {
    /// Nothing was asked; the last answer is a good one, or drivers would wait for it.
    const START: Self = Self {
        message: 0,
        argument: 0,
        answer: answer::OK,
        debug: [0; 2],
        tables: 0,
        interrupt: [0; 2],
    };
}

/// The block.
pub struct Smu {
    env: Arc<dyn Env>,
    state: Mutex<State>,
}

impl Smu {
    /// Start-up state: nothing was asked.
    pub fn new(env: Arc<dyn Env>) -> Self {
        Self {
            env,
            state: Mutex::new(State::START),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runs(&self) -> bool {
        self.env.firmware().has(Firmware::Smu)
    }

    /// Whether a table can lie where the driver says: it is empty, so only its first word is written.
    fn give_table(&self, at: u64) -> u32 {
        let space = self.env.memory().space(Hub::Mm, 0);
        match at != 0 && space.store_u32(at, 0).is_ok() {
            true => answer::OK,
            false => answer::FAILED,
        }
    }

    fn ask(&self, state: &mut State, asked: u32) {
        let given = state.argument;
        let low = |wide: u64| (wide & !0xffff_ffff) | u64::from(given);
        state.message = asked;
        state.answer = answer::OK;
        match asked {
            message::TEST => state.argument = given.wrapping_add(1),
            message::GET_VERSION => state.argument = VERSION,
            message::GET_INTERFACE_VERSION => state.argument = INTERFACE,
            message::GET_FEATURES_LOW | message::GET_FEATURES_HIGH => state.argument = 0,
            message::SET_DRIVER_ADDRESS_HIGH => {
                state.tables = (u64::from(given) << 32) | (state.tables & 0xffff_ffff);
            }
            message::SET_DRIVER_ADDRESS_LOW => state.tables = low(state.tables),
            message::GET_TABLE => state.answer = self.give_table(state.tables),
            // What is allowed, set or logged changes nothing here.
            message::ALLOW_FEATURES_LOW
            | message::ALLOW_FEATURES_HIGH
            | message::ENABLE_ALL_FEATURES
            | message::DISABLE_ALL_FEATURES
            | message::SET_TOOLS_ADDRESS_HIGH
            | message::SET_TOOLS_ADDRESS_LOW
            | message::SET_TABLE
            | message::SET_PCIE
            | message::SET_LOG_ADDRESS_HIGH
            | message::SET_LOG_ADDRESS_LOW
            | message::SET_LOG_SIZE
            | message::PREPARE_FOR_UNLOAD
            | message::CALIBRATE
            | message::ALLOW_INTERRUPT => {}
            _ => state.answer = answer::UNKNOWN,
        }
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
        let state = self.state();
        Ok(match reg.reg.name {
            "MP1_SMN_C2PMSG_53" => state.debug[0],
            "MP1_SMN_C2PMSG_54" => state.debug[1],
            "MP1_SMN_C2PMSG_66" => state.message,
            "MP1_SMN_C2PMSG_75" => 0,
            "MP1_SMN_C2PMSG_82" => state.argument,
            "MP1_SMN_C2PMSG_90" if self.runs() => state.answer,
            "MP1_SMN_C2PMSG_90" => 0,
            "MP1_SMN_IH_SW_INT" => state.interrupt[0],
            "MP1_SMN_IH_SW_INT_CTRL" => state.interrupt[1],
            "MP1_FIRMWARE_FLAGS" if self.runs() => MP1_FIRMWARE_FLAGS::INTERRUPTS_ENABLED.mask(),
            "MP1_FIRMWARE_FLAGS" => 0,
            _ => return Err(Refused::NotModelled),
        })
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        let mut state = self.state();
        let undefined = |what: &str| Err(Refused::Undefined(what.into()));
        match reg.reg.name {
            "MP1_SMN_C2PMSG_66" | "MP1_SMN_C2PMSG_75" if !self.runs() => {
                return undefined("the management unit has no firmware");
            }
            "MP1_SMN_C2PMSG_66" if state.answer != 0 => {
                return undefined("the last answer was not cleared");
            }
            "MP1_SMN_C2PMSG_66" => self.ask(&mut state, value),
            "MP1_SMN_C2PMSG_75" if value == DEBUG_MODE_1 => self.env.reset_chip(),
            "MP1_SMN_C2PMSG_75" => return undefined("a debug message that is not modelled"),
            "MP1_SMN_C2PMSG_53" => state.debug[0] = value,
            "MP1_SMN_C2PMSG_54" => state.debug[1] = value,
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
        *self.state() = State::START;
    }
}
