// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tables of the expansion ROM.

use crate::{compare, AMD};
use rkfd_abi_test::{includes, linux, Probe};
use rkfd_hw::vbios::{self, memory};

#[test]
fn the_roms_tables_are_linux_s() {
    let mut flags = includes(&linux(), &[&format!("{AMD}/include")]);
    // The kernel's own, of a compiler that checks bounds.
    flags.push("-D__counted_by(count)=".into());
    let probe = || Probe::new(&["atomfirmware.h"], &flags);
    compare(probe(), &[vbios::LAYOUTS]);
    let mut probe = probe();
    let kinds = [
        (memory::GDDR5, "GDDR5"),
        (memory::HBM2, "HBM2"),
        (memory::HBM2E, "HBM2E"),
        (memory::GDDR6, "GDDR6"),
        (memory::HBM3, "HBM3"),
        (memory::HBM3E, "HBM3E"),
    ];
    for (_, kind) in kinds {
        probe.value(&format!("ATOM_DGPU_VRAM_TYPE_{kind}"));
    }
    for ((ours, kind), answer) in kinds.iter().zip(probe.run()) {
        assert_eq!(answer.bit, u64::from(*ours), "{kind}");
    }
}
