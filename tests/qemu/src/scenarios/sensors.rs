// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the management unit measures, and what the kernel's files show of it.

pub(super) mod metrics;
mod navi48;

use super::{with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::Scenario;
use crate::trace::Trace;
use crate::verdict::Outcome;

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![sensors(), navi48::sensors()]
}

/// Prints each file of hwmon and of the PCI device: `sensor NAME VALUE`.
pub(super) const SHOW: &str = "cd /sys/bus/pci/devices/0000:00:01.0 && test \"$(cat hwmon/hwmon*/name)\" = amdgpu && \
    for f in hwmon/hwmon*/temp2_input hwmon/hwmon*/temp3_input hwmon/hwmon*/power1_input hwmon/hwmon*/freq1_input \
    hwmon/hwmon*/freq2_input gpu_busy_percent mem_busy_percent; do \
    echo sensor ${f##*/} $(cat $f) || exit 1; done; \
    cat hwmon/hwmon*/temp2_label hwmon/hwmon*/temp3_label hwmon/hwmon*/power1_label hwmon/hwmon*/freq1_label \
    hwmon/hwmon*/freq2_label | tr '\n' ' ' | grep -x 'junction mem PPT sclk mclk '";

/// The clocks' levels, the one that is in use marked.
pub(super) const LEVELS: &str = "cd /sys/bus/pci/devices/0000:00:01.0 && cat pp_dpm_sclk pp_dpm_mclk && \
    grep -q '^0: 132Mhz' pp_dpm_sclk && grep -q ': 2100Mhz' pp_dpm_sclk && [ $(grep -c '[*]' pp_dpm_sclk) = 1 ] && \
    [ $(grep -c Mhz pp_dpm_mclk) = 4 ] && [ $(grep -c '[*]' pp_dpm_mclk) = 1 ]";

/// The serial number that the device is given, and what shows it.
pub(super) const SERIAL: [&str; 2] = ["--serial", "1eed0123456789ab"];
pub(super) const UNIQUE: &str = "grep -x 1eed0123456789ab /sys/bus/pci/devices/0000:00:01.0/unique_id && \
    grep -x \"unique_id $(printf %u 0x1eed0123456789ab)\" /sys/devices/virtual/kfd/kfd/topology/nodes/1/properties";

fn sensors() -> Scenario {
    let load = format!(
        "vectoradd {VADD} 1048576 >/dev/null 2>&1 & P=$!; cd /sys/bus/pci/devices/0000:00:01.0; \
         while kill -0 $P 2>/dev/null; do b=$(cat gpu_busy_percent); \
         [ $b -gt 0 ] && echo sensor gpu_busy_percent $b && cat pp_dpm_sclk && {} && wait $P && exit 0; sleep 0.1; done; exit 1",
        metrics::SHOW
    );
    with_vadd(
        "sensors",
        "temperature, power, clocks and activity in hwmon, sysfs and gpu_metrics are what the device measured",
        "vectoradd",
    )
    .scheduled_by(Scheduler::Cpsch)
    .emulator_arg(SERIAL[0])
    .emulator_arg(SERIAL[1])
    .step(Step::insmod(MODULE))
    .step(Step::sh(
        "version",
        60,
        "dmesg | grep 'the management unit runs, version 85.121.0, interface 0x8042024'",
    ))
    .step(Step::sh("unique", 60, UNIQUE))
    .step(Step::sh("idle", 60, SHOW))
    .step(Step::sh("levels", 60, LEVELS))
    .step(Step::sh("metrics", 60, &metrics::beside_others()))
    .step(Step::sh("busy", 240, &load))
    .step(Step::sh("after", 60, SHOW))
    .step(Step::sh(
        "topology",
        60,
        "cd /sys/devices/virtual/kfd/kfd/topology/nodes/1 && grep -x 'max_engine_clk_fcompute 2100' properties && \
         grep -x 'mem_clk_max 1300' mem_banks/0/properties",
    ))
    .step(Step::Rmmod("rkfd".into()))
    .step(gone())
    .check(as_measured)
    .check(metrics::as_measured)
}

/// Without the driver none of its files is there.
fn gone() -> Step {
    Step::sh(
        "gone",
        60,
        "! ls /sys/bus/pci/devices/0000:00:01.0/hwmon /sys/bus/pci/devices/0000:00:01.0/pp_dpm_sclk \
         /sys/bus/pci/devices/0000:00:01.0/ip_discovery 2>/dev/null",
    )
}

/// The files that were shown, and their numbers: the words behind `sensor`.
fn shown(outcome: &Outcome) -> Result<Vec<(&str, u64)>, String> {
    let mut all = Vec::new();
    for line in &outcome.output {
        let mut words = line.split_whitespace().skip_while(|it| *it != "sensor");
        let (Some(name), Some(value)) = (words.nth(1), words.next()) else {
            continue;
        };
        let number = value.parse();
        all.push((name, number.map_err(|_| format!("{name} shows '{value}'"))?));
    }
    Ok(all)
}

/// Each value that was shown is one of those that the device measured.
pub(super) fn as_measured(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let shown = shown(outcome)?;
    for &(name, value) in &shown {
        // What the device calls it, how many of its thousandths are one here, and how far rounding goes.
        let (member, unit, close) = match name {
            "temp2_input" | "temp3_input" => ("millidegrees", 1, 2),
            "power1_input" => ("milliwatts", 1000, 2),
            "freq1_input" => ("gfx_khz", 1000, 501),
            "freq2_input" => ("memory_mhz", 1_000_000, 0),
            "gpu_busy_percent" => ("busy", 0, 501),
            "mem_busy_percent" => ("copies", 0, 501),
            _ => return Err(format!("nobody knows {name}")),
        };
        let value = match unit {
            0 => value * 1000,
            unit => value / unit,
        };
        // Memory is three degrees warmer.
        let value = if name == "temp3_input" {
            value.saturating_sub(3000)
        } else {
            value
        };
        let mut measured = trace
            .all("smu_metrics")
            .filter_map(|event| event.num(member).ok());
        if !measured.any(|found| found.abs_diff(value) <= close) {
            return Err(format!(
                "{name} shows {value}, which the device never measured"
            ));
        }
    }
    match shown.is_empty() {
        true => Err("no sensor was shown".into()),
        false => Ok(()),
    }
}
