// SPDX-License-Identifier: GPL-2.0

//! The GPUs that are there, in order of probe.

use super::{Gpu, GpuId};
use kernel::{prelude::*, sync::Arc};

kernel::sync::global_lock! {
    // SAFETY: `init` is called once, by the module's initialiser, before any use.
    unsafe(uninit) static GPUS: Mutex<KVec<Arc<Gpu>>> = KVec::new();
}

/// Prepares the list. Called once, by the module's initialiser.
pub(crate) fn init() {
    // SAFETY: Called once, before any use of the list.
    unsafe { GPUS.init() };
}

/// All GPUs.
pub(crate) fn gpus() -> Result<KVec<Arc<Gpu>>> {
    let list = GPUS.lock();
    let mut all = KVec::with_capacity(list.len(), GFP_KERNEL)?;
    for gpu in list.iter() {
        all.push(gpu.clone(), GFP_KERNEL)?;
    }
    Ok(all)
}

/// The GPU with an id that a user program gave.
pub(crate) fn lookup(id: u32) -> Option<Arc<Gpu>> {
    GPUS.lock()
        .iter()
        .find(|gpu| u32::from(gpu.id().get()) == id)
        .cloned()
}

/// Adds a GPU.
pub(super) fn add(gpu: &Arc<Gpu>) -> Result {
    Ok(GPUS.lock().push(gpu.clone(), GFP_KERNEL)?)
}

/// Takes a GPU off the list.
pub(super) fn remove(gpu: &Arc<Gpu>) {
    let mut list = GPUS.lock();
    if let Some(at) = list.iter().position(|other| Arc::ptr_eq(other, gpu)) {
        let _ = list.remove(at);
    }
    if list.is_empty() {
        // A static is never dropped: its memory goes now.
        *list = KVec::new();
    }
}

/// `id`, or the next one that no GPU has (`kfd_generate_gpu_id`).
pub(super) fn unique(id: u16) -> GpuId {
    let list = GPUS.lock();
    let mut id = GpuId::new(id);
    // There are fewer GPUs than ids.
    while list.iter().any(|gpu| gpu.id() == id) {
        id = GpuId::new(id.get().wrapping_add(1));
    }
    id
}
