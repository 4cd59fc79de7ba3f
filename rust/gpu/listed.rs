// SPDX-License-Identifier: GPL-2.0

//! That a GPU can be used: who looks for it finds it, and the user half knows it.

use super::{
    Gpu,
    Gpus,
    Upcalls, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The GPU can be found, and the user half knows it; dropped, neither.
pub(super) struct Listed {
    gpu: Arc<Gpu>,
    gpus: Arc<Gpus>,
    sink: Arc<dyn Upcalls>,
}

impl Listed {
    /// Lists a GPU, and tells the user half.
    ///
    /// # Errors
    ///
    /// ENOMEM, and those of [`Upcalls::gpu_added`].
    pub(super) fn new(gpu: &Arc<Gpu>, gpus: &Arc<Gpus>, sink: Arc<dyn Upcalls>) -> Result<Self> {
        gpus.add(gpu)?;
        // On an error it is dropped as a whole: programs may have found the GPU already.
        let listed = Self {
            gpu: gpu.clone(),
            gpus: gpus.clone(),
            sink,
        };
        listed.sink.gpu_added(gpu)?;
        Ok(listed)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.gpus.remove(&self.gpu);
        // Nothing new from here on: calls fail with ENODEV.
        self.gpu.dev.unbind();
        self.sink.gpu_removed(&self.gpu);
    }
}
