// SPDX-License-Identifier: GPL-2.0

//! GC 12.0, of gfx1201 (`gfx_v12_0.c`, `amdgpu_amdkfd_gfx_v12.c`).

use super::{
    registers,
    Files,
    Registers,
    Simd,
    Wave, //
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
                GRBM_CNTL as Bus,
                GRBM_GFX_INDEX as Index,
                GRBM_SOFT_RESET as Reset,
                RLC_RLCS_BOOTLOAD_STATUS as Boot,
                SQ_IND_INDEX as Indirect, //
            },
            sq_12_0_0::{
                self as sq,
                SQ_WAVE_HW_ID2 as Id,
                SQ_WAVE_PC_HI as PcHigh,
                SQ_WAVE_STATE_PRIV as State,
                SQ_WAVE_STATUS as Status, //
            },
            Reg,
            Register,
            Value, //
        },
        value::Bounded, //
    },
    regs::{
        Regs,
        Tables, //
    },
    types::HqdSlot, //
};
use kernel::{
    device::Device,
    prelude::*,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

mod clocks;
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

    fn see_array(&self, regs: &Regs, xcc: u8, engine: Bounded<4>, array: Bounded<2>) {
        let one = Value::zeroed()
            .with(Index::INSTANCE_BROADCAST_WRITES, true)
            .with(Index::SE_INDEX, engine)
            .with(Index::SA_INDEX, array);
        regs.write_at(xcc, gc::GRBM_GFX_INDEX, one);
    }

    fn active_cus(&self, regs: &Regs, xcc: u8, engine: Bounded<4>, array: Bounded<2>) -> u32 {
        self.see_array(regs, xcc, engine, array);
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

    /// `gfx_v12_0_select_se_sh`. The instance is the WGP's number times 4, and the SIMD's in the WGP, of
    /// which there are two in each of its compute units.
    fn see_simd(&self, regs: &Regs, simd: &Simd) {
        let instance = simd.cu.get() << 1 | simd.number.get() & 1;
        let one = Value::zeroed()
            .with(Index::SE_INDEX, simd.engine)
            .with(Index::SA_INDEX, simd.array)
            .with(Index::INSTANCE_INDEX, Bounded::low_bits_of(instance));
        regs.write_at(simd.xcc, gc::GRBM_GFX_INDEX, one);
    }

    fn wave(&self, regs: &Regs, simd: &Simd, slot: Bounded<4>) -> Option<Wave> {
        let status = read_wave(regs, slot, sq::SQ_WAVE_STATUS);
        if !status.is_set(Status::VALID) || status.bits() == u32::MAX {
            return None;
        }
        let low = read_wave(regs, slot, sq::SQ_WAVE_PC_LO).bits();
        let high = read_wave(regs, slot, sq::SQ_WAVE_PC_HI).get(PcHigh::PC_HI);
        let id = read_wave(regs, slot, sq::SQ_WAVE_HW_ID2);
        let state = read_wave(regs, slot, sq::SQ_WAVE_STATE_PRIV);
        let held = state.is_set(State::HALT) && !status.is_set(Status::PRIV);
        Some(Wave {
            simd: *simd,
            slot,
            status: status.bits(),
            pc: u64::from(high) << 32 | u64::from(low),
            halted: held || status.is_set(Status::FATAL_HALT),
            hqd: HqdSlot::of(
                Bounded::low_bits_of(id.get(Id::ME_ID).into()),
                Bounded::low_bits_of(id.get(Id::PIPE_ID).into()),
                Bounded::low_bits_of(id.get(Id::QUEUE_ID).into()),
            ),
            vmid: id.get(Id::VM_ID),
        })
    }

    /// How long a register's read may take (`gfx_v12_0_constants_init`).
    fn set_golden(&self, regs: &Regs) {
        regs.update(gc::GRBM_CNTL, |old| {
            old.having(Bus::READ_TIMEOUT.is::<0xff>())
        });
    }

    fn gate_clocks(&self, regs: &Regs, on: bool) -> Result {
        clocks::gate(regs, on)
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

/// `wave_read_ind`.
fn read_wave<R: Register>(regs: &Regs, slot: Bounded<4>, reg: Reg<R>) -> Value<R> {
    let chosen = Value::zeroed()
        .with(Indirect::WAVE_ID, slot.widened())
        // CAST: Indices have 16 bits.
        .with(Indirect::INDEX, reg.any().offset as u16);
    regs.write(gc::SQ_IND_INDEX, chosen);
    Value::new(regs.read(gc::SQ_IND_DATA).bits())
}
