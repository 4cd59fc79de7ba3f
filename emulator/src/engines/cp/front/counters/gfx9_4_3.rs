// SPDX-License-Identifier: MIT OR Apache-2.0

//! gfx942's counters: an engine has one sequencer that counts for all its compute units.
//!
//! Sources: rocprofiler-sdk, `counter_defs.yaml` (numbers of gfx942's events); ROCm, "MI300 and MI200 series
//! performance counters and metrics" (what they count); Linux, `include/asic_reg/gc/gc_9_4_3_sh_mask.h`.

use super::event::{Chosen, Control, Event, Scheme};
use rkfd_hw::regs::gc_9_4_3::{
    GRBM_GFX_INDEX as Index, SQ_PERFCOUNTER0_SELECT as Select, SQ_PERFCOUNTER_CTRL as Ctrl,
    SQ_PERFCOUNTER_CTRL2 as Ctrl2,
};
use rkfd_hw::regs::Value;
use rkfd_isa::Issue;

/// How they are.
pub(crate) static GFX9_4_3: Scheme = Scheme {
    units: 0,
    selects: 1,
    counters: 16,
    mhz: 2100,
    chosen,
    event,
    select: (
        Select::SIMD_MASK.mask() | Select::SPM_MODE.mask() | Select::PERF_MODE.mask(),
        Select::SIMD_MASK.mask(),
        "some SIMDs only, or for a mode that is not modelled",
    ),
    takes: |control, _, vmid| {
        let ctrl = Value::<Ctrl>::new(control.control);
        ctrl.is_set(Ctrl::CS_EN) && (ctrl.get(Ctrl::VMID_MASK) >> vmid) & 1 == 1
    },
    forced: |control| Value::<Ctrl2>::new(control.second).is_set(Ctrl2::FORCE_EN),
    // SH0_MASK and SH1_MASK: a bit for each compute unit of an array.
    counts: |control: &Control, array, unit| (control.mask >> (16 * array + unit)) & 1 == 1,
};

fn chosen(index: u32) -> Chosen {
    let index = Value::<Index>::new(index);
    let engine = index.get(Index::SE_INDEX);
    Chosen {
        engine: (!index.is_set(Index::SE_BROADCAST_WRITES)).then_some(engine),
        ..Chosen::default()
    }
}

fn event(number: u32) -> Option<Event> {
    use Issue::*;
    Some(match number {
        2 => Event::Cycles,
        3 => Event::BusyCycles,
        4 => Event::Waves,
        25 => Event::Instructions,
        26 => Event::InstructionsOf(&[Valu]),
        56 => Event::InstructionsOf(&[Mfma]),
        57 => Event::InstructionsOf(&[Store, FlatStore]),
        58 => Event::InstructionsOf(&[Load, FlatLoad]),
        59 => Event::InstructionsOf(&[Load, FlatLoad, Store, FlatStore]),
        60 => Event::InstructionsOf(&[Salu]),
        61 => Event::InstructionsOf(&[Smem]),
        62 => Event::InstructionsOf(&[FlatLoad, FlatStore]),
        65 => Event::InstructionsOf(&[Lds]),
        66 => Event::InstructionsOf(&[Gds]),
        69 => Event::InstructionsOf(&[Branch]),
        70 => Event::InstructionsOf(&[Sendmsg]),
        _ => return None,
    })
}
