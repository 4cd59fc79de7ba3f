// SPDX-License-Identifier: MIT OR Apache-2.0

//! The first thing that stops a queue: what the driver has done with it, then where it is on the hardware, then what
//! its next packet waits for.

use rkfd::raw::hw::aql;
use rkfd::raw::uapi::debug as abi;

use super::packet;
use super::queue::{Evicted, Hqd, Kind, Queue};

/// Words of an AQL packet.
const PACKET_WORDS: u64 = aql::PACKET_SIZE as u64 / 4;

/// Exceptions and what they are.
const ERRORS: [(u32, &str); 15] = [
    (abi::EC_QUEUE_WAVE_ABORT, "a wave gave up (abort)"),
    (abi::EC_QUEUE_WAVE_TRAP, "a wave trapped (s_trap)"),
    (
        abi::EC_QUEUE_WAVE_MATH_ERROR,
        "a wave had an arithmetic error",
    ),
    (
        abi::EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION,
        "a wave met an illegal instruction",
    ),
    (
        abi::EC_QUEUE_WAVE_MEMORY_VIOLATION,
        "a wave accessed memory that it may not",
    ),
    (
        abi::EC_QUEUE_WAVE_APERTURE_VIOLATION,
        "a wave accessed an address of no aperture",
    ),
    (
        abi::EC_QUEUE_PACKET_DISPATCH_DIM_INVALID,
        "a packet's dimensions are wrong",
    ),
    (
        abi::EC_QUEUE_PACKET_DISPATCH_GROUP_SEGMENT_SIZE_INVALID,
        "a packet wants too much LDS",
    ),
    (
        abi::EC_QUEUE_PACKET_DISPATCH_CODE_INVALID,
        "a packet's kernel can't be run",
    ),
    (
        abi::EC_QUEUE_PACKET_RESERVED,
        "a packet has reserved bits set",
    ),
    (
        abi::EC_QUEUE_PACKET_UNSUPPORTED,
        "a packet has a type that is not supported",
    ),
    (
        abi::EC_QUEUE_PACKET_DISPATCH_WORK_GROUP_SIZE_INVALID,
        "a packet's work-group has a wrong size",
    ),
    (
        abi::EC_QUEUE_PACKET_DISPATCH_REGISTER_INVALID,
        "a packet's kernel wants too many registers",
    ),
    (
        abi::EC_QUEUE_PACKET_VENDOR_UNSUPPORTED,
        "a vendor's packet has a format that is not supported",
    ),
    (
        abi::EC_QUEUE_PREEMPTION_ERROR,
        "its waves could not be saved",
    ),
];

/// What went wrong in a queue, if anything did.
fn errors(queue: &Queue) -> Option<String> {
    let named = ERRORS
        .iter()
        .filter(|(code, _)| queue.errors & abi::exception_mask(*code) != 0);
    let named: Vec<&str> = named.map(|(_, text)| *text).collect();
    match (queue.errors, named.is_empty()) {
        (0, _) => None,
        (bits, true) => Some(format!("exceptions {bits:#x}")),
        _ => Some(named.join(", ")),
    }
}

/// Why its queues were evicted.
fn evicted(queue: &Queue) -> String {
    let its: &str = if queue.evicted.contains(&Evicted::Reset) {
        "the GPU was reset under its process, whose queues never run again"
    } else if let Some(fault) = &queue.fault {
        let what = if fault.write { "wrote to" } else { "read" };
        let page = match fault.absent {
            true => "where nothing is mapped",
            false => "which its mapping forbids",
        };
        return format!(
            "it is evicted: its process {what} the page of {:#x}, {page}",
            fault.at
        );
    } else if queue.evicted.contains(&Evicted::Memory) {
        "memory of its program changes, and is not there yet"
    } else {
        return match errors(queue) {
            Some(errors) => format!("it is evicted: {errors}"),
            None => "it is evicted".into(),
        };
    };
    format!("it is evicted: {its}")
}

/// The reason, as a sentence without its full stop.
pub(super) fn of(queue: &Queue) -> String {
    if queue.busy {
        return super::BUSY.into();
    }
    match queue.state.as_str() {
        "disabled" if queue.ring == 0 => return "it is disabled: it has no ring".into(),
        "disabled" if queue.share == 0 => {
            return "it is disabled: its share of time is 0".into();
        }
        "disabled" => return "it is disabled".into(),
        "evicted" => return evicted(queue),
        "hung" => return "it hangs: the hardware did not let go of it".into(),
        "gone" if queue.evicted.contains(&Evicted::Reset) => {
            return "it is gone: the GPU was reset under its process".into();
        }
        "gone" => return "it is gone: it did not let go and was reset".into(),
        _ => {}
    }
    if let Some(errors) = errors(queue) {
        return format!("it stopped at {}: {errors}", place(queue));
    }
    let (Some(read), Some(write)) = (value(queue.read), value(queue.write)) else {
        return "the driver can't read its pointers".into();
    };
    if read == write {
        return match queue.kind {
            Kind::Aql => format!("it is empty: all of its {read} packets are done"),
            _ => "it is empty: both pointers are the same".into(),
        };
    }
    if queue.kind == Kind::Sdma {
        return format!("its engine has not read from {read} to {write} of its ring yet");
    }
    if queue.hqds.is_empty() {
        return match queue.hqds_busy {
            true => "somebody looks at the hardware queues; ask again".into(),
            false => "it waits for its turn: it is on no hardware queue (HQD), of which there are \
                      fewer than queues"
                .into(),
        };
    }
    let unit = match queue.kind {
        Kind::Aql => PACKET_WORDS,
        _ => 1,
    };
    let rung = queue.hqds.iter().map(|hqd| hqd.write / unit).max();
    let on = on(&queue.hqds);
    match rung {
        Some(rung) if rung <= read => {
            return format!(
                "its doorbell is behind: the write pointer is {write}, and the doorbell told of {rung} ({on})"
            );
        }
        _ => {}
    }
    match (queue.kind, &queue.packet) {
        (Kind::Aql, Some(words)) => {
            format!("{} {} ({on})", place(queue), packet::waits(words, queue))
        }
        (Kind::Aql, None) => format!("the driver can't read {} ({on})", place(queue)),
        _ => format!(
            "it executes its commands, of which {} words are left ({on})",
            write - read
        ),
    }
}

fn value(word: Option<super::queue::Word>) -> Option<u64> {
    word?.value
}

/// The packet at the read pointer.
fn place(queue: &Queue) -> String {
    match value(queue.read) {
        Some(index) => format!("packet {index}"),
        None => "its next packet".into(),
    }
}

/// Where a queue is on the hardware.
fn on(hqds: &[Hqd]) -> String {
    let places = hqds.iter().map(|hqd| {
        let (xcc, pipe, queue) = (hqd.xcc, hqd.pipe, hqd.queue);
        format!("XCC {xcc} pipe {pipe} queue {queue}")
    });
    format!("on {}", places.collect::<Vec<_>>().join(", "))
}
