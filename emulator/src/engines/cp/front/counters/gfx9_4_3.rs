// SPDX-License-Identifier: MIT OR Apache-2.0

//! gfx942's counters: an engine has one sequencer that counts for all its compute units, each of these a vector cache
//! (TCP), and the second-level cache has channels (TCC).
//!
//! Sources: rocprofiler-sdk, `counter_defs.yaml` (numbers of gfx942's events); ROCm, "MI300 and MI200 series
//! performance counters and metrics" (what they count); Linux, `include/asic_reg/gc/gc_9_4_3_sh_mask.h`.

use super::event::{Block, Chosen, Control, Event, Instances, Scheme, ONE_EVENT};
use rkfd_hw::regs::gc_9_4_3::{
    GRBM_GFX_INDEX as Index, SQ_PERFCOUNTER0_SELECT as Select, SQ_PERFCOUNTER_CTRL as Ctrl,
    SQ_PERFCOUNTER_CTRL2 as Ctrl2, TCC_PERFCOUNTER0_SELECT as Second,
    TCP_PERFCOUNTER0_SELECT as Vector,
};
use rkfd_hw::regs::Value;
use rkfd_isa::{Issue, Lookup};

/// How they are.
pub(crate) static GFX9_4_3: Scheme = Scheme {
    mhz: 2100,
    sequencer: Block {
        name: "SQ",
        instances: Instances::Engines,
        chosen: |index| Chosen {
            array: None,
            unit: None,
            ..chosen(index)
        },
        counters: 16,
        selects: 1,
        number: |select| Value::<Select>::new(select).get(Select::PERF_SEL),
        select: (
            Select::SIMD_MASK.mask() | Select::SPM_MODE.mask() | Select::PERF_MODE.mask(),
            Select::SIMD_MASK.mask(),
            "some SIMDs only, or for a mode that is not modelled",
        ),
        event,
    },
    vector: Block {
        name: "TCP",
        instances: Instances::Units(1),
        chosen,
        counters: 4,
        selects: 1,
        number: |select| Value::<Vector>::new(select).get(Vector::PERF_SEL),
        select: (!Vector::PERF_SEL.mask(), 0, ONE_EVENT),
        event: |number| {
            use Lookup::*;
            Some(Event::Lookups(match number {
                60 => &[ReadHit, ReadMiss, WriteMiss, AtomicMiss, ReturningMiss],
                65 => &[ReadMiss],
                66 => &[WriteMiss],
                67 => &[ReturningMiss],
                68 => &[AtomicMiss],
                _ => return None,
            }))
        },
    },
    second: Block {
        name: "TCC",
        instances: Instances::Channels,
        chosen: |index| Chosen {
            engine: None,
            array: None,
            ..chosen(index)
        },
        counters: 4,
        selects: 1,
        number: |select| Value::<Second>::new(select).get(Second::PERF_SEL),
        select: (!Second::PERF_SEL.mask(), 0, ONE_EVENT),
        event: |number| {
            use Lookup::*;
            Some(Event::Lookups(match number {
                3 => &[
                    ReadHit,
                    ReadMiss,
                    WriteHit,
                    WriteMiss,
                    AtomicHit,
                    AtomicMiss,
                    ReturningHit,
                    ReturningMiss,
                ],
                12 => &[ReadHit, ReadMiss],
                13 => &[WriteHit, WriteMiss],
                14 => &[AtomicHit, AtomicMiss, ReturningHit, ReturningMiss],
                17 => &[ReadHit, WriteHit, AtomicHit, ReturningHit],
                19 => &[ReadMiss, WriteMiss, AtomicMiss, ReturningMiss],
                // From memory, by whole lines: all of them, those of 32 bytes, those of 128.
                38 | 56 => &[ReadMiss],
                39 => &[],
                _ => return None,
            }))
        },
    },
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
    let unless = |all: bool, value: u32| (!all).then_some(value);
    Chosen {
        engine: unless(
            index.is_set(Index::SE_BROADCAST_WRITES),
            index.get(Index::SE_INDEX),
        ),
        array: unless(
            index.is_set(Index::SH_BROADCAST_WRITES),
            index.get(Index::SH_INDEX),
        ),
        unit: unless(
            index.is_set(Index::INSTANCE_BROADCAST_WRITES),
            index.get(Index::INSTANCE_INDEX),
        ),
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
