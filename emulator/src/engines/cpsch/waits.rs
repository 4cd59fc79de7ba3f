// SPDX-License-Identifier: MIT OR Apache-2.0

//! Packets of the kernel's queues that reach registers beyond the command processor's: those of the
//! VM hubs, to flush their TLBs, and the bus's, to flush HDP.
//!
//! Source: Linux, `gfx_v9_4_3_wait_reg_mem`, `gfx_v9_4_3_ring_emit_hdp_flush` and
//! `amdgpu_gmc_fw_reg_write_reg_wait`.

use super::firmware::Firmware;
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::packet::command::compares;
use crate::engines::cp::packet::pm4::{self, Packet, Place};
use rkfd_hw::regs::{gc_9_4_3 as gc, Block, RegInfo};

impl Firmware {
    /// Whether a queue's next packet is a WAIT_REG_MEM that has to wait. The register that it writes
    /// it writes once.
    pub(super) fn waits(&mut self, slot: Slot, words: &[u32]) -> bool {
        let Ok(Packet::Wait(wait)) = pm4::parse(words, true) else {
            return false;
        };
        let (place, rptr) = (slot.place(), self.mec.hqd(slot).map_or(0, |h| h.q.rptr));
        if let Some(register) = wait.first {
            if self.written.insert(place, rptr) != Some(rptr) {
                self.write_register(slot, register, wait.reference);
            }
        }
        let found = match wait.place {
            Place::Memory(at) => self.mec.space_on(slot.xcc(), 0).load_u32(at),
            Place::Register(at) => Ok(self.read_register(slot, at)),
        };
        let waits = match found {
            Ok(value) => !compares(wait.function, value & wait.mask, wait.reference),
            Err(fault) => {
                self.env.vm_fault(&fault);
                self.mec.hqd(slot).into_iter().for_each(|h| h.broken = true);
                true
            }
        };
        if !waits {
            self.written.remove(&place);
        }
        waits
    }

    /// The graphics core's register at an offset as an XCC itself sees it.
    pub(super) fn register_of(&self, at: u32) -> Option<&'static RegInfo> {
        let bases = self.shared.facts.bases(Block::Gc);
        gc::TABLE.regs.iter().find(|info| {
            let base = bases.get(usize::from(info.reg.segment));
            base.is_some_and(|base| base + info.reg.offset == at)
        })
    }

    /// Where BAR 5 has a register that an XCC's packet names: the graphics core's is its own.
    fn byte_of(&self, slot: Slot, at: u32) -> u64 {
        let own = self.register_of(at).and_then(|info| {
            let mut ips = self.shared.facts.ips.iter();
            let id = Block::Gc as u16;
            let ip = ips.find(|ip| (ip.hw_id, ip.instance) == (id, slot.xcc()))?;
            let base = ip.bases.get(usize::from(info.reg.segment))?;
            Some(base + info.reg.offset)
        });
        u64::from(own.unwrap_or(at)) * 4
    }

    fn read_register(&self, slot: Slot, at: u32) -> u32 {
        let device = self.env.registers();
        device.map_or(u32::MAX, |device| device.read(self.byte_of(slot, at)))
    }

    /// Writes a register that is not the command processor's.
    pub(super) fn write_other(&self, slot: Slot, at: u32, value: u32) {
        if let Some(device) = self.env.registers() {
            device.write(self.byte_of(slot, at), value);
        }
    }
}
