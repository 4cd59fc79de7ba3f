// SPDX-License-Identifier: MIT OR Apache-2.0

//! Printing what the library does, step by step, with the values of this run.

use rkfd::trace::{observe, Marker, Step};

/// What each word of a dispatch packet is.
const WORDS: [&str; 16] = [
    "header, dimensions",
    "work-group size x, y",
    "work-group size z",
    "grid size x",
    "grid size y",
    "grid size z",
    "private segment size",
    "group segment size",
    "kernel object, low",
    "kernel object, high",
    "kernarg address, low",
    "kernarg address, high",
    "reserved",
    "reserved",
    "completion signal, low",
    "completion signal, high",
];

/// Prints every step from now on, and tells packets to the kernel's trace, if that was asked for.
pub fn print_all(marker: Option<Marker>) {
    observe(move |step| {
        if let Some(marker) = &marker {
            marker.tell(step);
        }
        print(step);
    });
}

fn print(step: &Step<'_>) {
    match step {
        Step::Ioctl(request) => {
            let errno = request.errno();
            let outcome = errno.map_or(String::new(), |errno| format!(" failed, errno {errno}"));
            let (name, command) = (request.c_name(), request.command());
            println!("ioctl {name} ({command:#010x}){outcome}");
            for (name, given, returned) in request.fields() {
                match given == returned {
                    true => println!("    {name} = {given:#x}"),
                    false => println!("    {name} = {given:#x} -> {returned:#x}"),
                }
            }
        }
        Step::Map {
            what,
            file,
            offset,
            address,
            size,
        } => {
            println!("mmap {what} of {file}: offset {offset:#x}, {size} bytes at {address:#x}");
        }
        Step::Packet {
            queue,
            index,
            address,
            words,
        } => {
            println!("packet {index} of queue {queue}, at {address:#x}:");
            for (i, (word, meaning)) in words.iter().zip(WORDS).enumerate() {
                println!("    [{i:2}] {word:#010x}  {meaning}");
            }
        }
        Step::Doorbell {
            queue,
            offset,
            value,
        } => {
            println!("doorbell of queue {queue}, byte {offset:#x} of the slice: {value:#x}");
        }
        _ => {}
    }
}
