// SPDX-License-Identifier: MIT OR Apache-2.0

//! gfx1201's counters: each work-group processor, of two compute units, counts for itself.
//!
//! Sources: Linux, `include/soc24_enum.h` (`SQ_PERF_SEL`), `include/asic_reg/gc/gc_12_0_0_sh_mask.h`; rocprofiler-sdk,
//! `counter_defs.yaml` (what they count); AMD's aqlprofile, whose counter n is selected by
//! SQ_PERFCOUNTER2n_SELECT.

use super::super::slot::Slot;
use super::event::{Chosen, Control, Event, Scheme};
use rkfd_hw::regs::gc_12_0_0::{
    GRBM_GFX_INDEX as Index, SQ_PERFCOUNTER0_SELECT as Select, SQ_PERFCOUNTER_CTRL as Ctrl,
    SQ_PERFCOUNTER_CTRL2 as Ctrl2,
};
use rkfd_hw::regs::Value;
use rkfd_isa::Issue;

/// Instances of GRBM_GFX_INDEX that a work-group processor has: one for each of its SIMDs.
const INSTANCES: u32 = 4;

/// How they are.
pub(crate) static GFX12: Scheme = Scheme {
    units: 2,
    selects: 2,
    counters: 8,
    mhz: 2970,
    chosen,
    event,
    select: (
        Select::SPM_MODE.mask() | Select::PERF_MODE.mask(),
        0,
        "a mode that is not modelled",
    ),
    takes,
    forced: |control| Value::<Ctrl2>::new(control.second).is_set(Ctrl2::FORCE_EN),
    counts: |_, _, _| true,
};

fn takes(control: &Control, hqd: Slot, vmid: u8) -> bool {
    let ctrl = Value::<Ctrl>::new(control.control);
    let off = match (hqd.me(), hqd.pipe()) {
        (1, 0) => ctrl.is_set(Ctrl::DISABLE_ME1PIPE0_PERF),
        (1, 1) => ctrl.is_set(Ctrl::DISABLE_ME1PIPE1_PERF),
        (1, 2) => ctrl.is_set(Ctrl::DISABLE_ME1PIPE2_PERF),
        (1, 3) => ctrl.is_set(Ctrl::DISABLE_ME1PIPE3_PERF),
        _ => false,
    };
    let vmids = Value::<Ctrl2>::new(control.second).get(Ctrl2::VMID_EN);
    ctrl.is_set(Ctrl::CS_EN) && !off && (vmids >> vmid) & 1 == 1
}

fn chosen(index: u32) -> Chosen {
    let index = Value::<Index>::new(index);
    let unless = |all: bool, value: u32| (!all).then_some(value);
    Chosen {
        engine: unless(
            index.is_set(Index::SE_BROADCAST_WRITES),
            index.get(Index::SE_INDEX),
        ),
        array: unless(
            index.is_set(Index::SA_BROADCAST_WRITES),
            index.get(Index::SA_INDEX),
        ),
        unit: unless(
            index.is_set(Index::INSTANCE_BROADCAST_WRITES),
            index.get(Index::INSTANCE_INDEX) / INSTANCES,
        ),
    }
}

fn event(number: u32) -> Option<Event> {
    use Issue::*;
    Some(match number {
        0x02 => Event::Cycles,
        0x03 => Event::BusyCycles,
        0x04 => Event::Waves,
        0x05 => Event::WavesOf(32),
        0x06 => Event::WavesOf(64),
        0x27 => Event::Instructions,
        0x28 => Event::InstructionsOf(&[Branch]),
        0x2c => Event::InstructionsOf(&[FlatLoad, FlatStore]),
        0x2d => Event::InstructionsOf(&[Lds]),
        0x2e => Event::InstructionsOf(&[Salu]),
        0x2f => Event::InstructionsOf(&[Smem]),
        0x31 => Event::InstructionsOf(&[Sendmsg]),
        0x32 => Event::InstructionsOf(&[Valu]),
        0x35 => Event::InstructionsOf(&[Load, Store]),
        0x36 => Event::InstructionsOf(&[Load]),
        0x37 => Event::InstructionsOf(&[Store]),
        _ => return None,
    })
}
