// SPDX-License-Identifier: MIT OR Apache-2.0

//! Looking into the device in the middle of a dispatch, which no silicon allows: the commands of the control socket that
//! stop it, let it go on, and show what is in it.
//!
//! ```text
//! pause              stands still from now on
//! where              whether it stands still, and at what
//! step 3             goes on to the third thing that happens, or by three instructions
//! continue           goes on
//! show hqds          the hardware queues that are connected
//! show hqd SLOT      one's registers, SLOT as `show hqds` has it
//! show waves         the waves that have begun and not ended, each with its next instruction
//! show wave N        one's registers
//! show lds N         the LDS of its work-group
//! show walk VMID ADDRESS [xcc N | mm]   the page tables' entries that lead to an address
//! ```
//!
//! The last line of an answer begins with `ok` or `error`. What is shown are the device's own registers and memory;
//! looking changes nothing in it.

mod queues;
mod waves;
mod words;

use crate::chip::device::Device;
use crate::memory::Hub;
use crate::rules;
use std::time::Duration;
use words::number;

/// How long a step may take until it is said to go on.
const STEP: Duration = Duration::from_secs(2);
/// Steps at a time.
const MOST_STEPS: u64 = 100_000;

/// Carries out a command of the control socket; the lines of its answer.
pub fn answer(device: &Device, line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let done = match words.as_slice() {
        ["pause"] => {
            device.soc.pause.stop("asked for");
            stands(device)
        }
        ["where"] => stands(device),
        ["continue"] => match device.soc.pause.go_on() {
            true => Ok(Vec::new()),
            false => Err("the device does not stand still".into()),
        },
        ["step"] => step(device, "1"),
        ["step", times] => step(device, times),
        ["show", what @ ..] => show(device, what),
        _ => return rules::answer(&device.soc.rules, line),
    };
    match done {
        Ok(mut lines) => {
            lines.push("ok".into());
            lines
        }
        Err(why) => vec![format!("error: {why}")],
    }
}

type Answer = Result<Vec<String>, String>;

/// Whether the device stands still, at what, and the wave that is next.
fn stands(device: &Device) -> Answer {
    let Some((why, stops)) = device.soc.pause.why() else {
        return Ok(vec!["the device goes on".into()]);
    };
    let mut lines = vec![format!("stop {stops} at {why}")];
    lines.extend(waves::next(device));
    Ok(lines)
}

fn step(device: &Device, times: &str) -> Answer {
    let times = number(times).filter(|times| (1..=MOST_STEPS).contains(times));
    let times = times.ok_or_else(|| format!("expected a number from 1 to {MOST_STEPS}"))?;
    for _ in 0..times {
        if !device.soc.pause.step() {
            return Err("the device does not stand still".into());
        }
        if !device.soc.pause.stands_within(STEP) {
            return Ok(vec!["the device goes on: nothing has happened yet".into()]);
        }
    }
    stands(device)
}

fn show(device: &Device, what: &[&str]) -> Answer {
    if !device.soc.pause.stands() {
        return Err("the device goes on; 'pause' stops it".into());
    }
    match what {
        ["hqds"] => Ok(queues::connected(device)),
        ["hqd", slot @ ..] => queues::registers(device, &slot.join(" ")),
        ["waves"] => Ok(waves::all(device)),
        ["wave", n] => waves::registers(device, n),
        ["lds", n] => waves::lds(device, n),
        ["walk", vmid, va] => queues::walk(device, Hub::Gfx(0), vmid, va),
        ["walk", vmid, va, "mm"] => queues::walk(device, Hub::Mm(0), vmid, va),
        ["walk", vmid, va, "xcc", xcc] => {
            let xcc = number(xcc).and_then(|n| u8::try_from(n).ok());
            let xcc = xcc.filter(|xcc| *xcc < device.soc.chip.xccs());
            let xcc = xcc.ok_or("there is no such XCC")?;
            queues::walk(device, Hub::Gfx(xcc), vmid, va)
        }
        _ => Err(
            "expected 'show hqds', 'show hqd SLOT', 'show waves', 'show wave N', 'show lds N' or \
             'show walk VMID ADDRESS'"
                .into(),
        ),
    }
}
