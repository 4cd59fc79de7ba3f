// SPDX-License-Identifier: MIT OR Apache-2.0

//! The registers that halt, reset and start the micro engines: MES, PFP and ME, MEC.
//!
//! Sources: Linux, `mes_v12_0_enable`, `gfx_v12_0_cp_gfx_enable`, `gfx_v12_0_cp_compute_enable`.

use super::{is_run, undefined, Order, Regs};
use crate::device::Refused;
use crate::engines::cp::front::generation::GFX12;
use crate::engines::mes::programs::Engine;
use crate::engines::mes::slot::{Bank, Pipe};
use rkfd_hw::regs::gc_12_0_0 as gc;
use rkfd_hw::regs::Value;

impl Regs {
    /// Writes CP_MES_CNTL: the queues of a pipe that doesn't run are gone.
    ///
    /// # Errors
    /// There are no such pipes, or one would begin nowhere.
    pub(super) fn write_mes_cntl(&mut self, value: u32) -> Result<(), Refused> {
        use gc::CP_MES_CNTL as mes;
        let absent = mes::MES_PIPE2_ACTIVE.mask() | mes::MES_PIPE3_ACTIVE.mask();
        if value & (absent | mes::MES_STEP.mask()) != 0 {
            return undefined("MES has two pipes, and does not step");
        }
        self.programs.control(Engine::Mes, self.mes_cntl, value);
        let running = Value::<mes>::new(value);
        for pipe in Pipe::ALL.into_iter().filter(|pipe| is_run(running, *pipe)) {
            self.may_run(Engine::Mes, [pipe as u32])?;
        }
        self.mes_cntl = value;
        for pipe in Pipe::ALL {
            let bank = Bank::Mes(pipe);
            if !self.runs(pipe) && self.is_active(bank) {
                self.orders.push(Order::Drop(bank));
                self.set_active(bank, false);
            }
        }
        Ok(())
    }

    /// That an engine's pipes may run.
    ///
    /// # Errors
    /// One begins nowhere.
    fn may_run(&self, engine: Engine, pipes: impl IntoIterator<Item = u32>) -> Result<(), Refused> {
        let name = engine.name();
        let mut pipes = pipes.into_iter();
        match pipes.find(|&pipe| !self.programs.begins(engine, pipe)) {
            Some(pipe) => undefined(format!("pipe {pipe} of {name} starts at no address")),
            None => Ok(()),
        }
    }

    /// Writes CP_ME_CNTL.
    ///
    /// # Errors
    /// An engine would begin nowhere.
    pub(super) fn write_me_cntl(&mut self, value: u32) -> Result<(), Refused> {
        use gc::CP_ME_CNTL as me;
        let control = Value::<me>::new(value);
        for (engine, halt) in [(Engine::Pfp, me::PFP_HALT), (Engine::Me, me::ME_HALT)] {
            self.programs.control(engine, self.me_cntl, value);
            if !control.is_set(halt) {
                self.may_run(engine, 0..2)?;
            }
        }
        self.me_cntl = value;
        Ok(())
    }

    /// Writes CP_MEC_RS64_CNTL: the queues of a pipe that is put into reset are gone.
    ///
    /// # Errors
    /// A pipe would begin nowhere.
    pub(super) fn write_mec_cntl(&mut self, value: u32) -> Result<(), Refused> {
        use gc::CP_MEC_RS64_CNTL as mec;
        self.programs.control(Engine::Mec, self.mec_cntl, value);
        if Value::<mec>::new(value).get(mec::MEC_HALT) == 0 {
            let active = u32::from(mec::MEC_PIPE0_ACTIVE.bit());
            let pipes = (0..4).filter(|pipe| (value >> (active + pipe)) & 1 == 1);
            self.may_run(Engine::Mec, pipes)?;
        }
        for slot in GFX12.slots.all() {
            let bank = Bank::Compute(slot);
            let bit = u32::from(mec::MEC_PIPE0_RESET.bit()) + slot.pipe();
            if (value >> bit) & 1 == 1 && self.is_active(bank) {
                self.orders.push(Order::Drop(bank));
                self.set_active(bank, false);
            }
        }
        self.mec_cntl = value;
        Ok(())
    }
}
