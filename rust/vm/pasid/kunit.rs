// SPDX-License-Identifier: GPL-2.0

//! PASIDs, of the module's own numbers: the suite leaves as many in use as it found.

use super::{PasidGuard, COUNT};
use kernel::prelude::*;

#[kunit_tests(rkfd_pasid)]
mod tests {
    use super::*;

    #[test]
    fn two_are_never_alike() -> Result {
        let mut held = KVec::new();
        for _ in 0..64 {
            let pasid = PasidGuard::new()?;
            let number = pasid.get().get();
            assert!(number != 0);
            assert!(held
                .iter()
                .all(|other: &PasidGuard| other.get().get() != number));
            held.push(pasid, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// A late interrupt must not reach a successor: a number comes again when all others were.
    #[test]
    fn a_number_is_not_given_again_at_once() -> Result {
        let held = PasidGuard::new()?;
        let first = PasidGuard::new()?.get().get();
        let mut until_again = 1;
        while PasidGuard::new()?.get().get() != first {
            until_again += 1;
            assert!(until_again < COUNT);
        }
        drop(held);
        // All but 0, and those in use meanwhile.
        assert!(until_again > COUNT - 256);
        Ok(())
    }
}
