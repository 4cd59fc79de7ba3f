// SPDX-License-Identifier: GPL-2.0

//! Entries of the interrupt ring, word by word as `amdgpu_ih_decode_iv_helper` takes them apart,
//! and the ring's pointers.

use super::{
    clients,
    decode::{
        decode,
        tells_of_second, //
    },
    ring::{
        after,
        at_entry,
        RING_BYTES, //
    },
    Clients,
    Event,
    BATCH, //
};
use crate::{
    hw::ih::Entry,
    types::{
        GcVersion,
        GpuVa,
        Pasid,
        QueueError,
        VmFault, //
    }, //
};
use core::num::NonZeroU16;
use kernel::prelude::*;

/// Clients of gfx9 (`soc15_ih_clientid.h`) and of gfx12 (`SOC21_IH_CLIENTID_GFX`).
const SE0SH: u32 = 0x0a;
const SE3SH: u32 = 0x0d;
const VMC: u32 = 0x12;
const GRBM_CP: u32 = 0x14;
const UTCL2: u32 = 0x1b;
const GFX_12: u32 = 0x0a;
/// Sources (`irqsrcs_gfx_9_0.h`, which `irqsrcs_gfx_11_0_0.h` repeats).
const EOP: u32 = 181;
const BAD_OPCODE: u32 = 183;
const SQ: u32 = 239;
/// Copy engines 0 to 3 (`SOC15_IH_CLIENTID_SDMA0` to `_SDMA3`), and what a TRAP packet raises.
const SDMA: [u32; 4] = [0x08, 0x09, 0x01, 0x04];
const TRAP_9: u32 = 224;
const TRAP_12: u32 = 49;

const PASID: u16 = 0x8123;

/// An entry with noise where nothing is looked at.
fn entry(client: u32, source: u32, ring: u32, data0: u32, data1: u32) -> Entry {
    let head = client | source << 8 | ring << 16 | 0xf << 24 | 1 << 31;
    let stamp = 0xdead_beef;
    Entry([
        head,
        stamp,
        stamp,
        u32::from(PASID) | 0x5a << 16,
        data0,
        data1,
        stamp,
        stamp,
    ])
}

fn v9() -> &'static dyn Clients {
    clients(GcVersion::V9_4_3)
}

fn v12() -> &'static dyn Clients {
    clients(GcVersion::V12_0_1)
}

fn event(clients: &dyn Clients, entry: &Entry) -> Option<Event> {
    let (pasid, event) = decode(clients, entry)?;
    (pasid.get() == PASID).then_some(event)
}

fn signal(data: u32, bits: u32) -> Option<Event> {
    Some(Event::Signal { data, bits })
}

fn queue_error(doorbell_id: u32, exceptions: u64) -> Result<QueueError> {
    Ok(QueueError {
        pasid: Pasid::new(NonZeroU16::new(PASID).ok_or(EINVAL)?),
        doorbell_id,
        exceptions,
    })
}

/// `SQ_INTERRUPT_WORD_WAVE_CTXID` of gfx9: bits 11:0 of the data, PRIV 13, ENCODING 27:26, bits 15:12
/// of the data; then its bits 23:16.
fn message_9(data: u32, private: u32, encoding: u32) -> Entry {
    let data0 = data & 0xfff | private << 13 | encoding << 26 | (data >> 12 & 0xf) << 28;
    entry(SE0SH, SQ, 0, data0, data >> 16)
}

/// That of gfx11 and gfx12: 24 bits of data, PRIV 26; then ENCODING in bits 7:6.
fn message_12(data: u32, private: u32, encoding: u32) -> Entry {
    entry(GFX_12, SQ, 0, data | private << 26, encoding << 6)
}

#[kunit_tests(rkfd_ih)]
mod tests {
    use super::*;

    #[test]
    fn end_of_pipe_carries_an_events_id() {
        let id = 0x1234_5678;
        let of_v9 = entry(GRBM_CP, EOP, 0, id, 0);
        assert_eq!(event(v9(), &of_v9), signal(id, 32));
        let of_v12 = entry(GFX_12, EOP, 0, id, 0);
        assert_eq!(event(v12(), &of_v12), signal(id, 32));
    }

    /// `KFD_CONTEXT_ID_GET_SQ_INT_DATA`: 12 bits, 4 bits and 8 bits on gfx9; 24 bits on gfx12.
    #[test]
    fn a_shaders_message_has_24_bits() {
        for client in SE0SH..=SE3SH {
            let message = entry(client, SQ, 0, 0xd000_0abc, 0x12);
            assert_eq!(event(v9(), &message), signal(0x12_dabc, 24));
            // What surrounds them is of no account.
            let message = entry(client, SQ, 0, 0x0fff_f000, 0xffff_ff00);
            assert_eq!(event(v9(), &message), signal(0, 24));
        }
        let message = entry(GFX_12, SQ, 0, 0xff65_4321, 0);
        assert_eq!(event(v12(), &message), signal(0x65_4321, 24));
    }

    /// `event_interrupt_wq_v9`: 36 bits of the page's number; ring id bit 3 no entry, bit 5 a store.
    #[test]
    fn a_fault_names_its_page() -> Result {
        let pasid = Pasid::new(NonZeroU16::new(PASID).ok_or(EINVAL)?);
        for (clients, client) in [(v9(), VMC), (v9(), UTCL2), (v12(), VMC)] {
            for (ring, not_present, write) in
                [(0, false, false), (8, true, false), (0x28, true, true)]
            {
                let wanted = VmFault {
                    pasid,
                    va: GpuVa::new(0xf123_4567_8000),
                    not_present,
                    write,
                    execute: false,
                    hub: None,
                };
                // The upper bits of the second word are others'.
                let entry = entry(client, 0, ring, 0x1234_5678, 0xffff_ff7f);
                assert_eq!(event(clients, &entry), Some(Event::Fault(wanted)));
            }
        }
        Ok(())
    }

    /// `kfd_signal_event_interrupt(pasid, context_id0 & 0xfffffff, 28)`, of each engine.
    #[test]
    fn a_copy_engines_trap_has_28_bits() {
        for client in SDMA {
            let trap = entry(client, TRAP_9, 0, 0xf123_4567, 0);
            assert_eq!(event(v9(), &trap), signal(0x123_4567, 28));
        }
        let trap = entry(GFX_12, TRAP_12, 0, 0xf123_4567, 0);
        assert_eq!(event(v12(), &trap), signal(0x123_4567, 28));
    }

    /// `KFD_DEBUG_DOORBELL_ID` and `KFD_DEBUG_TRAP_CODE`: bits 9:0, and 18:10 on gfx9, 23:10 on gfx12.
    #[test]
    fn a_trap_handlers_message_names_queue_and_exceptions() -> Result {
        let doorbell = 0x2a5;
        let wave_error = |data, exceptions| -> Result<_> {
            let error = queue_error(doorbell, exceptions)?;
            Ok(Some(Event::WaveError { error, data }))
        };
        // EC_QUEUE_WAVE_ABORT to EC_QUEUE_WAVE_APERTURE_VIOLATION, codes 1 to 6.
        for bit in 0..6 {
            let data = doorbell | 1 << (10 + bit);
            let wanted = wave_error(data, 1 << bit)?;
            assert_eq!(event(v9(), &message_9(data, 1, 1)), wanted);
            assert_eq!(event(v12(), &message_12(data, 1, 1)), wanted);
        }
        // All bits but that of code 7, which is none: 9 on gfx9, 14 on gfx12.
        let data = 0xfe_fea5;
        assert_eq!(
            event(v9(), &message_9(data, 1, 1)),
            wave_error(data, 0x1bf)?
        );
        assert_eq!(
            event(v12(), &message_12(data, 1, 1)),
            wave_error(data, 0x3fbf)?
        );
        Ok(())
    }

    /// Upstream reports only exceptions of queues (`KFD_EC_MASK_QUEUE`).
    #[test]
    fn other_messages_are_events() {
        let abort = 0x2a5 | 1 << 10;
        // Not from a handler, or by the hardware itself (encodings 0 and 2) or by nobody (3).
        for (private, encoding) in [(0, 1), (1, 0), (1, 2), (1, 3)] {
            let message = message_9(abort, private, encoding);
            assert_eq!(event(v9(), &message), signal(abort, 24));
            let message = message_12(abort, private, encoding);
            assert_eq!(event(v12(), &message), signal(abort, 24));
        }
        // Without an exception, or with what is none: codes 7 to 9, and 10 to 14, which gfx9 doesn't
        // look at.
        for data in [0x2a5, 0x7_0000 | 0x2a5, 0xf8_0000 | 0x2a5] {
            assert_eq!(event(v9(), &message_9(data, 1, 1)), signal(data, 24));
            assert_eq!(event(v12(), &message_12(data, 1, 1)), signal(data, 24));
        }
    }

    #[test]
    fn a_bad_opcode_names_the_queue() -> Result {
        // `KFD_DEBUG_DOORBELL_ID` and `KFD_DEBUG_CP_BAD_OP_ECODE`: bits 9:0 and 25:10.
        let bad = |code: u32| {
            let data = 0xfc00_0000 | code << 10 | 0x2a5;
            event(v9(), &entry(GRBM_CP, BAD_OPCODE, 0, data, 0))
        };
        // EC_QUEUE_PACKET_DISPATCH_DIM_INVALID and EC_QUEUE_PACKET_VENDOR_UNSUPPORTED.
        for (code, exceptions) in [(16, 0x8000), (23, 0x40_0000)] {
            let error = queue_error(0x2a5, exceptions)?;
            assert_eq!(bad(code), Some(Event::PacketError(error)));
        }
        // Codes that have nothing to do with packets.
        for code in [0, 1, 15, 24, 30, 33, 0xabcd] {
            assert_eq!(bad(code), None);
        }
        Ok(())
    }

    /// Of all clients and sources few mean something, and none does for PASID 0. On gfx9: faults of 3
    /// clients, messages of 4 shader engines, traps of 4 copy engines, the end of a pipe. On gfx12:
    /// all of VMC, a fault of the graphics core; and of it and of GRBM message, trap and end of a pipe.
    #[test]
    fn other_entries_mean_nothing() {
        for (clients, wanted) in [(v9(), 3 + 4 + 4 + 1), (v12(), 256 + 1 + 2 * 3)] {
            let mut known = 0;
            for head in 0..=0xffff_u32 {
                let mut entry = entry(head & 0xff, head >> 8, 0, 0, 0);
                known += usize::from(decode(clients, &entry).is_some());
                entry.0[3] &= 0xffff_0000;
                assert!(decode(clients, &entry).is_none());
            }
            assert_eq!(known, wanted);
        }
    }

    /// `SOC21_IH_CLIENTID_IH` with source 0 and the ring's number; for KFD it means nothing.
    #[test]
    fn an_entry_of_ihs_own_tells_of_the_second_ring() {
        let own = entry(0, 0, 1, 0x1000, 0);
        assert!(tells_of_second(&own));
        assert!(decode(v12(), &own).is_none());
        for (client, source, ring) in [(0, 0, 0), (0, 0, 2), (0, 1, 1), (GFX_12, 0, 1)] {
            assert!(!tells_of_second(&entry(client, source, ring, 0, 0)));
        }
    }

    /// Whatever pointer the device writes, reading stays in the ring and on entries.
    #[test]
    fn pointers_stay_in_the_ring() {
        // `IH_RING_SIZE` of upstream.
        assert_eq!(RING_BYTES, 256 * 1024);
        for pointer in [
            0,
            1,
            31,
            32,
            0x3_ffff,
            0x4_0000,
            0x4_0020,
            0xffff_ffe0,
            u32::MAX,
        ] {
            let place = at_entry(pointer);
            assert_eq!(place % 32, 0);
            assert!(place + 32 <= RING_BYTES);
            assert_eq!(place, (pointer & 0x3_ffe0) as usize);
        }
        assert_eq!(after(0), 32);
        assert_eq!(after(RING_BYTES - 32), 0);
        // All entries are visited once before the first comes again.
        let visited = core::iter::successors(Some(0), |at| Some(after(*at)).filter(|at| *at != 0));
        assert_eq!(visited.count(), RING_BYTES / 32);
        assert!(BATCH < RING_BYTES / 32);
    }
}
