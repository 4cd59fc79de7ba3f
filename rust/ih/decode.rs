// SPDX-License-Identifier: GPL-2.0

//! What entries of the interrupt ring mean (`event_interrupt_wq_v9` for what is known here). Entries
//! are the device's: everything in them is checked before use.

use super::hal::{
    Clients,
    Topic,
    DOORBELL_BITS, //
};
use crate::{
    hw::ih::{
        client,
        source,
        Entry, //
    },
    types::{
        GpuVa,
        Pasid,
        QueueError,
        VmFault, //
    },
    uapi::debug, //
};
use core::num::NonZeroU16;

/// Bits of an event's id that a shader's message has.
pub(crate) const MESSAGE_BITS: u32 = 24;

/// What an entry reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// An event was signalled, of whose id the low `bits` are known.
    Signal {
        /// The id.
        data: u32,
        /// How many bits of it are known.
        bits: u32,
    },
    /// The firmware stopped a queue.
    PacketError(QueueError),
    /// A trap handler reports what is wrong, if a runtime listens; otherwise the data is that of a
    /// signal with [`MESSAGE_BITS`].
    WaveError {
        /// What is wrong.
        error: QueueError,
        /// The data of a signal.
        data: u32,
    },
    /// A page fault.
    Fault(VmFault),
}

impl Event {
    /// Whether it tells of an error that a page fault may have led to.
    pub(super) fn is_error(&self) -> bool {
        matches!(self, Self::PacketError(_) | Self::WaveError { .. })
    }
}

/// Whether an entry says that there are some in the second ring: IH's own, with the ring's number (`ih_v7_0_self_irq`).
pub(super) fn tells_of_second(entry: &Entry) -> bool {
    let (client, source) = (entry.get(Entry::CLIENT_ID), entry.get(Entry::SOURCE_ID));
    let ring = entry.get(Entry::RING_ID);
    client == u64::from(client::IH) && source == 0 && ring == 1
}

/// Decodes an entry; those that mean nothing to KFD are `None`.
pub(super) fn decode(clients: &dyn Clients, entry: &Entry) -> Option<(Pasid, Event)> {
    let client_id = entry.get(Entry::CLIENT_ID) as u32 as u8;
    let source_id = entry.get(Entry::SOURCE_ID) as u32 as u8;
    let pasid = Pasid::new(NonZeroU16::new(entry.get(Entry::PASID) as u32 as u16)?);
    let (data0, data1) = (
        entry.get(Entry::DATA_0) as u32,
        entry.get(Entry::DATA_1) as u32,
    );
    let queue_error = |data: u32, exceptions| QueueError {
        pasid,
        doorbell_id: data & ((1 << DOORBELL_BITS) - 1),
        exceptions,
    };
    let event = match clients.topic(client_id, source_id, data0, data1)? {
        Topic::Fault => {
            let ring_id = entry.get(Entry::RING_ID) as u32;
            Event::Fault(VmFault {
                pasid,
                va: GpuVa::new(u64::from(data0) << 12 | u64::from(data1 & 0xf) << 44),
                not_present: ring_id & 0x08 != 0,
                write: ring_id & 0x20 != 0,
                // The entry doesn't have it.
                execute: false,
                hub: None,
            })
        }
        Topic::Shader(message) => {
            let (data, exceptions) = (message.data, u64::from(message.exceptions));
            // Others with them go along, as upstream.
            match exceptions & debug::EC_MASK_QUEUE {
                0 => Event::Signal {
                    data,
                    bits: MESSAGE_BITS,
                },
                _ => Event::WaveError {
                    error: queue_error(data, exceptions),
                    data,
                },
            }
        }
        Topic::CopyTrap => Event::Signal {
            data: data0 & 0xfff_ffff,
            bits: 28,
        },
        Topic::Processor => match source_id {
            source::CP_EOP => Event::Signal {
                data: data0,
                bits: 32,
            },
            source::CP_BAD_OPCODE => {
                let exceptions = debug::exception_mask(data0 >> DOORBELL_BITS & 0xffff);
                if exceptions & debug::EC_MASK_PACKET == 0 {
                    return None;
                }
                Event::PacketError(queue_error(data0, exceptions))
            }
            _ => return None,
        },
    };
    Some((pasid, event))
}
