// SPDX-License-Identifier: MIT OR Apache-2.0

//! Watching what the library does: every request, mapping, packet and doorbell, with its values.
//!
//! [`observe`] installs one observer for the process. Without one, nothing is collected; the test
//! is one atomic load.
//!
//! ```
//! use rkfd::trace::{observe, Step};
//!
//! observe(|step| {
//!     if let Step::Ioctl(request) = step {
//!         println!("{} {:x?}", request.name(), request.fields());
//!     }
//! });
//! let (gpu, _driver) = rkfd::fake::open();
//! gpu.alloc::<f32>(1024)?;
//! # Ok::<(), rkfd::Error>(())
//! ```

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::OnceLock;

use rkfd_uapi::abi::StructInfo;
use rkfd_uapi::ioctl::IoctlInfo;

/// A request to the driver, with its argument before and after.
pub struct Ioctl<'a> {
    info: IoctlInfo,
    layout: StructInfo,
    given: &'a [u8],
    returned: &'a [u8],
    errno: Option<i32>,
}

/// Something the library did.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step<'a> {
    /// It made a request to the driver.
    Ioctl(Ioctl<'a>),
    /// Memory was mapped for the CPU.
    Map {
        /// What it is.
        what: &'static str,
        /// Which file it is mapped from.
        file: &'static str,
        /// The offset in that file.
        offset: u64,
        /// Where it is.
        address: u64,
        /// Bytes.
        size: usize,
    },
    /// A packet was written into a ring; its header was stored last.
    Packet {
        /// Id of the queue.
        queue: u32,
        /// Number of the packet, counted from 0.
        index: u64,
        /// Address of its slot.
        address: u64,
        /// Its words.
        words: &'a [u32; 16],
    },
    /// A doorbell was rung.
    Doorbell {
        /// Id of the queue.
        queue: u32,
        /// Byte offset in the process' slice.
        offset: usize,
        /// The 64-bit value stored.
        value: u64,
    },
}

impl Ioctl<'_> {
    /// The request's name, such as `CREATE_QUEUE`.
    pub fn name(&self) -> &'static str {
        self.info.name
    }

    /// The request's macro in C, such as `AMDKFD_IOC_CREATE_QUEUE`.
    pub fn c_name(&self) -> &'static str {
        self.info.c
    }

    /// The number that is passed to `ioctl`.
    pub fn command(&self) -> u32 {
        self.info.command
    }

    /// The error number, if the request failed.
    pub fn errno(&self) -> Option<i32> {
        self.errno
    }

    /// The argument's bytes before the request.
    pub fn given(&self) -> &[u8] {
        self.given
    }

    /// The argument's bytes after the request.
    pub fn returned(&self) -> &[u8] {
        self.returned
    }

    /// The fields of the argument: name, value given, value returned. Fields longer than 8 bytes
    /// are left out.
    pub fn fields(&self) -> Vec<(&'static str, u64, u64)> {
        let value = |bytes: &[u8], offset: usize, size: usize| {
            let mut word = [0; 8];
            word.get_mut(..size)?
                .copy_from_slice(bytes.get(offset..offset + size)?);
            Some(u64::from_le_bytes(word))
        };
        let fields = self.layout.fields.iter();
        fields
            .filter(|field| field.name != "pad")
            .filter_map(|f| {
                Some((
                    f.name,
                    value(self.given, f.offset, f.size)?,
                    value(self.returned, f.offset, f.size)?,
                ))
            })
            .collect()
    }
}

impl fmt::Debug for Ioctl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ioctl")
            .field("name", &self.name())
            .field("fields", &self.fields())
            .field("errno", &self.errno)
            .finish()
    }
}

type Observer = Box<dyn Fn(&Step<'_>) + Send + Sync>;

static OBSERVER: OnceLock<Observer> = OnceLock::new();

/// Installs the observer. It is called on the thread that takes the step, before the step's result
/// is known to the caller. Returns whether it was installed: only the first one is.
pub fn observe(observer: impl Fn(&Step<'_>) + Send + Sync + 'static) -> bool {
    OBSERVER.set(Box::new(observer)).is_ok()
}

/// The variable that [`Marker::asked`] looks at; `rkfd trace` sets it.
pub const MARKER: &str = "RKFD_TRACE_MARKER";

/// A way into the kernel's trace, for an observer: each packet is told there between the store of its header and that of
/// the doorbell, as `rkfd_enqueue: queue=0 index=0 address=0x...`. That costs a system call for each.
#[derive(Debug)]
pub struct Marker(File);

impl Marker {
    /// The `trace_marker` of tracefs that the variable [`MARKER`] names; `None` without it.
    ///
    /// # Errors
    /// The file can't be opened for writing, for which root is needed.
    pub fn asked() -> io::Result<Option<Self>> {
        let Some(path) = std::env::var_os(MARKER) else {
            return Ok(None);
        };
        let file = OpenOptions::new().write(true).open(path)?;
        Ok(Some(Self(file)))
    }

    /// Tells of a step, if it is a packet.
    pub fn tell(&self, step: &Step<'_>) {
        if let Step::Packet {
            queue,
            index,
            address,
            ..
        } = step
        {
            let line = format!("rkfd_enqueue: queue={queue} index={index} address={address:#x}");
            // Nobody waits for the trace: what it can't take is missing in it.
            let _ = (&self.0).write_all(line.as_bytes());
        }
    }
}

/// Whether there is an observer.
pub(crate) fn enabled() -> bool {
    OBSERVER.get().is_some()
}

/// Passes a step to the observer.
pub(crate) fn emit(step: &Step<'_>) {
    if let Some(observer) = OBSERVER.get() {
        observer(step);
    }
}

/// Passes a request to the observer.
pub(crate) fn emit_ioctl(
    info: IoctlInfo,
    layout: StructInfo,
    given: &[u8],
    returned: &[u8],
    errno: Option<i32>,
) {
    emit(&Step::Ioctl(Ioctl {
        info,
        layout,
        given,
        returned,
        errno,
    }));
}

#[cfg(test)]
mod tests {
    use rkfd_uapi::abi::Abi;
    use rkfd_uapi::{ioctl, queue};

    use super::*;

    #[test]
    fn the_fields_of_a_request_have_their_names() {
        let given = [1u8, 0, 0, 0, 0, 0, 0, 0];
        let returned = [2u8, 1, 0, 0, 0, 0, 0, 0];
        let step = Ioctl {
            info: ioctl::DESTROY_QUEUE.info,
            layout: queue::DestroyQueueArgs::INFO,
            given: &given,
            returned: &returned,
            errno: None,
        };
        assert_eq!(step.fields(), [("queue_id", 1, 0x102)]);
    }
}
