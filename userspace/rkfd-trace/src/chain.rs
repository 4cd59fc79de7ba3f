// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which events belong to one dispatch, from its packet's store to the request that waits for it.

use crate::{device, driver};
use std::collections::HashMap;

/// The dispatch of each event that belongs to one, by the event's place in its trace.
#[derive(Debug, Default)]
pub struct Chains {
    device: HashMap<usize, u64>,
    driver: HashMap<usize, u64>,
}

impl Chains {
    /// The dispatch of one of the device's events.
    pub fn of_device(&self, nth: usize) -> Option<u64> {
        self.device.get(&nth).copied()
    }

    /// The dispatch of one of the driver's events.
    pub fn of_driver(&self, nth: usize) -> Option<u64> {
        self.driver.get(&nth).copied()
    }
}

/// Finds them. Both traces are in order.
pub fn find(device: &[device::Event], driver: &[driver::Event]) -> Chains {
    let mut chains = Chains::default();
    let mut dispatch = 0;
    for (nth, packet) in device.iter().enumerate() {
        if packet.kind != "aql" || packet.text("type") != "KERNEL_DISPATCH" {
            continue;
        }
        dispatch += 1;
        chains.device.insert(nth, dispatch);
        let (queue, index) = (packet.text("queue"), packet.number("index"));
        // The doorbell that announced it: the first that names it or a later one.
        let announces = |e: &device::Event| {
            e.kind == "doorbell" && e.text("queue") == queue && e.number("value") >= index
        };
        // A program that was asked to has told where it stored the packet.
        let address = slot(&device[..nth], packet);
        let stored = |e: &driver::Event| {
            e.kind == "enqueue"
                && e.number("index").map(|n| n as u64) == index
                && e.number("address").map(|n| n as u64) == address
        };
        if let Some(stored) = driver.iter().position(stored) {
            chains.driver.entry(stored).or_insert(dispatch);
        }
        if let Some(rung) = device[..nth].iter().position(announces) {
            chains.device.entry(rung).or_insert(dispatch);
        }
        let mut signal = None;
        for (later, event) in device.iter().enumerate().skip(nth + 1) {
            if event.text("queue") != queue {
                continue;
            }
            match event.kind.as_str() {
                "dispatch_start" if event.number("index") == index => {
                    chains.device.insert(later, dispatch);
                }
                "dispatch_end" if event.number("index") == index => signal = Some(later),
                "signal" if signal.is_some() => {
                    chains.device.insert(later, dispatch);
                    signal = Some(later);
                    break;
                }
                _ => {}
            }
        }
        if let Some(signal) = signal.filter(|&nth| device[nth].kind == "signal") {
            notified(&mut chains, dispatch, device, signal, driver);
        }
    }
    chains
}

/// The address of a packet, by the ring that its queue had when it was connected last.
fn slot(before: &[device::Event], packet: &device::Event) -> Option<u64> {
    let of_queue =
        |e: &&device::Event| e.kind == "queue_connect" && e.text("queue") == packet.text("queue");
    let queue = before.iter().rev().find(of_queue)?;
    let bytes = queue.number("words")?.checked_mul(4)?;
    let at = packet.number("index")?.checked_mul(BYTES)?;
    Some(queue.number("ring")? + at.checked_rem(bytes)?)
}

/// Bytes of an AQL packet.
const BYTES: u64 = 64;

/// The signal's interrupt, and what the driver does with it.
fn notified(
    chains: &mut Chains,
    dispatch: u64,
    device: &[device::Event],
    signal: usize,
    driver: &[driver::Event],
) {
    let Some(event) = device[signal].number("event").filter(|&event| event != 0) else {
        return;
    };
    let raises =
        |e: &device::Event| e.kind == "interrupt" && e.numbers("data").first() == Some(&event);
    let interrupts: Vec<usize> = (0..device.len())
        .filter(|&nth| raises(&device[nth]))
        .collect();
    let Some(of_these) = interrupts.iter().position(|&nth| nth > signal) else {
        return;
    };
    // One interrupt can report several signals; it belongs to the first.
    if chains.device.contains_key(&interrupts[of_these]) {
        return;
    }
    chains.device.insert(interrupts[of_these], dispatch);
    // The traces begin and end together, so the same entry has the same number from the end.
    let from_end = interrupts.len() - of_these;
    let data = |e: &driver::Event| e.numbers("data").first().map(|&id| id as u64);
    let taken: Vec<usize> = (0..driver.len())
        .filter(|&nth| driver[nth].kind == "ih_entry" && data(&driver[nth]) == Some(event))
        .collect();
    let Some(&entry) = taken
        .len()
        .checked_sub(from_end)
        .and_then(|nth| taken.get(nth))
    else {
        return;
    };
    chains.driver.insert(entry, dispatch);
    let mut later = (entry + 1..driver.len()).map(|nth| (nth, &driver[nth]));
    let mut next = |wanted: &dyn Fn(&driver::Event) -> bool| {
        later.find(|(_, e)| wanted(e)).map(|(nth, _)| nth)
    };
    let signaled = next(&|e| e.kind == "signal" && e.number("event") == Some(event as i64));
    let woken = next(&|e| {
        let request = e.request().map_or("", |request| request.name);
        e.kind == "ioctl_exit" && request == "WAIT_EVENTS"
    });
    chains.driver.extend(
        [signaled, woken]
            .into_iter()
            .flatten()
            .map(|nth| (nth, dispatch)),
    );
}
