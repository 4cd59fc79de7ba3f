// SPDX-License-Identifier: MIT OR Apache-2.0
//! A compute unit: the caches that its workgroups share.

use crate::decode::{decode, DecodeError, Inst};
use crate::fault::FaultKind;
use crate::kernel::{DescriptorError, Kernel, DESCRIPTOR_SIZE};
use crate::memory::{Access, Env, Tlb, PAGE};
use std::collections::HashMap;

/// What a dword of code turned out to be.
#[derive(Clone, Copy)]
enum Slot {
    Unknown,
    Inst(Inst),
    // The words are fetched again for the report.
    Bad,
}

type CodePage = Box<[Slot]>;
const SLOTS: usize = PAGE / 4;

/// Counters since the compute unit was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Instructions, each counted once for a whole wave.
    pub instructions: u64,
    /// Waves that were started.
    pub waves: u64,
    /// Workgroups that were started.
    pub workgroups: u64,
    /// Translations asked of the embedder.
    pub translations: u64,
    /// Instructions decoded.
    pub decoded: u64,
}

/// Translation and instruction caches, for one host thread.
#[derive(Default)]
pub struct ComputeUnit {
    pub(crate) tlb: Tlb,
    pages: Vec<CodePage>,
    index: HashMap<(u8, u64), usize>,
    pub(crate) instructions: u64,
    pub(crate) waves: u64,
    pub(crate) workgroups: u64,
    decoded: u64,
}

impl ComputeUnit {
    /// An idle compute unit with empty caches.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forget decoded instructions: the packet processor's instruction cache invalidation.
    pub fn invalidate_code(&mut self) {
        self.pages.clear();
        self.index.clear();
    }

    /// Counters.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            instructions: self.instructions,
            waves: self.waves,
            workgroups: self.workgroups,
            translations: self.tlb.misses,
            decoded: self.decoded,
        }
    }

    /// Read and check the kernel descriptor at `va`, through the process's translations.
    pub fn kernel<E: Env>(
        &mut self,
        env: &mut E,
        vmid: u8,
        va: u64,
    ) -> Result<Kernel, DescriptorError> {
        self.follow(env);
        if va % DESCRIPTOR_SIZE as u64 != 0 {
            return Err(DescriptorError::Reserved(
                "the descriptor address's low 6 bits",
            ));
        }
        let mut bytes = [0; DESCRIPTOR_SIZE];
        let page = self
            .tlb
            .page(env, vmid, va, Access::Read)
            .map_err(DescriptorError::Memory)?;
        for (n, byte) in bytes.iter_mut().enumerate() {
            *byte = page.load_u8(va as usize % PAGE + n);
        }
        Kernel::parse(va, &bytes)
    }

    /// Drop what the embedder's flush made stale.
    pub(crate) fn follow<E: Env>(&mut self, env: &E) {
        if self.tlb.follow(env.epoch()) {
            self.invalidate_code();
        }
    }

    /// The cache slot of the code page that holds `pc`.
    pub(crate) fn code_page(&mut self, vmid: u8, pc: u64) -> usize {
        *self
            .index
            .entry((vmid, pc / PAGE as u64))
            .or_insert_with(|| {
                self.pages
                    .push(vec![Slot::Unknown; SLOTS].into_boxed_slice());
                self.pages.len() - 1
            })
    }

    /// The instruction at `pc` of code page `page`.
    #[inline]
    pub(crate) fn fetch<E: Env>(
        &mut self,
        env: &mut E,
        vmid: u8,
        page: usize,
        pc: u64,
    ) -> Result<Inst, FaultKind> {
        match self.pages[page][pc as usize % PAGE / 4] {
            Slot::Inst(inst) => Ok(inst),
            _ => self.decode(env, vmid, page, pc),
        }
    }

    #[cold]
    fn decode<E: Env>(
        &mut self,
        env: &mut E,
        vmid: u8,
        page: usize,
        pc: u64,
    ) -> Result<Inst, FaultKind> {
        let words = self.words(env, vmid, pc)?;
        self.decoded += 1;
        let slot = &mut self.pages[page][pc as usize % PAGE / 4];
        match decode(words) {
            Ok(inst) => {
                if let Some(what) = inst.unsupported() {
                    return Err(FaultKind::Unsupported(what));
                }
                *slot = Slot::Inst(inst);
                Ok(inst)
            }
            Err(error) => {
                *slot = Slot::Bad;
                Err(match error {
                    DecodeError::Undecodable => FaultKind::Undecodable,
                    DecodeError::ReservedOperand(..) => {
                        FaultKind::Unsupported("a reserved operand")
                    }
                })
            }
        }
    }

    /// The two words at `pc`; the second is zero where it cannot be fetched.
    pub(crate) fn words<E: Env>(
        &mut self,
        env: &mut E,
        vmid: u8,
        pc: u64,
    ) -> Result<[u32; 2], FaultKind> {
        let at = pc as usize % PAGE;
        let page = self.tlb.page(env, vmid, pc, Access::Execute)?;
        let low = page.load_u32(at);
        if at + 8 <= PAGE {
            return Ok([low, page.load_u32(at + 4)]);
        }
        // An instruction of 8 bytes may go on in the next page; one of 4 may be the last there is.
        let next = pc.wrapping_add(4);
        let high = self
            .tlb
            .page(env, vmid, next, Access::Execute)
            .map(|page| page.load_u32(0));
        Ok([low, high.unwrap_or(0)])
    }
}
