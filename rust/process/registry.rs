// SPDX-License-Identifier: GPL-2.0

//! Which processes there are: by address space for open, by PASID for interrupts.
//!
//! The registry's mutex is a leaf. Opening has a mutex of its own, because making a process takes
//! the mmap lock.

use super::Process;
use crate::{
    glue::mmu_notifier::Watch,
    gpu,
    upcall::Pasid, //
};
use kernel::{
    current,
    prelude::*,
    rbtree::RBTree,
    sync::Arc, //
};

struct Registry {
    by_mm: RBTree<usize, Arc<Process>>,
    by_pasid: RBTree<u16, Arc<Process>>,
}

kernel::sync::global_lock! {
    // SAFETY: Initialised in `init`, which the module calls first.
    unsafe(uninit) static OPENING: Mutex<()> = ();
}
kernel::sync::global_lock! {
    // SAFETY: As above.
    unsafe(uninit) static REGISTRY: Mutex<Option<Registry>> = None;
}

/// To be called once, by the module's init.
pub(super) fn init() {
    // SAFETY: Called once.
    unsafe {
        OPENING.init();
        REGISTRY.init();
    }
    *REGISTRY.lock() = Some(Registry {
        by_mm: RBTree::new(),
        by_pasid: RBTree::new(),
    });
}

fn find(mm: usize) -> Option<Arc<Process>> {
    REGISTRY.lock().as_ref()?.by_mm.get(&mm).cloned()
}

/// The process of the caller's address space.
///
/// # Errors
///
/// EINVAL without an address space or without a GPU, as upstream's `kfd_create_process`.
pub(crate) fn find_or_create() -> Result<Arc<Process>> {
    let task = current!();
    let mm = task.mm().ok_or(EINVAL)?;
    let key = mm.as_raw() as usize;
    let _opening = OPENING.lock();
    let gpus = gpu::gpus()?;
    if gpus.is_empty() {
        return Err(EINVAL);
    }
    if let Some(process) = find(key) {
        return Ok(process);
    }
    let process = Process::new(mm, gpus)?;
    {
        let mut registry = REGISTRY.lock();
        let registry = registry.as_mut().ok_or(ENODEV)?;
        registry
            .by_mm
            .try_create_and_insert(key, process.clone(), GFP_KERNEL)?;
    }
    match Watch::new(mm, process.clone()) {
        Ok(watch) => {
            process.watch.populate(watch);
            Ok(process)
        }
        Err(e) => {
            process.forget();
            Err(e)
        }
    }
}

/// The process that has this PASID on a GPU.
pub(crate) fn by_pasid(pasid: Pasid) -> Option<Arc<Process>> {
    REGISTRY
        .lock()
        .as_ref()?
        .by_pasid
        .get(&pasid.get())
        .cloned()
}

/// Calls `f` with every process.
pub(crate) fn for_each(mut f: impl FnMut(&Arc<Process>)) {
    // One at a time, so that `f` runs without the registry's mutex.
    let mut next = 0;
    loop {
        let found = {
            let registry = REGISTRY.lock();
            registry.as_ref().and_then(|registry| {
                let cursor = registry.by_mm.cursor_lower_bound(&next)?;
                let (mm, process) = cursor.current();
                Some((*mm, process.clone()))
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
pub(crate) fn is_pid(pid: i32) -> bool {
    let mut found = false;
    for_each(|process| found |= pid > 0 && process.lead.tgid_nr_ns(None) == pid);
    found
}

impl Process {
    /// Makes interrupts with this PASID find the process.
    pub(super) fn register_pasid(self: &Arc<Self>, pasid: Pasid) -> Result {
        let mut registry = REGISTRY.lock();
        let registry = registry.as_mut().ok_or(ENODEV)?;
        registry
            .by_pasid
            .try_create_and_insert(pasid.get(), self.clone(), GFP_KERNEL)?;
        Ok(())
    }

    /// Undoes it.
    pub(super) fn unregister_pasid(&self, pasid: Pasid) {
        let removed = {
            let mut registry = REGISTRY.lock();
            registry
                .as_mut()
                .and_then(|registry| registry.by_pasid.remove(&pasid.get()))
        };
        drop(removed);
    }

    /// Makes the process unfindable.
    pub(super) fn forget(&self) {
        let removed = {
            let mut registry = REGISTRY.lock();
            match registry.as_mut() {
                // Another process may have this address by now.
                Some(registry)
                    if registry
                        .by_mm
                        .get(&self.mm)
                        .is_some_and(|p| core::ptr::eq(&**p, self)) =>
                {
                    registry.by_mm.remove(&self.mm)
                }
                _ => None,
            }
        };
        drop(removed);
    }
}
