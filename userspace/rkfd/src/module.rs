// SPDX-License-Identifier: MIT OR Apache-2.0

//! Code objects in a GPU's memory, and their kernels.

use std::sync::Arc;

use rkfd_hw::aql::KernelDescriptor;

use crate::code::{CodeObject, KernelMetadata};
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::memory::{flags, Bo};

/// A code object loaded into a GPU's memory. Clones are the same; the memory is freed with the last
/// of them, its last kernel and its last dispatch.
///
/// ```
/// let (gpu, _driver) = rkfd::fake::open();
/// let module = gpu.load(rkfd::fake::VADD)?;
/// assert!(module.kernels().eq(["vadd"]));
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Module {
    inner: Arc<Loaded>,
}

#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) bo: Bo,
    code: CodeObject,
}

impl Gpu {
    /// Loads a code object into the GPU's memory.
    ///
    /// # Errors
    ///
    /// [`Error::Code`] when it is damaged or was compiled for another GPU, [`Error::Ioctl`] when
    /// there is not enough memory.
    pub fn load(&self, bytes: &[u8]) -> Result<Module> {
        let code = CodeObject::parse(bytes)?;
        code.check_target(&self.target())?;
        let in_vram = self.node().large_bar();
        let kind = if in_vram { flags::VRAM } else { flags::GTT };
        let bo = Bo::new(self.link(), code.image_size(), kind | flags::EXECUTABLE)?;
        bo.host()?
            .write(0, &code.image_at(bo.address()))
            .ok_or(Error::NotHostVisible)?;
        Ok(Module {
            inner: Arc::new(Loaded { bo, code }),
        })
    }
}

impl Module {
    /// Address of the image.
    pub fn address(&self) -> u64 {
        self.inner.bo.address()
    }

    /// The code object.
    pub fn code(&self) -> &CodeObject {
        &self.inner.code
    }

    /// Names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.inner
            .code
            .kernels()
            .iter()
            .map(|kernel| kernel.metadata.name.as_str())
    }

    /// A kernel by name.
    ///
    /// # Errors
    ///
    /// [`Error::Code`], which lists the kernels there are.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let index = self.inner.code.find(name)?;
        Ok(Kernel {
            loaded: self.inner.clone(),
            index,
        })
    }
}

/// A kernel of a loaded code object, to be dispatched on a queue of the same GPU.
///
/// ```
/// let (gpu, _driver) = rkfd::fake::open();
/// let kernel = gpu.load(rkfd::fake::VADD)?.kernel("vadd")?;
/// let names: Vec<_> = kernel.metadata().args.iter().map(|arg| arg.name.as_str()).collect();
/// assert_eq!(names[..4], ["a", "b", "c", "n"]);
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Kernel {
    loaded: Arc<Loaded>,
    index: usize,
}

impl Kernel {
    fn info(&self) -> &crate::code::KernelInfo {
        // The index was found in this list, which does not change.
        &self.loaded.code.kernels()[self.index]
    }

    /// What the compiler recorded about it.
    pub fn metadata(&self) -> &KernelMetadata {
        &self.info().metadata
    }

    /// Address of its descriptor: the packet's kernel object.
    pub fn address(&self) -> u64 {
        self.loaded.bo.address() + self.info().descriptor
    }

    /// Its descriptor.
    pub(crate) fn descriptor(&self) -> KernelDescriptor {
        self.loaded.code.descriptor(self.info())
    }

    pub(crate) fn loaded(&self) -> &Arc<Loaded> {
        &self.loaded
    }
}
