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
//! Of its features those run that the driver allows, once it has them begin, and that are modelled: clocks, the power
//! limit, the fan. It writes what it measures into memory ([`table`]).
//!
//! The graphics core is off while it is idle, once a driver allows it (GFXOFF, `smu_v14_0_gfx_off_control`): then its registers
//! must be left alone.
//!
//! Not modelled: other clocks' levels, what drivers set of fans and voltages. Of tables only the measurement and
//! what the card is made for have content. A message that belongs to something else has the answer that firmware gives
//! to one that it does not know.

mod messages;
mod table;

use super::mode1::Asked;
use super::power::Power;
use super::psp::kept;
use crate::device::firmware::Firmware;
use crate::device::load::Load;
use crate::device::{Env, IpBlock, Refused};
use crate::trace::Value;
use rkfd_hw::regs::mp1_14_0_2::MP1_SMN_IH_SW_INT_CTRL;
use rkfd_hw::regs::mp1_public_14::MP1_FIRMWARE_FLAGS;
use rkfd_hw::regs::RegInfo;
use rkfd_hw::smu::answer;
use rkfd_hw::smu::v14_0::DEBUG_MODE_1;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// 104.80.0, of Navi 48's kind: from this one on it counts energy (`smu_v14_0_2_get_gpu_metrics`).
const VERSION: u32 = 0x0068_5000;

/// A reset of the chip begins so much later if C2PMSG_54 isn't cleared: Linux clears it, but nothing says that the hardware waits for
/// that. The reset is over before a driver looks for the chip, a second after its message (`smu_v14_0_2_mode1_reset`).
const SILENT: Duration = Duration::from_millis(500);

/// What another driver has left in the mailboxes' arguments.
const LEFT: u32 = 0x1234_5678;

/// The mailboxes.
struct State {
    message: u32,
    argument: u32,
    answer: u32,
    /// C2PMSG_53 and 54.
    debug: [u32; 2],
    /// The chip is to be reset, once the driver has cleared C2PMSG_54.
    reset: Option<Asked>,
    /// Bits of the features that the driver allows, and whether they are to run.
    allowed: u64,
    enabled: bool,
    /// Where tables go, in the kernel's address space.
    tables: u64,
    power: Power,
    /// MP1_SMN_IH_SW_INT, and its CTRL.
    interrupt: [u32; 2],
}

impl State {
    /// Nothing was asked; the last answer is a good one, or drivers would wait for it.
    fn start(load: &Load) -> Self {
        Self {
            message: 0,
            argument: 0,
            answer: answer::OK,
            debug: [0; 2],
            reset: None,
            allowed: 0,
            enabled: false,
            tables: 0,
            power: Power::new(&table::CARD, load),
            interrupt: [0; 2],
        }
    }
}

/// The block.
pub struct Smu {
    env: Arc<dyn Env>,
    state: Mutex<State>,
}

impl Smu {
    /// Start-up state: nothing was asked.
    pub fn new(env: Arc<dyn Env>) -> Self {
        let state = Mutex::new(State::start(env.load()));
        let block = Self { env, state };
        block.start();
        block
    }

    /// Another driver may have left the graphics core to be switched off, and anything in the mailboxes' arguments.
    fn start(&self) {
        let used = self.env.start().used;
        self.env.load().may_be_off.store(used, Ordering::Release);
        if used {
            let mut state = self.state();
            state.argument = LEFT;
            state.debug = [LEFT; 2];
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runs(&self) -> bool {
        self.env.firmware().has(Firmware::Smu)
    }

    /// Takes a message.
    fn ask(&self, state: &mut State, asked: u32) {
        kept::check(&*self.env);
        let given = state.argument;
        state.message = asked;
        self.carry_out(state, asked);
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
            // `smu_cmn_send_debug_smc_msg`: the argument is 0.
            "MP1_SMN_C2PMSG_75" if state.debug[0] != 0 => {
                let argument = state.debug[0];
                return undefined(&format!("the argument of a debug message is {argument:#x}"));
            }
            "MP1_SMN_C2PMSG_75" if value == DEBUG_MODE_1 => {
                state.reset = Some(Asked::new(&self.env, SILENT));
            }
            "MP1_SMN_C2PMSG_75" => return undefined("a debug message that is not modelled"),
            "MP1_SMN_C2PMSG_53" => state.debug[0] = value,
            "MP1_SMN_C2PMSG_54" => {
                state.debug[1] = value;
                if let Some(asked) = state.reset.take() {
                    asked.begin();
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
        self.start();
    }
}
