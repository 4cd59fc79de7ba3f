// SPDX-License-Identifier: GPL-2.0

//! Ranges of pages: 4 KiB each, in 48 bits of addresses (`AMDGPU_GPU_PAGE_SIZE`, `gmc_v9_0_sw_init`).

use super::{
    GpuVa,
    PageRange, //
};
use kernel::prelude::*;

const END: u64 = 0x1_0000_0000_0000;

fn range(start: u64, bytes: u64) -> Result<PageRange> {
    PageRange::new(GpuVa::new(start), bytes)
}

#[kunit_tests(rkfd_page_range)]
mod tests {
    use super::*;

    #[test]
    fn whole_pages_of_the_address_space_are_ranges() -> Result {
        for (start, bytes) in [
            (0, 0x1000),
            (0x1000, 0x5000),
            (0, END),
            (END - 0x1000, 0x1000),
        ] {
            let pages = range(start, bytes)?;
            assert_eq!(pages.start().get(), start);
            assert_eq!(pages.bytes(), bytes);
            assert_eq!(pages.end().get(), start + bytes);
            assert_eq!(pages.last().get(), start + bytes - 1);
        }
        Ok(())
    }

    #[test]
    fn nothing_else_is() {
        for (start, bytes) in [
            (0x1000, 0),
            (0x1001, 0x1000),
            (0x1000, 0xfff),
            (0x1000, 0x1001),
            (END, 0x1000),
            (END - 0x1000, 0x2000),
            (0x1000, END),
            (!0xfff, 0x1000),
            (0x1000, !0xfff),
        ] {
            assert_eq!(range(start, bytes).err(), Some(EINVAL));
        }
    }

    #[test]
    fn an_address_is_in_its_page_only() -> Result {
        let page = PageRange::page_of(GpuVa::new(0x12_3456))?;
        assert_eq!(page, range(0x12_3000, 0x1000)?);
        for (va, offset) in [
            (0x12_2fff, None),
            (0x12_3000, Some(0)),
            (0x12_3fff, Some(0xfff)),
            (0x12_4000, None),
        ] {
            assert_eq!(page.offset_of(GpuVa::new(va)), offset);
        }
        assert_eq!(PageRange::page_of(GpuVa::new(END)), Err(EINVAL));
        Ok(())
    }
}
