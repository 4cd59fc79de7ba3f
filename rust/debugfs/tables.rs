// SPDX-License-Identifier: GPL-2.0

//! `rkfd/SLOT/discovery`: what a GPU lists of itself, byte by byte as firmware left it in VRAM, which the driver read when
//! it took the GPU. Upstream's is `dri/SLOT/amdgpu_discovery` (`amdgpu_debugfs_init`).
//!
//! Reading it touches no register and waits for nobody.
//!
//! Lock order: the list's lock is a leaf.

use crate::{
    gpu::Gpu,
    types::GpuId, //
};
use kernel::{
    debugfs,
    fs::file,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    },
    uaccess::UserSliceWriter, //
};

/// The discovery table of a GPU.
struct Table(Arc<Gpu>);

impl debugfs::BinaryWriter for Table {
    fn write_to_slice(
        &self,
        writer: &mut UserSliceWriter,
        offset: &mut file::Offset,
    ) -> Result<usize> {
        writer.write_slice_file(self.0.discovery().binary(), offset)
    }
}

/// A GPU's folder. Fields are removed in this order, the child first.
struct Folder {
    gpu: GpuId,
    _discovery: Pin<KBox<debugfs::File<Table>>>,
    _folder: debugfs::Dir,
}

/// Those of all GPUs.
#[pin_data]
pub(crate) struct Tables {
    root: debugfs::Dir,
    #[pin]
    list: Mutex<KVec<Folder>>,
}

impl Tables {
    /// Folders of none, in this one.
    pub(super) fn new(root: debugfs::Dir) -> impl PinInit<Self> {
        pin_init!(Self {
            root,
            list <- new_mutex!(KVec::new(), "rkfd debugfs GPUs"),
        })
    }

    /// Makes the folder of a GPU.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(crate) fn add(&self, gpu: &Arc<Gpu>) -> Result {
        let folder = self.root.subdir(gpu.device().name());
        let file = folder.read_binary_file(c"discovery", Table(gpu.clone()));
        let folder = Folder {
            gpu: gpu.id(),
            _discovery: KBox::pin_init(file, GFP_KERNEL)?,
            _folder: folder.clone(),
        };
        Ok(self.list.lock().push(folder, GFP_KERNEL)?)
    }

    /// Removes that of a GPU, and waits for its readers.
    pub(crate) fn remove(&self, gpu: &Gpu) {
        let mut list = self.list.lock();
        let Some(at) = list.iter().position(|folder| folder.gpu == gpu.id()) else {
            return;
        };
        // Once the lock is free again, as its readers may take their time.
        let folder = list.remove(at);
        drop(list);
        drop(folder);
    }
}
