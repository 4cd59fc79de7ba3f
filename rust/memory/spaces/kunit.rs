// SPDX-License-Identifier: GPL-2.0

//! Requests that map an object while its last handle is closed.

use super::Known;
use kernel::{
    prelude::*,
    sync::Arc, //
};

const YES: fn() -> bool = || true;
const NO: fn() -> bool = || false;

#[kunit_tests(rkfd_known_spaces)]
mod tests {
    use super::*;

    fn one() -> Result<Arc<u32>> {
        Ok(Arc::new(1, GFP_KERNEL)?)
    }

    #[test]
    fn closing_the_last_handle_forgets_it() -> Result {
        let (mut known, vm) = (Known::new(), one()?);
        known.begin(&vm)?;
        assert!(known.end(&vm, YES).is_none());
        assert_eq!(known.len(), 1);
        assert!(known.remove(&vm, YES).is_none());
        assert!(known.remove(&vm, NO).is_some());
        assert_eq!(known.len(), 0);
        Ok(())
    }

    /// The handle is closed and another one opened between the beginning of a request and its look for a handle.
    #[test]
    fn a_request_under_way_keeps_it() -> Result {
        let (mut known, vm) = (Known::new(), one()?);
        known.begin(&vm)?;
        assert!(known.remove(&vm, NO).is_none());
        assert!(known.end(&vm, YES).is_none());
        assert_eq!(known.len(), 1);
        Ok(())
    }

    /// The last of two requests finds that there is no handle any more.
    #[test]
    fn the_last_request_forgets_it() -> Result {
        let (mut known, vm, other) = (Known::new(), one()?, one()?);
        known.begin(&other)?;
        known.begin(&vm)?;
        known.begin(&vm)?;
        assert!(known.end(&vm, NO).is_none());
        assert!(known.remove(&vm, NO).is_none());
        let last = known.end(&vm, NO);
        assert!(last.is_some_and(|last| Arc::ptr_eq(&last, &vm)));
        assert!(known.iter().all(|left| Arc::ptr_eq(left, &other)));
        assert_eq!(known.len(), 1);
        Ok(())
    }
}
