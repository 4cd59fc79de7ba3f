// SPDX-License-Identifier: MIT OR Apache-2.0

//! The queue's structure in memory (`amd_queue_t`): the indices, and what packet processor and
//! kernels look up there. It has a page of its own, as the driver demands of the page that holds
//! the indices.
//!
//! Source: HSA Runtime, `amd_hsa_queue.h` and `hsa.h` (`hsa_queue_t`).

use rkfd_hw::aql::PACKET_SIZE;

use crate::driver::Link;
use crate::error::{Error, Result};
use crate::memory::Bo;

/// `hsa_queue.type`: several producers.
const TYPE_MULTI: u32 = 0;
/// `hsa_queue.type`: one producer.
const TYPE_SINGLE: u32 = 1;
/// `hsa_queue.features`: kernel dispatch.
const FEATURE_KERNEL_DISPATCH: u32 = 1;
/// `queue_properties`: pointers are 64 bits wide.
const PROPERTY_PTR64: u32 = 1 << 1;
/// `queue_properties`: dispatches record when they begin and end.
const PROPERTY_ENABLE_PROFILING: u32 = 1 << 3;

/// Byte offset of `write_dispatch_id`.
pub(crate) const WRITE_INDEX: usize = 0x38;
/// Byte offset of `read_dispatch_id`.
pub(crate) const READ_INDEX: usize = 0x80;

/// What the structure is filled with.
pub(crate) struct Contents {
    pub(crate) ring: u64,
    pub(crate) packets: u32,
    pub(crate) max_cu: u32,
    pub(crate) max_wave: u32,
    /// Address of the signal that the packet processor reports errors in.
    pub(crate) inactive_signal: u64,
    /// Dispatches record when they begin and end.
    pub(crate) timestamps: bool,
    /// There is one producer only.
    pub(crate) alone: bool,
}

/// Writes the structure. The queue's id and doorbell are not known yet; see [`set_id`].
pub(crate) fn fill(bo: &Bo, link: &Link, contents: &Contents) -> Result<()> {
    let mut page = Page([0; 256]);
    let kind = match contents.alone {
        true => TYPE_SINGLE,
        false => TYPE_MULTI,
    };
    page.set32(0x00, kind);
    page.set32(0x04, FEATURE_KERNEL_DISPATCH);
    page.set64(0x08, contents.ring);
    page.set32(0x18, contents.packets);
    // High words of the flat apertures, from which kernels make flat addresses.
    page.set32(0x40, (link.apertures.lds_base >> 32) as u32);
    page.set32(0x44, (link.apertures.scratch_base >> 32) as u32);
    page.set32(0x48, contents.max_cu);
    page.set32(0x4c, contents.max_wave);
    // With it the packet processor finds the structure from the read index's address.
    page.set32(0x88, READ_INDEX as u32);
    let profiling = match contents.timestamps {
        true => PROPERTY_ENABLE_PROFILING,
        false => 0,
    };
    page.set32(0xb4, PROPERTY_PTR64 | profiling);
    page.set64(0xc0, contents.inactive_signal);
    bo.clear()?;
    bo.host()?.write(0, &page.0).ok_or(Error::NotHostVisible)
}

/// Writes what the driver allotted: the queue's id.
pub(crate) fn set_id(bo: &Bo, id: u32) -> Result<()> {
    bo.host()?
        .write(0x20, &u64::from(id).to_le_bytes())
        .ok_or(Error::NotHostVisible)
}

struct Page([u8; 256]);

impl Page {
    fn set32(&mut self, offset: usize, value: u32) {
        if let Some(bytes) = self.0.get_mut(offset..offset + 4) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
    }

    fn set64(&mut self, offset: usize, value: u64) {
        if let Some(bytes) = self.0.get_mut(offset..offset + 8) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
    }
}

/// Bytes of a ring.
pub(crate) fn ring_bytes(packets: u32) -> Result<u32> {
    let fits = packets.is_power_of_two() && (64..=1 << 22).contains(&packets);
    fits.then(|| packets * PACKET_SIZE as u32)
        .ok_or(Error::RingSize { packets })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_sizes_are_powers_of_two_of_at_least_a_page() {
        assert_eq!(ring_bytes(64).unwrap(), 4096);
        assert_eq!(ring_bytes(1 << 22).unwrap(), 1 << 28);
        for packets in [0, 1, 32, 63, 65, 1 << 23, u32::MAX] {
            assert!(matches!(ring_bytes(packets), Err(Error::RingSize { .. })));
        }
    }
}
