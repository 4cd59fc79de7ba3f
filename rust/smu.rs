// SPDX-License-Identifier: GPL-2.0

//! The system management unit (SMU): its firmware takes messages with one argument through a mailbox.
//!
//! Source: `pm/swsmu/smu_cmn.c` (`smu_msg_v1_send_msg`).
//!
//! It manages clocks and power by itself once it is told to ([`Enabled`]), and measures for who asks ([`table`]).
//!
//! Lock order: the table's lock, then the mailbox's, which is a leaf. The latter is held while the firmware answers, for as
//! long as [`ANSWER`] at most, twice.

use crate::{
    device::Handle,
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

mod hal;
mod metrics;
mod source;
mod table;

pub(crate) use hal::{
    hal,
    Hal, //
};
pub(crate) use table::{
    Enabled,
    Reading, //
};
use table::{
    Service,
    Table, //
};

/// TIMEOUT: `default_timeout`, 20 times `AMDGPU_MAX_USEC_TIMEOUT`.
const ANSWER: Delta = Delta::from_secs(2);

/// TIMEOUT: `SMU13_MODE1_RESET_WAIT_TIME_IN_MS`.
const RESET: Delta = Delta::from_millis(500);

/// The registers, and the messages that the driver sends.
pub(crate) struct Mailbox {
    message: AnyReg,
    argument: AnyReg,
    answer: AnyReg,
    /// Resets the copy engines of a mask.
    reset_sdma: u32,
    /// Resets the whole chip, with this argument.
    reset_chip: (u32, u32),
    service: Service,
}

/// The unit.
#[pin_data]
pub(crate) struct Smu {
    dev: Arc<Handle>,
    regs: Arc<Regs>,
    mailbox: Option<&'static Mailbox>,
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
                mailbox: hal.mailbox(),
                lock <- new_mutex!((), "rkfd SMU"),
                table <- new_mutex!(Table::default(), "rkfd SMU table"),
            }),
            GFP_KERNEL,
        )
    }

    /// Resets a copy engine: no queue is left on it, its registers have their start-up values, and its firmware
    /// runs again (`smu_v13_0_6_reset_sdma`).
    ///
    /// # Errors
    ///
    /// EOPNOTSUPP when the driver or the firmware has no such message, EIO, EINVAL and EBUSY when the firmware
    /// refuses it, ETIME when it doesn't answer, ENODEV. Logged, but for the first and the last.
    pub(crate) fn reset_copy_engine(&self, engine: u32) -> Result {
        let mailbox = self.mailbox.ok_or(EOPNOTSUPP)?;
        let mask = 1u32.checked_shl(engine).ok_or(EINVAL)?;
        let result = self.send(mailbox, mailbox.reset_sdma, mask).map(|_| ());
        result.inspect_err(|&error| {
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
    /// its time to come back, as from power-on.
    ///
    /// # Errors
    ///
    /// As of [`Self::reset_copy_engine`]: then nothing was reset. Logged.
    pub(crate) fn reset_chip(&self) -> Result {
        let mailbox = self.mailbox.ok_or(EOPNOTSUPP)?;
        let (message, argument) = mailbox.reset_chip;
        self.send(mailbox, message, argument)
            .inspect_err(|&error| {
                dev_err!(
                    self.dev.device(),
                    "the management unit doesn't reset the GPU ({:?})\n",
                    error
                );
            })?;
        // It knows of no table any more, until it is told again.
        self.table.lock().silent = true;
        fsleep(RESET);
        Ok(())
    }

    /// Sends a message, once the one before was answered, and waits for its answer: the value.
    fn send(&self, mailbox: &Mailbox, message: u32, argument: u32) -> Result<u32> {
        let regs = &self.regs;
        let answered = || regs.wait_at(0, mailbox.answer, ANSWER, |answer| answer != 0);
        let _lock = self.lock.lock();
        answered()?;
        regs.write(mailbox.answer, 0);
        regs.write(mailbox.argument, argument);
        regs.write(mailbox.message, message);
        match answered()? {
            answer::OK => Ok(regs.read(mailbox.argument)),
            answer::UNKNOWN => Err(EOPNOTSUPP),
            answer::BUSY => Err(EBUSY),
            answer::BAD_PREREQUISITE => Err(EINVAL),
            answer::FAILED => Err(EIO),
            // Linux: EREMOTEIO.
            _ => Err(EIO),
        }
    }
}
