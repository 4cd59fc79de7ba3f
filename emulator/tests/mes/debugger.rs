// SPDX-License-Identifier: MIT OR Apache-2.0

//! SET_SHADER_DEBUGGER, as `amdgpu_mes_set_shader_debugger` and `amdgpu_mes_flush_shader_debugger`
//! send it.

use crate::process::{Process, Queue};
use crate::queues::start;
use crate::rig::*;
use crate::waves::{found, halted, pc, read, EXCP_FLAG_PRIV};
use rkfd_hw::aql::KernelDispatch;
use rkfd_hw::mes::op;
use rkfd_hw::mes::v12::AddQueue;

/// The same, EXCP_EN: watched addresses.
const ADDR_WATCH: u32 = 1 << (4 + 7);

fn debugger(context: u64, flags: u32, control: u32, trap_en: u32) -> [u32; 64] {
    let at = mc(context);
    let context = [(6, at as u32), (7, (at >> 32) as u32)];
    let rest = [(1, 5), (8, flags), (9, control), (14, trap_en)];
    frame(op::MISC, &[&context[..], &rest].concat())
}

impl Rig {
    fn control_of(&self, vmid: u32) -> u32 {
        self.gc("GRBM_GFX_CNTL", vmid << 4);
        let control = self.read("SPI_GDBG_PER_VMID_CNTL");
        self.gc("GRBM_GFX_CNTL", 0);
        control
    }
}

#[test]
fn a_process_is_flushed_after_its_last_queue() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    // process_ctx_flush.
    let at = mc(p.context);
    let fields = [(1, 5), (6, at as u32), (7, (at >> 32) as u32), (8, 1 << 31)];
    let flush = frame(op::MISC, &fields);
    assert_eq!(rig.submit(0, &flush, 2), error(3, op::MISC, 5, 1));
    rig.guest.expect_violation("the process has queues");
    assert_eq!(rig.remove(&q, 0), 1);
    assert_eq!(rig.submit(0, &flush, 2), 1);
}

#[test]
fn a_runtime_s_process_keeps_what_was_set_for_it() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    memory.set_u64(p.context + 0x800, 1);
    assert_eq!(rig.submit(0, &debugger(p.context, 0, TRAP_EN, 0), 2), 1);
    assert_eq!(
        memory.u64(p.context + 0x800),
        0,
        "the first frame clears it"
    );
    memory.set_u64(p.context + 0x800, 1);
    let keeps = q.add().with(AddQueue::SKIP_PROCESS_CTX_CLEAR, true);
    assert_eq!(rig.submit(0, &keeps.0, 38), 1);
    assert_eq!(memory.u64(p.context + 0x800), 1, "ADD_QUEUE does not");
    // trap_en is off, so TRAP_EN is; the first VMID is 8. It may change while queues run.
    assert_eq!(rig.control_of(8), 0);
    assert_eq!(rig.submit(0, &debugger(p.context, 0, TRAP_EN, 1), 2), 1);
    assert_eq!(rig.control_of(8), TRAP_EN);
    assert_eq!(rig.remove(&q, 0), 1);
    assert_eq!(rig.submit(0, &debugger(p.context, 1 << 31, 0, 0), 2), 1);
    rig.clean();
    // Flushed, it would be set up by nobody.
    let status = rig.submit(0, &keeps.0, 38);
    assert_eq!(status, error(3, op::ADD_QUEUE, 0, 1));
    rig.guest
        .expect_violation("nothing has cleared the process context");
}

#[test]
fn waves_meet_what_a_debugger_watches() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    // s_sethalt 1, s_rfe_b64 ttmp[0:1]: the program's handler.
    p.set_handler(p.new_words(&[0xbf82_0001, 0xbe80_4a6c]), 0);
    rig.add(&q);
    let (packet, sums, wanted) = p.vadd(256, 1, 0);
    rig.gc("TCP_WATCH2_ADDR_H", (sums >> 32) as u32 & 0xffff);
    rig.gc("TCP_WATCH2_ADDR_L", sums as u32);
    let mut frame = debugger(p.context, 0, TRAP_EN | ADDR_WATCH, 1);
    // Watch 2: VALID, what doesn't read, and all bits compared.
    frame[12] = (1 << 31) | (1 << 29) | 0x7f_ffff;
    assert_eq!(rig.submit(0, &frame, 2), 1);
    q.push(packet.0);
    // 32 lanes of 4 bytes: the first wave alone stores in the 128 bytes.
    memory.wait("a halted wave", || {
        halted(&rig).len() == 1 && found(&rig).len() == 1
    });
    let place = halted(&rig)[0];
    assert_eq!(read(&rig, place, EXCP_FLAG_PRIV), 1 << 2);
    assert_eq!(p.words(sums, 256), wanted, "every store was executed");

    // LAUNCH_MODE: halted.
    let frame = debugger(p.context, 0, TRAP_EN | (1 << 1), 1);
    assert_eq!(rig.submit(0, &frame, 2), 1);
    let (packet, sums, _) = p.vadd(256, 2, 0);
    let kernel = packet.get(KernelDispatch::KERNEL_OBJECT);
    let entry = kernel + u64::from(p.words(kernel + 16, 1)[0]);
    q.push(packet.0);
    memory.wait("eight more", || halted(&rig).len() == 9);
    let new = found(&rig).into_iter().filter(|new| *new != place);
    assert!(new.map(|place| pc(&rig, place)).all(|pc| pc == entry));
    assert_eq!(p.words(sums, 256), [0; 256], "none has stored");
    assert_eq!(rig.remove(&q, 0), 1);
    assert_eq!(rig.submit(0, &debugger(p.context, 1 << 31, 0, 0), 2), 1);
    rig.clean();
}

#[test]
fn a_debugger_s_other_wishes_are_refused() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    for (frame, status, what) in [
        (
            debugger(p.context, 1, TRAP_EN, 1),
            error(5, op::MISC, 5, 2),
            "a flag of a debugger",
        ),
        (
            debugger(p.context, 0, 1 << 16, 1),
            error(2, op::MISC, 5, 1),
            "bits that SPI_GDBG_PER_VMID_CNTL lacks",
        ),
    ] {
        assert_eq!(rig.submit(0, &frame, 2), status);
        rig.guest.expect_violation(what);
    }
    let status = rig.submit(1, &debugger(p.context, 0, TRAP_EN, 1), 2);
    assert_eq!(status, error(2, op::MISC, 5, 1));
    rig.guest.expect_violation("for pipe 0");
}
