// SPDX-License-Identifier: MIT OR Apache-2.0

//! The first thing that stops a queue: what the driver has done with it, then where it is on the hardware, then what
//! its next packet waits for.

use rkfd::raw::hw::aql;
use rkfd::raw::uapi::debug as abi;

use super::packet;
use super::queue::{Evicted, Hqd, Kind, Queue};
use super::wave;

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
        return format!(
            "it stopped at {}: {errors}{}",
            place(queue),
            wave::halted(queue)
        );
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
            let (place, waits) = (place(queue), packet::waits(words, queue));
            format!("{place} {waits} ({on}){}", wave::halted(queue))
        }
        (Kind::Aql, None) => format!("the driver can't read {} ({on})", place(queue)),
        _ => format!(
            "it executes its commands, of which {} words are left ({on}){}",
            write - read,
            wave::halted(queue)
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

#[cfg(test)]
mod tests {
    use super::super::queue::parse;

    /// The reason for a queue of which the driver shows these lines.
    fn reason(lines: &str) -> String {
        let text = format!("process 5 a b\n  queue 2 gpu 7\n    type aql\n{lines}");
        let processes = parse(&text);
        assert_eq!(processes[0].name, "a b");
        super::of(&processes[0].queues[0])
    }

    fn assert_reason(lines: &str, wanted: &str) {
        let found = reason(&lines.replace('|', "\n"));
        assert!(found.contains(wanted), "{lines}: {found}");
    }

    const MAPPED: &str = "state mapped|ring 0x1000 4096|share 100|";

    #[test]
    fn what_the_driver_did_comes_first() {
        let packet = "read 0x10 3|write 0x18 9";
        for (lines, wanted) in [
            ("busy", "ask again"),
            ("state disabled|ring 0x0 4096|share 100", "it has no ring"),
            ("state disabled|ring 0x1000 4096|share 0", "share of time is 0"),
            ("state hung", "did not let go"),
            ("state gone", "was reset"),
            ("state gone|evicted reset", "the GPU was reset"),
            ("state evicted", "it is evicted"),
            ("state evicted|evicted memory", "memory of its program"),
            (
                "state evicted|fault 0x5000 read absent|evicted memory",
                "read the page of 0x5000, where nothing is mapped",
            ),
            (
                "state evicted|fault 0x5000 write forbidden",
                "wrote to the page of 0x5000, which its mapping forbids",
            ),
            // EC_QUEUE_PACKET_RESERVED is 19, and a mask has its bit 18.
            ("state evicted|errors 0x40000", "reserved bits set"),
            (
                "state mapped|errors 0x48000|read 0x10 3",
                "it stopped at packet 3: a packet's dimensions are wrong, a packet has reserved bits set",
            ),
            ("state mapped|errors 0x20000000000", "exceptions 0x20000000000"),
            ("state mapped", "can't read its pointers"),
            ("state mapped|read 0x10 ?|write 0x18 9", "can't read its pointers"),
        ] {
            assert_reason(lines, wanted);
        }
        let off = format!("state disabled|ring 0x1000 4096|share 0|{packet}");
        assert_reason(&off, "it is disabled: its share of time is 0");
    }

    #[test]
    fn then_its_place_on_the_hardware() {
        let mapped = |rest: &str| format!("{MAPPED}{rest}");
        let on = "hqd 1 2 3 vmid 8 read 48 write";
        for (rest, wanted) in [
            ("read 0x10 9|write 0x18 9", "all of its 9 packets are done"),
            ("read 0x10 3|write 0x18 9", "it waits for its turn"),
            ("read 0x10 3|write 0x18 9|hqd busy", "ask again"),
        ] {
            assert_reason(&mapped(rest), wanted);
        }
        // 16 words are a packet.
        let behind = mapped(&format!("read 0x10 3|write 0x18 9|{on} 48"));
        assert_reason(
            &behind,
            "the write pointer is 9, and the doorbell told of 3 (on XCC 1 pipe 2 queue 3)",
        );
        let told = mapped(&format!("read 0x10 3|write 0x18 9|{on} 64"));
        assert_reason(&told, "can't read packet 3");
        let words = mapped(&format!("type pm4|read 0x10 40|write 0x18 49|{on} 49"));
        assert_reason(&words, "9 words are left");
        assert_reason(
            "type sdma|state mapped|read 0x10 4|write 0x18 9",
            "from 4 to 9",
        );
    }

    #[test]
    fn then_what_its_packet_waits_for() {
        let zeros = |words: usize| " 00000000".repeat(words);
        let packet = |words: &str, more: &str| {
            let left = 16 - words.split_whitespace().count();
            format!(
                "{MAPPED}read 0x10 3|write 0x18 9|hqd 0 0 0 vmid 8 read 48 write 64|packet {words}{}|{more}",
                zeros(left)
            )
        };
        // Header, and two signals in words 2 to 5.
        let two = "00000000 00001000 00000000 00002000 00000000";
        for (lines, wanted) in [
            (packet("00000001", ""), "packet 3 is INVALID"),
            (packet("00000009", ""), "packet 3 has type 9"),
            (
                packet("00010002 00400040 00010001 00000040 00000001 00000001 0 0 00abc000", ""),
                "descriptor 0xabc000, grid 64 x 1 x 1",
            ),
            (
                packet(&format!("00001503 {two}"), "signal 0x1000 0|signal 0x2000 4"),
                "barrier-AND that waits for signal 0x2000 (value 4) (on",
            ),
            (
                packet(&format!("00001503 {two}"), "signal 0x1000 ?|signal 0x2000 0"),
                "0x1000 (which the driver can't read)",
            ),
            (
                packet(&format!("00001505 {two}"), "signal 0x1000 1|signal 0x2000 4"),
                "waits for one of signal 0x1000 (value 1), 0x2000 (value 4)",
            ),
            (
                packet(&format!("00001505 {two}"), "signal 0x1000 0|signal 0x2000 4"),
                "a barrier-OR whose signals let it go",
            ),
            (
                // A vendor's barrier: format 2, signal, value 5, mask 0xff, condition 3 (>=).
                packet(
                    "00021500 00000000 00001000 00000000 00000005 00000000 000000ff 00000000 00000003",
                    "signal 0x1000 4",
                ),
                "waits until signal 0x1000 (value 4) & 0xff >= 5",
            ),
            (
                packet(
                    "00021500 00000000 00001000 00000000 00000005 00000000 000000ff 00000000 00000003",
                    "signal 0x1000 261",
                ),
                "which lets it go",
            ),
            (packet("00011500", ""), "a buffer of PM4 commands"),
        ] {
            assert_reason(&lines, wanted);
        }
    }
}
