// SPDX-License-Identifier: MIT OR Apache-2.0

//! `-v`: every step of the library on standard error.

use rkfd::trace::{observe, Step};

/// Prints every step from now on.
pub(crate) fn print_all() {
    observe(|step| match step {
        Step::Ioctl(request) => {
            let errno = request.errno();
            let outcome = errno.map_or(String::new(), |errno| format!(" = errno {errno}"));
            let fields = request.fields().into_iter();
            let fields = fields.map(|(name, given, returned)| match given == returned {
                true => format!("{name}={given:#x}"),
                false => format!("{name}={given:#x}->{returned:#x}"),
            });
            let fields = fields.collect::<Vec<_>>().join(" ");
            eprintln!("{} {fields}{outcome}", request.name());
        }
        Step::Map {
            what,
            file,
            offset,
            address,
            size,
        } => {
            eprintln!("mmap {what} ({file} at {offset:#x}) = {address:#x}, {size} bytes");
        }
        Step::Packet {
            queue,
            index,
            address,
            words,
        } => {
            let words: Vec<_> = words.iter().map(|word| format!("{word:08x}")).collect();
            eprintln!(
                "packet {index} of queue {queue} at {address:#x}: {}",
                words.join(" ")
            );
        }
        Step::Doorbell {
            queue,
            offset,
            value,
        } => {
            eprintln!("doorbell of queue {queue} at {offset:#x} = {value:#x}");
        }
        _ => {}
    });
}
