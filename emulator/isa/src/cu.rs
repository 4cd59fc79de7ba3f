// SPDX-License-Identifier: MIT OR Apache-2.0
//! A compute unit: the caches that its workgroups share.

use crate::decode::{DecodeError, Inst};
use crate::exec::Context;
use crate::fault::FaultKind;
use crate::kernel::{DescriptorError, Kernel, DESCRIPTOR_SIZE};
use crate::memory::{Access, Env, Tlb, PAGE};
use crate::target::{Target, GFX942};
use crate::trap::restrict;
use std::collections::HashMap;

/// The instruction that each dword of a page begins, if it was decoded.
pub(crate) struct CodePage(Box<[Option<Inst>; PAGE / 4]>);

impl CodePage {
    /// Where the instruction at `pc` is kept.
    #[inline]
    pub(crate) fn slot(&mut self, pc: u64) -> &mut Option<Inst> {
        &mut self.0[pc as usize % PAGE / 4]
    }
}

/// Decoded code, by process and page, and by whether a trap handler executes it.
#[derive(Default)]
pub(crate) struct Code {
    pages: Vec<CodePage>,
    index: HashMap<(u8, u64, bool), usize>,
}

impl Code {
    /// The page that holds `pc`, as a trap handler executes it or a program.
    pub(crate) fn page(&mut self, vmid: u8, pc: u64, privileged: bool) -> &mut CodePage {
        let pages = &mut self.pages;
        let at = *self
            .index
            .entry((vmid, pc / PAGE as u64, privileged))
            .or_insert_with(|| {
                pages.push(CodePage(Box::new([None; PAGE / 4])));
                pages.len() - 1
            });
        &mut pages[at]
    }
}

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
    pub(crate) target: &'static Target,
    pub(crate) tlb: Tlb,
    pub(crate) code: Code,
    pub(crate) instructions: u64,
    pub(crate) waves: u64,
    pub(crate) workgroups: u64,
    pub(crate) decoded: u64,
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
            code: Code::default(),
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
        self.code = Code::default();
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
}

/// The instruction at `pc`, from memory, as a trap handler executes it or a program.
#[cold]
pub(crate) fn decode(
    target: &'static Target,
    c: &mut Context<'_>,
    pc: u64,
    privileged: bool,
) -> Result<Inst, FaultKind> {
    let words = words(c.tlb, c.env, c.vmid, pc)?;
    match target.decode(words) {
        Ok(mut inst) => {
            if !privileged {
                restrict(&mut inst);
            }
            match inst.unsupported() {
                Some(what) => Err(FaultKind::Unsupported(what)),
                None => Ok(inst),
            }
        }
        Err(DecodeError::Undecodable) => Err(FaultKind::Undecodable),
        Err(DecodeError::ReservedOperand(..)) => Err(FaultKind::Unsupported("a reserved operand")),
    }
}

/// The three words at `pc`; those that cannot be fetched are zero.
pub(crate) fn words(
    tlb: &mut Tlb,
    env: &mut dyn Env,
    vmid: u8,
    pc: u64,
) -> Result<[u32; 3], FaultKind> {
    let mut words = [0; 3];
    for (n, word) in words.iter_mut().enumerate() {
        let va = pc.wrapping_add(4 * n as u64);
        match tlb.page(env, vmid, va, Access::Execute) {
            Ok(page) => *word = page.load_u32(va as usize % PAGE),
            // An instruction may go on in the next page; a short one may be the last there is.
            Err(fault) if n == 0 => return Err(fault.into()),
            Err(_) => break,
        }
    }
    Ok(words)
}
