// SPDX-License-Identifier: GPL-2.0

//! Run lists: an indirect buffer in system memory that lists processes and their queues.
//!
//! For each process MAP_PROCESS, then MAP_QUEUES for each of its queues
//! (`pm_create_runlist_ib`). If there are more processes than VMIDs, more compute queues than
//! hardware queues or more than one queue with global wave sync, a RUN_LIST at the end leads back
//! to the start (`pm_calc_rlib_size`). SDMA queues own theirs, so they don't count.

use crate::{
    chip::ChipInfo,
    glue::trace,
    gmc::KernelBuf,
    hw::{
        pm4::{
            self,
            op,
            MapProcess,
            MapQueues,
            RunList, //
        },
        value::Bounded, //
    },
    sched::{
        state::{
            Entry,
            Firmware, //
        },
        Format,
        HwQueue,
        Parts,
        QueueSpec, //
    },
    types::{
        BlockVersion,
        GpuVa,
        IpVersion,
        SdmaPlace, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Process quantum of MAP_PROCESS, as upstream.
const PROCESS_QUANTUM: u64 = 10;
/// `queue_sel__mes_map_queues__map_to_hws_determined_queue_slots_vi`.
const FIRMWARE_CHOOSES: u64 = 1;

/// A list in memory that the firmware reads.
pub(super) struct List {
    buf: KernelBuf,
    words: usize,
    processes: Bounded<4>,
}

impl List {
    /// What is in it; nothing when the device is gone.
    pub(super) fn words(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.words).map_while(|index| self.buf.read(index).ok())
    }

    /// Its memory, once the firmware has taken it off.
    pub(super) fn into_buf(self) -> KernelBuf {
        self.buf
    }

    /// The packet that runs it.
    pub(super) fn packet(&self) -> Result<RunList> {
        run_list(self.buf.gpu_addr(), self.words, self.processes, false)
    }
}

fn run_list(addr: GpuVa, words: usize, processes: Bounded<4>, chain: bool) -> Result<RunList> {
    Ok(RunList::zeroed()
        .with(RunList::HEADER, pm4::header(op::RUN_LIST, 4))
        .with(RunList::IB_BASE_LO, Bounded::low_bits_of(addr.get() >> 2))
        // CAST: The high word.
        .with(RunList::IB_BASE_HI, (addr.get() >> 32) as u32)
        .try_with(RunList::IB_SIZE, words as u64)
        .ok_or(EINVAL)?
        .with(RunList::CHAIN, chain)
        .with(RunList::CHAINED_RUNLIST_IDLE_DISABLE, chain)
        .with(RunList::VALID, true)
        .with(RunList::PROCESS_CNT, processes))
}

/// Memory for a list of so many bytes: what an earlier one had, if it is large enough.
fn memory(parts: &Parts, spare: &mut Option<KernelBuf>, bytes: usize) -> Result<KernelBuf> {
    match spare.take().filter(|buf| buf.len() >= bytes / 4) {
        Some(buf) => Ok(buf),
        None => KernelBuf::new(&parts.gart, bytes),
    }
}

/// A process, and its queues that should run.
struct Running<'a, F: Firmware> {
    entry: &'a Entry<F>,
    queues: KVec<&'a Arc<HwQueue>>,
}

/// The processes that have such queues. Each queue is looked at once.
fn running<F: Firmware>(entries: &[Entry<F>]) -> Result<KVec<Running<'_, F>>> {
    let mut all = KVec::new();
    for entry in entries {
        let mut queues = KVec::new();
        for queue in entry.active() {
            queues.push(queue, GFP_KERNEL)?;
        }
        if !queues.is_empty() {
            all.push(Running { entry, queues }, GFP_KERNEL)?;
        }
    }
    Ok(all)
}

/// Builds the list of what should run; `None` when that is nothing. `spare` is memory of an earlier list, which the
/// firmware doesn't read any more.
pub(super) fn build<F: Firmware>(
    parts: &Arc<Parts>,
    entries: &[Entry<F>],
    spare: &mut Option<KernelBuf>,
) -> Result<Option<List>> {
    const SIZE: usize = 4;
    let running = running(entries)?;
    let processes = running.len();
    let queues = running.iter().map(|running| running.queues.len());
    let queues = queues.fold(0, usize::saturating_add);
    if queues == 0 {
        return Ok(None);
    }
    let vmids = parts.chip.family.vmids.iter().count();
    let (mut compute, mut gws) = (0u32, 0u32);
    for queue in running.iter().flat_map(|running| running.queues.iter()) {
        queue.with_spec(|spec| {
            compute = compute.saturating_add((spec.format != Format::Sdma).into());
            gws = gws.saturating_add(spec.gws.into());
        });
    }
    // Who shares nothing with others has the GPU alone (`pm_runlist_v9`).
    let at_once = if parts.isolates { 1 } else { vmids };
    let over = processes > vmids || compute > parts.chip.cp_queues() || gws > 1;
    let words = [
        processes.checked_mul(21),
        queues.checked_mul(7),
        Some(if over { SIZE } else { 0 }),
    ];
    let words = words
        .into_iter()
        .try_fold(0usize, |sum, words| sum.checked_add(words?))
        .ok_or(ENOMEM)?;
    let buf = memory(parts, spare, words.checked_mul(4).ok_or(ENOMEM)?)?;
    let mut at = 0usize;
    let mut write = |words: &[u32]| {
        let result = buf.write_slice(at, words);
        at = at.saturating_add(words.len());
        result
    };
    for running in running.iter() {
        write(&map_process(running, parts)?.0)?;
        for queue in running.queues.iter() {
            let mqd = queue.mqd_addr();
            write(&queue.with_spec(|spec| map_queue(spec, mqd, &parts.chip))?.0)?;
        }
    }
    let count = Bounded::try_new(processes.min(at_once) as u64).ok_or(EINVAL)?;
    if over {
        write(&run_list(buf.gpu_addr(), words, count, true)?.0)?;
    }
    let addr = buf.gpu_addr().get();
    trace::run_list_written(addr, words as u32, processes as u32, queues as u32, over);
    Ok(Some(List {
        buf,
        words,
        processes: count,
    }))
}

/// `pm_map_queues_v9`.
fn map_queue(spec: &QueueSpec, mqd_addr: GpuVa, chip: &ChipInfo) -> Result<MapQueues> {
    let (extended, engine) = spec.sdma.map_or((0, 0), |place| engine(place, chip));
    Ok(MapQueues::zeroed()
        .with(MapQueues::HEADER, pm4::header(op::MAP_QUEUES, 7))
        .having(MapQueues::QUEUE_SEL.is::<FIRMWARE_CHOOSES>())
        .having(MapQueues::NUM_QUEUES.is::<1>())
        .try_with(MapQueues::EXTENDED_ENGINE_SEL, extended)
        .ok_or(EINVAL)?
        .try_with(MapQueues::ENGINE_SEL, engine)
        .ok_or(EINVAL)?
        .with(MapQueues::GWS_CONTROL_QUEUE, spec.gws)
        .with(MapQueues::DOORBELL_OFFSET, spec.doorbell.in_register())
        .with(MapQueues::MQD_ADDR, mqd_addr.get())
        .with(MapQueues::WPTR_ADDR, spec.wptr.get()))
}

/// EXTENDED_ENGINE_SEL and ENGINE_SEL of a copy engine: the first two have numbers among the other
/// engines, unless the chip is so new (`pm_use_ext_eng`) that all of them have numbers of their own.
fn engine(place: SdmaPlace, chip: &ChipInfo) -> (u64, u64) {
    let engine = u64::from(place.engine);
    match engine {
        0 | 1 if chip.versions.sdma.ip() < IpVersion::new(5, 2, 0) => {
            (pm4::EXTENDED_NONE, pm4::ENGINE_SDMA0.saturating_add(engine))
        }
        0..=7 => (pm4::EXTENDED_SDMA0_TO_7, engine),
        _ => (pm4::EXTENDED_SDMA8_TO_15, engine % 8),
    }
}

/// `pm_map_process_aldebaran`.
fn map_process<F: Firmware>(running: &Running<'_, F>, parts: &Parts) -> Result<MapProcess> {
    let Running { entry, queues } = running;
    let (config, chip) = (&entry.config, &parts.chip);
    let [first, second, third, fourth] = config.watches;
    let gws = queues.iter().any(|queue| queue.with_spec(|spec| spec.gws));
    Ok(MapProcess::zeroed()
        .with(MapProcess::HEADER, pm4::header(op::MAP_PROCESS, 21))
        .having(MapProcess::PROCESS_QUANTUM.is::<PROCESS_QUANTUM>())
        .with(MapProcess::EXEC_CLEANER_SHADER, parts.isolates)
        .with(MapProcess::PASID, entry.process.pasid().get())
        .with(MapProcess::SDMA_ENABLE, true)
        .try_with(
            MapProcess::NUM_GWS,
            if gws { chip.family.gws.into() } else { 0 },
        )
        .ok_or(EINVAL)?
        .with(
            MapProcess::SPI_GDBG_PER_VMID_CNTL,
            config.spi_gdbg_per_vmid_cntl(),
        )
        .with(MapProcess::TCP_WATCH_CNTL_0, first)
        .with(MapProcess::TCP_WATCH_CNTL_1, second)
        .with(MapProcess::TCP_WATCH_CNTL_2, third)
        .with(MapProcess::TCP_WATCH_CNTL_3, fourth)
        .try_with(MapProcess::NUM_QUEUES, queues.len() as u64)
        .ok_or(EINVAL)?
        .with(MapProcess::SH_MEM_CONFIG, config.sh_mem_config)
        .with(MapProcess::SH_MEM_BASES, config.sh_mem_bases)
        .with(MapProcess::SQ_SHADER_TBA, config.tba.get() >> 8)
        .with(
            MapProcess::SQ_SHADER_TMA,
            if config.has_trap() {
                config.tma.get() >> 8
            } else {
                0
            },
        )
        .with(
            MapProcess::PAGE_TABLE_BASE,
            entry.process.vm().page_table_base().get(),
        ))
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
