// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel's queue of an engine needs before it takes packets.

use crate::fence;
use crate::kernel::{Kernel, B, ENGINE};
use crate::rig::{Rig, CHIPS, MC};
use rkfd_hw::regs::Block;

/// RB_PRIV (`sdma_v7_0_gfx_resume_instance`), and that addresses are translated (`sdma_v4_4_2_inst_start`).
#[test]
fn it_needs_its_privilege_or_its_translations() {
    Kernel::each(|mut kernel| {
        if kernel.rig.is_gfx9() {
            kernel.rig.control(ENGINE, 1);
            kernel.write(&[0; 8]);
            kernel.ring();
            let what = "an engine takes packets while UTC_L1_ENABLE of SDMA_CNTL is 0";
            kernel.rig.wait(|| !kernel.rig.guest.findings().is_empty());
            kernel.rig.guest.expect_violation(what);
        } else {
            kernel.stop();
            let control = kernel.prepare() & !(1 << 23);
            kernel.set("RB_CNTL", control | 1);
            let what = "RB_CNTL of the kernel's queue lacks bits 0x800000";
            kernel.rig.guest.expect_violation(what);
        }
    });
}

#[test]
fn it_needs_golden_registers() {
    for chip in CHIPS {
        let mut kernel = Kernel::new(Rig::new(chip));
        kernel.stop();
        let cases: &[(&str, u32)] = match kernel.rig.is_gfx9() {
            true => &[
                ("SDMA_GB_ADDR_CONFIG", 4 << 12),
                ("SDMA_GB_ADDR_CONFIG_READ", 4 << 12),
                ("SDMA_UTCL1_TIMEOUT", 0x0080_0080),
            ],
            false => &[("SDMA1_UTCL1_CNTL", (3 << 9) | 9)],
        };
        for (n, &(name, value)) in cases.iter().enumerate() {
            let rig = &kernel.rig;
            let at = match rig.is_gfx9() {
                true => rig.of_engine(ENGINE, name),
                false => rig.guest.find(Block::Gc, name),
            };
            let at = at.expect("the chip has the register");
            rig.guest.device.write(at, 0);
            let control = kernel.prepare();
            kernel.set("RB_CNTL", control | 1);
            let all = kernel.rig.guest.findings();
            assert!(
                all.len() == n + 1 && all[n].contains("of the engine has 0x0 in bits"),
                "{all:?}"
            );
            assert_eq!(kernel.reg("RB_CNTL") & 1, 0);
            kernel.rig.guest.device.write(at, value);
        }
        kernel.start();
        kernel.run(&fence(MC + B, 6));
        assert_eq!(kernel.word(B), 6);
    }
}
