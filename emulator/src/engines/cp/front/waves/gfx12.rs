// SPDX-License-Identifier: MIT OR Apache-2.0

//! A wave's registers on gfx12.
//!
//! Sources: Linux, `amdgpu/gfx_v12_0.c` (`wave_read_ind`, `gfx_v12_0_read_wave_data`: the SIMD is a part of
//! GRBM_GFX_INDEX' INSTANCE), `include/asic_reg/gc/gc_12_0_0_sh_mask.h`; umr, whose `scan_waves.c` makes
//! INSTANCE of the WGP's number times 4 and the SIMD's in it, and whose documentation of user queues shows a
//! halted wave of a gfx1201: STATUS.IDLE, STATE_PRIV.HALT, IB_DBG1.WAVE_IDLE, no bit in ACTIVE and one in
//! VALID_AND_IDLE; RDNA4 ISA, section 3.

use super::{Place, Registers, Seen, Slot, WaveState};
use rkfd_hw::regs::gc_12_0_0::{GRBM_GFX_INDEX as Index, SQ_IND_INDEX as Indirect};
use rkfd_hw::regs::sq_12_0_0::{
    self as sq, SQ_WAVE_HW_ID1 as Id1, SQ_WAVE_HW_ID2 as Id2, SQ_WAVE_STATE_PRIV as State,
    SQ_WAVE_STATUS as Status,
};
use rkfd_hw::regs::{Reg, Register, Value};
use rkfd_hw::value::Bounded;

/// How they are laid out.
pub(crate) static GFX12: Registers = Registers {
    chosen,
    read,
    ids: |place, hqd, vmid| [place_of(place), queue_of(hqd, vmid)],
};

/// SIMDs of a compute unit; a WGP has two of these.
const SIMDS: u32 = 2;

fn chosen(grbm: u32, index: u32) -> (Place, u32) {
    let (grbm, index) = (Value::<Index>::new(grbm), Value::<Indirect>::new(index));
    let unless = |all: bool, value: u32| if all { 0 } else { value };
    let instance = unless(
        grbm.is_set(Index::INSTANCE_BROADCAST_WRITES),
        grbm.get(Index::INSTANCE_INDEX),
    );
    let place = Place {
        engine: unless(
            grbm.is_set(Index::SE_BROADCAST_WRITES),
            grbm.get(Index::SE_INDEX),
        ),
        array: unless(
            grbm.is_set(Index::SA_BROADCAST_WRITES),
            grbm.get(Index::SA_INDEX),
        ),
        cu: instance / SIMDS,
        simd: instance % SIMDS,
        slot: index.get(Indirect::WAVE_ID),
    };
    (place, index.get(Indirect::INDEX))
}

fn read(register: u32, seen: &Seen<'_>) -> Option<u32> {
    fn is<R: Register>(register: u32, reg: Reg<R>) -> bool {
        reg.any().offset == register
    }
    let is_known = sq::TABLE.regs.iter().any(|r| r.reg.offset == register);
    // These two are the SIMD's.
    if is(register, sq::SQ_WAVE_ACTIVE) {
        return Some(mask(seen, |wave| !wave.is_held()));
    }
    if is(register, sq::SQ_WAVE_VALID_AND_IDLE) {
        return Some(mask(seen, |wave| wave.is_held()));
    }
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
        r if is(r, sq::SQ_WAVE_HW_ID1) => place_of(seen.place),
        r if is(r, sq::SQ_WAVE_HW_ID2) => queue_of(wave.hqd, wave.vmid),
        r if is(r, sq::SQ_WAVE_GPR_ALLOC) => u32::from(wave.registers / 4).saturating_sub(1) << 12,
        r if is(r, sq::SQ_WAVE_LDS_ALLOC) => (wave.lds / 512) << 12,
        r if is(r, sq::SQ_WAVE_M0) => wave.m0,
        r if is(r, sq::SQ_WAVE_MODE) => mode(wave.mode),
        r if is(r, sq::SQ_WAVE_STATE_PRIV) => state(&wave),
        r if is(r, sq::SQ_WAVE_EXCP_FLAG_PRIV) => wave.exceptions,
        r if is(r, sq::SQ_WAVE_EXCP_FLAG_USER) => wave.arithmetic,
        r if is(r, sq::SQ_WAVE_TRAP_CTRL) => wave.trap_control,
        r if is(r, sq::SQ_WAVE_IB_DBG1) => Value::<sq::SQ_WAVE_IB_DBG1>::zeroed()
            .with(sq::SQ_WAVE_IB_DBG1::WAVE_IDLE, wave.is_held())
            .bits(),
        // Counters of what is under way, dynamic registers.
        _ => 0,
    })
}

/// A bit for each of the SIMD's waves of which something is true.
fn mask(seen: &Seen<'_>, is: impl Fn(&WaveState) -> bool) -> u32 {
    let waves = (seen.simd)();
    let bits = waves.iter().enumerate();
    bits.filter(|(_, wave)| wave.as_ref().is_some_and(&is))
        .fold(0, |mask, (slot, _)| mask | (1 << slot))
}

fn status(wave: &WaveState) -> u32 {
    Value::<Status>::zeroed()
        .with(Status::PRIV, wave.privileged)
        .with(Status::TRAP_EN, wave.traps)
        .with(Status::EXECZ, wave.exec == 0)
        .with(Status::VCCZ, wave.vcc == 0)
        .with(Status::IN_WG, wave.waves > 1)
        .with(Status::VALID, true)
        .with(Status::FATAL_HALT, wave.failed)
        .with(Status::IDLE, wave.is_held())
        .with(Status::WAVE64, wave.lanes == 64)
        .bits()
}

fn state(wave: &WaveState) -> u32 {
    Value::<State>::zeroed()
        .with(State::BARRIER_COMPLETE, wave.arrived)
        .with(State::SCC, wave.scc)
        .with(State::HALT, wave.halted)
        .bits()
}

/// The bits that the register has.
fn mode(mode: u32) -> u32 {
    use sq::SQ_WAVE_MODE as Mode;
    mode & (Mode::FP_ROUND.mask() | Mode::FP_DENORM.mask() | Mode::FP16_OVFL.mask())
}

fn bits<const W: u32>(value: u32) -> Bounded<W> {
    Bounded::low_bits_of(value.into())
}

fn place_of(place: Place) -> u32 {
    let instance = place.cu * SIMDS + place.simd;
    Value::<Id1>::zeroed()
        .with(Id1::WAVE_ID, bits(place.slot))
        .with(Id1::SIMD_ID, bits(instance % (2 * SIMDS)))
        .with(Id1::WGP_ID, bits(instance / (2 * SIMDS)))
        .with(Id1::SA_ID, place.array & 1 == 1)
        .with(Id1::SE_ID, bits(place.engine))
        .bits()
}

/// Whose it is. The numbers of its work-group and of its state are 0.
fn queue_of(hqd: Slot, vmid: u8) -> u32 {
    Value::<Id2>::zeroed()
        .with(Id2::QUEUE_ID, bits(hqd.queue()))
        .with(Id2::PIPE_ID, bits(hqd.pipe()))
        .with(Id2::ME_ID, bits(hqd.me()))
        .with(Id2::VM_ID, bits(vmid.into()))
        .bits()
}
