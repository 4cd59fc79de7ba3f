// SPDX-License-Identifier: GPL-2.0

//! A queue's parameters, checked in the order of `set_queue_properties_from_user`. The suite has no
//! user memory, so an address other than 0 gives EFAULT: the errno shows which check was first.

use super::{
    ring_params,
    QueueParams, //
};
use crate::{
    types::{
        Percentage,
        Priority,
        RingSize, //
    },
    uapi::queue as abi, //
};
use kernel::prelude::*;

/// No user memory, whoever asks.
const NOWHERE: u64 = 0xffff_8000_0000_0000;

fn create() -> abi::CreateQueueArgs {
    abi::CreateQueueArgs {
        ring_size: 4096,
        queue_percentage: 100,
        queue_priority: 7,
        queue_type: abi::QUEUE_TYPE_COMPUTE_AQL,
        read_pointer_address: NOWHERE,
        write_pointer_address: NOWHERE,
        ..Default::default()
    }
}

fn error(change: impl FnOnce(&mut abi::CreateQueueArgs)) -> Option<Error> {
    let mut args = create();
    change(&mut args);
    QueueParams::new(&mut args).err()
}

#[kunit_tests(rkfd_queue_params)]
mod tests {
    use super::*;

    /// A power of two or 0, raised to 1 KiB (`KFD_MIN_QUEUE_RING_SIZE`).
    #[test]
    fn ring_sizes() {
        for (asked, given) in [
            (0, Some(1024)),
            (1, Some(1024)),
            (512, Some(1024)),
            (1024, Some(1024)),
            (1 << 31, Some(1 << 31)),
            (3, None),
            (1025, None),
            (u32::MAX, None),
        ] {
            let size = RingSize::new(asked);
            assert_eq!(size.ok().map(RingSize::raw), given);
            assert_eq!(size.err(), given.is_none().then_some(EINVAL));
        }
        assert!(RingSize::new(1 << 31).is_ok_and(|size| size.bytes() == 0x8000_0000));
    }

    /// The low byte, up to 100 (`KFD_MAX_QUEUE_PERCENTAGE`); priorities up to 15.
    #[test]
    fn shares_and_priorities() {
        for field in 0..512 {
            let share = Percentage::new(field).ok().map(Percentage::get);
            let low = field & 0xff;
            assert_eq!(share.map(u32::from), (low <= 100).then_some(low));
        }
        for value in [0, 1, 15, 16, 255, 256, 271, u32::MAX] {
            let priority = Priority::new(value).ok().map(Priority::get);
            assert_eq!(priority.map(u32::from), (value <= 15).then_some(value));
        }
    }

    /// Bits 15:8 of the word with the share (`set_queue_properties_from_user`).
    #[test]
    fn the_xcc_of_pm4_packets() {
        let fields = [
            (100, 0),
            (0x0164, 1),
            (0x0264, 2),
            (0xff00, 255),
            (0x1_0364, 3),
        ];
        for (field, xcc) in fields {
            let ring = ring_params(0, 4096, field, 0);
            assert_eq!(ring.ok().map(|ring| ring.pm4_target_xcc), Some(xcc));
        }
    }

    #[test]
    fn a_ring_is_checked_in_order() {
        assert!(ring_params(0, 0, 0, 0).is_ok());
        let error = |a, s, share, p| ring_params(a, s, share, p).err();
        assert_eq!(error(NOWHERE, 3, 101, 0), Some(EINVAL));
        assert_eq!(error(NOWHERE, 3, 0, 16), Some(EINVAL));
        assert_eq!(error(NOWHERE, 3, 0, 0), Some(EFAULT));
        assert_eq!(error(u64::MAX, 4096, 0, 0), Some(EFAULT));
        assert_eq!(error(0, 3, 0, 0), Some(EINVAL));
    }

    #[test]
    fn a_queue_is_checked_in_order() {
        // Pointers are required, but looked at only after the sizes.
        assert_eq!(error(|_| {}), Some(EFAULT));
        assert_eq!(error(|a| a.ring_base_address = NOWHERE), Some(EFAULT));
        assert_eq!(error(|a| a.metadata_ring_size = 3), Some(EINVAL));
        assert_eq!(error(|a| a.metadata_ring_size = 6), Some(EINVAL));
        assert_eq!(error(|a| a.ring_size = 3), Some(EINVAL));
        assert_eq!(error(|a| a.queue_percentage = 101), Some(EINVAL));
        assert_eq!(error(|a| a.queue_priority = 16), Some(EINVAL));
        // The type comes last.
        assert_eq!(error(|a| a.queue_type = 99), Some(EFAULT));
    }

    /// Programs see the size that is used, even when a later check fails.
    #[test]
    fn a_small_ring_is_raised_in_the_argument() {
        let mut args = create();
        args.ring_size = 16;
        assert_eq!(QueueParams::new(&mut args).err(), Some(EFAULT));
        assert_eq!(args.ring_size, 1024);
    }
}
