// SPDX-License-Identifier: MIT OR Apache-2.0

//! gfx1201's counters: each work-group processor, of two compute units, counts for itself, and so do each compute
//! unit's vector cache (TCP) and each channel of the second-level cache (GL2C).
//!
//! Sources: Linux, `include/soc24_enum.h` (`SQ_PERF_SEL`), `include/asic_reg/gc/gc_12_0_0_sh_mask.h`; rocprofiler-sdk,
//! `counter_defs.yaml` (what they count); AMD's aqlprofile, whose counter n is selected by
//! SQ_PERFCOUNTER2n_SELECT.

use super::super::slot::Slot;
use super::event::{Block, Chosen, Control, Event, Instances, Scheme, ONE_EVENT};
use rkfd_hw::regs::gc_12_0_0::{
    GL2C_PERFCOUNTER0_SELECT as Second, GRBM_GFX_INDEX as Index, SQ_PERFCOUNTER0_SELECT as Select,
    SQ_PERFCOUNTER_CTRL as Ctrl, SQ_PERFCOUNTER_CTRL2 as Ctrl2, TCP_PERFCOUNTER0_SELECT as Vector,
};
use rkfd_hw::regs::Value;
use rkfd_isa::{Issue, Lookup};

/// Instances of GRBM_GFX_INDEX that a work-group processor has: one for each of its SIMDs. Its vector caches are the
/// first two.
const INSTANCES: u32 = 4;

/// How they are.
pub(crate) static GFX12: Scheme = Scheme {
    mhz: 2970,
    sequencer: Block {
        name: "SQ",
        instances: Instances::Units(2),
        chosen: |index| {
            let chosen = chosen(index);
            Chosen {
                unit: chosen.unit.map(|instance| instance / INSTANCES),
                ..chosen
            }
        },
        counters: 8,
        selects: 2,
        number: |select| Value::<Select>::new(select).get(Select::PERF_SEL),
        select: (
            Select::SPM_MODE.mask() | Select::PERF_MODE.mask(),
            0,
            "a mode that is not modelled",
        ),
        event,
    },
    vector: Block {
        name: "TCP",
        instances: Instances::Units(1),
        chosen: |index| {
            let chosen = chosen(index);
            let unit = |instance| match instance % INSTANCES {
                own @ (0 | 1) => 2 * (instance / INSTANCES) + own,
                _ => u32::MAX,
            };
            Chosen {
                unit: chosen.unit.map(unit),
                ..chosen
            }
        },
        counters: 4,
        selects: 1,
        number: |select| Value::<Vector>::new(select).get(Vector::PERF_SEL),
        select: (!Vector::PERF_SEL.mask(), 0, ONE_EVENT),
        event: of_vector,
    },
    second: Block {
        name: "GL2C",
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
        event: of_second,
    },
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
            index.get(Index::INSTANCE_INDEX),
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

/// `TCP_PERF_SEL`.
fn of_vector(number: u32) -> Option<Event> {
    use Lookup::*;
    Some(Event::Lookups(match number {
        0x09 => &[ReadHit, ReadMiss, WriteMiss, AtomicMiss, ReturningMiss],
        0x0a => &[ReadHit, ReadMiss],
        0x0c => &[ReadHit],
        0x0d => &[ReadMiss],
        0x0e | 0x0f | 0x21 => &[WriteMiss],
        0x10 => &[WriteMiss, AtomicMiss, ReturningMiss],
        0x11 => &[ReadMiss, WriteMiss, AtomicMiss, ReturningMiss],
        // What it asks the next level for: reads, and those of 128 and of 64 bytes.
        0x1e | 0x1f => &[ReadMiss],
        0x20 => &[],
        0x22 => &[ReturningMiss],
        0x23 => &[AtomicMiss],
        _ => return None,
    }))
}

/// `GL2C_PERF_SEL`.
fn of_second(number: u32) -> Option<Event> {
    use Lookup::*;
    Some(Event::Lookups(match number {
        0x03 => &[
            ReadHit,
            ReadMiss,
            WriteHit,
            WriteMiss,
            AtomicHit,
            AtomicMiss,
            ReturningHit,
            ReturningMiss,
        ],
        0x06 => &[ReadHit, ReadMiss],
        0x07 => &[WriteHit, WriteMiss],
        0x08 => &[AtomicHit, AtomicMiss, ReturningHit, ReturningMiss],
        0x27 => &[ReadHit, WriteHit, AtomicHit, ReturningHit],
        0x28 => &[ReadMiss, WriteMiss, AtomicMiss, ReturningMiss],
        // From memory, by whole lines: those of 32, 64, 96 and 128 bytes.
        0x5e..=0x60 => &[],
        0x61 => &[ReadMiss],
        _ => return None,
    }))
}
