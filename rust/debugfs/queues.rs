// SPDX-License-Identifier: GPL-2.0

//! `rkfd/queues`: each queue with all that shows why it does or doesn't move: its state, where it is on the
//! hardware, its pointers, the packet that is next, and the signals that this waits for. `rkfd/waves` is the same
//! with waves, for which each slot of the GPU is looked at: thousands of registers. `rkfd why` reads it.
//!
//! A line `process PID NAME`, below it a line `queue ID gpu GPU-ID` for each queue, and below that lines of a
//! name and values. Addresses and packets are hexadecimal, other numbers decimal. `?` is what can't be read.
//!
//! Lines `wave XCC ENGINE ARRAY CU SIMD SLOT pc ADDRESS status BITS code WORD` are waves that are halted, of a queue
//! whose packet is a dispatch: where they are, their next instruction, and SQ_WAVE_STATUS. `entry` is where the kernel
//! of the packet begins.
//!
//! It waits for nobody: what somebody holds who may be waiting for the hardware is shown as busy.

use super::gpus::Loads;
use crate::{
    hw::aql::{
        self,
        Barrier,
        BarrierValue,
        KernelDispatch,
        Signal,
        Vendor, //
    },
    process::{
        DeviceState,
        Process,
        ProcessDevice,
        Processes,
        State,
        UserQueue, //
    },
    sched::{
        QueueState,
        Shown, //
    },
    types::{
        Format,
        GpuVa, //
    }, //
};
use kernel::{
    fmt,
    sync::Arc, //
};

/// Words of an AQL packet.
const PACKET: usize = aql::PACKET_SIZE / 4;

/// Shows `rkfd/queues`.
pub(super) fn queues(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    show(processes, With::Nothing, f)
}

/// Shows `rkfd/waves`.
pub(super) fn waves(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    show(processes, With::Waves, f)
}

/// What is shown besides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    Nothing,
    Waves,
}

fn show(processes: &Arc<Processes>, with: With, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let loads = Loads::read(processes).map_err(|_| fmt::Error)?;
    let mut result = Ok(());
    processes.for_each(|process| {
        if result.is_ok() {
            result = of_process(process, &loads, with, f);
        }
    });
    result
}

fn of_process(
    process: &Process,
    loads: &Loads,
    with: With,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    writeln!(f, "process {} {}", process.who.tgid, process.who.name())?;
    process
        .try_with(|state| each(process, state, loads, with, f))
        .unwrap_or_else(|| writeln!(f, "  busy"))
}

fn each(
    process: &Process,
    state: &State,
    loads: &Loads,
    with: With,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    for (id, queue) in state.queues.iter() {
        let device = process.devices().get(queue.device);
        let (Some(device), Some(its)) = (device, state.devices.get(queue.device)) else {
            continue;
        };
        writeln!(f, "  queue {id} gpu {}", device.gpu.id().get())?;
        match queue.hw.try_show() {
            Some(shown) => {
                state_of(&shown, queue, device, its, f)?;
                loads.write(&device.gpu, &shown, f)?;
                if next(&shown, its, f)? && with == With::Waves {
                    let code = |pc| word_at(its, pc);
                    loads.write_waves(&device.gpu, &shown, code, f)?;
                }
            }
            None => writeln!(f, "    busy")?,
        }
    }
    Ok(())
}

/// What it is, and what its state is.
fn state_of(
    shown: &Shown,
    queue: &UserQueue,
    device: &ProcessDevice,
    its: &DeviceState,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let kind = match shown.format {
        Format::Aql => "aql",
        Format::Pm4 => "pm4",
        Format::Sdma => "sdma",
    };
    writeln!(f, "    type {kind}")?;
    writeln!(f, "    state {}", shown.state.name())?;
    let ring = &shown.ring;
    let (address, size, share) = (ring.address.get(), ring.size.bytes(), ring.percent.get());
    writeln!(f, "    ring {address:#x} {size}")?;
    writeln!(f, "    share {share}")?;
    writeln!(f, "    doorbell {:#x}", shown.doorbell.get())?;
    if let Some(place) = shown.sdma {
        writeln!(f, "    engine {} {}", place.engine, place.queue)?;
    }
    if queue.errors != 0 {
        writeln!(f, "    errors {:#x}", queue.errors)?;
    }
    let lost = its.lost || its.sched.as_ref().is_some_and(|sched| sched.is_lost());
    let reasons = [(lost, "reset"), (its.paused || its.waiting > 0, "memory")];
    for (_, name) in reasons.into_iter().filter(|(holds, _)| *holds) {
        writeln!(f, "    evicted {name}")?;
    }
    if let Some(fault) = device.first_fault() {
        let what = if fault.write { "write" } else { "read" };
        let page = if fault.not_present {
            "absent"
        } else {
            "forbidden"
        };
        writeln!(f, "    fault {:#x} {what} {page}", fault.va.get())?;
    }
    Ok(())
}

/// Loads an instruction's first word.
fn word_at(its: &DeviceState, pc: u64) -> Option<u32> {
    let pair = its.peek(GpuVa::new(pc & !7))?;
    // CAST: One of the halves.
    Some((pair >> ((pc & 4) << 3)) as u32)
}

/// The pointers, and the packet at the read pointer. Whether that is one that may have waves, and is not done.
fn next(
    shown: &Shown,
    its: &DeviceState,
    f: &mut fmt::Formatter<'_>,
) -> core::result::Result<bool, fmt::Error> {
    let (read, write) = (its.peek(shown.read), its.peek(shown.write));
    word("read", shown.read, read, f)?;
    word("write", shown.write, write, f)?;
    let is_left = read != write;
    let Some(read) = read.filter(|_| shown.format == Format::Aql) else {
        return Ok(is_left);
    };
    if shown.ring.address.is_null() || shown.state == QueueState::Gone {
        return Ok(false);
    }
    // A ring is a power of two.
    let bytes = read.wrapping_mul(aql::PACKET_SIZE as u64);
    let at = shown.ring.size.bytes().wrapping_sub(1) & bytes;
    let at = shown.ring.address.byte(at);
    let mut packet = [0; PACKET];
    for (pair, place) in packet.chunks_exact_mut(2).zip((0_u64..).step_by(8)) {
        let Some(word) = its.peek(at.byte(place)) else {
            writeln!(f, "    packet ?")?;
            return Ok(is_left);
        };
        if let [low, high] = pair {
            // CAST: The halves.
            (*low, *high) = (word as u32, (word >> 32) as u32);
        }
    }
    write!(f, "    packet")?;
    for word in packet {
        write!(f, " {word:08x}")?;
    }
    writeln!(f)?;
    for signal in awaited(&packet).into_iter().filter(|at| !at.is_null()) {
        let value = its.peek(signal.word(Signal::VALUE.word()));
        word("signal", signal, value, f)?;
    }
    if let Some(entry) = entry(&packet, its) {
        writeln!(f, "    entry {:#x}", entry.get())?;
    }
    let [header, ..] = packet;
    Ok(is_left && header as u8 == aql::TYPE_KERNEL_DISPATCH)
}

/// Where the kernel of a dispatch begins: its descriptor has how far behind it (LLVM's guide of the AMDGPU backend,
/// "Kernel Descriptor").
fn entry(packet: &[u32; PACKET], its: &DeviceState) -> Option<GpuVa> {
    /// `kernel_code_entry_byte_offset`.
    const ENTRY_OFFSET: u64 = 16;
    let [header, ..] = packet;
    if *header as u8 != aql::TYPE_KERNEL_DISPATCH {
        return None;
    }
    let object = KernelDispatch(*packet).get(KernelDispatch::KERNEL_OBJECT);
    let offset = its.peek(GpuVa::new(object.checked_add(ENTRY_OFFSET)?))?;
    Some(GpuVa::new(object.wrapping_add(offset)))
}

fn word(name: &str, at: GpuVa, value: Option<u64>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let at = at.get();
    match value {
        Some(value) => writeln!(f, "    {name} {at:#x} {value}"),
        None => writeln!(f, "    {name} {at:#x} ?"),
    }
}

/// The signals that a packet waits for; 0 for none.
fn awaited(packet: &[u32; PACKET]) -> [GpuVa; 5] {
    let barrier = Barrier(*packet);
    let [header, ..] = packet;
    let signals = match *header as u8 {
        aql::TYPE_BARRIER_AND | aql::TYPE_BARRIER_OR => [
            Barrier::DEP_SIGNAL_0,
            Barrier::DEP_SIGNAL_1,
            Barrier::DEP_SIGNAL_2,
            Barrier::DEP_SIGNAL_3,
            Barrier::DEP_SIGNAL_4,
        ]
        .map(|field| barrier.get(field)),
        aql::TYPE_VENDOR_SPECIFIC => {
            let is_value =
                Vendor(*packet).get(Vendor::FORMAT) == u64::from(aql::VENDOR_BARRIER_VALUE);
            let signal = BarrierValue(*packet).get(BarrierValue::SIGNAL);
            [if is_value { signal } else { 0 }, 0, 0, 0, 0]
        }
        _ => [0; 5],
    };
    signals.map(GpuVa::new)
}
