// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Navi 48's management unit measures, and what the kernel's files show of it.
//!
//! Its values are whole degrees, watts and MHz, and the clock of compute units is one of two, by how busy they are
//! (`smu_v14_0_2_get_smu_metrics_data`). `gpu_metrics` is `struct gpu_metrics_v1_3`, whose offsets are repeated here.

use super::super::{with_vadd, MODULE, VADD};
use super::{gone, metrics, shown, SERIAL, UNIQUE};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::Scenario;
use crate::trace::{Event, Trace};
use crate::verdict::Outcome;

/// Every file of hwmon and of activity, and what belongs to it: `sensor NAME VALUE`.
const SHOW: &str = "cd /sys/bus/pci/devices/0000:00:01.0 && test \"$(cat hwmon/hwmon*/name)\" = amdgpu && \
    ! ls hwmon/hwmon*/power1_input 2>/dev/null && \
    for f in temp1_input temp2_input temp3_input power1_average in0_input freq1_input freq2_input fan1_input pwm1; do \
    echo sensor $f $(cat hwmon/hwmon*/$f) || exit 1; done; \
    for f in gpu_busy_percent mem_busy_percent; do echo sensor $f $(cat $f) || exit 1; done; \
    for f in temp1 temp2 temp3 power1 in0 freq1 freq2; do cat hwmon/hwmon*/${f}_label; done | tr '\\n' ' ' | \
    grep -x 'edge junction mem PPT vddgfx sclk mclk ' && grep -x 3300 hwmon/hwmon*/fan1_max && \
    grep -x 255 hwmon/hwmon*/pwm1_max";

/// Compute units sleep without work; no card is said to reach more than 2,400 MHz (GameClockAc).
const LEVELS: &str = "cd /sys/bus/pci/devices/0000:00:01.0 && cat pp_dpm_sclk pp_dpm_mclk && \
    grep -q '^S: 1[0-9]*Mhz [*]$' pp_dpm_sclk && grep -q '^1: 500Mhz $' pp_dpm_sclk && \
    grep -q '^2: 2400Mhz $' pp_dpm_sclk && [ $(grep -c Mhz pp_dpm_sclk) = 3 ] && \
    [ \"$(grep -o '[0-9]*Mhz' pp_dpm_mclk | tr '\\n' ' ')\" = '96Mhz 456Mhz 772Mhz 1258Mhz ' ] && \
    [ $(grep -c '[*]' pp_dpm_mclk) = 1 ]";

pub(super) fn sensors() -> Scenario {
    // Each file may be of the measurement after that of the file before, and there may be no work by then: so
    // gpu_metrics is looked at until it shows work itself. Its activity is the two bytes at 16, in percent.
    let load = format!(
        "vectoradd {VADD} 1048576 >/dev/null 2>&1 & P=$!; cd /sys/bus/pci/devices/0000:00:01.0; \
         while kill -0 $P 2>/dev/null; do m=$({}); \
         [ $(( 0x0$(echo ${{m#* }} | cut -c33-34) )) -gt 5 ] && echo $m && \
         echo sensor freq1_input $(cat hwmon/hwmon*/freq1_input) && cat pp_dpm_sclk && \
         wait $P && exit 0; sleep 0.1; done; exit 1",
        metrics::SHOW
    );
    with_vadd(
        "sensors-navi48",
        "Navi 48's temperatures, power, voltage, fan, clocks and activity are what the device measured",
        "vectoradd",
    )
    .scheduled_by(Scheduler::Mes)
    .emulator_arg(SERIAL[0])
    .emulator_arg(SERIAL[1])
    .step(Step::insmod(MODULE))
    .step(Step::sh(
        "version",
        60,
        "dmesg | grep 'the management unit runs, version 104.80.0, interface 0x2e'",
    ))
    .step(Step::sh("unique", 60, UNIQUE))
    .step(Step::sh("idle", 60, SHOW))
    .step(Step::sh("levels", 60, LEVELS))
    .step(Step::sh(
        "metrics",
        60,
        &format!("cd /sys/bus/pci/devices/0000:00:01.0 && {}", metrics::SHOW),
    ))
    .step(Step::sh("busy", 240, &load))
    .step(Step::sh("after", 60, SHOW))
    .step(Step::sh(
        "topology",
        60,
        "cd /sys/devices/virtual/kfd/kfd/topology/nodes/1 && grep -x 'max_engine_clk_fcompute 2400' properties && \
         grep -x 'mem_clk_max 1258' mem_banks/0/properties",
    ))
    .step(Step::Rmmod("rkfd".into()))
    .step(gone())
    .check(as_measured)
    .check(bytes_as_measured)
    .check(all_sleeps)
}

/// What is around memory takes no power while it is idle (`soc24_common_early_init`).
fn all_sleeps(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let awake = trace.all("smu_metrics").map(|event| event.num("awake"));
    let awake: Vec<u64> = awake.collect::<Result<_, _>>()?;
    match awake.iter().any(|&parts| parts > 0) {
        true => Err(format!("parts that aren't gated take power: {awake:?}")),
        false => Ok(()),
    }
}

/// The clock that is reported of compute units, in kHz: with the time in which they sleep unless they are busy.
fn gfx(event: &Event) -> Result<u64, String> {
    match event.num("busy")? {
        // The percentage is rounded.
        0..5500 => event.num("gfx_mean_khz"),
        _ => event.num("gfx_khz"),
    }
}

/// Each value that was shown is one of those that the device measured, and all kinds were shown.
fn as_measured(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let mut kinds = std::collections::BTreeSet::new();
    for (name, value) in shown(outcome)? {
        // In thousandths of the unit: what is shown, and what the device has.
        let expected = |event: &Event| {
            let num = |member| event.num(member);
            Ok::<_, String>(match name {
                "temp1_input" => (value + 6000, num("millidegrees")?),
                "temp2_input" => (value, num("millidegrees")?),
                "temp3_input" => (value.saturating_sub(4000), num("millidegrees")?),
                "power1_average" => (value / 1000, num("milliwatts")?),
                "in0_input" => (value * 1000, num("microvolts")?),
                "freq1_input" => (value / 1000, gfx(event)?),
                "freq2_input" => (value / 1000, num("memory_mhz")? * 1000),
                "fan1_input" => (value * 1000, num("milliturns")?),
                // Whole percent of 255, rounded down.
                "pwm1" => ((value * 100).div_ceil(255) * 1000, num("fan")?),
                "gpu_busy_percent" => (value * 1000, num("busy")?),
                "mem_busy_percent" => (value * 1000, num("copies")?),
                _ => return Err(format!("nobody knows {name}")),
            })
        };
        let mut found = false;
        for event in trace.all("smu_metrics") {
            let (shown, measured) = expected(event)?;
            found |= shown.abs_diff(measured) <= 501;
        }
        if !found {
            return Err(format!(
                "{name} shows {value}, which the device never measured"
            ));
        }
        kinds.insert(name);
    }
    match kinds.len() {
        11 => Ok(()),
        _ => Err(format!("only {kinds:?} were shown")),
    }
}

/// The files `gpu_metrics` that were printed: each has the values of one measurement, one without work and one with it.
fn bytes_as_measured(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let mut busy = Vec::new();
    for line in &outcome.output {
        let mut words = line.split_whitespace().skip_while(|it| *it != "metrics");
        let Some(text) = words.nth(1).filter(|text| text.len() > 100) else {
            continue;
        };
        let digits = (0..text.len()).step_by(2);
        let bytes = digits.map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok());
        let bytes: Vec<u8> = bytes.collect::<Option<_>>().ok_or("no bytes")?;
        if bytes.get(..4) != Some(&[120, 0, 1, 3]) || bytes.len() != 120 {
            return Err(format!("no gpu_metrics_v1_3: {text}"));
        }
        busy.push(one(&bytes, &trace)?);
    }
    match (busy.iter().min(), busy.iter().max()) {
        (Some(0), Some(6..)) => Ok(()),
        _ => Err(format!("activities are {busy:?}")),
    }
}

/// One of the device's measurements has the values of a file; returns the activity.
fn one(bytes: &[u8], trace: &Trace) -> Result<u64, String> {
    let at = |from: usize, size: usize| {
        let part = bytes.get(from..from + size).unwrap_or(&[]).iter().rev();
        part.fold(0, |value, byte| (value << 8) | u64::from(*byte))
    };
    let half = |from| at(from, 2);
    // temperature_hbm, firmware_timestamp, average_socclk_frequency: nothing reports them.
    if at(88, 8) != u64::MAX || at(96, 8) != u64::MAX || half(42) != 0xffff {
        return Err("what isn't known has not all bits set".into());
    }
    let link = (half(74), half(76), at(68, 4), at(112, 8));
    if link != (16, 160, 0, 0) {
        return Err(format!("lanes, speed and what holds back: {link:?}"));
    }
    if at(32, 8) == u64::MAX || at(24, 8) == u64::MAX {
        return Err("neither time nor energy".into());
    }
    let same = |event: &Event| {
        let num = |member| event.num(member);
        let pairs = [
            (half(4) * 1000 + 6000, num("millidegrees")?),
            (half(6) * 1000, num("millidegrees")?),
            (half(8) * 1000, num("millidegrees")? + 4000),
            (half(16) * 1000, num("busy")?),
            (half(18) * 1000, num("copies")?),
            (half(22) * 1000, num("milliwatts")?),
            (half(40) * 1000, gfx(event)?),
            (half(54) * 1000, gfx(event)?),
            (half(58), num("memory_mhz")?),
            (half(72) * 1000, num("milliturns")?),
            (half(106) * 1000, num("microvolts")?),
        ];
        Ok::<_, String>(pairs.iter().all(|(file, own)| file.abs_diff(*own) <= 501))
    };
    for event in trace.all("smu_metrics") {
        if same(event)? {
            return Ok(half(16));
        }
    }
    Err(format!("no measurement has these values: {bytes:?}"))
}
