// SPDX-License-Identifier: MIT OR Apache-2.0

//! MISC: register access, the GART's translations, configuration.
//!
//! Sources: Linux, `include/mes_v12_api_def.h`, `amdgpu/mes_v12_0.c` (`mes_v12_0_misc_op`).

use super::failure::{api, code, memory, not_modelled, Failure};
use super::firmware::Firmware;
use super::slot::Pipe;
use crate::engines::cp::mec::line::Entry;
use crate::memory::Hub;
use rkfd_hw::mes::v12::Misc;

/// MISC's sub-opcodes (`enum MESAPI_MISC_OPCODE`).
mod operation {
    pub const WRITE_REG: u64 = 0;
    pub const INV_GART: u64 = 1;
    pub const READ_REG: u64 = 3;
    pub const WAIT_REG_MEM: u64 = 4;
    pub const SET_SHADER_DEBUGGER: u64 = 5;
    pub const NOTIFY_WORK: u64 = 6;
    pub const CHANGE_CONFIG: u64 = 9;
}

impl Firmware {
    pub(super) fn misc(&mut self, pipe: Pipe, p: &Misc) -> Result<bool, Failure> {
        use Misc as M;
        match p.get(M::OPCODE) {
            operation::WRITE_REG => {
                let at = p.get(M::WRITE_REG_REG_OFFSET);
                self.write_register(at, p.get(M::WRITE_REG_REG_VALUE) as u32)?;
            }
            operation::READ_REG => {
                if p.get(M::READ_REG_OPTION_BITS_READ64BITS) != 0 {
                    return not_modelled("a read of 64 bits");
                }
                let value = self.read_register(p.get(M::READ_REG_REG_OFFSET))?;
                let at = p.get(M::READ_REG_BUFFER_ADDR);
                memory("the buffer", self.space().write_words(at, &[value]))?;
            }
            operation::WAIT_REG_MEM => return self.wait(pipe, p),
            operation::INV_GART => {
                for hub in [Hub::Gfx(0), Hub::Mm(0)] {
                    self.shared.env.memory().hub(hub).invalidate(1);
                }
            }
            // LIMIT_SINGLE_PROCESS: one process at a time.
            operation::CHANGE_CONFIG if p.get(M::CHANGE_CONFIG_OPCODE) == 0 => {
                let single = p.get(M::CHANGE_CONFIG_OPTION_BITS_LIMIT_SINGLE_PROCESS) == 1;
                self.mec.turns.concurrent = if single { 1 } else { usize::MAX };
                self.mec.turns.cleans = single;
            }
            operation::SET_SHADER_DEBUGGER => self.debug(pipe, p)?,
            operation::NOTIFY_WORK => {
                let bell = p.get(M::DOORBELL_OFFSET);
                let chosen = |e: &Entry| u64::from(e.queue.doorbell) == bell;
                self.mec.turns.change(chosen, Entry::wake);
            }
            other => return not_modelled(&format!("sub-opcode {other}")),
        }
        Ok(true)
    }

    /// WAIT_REG_MEM: 0 waits for the first register, 1 writes it and waits for the second.
    fn wait(&mut self, pipe: Pipe, p: &Misc) -> Result<bool, Failure> {
        use Misc as M;
        let first = p.get(M::WAIT_REG_MEM_REG_OFFSET1);
        let (reference, mask) = (
            p.get(M::WAIT_REG_MEM_REFERENCE) as u32,
            p.get(M::WAIT_REG_MEM_MASK) as u32,
        );
        let written = self.control.begun(pipe).written;
        let at = match p.get(M::WAIT_REG_MEM_OP) {
            0 => first,
            1 => {
                if !written {
                    self.write_register(first, reference)?;
                }
                p.get(M::WAIT_REG_MEM_REG_OFFSET2)
            }
            other => return api(code::VALUE, format!("operation {other}")),
        };
        let open = self.read_register(at)? & mask == reference & mask;
        self.control.begun(pipe).written = true;
        Ok(open)
    }

    fn read_register(&self, word: u64) -> Result<u32, Failure> {
        match self.shared.env.registers() {
            Some(device) => Ok(device.read(word * 4)),
            None => api(code::ORDER, "the device ends"),
        }
    }

    fn write_register(&self, word: u64, value: u32) -> Result<(), Failure> {
        match self.shared.env.registers() {
            Some(device) => {
                device.write(word * 4, value);
                Ok(())
            }
            None => api(code::ORDER, "the device ends"),
        }
    }
}
