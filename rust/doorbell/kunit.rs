// SPDX-License-Identifier: GPL-2.0

//! Which doorbells of a slice queues get (`init_doorbell_bitmap`, `allocate_doorbell`).

use super::{
    Used,
    SLICE_DOORBELLS, //
};
use crate::{
    chip::family,
    types::GcVersion, //
};
use kernel::prelude::*;

/// `AMDGPU_DOORBELL_LAYOUT1_FIRST_NON_CP` to `_LAST_NON_CP`, and `AMDGPU_NAVI10_DOORBELL64_...`.
const OTHERS: [(GcVersion, u32, u32); 2] = [
    (GcVersion::V9_4_3, 0x100, 0x1e8),
    (GcVersion::V12_0_1, 0x100, 0x190),
];
/// `KFD_QUEUE_DOORBELL_MIRROR_OFFSET`.
const MIRROR: u32 = 512;

#[kunit_tests(rkfd_doorbell)]
mod tests {
    use super::*;

    #[test]
    fn every_doorbell_but_those_of_other_engines_is_given_once() -> Result {
        for (version, first, last) in OTHERS {
            let mut used = Used::new(family(version).non_cp_doorbells);
            let others =
                |id| (first..=last).contains(&id) || (first + MIRROR..=last + MIRROR).contains(&id);
            for id in (0..SLICE_DOORBELLS as u32).filter(|id| !others(*id)) {
                assert_eq!(used.take(), Some(id));
            }
            assert_eq!(used.take(), None);
        }
        Ok(())
    }

    #[test]
    fn what_comes_back_is_given_again() -> Result {
        let mut used = Used::new(family(GcVersion::V9_4_3).non_cp_doorbells);
        while used.take().is_some() {}
        for id in [1023, 0, 511, 64] {
            used.give(id);
            assert_eq!(used.take(), Some(id));
            assert_eq!(used.take(), None);
        }
        // None of ours.
        used.give(1024);
        used.give(u32::MAX);
        assert_eq!(used.take(), None);
        Ok(())
    }
}
