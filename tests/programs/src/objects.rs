// SPDX-License-Identifier: MIT OR Apache-2.0

//! GEM objects: making them, mapping them by the CPU and the GPU, and KFD's handles of them.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

use rkfd_uapi::gem::{self, GemCreate, GemMmap, GemVa, PrimeHandle};
use rkfd_uapi::{ioctl, memory as abi};
use rustix::mm::{MapFlags, ProtFlags};

use crate::raw::{self, call, errno};
use crate::Failure;

/// An open file of the render node, and KFD.
pub struct Objects {
    /// `/dev/kfd`.
    pub kfd: File,
    /// The render node.
    pub render: File,
    /// The GPU's name for KFD.
    pub gpu_id: u32,
}

impl Objects {
    /// Of a file that has an address space, maybe this process'.
    pub fn new(render: File, gpu_id: u32) -> Result<Self, Failure> {
        Ok(Self {
            kfd: File::open("/dev/kfd").map_err(Failure::new)?,
            render,
            gpu_id,
        })
    }

    /// An object in this domain.
    pub fn create(&self, bytes: usize, domain: u32) -> Result<u32, Failure> {
        let mut args = GemCreate {
            bo_size: bytes as u64,
            alignment: 4096,
            domains: domain.into(),
            domain_flags: 0,
        };
        call(&self.render, &gem::GEM_CREATE, &mut args).map_err(errno("GEM_CREATE"))?;
        Ok(args.handle())
    }

    /// The CPU's mapping of an object.
    pub fn cpu(&self, handle: u32, bytes: usize) -> Result<Mapped, Failure> {
        let mut args = GemMmap {
            addr_ptr: handle.into(),
        };
        call(&self.render, &gem::GEM_MMAP, &mut args).map_err(errno("GEM_MMAP"))?;
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let (shared, at) = (MapFlags::SHARED, args.addr_ptr);
        // SAFETY: The kernel chooses the address, so no mapping is replaced.
        unsafe { rustix::mm::mmap(null_mut(), bytes, prot, shared, &self.render, at) }
            .map(|start| Mapped { start, bytes })
            .map_err(errno("mmap of the render node"))
    }

    /// GEM_VA of a part of an object: where it begins, and its bytes.
    pub fn va(
        &self,
        operation: u32,
        handle: u32,
        at: u64,
        part: (u64, u64),
    ) -> Result<(), Failure> {
        let mut args = GemVa {
            handle,
            operation,
            flags: gem::VM_PAGE_READABLE | gem::VM_PAGE_WRITEABLE,
            va_address: at,
            offset_in_bo: part.0,
            map_size: part.1,
            ..Default::default()
        };
        call(&self.render, &gem::GEM_VA, &mut args).map_err(errno("GEM_VA"))
    }

    /// An object as a DMA-buf.
    pub fn export(&self, handle: u32) -> Result<OwnedFd, Failure> {
        let mut args = PrimeHandle {
            handle,
            flags: rustix::fs::OFlags::RDWR.bits(),
            fd: -1,
        };
        call(&self.render, &gem::PRIME_HANDLE_TO_FD, &mut args)
            .map_err(errno("PRIME_HANDLE_TO_FD"))?;
        // SAFETY: The request has just made the descriptor for us.
        Ok(unsafe { OwnedFd::from_raw_fd(args.fd) })
    }

    /// A handle of a DMA-buf.
    pub fn import(&self, fd: &OwnedFd) -> Result<u32, Failure> {
        let mut args = PrimeHandle {
            fd: fd.as_raw_fd(),
            ..Default::default()
        };
        call(&self.render, &gem::PRIME_FD_TO_HANDLE, &mut args)
            .map_err(errno("PRIME_FD_TO_HANDLE"))?;
        Ok(args.handle)
    }

    /// KFD's handle of an object, to be mapped at `va`.
    pub fn kfd_handle(&self, handle: u32, va: u64) -> Result<u64, Failure> {
        let fd = self.export(handle)?;
        let mut args = abi::ImportDmabufArgs {
            va_addr: va,
            handle: 0,
            gpu_id: self.gpu_id,
            dmabuf_fd: fd.as_raw_fd() as u32,
        };
        call(&self.kfd, &ioctl::IMPORT_DMABUF, &mut args).map_err(errno("IMPORT_DMABUF"))?;
        Ok(args.handle)
    }

    /// KFD's handle of an object, mapped at `va`.
    pub fn to_kfd(&self, handle: u32, va: u64) -> Result<u64, Failure> {
        let handle = self.kfd_handle(handle, va)?;
        raw::map(&self.kfd, self.gpu_id, handle).map_err(errno("MAP_MEMORY_TO_GPU"))?;
        Ok(handle)
    }
}

/// A shared mapping of an object.
pub struct Mapped {
    start: *mut c_void,
    bytes: usize,
}

// SAFETY: Accesses are volatile, of words that nothing borrows.
unsafe impl Send for Mapped {}
// SAFETY: As above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Writes every `step`-th element.
    pub fn fill(&self, step: usize, value: impl Fn(usize) -> f32) {
        for i in (0..self.bytes / 4).step_by(step) {
            // SAFETY: `i` is inside the mapping, and no work of the GPU's is running on it.
            unsafe { self.start.cast::<f32>().add(i).write_volatile(value(i)) }
        }
    }

    /// How many of every `step`-th element are as wanted, and how many there are.
    pub fn count(&self, step: usize, wanted: impl Fn(usize) -> f32) -> (usize, usize) {
        // SAFETY: As in `fill`.
        let get = |i| unsafe { self.start.cast::<f32>().add(i).read_volatile() };
        let all = (0..self.bytes / 4).step_by(step);
        (
            all.clone().filter(|&i| get(i) == wanted(i)).count(),
            all.count(),
        )
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: The mapping is ours, and nothing borrows from it.
        let _ = unsafe { rustix::mm::munmap(self.start, self.bytes) };
    }
}
