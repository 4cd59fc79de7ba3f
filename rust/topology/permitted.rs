// SPDX-License-Identifier: GPL-2.0

//! Folders about a GPU: their files can be read by those whose cgroup permits the GPU.

use crate::{
    glue::kobject::{
        File,
        Show,
        Text, //
    },
    gpu::Gpu, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A folder's data, and the GPU that it is about, if it is about one.
pub(super) struct Permitted<T: Show> {
    pub(super) gpu: Option<Arc<Gpu>>,
    pub(super) data: T,
}

impl<T: Show> Show for Permitted<T> {
    fn files() -> &'static [File] {
        T::files()
    }

    /// EPERM where the reader's cgroup forbids the GPU (`node_show`, `iolink_show` and the like).
    fn show(&self, file: usize, out: &mut Text<'_>) -> Result {
        if self.gpu.as_ref().is_some_and(|gpu| !gpu.is_permitted()) {
            return Err(EPERM);
        }
        self.data.show(file, out)
    }
}
