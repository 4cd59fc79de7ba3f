// SPDX-License-Identifier: GPL-2.0

//! Entries of the interrupt ring, word by word as `amdgpu_ih_decode_iv_helper` takes them apart,
//! and the ring's pointers.

use super::{after, at_entry, decode, v4_4, v7_0, Hal, Told, BATCH, RING_BYTES};
use crate::{
    hw::ih::Entry,
    upcall::{Pasid, QueueError, VmFault},
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

fn told(hal: &Hal, entry: &Entry) -> Option<Told> {
    let (pasid, told) = decode(hal, entry)?;
    (pasid.get() == PASID).then_some(told)
}

fn signal(data: u32, bits: u32) -> Option<Told> {
    Some(Told::Signal { data, bits })
}

#[kunit_tests(rkfd_ih)]
mod tests {
    use super::*;

    #[test]
    fn end_of_pipe_carries_an_events_id() {
        let event = 0x1234_5678;
        let v9 = entry(GRBM_CP, EOP, 0, event, 0);
        assert_eq!(told(&v4_4::HAL, &v9), signal(event, 32));
        let v12 = entry(GFX_12, EOP, 0, event, 0);
        assert_eq!(told(&v7_0::HAL, &v12), signal(event, 32));
    }

    /// `KFD_CONTEXT_ID_GET_SQ_INT_DATA`: 12 bits, 4 bits and 8 bits on gfx9; 24 bits on gfx12.
    #[test]
    fn a_shaders_message_has_24_bits() {
        for client in SE0SH..=SE3SH {
            let message = entry(client, SQ, 0, 0xd000_0abc, 0x12);
            assert_eq!(told(&v4_4::HAL, &message), signal(0x12_dabc, 24));
            // What surrounds them is of no account.
            let message = entry(client, SQ, 0, 0x0fff_f000, 0xffff_ff00);
            assert_eq!(told(&v4_4::HAL, &message), signal(0, 24));
        }
        let message = entry(GFX_12, SQ, 0, 0xff65_4321, 0);
        assert_eq!(told(&v7_0::HAL, &message), signal(0x65_4321, 24));
    }

    /// `event_interrupt_wq_v9`: 36 bits of the page's number; ring id bit 3 no entry, bit 5 a store.
    #[test]
    fn a_fault_names_its_page() -> Result {
        let pasid = Pasid(NonZeroU16::new(PASID).ok_or(EINVAL)?);
        for (hal, client) in [(&v4_4::HAL, VMC), (&v4_4::HAL, UTCL2), (&v7_0::HAL, VMC)] {
            for (ring, not_present, write) in
                [(0, false, false), (8, true, false), (0x28, true, true)]
            {
                let wanted = VmFault {
                    pasid,
                    va: 0xf123_4567_8000,
                    not_present,
                    write,
                    execute: false,
                };
                // The upper bits of the second word are others'.
                let entry = entry(client, 0, ring, 0x1234_5678, 0xffff_ff7f);
                assert_eq!(told(hal, &entry), Some(Told::Fault(wanted)));
            }
        }
        Ok(())
    }

    /// `kfd_signal_event_interrupt(pasid, context_id0 & 0xfffffff, 28)`, of each engine.
    #[test]
    fn a_copy_engines_trap_has_28_bits() {
        for client in SDMA {
            let trap = entry(client, TRAP_9, 0, 0xf123_4567, 0);
            assert_eq!(told(&v4_4::HAL, &trap), signal(0x123_4567, 28));
        }
        let trap = entry(GFX_12, TRAP_12, 0, 0xf123_4567, 0);
        assert_eq!(told(&v7_0::HAL, &trap), signal(0x123_4567, 28));
    }

    #[test]
    fn a_bad_opcode_names_the_queue() -> Result {
        let pasid = Pasid(NonZeroU16::new(PASID).ok_or(EINVAL)?);
        // `KFD_DEBUG_DOORBELL_ID` and `KFD_DEBUG_CP_BAD_OP_ECODE`: bits 9:0 and 25:10.
        let bad = |code: u32| {
            let data = 0xfc00_0000 | code << 10 | 0x2a5;
            told(&v4_4::HAL, &entry(GRBM_CP, BAD_OPCODE, 0, data, 0))
        };
        // EC_QUEUE_PACKET_DISPATCH_DIM_INVALID and EC_QUEUE_PACKET_VENDOR_UNSUPPORTED.
        for code in [16, 23] {
            let error = QueueError {
                pasid,
                doorbell_id: 0x2a5,
                code,
            };
            assert_eq!(bad(code), Some(Told::QueueError(error)));
        }
        // Codes that say nothing of packets.
        for code in [0, 15, 24, 0xabcd] {
            assert_eq!(bad(code), None);
        }
        Ok(())
    }

    /// Of all clients and sources few mean something, and none does for PASID 0. On gfx9: faults of 3
    /// clients, messages of 4 shader engines, traps of 4 copy engines, the end of a pipe. On gfx12:
    /// all of VMC, a fault of the graphics core; and of it and of GRBM message, trap and end of a pipe.
    #[test]
    fn other_entries_mean_nothing() {
        for (hal, wanted) in [(&v4_4::HAL, 3 + 4 + 4 + 1), (&v7_0::HAL, 256 + 1 + 2 * 3)] {
            let mut known = 0;
            for head in 0..=0xffff_u32 {
                let mut entry = entry(head & 0xff, head >> 8, 0, 0, 0);
                known += usize::from(decode(hal, &entry).is_some());
                entry.0[3] &= 0xffff_0000;
                assert!(decode(hal, &entry).is_none());
            }
            assert_eq!(known, wanted);
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
