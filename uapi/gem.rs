// SPDX-License-Identifier: MIT OR Apache-2.0

//! Buffers of a DRM device's files: what a driver of the name amdgpu does with GEM handles.
//!
//! A handle is a file's name for a buffer. It comes from GEM_CREATE or from a DMA-buf, and becomes one.
//!
//! Source: Linux 7.3, `include/uapi/drm/amdgpu_drm.h` and `drm.h`.

use super::{
    drm::TYPE,
    ioctl::{Request, READ_WRITE, WRITE},
};

structs! {
    /// Argument of [`GEM_CREATE`]. The answer takes its place: [`GemCreate::handle`].
    pub struct GemCreate = "union drm_amdgpu_gem_create" {
        bo_size: u64 = "in.bo_size",
        alignment: u64 = "in.alignment",
        /// `DOMAIN_` bits: where it may lie.
        domains: u64 = "in.domains",
        /// `CREATE_` bits.
        domain_flags: u64 = "in.domain_flags",
    }

    /// Argument of [`GEM_MMAP`]. The answer takes its place.
    pub struct GemMmap = "union drm_amdgpu_gem_mmap" {
        /// In, lower half: a handle. Out: the offset at which the file maps it.
        addr_ptr: u64 = "out.addr_ptr",
    }

    /// Argument of [`GEM_METADATA`].
    pub struct GemMetadata = "struct drm_amdgpu_gem_metadata" {
        handle: u32,
        /// One of `METADATA_`.
        op: u32,
        flags: u64 = "data.flags",
        tiling_info: u64 = "data.tiling_info",
        data_size_bytes: u32 = "data.data_size_bytes",
        data: [[u32; 32]; 2] = "data.data",
        pad: u32 = "",
    }

    /// Argument of [`GEM_WAIT_IDLE`]. The answer takes its place.
    pub struct GemWaitIdle = "union drm_amdgpu_gem_wait_idle" {
        /// Out: 1 when it was still busy at the end of the time.
        handle: u32 = "in.handle",
        flags: u32 = "in.flags",
        /// Nanoseconds of the monotonic clock at which waiting ends.
        timeout: u64 = "in.timeout",
    }

    /// Argument of [`GEM_VA`].
    pub struct GemVa = "struct drm_amdgpu_gem_va" {
        handle: u32,
        _pad: u32,
        /// One of `VA_OP_`.
        operation: u32,
        /// `VM_PAGE_` bits and one of `VM_MTYPE_`.
        flags: u32,
        va_address: u64,
        offset_in_bo: u64,
        map_size: u64,
        vm_timeline_point: u64,
        vm_timeline_syncobj_out: u32,
        num_syncobj_handles: u32,
        input_fence_syncobj_handles: u64,
    }

    /// Argument of [`GEM_OP`].
    pub struct GemOp = "struct drm_amdgpu_gem_op" {
        handle: u32,
        /// One of `OP_`.
        op: u32,
        /// Where to write a [`GemCreate`] or [`GemVmEntry`]s; of [`OP_SET_PLACEMENT`], `DOMAIN_` bits.
        value: u64,
        num_entries: u32,
        padding: u32,
    }

    /// One mapping of the answer to [`OP_GET_MAPPING_INFO`].
    pub struct GemVmEntry = "struct drm_amdgpu_gem_vm_entry" {
        addr: u64,
        size: u64,
        /// Of the buffer.
        offset: u64,
        /// As GEM_VA had them.
        flags: u64,
    }

    /// Argument of [`GEM_USERPTR`].
    pub struct GemUserptr = "struct drm_amdgpu_gem_userptr" {
        addr: u64,
        size: u64,
        /// `USERPTR_` bits.
        flags: u32,
        /// Out.
        handle: u32,
    }

    /// Argument of [`GEM_LIST_HANDLES`].
    pub struct GemListHandles = "struct drm_amdgpu_gem_list_handles" {
        /// Where to write [`GemListHandlesEntry`]s.
        entries: u64,
        /// In: how many there is room for. Out: how many handles there are.
        num_entries: u32,
        padding: u32,
    }

    /// One handle of the answer.
    pub struct GemListHandlesEntry = "struct drm_amdgpu_gem_list_handles_entry" {
        gem_handle: u32,
        /// [`LIST_HANDLES_IS_IMPORT`].
        flags: u32,
        size: u64,
        preferred_domains: u64,
        alloc_flags: u64,
        alignment: u64,
    }

    /// Argument of [`GEM_CLOSE`].
    pub struct GemClose = "struct drm_gem_close" {
        handle: u32,
        pad: u32,
    }

    /// Argument of [`PRIME_HANDLE_TO_FD`] and [`PRIME_FD_TO_HANDLE`].
    pub struct PrimeHandle = "struct drm_prime_handle" {
        handle: u32,
        /// O_CLOEXEC and O_RDWR.
        flags: u32,
        fd: i32,
    }
}

impl GemCreate {
    /// The answer: a handle, and zeroes.
    pub const fn of_handle(handle: u32) -> Self {
        Self {
            bo_size: handle as u64,
            alignment: 0,
            domains: 0,
            domain_flags: 0,
        }
    }

    /// The handle of the answer.
    pub const fn handle(&self) -> u32 {
        self.bo_size as u32
    }
}

impl GemMmap {
    /// The handle that is asked for.
    pub const fn handle(&self) -> u32 {
        self.addr_ptr as u32
    }
}

constants! {
    /// System memory that the GPU doesn't see until it is mapped.
    DOMAIN_CPU: u32 = 0x1, "AMDGPU_GEM_DOMAIN_CPU";
    /// System memory.
    DOMAIN_GTT: u32 = 0x2, "AMDGPU_GEM_DOMAIN_GTT";
    /// The GPU's memory.
    DOMAIN_VRAM: u32 = 0x4, "AMDGPU_GEM_DOMAIN_VRAM";
    /// All that exist.
    DOMAIN_MASK: u32 = 0x7f, "AMDGPU_GEM_DOMAIN_MASK";

    CREATE_CPU_ACCESS_REQUIRED: u64 = 1 << 0, "AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED";
    CREATE_NO_CPU_ACCESS: u64 = 1 << 1, "AMDGPU_GEM_CREATE_NO_CPU_ACCESS";
    CREATE_CPU_GTT_USWC: u64 = 1 << 2, "AMDGPU_GEM_CREATE_CPU_GTT_USWC";
    CREATE_VRAM_CLEARED: u64 = 1 << 3, "AMDGPU_GEM_CREATE_VRAM_CLEARED";
    CREATE_VM_ALWAYS_VALID: u64 = 1 << 6, "AMDGPU_GEM_CREATE_VM_ALWAYS_VALID";
    CREATE_EXPLICIT_SYNC: u64 = 1 << 7, "AMDGPU_GEM_CREATE_EXPLICIT_SYNC";
    CREATE_VRAM_WIPE_ON_RELEASE: u64 = 1 << 9, "AMDGPU_GEM_CREATE_VRAM_WIPE_ON_RELEASE";
    CREATE_ENCRYPTED: u64 = 1 << 10, "AMDGPU_GEM_CREATE_ENCRYPTED";
    CREATE_DISCARDABLE: u64 = 1 << 12, "AMDGPU_GEM_CREATE_DISCARDABLE";
    CREATE_COHERENT: u64 = 1 << 13, "AMDGPU_GEM_CREATE_COHERENT";
    CREATE_UNCACHED: u64 = 1 << 14, "AMDGPU_GEM_CREATE_UNCACHED";
    CREATE_EXT_COHERENT: u64 = 1 << 15, "AMDGPU_GEM_CREATE_EXT_COHERENT";
    CREATE_GFX12_DCC: u64 = 1 << 16, "AMDGPU_GEM_CREATE_GFX12_DCC";

    METADATA_SET: u32 = 1, "AMDGPU_GEM_METADATA_OP_SET_METADATA";
    METADATA_GET: u32 = 2, "AMDGPU_GEM_METADATA_OP_GET_METADATA";

    /// What the buffer was made as.
    OP_GET_GEM_CREATE_INFO: u32 = 0, "AMDGPU_GEM_OP_GET_GEM_CREATE_INFO";
    /// Where it may lie from now on.
    OP_SET_PLACEMENT: u32 = 1, "AMDGPU_GEM_OP_SET_PLACEMENT";
    /// Where the file has mapped it.
    OP_GET_MAPPING_INFO: u32 = 2, "AMDGPU_GEM_OP_GET_MAPPING_INFO";

    /// The GPU doesn't write it.
    USERPTR_READONLY: u32 = 1 << 0, "AMDGPU_GEM_USERPTR_READONLY";
    /// It has to be one mapping of anonymous memory.
    USERPTR_ANONONLY: u32 = 1 << 1, "AMDGPU_GEM_USERPTR_ANONONLY";
    /// Its pages are looked up at once.
    USERPTR_VALIDATE: u32 = 1 << 2, "AMDGPU_GEM_USERPTR_VALIDATE";
    /// It is watched for changes.
    USERPTR_REGISTER: u32 = 1 << 3, "AMDGPU_GEM_USERPTR_REGISTER";

    /// The buffer came in as a DMA-buf.
    LIST_HANDLES_IS_IMPORT: u32 = 1 << 0, "AMDGPU_GEM_LIST_HANDLES_FLAG_IS_IMPORT";

    VA_OP_MAP: u32 = 1, "AMDGPU_VA_OP_MAP";
    VA_OP_UNMAP: u32 = 2, "AMDGPU_VA_OP_UNMAP";
    /// Whatever is mapped in the range goes.
    VA_OP_CLEAR: u32 = 3, "AMDGPU_VA_OP_CLEAR";
    /// The same, and then a buffer is mapped.
    VA_OP_REPLACE: u32 = 4, "AMDGPU_VA_OP_REPLACE";

    VM_DELAY_UPDATE: u32 = 1 << 0, "AMDGPU_VM_DELAY_UPDATE";
    VM_PAGE_READABLE: u32 = 1 << 1, "AMDGPU_VM_PAGE_READABLE";
    VM_PAGE_WRITEABLE: u32 = 1 << 2, "AMDGPU_VM_PAGE_WRITEABLE";
    VM_PAGE_EXECUTABLE: u32 = 1 << 3, "AMDGPU_VM_PAGE_EXECUTABLE";
    /// No memory: loads give 0, stores vanish.
    VM_PAGE_PRT: u32 = 1 << 4, "AMDGPU_VM_PAGE_PRT";
    VM_MTYPE_MASK: u32 = 0xf << 5, "AMDGPU_VM_MTYPE_MASK";
    VM_MTYPE_UC: u32 = 4 << 5, "AMDGPU_VM_MTYPE_UC";
    VM_PAGE_NOALLOC: u32 = 1 << 9, "AMDGPU_VM_PAGE_NOALLOC";
}

macro_rules! requests {
    ($( $(#[$m:meta])* $name:ident $c:literal $direction:ident $number:literal $argument:ident ; )*) => {
        $(
            $(#[$m])*
            pub const $name: Request<$argument> = Request::new(
                stringify!($name), $c, stringify!($argument), $direction, TYPE, $number,
            );
        )*
        /// All of them.
        pub const ALL: &[&super::ioctl::IoctlInfo] = &[ $( &$name.info, )* ];
    };
}

requests! {
    /// Closes a handle.
    GEM_CLOSE "DRM_IOCTL_GEM_CLOSE" WRITE 0x09 GemClose;
    /// A handle as a DMA-buf.
    PRIME_HANDLE_TO_FD "DRM_IOCTL_PRIME_HANDLE_TO_FD" READ_WRITE 0x2d PrimeHandle;
    /// A DMA-buf as a handle.
    PRIME_FD_TO_HANDLE "DRM_IOCTL_PRIME_FD_TO_HANDLE" READ_WRITE 0x2e PrimeHandle;
    /// Makes a buffer.
    GEM_CREATE "DRM_IOCTL_AMDGPU_GEM_CREATE" READ_WRITE 0x40 GemCreate;
    /// Where the file maps a buffer.
    GEM_MMAP "DRM_IOCTL_AMDGPU_GEM_MMAP" READ_WRITE 0x41 GemMmap;
    /// What programs note of a buffer for each other.
    GEM_METADATA "DRM_IOCTL_AMDGPU_GEM_METADATA" READ_WRITE 0x46 GemMetadata;
    /// Waits until the kernel's own work on a buffer is done.
    GEM_WAIT_IDLE "DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE" READ_WRITE 0x47 GemWaitIdle;
    /// Maps a buffer in the file's address space on the GPU.
    GEM_VA "DRM_IOCTL_AMDGPU_GEM_VA" WRITE 0x48 GemVa;
    /// Asks how a buffer was made or where it is mapped, or says where it may lie.
    GEM_OP "DRM_IOCTL_AMDGPU_GEM_OP" READ_WRITE 0x50 GemOp;
    /// Makes a buffer of the program's own memory.
    GEM_USERPTR "DRM_IOCTL_AMDGPU_GEM_USERPTR" READ_WRITE 0x51 GemUserptr;
    /// Lists the file's handles.
    GEM_LIST_HANDLES "DRM_IOCTL_AMDGPU_GEM_LIST_HANDLES" READ_WRITE 0x59 GemListHandles;
}
