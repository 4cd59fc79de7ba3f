// SPDX-License-Identifier: MIT OR Apache-2.0
//! A compute unit: the caches that its workgroups share.

use crate::decode::{DecodeError, Inst};
use crate::fault::FaultKind;
use crate::kernel::{DescriptorError, Kernel, DESCRIPTOR_SIZE};
use crate::memory::{Access, Env, Tlb, PAGE};
use crate::target::{Target, GFX942};
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
pub struct ComputeUnit {
    target: &'static Target,
    pub(crate) tlb: Tlb,
    pages: Vec<CodePage>,
    index: HashMap<(u8, u64), usize>,
    pub(crate) instructions: u64,
    pub(crate) waves: u64,
    pub(crate) workgroups: u64,
    decoded: u64,
}

impl Default for ComputeUnit {
    fn default() -> Self {
        Self::new()
    }
}

impl ComputeUnit {
    /// An idle compute unit of a gfx942 with empty caches.
    pub fn new() -> Self {
        Self::for_target(&GFX942)
    }

    /// An idle compute unit of a chip, with empty caches.
    pub fn for_target(target: &'static Target) -> Self {
        Self {
            target,
            tlb: Tlb::default(),
            pages: Vec::new(),
            index: HashMap::new(),
            instructions: 0,
            waves: 0,
            workgroups: 0,
            decoded: 0,
        }
    }

    /// The chip.
    pub fn target(&self) -> &'static Target {
        self.target
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
    pub fn kernel(
        &mut self,
        env: &mut dyn Env,
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
        Kernel::parse_for(self.target, va, &bytes)
    }

    /// Drop what the embedder's flush made stale.
    pub(crate) fn follow(&mut self, env: &dyn Env) {
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

    /// The instruction at `pc` of code page `page`, and the translations besides.
    #[inline]
    pub(crate) fn fetch(
        &mut self,
        env: &mut dyn Env,
        vmid: u8,
        page: usize,
        pc: u64,
    ) -> Result<(&Inst, &mut Tlb), FaultKind> {
        let slot = pc as usize % PAGE / 4;
        if !matches!(self.pages[page][slot], Slot::Inst(_)) {
            self.decode(env, vmid, page, pc)?;
        }
        match &self.pages[page][slot] {
            Slot::Inst(inst) => Ok((inst, &mut self.tlb)),
            _ => Err(FaultKind::Undecodable),
        }
    }

    #[cold]
    fn decode(
        &mut self,
        env: &mut dyn Env,
        vmid: u8,
        page: usize,
        pc: u64,
    ) -> Result<(), FaultKind> {
        let words = self.words(env, vmid, pc)?;
        self.decoded += 1;
        let slot = &mut self.pages[page][pc as usize % PAGE / 4];
        match self.target.decode(words) {
            Ok(inst) => {
                if let Some(what) = inst.unsupported() {
                    return Err(FaultKind::Unsupported(what));
                }
                *slot = Slot::Inst(inst);
                Ok(())
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

    /// The three words at `pc`; those that cannot be fetched are zero.
    pub(crate) fn words(
        &mut self,
        env: &mut dyn Env,
        vmid: u8,
        pc: u64,
    ) -> Result<[u32; 3], FaultKind> {
        let mut words = [0; 3];
        for (n, word) in words.iter_mut().enumerate() {
            let va = pc.wrapping_add(4 * n as u64);
            match self.tlb.page(env, vmid, va, Access::Execute) {
                Ok(page) => *word = page.load_u32(va as usize % PAGE),
                // An instruction may go on in the next page; a short one may be the last there is.
                Err(fault) if n == 0 => return Err(fault.into()),
                Err(_) => break,
            }
        }
        Ok(words)
    }
}
