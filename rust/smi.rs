// SPDX-License-Identifier: GPL-2.0

//! Management events (SMI_EVENTS): lines of text about what happens on a GPU.
//!
//! Each client has a file with a mask of the events it wants, which it writes, and room for some
//! text, which it reads. What doesn't fit is lost.
//!
//! Clients are sorted by who may read what: an event is offered to the files of the program that it is
//! about and to those of administrators, and nobody walks the files of other programs. Only a reset of
//! the GPU is everybody's.
//!
//! Source: Linux, `amdkfd/kfd_smi_events.c`. Thermal throttling and migration never happen here, so no
//! line reports them.
//!
//! Lock order: clients -> a client's text, both leaves.

use crate::{
    glue::{
        anon_file::{
            self,
            AnonFile,
            Fops, //
        },
        linux::{
            self,
            Pollers, //
        },
        user, //
    },
    gpu::Gpu,
    uapi::smi as abi, //
};
use kernel::{
    fmt,
    fs::File,
    new_mutex,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNodeReservation, //
    },
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        poll::PollTable,
        Arc,
        Mutex, //
    },
    uaccess::{
        UserSliceReader,
        UserSliceWriter, //
    }, //
};

/// Bytes of text that a client may leave unread (`KFD_MAX_KFIFO_SIZE`).
const ROOM: usize = 8192;

/// Files that a program may have open for a GPU at a time, unless it is an administrator's. Upstream's
/// only limit is the number of descriptors.
const MAX_FILES: usize = 1024;

/// A program as events name it.
#[derive(Clone, Copy)]
pub(crate) struct Who {
    /// Its number in the first PID namespace: unique, and good after it exited.
    pub(crate) tgid: i32,
    /// Its number as it sees it itself.
    pub(crate) pid: i32,
    pub(crate) name: [u8; 16],
}

impl Who {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        let bytes = self.name.split(|byte| *byte == 0).next().unwrap_or(&[]);
        core::str::from_utf8(bytes).unwrap_or("?")
    }
}

static FOPS: Fops = Fops::new::<Client>();

/// By what events are offered to a client: whose it may read, on which GPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Scope {
    /// The program's number in the first PID namespace; `None` for all programs.
    tgid: Option<i32>,
    gpu_id: u16,
}

/// The open files, each with a number of its own.
struct Files {
    by_scope: RBTree<(Scope, u64), Arc<Client>>,
    next: u64,
}

impl Files {
    /// Calls `f` with each file of a scope.
    fn each(&mut self, scope: Scope, mut f: impl FnMut(&Client)) {
        let mut next = self.by_scope.cursor_lower_bound_mut(&(scope, 0));
        while let Some(at) = next {
            let (key, client) = at.current();
            if key.0 != scope {
                return;
            }
            f(client);
            next = at.move_next();
        }
    }

    /// Calls `f` with each file of a GPU.
    fn each_of(&self, gpu_id: u16, f: impl Fn(&Client)) {
        let all = self.by_scope.iter();
        all.filter(|((scope, _), _)| scope.gpu_id == gpu_id)
            .for_each(|(_, client)| f(client));
    }
}

/// The open files of the module.
#[pin_data]
pub(crate) struct Clients {
    #[pin]
    files: Mutex<Files>,
}

/// An open file.
#[pin_data]
struct Client {
    clients: Arc<Clients>,
    scope: Scope,
    /// Its number among the files; 0 until it has one.
    number: Atomic<u64>,
    mask: Atomic<u64>,
    #[pin]
    text: Mutex<KVec<u8>>,
    news: Pollers,
}

impl Clients {
    /// None yet.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let files = Files {
            by_scope: RBTree::new(),
            next: 1,
        };
        Arc::pin_init(
            pin_init!(Self { files <- new_mutex!(files, "rkfd event clients") }),
            GFP_KERNEL,
        )
    }

    /// Opens a file of a GPU's events and returns its descriptor (`kfd_smi_event_open`).
    ///
    /// # Errors
    ///
    /// EMFILE when the program has [`MAX_FILES`] or no descriptor is left, ENOMEM.
    pub(crate) fn open(self: &Arc<Self>, gpu: &Gpu) -> Result<u32> {
        let text = KVec::with_capacity(ROOM, GFP_KERNEL_ACCOUNT)?;
        let scope = Scope {
            tgid: (!user::is_admin()).then(user::this_tgid),
            gpu_id: gpu.id().get(),
        };
        let news = linux::pollers(c"rkfd events")?;
        let client = Arc::pin_init(
            pin_init!(Client {
                clients: self.clone(),
                scope,
                number: Atomic::new(0),
                mask: Atomic::new(0),
                text <- new_mutex!(text, "rkfd events"),
                news,
            }),
            GFP_KERNEL_ACCOUNT,
        )?;
        self.add(&client)?;
        anon_file::open(c"kfd_smi_ev", client.clone()).inspect_err(|_| self.forget(&client))
    }

    fn add(&self, client: &Arc<Client>) -> Result {
        let reserved = RBTreeNodeReservation::new(GFP_KERNEL_ACCOUNT)?;
        let mut files = self.files.lock();
        let mut open = 0usize;
        files.each(client.scope, |_| open = open.saturating_add(1));
        if client.scope.tgid.is_some() && open >= MAX_FILES {
            return Err(EMFILE);
        }
        let number = files.next;
        files.next = number.wrapping_add(1);
        client.number.store(number, Relaxed);
        let node = reserved.into_node((client.scope, number), client.clone());
        files.by_scope.insert(node);
        Ok(())
    }

    fn forget(&self, client: &Client) {
        let key = (client.scope, client.number.load(Relaxed));
        let removed = self.files.lock().by_scope.remove_node(&key);
        drop(removed);
    }
}

impl AnonFile for Client {
    fn fops() -> &'static Fops {
        &FOPS
    }

    fn read(&self, mut to: UserSliceWriter) -> Result<usize> {
        let size = to.len().min(ROOM);
        let mut bytes = KVec::with_capacity(size, GFP_KERNEL_ACCOUNT)?;
        {
            let mut text = self.text.lock();
            let first = text.get(..size.min(text.len())).ok_or(EAGAIN)?;
            if first.is_empty() {
                return Err(EAGAIN);
            }
            let taken = first.len();
            bytes.extend_from_slice(first, GFP_KERNEL)?;
            text.copy_within(taken.., 0);
            let left = text.len().saturating_sub(taken);
            text.truncate(left);
        }
        to.write_slice(&bytes)?;
        Ok(bytes.len())
    }

    fn write(&self, mut from: UserSliceReader) -> Result<usize> {
        let mask = from.read::<u64>()?;
        self.mask.store(mask, Relaxed);
        Ok(core::mem::size_of::<u64>())
    }

    fn readable(&self, file: &File, table: &PollTable<'_>) -> bool {
        table.register_wait(file, &self.news);
        !self.text.lock().is_empty()
    }

    fn closed(this: Arc<Self>) {
        this.clients.forget(&this);
    }
}

impl Client {
    /// Keeps a line about an event, if it wants such and there is room.
    fn take(&self, event: u32, line: &[u8]) {
        if self.mask.load(Relaxed) & abi::event_mask(event) == 0 {
            return;
        }
        {
            let mut text = self.text.lock();
            if text.len().saturating_add(line.len()) > ROOM {
                return;
            }
            // There is room.
            let _ = text.extend_from_slice(line, GFP_KERNEL);
        }
        self.news.notify_all();
    }
}

/// A line of text.
struct Line {
    bytes: [u8; abi::SMI_EVENT_MSG_SIZE as usize],
    len: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (to, from) in self.bytes.iter_mut().skip(self.len).zip(text.as_bytes()) {
            *to = *from;
            self.len = self.len.saturating_add(1);
        }
        Ok(())
    }
}

impl Clients {
    /// Gives a line to every client that wants such events. `tgid` is the program that it is
    /// about: other programs may not read it. 0 is the GPU, of which every program may read.
    fn publish(&self, gpu: &Gpu, event: u32, tgid: i32, line: fmt::Arguments<'_>) {
        let mut buffer = Line {
            bytes: [0; abi::SMI_EVENT_MSG_SIZE as usize],
            len: 0,
        };
        // What is too long is cut, as upstream's.
        let _ = fmt::Write::write_fmt(&mut buffer, fmt!("{:x} {}", event, line));
        let Some(line) = buffer.bytes.get(..buffer.len) else {
            return;
        };
        let gpu_id = gpu.id().get();
        let mut files = self.files.lock();
        if tgid == 0 {
            files.each_of(gpu_id, |client| client.take(event, line));
            return;
        }
        for tgid in [Some(tgid), None] {
            files.each(Scope { tgid, gpu_id }, |client| client.take(event, line));
        }
    }

    /// A program made the GPU fault.
    pub(crate) fn vm_fault(&self, gpu: &Gpu, who: &Who) {
        self.publish(
            gpu,
            abi::SMI_EVENT_VMFAULT,
            who.tgid,
            fmt!("{:x}:{}\n", who.pid, who.name()),
        );
    }

    /// The GPU is about to be reset for the `number`th time, or `done`: it was
    /// (`kfd_smi_event_update_gpu_reset`, which names no cause afterwards).
    pub(crate) fn gpu_reset(&self, gpu: &Gpu, number: u32, done: bool) {
        let (event, cause) = match done {
            false => (abi::SMI_EVENT_GPU_PRE_RESET, gpu.scheduler().hang_name()),
            true => (abi::SMI_EVENT_GPU_POST_RESET, ""),
        };
        self.publish(gpu, event, 0, fmt!("{:x} {}\n", number, cause));
    }

    /// Queues were evicted because memory of the program's changes.
    pub(crate) fn evicted(&self, gpu: &Gpu, who: &Who) {
        self.queues_evicted(gpu, who, abi::EVICTION_TRIGGER_USERPTR);
    }

    /// Queues were evicted because memory is moved that they can reach.
    pub(crate) fn displaced(&self, gpu: &Gpu, who: &Who) {
        self.queues_evicted(gpu, who, abi::EVICTION_TRIGGER_TTM);
    }

    fn queues_evicted(&self, gpu: &Gpu, who: &Who, why: u32) {
        let (now, id) = (user::boottime_ns(), gpu.id().get());
        self.publish(
            gpu,
            abi::SMI_EVENT_QUEUE_EVICTION,
            who.tgid,
            fmt!("{} -{} {:x} {}\n", now, who.pid, id, why),
        );
    }

    /// They run again; or, with `later`, couldn't yet.
    pub(crate) fn restored(&self, gpu: &Gpu, who: &Who, later: bool) {
        let (now, id) = (user::boottime_ns(), gpu.id().get());
        let how = if later { 'R' } else { '0' };
        self.publish(
            gpu,
            abi::SMI_EVENT_QUEUE_RESTORE,
            who.tgid,
            fmt!("{} -{} {:x} {}\n", now, who.pid, id, how),
        );
    }

    /// A program takes an address space of the GPU, or gives it up.
    pub(crate) fn process(&self, gpu: &Gpu, who: &Who, start: bool) {
        let event = match start {
            true => abi::SMI_EVENT_PROCESS_START,
            false => abi::SMI_EVENT_PROCESS_END,
        };
        self.publish(gpu, event, who.tgid, fmt!("{:x} {}\n", who.pid, who.name()));
    }
}
