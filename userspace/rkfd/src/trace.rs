// SPDX-License-Identifier: MIT OR Apache-2.0

//! Watching what the library does: every request, mapping, packet and doorbell, with its values.
//!
//! [`observe`] installs one observer for the process. Without one, nothing is collected; the test
//! is one atomic load.

use std::sync::OnceLock;

use rkfd_uapi::abi::StructInfo;
use rkfd_uapi::ioctl::IoctlInfo;

/// Something the library did.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step<'a> {
    /// A request to the driver.
    Ioctl {
        /// The request.
        info: IoctlInfo,
        /// The argument's fields.
        layout: StructInfo,
        /// The argument before.
        given: &'a [u8],
        /// The argument after.
        returned: &'a [u8],
        /// The error, if it failed.
        errno: Option<i32>,
    },
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

impl Step<'_> {
    /// The fields of an ioctl's argument: name, value given, value returned. Fields longer than
    /// 8 bytes are left out.
    pub fn fields(&self) -> Vec<(&'static str, u64, u64)> {
        let Self::Ioctl {
            layout,
            given,
            returned,
            ..
        } = self
        else {
            return Vec::new();
        };
        let value = |bytes: &[u8], offset: usize, size: usize| {
            let mut word = [0; 8];
            word.get_mut(..size)?
                .copy_from_slice(bytes.get(offset..offset + size)?);
            Some(u64::from_le_bytes(word))
        };
        let fields = layout.fields.iter().filter(|field| field.name != "pad");
        fields
            .filter_map(|f| {
                Some((
                    f.name,
                    value(given, f.offset, f.size)?,
                    value(returned, f.offset, f.size)?,
                ))
            })
            .collect()
    }
}

type Observer = Box<dyn Fn(&Step<'_>) + Send + Sync>;

static OBSERVER: OnceLock<Observer> = OnceLock::new();

/// Installs the observer. It is called on the thread that takes the step, before the step's result
/// is known to the caller. Returns whether it was installed: only the first one is.
pub fn observe(observer: impl Fn(&Step<'_>) + Send + Sync + 'static) -> bool {
    OBSERVER.set(Box::new(observer)).is_ok()
}

/// Whether there is an observer.
pub(crate) fn enabled() -> bool {
    OBSERVER.get().is_some()
}

/// Tells the observer of a step.
pub(crate) fn emit(step: &Step<'_>) {
    if let Some(observer) = OBSERVER.get() {
        observer(step);
    }
}

#[cfg(test)]
mod tests {
    use rkfd_uapi::abi::Abi;
    use rkfd_uapi::{ioctl, queue};

    use super::*;

    #[test]
    fn an_ioctl_s_fields_are_told_by_name() {
        let given = [1u8, 0, 0, 0, 0, 0, 0, 0];
        let returned = [2u8, 1, 0, 0, 0, 0, 0, 0];
        let step = Step::Ioctl {
            info: ioctl::DESTROY_QUEUE.info,
            layout: queue::DestroyQueueArgs::INFO,
            given: &given,
            returned: &returned,
            errno: None,
        };
        assert_eq!(step.fields(), [("queue_id", 1, 0x102)]);
    }
}
