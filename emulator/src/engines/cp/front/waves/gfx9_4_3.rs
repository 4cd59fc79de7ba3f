// SPDX-License-Identifier: MIT OR Apache-2.0

//! A wave's registers on gfx942.
//!
//! Sources: Linux, `amdgpu/gfx_v9_4_3.c` (`wave_read_ind`: SQ_IND_INDEX has wave, SIMD and register),
//! `include/asic_reg/gc/gc_9_4_3_sh_mask.h`; CDNA3 ISA, section 3.

use super::{Place, Registers, Seen, Slot};
use rkfd_hw::regs::gc_9_4_3::{GRBM_GFX_INDEX as Index, SQ_IND_INDEX as Indirect};
use rkfd_hw::regs::sq_9_4_3::{self as sq, SQ_WAVE_HW_ID as Id, SQ_WAVE_STATUS as Status};
use rkfd_hw::regs::{Reg, Register, Value};
use rkfd_hw::value::Bounded;

/// How they are laid out.
pub(crate) static GFX9_4_3: Registers = Registers {
    chosen,
    read,
    ids: |place, hqd, vmid| [hardware_id(place, hqd, vmid), 0],
};

fn chosen(grbm: u32, index: u32) -> (Place, u32) {
    let (grbm, index) = (Value::<Index>::new(grbm), Value::<Indirect>::new(index));
    let unless = |all: bool, value: u32| if all { 0 } else { value };
    let place = Place {
        engine: unless(
            grbm.is_set(Index::SE_BROADCAST_WRITES),
            grbm.get(Index::SE_INDEX),
        ),
        array: unless(
            grbm.is_set(Index::SH_BROADCAST_WRITES),
            grbm.get(Index::SH_INDEX),
        ),
        cu: unless(
            grbm.is_set(Index::INSTANCE_BROADCAST_WRITES),
            grbm.get(Index::INSTANCE_INDEX),
        ),
        simd: index.get(Indirect::SIMD_ID),
        slot: index.get(Indirect::WAVE_ID),
    };
    (place, index.get(Indirect::INDEX))
}

fn read(register: u32, seen: &Seen<'_>) -> Option<u32> {
    fn is<R: Register>(register: u32, reg: Reg<R>) -> bool {
        reg.any().offset == register
    }
    let is_known = sq::TABLE.regs.iter().any(|r| r.reg.offset == register);
    let Some(wave) = seen.wave.filter(|_| is_known) else {
        return is_known.then_some(0);
    };
    let [low, high] = [wave.pc as u32, (wave.pc >> 32) as u32];
    Some(match register {
        r if is(r, sq::SQ_WAVE_STATUS) => status(&wave),
        r if is(r, sq::SQ_WAVE_PC_LO) => low,
        r if is(r, sq::SQ_WAVE_PC_HI) => high & sq::SQ_WAVE_PC_HI::PC_HI.mask(),
        r if is(r, sq::SQ_WAVE_EXEC_LO) => wave.exec as u32,
        r if is(r, sq::SQ_WAVE_EXEC_HI) => (wave.exec >> 32) as u32,
        r if is(r, sq::SQ_WAVE_HW_ID) => hardware_id(seen.place, wave.hqd, wave.vmid),
        r if is(r, sq::SQ_WAVE_INST_DW0) => (seen.code)()[0],
        r if is(r, sq::SQ_WAVE_INST_DW1) => (seen.code)()[1],
        r if is(r, sq::SQ_WAVE_GPR_ALLOC) => allocation(&wave),
        r if is(r, sq::SQ_WAVE_LDS_ALLOC) => (wave.lds / 256) << 12,
        r if is(r, sq::SQ_WAVE_TRAPSTS) => wave.exceptions,
        r if is(r, sq::SQ_WAVE_M0) => wave.m0,
        r if is(r, sq::SQ_WAVE_MODE) => wave.mode,
        // Counters of what is under way, and how far instructions were fetched.
        _ => 0,
    })
}

fn status(wave: &super::WaveState) -> u32 {
    Value::<Status>::zeroed()
        .with(Status::SCC, wave.scc)
        .with(Status::PRIV, wave.privileged)
        .with(Status::TRAP_EN, wave.traps)
        .with(Status::EXECZ, wave.exec == 0)
        .with(Status::VCCZ, wave.vcc == 0)
        .with(Status::IN_TG, wave.waves > 1)
        .with(Status::IN_BARRIER, wave.waits)
        .with(Status::HALT, wave.halted)
        .with(Status::FATAL_HALT, wave.failed)
        .with(Status::VALID, true)
        .bits()
}

/// Where it is, and whose. The work-group's number and that of its state are 0.
fn hardware_id(place: Place, hqd: Slot, vmid: u8) -> u32 {
    fn bits<const W: u32>(value: u32) -> Bounded<W> {
        Bounded::low_bits_of(value.into())
    }
    Value::<Id>::zeroed()
        .with(Id::WAVE_ID, bits(place.slot))
        .with(Id::SIMD_ID, bits(place.simd))
        .with(Id::CU_ID, bits(place.cu))
        .with(Id::SH_ID, place.array & 1 == 1)
        .with(Id::SE_ID, bits(place.engine))
        .with(Id::ME_ID, bits(hqd.me()))
        .with(Id::PIPE_ID, bits(hqd.pipe()))
        .with(Id::QUEUE_ID, bits(hqd.queue()))
        .with(Id::VM_ID, bits(vmid.into()))
        .bits()
}

/// Vector registers by eight, those before accumulation by four; scalar registers are all allocated.
fn allocation(wave: &super::WaveState) -> u32 {
    let blocks = |registers: u16, unit: u16| u32::from(registers / unit).saturating_sub(1);
    (blocks(wave.registers, 8) << 6) | (blocks(wave.accumulation, 4) << 12) | (6 << 24)
}
