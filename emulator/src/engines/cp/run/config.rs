// SPDX-License-Identifier: MIT OR Apache-2.0

//! Registers that packets of processes reach: GRBM_GFX_INDEX and those of performance counters, and those by which a
//! queue flushes HDP (Linux, `gfx_v9_4_3_ring_emit_hdp_flush`). Others are not modelled for them.

use crate::device::{Refused, Registers};
use crate::engines::cp::front::counters::is_counters;
use crate::engines::cp::mec::{Hqd, Mec};
use crate::engines::cp::packet::error::{code, PacketError};
use rkfd_hw::regs::{nbio_7_9_0 as nbio, AnyReg, Block, RegInfo};
use std::sync::Arc;

/// The registers of the bus by which a queue flushes HDP, which are at the same places on all these chips: it writes one,
/// and waits for the other.
const REQUEST: AnyReg = nbio::BIF_BX_PF0_GPU_HDP_FLUSH_REQ.any();
const DONE: AnyReg = nbio::BIF_BX_PF0_GPU_HDP_FLUSH_DONE.any();

/// RLC_PERFMON_CLK_CNTL, by its address in words (Linux, `gc_9_0_offset.h`; the headers of these chips have no name for
/// it): whether counters have a clock while others are gated. The model's always have.
const CLOCK: u32 = 0xdcbf;

impl Mec {
    /// The XCCs that execute a queue's next packet.
    pub(crate) fn executing(&self, h: &Hqd) -> Vec<u8> {
        if !h.q.aql {
            return vec![h.slot.xcc()];
        }
        let only = h.buffer.and_then(|buffer| buffer.only);
        let spread = self.generation.mqd.spread.as_ref();
        let all = h.loads.iter().filter(|load| {
            let number = spread.map_or(0, |spread| (spread.logical)(&load.image));
            only.is_none_or(|only| u32::from(only.xccs).checked_shr(number).unwrap_or(0) & 1 == 1)
        });
        all.map(|load| load.xcc).collect()
    }

    /// The register at an address in words, as an XCC's own packets have it.
    fn register_at(&self, at: u32) -> Option<&'static RegInfo> {
        let bases = self.facts.bases(Block::Gc);
        self.generation.registers.regs.iter().find(|info| {
            let base = bases.get(usize::from(info.reg.segment));
            base.is_some_and(|base| base + info.reg.offset == at)
        })
    }

    /// Reads a register of an XCC for a process.
    pub(crate) fn config_register(&self, xcc: u8, at: u32) -> Result<u32, PacketError> {
        let index = self.regs.counters().packets_index(xcc);
        let found = self.register_at(at);
        let value = found.and_then(|reg| self.regs.counters().read(xcc, reg, index));
        match (value, found) {
            (Some(value), _) => Ok(value),
            (None, Some(reg)) if reg.reg.name == "GRBM_GFX_INDEX" => Ok(index),
            _ => refused(at),
        }
    }

    /// Writes a register for a process, on the XCCs that execute its packet.
    pub(crate) fn set_config_register(
        &self,
        h: &Hqd,
        at: u32,
        value: u32,
    ) -> Result<(), PacketError> {
        let reg = match self.register_at(at) {
            Some(reg) if reg.reg.name == "GRBM_GFX_INDEX" || is_counters(reg) => reg,
            None if at == CLOCK => return Ok(()),
            _ => return refused(at),
        };
        for xcc in self.executing(h) {
            let counters = self.regs.counters();
            match counters.write(xcc, reg, value, counters.packets_index(xcc)) {
                None => counters.set_packets_index(xcc, value),
                Some(Ok(())) => {}
                Some(Err(Refused::Undefined(what))) => {
                    // The counter stays 0, and the program goes on.
                    self.env.report().fault(format_args!("PM4: {what}"));
                }
                Some(Err(_)) => return refused(at),
            }
        }
        Ok(())
    }

    /// The bus' registers, if it is this one that is at an address in words.
    fn bus(&self, reg: AnyReg, at: u32) -> Result<Arc<dyn Registers>, PacketError> {
        let base = self.facts.bases(Block::Nbio).get(usize::from(reg.segment));
        let is = base.is_some_and(|base| base + reg.offset == at);
        match self.env.registers().filter(|_| is) {
            Some(device) => Ok(device),
            None => refused(at),
        }
    }

    /// Reads a register of the bus for a process: whether its flush is done.
    pub(crate) fn read_bus(&self, at: u32) -> Result<u32, PacketError> {
        Ok(self.bus(DONE, at)?.read(u64::from(at) * 4))
    }

    /// Writes a register of the bus for a process: asks for a flush.
    pub(crate) fn write_bus(&self, at: u32, value: u32) -> Result<(), PacketError> {
        self.bus(REQUEST, at)?.write(u64::from(at) * 4, value);
        Ok(())
    }
}

fn refused<T>(at: u32) -> Result<T, PacketError> {
    let what = format!("PM4: register {at:#x} is not modelled for a process");
    Err(PacketError::bad(code::REGISTER, what))
}
