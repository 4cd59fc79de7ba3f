// SPDX-License-Identifier: GPL-2.0

//! GC 12.0, of gfx1201 (`gfx_v12_0.c`, `amdgpu_amdkfd_gfx_v12.c`).

use super::{
    registers,
    Files,
    Registers, //
};
use crate::{
    firmware::Starts,
    hw::{
        regs::{
            gc_12_0_0::{
                self as gc,
                CC_GC_SHADER_ARRAY_CONFIG as Config,
                CP_MEC_RS64_CNTL as Mec,
                GC_USER_SHADER_ARRAY_CONFIG as UserConfig,
                GRBM_GFX_INDEX as Index,
                GRBM_SOFT_RESET as Reset,
                RLC_RLCS_BOOTLOAD_STATUS as Boot, //
            },
            Value, //
        },
        value::Bounded, //
    },
    regs::{
        Regs,
        Tables, //
    }, //
};
use kernel::{
    device::Device,
    prelude::*,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

mod start;

static REGISTERS: Registers = registers!(gc);
/// TIMEOUT: until a halt or a reset has taken effect, as for the graphics cores before.
const SETTLE: Delta = Delta::from_micros(50);

/// The graphics core.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&gc::TABLE]
    }

    /// RLC loads the firmware of all engines by itself; the scheduler lets them run.
    fn check_firmware(&self, dev: &Device, regs: &Regs) -> Result {
        let boot = regs.read(gc::RLC_RLCS_BOOTLOAD_STATUS);
        if !boot.is_set(Boot::BOOTLOAD_COMPLETE) {
            dev_err!(
                dev,
                "the GPU is cold: its firmware isn't loaded (RLC_RLCS_BOOTLOAD_STATUS is {:#x}); load it with another driver first\n",
                boot.bits()
            );
            return Err(ENODEV);
        }
        Ok(())
    }

    /// `gfx_v12_0_init_microcode`, `imu_v12_0_init_microcode`, `amdgpu_mes_init_microcode`.
    fn files(&self) -> Option<Files> {
        Some(Files::Autoload {
            pfp: c"amdgpu/gc_12_0_1_pfp.bin",
            me: c"amdgpu/gc_12_0_1_me.bin",
            mec: c"amdgpu/gc_12_0_1_mec.bin",
            mes: c"amdgpu/gc_12_0_1_uni_mes.bin",
            imu: c"amdgpu/gc_12_0_1_imu.bin",
            rlc: c"amdgpu/gc_12_0_1_rlc.bin",
        })
    }

    fn start_firmware(&self, dev: &Device, regs: &Regs, starts: Option<&Starts>) -> Result {
        start::wait_for_autoload(dev, regs)?;
        if let Some(starts) = starts {
            start::begin_mec(regs, starts.mec);
        }
        start::save_and_restore(regs);
        Ok(())
    }

    fn registers(&self) -> &'static Registers {
        &REGISTERS
    }

    fn active_cus(&self, regs: &Regs, xcc: u8, engine: Bounded<4>, array: Bounded<2>) -> u32 {
        let one = Value::zeroed()
            .with(Index::INSTANCE_BROADCAST_WRITES, true)
            .with(Index::SE_INDEX, engine)
            .with(Index::SA_INDEX, array);
        regs.write_at(xcc, gc::GRBM_GFX_INDEX, one);
        let fused = regs.read_at(xcc, gc::CC_GC_SHADER_ARRAY_CONFIG);
        let user = regs.read_at(xcc, gc::GC_USER_SHADER_ARRAY_CONFIG);
        let inactive = fused.get(Config::INACTIVE_WGPS) | user.get(UserConfig::INACTIVE_WGPS);
        // A WGP is two compute units.
        (0..16).fold(0, |cus, wgp| {
            cus | if inactive >> wgp & 1 == 0 {
                3 << (wgp << 1)
            } else {
                0
            }
        })
    }

    fn see_all_arrays(&self, regs: &Regs, xcc: u8) {
        let all = Value::zeroed()
            .with(Index::SE_BROADCAST_WRITES, true)
            .with(Index::SA_BROADCAST_WRITES, true)
            .with(Index::INSTANCE_BROADCAST_WRITES, true);
        regs.write_at(xcc, gc::GRBM_GFX_INDEX, all);
    }

    /// As `gfx_v11_0_soft_reset`; for this generation Linux has none, and resets the whole device. MES is
    /// halted by the scheduler, which also starts it again.
    fn soft_reset(&self, regs: &Regs) {
        regs.update(gc::CP_MEC_RS64_CNTL, |old| {
            old.with(Mec::MEC_HALT, true)
                .with(Mec::MEC_PIPE0_ACTIVE, false)
                .with(Mec::MEC_PIPE1_ACTIVE, false)
        });
        fsleep(SETTLE);
        for on in [true, false] {
            regs.update(gc::GRBM_SOFT_RESET, |old| {
                old.with(Reset::SOFT_RESET_CP, on)
                    .with(Reset::SOFT_RESET_GFX, on)
                    .with(Reset::SOFT_RESET_CPF, on)
                    .with(Reset::SOFT_RESET_CPC, on)
                    .with(Reset::SOFT_RESET_CPG, on)
            });
            // Waits until the store has arrived.
            regs.read(gc::GRBM_SOFT_RESET);
            fsleep(SETTLE);
        }
    }
}
