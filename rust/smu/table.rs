// SPDX-License-Identifier: GPL-2.0

//! What the management unit does for the driver as long as that is there: it manages clocks and power, and writes what
//! it measures into a table in memory.
//!
//! Source: `smu_smc_hw_setup` (order), `smu_v13_0_6_get_metrics_table`, `smu_v13_0_6_get_smu_metrics_data`.

use super::{
    source::Metric,
    Smu, //
};
use crate::{
    glue::errno::etime,
    gmc::{
        Gart,
        KernelBuf, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    time::{
        Delta,
        Instant,
        Monotonic, //
    }, //
};

/// For so long a measurement is a new one (`smu_v13_0_6_get_metrics_table`).
const FRESH: Delta = Delta::from_millis(1);
/// Levels of the memory's clock.
pub(crate) const LEVELS: usize = 4;

/// The messages, and where things are in the table: numbers of words.
pub(super) struct Service {
    pub(super) version: u32,
    pub(super) interface_version: u32,
    /// The version of the interface that the driver knows.
    pub(super) interface: u32,
    pub(super) enable: u32,
    pub(super) prepare_unload: u32,
    pub(super) address_high: u32,
    pub(super) address_low: u32,
    pub(super) measure: u32,
    /// Words of the table.
    pub(super) words: usize,
    /// Bits of a fraction in its values.
    pub(super) fraction: u32,
    /// 0 until there is a measurement.
    pub(super) count: usize,
    pub(super) power: usize,
    pub(super) temperature: usize,
    pub(super) memory_temperature: usize,
    pub(super) gfx: usize,
    pub(super) gfx_least: usize,
    pub(super) gfx_most: usize,
    pub(super) memory: usize,
    pub(super) memory_levels: usize,
    pub(super) busy: usize,
    pub(super) memory_busy: usize,
    /// Where the file `gpu_metrics` has its values from.
    pub(super) metrics: &'static [Metric],
}

/// A measurement.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// Milliwatts, and thousandths of a degree.
    pub(crate) power: u32,
    pub(crate) temperature: u32,
    pub(crate) memory_temperature: u32,
    /// MHz: of the compute units now, the least and the most; of memory now, and its levels.
    pub(crate) gfx: u32,
    pub(crate) gfx_range: (u32, u32),
    pub(crate) memory: u32,
    pub(crate) memory_levels: [u32; LEVELS],
    /// Percent.
    pub(crate) busy: u32,
    pub(crate) memory_busy: u32,
}

/// Where the unit writes, and what it wrote last.
#[derive(Default)]
pub(super) struct Table {
    memory: Option<KernelBuf>,
    measured: Option<Instant<Monotonic>>,
    /// Of its firmware.
    version: u32,
    /// It didn't answer: nobody waits for it again.
    pub(super) silent: bool,
}

impl Smu {
    /// Has it measure. A measurement of the last millisecond does, too.
    ///
    /// # Errors
    ///
    /// EOPNOTSUPP when it can't; EPERM while the device is being reset; EIO when it has measured nothing, or didn't answer
    /// once; ETIME when it doesn't answer now; those of refusals; ENODEV.
    pub(crate) fn measure(&self) -> Result<Reading> {
        self.with_table(|service, memory, _| service.read(memory))
    }

    /// Has it measure, and reads from its table; passes the version of its firmware, too.
    ///
    /// # Errors
    ///
    /// As of [`Self::measure`], and those of `read`.
    pub(super) fn with_table<T>(
        &self,
        read: impl FnOnce(&Service, &KernelBuf, u32) -> Result<T>,
    ) -> Result<T> {
        let service = self.interface.service.as_ref().ok_or(EOPNOTSUPP)?;
        self.dev.alive()?;
        let mut table = self.table.lock();
        if table.measured.is_none_or(|at| at.elapsed() >= FRESH) {
            if self.dev.is_away() {
                return Err(EPERM);
            }
            if table.silent {
                return Err(EIO);
            }
            if table.memory.is_none() {
                return Err(EOPNOTSUPP);
            }
            if let Err(error) = self.send(service.measure, 0) {
                table.silent = error == etime();
                return Err(error);
            }
            table.measured = Some(Instant::now());
        }
        let memory = table.memory.as_ref().ok_or(EOPNOTSUPP)?;
        if memory.read(service.count)? == 0 {
            return Err(EIO);
        }
        read(service, memory, table.version)
    }

    /// Tells it where the table is, and has it manage clocks and power.
    fn enable(&self, service: &Service, gart: &Arc<Gart>) -> Result {
        let dev = self.dev.device();
        let version = self.send(service.version, 0)?;
        let interface = self.send(service.interface_version, 0)?;
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
            None => KernelBuf::new(gart, service.words.checked_mul(4).ok_or(EINVAL)?)?,
        };
        let at = memory.gpu_addr().get();
        *table = Table {
            memory: Some(memory),
            version,
            ..Table::default()
        };
        drop(table);
        // CAST: Halves.
        self.send(service.address_high, (at >> 32) as u32)?;
        self.send(service.address_low, at as u32)?;
        self.send(service.enable, 0)?;
        Ok(())
    }
}

impl Service {
    fn read(&self, memory: &KernelBuf) -> Result<Reading> {
        let word = |at: usize| memory.read(at);
        // `SMUQ10_ROUND`.
        let rounded = |at: usize| {
            let value = word(at)?;
            let half = 1u32 << self.fraction >> 1;
            Ok::<u32, Error>(value.checked_add(half).unwrap_or(value) >> self.fraction)
        };
        // `SMUQ10_TO_MILLIWATT`, `SMUQ10_TO_MILLICELSIUS`.
        let thousandths = |at: usize| {
            let value = u64::from(word(at)?).saturating_mul(1000) >> self.fraction;
            Ok::<u32, Error>(u32::try_from(value).unwrap_or(u32::MAX))
        };
        let mut memory_levels = [0; LEVELS];
        for (level, at) in Iterator::zip(memory_levels.iter_mut(), self.memory_levels..) {
            *level = rounded(at)?;
        }
        Ok(Reading {
            power: thousandths(self.power)?,
            temperature: thousandths(self.temperature)?,
            memory_temperature: thousandths(self.memory_temperature)?,
            gfx: rounded(self.gfx)?,
            gfx_range: (rounded(self.gfx_least)?, rounded(self.gfx_most)?),
            memory: rounded(self.memory)?,
            memory_levels,
            busy: rounded(self.busy)?,
            memory_busy: rounded(self.memory_busy)?,
        })
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
            let _ = self.smu.send(service.prepare_unload, 0);
        }
        let memory = self.smu.table.lock().memory.take();
        drop(memory);
    }
}
