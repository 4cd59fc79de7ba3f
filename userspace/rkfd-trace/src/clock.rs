// SPDX-License-Identifier: MIT OR Apache-2.0

//! How far the clocks of driver and device lie apart.
//!
//! A doorbell that the driver rings reaches the device later, and an interrupt that the device raises
//! reaches the driver later: each pair bounds the difference from one side. The device's clock is kept.

use crate::{device, driver};
use anyhow::{bail, Context, Result};
use std::collections::HashMap;

/// Nanoseconds by which an order may be wrong: tracefs prints microseconds.
const ROUNDING: i64 = 2_000;

/// The key of something that both sides report, and when each of it happened.
type Times = HashMap<Vec<u64>, Vec<i64>>;

fn times<E>(events: &[E], key: impl Fn(&E) -> Option<(Vec<u64>, i64)>) -> Times {
    let mut times = Times::new();
    for (key, at) in events.iter().filter_map(key) {
        times.entry(key).or_default().push(at);
    }
    times
}

/// Differences, device minus driver, of what each side reports just once.
fn differences(device: &Times, driver: &Times) -> Vec<i64> {
    let pair =
        |(key, at): (&Vec<u64>, &Vec<i64>)| match (device.get(key)?.as_slice(), at.as_slice()) {
            (&[device], &[driver]) => Some(device - driver),
            _ => None,
        };
    driver.iter().filter_map(pair).collect()
}

/// Nanoseconds to add to the driver's times.
///
/// # Errors
///
/// The traces have no doorbell in common, or can't be of one run.
pub fn offset(device: &[device::Event], driver: &[driver::Event]) -> Result<i64> {
    let rung = times(device, |e| {
        (e.kind == "doorbell").then_some((vec![e.number("index")?, e.number("value")?], e.at))
    });
    let rang = times(driver, |e| {
        let key = || {
            Some(vec![
                e.number("doorbell")? as u64,
                e.number("value")? as u64,
            ])
        };
        (e.kind == "doorbell").then_some((key()?, e.at))
    });
    let raised = times(device, |e| {
        let key = || {
            Some(vec![
                e.number("source")?,
                e.number("pasid")?,
                *e.numbers("data").first()?,
            ])
        };
        (e.kind == "interrupt").then_some((key()?, e.at))
    });
    let taken = times(driver, |e| {
        let number = |name| Some(e.number(name)? as u64);
        let key = || {
            Some(vec![
                number("source")?,
                number("pasid")?,
                *e.numbers("data").first()? as u64,
            ])
        };
        (e.kind == "ih_entry").then_some((key()?, e.at))
    });
    let most = differences(&rung, &rang).into_iter().min();
    let most = most.context("the traces of driver and device have no doorbell in common")?;
    if let Some(least) = differences(&raised, &taken).into_iter().max() {
        if least > most + ROUNDING {
            bail!("the driver takes an interrupt {} ns before it is raised: these are traces of two runs", least - most);
        }
    }
    Ok(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(at: i64, value: u64) -> String {
        format!("{{\"t_ns\":{at},\"ev\":\"doorbell\",\"index\":24,\"value\":\"{value:#x}\"}}\n")
    }

    fn rang(micros: i64, value: u64) -> String {
        format!("x-1 [000] ..... 0.{micros:06}: rkfd_doorbell: doorbell=24 value={value:#x}\n")
    }

    fn of(device: &str, driver: &str) -> Result<i64> {
        offset(&device::parse(device).unwrap(), &driver::parse(driver))
    }

    #[test]
    fn the_fastest_doorbell_bounds_the_difference() {
        let device = [rung(1_050_000, 1), rung(2_020_000, 2), rung(9_000_000, 3)].concat();
        let driver = [rang(100, 1), rang(1_080, 2)].concat();
        assert_eq!(of(&device, &driver).unwrap(), 940_000);
    }

    #[test]
    fn traces_of_two_runs_are_told() {
        assert!(of(&rung(1, 1), &rang(1, 2)).is_err());
        let raised = "{\"t_ns\":5000000,\"ev\":\"interrupt\",\"source\":181,\"pasid\":1,\"data\":[\"0x2\"]}\n";
        let taken = "x-1 [000] ..... 0.000200: rkfd_ih_entry: source=181 pasid=1 data=0x2\n";
        let device = rung(1_000_000, 1) + raised;
        assert!(of(&device, &(rang(100, 1) + taken)).is_err());
        let late = "x-1 [000] ..... 0.004200: rkfd_ih_entry: source=181 pasid=1 data=0x2\n";
        assert_eq!(of(&device, &(rang(100, 1) + late)).unwrap(), 900_000);
    }
}
