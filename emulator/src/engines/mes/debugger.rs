// SPDX-License-Identifier: MIT OR Apache-2.0

//! MISC with SET_SHADER_DEBUGGER: what a process' waves do for a debugger or a runtime, kept in the
//! process' context.
//!
//! It names the process by its context and may come before the process' first queue; then it is what
//! clears the context, and ADD_QUEUE has to leave it (`skip_process_ctx_clear`). With flag 31
//! (`process_ctx_flush`) the process ends, and its context is the driver's again.
//!
//! Sources: Linux, `amdgpu/amdgpu_mes.c` (`amdgpu_mes_set_shader_debugger`,
//! `amdgpu_mes_flush_shader_debugger`), `amdkfd/kfd_chardev.c` (`runtime_enable`).

use super::failure::{api, code, memory, not_modelled, Failure};
use super::firmware::Firmware;
use super::members::Debugger;
use super::queues::CONTEXT_SIZE;
use super::slot::Pipe;
use crate::engines::cp::mec::process::Bank;
use rkfd_hw::mes::v12::Misc;
use rkfd_hw::regs::gc_12_0_0::SPI_GDBG_PER_VMID_CNTL as Control;
use rkfd_hw::regs::Value;

/// `process_ctx_flush`.
const FLUSH: u32 = 1 << 31;

impl Firmware {
    pub(super) fn debug(&mut self, pipe: Pipe, p: &Misc) -> Result<(), Failure> {
        use Misc as M;
        if pipe != Pipe::Scheduler {
            return api(code::VALUE, "a debugger is for pipe 0");
        }
        let context = p.get(M::SET_SHADER_DEBUGGER_PROCESS_CONTEXT_ADDR);
        let word = |field: rkfd_hw::layout::Field<Misc, 1>| p.0.get(field.word()).copied();
        match word(M::SET_SHADER_DEBUGGER_FLAGS_SINGLE_MEMOP) {
            Some(FLUSH) => return self.flush_process(context),
            Some(0) => {}
            _ => return not_modelled("a flag of a debugger"),
        }
        let watch = [
            M::SET_SHADER_DEBUGGER_TCP_WATCH_CNTL_0,
            M::SET_SHADER_DEBUGGER_TCP_WATCH_CNTL_1,
            M::SET_SHADER_DEBUGGER_TCP_WATCH_CNTL_2,
            M::SET_SHADER_DEBUGGER_TCP_WATCH_CNTL_3,
        ]
        .map(|field| p.get(field) as u32);
        let trap = p.get(M::SET_SHADER_DEBUGGER_TRAP_EN) as u32;
        let asked = p.get(M::SET_SHADER_DEBUGGER_SPI_GDBG_PER_VMID_CNTL) as u32;
        if trap > 1 || asked >> 16 != 0 {
            return api(code::VALUE, "bits that SPI_GDBG_PER_VMID_CNTL lacks");
        }
        self.check_context("process_context_addr", context)?;
        let asked = Value::<Control>::new(asked);
        let trap = asked.is_set(Control::TRAP_EN) && trap == 1;
        let control = asked.with(Control::TRAP_EN, trap).bits();
        let known = self.members.processes.iter().find(|k| k.context == context);
        if let Some(pasid) = known.map(|k| k.pasid) {
            let chosen = |e: &crate::engines::cp::mec::line::Entry| e.pasid() == pasid;
            let turns = &mut self.mec.turns;
            turns.change(chosen, |e| e.process.bank = Bank::Debug(control, watch));
            self.mec.set_debug(pasid, control, watch);
        } else if !self.members.debuggers.iter().any(|d| d.context == context) {
            let zero = [0; CONTEXT_SIZE as usize / 4];
            memory(
                "process_context_addr",
                self.space().write_words(context, &zero),
            )?;
        }
        let debuggers = &mut self.members.debuggers;
        debuggers.retain(|d| d.context != context);
        debuggers.push(Debugger {
            context,
            control,
            watch,
        });
        Ok(())
    }

    /// The firmware keeps what it knows of a process in memory that a driver has given it, until its last queue is removed
    /// and it is flushed: then the driver frees it (`amdgpu_mes_flush_shader_debugger`).
    pub(super) fn check_kept(&mut self) {
        let processes = self.members.processes.iter().map(|p| p.context);
        let kept = processes.chain(self.members.debuggers.iter().map(|d| d.context));
        let lost: Vec<u64> = kept
            .filter(|at| self.space().load_u64(*at).is_err())
            .collect();
        for at in lost {
            self.shared.env.report().violation(format_args!(
                "MES: the memory at {at:#x} is gone, where it still keeps a process"
            ));
            self.members.debuggers.retain(|d| d.context != at);
        }
    }

    /// The process was forgotten with its last queue here.
    fn flush_process(&mut self, context: u64) -> Result<(), Failure> {
        let mut processes = self.members.processes.iter();
        if processes.any(|process| process.context == context) {
            return api(code::ORDER, "the process has queues");
        }
        self.members.debuggers.retain(|d| d.context != context);
        Ok(())
    }
}
