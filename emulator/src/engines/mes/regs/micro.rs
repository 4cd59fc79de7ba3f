// SPDX-License-Identifier: MIT OR Apache-2.0

//! The registers that halt, reset and start the micro engines: MES, PFP and ME, MEC.
//!
//! Sources: Linux, `mes_v12_0_enable`, `gfx_v12_0_cp_gfx_enable`, `gfx_v12_0_cp_compute_enable`.

use super::{is_run, undefined, Order, Regs};
use crate::device::Refused;
use crate::engines::cp::front::generation::GFX12;
use crate::engines::cp::front::registers::reaches_all;
use crate::engines::cp::front::slot::Slot;
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
        let ran = Pipe::ALL.into_iter().any(|pipe| self.runs(pipe));
        let control = Value::<mes>::new(value);
        let resets = mes::MES_PIPE0_RESET.mask() | mes::MES_PIPE1_RESET.mask();
        let ends = ran && control.is_set(mes::MES_HALT) && value & resets != 0;
        if ends && !control.is_set(mes::MES_INVALIDATE_ICACHE) {
            return undefined("MES is halted for good, with its program in the instruction cache");
        }
        self.programs.control(Engine::Mes, self.mes_cntl, value);
        let running = Value::<mes>::new(value);
        if running.is_set(mes::MES_HALT) && !Value::<mes>::new(self.mes_cntl).is_set(mes::MES_HALT)
        {
            reaches_all(&self.stored)?;
        }
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
        let (old, new) = (Value::<mec>::new(self.mec_cntl), Value::<mec>::new(value));
        let before = old.is_set(mec::MEC_HALT);
        let in_reset = |control: u32, slot: Slot| {
            let bit = u32::from(mec::MEC_PIPE0_RESET.bit()) + slot.pipe();
            (control >> bit) & 1 == 1
        };
        let halts = !before && new.is_set(mec::MEC_HALT);
        if halts
            && GFX12.slots.all().any(|slot| in_reset(value, slot))
            && !new.is_set(mec::MEC_INVALIDATE_ICACHE)
        {
            return undefined("MEC is halted for good, with its program in the instruction cache");
        }
        // A pipe that is reset by itself leaves its HQDs as they are (`mes_v12_0_reset_compute_pipe_mmio`).
        let alone = !before && !new.is_set(mec::MEC_HALT);
        let goes_on = |slot: Slot| in_reset(self.mec_cntl, slot) && !in_reset(value, slot);
        if alone
            && GFX12
                .slots
                .all()
                .any(|slot| goes_on(slot) && self.is_active(Bank::Compute(slot)))
        {
            return undefined("the reset of a pipe ends while one of its HQDs is active");
        }
        self.programs.control(Engine::Mec, self.mec_cntl, value);
        if halts {
            self.mec_settling.begin();
        }
        if !new.is_set(mec::MEC_HALT) {
            let active = u32::from(mec::MEC_PIPE0_ACTIVE.bit());
            let pipes = (0..4).filter(|pipe| (value >> (active + pipe)) & 1 == 1);
            self.may_run(Engine::Mec, pipes)?;
        }
        for slot in GFX12.slots.all() {
            let bank = Bank::Compute(slot);
            if in_reset(value, slot) && self.is_active(bank) {
                self.orders.push(Order::Drop(bank));
                if !alone {
                    self.set_active(bank, false);
                }
            }
        }
        self.mec_cntl = value;
        Ok(())
    }
}
