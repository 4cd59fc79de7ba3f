// SPDX-License-Identifier: MIT OR Apache-2.0

//! What tests of user queues begin with: MES with an interrupt ring and VMIDs, frames of queues.

use crate::process::{Memory, Queue};
use crate::rig::*;
use rkfd_emulator::blocks::ih::Which;
use rkfd_emulator::chip::device::Device;
use rkfd_hw::mes::op;
use rkfd_hw::regs::{osssys_7_0_0::IH_RB_CNTL, Value};
use std::rc::Rc;

pub const IH: u64 = 0x30_0000;
/// HQDs that the rig's resources have: queues 2 and 3 of two pipes.
pub const HQDS: [(u32, u32); 4] = [(0, 2), (0, 3), (1, 2), (1, 3)];

pub fn start() -> (Rig, Rc<Memory>) {
    start_with(&[])
}

pub fn start_with(rules: &[&str]) -> (Rig, Rc<Memory>) {
    set_up(Rig::started(rules))
}

/// The same of a rig that has started.
pub fn set_up(rig: Rig) -> (Rig, Rc<Memory>) {
    let mut ring = rig.guest.device.soc.interrupts.ring(Which::Zero);
    ring.base = (mc(IH) >> 8) as u32;
    ring.base_hi = (mc(IH) >> 40) as u32;
    let cntl = Value::zeroed()
        .having(IH_RB_CNTL::RB_ENABLE.is::<1>())
        .having(IH_RB_CNTL::RB_SIZE.is::<10>())
        .having(IH_RB_CNTL::MC_SPACE.is::<4>())
        .bits();
    ring.cntl = cntl;
    drop(ring);
    // `init_interrupts_v12`: time stamps and bad opcodes.
    for pipe in 0..2 {
        rig.gc("GRBM_GFX_CNTL", (1 << 2) | pipe);
        rig.gc("CPC_INT_CNTL", (1 << 26) | (1 << 24));
    }
    // `gfx_v12_0_init_compute_vmid`, and the ranges of the contexts.
    for vmid in 8..16 {
        rig.gc("GRBM_GFX_CNTL", vmid << 4);
        rig.gc("SH_MEM_BASES", (2 << 16) | 1);
        // SH_MEM_ALIGNMENT_MODE_UNALIGNED, INITIAL_INST_PREFETCH 3.
        rig.gc("SH_MEM_CONFIG", (3 << 2) | (3 << 14));
    }
    rig.gc("GRBM_GFX_CNTL", 0);
    let hub = rkfd_emulator::memory::Hub::Gfx(0);
    let mut hub = rig.guest.device.soc.memory.hub(hub).registers();
    for vmid in 8..16 {
        hub.end[vmid] = [u32::MAX, 0xf];
    }
    drop(hub);
    // `mes_v12_0_enable_unmapped_doorbell_handling`.
    rig.gc("CP_UNMAPPED_DOORBELL", 0xd00 | 1);
    let memory = Memory::new(&rig);
    (rig, memory)
}

impl Rig {
    pub fn add(&mut self, q: &Queue) {
        assert_eq!(self.submit(0, &q.add().0, 38), 1, "{:?}", self.lines());
    }

    pub fn remove(&mut self, q: &Queue, flags: u32) -> u64 {
        let gang = mc(q.gang);
        let fields = [
            (1, q.bell),
            (2, gang as u32),
            (3, (gang >> 32) as u32),
            (4, flags),
            (15, 1),
        ];
        self.submit(0, &frame(op::REMOVE_QUEUE, &fields), 6)
    }

    pub fn is_active(&self, (pipe, queue): (u32, u32)) -> bool {
        self.gc("GRBM_GFX_CNTL", (1 << 2) | pipe | (queue << 8));
        let active = self.read("CP_HQD_ACTIVE") & 1 == 1;
        self.gc("GRBM_GFX_CNTL", 0);
        active
    }

    pub fn lines(&self) -> Vec<String> {
        self.guest.findings()
    }

    pub fn clean(&self) {
        assert_eq!(self.lines(), [""; 0]);
    }
}

/// The interrupt at a place of the ring: client, source, ring id, VMID, PASID, data.
pub fn interrupt(memory: &Memory, n: u64) -> (u8, u8, u8, u8, u16, [u32; 4]) {
    let device: &Device = &memory.device;
    memory.wait("an interrupt", || {
        u64::from(device.soc.interrupts.ring(Which::Zero).wptr) >= (n + 1) * 32
    });
    let w = memory.words(IH + n * 32, 8);
    let byte = |shift: u32| (w[0] >> shift) as u8;
    let data = [w[4], w[5], w[6], w[7]];
    assert_eq!(w[3] >> 16, 0, "node 0");
    let vmid = byte(24) & 0xf;
    (byte(0), byte(8), byte(16), vmid, w[3] as u16, data)
}
