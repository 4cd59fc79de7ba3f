// SPDX-License-Identifier: MIT OR Apache-2.0

//! Every step of the library: on standard error with `-v`, and in the kernel's trace below `rkfd trace`.

use rkfd::trace::{observe, Marker, Step, MARKER};

use crate::Failure;

/// Watches every step from now on, if anybody wants to know.
pub(crate) fn watch(print_all: bool) -> Result<(), Failure> {
    let marker = Marker::asked().map_err(|error| Failure::File {
        path: MARKER.into(),
        error,
    })?;
    if print_all || marker.is_some() {
        observe(move |step| {
            if let Some(marker) = &marker {
                marker.tell(step);
            }
            if print_all {
                print(step);
            }
        });
    }
    Ok(())
}

fn print(step: &Step<'_>) {
    match step {
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
    }
}
