// SPDX-License-Identifier: GPL-2.0

//! The GPUs that are there, in order of probe.

use super::Gpu;
use crate::types::GpuId;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// The GPUs of the module.
#[pin_data]
pub(crate) struct Gpus {
    #[pin]
    list: Mutex<KVec<Arc<Gpu>>>,
}

impl Gpus {
    /// None yet.
    pub(crate) fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self { list <- new_mutex!(KVec::new(), "rkfd GPUs") }),
            GFP_KERNEL,
        )
    }

    /// All of them.
    pub(crate) fn all(&self) -> Result<KVec<Arc<Gpu>>> {
        let list = self.list.lock();
        let mut all = KVec::with_capacity(list.len(), GFP_KERNEL)?;
        for gpu in list.iter() {
            all.push(gpu.clone(), GFP_KERNEL)?;
        }
        Ok(all)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.list.lock().len()
    }

    /// The GPU by this name.
    pub(crate) fn lookup(&self, id: GpuId) -> Option<Arc<Gpu>> {
        let list = self.list.lock();
        list.iter().find(|gpu| gpu.id() == id).cloned()
    }

    /// Adds a GPU.
    pub(super) fn add(&self, gpu: &Arc<Gpu>) -> Result {
        Ok(self.list.lock().push(gpu.clone(), GFP_KERNEL)?)
    }

    /// Takes a GPU off the list.
    pub(super) fn remove(&self, gpu: &Arc<Gpu>) {
        self.list.lock().retain(|other| !Arc::ptr_eq(other, gpu));
    }

    /// `id`, or the next one that no GPU has (`kfd_generate_gpu_id`).
    pub(super) fn unique(&self, id: u16) -> GpuId {
        let list = self.list.lock();
        let mut id = GpuId::new(id);
        // There are fewer GPUs than ids.
        while list.iter().any(|gpu| gpu.id() == id) {
            id = GpuId::new(id.get().wrapping_add(1));
        }
        id
    }
}
