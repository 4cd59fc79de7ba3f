// SPDX-License-Identifier: GPL-2.0

//! Which processes there are: by address space for open, by PASID for interrupts; and what they
//! share.
//!
//! The tables' mutex is a leaf, under which nothing is allocated or freed: interrupts take it.
//! The list of processes that have a folder in sysfs has a mutex of its own, a leaf, too. While a process is made none is
//! held, because that takes the mmap lock, which a program can keep.

use super::{
    folder::{
        Folder,
        Places, //
    },
    user::Works,
    Process, //
};
use crate::{
    counts::Counts,
    glue::mmu_notifier::Watch,
    gpu::Gpus,
    limit::SystemMemory,
    smi::Clients,
    types::Pasid,
    vm::pasid::Pasids, //
};
use kernel::{
    current,
    mm::MmWithUser,
    new_mutex,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNode, //
    },
    sync::{
        Arc,
        Mutex, //
    },
    task::Task, //
};

/// What all processes share.
pub(crate) struct Shared {
    pub(crate) gpus: Arc<Gpus>,
    pub(crate) pasids: Arc<Pasids>,
    pub(crate) memory: Arc<SystemMemory>,
    pub(crate) clients: Arc<Clients>,
    pub(crate) works: Arc<Works>,
    pub(crate) counts: Arc<Counts>,
}

struct Tables {
    by_mm: RBTree<usize, Arc<Process>>,
    by_pasid: RBTree<Pasid, Arc<Process>>,
}

/// The processes.
#[pin_data]
pub(crate) struct Processes {
    shared: Shared,
    /// Where processes are shown; held while one is.
    #[pin]
    places: Mutex<Option<Places>>,
    /// The processes that have a folder, by the number that is its name.
    #[pin]
    shown: Mutex<RBTree<i32, ()>>,
    #[pin]
    tables: Mutex<Tables>,
}

impl Processes {
    /// None yet.
    pub(crate) fn new(shared: Shared) -> Result<Arc<Self>> {
        let tables = Tables {
            by_mm: RBTree::new(),
            by_pasid: RBTree::new(),
        };
        Arc::pin_init(
            pin_init!(Self {
                shared,
                places <- new_mutex!(None, "rkfd places"),
                shown <- new_mutex!(RBTree::new(), "rkfd shown processes"),
                tables <- new_mutex!(tables, "rkfd processes"),
            }),
            GFP_KERNEL,
        )
    }

    /// What all of them share.
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn find(&self, mm: usize) -> Option<Arc<Process>> {
        self.tables.lock().by_mm.get(&mm).cloned()
    }

    /// The process of an address space.
    pub(crate) fn by_mm(&self, mm: &MmWithUser) -> Option<Arc<Process>> {
        self.find(mm.as_raw() as usize)
    }

    /// The process of the caller's address space.
    ///
    /// # Errors
    ///
    /// EINVAL without an address space or without a GPU that has its render node, as upstream's `kfd_create_process`;
    /// EINTR when the caller is killed meanwhile; ENOMEM.
    ///
    /// A new process has the GPUs that its cgroup permits now (`kfd_init_apertures`).
    pub(crate) fn find_or_create(self: &Arc<Self>) -> Result<Arc<Process>> {
        let task = current!();
        self.of(task, task.mm().ok_or(EINVAL)?)
    }

    /// As [`find_or_create`](Self::find_or_create), of another task and its address space.
    ///
    /// # Errors
    ///
    /// ESRCH when the task has ended, and those of that.
    pub(crate) fn of(self: &Arc<Self>, task: &Task, mm: &MmWithUser) -> Result<Arc<Process>> {
        let key = mm.as_raw() as usize;
        let mut gpus = self.shared.gpus.all()?;
        // A process keeps the GPUs that it begins with, and nobody is permitted one without a node.
        gpus.retain(|gpu| gpu.has_node());
        if gpus.is_empty() {
            return Err(EINVAL);
        }
        if let Some(process) = self.find(key) {
            return Ok(process);
        }
        gpus.retain(|gpu| gpu.is_permitted());
        let process = Process::new(self, task, mm, gpus)?;
        let node = RBTreeNode::new(key, process.clone(), GFP_KERNEL_ACCOUNT)?;
        // The address space has users, so it doesn't go before it is known.
        process.watch.populate(Watch::new(mm, process.clone())?);
        if let Some(faster) = self.add(key, node) {
            process.unwatch();
            return Ok(faster);
        }
        // Those that went before it was known.
        for device in process.devices() {
            let there = self.shared.gpus.lookup(device.gpu.id());
            if !there.is_some_and(|gpu| Arc::ptr_eq(&gpu, &device.gpu)) {
                process.device_lost(&device.gpu);
            }
        }
        let places = self.places.lock();
        // Like upstream, it works without.
        let _ = places.as_ref().map(|places| self.show(places, &process));
        drop(places);
        Ok(process)
    }

    /// Makes a process findable, unless another thread has made one of the same address space: that one.
    fn add(&self, key: usize, node: RBTreeNode<usize, Arc<Process>>) -> Option<Arc<Process>> {
        let mut tables = self.tables.lock();
        let known = tables.by_mm.get(&key).cloned();
        if known.is_some() {
            drop(tables);
            drop(node);
            return known;
        }
        let replaced = tables.by_mm.insert(node);
        drop(tables);
        drop(replaced);
        None
    }

    /// Sets where processes are shown from now on; without that none is. Those that there are keep their folders, which
    /// must be gone before the places go.
    pub(crate) fn show_in(&self, places: Option<Places>) {
        let old = core::mem::replace(&mut *self.places.lock(), places);
        drop(old);
    }

    /// Makes a new process' folder.
    ///
    /// # Errors
    ///
    /// EEXIST while a process by that number, which has begun another program, still has one; ENOMEM.
    fn show(&self, places: &Places, process: &Arc<Process>) -> Result {
        let node = RBTreeNode::new(process.who.tgid, (), GFP_KERNEL_ACCOUNT)?;
        {
            let mut shown = self.shown.lock();
            if shown.get(&process.who.tgid).is_some() {
                return Err(EEXIST);
            }
            shown.insert(node);
        }
        match Folder::new(places, process) {
            Ok(folder) => {
                *process.folder.lock() = Some(folder);
                Ok(())
            }
            Err(error) => {
                self.hidden(process);
                Err(error)
            }
        }
    }

    /// A process' folder is gone.
    pub(super) fn hidden(&self, process: &Process) {
        let removed = self.shown.lock().remove_node(&process.who.tgid);
        drop(removed);
    }

    /// The process that has this PASID on a GPU.
    pub(crate) fn by_pasid(&self, pasid: Pasid) -> Option<Arc<Process>> {
        self.tables.lock().by_pasid.get(&pasid).cloned()
    }

    /// Calls `f` with every process.
    pub(crate) fn for_each(&self, mut f: impl FnMut(&Arc<Process>)) {
        // One at a time, so that `f` runs without the tables' mutex.
        let mut next = 0;
        loop {
            let found = {
                let tables = self.tables.lock();
                tables.by_mm.cursor_lower_bound(&next).map(|cursor| {
                    let (mm, process) = cursor.current();
                    (*mm, process.clone())
                })
            };
            let Some((mm, process)) = found else { return };
            f(&process);
            match mm.checked_add(1) {
                Some(mm) => next = mm,
                None => return,
            }
        }
    }

    /// Whether some process has this pid in the caller's namespace.
    pub(crate) fn is_pid(&self, pid: i32) -> bool {
        let mut found = false;
        self.for_each(|process| found |= pid > 0 && process.lead.tgid_nr_ns(None) == pid);
        found
    }

    /// Makes interrupts with this PASID find a process.
    pub(crate) fn register_pasid(&self, process: &Arc<Process>, pasid: Pasid) -> Result {
        let node = RBTreeNode::new(pasid, process.clone(), GFP_KERNEL_ACCOUNT)?;
        let replaced = self.tables.lock().by_pasid.insert(node);
        drop(replaced);
        Ok(())
    }

    /// Undoes it.
    pub(crate) fn unregister_pasid(&self, pasid: Pasid) {
        let removed = self.tables.lock().by_pasid.remove_node(&pasid);
        drop(removed);
    }

    /// Makes a process unfindable.
    pub(crate) fn forget(&self, process: &Process) {
        let removed = {
            let mut tables = self.tables.lock();
            // Another process may have this address by now.
            let same = tables.by_mm.get(&process.mm);
            match same.is_some_and(|p| core::ptr::eq(&**p, process)) {
                true => tables.by_mm.remove_node(&process.mm),
                false => None,
            }
        };
        drop(removed);
    }
}
