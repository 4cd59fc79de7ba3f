// SPDX-License-Identifier: GPL-2.0

//! What the management unit does for the driver as long as that is there: it manages clocks and power, and writes what
//! it measures into a table in memory.
//!
//! Source: `smu_smc_hw_setup` (order), `smu_v13_0_6_get_metrics_table`, `smu_cmn_get_metrics_table`.

use super::{
    columns::Columns,
    levels::{
        self,
        Levels, //
    },
    place::Place,
    reading::{
        Kinds,
        Reading,
        Values, //
    },
    source::Metric,
    Smu, //
};
use crate::{
    glue::linux::{
        EOPNOTSUPP,
        ETIME, //
    },
    gmc::{
        Gart,
        KernelBuf, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    }, //
};

/// For so long a measurement is a new one (`smu_v13_0_6_get_metrics_table`).
const FRESH: Delta = Delta::from_millis(1);
/// How often it is asked to measure while it has measured nothing, and how long nobody asks in between
/// (`smu_v13_0_6_setup_driver_pptable`).
const MEASUREMENTS: u32 = 99;
const BETWEEN: Delta = Delta::from_millis(1);

/// The messages, and where things are in the table.
pub(super) struct Service {
    pub(super) version: u32,
    pub(super) interface_version: u32,
    /// The version of the interface that the driver knows.
    pub(super) interface: u32,
    /// What the card is made for, where the unit has a table of that.
    pub(super) card: Option<Card>,
    /// Messages and arguments that come before it begins.
    pub(super) before: &'static [(u32, u32)],
    pub(super) enable: u32,
    pub(super) prepare_unload: u32,
    pub(super) address_high: u32,
    pub(super) address_low: u32,
    /// A message and its argument.
    pub(super) measure: (u32, u32),
    /// Words of the table.
    pub(super) words: usize,
    /// Numbers of the words with bits 31:0 of the chip's serial number, and with bits 63:32.
    pub(super) serial: [usize; 2],
    /// 0 until there is a measurement; `None` where nothing says so.
    pub(super) count: Option<Place>,
    pub(super) levels: levels::Source,
    pub(super) values: Values,
    pub(super) metrics: Format,
}

/// A table of what the card is made for: how it is asked for, and where things are.
pub(super) struct Card {
    pub(super) message: u32,
    pub(super) table: u32,
    pub(super) words: usize,
    /// Bits of features, and that of the one that drives a fan.
    pub(super) features: Place,
    pub(super) fan: u32,
    /// MHz that no clock of compute units is reported above, if it isn't 0.
    pub(super) reported_clock: Place,
    /// Turns in a minute.
    pub(super) most_turns: Place,
}

/// What the file `gpu_metrics` has.
pub(super) enum Format {
    /// A list.
    List {
        /// Bits of a fraction in the table's words.
        fraction: u32,
        metrics: &'static [Metric],
    },
    Columns(Columns),
}

/// A measurement in memory, and what else is known by then.
pub(super) struct Measured<'a> {
    pub(super) memory: &'a KernelBuf,
    pub(super) version: u32,
    fan: Option<u32>,
    levels: [Levels; 2],
}

/// Where the unit writes, and what it wrote last.
#[derive(Default)]
pub(super) struct Table {
    memory: Option<KernelBuf>,
    measured: Option<Instant<Monotonic>>,
    /// Of its firmware.
    version: u32,
    /// The chip's serial number, once it was read; 0 where the chip has none.
    serial: Option<u64>,
    /// The most turns of the card's fan; `None` where there is no fan.
    fan: Option<u32>,
    /// Those that it was asked for.
    levels: [Levels; 2],
    /// It didn't answer: nobody waits for it again.
    pub(super) silent: bool,
}

impl Smu {
    /// Has it measure. A measurement of the last millisecond does, too.
    ///
    /// # Errors
    ///
    /// EOPNOTSUPP when it can't; EBUSY while the device is being reset; EIO when it has measured nothing, or didn't answer
    /// once; ETIME when it doesn't answer now; those of refusals; ENODEV.
    pub(crate) fn measure(&self) -> Result<Reading> {
        self.with_table(|service, table| {
            let levels = service.levels.read(table.memory)?;
            service
                .values
                .read(table.memory, table.fan, levels.unwrap_or(table.levels))
        })
    }

    /// Version of its firmware, of which each byte is a number; 0 while it isn't known.
    pub(crate) fn version(&self) -> u32 {
        self.table.lock().version
    }

    /// The chip's serial number; 0 where it has none, and as long as the unit didn't tell it.
    ///
    /// Source: `smu_v13_0_6_get_unique_id`, `smu_v14_0_2_get_unique_id`.
    pub(crate) fn serial(&self) -> u64 {
        let known = self.table.lock().serial;
        known.unwrap_or_else(|| self.learn_serial().unwrap_or(0))
    }

    fn learn_serial(&self) -> Result<u64> {
        let serial = self.with_table(|service, table| {
            let [low, high] = service.serial.map(|word| table.memory.read(word));
            Ok((u64::from(high?) << 32) | u64::from(low?))
        })?;
        self.table.lock().serial = Some(serial);
        Ok(serial)
    }

    /// What it measures; `None` where the driver doesn't ask it.
    pub(crate) fn kinds(&self) -> Option<Kinds> {
        let values = &self.interface.service.as_ref()?.values;
        Some(Kinds {
            edge: values.edge.is_some(),
            voltage: values.voltage.is_some(),
            fan: values.fan.is_some() && self.table.lock().fan.is_some(),
            is_average: values.is_average,
        })
    }

    /// Has it measure, and reads from its table.
    ///
    /// # Errors
    ///
    /// As of [`Self::measure`], and those of `read`.
    pub(super) fn with_table<T>(
        &self,
        read: impl FnOnce(&Service, Measured<'_>) -> Result<T>,
    ) -> Result<T> {
        let service = self.interface.service.as_ref().ok_or(EOPNOTSUPP)?;
        self.dev.alive()?;
        let mut table = self.table.lock();
        if table.measured.is_none_or(|at| at.elapsed() >= FRESH) {
            let _here = self.regs.here().ok_or(EBUSY)?;
            if self.dev.is_resetting() {
                return Err(EBUSY);
            }
            if table.silent {
                return Err(EIO);
            }
            if table.memory.is_none() {
                return Err(EOPNOTSUPP);
            }
            self.fill(service, &mut table)?;
        }
        let memory = table.memory.as_ref().ok_or(EOPNOTSUPP)?;
        read(
            service,
            Measured {
                memory,
                version: table.version,
                fan: table.fan,
                levels: table.levels,
            },
        )
    }

    /// Has it measure: again, if it has measured nothing yet since it began (`smu_v13_0_6_setup_driver_pptable`).
    fn fill(&self, service: &Service, table: &mut Table) -> Result {
        let (message, argument) = service.measure;
        for _ in 0..MEASUREMENTS {
            if let Err(error) = self.tell(message, argument) {
                table.silent = error == ETIME;
                return Err(error);
            }
            let memory = table.memory.as_ref().ok_or(EOPNOTSUPP)?;
            let is_empty = match &service.count {
                Some(count) => count.bits(memory)? == 0,
                None => false,
            };
            if !is_empty {
                table.measured = Some(Instant::now());
                return Ok(());
            }
            fsleep(BETWEEN);
        }
        Err(EIO)
    }

    /// Tells it where the table is, and has it manage clocks and power.
    fn enable(&self, service: &Service, gart: &Arc<Gart>) -> Result {
        let dev = self.dev.device();
        let version = self.ask(service.version, 0)?;
        let interface = self.ask(service.interface_version, 0)?;
        dev_info!(
            dev,
            "the management unit runs, version {}.{}.{}, interface {:#x}\n",
            (version >> 16) & 0xff,
            (version >> 8) & 0xff,
            version & 0xff,
            interface
        );
        if interface != service.interface {
            // As upstream: it is compatible, or so it says.
            dev_info!(
                dev,
                "the driver knows interface {:#x} of it\n",
                service.interface
            );
        }
        let mut table = self.table.lock();
        let memory = match table.memory.take() {
            Some(memory) => memory,
            None => {
                let card = service.card.as_ref().map_or(0, |card| card.words);
                let words = service.words.max(card);
                KernelBuf::new(gart, words.checked_mul(4).ok_or(EINVAL)?)?
            }
        };
        let at = memory.gpu_addr().get();
        *table = Table {
            memory: Some(memory),
            version,
            serial: table.serial,
            // Nobody has it measure before it knows where to.
            silent: true,
            ..Table::default()
        };
        drop(table);
        // CAST: Halves.
        self.tell(service.address_high, (at >> 32) as u32)?;
        self.tell(service.address_low, at as u32)?;
        self.table.lock().silent = false;
        let reported = self.learn_card(service)?;
        for &(message, argument) in service.before {
            self.tell(message, argument)?;
        }
        self.tell(service.enable, 0)?;
        let mut levels = self.levels(&service.levels)?;
        if let ([gfx, _], Some(mhz)) = (&mut levels, reported) {
            gfx.cap(mhz);
        }
        self.table.lock().levels = levels;
        Ok(())
    }

    /// Learns whether the card has a fan, and the MHz that no clock is reported above.
    fn learn_card(&self, service: &Service) -> Result<Option<u32>> {
        let Some(card) = &service.card else {
            return Ok(None);
        };
        let mut table = self.table.lock();
        self.tell(card.message, card.table)?;
        let memory = table.memory.as_ref().ok_or(EINVAL)?;
        let has_fan = card.features.bits(memory)?.checked_shr(card.fan);
        let most = card.most_turns.bits(memory)?;
        let clock = card.reported_clock.bits(memory)?;
        table.fan = (has_fan.unwrap_or(0) & 1 == 1).then_some(most);
        Ok(Some(clock).filter(|&mhz| mhz != 0))
    }
}

/// The unit manages clocks and power for the driver; dropped, it knows that the driver has gone.
pub(crate) struct Enabled {
    smu: Arc<Smu>,
    gart: Arc<Gart>,
}

impl Enabled {
    /// Where the driver knows how, has it begin.
    ///
    /// # Errors
    ///
    /// ETIME when it doesn't answer, those of refusals, ENOMEM, ENODEV. Logged.
    pub(crate) fn new(smu: &Arc<Smu>, gart: &Arc<Gart>) -> Result<Self> {
        let enabled = Self {
            smu: smu.clone(),
            gart: gart.clone(),
        };
        enabled.renew()?;
        Ok(enabled)
    }

    /// Has it begin again, after the device has lost everything.
    ///
    /// # Errors
    ///
    /// As of [`Self::new`].
    pub(crate) fn renew(&self) -> Result {
        let Some(service) = &self.smu.interface.service else {
            return Ok(());
        };
        self.smu.enable(service, &self.gart).inspect_err(|&error| {
            if error != ENODEV {
                dev_err!(
                    self.smu.dev.device(),
                    "the management unit doesn't begin its work ({:?})\n",
                    error
                );
            }
        })
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        if let Some(service) = &self.smu.interface.service {
            // Without an answer it writes nothing either (`smu_v13_0_6_notify_unload`).
            let _ = self.smu.tell(service.prepare_unload, 0);
        }
        let memory = self.smu.table.lock().memory.take();
        drop(memory);
    }
}
