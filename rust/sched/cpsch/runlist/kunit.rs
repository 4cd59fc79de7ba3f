// SPDX-License-Identifier: GPL-2.0

//! The packets of run lists, bit by bit as in `kfd_pm4_headers_ai.h`.

use super::run_list;
use crate::{
    hw::value::Bounded,
    types::GpuVa, //
};
use kernel::prelude::*;

/// `PACKET3(PACKET3_RUN_LIST, 2)`: type 3, IT_RUN_LIST (0xa5), words beyond the first two.
const HEADER: u32 = 3 << 30 | 0xa5 << 8 | 2 << 16;

#[kunit_tests(rkfd_runlist)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_named_by_its_address_and_words() -> Result {
        let one = Bounded::new::<1>();
        let packet = run_list(GpuVa::new(0x1_2345_6780_1000), 28, one, false)?;
        // ib_size:20, chain, offload_polling, chained_runlist_idle_disable, valid, process_cnt:4.
        let control = 28 | 1 << 23 | 1 << 24;
        assert_eq!(packet.0, [HEADER, 0x6780_1000, 0x1_2345, control]);
        Ok(())
    }

    #[test]
    fn a_list_that_leads_back_is_chained() -> Result {
        let processes = Bounded::new::<13>();
        let packet = run_list(GpuVa::new(0x2000), 0x1234, processes, true)?;
        let control = 0x1234 | 1 << 20 | 1 << 22 | 1 << 23 | 13 << 24;
        assert_eq!(packet.0, [HEADER, 0x2000, 0, control]);
        Ok(())
    }
}
