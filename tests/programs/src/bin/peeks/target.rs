// SPDX-License-Identifier: MIT OR Apache-2.0

//! The program that is looked at: it has buffers of each kind, and a copy engine that fills and reads them.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use rkfd::{Address, Buffer, CopyQueue, Gpu, Memory};
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::{Failure, PATIENCE};
use rkfd_uapi::gem::{self, GemClose, GemCreate, GemMmap, GemVa, PrimeHandle};
use rustix::mm::{MapFlags, ProtFlags};

use super::{byte, BYTES, PAGE, SEEN};

/// Where objects lie for the CPU and for the GPU, far from each other and from all else.
const CPU: usize = 0x2345_0000_0000;
const VA: u64 = 0x1234_0000_0000;
const APART: usize = 1 << 30;

/// What is mapped for the CPU of a buffer, and where the GPU has the same.
struct Piece {
    cpu: u64,
    gpu: u64,
    len: usize,
    handle: Option<u32>,
    _buffer: Option<Buffer<u8>>,
}

/// The program.
pub struct Target {
    render: File,
    gpu: Gpu,
    copies: CopyQueue,
    scratch: Buffer<u8>,
    pieces: BTreeMap<String, Piece>,
}

impl Target {
    pub fn new() -> Result<Self, Failure> {
        let gpu = Gpu::open()?;
        Ok(Self {
            render: raw::render()?,
            copies: gpu.copy_queue()?,
            scratch: gpu.alloc_in(Memory::Gtt, BYTES)?,
            gpu,
            pieces: BTreeMap::new(),
        })
    }

    pub fn answer(&mut self, line: &str) -> Result<String, Failure> {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["make", kind] => {
                let piece = self.make(kind)?;
                let answer = format!("{} {}", piece.cpu, piece.len);
                self.pieces.insert(kind.into(), piece);
                Ok(answer)
            }
            ["fill", kind, seed] => self.fill(kind, seed.parse().map_err(Failure::new)?),
            ["save", "gpu", kind] => self.save_by_gpu(kind),
            ["save", "cpu", kind] => self.save_by_cpu(kind),
            ["free", kind] => self.free(kind),
            // Of memory that no driver has to do with.
            ["ordinary"] => Ok((Box::leak(Box::new(*b"of its own")).as_ptr() as u64).to_string()),
            _ => Err(Failure::new(format_args!("{line:?} is no request"))),
        }
    }

    fn piece(&self, kind: &str) -> Result<&Piece, Failure> {
        let piece = self.pieces.get(kind);
        piece.ok_or_else(|| Failure::new(format_args!("there is no {kind}")))
    }

    fn make(&self, kind: &str) -> Result<Piece, Failure> {
        let both = ProtFlags::READ | ProtFlags::WRITE;
        let (shared, private) = (MapFlags::SHARED, MapFlags::PRIVATE);
        match kind {
            "kfd-vram" => self.of_kfd(Memory::Vram),
            "kfd-gtt" => self.of_kfd(Memory::Gtt),
            // The last page isn't mapped.
            "gem-vram" => self.of_gem(gem::DOMAIN_VRAM, BYTES - PAGE, both, shared),
            "gem-gtt" => self.without_first_page(),
            "dma-buf" => self.of_dma_buf(both),
            // As runtimes map what only the GPU uses.
            "no-rights" => self.of_gem(gem::DOMAIN_VRAM, BYTES, ProtFlags::empty(), private),
            "read-only" => self.of_gem(gem::DOMAIN_VRAM, BYTES, ProtFlags::READ, shared),
            _ => Err(Failure::new(format_args!("{kind:?} is no kind"))),
        }
    }

    fn of_kfd(&self, memory: Memory) -> Result<Piece, Failure> {
        let buffer = self.gpu.alloc_in::<u8>(memory, BYTES)?;
        Ok(Piece {
            cpu: buffer.address(),
            gpu: buffer.address(),
            len: BYTES,
            handle: None,
            _buffer: Some(buffer),
        })
    }

    /// An object of the render node's that is mapped for the GPU: its handle and its address.
    fn create(&self, domain: u32) -> Result<(u32, u64), Failure> {
        let mut args = GemCreate {
            bo_size: BYTES as u64,
            alignment: 4096,
            domains: domain.into(),
            domain_flags: 0,
        };
        call(&self.render, &gem::GEM_CREATE, &mut args).map_err(errno("GEM_CREATE"))?;
        let handle = args.handle();
        let at = VA + (self.pieces.len() * APART) as u64;
        let mut args = GemVa {
            handle,
            operation: gem::VA_OP_MAP,
            flags: gem::VM_PAGE_READABLE | gem::VM_PAGE_WRITEABLE,
            va_address: at,
            map_size: BYTES as u64,
            ..Default::default()
        };
        call(&self.render, &gem::GEM_VA, &mut args).map_err(errno("GEM_VA"))?;
        Ok((handle, at))
    }

    /// Maps a file where nothing lies before or behind.
    fn place(
        &self,
        file: BorrowedFd<'_>,
        (offset, len): (u64, usize),
        prot: ProtFlags,
        how: MapFlags,
    ) -> Result<u64, Failure> {
        let at = (CPU + self.pieces.len() * APART) as *mut c_void;
        let how = how | MapFlags::FIXED_NOREPLACE;
        // SAFETY: No mapping is replaced.
        unsafe { rustix::mm::mmap(at, len, prot, how, file, offset) }
            .map(|at| at as u64)
            .map_err(errno("mmap"))
    }

    fn of_gem(
        &self,
        domain: u32,
        len: usize,
        prot: ProtFlags,
        how: MapFlags,
    ) -> Result<Piece, Failure> {
        let (handle, gpu) = self.create(domain)?;
        let mut args = GemMmap {
            addr_ptr: handle.into(),
        };
        call(&self.render, &gem::GEM_MMAP, &mut args).map_err(errno("GEM_MMAP"))?;
        Ok(Piece {
            cpu: self.place(self.render.as_fd(), (args.addr_ptr, len), prot, how)?,
            gpu,
            len,
            handle: Some(handle),
            _buffer: None,
        })
    }

    /// The first page is unmapped again, so that the mapping begins within the object.
    fn without_first_page(&self) -> Result<Piece, Failure> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let whole = self.of_gem(gem::DOMAIN_GTT, BYTES, prot, MapFlags::SHARED)?;
        // SAFETY: The mapping is ours, and nothing borrows from it.
        unsafe { rustix::mm::munmap(whole.cpu as *mut c_void, PAGE) }.map_err(errno("munmap"))?;
        Ok(Piece {
            cpu: whole.cpu + PAGE as u64,
            gpu: whole.gpu + PAGE as u64,
            len: whole.len - PAGE,
            ..whole
        })
    }

    /// From the second page on.
    fn of_dma_buf(&self, prot: ProtFlags) -> Result<Piece, Failure> {
        let (handle, gpu) = self.create(gem::DOMAIN_VRAM)?;
        let mut args = PrimeHandle {
            handle,
            flags: rustix::fs::OFlags::RDWR.bits(),
            fd: -1,
        };
        call(&self.render, &gem::PRIME_HANDLE_TO_FD, &mut args)
            .map_err(errno("PRIME_HANDLE_TO_FD"))?;
        // SAFETY: The request has just made the descriptor for us.
        let fd = unsafe { OwnedFd::from_raw_fd(args.fd) };
        let part = (PAGE as u64, BYTES - PAGE);
        Ok(Piece {
            cpu: self.place(fd.as_fd(), part, prot, MapFlags::SHARED)?,
            gpu: gpu + PAGE as u64,
            len: part.1,
            handle: Some(handle),
            _buffer: None,
        })
    }

    fn copy(&self, to: u64, from: u64, len: usize) -> Result<(), Failure> {
        let copy = self.copies.copy_at(Address(to), Address(from), len)?;
        Ok(copy.wait_timeout(PATIENCE)?)
    }

    /// The GPU stores bytes, and the CPU touches nothing of the buffer.
    fn fill(&self, kind: &str, seed: usize) -> Result<String, Failure> {
        let piece = self.piece(kind)?;
        self.scratch.fill_with(|i| byte(i, seed))?;
        self.copy(piece.gpu, self.scratch.address(), piece.len)?;
        Ok("filled".into())
    }

    /// What the GPU sees.
    fn save_by_gpu(&self, kind: &str) -> Result<String, Failure> {
        let piece = self.piece(kind)?;
        self.scratch.fill(0)?;
        self.copy(self.scratch.address(), piece.gpu, piece.len)?;
        let mut bytes = self.scratch.to_vec()?;
        bytes.truncate(piece.len);
        std::fs::write(SEEN, bytes).map_err(Failure::new)?;
        Ok("saved".into())
    }

    /// What the CPU sees.
    fn save_by_cpu(&self, kind: &str) -> Result<String, Failure> {
        let piece = self.piece(kind)?;
        // SAFETY: The piece is mapped, and only the debugger stores there, which waits for the answer.
        let get = |i| unsafe { (piece.cpu as *const u8).add(i).read_volatile() };
        let bytes: Vec<u8> = (0..piece.len).map(get).collect();
        std::fs::write(SEEN, bytes).map_err(Failure::new)?;
        Ok("saved".into())
    }

    /// Lets the object go. Its mapping stays.
    fn free(&self, kind: &str) -> Result<String, Failure> {
        let handle = self.piece(kind)?.handle;
        let handle = handle.ok_or_else(|| Failure::new("it has no handle"))?;
        let mut args = GemClose { handle, pad: 0 };
        call(&self.render, &gem::GEM_CLOSE, &mut args).map_err(errno("GEM_CLOSE"))?;
        Ok("freed".into())
    }
}
