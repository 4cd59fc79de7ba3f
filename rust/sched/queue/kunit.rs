// SPDX-License-Identifier: GPL-2.0

//! A queue's life: what can follow what.

use super::QueueState::{
    self,
    Created,
    Disabled,
    Evicted,
    Gone,
    Hung,
    Mapped, //
};
use kernel::prelude::*;

const ALL: [QueueState; 6] = [Created, Mapped, Disabled, Evicted, Hung, Gone];

#[kunit_tests(rkfd_queue_state)]
mod tests {
    use super::*;

    /// What is gone stays gone; what the hardware didn't let go of can only go; nothing is made
    /// twice.
    #[test]
    fn only_these_transitions_are_possible() {
        for from in ALL {
            for to in ALL {
                let possible = match from {
                    Created | Mapped | Disabled | Evicted => to != Created,
                    Hung => to == Hung || to == Gone,
                    Gone => false,
                };
                assert_eq!(from.to(to), if possible { Ok(to) } else { Err(EINVAL) });
            }
        }
    }
}
