// SPDX-License-Identifier: GPL-2.0

//! Arguments of ioctls whose size differs from ours, and answers that depend on nothing but them.

use super::{
    info,
    memory,
    Argument, //
};
use crate::uapi::{
    device as abi,
    ioctl::ioc_size, //
};
use kernel::prelude::*;

/// A `kfd_ioctl_get_version_args`: two words.
const SIZE: usize = 8;

fn version(bytes: &mut [u8], user_size: usize) -> Result {
    Argument {
        bytes,
        user_size,
        returned: &mut 0,
    }
    .with(info::version)
}

#[kunit_tests(rkfd_ioctl)]
mod tests {
    use super::*;

    /// `KFD_IOCTL_MAJOR_VERSION` 1 and a minor version that is not 0.
    #[test]
    fn a_larger_argument_keeps_its_tail() -> Result {
        let mut bytes = [0xee; SIZE + 24];
        version(&mut bytes, SIZE + 24)?;
        let (head, tail) = bytes.split_at(SIZE);
        assert_eq!(head.get(..4), Some([1, 0, 0, 0].as_slice()));
        assert!(head.get(4).is_some_and(|minor| *minor > 0));
        assert!(tail.iter().all(|byte| *byte == 0xee));
        Ok(())
    }

    /// The bytes of a smaller argument are made up to ours before: less is a mistake of ours.
    #[test]
    fn an_argument_that_is_cut_short_is_refused() {
        for size in 0..SIZE {
            let mut bytes = [0xee; SIZE];
            let short = bytes.get_mut(..size).unwrap_or_default();
            assert_eq!(version(short, size), Err(EINVAL));
            assert!(bytes.iter().all(|byte| *byte == 0xee));
        }
    }

    /// As upstream, which copies the argument back whatever the result.
    #[test]
    fn a_failing_call_gives_back_what_it_changed() {
        let mut bytes = [0; SIZE];
        let mut argument = Argument {
            bytes: &mut bytes,
            user_size: SIZE,
            returned: &mut 0,
        };
        let result = argument.with(|args: &mut abi::GetVersionArgs| {
            args.minor_version = 0x0403_0201;
            Err(EBUSY)
        });
        assert_eq!(result, Err(EBUSY));
        assert_eq!(bytes, [0, 0, 0, 0, 1, 2, 3, 4]);
    }

    /// `_IOC_SIZE`: 14 bits from bit 16 on.
    #[test]
    fn a_call_tells_its_size() {
        assert_eq!(ioc_size(0xc008_4b01), 8);
        assert_eq!(ioc_size(0xffff_ffff), 0x3fff);
        assert_eq!(ioc_size(0xc000_ffff), 0);
    }

    /// `kfd_init_apertures_v9`: `MAKE_LDS_APP_BASE_V9`, `MAKE_SCRATCH_APP_BASE_V9`, and 4 GiB each.
    #[test]
    fn apertures_lie_in_the_hole() {
        let a = info::apertures_of(77);
        assert_eq!(
            (a.lds_base, a.lds_limit),
            (0x1_0000_0000_0000, 0x1_0000_ffff_ffff)
        );
        let scratch = (a.scratch_base, a.scratch_limit);
        assert_eq!(scratch, (0x2_0000_0000_0000, 0x2_0000_ffff_ffff));
        // Programs' half of the addresses, less the first 64 KiB (AMDGPU_VA_RESERVED_BOTTOM).
        assert_eq!((a.gpuvm_base, a.gpuvm_limit), (0x1_0000, 0x7fff_ffff_ffff));
        assert_eq!((a.gpu_id, a.pad), (77, 0));
    }

    /// A call that did only a part returns how much in the count, and a repetition goes on there.
    #[test]
    fn what_was_done_is_counted() {
        assert_eq!(memory::check_counts(0, 0), Err(EINVAL));
        assert_eq!(memory::check_counts(3, 4), Err(EINVAL));
        assert_eq!(memory::check_counts(3, 3), Ok(()));
        let (mut done, mut seen) = (1, 0);
        let ids = [10, 20, 30, 40];
        let result = memory::for_each_gpu(&ids, &mut done, |id| {
            seen += id;
            if id == 40 {
                Err(EIO)
            } else {
                Ok(())
            }
        });
        assert_eq!((result, done, seen), (Err(EIO), 3, 90));
        assert_eq!(memory::for_each_gpu(&ids, &mut done, |_| Ok(())), Ok(()));
        assert_eq!(done, 4);
    }
}
