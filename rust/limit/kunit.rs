// SPDX-License-Identifier: GPL-2.0

//! How much memory may be taken, by `amdgpu_amdkfd_gpuvm_init_mem_limits` and
//! `amdgpu_amdkfd_reserve_mem_limit`.

use super::{
    add,
    limit_of_all, //
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

const MIB: u64 = 1 << 20;

#[kunit_tests(rkfd_limit)]
mod tests {
    use super::*;

    /// A 64th is left to the kernel, and 1.5 GiB to others where there are 3 GiB; else half.
    #[test]
    fn others_have_some_memory_left() {
        for (total, limit) in [(2048, 1008), (4096, 2496), (8192, 6528), (65536, 62976)] {
            assert_eq!(limit_of_all(total * MIB), limit * MIB);
        }
    }

    #[test]
    fn what_is_refused_takes_nothing() {
        let used = Atomic::new(0);
        assert_eq!(add(&used, 6, 10), Ok(()));
        for more in [5, u64::MAX, u64::MAX - 5] {
            assert_eq!(add(&used, more, 10), Err(ENOMEM));
        }
        assert_eq!(used.load(Relaxed), 6);
        assert_eq!(add(&used, 4, 10), Ok(()));
        assert_eq!(add(&used, 1, 10), Err(ENOMEM));
    }
}
