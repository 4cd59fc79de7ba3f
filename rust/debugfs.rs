// SPDX-License-Identifier: GPL-2.0

//! debugfs: how many of each thing there are, to see that nothing leaks; upstream's files, which show
//! queues as the memory and the hardware have them; what upstream doesn't show of queues and GPUs; what each GPU lists
//! of itself; and jobs of the kernel's on request.

use crate::process::Processes;
use kernel::{
    debugfs,
    fmt,
    prelude::*,
    sync::Arc, //
};

mod gpus;
mod hardware;
mod kfd;
mod queues;
mod submit;
mod tables;

use submit::Submitter;
use tables::Tables;

/// `rkfd/counts`.
fn counts(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (name, number) in processes.shared().counts.iter() {
        writeln!(f, "{name} {number}")?;
    }
    Ok(())
}

/// `rkfd/evictions`: how often each process was evicted, how many of these evictions last, and how long the others
/// took.
fn evictions(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut result = Ok(());
    processes.for_each(|process| {
        for device in process.devices() {
            let (all, lasting, ms) = device.usage.evictions();
            let (tgid, gpu) = (process.who.tgid, device.gpu.id().get());
            result = result.and(writeln!(
                f,
                "process {tgid} gpu {gpu} evictions {all} lasting {lasting} ended_ms {ms}"
            ));
        }
    });
    result
}

/// Writes words, eight a row, with addresses that begin with `first` (`seq_hex_dump`, `seq_reg_dump`).
fn rows(
    f: &mut fmt::Formatter<'_>,
    indent: &str,
    first: u32,
    words: impl Iterator<Item = u32>,
) -> fmt::Result {
    let mut bytes = 0_u32;
    for word in words {
        match bytes % 32 {
            0 => write!(f, "{indent}{:08x}: {word:08x}", first.wrapping_add(bytes))?,
            28 => writeln!(f, " {word:08x}")?,
            _ => write!(f, " {word:08x}")?,
        }
        bytes = bytes.wrapping_add(4);
    }
    match bytes % 32 {
        0 => Ok(()),
        _ => writeln!(f),
    }
}

/// A file that shows something of the processes.
type File = debugfs::File<Arc<Processes>>;

/// The folders `rkfd` and `kfd` in debugfs.
#[pin_data]
pub(crate) struct DebugFs {
    #[pin]
    counts: File,
    #[pin]
    queues: File,
    #[pin]
    waves: File,
    #[pin]
    evictions: File,
    #[pin]
    vmids: File,
    #[pin]
    doorbells: File,
    #[pin]
    tlb: File,
    #[pin]
    work: File,
    #[pin]
    scheduler: File,
    #[pin]
    mqds: File,
    #[pin]
    hqds: File,
    #[pin]
    rls: File,
    #[pin]
    mem_limit: File,
    #[pin]
    submit: debugfs::File<Submitter>,
    #[pin]
    hang_hws: File,
    #[pin]
    tables: Tables,
    _rkfd: debugfs::Dir,
    /// Where processes have folders.
    proc: debugfs::Dir,
    _kfd: debugfs::Dir,
}

impl DebugFs {
    /// The folder in which processes have theirs.
    pub(crate) fn proc(&self) -> debugfs::Dir {
        self.proc.clone()
    }

    /// The folders of GPUs.
    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Makes the files. Without debugfs in the kernel there are none, which is no error.
    pub(crate) fn new(processes: &Arc<Processes>) -> impl PinInit<Self> + '_ {
        let of = || processes.clone();
        let rkfd = debugfs::Dir::new(c"rkfd");
        let kfd = debugfs::Dir::new(c"kfd");
        pin_init!(Self {
            counts <- rkfd.read_callback_file(c"counts", of(), &counts),
            queues <- rkfd.read_callback_file(c"queues", of(), &queues::queues),
            waves <- rkfd.read_callback_file(c"waves", of(), &queues::waves),
            evictions <- rkfd.read_callback_file(c"evictions", of(), &evictions),
            vmids <- rkfd.read_callback_file(c"vmids", of(), &hardware::vmids),
            doorbells <- rkfd.read_callback_file(c"doorbells", of(), &hardware::doorbells),
            tlb <- rkfd.read_callback_file(c"tlb", of(), &hardware::tlb),
            work <- rkfd.read_callback_file(c"work", of(), &hardware::work),
            scheduler <- rkfd.read_callback_file(c"scheduler", of(), &hardware::scheduler),
            mqds <- kfd.read_callback_file(c"mqds", of(), &kfd::mqds),
            hqds <- kfd.read_callback_file(c"hqds", of(), &kfd::hqds),
            rls <- kfd.read_callback_file(c"rls", of(), &kfd::rls),
            mem_limit <- kfd.read_callback_file(c"mem_limit", of(), &kfd::mem_limit),
            submit <- rkfd.read_write_callback_file(
                c"submit",
                Submitter::new(processes),
                &submit::last,
                &submit::submit,
            ),
            hang_hws <- kfd.write_callback_file(c"hang_hws", of(), &kfd::hang_hws),
            tables <- Tables::new(rkfd.clone()),
            _rkfd: rkfd,
            proc: kfd.subdir(c"proc"),
            _kfd: kfd,
        })
    }
}
