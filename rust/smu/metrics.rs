// SPDX-License-Identifier: GPL-2.0

//! The file `gpu_metrics`: all that the unit measures, as a list of attributes ([`crate::uapi::metrics`]) or in columns.
//!
//! Source: `smu_v13_0_6_get_gpu_metrics`.

use super::{
    source::{
        Metric,
        Source, //
    },
    table::Format,
    Smu, //
};
use crate::{
    glue::user::boottime_ns,
    gmc::KernelBuf,
    hw::regs::Block,
    uapi::metrics::{
        Attribute,
        HEADER,
        MI300,
        REVISION, //
    }, //
};
use kernel::prelude::*;

/// Tenths of GT/s of each generation of PCI Express (`link_speed`, `pcie_gen_to_speed`).
const SPEEDS: [u32; 6] = [25, 50, 80, 160, 320, 640];

/// The table of a measurement.
struct Values<'a> {
    fraction: u32,
    metrics: &'static [Metric],
    memory: &'a KernelBuf,
    smu: &'a Smu,
    version: u32,
}

impl Values<'_> {
    fn word(&self, first: usize, index: usize) -> Result<u64> {
        let at = first.checked_add(index).ok_or(EINVAL)?;
        Ok(self.memory.read(at)?.into())
    }

    fn pair(&self, first: usize, index: usize) -> Result<u64> {
        let first = first
            .checked_add(index.checked_mul(2).ok_or(EINVAL)?)
            .ok_or(EINVAL)?;
        Ok(self.word(first, 0)? | self.word(first, 1)? << 32)
    }

    /// `SMUQ10_ROUND`.
    fn rounded(&self, value: u64) -> u64 {
        let half = 1u64.checked_shl(self.fraction).unwrap_or(0) >> 1;
        let value = value.checked_add(half).unwrap_or(value);
        value.checked_shr(self.fraction).unwrap_or(0)
    }

    /// The number in hardware of an XCC that is there (`GET_INST`).
    fn xcc(&self, index: usize) -> Option<usize> {
        self.smu
            .regs
            .instances(Block::Gc)
            .nth(index)
            .map(usize::from)
    }

    /// A value of an attribute; `None` for one that isn't known.
    fn get(&self, attribute: &Attribute, index: usize) -> Result<Option<u64>> {
        let mut metrics = self.metrics.iter();
        let is_it = |metric: &&Metric| metric.attribute.id == attribute.id;
        let Some(metric) = metrics.find(is_it).filter(|it| (it.known)(self.version)) else {
            return Ok(None);
        };
        let value = match metric.source {
            Source::Rounded(at) => self.rounded(self.word(at, index)?),
            Source::RoundedPair(at) => self.rounded(self.pair(at, index)?),
            Source::Word(at) => self.word(at, index)?,
            Source::Pair(at) => self.pair(at, index)?,
            Source::Xcc(at) => match self.xcc(index) {
                Some(xcc) => self.rounded(self.word(at, xcc)?),
                None => return Ok(None),
            },
            Source::XccPair(at) => match self.xcc(index) {
                Some(xcc) => self.rounded(self.pair(at, xcc)?),
                None => return Ok(None),
            },
            Source::XccBits(at) => {
                let first = self.xcc(0).and_then(|xcc| u32::try_from(xcc).ok());
                let bits = self.word(at, 0)?;
                bits.checked_shr(first.unwrap_or(0)).unwrap_or(0)
            }
            Source::Link(at) => {
                let generation = usize::try_from(self.word(at, 0)?).unwrap_or(usize::MAX);
                match SPEEDS.get(generation.saturating_sub(1)) {
                    Some(&speed) => speed.into(),
                    None => return Ok(None),
                }
            }
            Source::Uptime => boottime_ns(),
        };
        Ok(Some(value))
    }

    /// Puts the list's bytes.
    fn put(&self, put: &mut dyn FnMut(&[u8]) -> Result) -> Result {
        let mut size = HEADER;
        for attribute in MI300 {
            let bytes = usize::from(attribute.count).checked_mul(attribute.kind.bytes());
            let own = bytes.and_then(|bytes| bytes.checked_add(8)).ok_or(EINVAL)?;
            size = size.checked_add(own).ok_or(EINVAL)?;
        }
        put(&u16::try_from(size).map_err(|_| EINVAL)?.to_le_bytes())?;
        put(&[REVISION.0, REVISION.1])?;
        put(&u32::try_from(MI300.len())
            .map_err(|_| EINVAL)?
            .to_le_bytes())?;
        for attribute in MI300 {
            put(&attribute.encoding().to_le_bytes())?;
            for index in 0..attribute.count.into() {
                let value = self.get(attribute, index)?.unwrap_or(u64::MAX);
                let bytes = value.to_le_bytes();
                put(bytes.get(..attribute.kind.bytes()).ok_or(EINVAL)?)?;
            }
        }
        Ok(())
    }
}

impl Smu {
    /// Has it measure, and puts the file's bytes.
    ///
    /// # Errors
    ///
    /// As of [`Self::measure`], and those of `put`.
    pub(crate) fn metrics(&self, put: &mut dyn FnMut(&[u8]) -> Result) -> Result {
        self.with_table(|service, table| match &service.metrics {
            Format::List { fraction, metrics } => Values {
                fraction: *fraction,
                metrics,
                memory: table.memory,
                smu: self,
                version: table.version,
            }
            .put(put),
            Format::Columns(columns) => columns.put(table.memory, table.version, put),
        })
    }
}
