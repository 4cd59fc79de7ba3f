// SPDX-License-Identifier: GPL-2.0

//! The system management unit (SMU): its firmware takes messages with one argument through a mailbox.
//!
//! Source: `pm/swsmu/smu_cmn.c` (`smu_msg_v1_send_msg`, `smu_msg_v1_send_debug_msg`).
//!
//! It manages clocks and power by itself once it is told to ([`Enabled`]), and measures for who asks ([`table`]).
//!
//! Lock order: the table's lock, then the mailbox's, which is a leaf. The latter is held while the firmware answers, for as
//! long as [`ANSWER`] at most, twice.

use crate::{
    device::Handle,
    glue::linux::EOPNOTSUPP,
    hw::{
        regs::AnyReg,
        smu::answer, //
    },
    regs::Regs, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    },
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

mod columns;
mod hal;
mod levels;
mod metrics;
mod place;
mod reading;
mod source;
mod table;

pub(crate) use hal::{
    hal,
    Hal, //
};
pub(crate) use levels::Levels;
pub(crate) use reading::{
    Kinds,
    Reading, //
};
pub(crate) use table::Enabled;
use table::{
    Service,
    Table, //
};

/// TIMEOUT: `default_timeout`, 20 times `AMDGPU_MAX_USEC_TIMEOUT`.
const ANSWER: Delta = Delta::from_secs(2);

/// A message, an argument of it, and the answer, by their registers.
pub(crate) struct Mailbox {
    message: AnyReg,
    argument: AnyReg,
    answer: AnyReg,
}

/// How the whole chip is reset.
pub(crate) enum ChipReset {
    /// By a message with this argument, which is answered.
    Message(u32, u32),
    /// By a message of a mailbox for debugging, whose answer nobody can wait for.
    Debug(Mailbox, u32),
}

/// What the driver asks of a unit, and by which messages.
pub(crate) struct Interface {
    mailbox: Mailbox,
    /// Resets the copy engines of a mask; `None` where the unit doesn't.
    reset_sdma: Option<u32>,
    /// Keeps it from switching the graphics core off; `None` where it doesn't.
    keep_on: Option<u32>,
    reset_chip: ChipReset,
    /// TIMEOUT: for so long nobody looks at a chip that is reset.
    away: Delta,
    /// What it does all the time; `None` where the driver has no use for it.
    service: Option<Service>,
}

/// The unit.
#[pin_data]
pub(crate) struct Smu {
    dev: Arc<Handle>,
    regs: Arc<Regs>,
    interface: &'static Interface,
    #[pin]
    lock: Mutex<()>,
    #[pin]
    table: Mutex<Table>,
}

impl Smu {
    /// Nothing is sent yet.
    pub(crate) fn new(dev: &Arc<Handle>, regs: &Arc<Regs>, hal: &dyn Hal) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                dev: dev.clone(),
                regs: regs.clone(),
                interface: hal.interface(),
                lock <- new_mutex!((), "rkfd SMU"),
                table <- new_mutex!(Table::default(), "rkfd SMU table"),
            }),
            GFP_KERNEL,
        )
    }

    /// Keeps the graphics core from being switched off while it is idle, which another driver may have allowed: until then
    /// nobody may look at its registers (`smu_v14_0_gfx_off_control`). Logs what goes wrong: it may be on all the same.
    pub(crate) fn keep_graphics_on(&self) {
        let Some(message) = self.interface.keep_on else {
            return;
        };
        match self.tell(message, 0) {
            Ok(()) => {}
            // It never switches it off.
            Err(error) if error == EOPNOTSUPP || error == ENODEV => {}
            Err(error) => dev_warn!(
                self.dev.device(),
                "the management unit doesn't say that it keeps the graphics core on ({:?})\n",
                error
            ),
        }
    }

    /// Resets a copy engine: no queue is left on it, its registers have their start-up values, and its firmware
    /// runs again (`smu_v13_0_6_reset_sdma`).
    ///
    /// # Errors
    ///
    /// EOPNOTSUPP when the driver or the firmware has no such message, EIO, EINVAL and EBUSY when the firmware
    /// refuses it, ETIME when it doesn't answer, ENODEV. Logged, but for the first and the last.
    pub(crate) fn reset_copy_engine(&self, engine: u32) -> Result {
        let message = self.interface.reset_sdma.ok_or(EOPNOTSUPP)?;
        let mask = 1u32.checked_shl(engine).ok_or(EINVAL)?;
        self.tell(message, mask).inspect_err(|&error| {
            if error != EOPNOTSUPP && error != ENODEV {
                dev_err!(
                    self.dev.device(),
                    "the management unit doesn't reset copy engine {} ({:?})\n",
                    engine,
                    error
                );
            }
        })
    }

    /// Resets the whole chip (mode 1), and waits for as long as it must not be looked at. Then it may still take
    /// its time to come back, as from power-on. Where the unit gives no answer, only that shows whether it was reset.
    ///
    /// # Errors
    ///
    /// As of [`Self::reset_copy_engine`]: then nothing was reset. Logged.
    pub(crate) fn reset_chip(&self) -> Result {
        match &self.interface.reset_chip {
            &ChipReset::Message(message, argument) => {
                self.tell(message, argument).inspect_err(|&error| {
                    dev_err!(
                        self.dev.device(),
                        "the management unit doesn't reset the GPU ({:?})\n",
                        error
                    );
                })?;
            }
            ChipReset::Debug(mailbox, message) => self.send_debug(mailbox, *message),
        }
        // It knows of no table any more, until it is told again.
        self.table.lock().silent = true;
        fsleep(self.interface.away);
        Ok(())
    }

    /// Sends a message for debugging, whose answer nobody waits for (`smu_msg_v1_send_debug_msg`).
    fn send_debug(&self, mailbox: &Mailbox, message: u32) {
        let _lock = self.lock.lock();
        self.regs.write(mailbox.argument, 0);
        self.regs.write(mailbox.message, message);
        self.regs.write(mailbox.answer, 0);
    }

    /// Sends a message that is answered by a value.
    fn ask(&self, message: u32, argument: u32) -> Result<u32> {
        self.exchange(message, argument, || {
            self.regs.read(self.interface.mailbox.argument)
        })
    }

    /// Sends a message that has no value. Nothing is read after its answer (`num_out_args` of Linux): a chip that the message
    /// resets is gone by then.
    fn tell(&self, message: u32, argument: u32) -> Result {
        self.exchange(message, argument, || ())
    }

    /// Sends a message, once the one before was answered, and waits for its answer.
    fn exchange<T>(&self, message: u32, argument: u32, value: impl FnOnce() -> T) -> Result<T> {
        let (regs, mailbox) = (&self.regs, &self.interface.mailbox);
        let answered = || regs.wait_at(0, mailbox.answer, ANSWER, |answer| answer != 0);
        let _lock = self.lock.lock();
        answered()?;
        regs.write(mailbox.answer, 0);
        regs.write(mailbox.argument, argument);
        regs.write(mailbox.message, message);
        match answered()? {
            answer::OK => Ok(value()),
            answer::UNKNOWN => Err(EOPNOTSUPP),
            answer::BUSY => Err(EBUSY),
            answer::BAD_PREREQUISITE => Err(EINVAL),
            answer::FAILED => Err(EIO),
            // Linux: EREMOTEIO.
            _ => Err(EIO),
        }
    }
}
