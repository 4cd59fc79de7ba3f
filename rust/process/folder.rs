// SPDX-License-Identifier: GPL-2.0

//! A process' folder in sysfs, `/sys/class/kfd/kfd/proc/PID`: what it takes of each GPU, and its queues. And the one in
//! debugfs, `kfd/proc/PID`: its PASIDs.
//!
//! Its files wait for nobody: what only the process' state has is EBUSY while somebody else has that. Removing a folder
//! waits for its readers, which so end soon.
//!
//! Names and formats are upstream's (`kfd_create_process_sysfs` and `kfd_procfs_show` of `kfd_process.c`,
//! `kfd_debugfs_add_process` of `kfd_debugfs.c`); `pasid` in sysfs is 0 there as well. Not here is
//! `counters_`, which GPUs with shared virtual memory have.

use super::Process;
use crate::{
    counts::Usage,
    glue::kobject::{
        Dir,
        Empty,
        File,
        Show,
        Text, //
    },
    types::{
        Format,
        GpuId,
        QueueId, //
    }, //
};
use core::{
    fmt::Write,
    num::NonZero, //
};
use kernel::{
    debugfs,
    fmt,
    prelude::*,
    str::CString,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// Upstream shows what copy queues did in units of 100 of their counters (`SDMA_ACTIVITY_DIVISOR`).
const SDMA_DIVISOR: u64 = 100;

/// Where processes have their folders.
pub(crate) struct Places {
    pub(crate) sysfs: Dir,
    pub(crate) debugfs: debugfs::Dir,
}

/// A process' folders; removed when dropped. Fields are removed in this order, children first.
pub(super) struct Folder {
    _pasids: KVec<Pin<KBox<debugfs::File<Arc<Usage>>>>>,
    _debug: debugfs::Dir,
    _stats: KVec<Dir>,
    queues: Dir,
    _root: Dir,
}

/// A file about a GPU: what it shows, and the index of the process' device.
#[derive(Clone, Copy)]
enum About {
    Vram(usize),
    Sdma(usize),
}

/// The files of the folder itself.
struct Root {
    process: Arc<Process>,
    files: KVec<About>,
}

static ROOT_FILES: [File; 1] = [File::new(c"pasid")];

impl Show for Root {
    fn files() -> &'static [File] {
        &ROOT_FILES
    }

    fn show(&self, file: usize, out: &mut Text<'_>) -> Result {
        let value = match file.checked_sub(ROOT_FILES.len()) {
            None => 0,
            Some(own) => match *self.files.get(own).ok_or(EINVAL)? {
                About::Vram(index) => {
                    let device = self.process.devices().get(index).ok_or(EINVAL)?;
                    device.usage.vram()
                }
                About::Sdma(index) => self.process.copied(index).ok_or(EBUSY)? / SDMA_DIVISOR,
            },
        };
        writeln!(out, "{value}").map_err(|_| EINVAL)
    }
}

/// `stats_GPU-ID`: of the process' device with this index.
struct Stats(Arc<Process>, usize);

static STATS_FILES: [File; 2] = [File::new(c"evicted_ms"), File::new(c"cu_occupancy")];

impl Show for Stats {
    fn files() -> &'static [File] {
        &STATS_FILES
    }

    fn show(&self, file: usize, out: &mut Text<'_>) -> Result {
        let value = match file {
            0 => {
                let device = self.0.devices().get(self.1).ok_or(EINVAL)?;
                device.usage.evicted_ms()
            }
            _ => self.0.occupied(self.1).ok_or(EBUSY)?.into(),
        };
        writeln!(out, "{value}").map_err(|_| EINVAL)
    }
}

/// `pasid_GPU-ID` in debugfs.
fn pasid(usage: &Arc<Usage>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{}", usage.pasid())
}

/// What a queue's folder shows.
pub(crate) struct QueueFacts {
    pub(crate) gpu: GpuId,
    /// As `enum kfd_queue_type` has it.
    pub(crate) kind: u32,
    /// Bytes of its ring.
    pub(crate) size: Atomic<u64>,
}

/// The files of `queues/ID`.
struct QueueFiles(Arc<QueueFacts>);

static QUEUE_FILES: [File; 3] = [File::new(c"gpuid"), File::new(c"size"), File::new(c"type")];

impl Show for QueueFiles {
    fn files() -> &'static [File] {
        &QUEUE_FILES
    }

    /// Without the end of a line, as upstream.
    fn show(&self, file: usize, out: &mut Text<'_>) -> Result {
        let value = match file {
            0 => self.0.gpu.get().into(),
            1 => self.0.size.load(Relaxed),
            _ => self.0.kind.into(),
        };
        write!(out, "{value}").map_err(|_| EINVAL)
    }
}

impl Folder {
    /// Makes the folders of a process in those of all.
    pub(super) fn new(places: &Places, process: &Arc<Process>) -> Result<Self> {
        let (mut names, mut files) = (KVec::new(), KVec::new());
        for (index, device) in process.devices().iter().enumerate() {
            let id = device.gpu.id().get();
            names.push(
                CString::try_from_fmt(fmt!("vram_{id}"))?,
                GFP_KERNEL_ACCOUNT,
            )?;
            files.push(About::Vram(index), GFP_KERNEL_ACCOUNT)?;
            names.push(
                CString::try_from_fmt(fmt!("sdma_{id}"))?,
                GFP_KERNEL_ACCOUNT,
            )?;
            files.push(About::Sdma(index), GFP_KERNEL_ACCOUNT)?;
        }
        let name = CString::try_from_fmt(fmt!("{}", process.who.tgid))?;
        let data = Root {
            process: process.clone(),
            files,
        };
        let root = places.sysfs.subdir_with(&name, data, names)?;
        let queues = root.subdir(c"queues", Empty)?;
        let mut stats = KVec::new();
        for (index, device) in process.devices().iter().enumerate() {
            let name = CString::try_from_fmt(fmt!("stats_{}", device.gpu.id().get()))?;
            let its = root.subdir(&name, Stats(process.clone(), index))?;
            stats.push(its, GFP_KERNEL_ACCOUNT)?;
        }
        let debug = places.debugfs.subdir(&name);
        let mut pasids = KVec::new();
        for device in process.devices() {
            let name = CString::try_from_fmt(fmt!("pasid_{}", device.gpu.id().get()))?;
            let file = debug.read_callback_file(&name, device.usage.clone(), &pasid);
            pasids.push(
                KBox::pin_init(file, GFP_KERNEL_ACCOUNT)?,
                GFP_KERNEL_ACCOUNT,
            )?;
        }
        Ok(Self {
            _pasids: pasids,
            _debug: debug,
            _stats: stats,
            queues,
            _root: root,
        })
    }

    fn queue(&self, id: QueueId, facts: &Arc<QueueFacts>) -> Result<Dir> {
        let name = CString::try_from_fmt(fmt!("{}", id.get()))?;
        self.queues.subdir(&name, QueueFiles(facts.clone()))
    }
}

impl Process {
    /// What its copy queues on a device did, as these count; `None` while somebody else has the process' state.
    fn copied(&self, index: usize) -> Option<u64> {
        let device = self.devices().get(index)?;
        self.try_with(|state| {
            let queues = state.queues.iter().map(|(_, queue)| queue);
            let mine = queues.filter(|queue| queue.device == index);
            let its = state.devices.get(index);
            let counts = mine.filter_map(|queue| its?.count_of_copies(&device.gpu, queue));
            counts.fold(device.usage.copied(), u64::wrapping_add)
        })
    }

    /// Compute units that its waves would fill on a device (`kfd_get_cu_occupancy`); `None` while somebody else has
    /// the process' state, or looks at hardware queues. Waves are counted on the first XCC, and those of AQL queues,
    /// which all XCCs share, as many times as there are XCCs.
    fn occupied(&self, index: usize) -> Option<u32> {
        let device = self.devices().get(index)?;
        let (gpu, chip) = (&device.gpu, device.gpu.chip());
        self.try_with(|state| {
            let queues = state.queues.iter().map(|(_, queue)| queue);
            let mut mine = queues.filter(|queue| queue.device == index).peekable();
            if mine.peek().is_none() {
                return Some(0);
            }
            let mut shown = KVec::new();
            for queue in mine {
                shown.push(queue.hw.try_show()?, GFP_KERNEL_ACCOUNT).ok()?;
            }
            let mut waves = 0_u32;
            gpu.gfx().try_occupancy(chip, |doorbell, count| {
                let its = shown.iter().find(|its| its.doorbell.get() == doorbell);
                let count = match its.map(|its| its.format) {
                    Some(Format::Pm4) => count,
                    Some(_) => count.saturating_mul(chip.num_xcc),
                    None => 0,
                };
                waves = waves.saturating_add(count);
            })?;
            let each = chip.waves_per_simd.checked_mul(chip.family.simd_per_cu)?;
            NonZero::new(each).map(|each| waves.div_ceil(each.get()))
        })?
    }

    /// Shows a new queue. Like upstream, the queue works without its folder.
    pub(crate) fn show_queue(&self, id: QueueId, facts: &Arc<QueueFacts>) -> Option<Dir> {
        self.folder.lock().as_ref()?.queue(id, facts).ok()
    }

    /// Removes the folder. No queue has one any more.
    pub(crate) fn hide(&self) {
        let folder = self.folder.lock().take();
        if folder.is_some() {
            drop(folder);
            self.processes.hidden(self);
        }
    }
}
