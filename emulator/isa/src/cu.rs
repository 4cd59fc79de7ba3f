// SPDX-License-Identifier: MIT OR Apache-2.0
//! A compute unit: the caches that its workgroups share.

use crate::blocks::Code;
use crate::cache::Caches;
use crate::checks::Checks;
use crate::fault::Access;
use crate::kernel::{DescriptorError, Kernel, DESCRIPTOR_SIZE};
use crate::leftovers::Leftovers;
use crate::memory::{Env, Tlb, PAGE};
use crate::second::SecondLevel;
use crate::tally::Tally;
use crate::target::{Target, GFX942};
use crate::traffic::Traffic;
use std::sync::Arc;

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
    pub(crate) checks: Checks,
    pub(crate) tlb: Tlb,
    /// First-level caches of workgroups that have ended.
    pub(crate) idle: Vec<Caches>,
    /// The XCC's second-level cache, if it has any.
    second: Option<Arc<SecondLevel>>,
    /// Acquires so far, for the vector and the scalar caches.
    pub(crate) acquires: [u64; 2],
    pub(crate) code: Code,
    pub(crate) leftovers: Leftovers,
    pub(crate) instructions: u64,
    pub(crate) waves: u64,
    pub(crate) workgroups: u64,
    pub(crate) decoded: u64,
    /// What it executes, by kind, while somebody wants to know.
    pub(crate) tally: Option<Tally>,
    /// What it asks of caches, the same.
    pub(crate) traffic: Option<Box<Traffic>>,
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

    /// An idle compute unit of a chip, with empty caches, that checks what is checked by default.
    pub fn for_target(target: &'static Target) -> Self {
        Self::with_checks(target, Checks::default())
    }

    /// An idle compute unit of a chip, with empty caches.
    pub fn with_checks(target: &'static Target, checks: Checks) -> Self {
        Self {
            target,
            checks,
            tlb: Tlb::default(),
            idle: Vec::new(),
            second: None,
            acquires: [0; 2],
            code: Code::default(),
            leftovers: Leftovers::default(),
            instructions: 0,
            waves: 0,
            workgroups: 0,
            decoded: 0,
            tally: None,
            traffic: None,
        }
    }

    /// The same compute unit on an XCC that has a second-level cache. Where caches are neither checked nor counted it is
    /// not used.
    pub fn above(self, second: Option<Arc<SecondLevel>>) -> Self {
        Self { second, ..self }
    }

    /// The chip.
    pub fn target(&self) -> &'static Target {
        self.target
    }

    /// Forget decoded instructions: the packet processor's instruction cache invalidation.
    pub fn invalidate_code(&mut self) {
        self.code = Code::default();
    }

    /// The packet processor has acquired so often for the vector and the scalar first-level caches: what they
    /// have from before is dropped when their count differs from the last one given.
    pub fn acquired(&mut self, acquires: [u64; 2]) {
        self.acquires = acquires;
    }

    /// One more acquire for both, by who has no packet processor.
    pub fn acquire(&mut self) {
        self.acquires = self.acquires.map(|count| count.wrapping_add(1));
    }

    /// Firmware clears registers and LDS.
    pub fn clear(&mut self) {
        self.leftovers.clear();
    }

    /// Counts by kind what it executes from now on.
    pub fn begin_tally(&mut self) {
        self.tally = Some(Tally::default());
    }

    /// What it has executed since then, if it was told to count. It counts no more.
    pub fn end_tally(&mut self) -> Option<Tally> {
        self.tally.take()
    }

    /// Counts what it asks of caches from now on, which needs a second level. Work-groups have caches then, whether
    /// they are checked or not.
    pub fn begin_traffic(&mut self) {
        self.traffic = Some(Box::default());
    }

    /// What it has asked of caches since then, if it was told to count. It counts no more.
    pub fn end_traffic(&mut self) -> Option<Box<Traffic>> {
        self.traffic.take()
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

    /// Whether workgroups have caches now.
    pub(crate) fn has_caches(&self) -> bool {
        self.checks.caches || self.traffic.is_some()
    }

    /// First-level caches for a workgroup: those of the one that ended last, if it may inherit them.
    pub(crate) fn caches(&mut self, inherits: bool) -> Option<Caches> {
        if !self.has_caches() {
            // Those of work-groups that were counted. Others work on memory itself.
            self.idle.clear();
            if let Some(second) = &self.second {
                second.write_back();
            }
            return None;
        }
        let fresh = || Caches::above(self.second.clone());
        let mut caches = self.idle.pop().unwrap_or_else(fresh);
        if !inherits {
            caches.drop_vector();
            caches.drop_scalar();
        }
        Some(caches)
    }

    /// Drop the translations that the embedder's flush has made stale.
    pub(crate) fn follow(&mut self, env: &dyn Env) {
        if self.tlb.follow(env.epoch()) {
            self.invalidate_code();
        }
    }
}
