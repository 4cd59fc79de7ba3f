// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gpu_metrics` of MI300, beside hwmon's files and what the device measured.
//!
//! The file says itself what is in it, so it is read here by what Linux's `kgd_pp_interface.h` says of the words in front
//! of the values (`AMDGPU_METRICS_ENC_ATTR`), without the list that the driver writes it by.

use super::{LEVELS, SHOW as SENSORS};
use crate::trace::Trace;
use crate::verdict::Outcome;
use std::collections::HashMap;

/// Prints the file of the device in whose folder it runs: `metrics BYTES`.
pub(super) const SHOW: &str =
    "echo metrics $(hexdump -v -e '1/1 \"%02x\"' gpu_metrics) | grep '^metrics [0-9a-f][0-9a-f]'";

/// `AMDGPU_METRICS_ATTR_ID_*`.
mod id {
    pub(super) const TEMPERATURE_HOTSPOT: u64 = 0;
    pub(super) const TEMPERATURE_MEM: u64 = 1;
    pub(super) const CURR_SOCKET_POWER: u64 = 3;
    pub(super) const AVERAGE_GFX_ACTIVITY: u64 = 4;
    pub(super) const AVERAGE_UMC_ACTIVITY: u64 = 5;
    pub(super) const ENERGY_ACCUMULATOR: u64 = 7;
    pub(super) const SYSTEM_CLOCK_COUNTER: u64 = 8;
    pub(super) const ACCUMULATION_COUNTER: u64 = 9;
    pub(super) const FIRMWARE_TIMESTAMP: u64 = 32;
    pub(super) const CURRENT_GFXCLK: u64 = 33;
    pub(super) const CURRENT_UCLK: u64 = 37;
    pub(super) const GFX_BUSY_INST: u64 = 40;
    pub(super) const GFX_BELOW_HOST_LIMIT_PPT_ACC: u64 = 44;
    pub(super) const TEMPERATURE_XCD: u64 = 51;
}

/// Prints it between hwmon's files and clocks' levels of the same time, and how many XCCs there are.
pub(in crate::scenarios) fn beside_others() -> String {
    let nodes = "/sys/devices/virtual/kfd/kfd/topology/nodes";
    format!(
        "{SENSORS} && {SHOW} && {LEVELS} && grep -o '[0-9]*Mhz [*]' pp_dpm_mclk | sed 's/^/level /;s/Mhz.*//' && \
         sed -n 's/^num_xcc /xccs /p' {nodes}/1/properties"
    )
}

/// Prints it once more, at least a measurement later.
pub(in crate::scenarios) fn later() -> String {
    format!("sleep 0.1; cd /sys/bus/pci/devices/0000:00:01.0 && {SHOW}")
}

/// The values of each attribute, by its id. Those that aren't known have all bits set.
struct Metrics(HashMap<u64, Vec<Option<u64>>>);

impl Metrics {
    /// Reads the bytes of a file in format 1.9.
    fn parse(text: &str) -> Result<Self, String> {
        let digits = (0..text.len()).step_by(2);
        let bytes = digits.map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok());
        let bytes: Vec<u8> = bytes.collect::<Option<_>>().ok_or("no bytes")?;
        let mut at = 0;
        let mut take = |size: usize| {
            let part = bytes.get(at..at + size).ok_or("the file is cut short")?;
            at += size;
            let number = part.iter().rev();
            Ok::<u64, String>(number.fold(0, |value, byte| (value << 8) | u64::from(*byte)))
        };
        let (size, format, content, count) = (take(2)?, take(1)?, take(1)?, take(4)?);
        if (size, format, content) != (bytes.len() as u64, 1, 9) {
            return Err(format!(
                "{} bytes say that they are {size} of format {format}.{content}",
                bytes.len()
            ));
        }
        let mut all = HashMap::new();
        for _ in 0..count {
            let what = take(8)?;
            // AMDGPU_METRICS_TYPE_U8, S8, U16, S16, U32, S32, U64, S64.
            let size = 1 << (((what >> 20) & 0xf) / 2);
            let unknown = u64::MAX >> (64 - 8 * size);
            let values = (0..what & 0x3ff).map(|_| take(size));
            let values: Result<Vec<_>, _> = values.collect();
            let known = |value| (value != unknown).then_some(value);
            all.insert(
                (what >> 10) & 0x3ff,
                values?.into_iter().map(known).collect(),
            );
        }
        match at == bytes.len() {
            true => Ok(Self(all)),
            false => Err(format!("the attributes end at byte {at}")),
        }
    }

    fn all(&self, id: u64) -> Result<&[Option<u64>], String> {
        let values = self.0.get(&id).map(Vec::as_slice);
        values.ok_or_else(|| format!("there is no attribute {id}"))
    }

    /// The first value of an attribute, which has to be known.
    fn get(&self, id: u64) -> Result<u64, String> {
        let first = self.all(id)?.first().copied().flatten();
        first.ok_or_else(|| format!("attribute {id} is not known"))
    }

    /// How many values are known.
    fn known(&self, id: u64) -> Result<usize, String> {
        Ok(self.all(id)?.iter().flatten().count())
    }
}

/// Each file that was printed is one of the device's measurements in every value; the first is also what the files
/// around it showed; counters only grow.
pub(in crate::scenarios) fn as_measured(outcome: &Outcome) -> Result<(), String> {
    let after = |line: &str, word: &str| {
        let mut words = line.split_whitespace().skip_while(|it| *it != word);
        words.nth(1).map(str::to_owned)
    };
    // A step has that name, too.
    let bytes = |line: &String| after(line, "metrics").filter(|text| text.len() > 100);
    let files: Vec<String> = outcome.output.iter().filter_map(bytes).collect();
    let files: Result<Vec<_>, _> = files.iter().map(|text| Metrics::parse(text)).collect();
    let files = files?;
    let [first, .., last] = files.as_slice() else {
        return Err(format!("{} files were shown, not two", files.len()));
    };
    let trace = Trace::read(&outcome.logs)?;
    for file in &files {
        measured(file, &trace)?;
    }
    for id in [
        id::ENERGY_ACCUMULATOR,
        id::SYSTEM_CLOCK_COUNTER,
        id::ACCUMULATION_COUNTER,
        id::FIRMWARE_TIMESTAMP,
    ] {
        let (before, now) = (first.get(id)?, last.get(id)?);
        if before >= now {
            return Err(format!("attribute {id} went from {before} to {now}"));
        }
    }
    // What other files showed just before it, without work; clocks that follow no load stay.
    let near = outcome.output.iter().position(|line| bytes(line).is_some());
    let (before, behind) = outcome.output.split_at(near.unwrap_or(0));
    let shown = |name: &str| {
        let mut lines = before.iter().rev().filter_map(|line| after(line, name));
        let value = lines.next().and_then(|value| value.parse::<u64>().ok());
        value.ok_or_else(|| format!("{name} was not shown"))
    };
    let told = |name: &str| {
        let mut lines = behind.iter().filter_map(|line| after(line, name));
        let value = lines.next().and_then(|value| value.parse::<u64>().ok());
        value.ok_or_else(|| format!("{name} was not told"))
    };
    for (name, unit, id, close) in [
        ("temp2_input", 1000, id::TEMPERATURE_HOTSPOT, 1500),
        ("temp3_input", 1000, id::TEMPERATURE_MEM, 1500),
        ("power1_input", 1_000_000, id::CURR_SOCKET_POWER, 2_000_000),
        ("freq1_input", 1_000_000, id::CURRENT_GFXCLK, 25_000_000),
        ("freq2_input", 1_000_000, id::CURRENT_UCLK, 0),
    ] {
        let (value, other) = (first.get(id)? * unit, shown(name)?);
        if value.abs_diff(other) > close {
            return Err(format!(
                "gpu_metrics has {value} where {name} shows {other}"
            ));
        }
    }
    let (level, uclk) = (told("level")?, first.get(id::CURRENT_UCLK)?);
    if level != uclk {
        return Err(format!(
            "pp_dpm_mclk is at {level} MHz, gpu_metrics at {uclk}"
        ));
    }
    let xccs = told("xccs")?;
    for id in [id::CURRENT_GFXCLK, id::GFX_BUSY_INST] {
        let known = first.known(id)?;
        if known as u64 != xccs {
            return Err(format!("attribute {id} has {known} values of {xccs} XCCs"));
        }
    }
    // Firmware 85.121.0 doesn't report these (`smu_v13_0_6_init_caps`: HST_LIMIT_METRICS, TEMP_AID_XCD_HBM).
    match first.known(id::GFX_BELOW_HOST_LIMIT_PPT_ACC)? + first.known(id::TEMPERATURE_XCD)? {
        0 => Ok(()),
        other => Err(format!(
            "{other} values are known that the firmware doesn't report"
        )),
    }
}

/// One of the device's measurements has all of these values, so far as they are rounded to whole units here.
fn measured(file: &Metrics, trace: &Trace) -> Result<(), String> {
    let values = [
        ("millidegrees", file.get(id::TEMPERATURE_HOTSPOT)?),
        ("milliwatts", file.get(id::CURR_SOCKET_POWER)?),
        ("gfx_khz", file.get(id::CURRENT_GFXCLK)?),
        ("busy", file.get(id::AVERAGE_GFX_ACTIVITY)?),
        ("copies", file.get(id::AVERAGE_UMC_ACTIVITY)?),
    ];
    let uclk = file.get(id::CURRENT_UCLK)?;
    let mut found = trace.all("smu_metrics").filter(|event| {
        let is = |member, value: u64, close| {
            let found = event.num(member).ok();
            found.is_some_and(|found| found.abs_diff(value) <= close)
        };
        is("memory_mhz", uclk, 0) && values.iter().all(|(member, it)| is(member, it * 1000, 501))
    });
    match found.next() {
        Some(_) => Ok(()),
        None => Err(format!(
            "the device never measured {values:?} and {uclk} MHz"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_is_in_it() {
        // Two attributes: id 3, watts, one of 16 bits; id 40, percent, two of 32 bits, of which one is not known.
        let mut bytes = vec![34, 0, 1, 9, 2, 0, 0, 0];
        bytes.extend(0x0320_0c01_u64.to_le_bytes());
        bytes.extend(100_u16.to_le_bytes());
        bytes.extend(0x0a40_a002_u64.to_le_bytes());
        bytes.extend([1, 0, 0, 0, 255, 255, 255, 255]);
        let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
        let text = bytes.iter().fold(String::new(), hex);
        let metrics = Metrics::parse(&text).unwrap();
        assert_eq!(metrics.get(id::CURR_SOCKET_POWER), Ok(100));
        assert_eq!(metrics.all(id::GFX_BUSY_INST), Ok(&[Some(1), None][..]));
        assert!(Metrics::parse(&text[..text.len() - 2]).is_err());
    }
}
