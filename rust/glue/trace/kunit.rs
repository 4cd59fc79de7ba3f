// SPDX-License-Identifier: GPL-2.0

//! How much of an argument goes into an event.

use super::told;
use kernel::prelude::*;

/// `PERF_MAX_TRACE_SIZE`: perf warns of larger events.
const PERF_MOST: usize = 8192;
/// `_IOC_SIZEMASK`: no argument is larger.
const LARGEST: usize = (1 << 14) - 1;

#[kunit_tests(rkfd_trace)]
mod tests {
    use super::*;

    /// The event has a header, number and errno besides.
    #[test]
    fn the_largest_argument_leaves_room_in_an_event() -> Result {
        let bytes = KVec::from_elem(7u8, LARGEST, GFP_KERNEL)?;
        let told = told(&bytes);
        assert!(!told.is_empty());
        assert!(told.len() <= PERF_MOST / 2);
        assert_eq!(told.as_ptr(), bytes.as_ptr());
        Ok(())
    }

    /// As large as `struct kfd_ioctl_get_process_apertures_args`, and none.
    #[test]
    fn arguments_of_our_own_size_are_told_whole() {
        let bytes = [1u8; 400];
        assert_eq!(told(&bytes).len(), 400);
        assert!(told(&[]).is_empty());
    }
}
