// SPDX-License-Identifier: GPL-2.0

//! Sizes for saving waves, worked out by hand from `kfd_queue_ctx_save_restore_size`.

use super::{
    cwsr_sizes,
    family,
    Family, //
};
use crate::types::GcVersion;
use kernel::prelude::*;

fn sizes(family: &Family, cus: u32, engines: u32) -> Result<(u32, u32, u32)> {
    let sizes = cwsr_sizes(family, cus, engines)?;
    Ok((
        sizes.ctl_stack_size,
        sizes.cwsr_size,
        sizes.debug_memory_size,
    ))
}

#[kunit_tests(rkfd_chip)]
mod tests {
    use super::*;

    /// A CU of gfx942 saves 0x80000 + 0x4000 + 0x10000 + 0x1000 = 0x95000 bytes.
    #[test]
    fn gfx942_saves_as_linux_says() -> Result {
        let family = family(GcVersion::V9_4_3);
        // One XCC of an MI308X: 20 CUs in 4 engines. 800 waves, 40 + 8 + 800 * 8 = 6448 bytes.
        assert_eq!(
            sizes(family, 20, 4)?,
            (0x2000, 0x2000 + 20 * 0x95000, 25600)
        );
        // One of an MI300X: 38 CUs. 1520 waves: 12208 bytes.
        assert_eq!(
            sizes(family, 38, 4)?,
            (0x3000, 0x3000 + 38 * 0x95000, 48640)
        );
        // 60 CUs in one engine: 512 waves of it, not 2400. 4144 bytes: just above a page.
        assert_eq!(
            sizes(family, 60, 1)?,
            (0x2000, 0x2000 + 60 * 0x95000, 16384)
        );
        // 506 waves would fit in a page with 40 + 8; 12 CUs have 480.
        assert_eq!(
            sizes(family, 12, 1)?,
            (0x1000, 0x1000 + 12 * 0x95000, 15360)
        );
        Ok(())
    }

    /// A CU of gfx1201 saves 0x60000 + 0x4000 + 0x10000 + 0x1000 = 0x75000 bytes, a wave takes 12
    /// bytes of the control stack, and engines don't bound the waves.
    #[test]
    fn gfx1201_saves_as_linux_says() -> Result {
        let family = family(GcVersion::V12_0_1);
        // 64 CUs: 2048 waves, 40 + 8 + 24576 bytes.
        assert_eq!(
            sizes(family, 64, 4)?,
            (0x7000, 0x7000 + 64 * 0x75000, 65536)
        );
        assert_eq!(sizes(family, 64, 1)?, sizes(family, 64, 8)?);
        Ok(())
    }

    /// Counts come from the device: absurd ones are errors, not small sizes.
    #[test]
    fn absurd_counts_are_refused() -> Result {
        for family in [family(GcVersion::V9_4_3), family(GcVersion::V12_0_1)] {
            for cus in [1 << 14, u32::MAX / 40, u32::MAX] {
                assert!(cwsr_sizes(family, cus, u32::MAX).is_err());
            }
        }
        Ok(())
    }
}
