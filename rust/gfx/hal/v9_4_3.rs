// SPDX-License-Identifier: GPL-2.0

//! GC 9.4.3, of gfx942 (`gfx_v9_4_3.c`, `amdgpu_amdkfd_gfx_v9.c`).

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
            gc_9_4_3::{
                self as gc,
                CC_GC_SHADER_ARRAY_CONFIG as Config,
                CP_CPC_DEBUG as Dispatch,
                CP_HYP_XCP_CTL as Partition,
                CP_MEC_CNTL as Mec,
                GC_USER_SHADER_ARRAY_CONFIG as UserConfig,
                GRBM_GFX_INDEX as Index,
                GRBM_SOFT_RESET as Reset,
                SQ_CONFIG1 as Shaders,
                SQ_IND_INDEX as Indirect,
                TCP_UTCL1_CNTL2 as Tlb, //
            },
            sq_9_4_3::{
                self as sq,
                SQ_WAVE_HW_ID as Id,
                SQ_WAVE_PC_HI as PcHigh,
                SQ_WAVE_STATUS as Status, //
            },
            Block,
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
/// `GOLDEN_GB_ADDR_CONFIG`.
const GOLDEN_ADDRESSES: u32 = 0x2a11_4042;
/// From this version on the compute micro engine's firmware chains XNACK (`gfx_v9_4_3_constants_init`).
const CHAINS_XNACK: u32 = 184;
/// TIMEOUT: until a halt or a reset has taken effect (`gfx_v9_4_3_soft_reset`).
const SETTLE: Delta = Delta::from_micros(50);

/// CP_MEC_CNTL with all compute pipes halted and in reset (`gfx_v9_4_3_xcc_cp_compute_enable`).
const HALTED: Value<Mec> = Value::zeroed()
    .having(Mec::MEC_INVALIDATE_ICACHE.is::<1>())
    .having(Mec::MEC_ME1_PIPE0_RESET.is::<1>())
    .having(Mec::MEC_ME1_PIPE1_RESET.is::<1>())
    .having(Mec::MEC_ME1_PIPE2_RESET.is::<1>())
    .having(Mec::MEC_ME1_PIPE3_RESET.is::<1>())
    .having(Mec::MEC_ME2_PIPE0_RESET.is::<1>())
    .having(Mec::MEC_ME2_PIPE1_RESET.is::<1>())
    .having(Mec::MEC_ME1_HALT.is::<1>())
    .having(Mec::MEC_ME2_HALT.is::<1>());

/// The graphics core.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&gc::TABLE]
    }

    fn is_halted(&self, regs: &Regs) -> bool {
        let mut xccs = regs.instances(Block::Gc);
        xccs.any(|xcc| regs.read_at(xcc, gc::CP_MEC_CNTL).is_set(Mec::MEC_ME1_HALT))
    }

    fn check_mode(&self, dev: &Device, regs: &Regs) -> Result {
        check_partition(dev, regs)
    }

    /// `gfx_v9_4_3_init_rlc_microcode`, `gfx_v9_4_3_init_cp_compute_microcode`.
    fn files(&self) -> Option<Files> {
        Some(Files::Direct {
            rlc: c"amdgpu/gc_9_4_3_rlc.bin",
            mec: c"amdgpu/gc_9_4_3_mec.bin",
        })
    }

    fn start_firmware(&self, _: &Device, regs: &Regs, _: Option<&Starts>) -> Result {
        // What the engines run with is set before they do (`gfx_v9_4_3_hw_init`).
        self.set_golden(regs);
        for xcc in regs.instances(Block::Gc) {
            start::resume_rlc(regs, xcc)?;
        }
        for xcc in regs.instances(Block::Gc) {
            start::start_mec(regs, xcc);
        }
        Ok(())
    }

    fn halt_firmware(&self, regs: &Regs) {
        for xcc in regs.instances(Block::Gc) {
            start::halt_mec(regs, xcc);
        }
    }

    fn registers(&self) -> &'static Registers {
        &REGISTERS
    }

    fn see_array(&self, regs: &Regs, xcc: u8, engine: Bounded<4>, array: Bounded<2>) {
        let one = Value::zeroed()
            .with(Index::INSTANCE_BROADCAST_WRITES, true)
            .with(Index::SE_INDEX, engine.into())
            .with(Index::SH_INDEX, array.into());
        regs.write_at(xcc, gc::GRBM_GFX_INDEX, one);
    }

    fn active_cus(&self, regs: &Regs, xcc: u8, engine: Bounded<4>, array: Bounded<2>) -> u32 {
        self.see_array(regs, xcc, engine, array);
        let fused = regs.read_at(xcc, gc::CC_GC_SHADER_ARRAY_CONFIG);
        let user = regs.read_at(xcc, gc::GC_USER_SHADER_ARRAY_CONFIG);
        !(fused.get(Config::INACTIVE_CUS) | user.get(UserConfig::INACTIVE_CUS))
    }

    fn see_all_arrays(&self, regs: &Regs, xcc: u8) {
        let all = Value::zeroed()
            .with(Index::SE_BROADCAST_WRITES, true)
            .with(Index::SH_BROADCAST_WRITES, true)
            .with(Index::INSTANCE_BROADCAST_WRITES, true);
        regs.write_at(xcc, gc::GRBM_GFX_INDEX, all);
    }

    /// `gfx_v9_4_3_xcc_select_se_sh`.
    fn see_simd(&self, regs: &Regs, simd: &Simd) {
        let one = Value::zeroed()
            .with(Index::SE_INDEX, simd.engine.into())
            .with(Index::SH_INDEX, simd.array.into())
            .with(Index::INSTANCE_INDEX, simd.cu.into());
        regs.write_at(simd.xcc, gc::GRBM_GFX_INDEX, one);
    }

    fn wave(&self, regs: &Regs, simd: &Simd, slot: Bounded<4>) -> Option<Wave> {
        let status = read_wave(regs, simd, slot, sq::SQ_WAVE_STATUS);
        if !status.is_set(Status::VALID) || status.bits() == u32::MAX {
            return None;
        }
        let low = read_wave(regs, simd, slot, sq::SQ_WAVE_PC_LO).bits();
        let high = read_wave(regs, simd, slot, sq::SQ_WAVE_PC_HI).get(PcHigh::PC_HI);
        let id = read_wave(regs, simd, slot, sq::SQ_WAVE_HW_ID);
        let held = status.is_set(Status::HALT) && !status.is_set(Status::PRIV);
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

    /// `gfx_v9_4_3_init_golden_registers`, and the end of `gfx_v9_4_3_get_cu_info`: a dispatch isn't handed out anew
    /// for compute units that are missing where none is.
    fn set_golden(&self, regs: &Regs) {
        for xcc in regs.instances(Block::Gc) {
            regs.write_at(xcc, gc::GB_ADDR_CONFIG, Value::new(GOLDEN_ADDRESSES));
            regs.update_at(xcc, gc::TCP_UTCL1_CNTL2, |old| {
                old.having(Tlb::SPARE.is::<1>())
            });
            if is_even(self, regs, xcc) {
                regs.update_at(xcc, gc::CP_CPC_DEBUG, |old| {
                    old.with(Dispatch::CPC_HARVESTING_RELAUNCH_DISABLE, true)
                        .with(Dispatch::CPC_HARVESTING_DISPATCH_DISABLE, true)
                });
            }
        }
    }

    fn gate_clocks(&self, regs: &Regs, on: bool) -> Result {
        let mut xccs = regs.instances(Block::Gc);
        xccs.try_for_each(|xcc| clocks::gate(regs, xcc, on))
    }

    /// `gfx_v9_4_3_constants_init`, `gfx_v9_4_3_xcc_init_sq`; a bit that is left from newer firmware is cleared, too.
    fn chain_xnack(&self, regs: &Regs, version: u32) -> bool {
        let mut is_chained = false;
        for xcc in regs.instances(Block::Gc) {
            let old = regs.read_at(xcc, gc::SQ_CONFIG1);
            let has = old.is_set(Shaders::DISABLE_XNACK_CHECK_IN_RETRY_DISABLE);
            let wanted = match version {
                0 => has,
                version => version >= CHAINS_XNACK,
            };
            if wanted != has {
                let new = old.with(Shaders::DISABLE_XNACK_CHECK_IN_RETRY_DISABLE, wanted);
                regs.write_at(xcc, gc::SQ_CONFIG1, new);
            }
            is_chained |= wanted;
        }
        is_chained
    }

    /// What [`Self::set_golden`] sets it to: before, another driver or none has (`gfx_v9_4_3_gpu_early_init`).
    fn addresses(&self, _regs: &Regs) -> u32 {
        GOLDEN_ADDRESSES
    }

    /// `gfx_v9_4_3_soft_reset`, and `gfx_v9_4_3_xcc_cp_compute_enable` before and after. All XCCs are
    /// held before the first goes on, since a queue is on each of them. RLC isn't reset: its firmware
    /// couldn't be loaded again here.
    fn soft_reset(&self, regs: &Regs) {
        for xcc in regs.instances(Block::Gc) {
            regs.write_at(xcc, gc::CP_MEC_CNTL, HALTED);
        }
        fsleep(SETTLE);
        for on in [true, false] {
            for xcc in regs.instances(Block::Gc) {
                regs.update_at(xcc, gc::GRBM_SOFT_RESET, |old| {
                    old.with(Reset::SOFT_RESET_CP, on)
                        .with(Reset::SOFT_RESET_GFX, on)
                });
                // Waits until the store has arrived.
                regs.read_at(xcc, gc::GRBM_SOFT_RESET);
            }
            fsleep(SETTLE);
        }
        for xcc in regs.instances(Block::Gc) {
            regs.write_at(xcc, gc::CP_MEC_CNTL, Value::zeroed());
        }
        fsleep(SETTLE);
    }
}

/// Whether each shader engine of an XCC has as many compute units.
fn is_even(hal: &dyn super::Hal, regs: &Regs, xcc: u8) -> bool {
    let shape = *regs.discovery().gc();
    let mask = !u32::MAX.checked_shl(shape.cu_per_array.max(1)).unwrap_or(0);
    let engines = (0..u64::from(shape.shader_engines)).filter_map(Bounded::try_new);
    let mut counts = engines.map(|engine| {
        let arrays = (0..u64::from(shape.shader_arrays_per_engine)).filter_map(Bounded::try_new);
        let active = arrays.map(|array| hal.active_cus(regs, xcc, engine, array) & mask);
        active.map(u32::count_ones).fold(0, u32::saturating_add)
    });
    let first = counts.next();
    let is_even = counts.all(|count| Some(count) == first);
    hal.see_all_arrays(regs, xcc);
    is_even
}

/// `wave_read_ind`.
fn read_wave<R: Register>(regs: &Regs, simd: &Simd, slot: Bounded<4>, reg: Reg<R>) -> Value<R> {
    let chosen = Value::zeroed()
        .with(Indirect::WAVE_ID, slot)
        .with(Indirect::SIMD_ID, simd.number)
        .with(Indirect::FORCE_READ, true)
        // CAST: Indices have 16 bits.
        .with(Indirect::INDEX, reg.any().offset as u16);
    regs.write_at(simd.xcc, gc::SQ_IND_INDEX, chosen);
    Value::new(regs.read_at(simd.xcc, gc::SQ_IND_DATA).bits())
}

/// Several partitions would be several GPUs (`gfx_v9_4_3_get_xccs_per_xcp`): not supported.
fn check_partition(dev: &Device, regs: &Regs) -> Result {
    let all = regs.instances(Block::Gc).count();
    for xcc in regs.instances(Block::Gc) {
        let place = regs.read_at(xcc, gc::CP_HYP_XCP_CTL);
        let together = place.get(Partition::NUM_XCC_IN_XCP);
        if together as usize != all {
            dev_err!(
                dev,
                "XCC {} is in a partition of {}, of {} XCCs in all; set the mode SPX with another driver first\n",
                xcc,
                together,
                all
            );
            return Err(ENODEV);
        }
    }
    Ok(())
}
