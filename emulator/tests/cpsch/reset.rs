// SPDX-License-Identifier: MIT OR Apache-2.0

//! GRBM_SOFT_RESET, as `gfx_v9_4_3_soft_reset` uses it.

use crate::preemption::{begun, spin};
use crate::queues::{run, Process, Queue};
use crate::rig::{Rig, HIQ, KIQ};
use rkfd_hw::regs::gc_9_4_3 as gc;

/// Both micro engines ("Disable MEC parsing/prefetching").
const HALTED: u32 = gc::CP_MEC_CNTL::MEC_ME1_HALT.mask() | gc::CP_MEC_CNTL::MEC_ME2_HALT.mask();

/// `udelay(50)` of `gfx_v9_4_3_soft_reset`.
fn settle() {
    std::thread::sleep(std::time::Duration::from_micros(50));
}

#[test]
fn a_soft_reset_ends_every_queue_with_its_waves() {
    use gc::GRBM_SOFT_RESET as reset;
    let both = reset::SOFT_RESET_CP.mask() | reset::SOFT_RESET_GFX.mask();
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let endless = p.signal(0);
    let (packet, flag) = spin(&p, endless);
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.0);
    begun(&p, flag);
    assert!(rig.is_active(KIQ) && rig.is_active(HIQ));
    assert_ne!(rig.read(gc::CP_PQ_STATUS), 0);
    let schedulers = rig.read(gc::RLC_CP_SCHEDULERS);

    rig.write(gc::GRBM_SOFT_RESET, both);
    rig.violated("the command processor is reset while its micro engines run");
    rig.write(gc::CP_MEC_CNTL, HALTED);
    rig.write(gc::GRBM_SOFT_RESET, both);
    settle();
    assert_eq!(rig.read(gc::GRBM_SOFT_RESET), both);
    assert!(!rig.is_active(KIQ) && !rig.is_active(HIQ));
    assert_eq!(rig.read(gc::CP_PQ_STATUS), 0);
    // Golden once more, before there are queues.
    assert_eq!(rig.read(gc::TCP_UTCL1_CNTL2), 0);
    // RLC's, which isn't reset.
    assert_eq!(rig.read(gc::RLC_CP_SCHEDULERS), schedulers);
    rig.write(gc::GRBM_SOFT_RESET, 0);
    // Nothing runs now, whatever the flag is.
    rig.put_words(p.at(flag), &[1]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(p.value(endless), 1);
    assert_eq!(rig.report.violations(), 1);
}

#[test]
fn no_queue_is_set_up_while_the_command_processor_is_held() {
    use gc::GRBM_SOFT_RESET as reset;
    let both = reset::SOFT_RESET_CP.mask() | reset::SOFT_RESET_GFX.mask();
    let rig = Rig::bare(&[]);
    rig.write(gc::CP_MEC_CNTL, HALTED);
    rig.write(gc::GRBM_SOFT_RESET, both);
    rig.select(KIQ);
    rig.write(gc::CP_HQD_PQ_BASE, 77);
    rig.violated("the command processor is held in reset");
    settle();
    rig.write(gc::GRBM_SOFT_RESET, 0);
    rig.write(gc::CP_HQD_PQ_BASE, 77);
    assert_eq!(rig.read(gc::CP_HQD_PQ_BASE), 77);
}
