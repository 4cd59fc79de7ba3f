// SPDX-License-Identifier: MIT OR Apache-2.0

//! Firmware of an XCC, and who starts it: a device that starts cold has none.
//!
//! It comes through the security processor, which starts the run list controller, too; or through the
//! ports here: words that go into an engine's memory one by one, and for the compute micro engine an
//! address from which it takes its code. Source: Linux, `amdgpu/gfx_v9_4_3.c`
//! (`gfx_v9_4_3_xcc_rlc_load_microcode`, `gfx_v9_4_3_xcc_cp_compute_load_microcode`).

use super::Shared;
use crate::device::firmware::Firmware;
use crate::device::Refused;
use crate::memory::Hub;
use rkfd_hw::regs::gc_9_4_3 as gc;
use rkfd_hw::regs::RegInfo;

/// What is at an XCC's ports.
#[derive(Clone, Copy, Default)]
pub(super) struct Ports {
    /// The words' next addresses: of the run list controller and of the jump table. After the last word
    /// a driver leaves the version there.
    rlc: u32,
    jump_table: u32,
    /// Where the compute micro engine's code is: CP_CPC_IC_BASE_LO and _HI.
    code: [u32; 2],
}

impl Ports {
    /// Reads a port; `None` for any other register.
    pub fn read(&self, reg: &RegInfo) -> Option<u32> {
        Some(match reg.reg.name {
            "RLC_GPM_UCODE_ADDR" => self.rlc,
            "CP_MEC_ME1_UCODE_ADDR" => self.jump_table,
            "CP_CPC_IC_BASE_LO" => self.code[0],
            "CP_CPC_IC_BASE_HI" => self.code[1],
            "RLC_GPM_UCODE_DATA" | "CP_MEC_ME1_UCODE_DATA" => 0,
            _ => return None,
        })
    }

    fn code(&self) -> u64 {
        u64::from(self.code[0]) | (u64::from(self.code[1]) << 32)
    }
}

impl Shared {
    /// Writes a port of an XCC; `None` for any other register.
    pub(super) fn write_port(
        &self,
        xcc: u8,
        reg: &RegInfo,
        value: u32,
    ) -> Option<Result<(), Refused>> {
        let mut regs = self.regs(xcc);
        let rlc_runs = self.rlc_runs(xcc);
        let mec_runs = !regs.are_all_halted();
        let ports = regs.ports();
        let firmware = self.env.firmware();
        let refused = |what: &str| Some(Err(Refused::Undefined(what.into())));
        match reg.reg.name {
            "RLC_GPM_UCODE_ADDR" => ports.rlc = value,
            "RLC_GPM_UCODE_DATA" if rlc_runs => {
                return refused("the run list controller runs while its firmware is written");
            }
            "RLC_GPM_UCODE_DATA" => {
                ports.rlc = ports.rlc.wrapping_add(1);
                firmware.add(Firmware::Rlc(xcc));
            }
            "CP_MEC_ME1_UCODE_ADDR" => ports.jump_table = value,
            "CP_MEC_ME1_UCODE_DATA" if mec_runs => {
                return refused("the micro engine runs while its jump table is written");
            }
            "CP_MEC_ME1_UCODE_DATA" => {
                ports.jump_table = ports.jump_table.wrapping_add(1);
                firmware.add(Firmware::MecJumpTable(xcc));
            }
            "CP_CPC_IC_BASE_LO" | "CP_CPC_IC_BASE_HI" if mec_runs => {
                return refused("the micro engine runs while its code is exchanged");
            }
            "CP_CPC_IC_BASE_LO" => ports.code[0] = value,
            "CP_CPC_IC_BASE_HI" => ports.code[1] = value,
            _ => return None,
        }
        Some(Ok(()))
    }

    /// Whether the run list controller of an XCC runs.
    pub(super) fn rlc_runs(&self, xcc: u8) -> bool {
        self.env.firmware().has(Firmware::RlcStarted(xcc))
    }

    /// That what a register starts has its firmware.
    ///
    /// # Errors
    /// What starts, and what it lacks.
    pub(super) fn may_start(&self, xcc: u8, reg: &RegInfo, value: u32) -> Result<(), Refused> {
        let firmware = self.env.firmware();
        let lacks = |what: &str| {
            Err(Refused::Undefined(format!(
                "{what} starts without firmware"
            )))
        };
        match reg.reg.name {
            "RLC_CNTL" => {
                if value & gc::RLC_CNTL::RLC_ENABLE_F32.mask() == 0 {
                    firmware.remove(Firmware::RlcStarted(xcc));
                } else if !firmware.has(Firmware::Rlc(xcc)) {
                    return lacks("the run list controller");
                } else {
                    firmware.add(Firmware::RlcStarted(xcc));
                }
            }
            "RLC_SAFE_MODE" if !self.rlc_runs(xcc) => {
                let what = "no run list controller runs that could answer";
                return Err(Refused::Undefined(what.into()));
            }
            "CP_MEC_CNTL" if value & gc::CP_MEC_CNTL::MEC_ME1_HALT.mask() == 0 => {
                if !firmware.has(Firmware::Mec(xcc)) && self.has_code(xcc) {
                    firmware.add(Firmware::Mec(xcc));
                }
                let needed = [Firmware::Mec(xcc), Firmware::MecJumpTable(xcc)];
                if !needed.into_iter().all(|needed| firmware.has(needed)) {
                    return lacks("the micro engine");
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether there is code at the address of the compute micro engine's port.
    fn has_code(&self, xcc: u8) -> bool {
        let at = self.regs(xcc).ports().code();
        let space = self.env.memory().space(Hub::Gfx(xcc), 0);
        at != 0 && space.load_u32(at).is_ok_and(|word| word != 0)
    }
}
