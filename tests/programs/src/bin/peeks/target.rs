// SPDX-License-Identifier: MIT OR Apache-2.0

//! The program that is looked at: it has buffers of each kind, and a copy engine that fills and reads them.

use std::collections::BTreeMap;

use rkfd::{Address, Buffer, CopyQueue, Gpu, Memory};
use rkfd_programs::{Failure, PATIENCE};

use super::{byte, BYTES, SEEN};

/// What is mapped for the CPU of a buffer, and where the GPU has the same.
struct Piece {
    cpu: u64,
    gpu: u64,
    len: usize,
    _buffer: Option<Buffer<u8>>,
}

/// The program.
pub struct Target {
    gpu: Gpu,
    copies: CopyQueue,
    scratch: Buffer<u8>,
    pieces: BTreeMap<String, Piece>,
}

impl Target {
    pub fn new() -> Result<Self, Failure> {
        let gpu = Gpu::open()?;
        Ok(Self {
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
        match kind {
            "kfd-vram" => self.of_kfd(Memory::Vram),
            "kfd-gtt" => self.of_kfd(Memory::Gtt),
            _ => Err(Failure::new(format_args!("{kind:?} is no kind"))),
        }
    }

    fn of_kfd(&self, memory: Memory) -> Result<Piece, Failure> {
        let buffer = self.gpu.alloc_in::<u8>(memory, BYTES)?;
        Ok(Piece {
            cpu: buffer.address(),
            gpu: buffer.address(),
            len: BYTES,
            _buffer: Some(buffer),
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
}
