// SPDX-License-Identifier: MIT OR Apache-2.0

//! The system management unit (SMU): the mailbox by which drivers ask its firmware, which runs from
//! power-on since it is in the chip.
//!
//! A driver clears C2PMSG_90, writes an argument into C2PMSG_82 and a message into C2PMSG_66, and gets the
//! answer in C2PMSG_90 and 82. Sources: Linux, `pm/swsmu/smu_cmn.c` (`__smu_msg_v1_send`),
//! `pm/swsmu/inc/pmfw_if/smu_v13_0_6_ppsmc.h` (messages and answers),
//! `smu13_driver_if_v13_0_6.h` (version).
//!
//! It resets single copy engines (`smu_v13_0_6_reset_sdma`) and the whole chip (mode 1,
//! `smu_v13_0_6_mode1_reset`).
//!
//! Not modelled: metrics, clocks, limits, other resets, gfxoff. Such a message has the answer that firmware
//! gives to one that it does not know. The interrupt by which the unit speaks to the driver (heat, power,
//! bad memory) can be set up as in `smu_v13_0_6_set_irq_state`, and never comes, as nothing here gets hot.

use crate::device::{Env, IpBlock, Refused};
use crate::trace::Value;
use rkfd_hw::regs::mp1_13_0_6::MP1_SMN_IH_SW_INT_CTRL;
use rkfd_hw::regs::mp1_public::MP1_FIRMWARE_FLAGS;
use rkfd_hw::regs::RegInfo;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// `PPSMC_Result_*`.
mod answer {
    pub(super) const OK: u32 = 0x1;
    pub(super) const FAILED: u32 = 0xff;
    pub(super) const UNKNOWN: u32 = 0xfe;
}

/// `PPSMC_MSG_*`.
mod message {
    pub(super) const TEST: u32 = 0x1;
    pub(super) const GET_VERSION: u32 = 0x2;
    pub(super) const DRIVER_RESET: u32 = 0x3;
    pub(super) const GET_INTERFACE_VERSION: u32 = 0x4;
    pub(super) const ENABLE_ALL_FEATURES: u32 = 0x5;
    pub(super) const DISABLE_ALL_FEATURES: u32 = 0x6;
    pub(super) const GET_FEATURES_LOW: u32 = 0xb;
    pub(super) const GET_FEATURES_HIGH: u32 = 0xc;
    pub(super) const SET_DRIVER_ADDRESS_HIGH: u32 = 0xd;
    pub(super) const SET_DRIVER_ADDRESS_LOW: u32 = 0xe;
    pub(super) const PREPARE_FOR_UNLOAD: u32 = 0x34;
    pub(super) const RESET_SDMA: u32 = 0x4d;
}

/// `SMU_RESET_MODE_1`, in bits 15:0 of the argument; those above say why (`smu_v13_0_6_mode1_reset`).
const MODE_1: u32 = 1;
/// A reset of the chip begins when its answer was read, or so much later: Linux reads it at once, and a slow
/// host may take its time for that.
const UNREAD: Duration = Duration::from_secs(1);

/// 85.121.0: above 85.115.0 amdgpu loads the newer secure OS (`psp_v13_0_is_aux_sos_load_required`).
const VERSION: u32 = 0x0055_7900;
/// `SMU13_0_6_DRIVER_IF_VERSION`.
const INTERFACE: u32 = 0x0804_2024;

/// The mailbox.
struct State {
    message: u32,
    argument: u32,
    answer: u32,
    features: bool,
    /// MP1_SMN_IH_SW_INT, and its CTRL.
    interrupt: [u32; 2],
    /// The chip is to be reset, as soon as that is known; set by who does it.
    reset: Option<Arc<AtomicBool>>,
}

impl State {
    /// Nothing was asked; the last answer is a good one, or drivers would wait for it.
    const START: Self = Self {
        message: 0,
        argument: 0,
        answer: answer::OK,
        features: false,
        interrupt: [0; 2],
        reset: None,
    };
}

/// The copy engines, as the unit knows them.
pub trait CopyEngines: Send + Sync {
    /// How many there are.
    fn count(&self) -> u8;

    /// Resets one: none of its queues is left, its registers have their start-up values, and its firmware
    /// runs again.
    fn reset(&self, engine: u8);
}

/// The block.
pub struct Smu {
    env: Arc<dyn Env>,
    copies: Arc<dyn CopyEngines>,
    state: Mutex<State>,
}

impl Smu {
    /// Start-up state.
    pub fn new(env: Arc<dyn Env>, copies: Arc<dyn CopyEngines>) -> Self {
        Self {
            env,
            copies,
            state: Mutex::new(State::START),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets the engines of a mask; the answer.
    fn reset_copies(&self, mask: u32) -> u32 {
        let there = (1u32 << self.copies.count()) - 1;
        if mask == 0 || mask & !there != 0 {
            return answer::FAILED;
        }
        let engines = 0..self.copies.count();
        for engine in engines.filter(|engine| (mask >> engine) & 1 == 1) {
            self.copies.reset(engine);
        }
        answer::OK
    }

    /// The chip is reset once the driver has the answer.
    fn reset_soon(&self, state: &mut State) {
        let begun = Arc::new(AtomicBool::new(false));
        state.reset = Some(begun.clone());
        let env = self.env.clone();
        let late = move || {
            thread::sleep(UNREAD);
            reset_once(&*env, &begun);
        };
        if let Err(why) = thread::Builder::new().name("smu".into()).spawn(late) {
            eprintln!("the host refuses a thread: {why}");
        }
    }

    fn ask(&self, state: &mut State, asked: u32) {
        let given = state.argument;
        state.message = asked;
        state.answer = answer::OK;
        match asked {
            message::TEST => state.argument = given.wrapping_add(1),
            message::GET_VERSION => state.argument = VERSION,
            message::DRIVER_RESET if given & 0xffff == MODE_1 => self.reset_soon(state),
            // Resets of other kinds are not modelled.
            message::DRIVER_RESET => state.answer = answer::FAILED,
            message::GET_INTERFACE_VERSION => state.argument = INTERFACE,
            message::ENABLE_ALL_FEATURES => state.features = true,
            message::DISABLE_ALL_FEATURES => state.features = false,
            message::GET_FEATURES_LOW | message::GET_FEATURES_HIGH => {
                state.argument = if state.features { u32::MAX } else { 0 };
            }
            // Tables for the driver are not modelled: nothing is written there.
            message::SET_DRIVER_ADDRESS_HIGH | message::SET_DRIVER_ADDRESS_LOW => {}
            message::PREPARE_FOR_UNLOAD => state.features = false,
            message::RESET_SDMA => state.answer = self.reset_copies(given),
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

fn reset_once(env: &dyn Env, begun: &AtomicBool) {
    if !begun.swap(true, Ordering::AcqRel) {
        env.reset_chip();
    }
}

impl IpBlock for Smu {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        let mut state = self.state();
        if reg.reg.name == "MP1_SMN_C2PMSG_90" {
            if let Some(begun) = state.reset.take() {
                reset_once(&*self.env, &begun);
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
            "MP1_SMN_C2PMSG_66" => self.ask(&mut state, value),
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
