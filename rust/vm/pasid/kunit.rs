// SPDX-License-Identifier: GPL-2.0

//! PASIDs, of numbers that nobody else has.

use super::{
    PasidGuard,
    Pasids,
    COUNT, //
};
use kernel::prelude::*;

#[kunit_tests(rkfd_pasid)]
mod tests {
    use super::*;

    #[test]
    fn two_are_never_alike() -> Result {
        let pasids = Pasids::new()?;
        let mut held = KVec::new();
        for _ in 0..64 {
            let pasid = pasids.take()?;
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
        let pasids = Pasids::new()?;
        let held = pasids.take()?;
        let first = pasids.take()?.get().get();
        let mut until_again = 1;
        while pasids.take()?.get().get() != first {
            until_again += 1;
            assert!(until_again < COUNT);
        }
        drop(held);
        // All but 0, and those in use meanwhile.
        assert!(until_again > COUNT - 256);
        Ok(())
    }

    /// Each number but 0 is there once.
    #[test]
    fn all_can_be_had() -> Result {
        let pasids = Pasids::new()?;
        let mut held = KVVec::with_capacity(COUNT, GFP_KERNEL)?;
        while let Ok(pasid) = pasids.take() {
            held.push(pasid, GFP_KERNEL)?;
        }
        assert_eq!(held.len(), COUNT - 1);
        Ok(())
    }
}
