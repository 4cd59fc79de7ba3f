// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where a queue that was taken off is kept: its control stack, and its save area.
//!
//! Sources: Linux, `amdkfd/kfd_mqd_manager_v9.c` and `_v12.c` (`get_wave_state`: "Control stack is written
//! backwards, while workgroup context data is written forwards. Both starts from m->cp_hqd_cntl_stack_size"; on
//! gfx9 "Control stack is located one page after MQD"), `amdkfd/kfd_queue.c`
//! (`kfd_queue_ctx_save_restore_size`: how large both are).

use crate::engines::cp::front::hqd::Image;
use crate::engines::cp::mec::loads::Load;
use crate::engines::cp::mec::{Hqd, Mec};
use crate::memory::VmFault;
use crate::report::Whose;
use std::fmt;

/// Why waves can't be saved or restored.
#[derive(Debug)]
pub(crate) enum Lost {
    /// Memory can't be reached.
    Memory(VmFault),
    /// The area is too small, or the MQD and it do not fit.
    Area(&'static str),
    /// The area, which is the program's memory, does not hold what was saved there.
    Changed,
    /// The control stack doesn't.
    Stack(Whose),
}

impl Lost {
    /// Whose doing it is: the area lies in the program's memory, the stack of gfx9 in the kernel's.
    pub fn whose(&self) -> Whose {
        match self {
            Self::Memory(fault) if fault.vmid == 0 => Whose::Driver,
            Self::Memory(_) | Self::Changed => Whose::Program,
            Self::Area(_) => Whose::Driver,
            Self::Stack(whose) => *whose,
        }
    }
}

impl From<VmFault> for Lost {
    fn from(fault: VmFault) -> Self {
        Self::Memory(fault)
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(fault) => write!(f, "the context save area: {fault}"),
            Self::Area(what) => f.write_str(what),
            Self::Changed => {
                f.write_str("the context save area does not hold what was saved there")
            }
            Self::Stack(_) => f.write_str("the control stack does not hold what was saved there"),
        }
    }
}

/// A queue's save area and control stack on one XCC.
pub(super) struct Area {
    pub base: u64,
    /// Bytes of the area and of the control stack, at which the states of waves begin.
    pub size: u64,
    pub stack_size: u64,
    /// Where the stack lies, and in which address space.
    stack: (u8, u64),
    vmid: u8,
    xcc: u8,
}

impl Area {
    pub fn of(mec: &Mec, h: &Hqd, load: &Load) -> Self {
        let image = &load.image;
        let base = image.get(Image::CP_HQD_CTX_SAVE_BASE_ADDR);
        Self {
            base,
            size: image.get(Image::CP_HQD_CTX_SAVE_SIZE),
            stack_size: image.get(Image::CP_HQD_CNTL_STACK_SIZE),
            stack: match mec.generation.stack_behind_mqd {
                Some(behind) => (0, load.mqd + behind),
                None => (h.owner.vmid, base),
            },
            vmid: h.owner.vmid,
            xcc: load.xcc,
        }
    }

    /// Where the states of waves begin.
    pub fn states(&self) -> u64 {
        self.base.wrapping_add(self.stack_size)
    }

    /// Writes words at an offset of the area.
    pub fn write(&self, mec: &Mec, offset: u64, words: &[u32]) -> Result<(), Lost> {
        if offset + words.len() as u64 * 4 > self.size {
            return Err(Lost::Area("the context save area is too small"));
        }
        let space = mec.space_on(self.xcc, self.vmid);
        Ok(space.write_words(self.base.wrapping_add(offset), words)?)
    }

    /// Reads words from an offset of the area.
    pub fn read(&self, mec: &Mec, offset: u64, count: usize) -> Result<Vec<u32>, Lost> {
        if offset + count as u64 * 4 > self.size {
            return Err(Lost::Changed);
        }
        let mut words = vec![0; count];
        let space = mec.space_on(self.xcc, self.vmid);
        space.read_words(self.base.wrapping_add(offset), &mut words)?;
        Ok(words)
    }

    /// Writes the control stack, which ends where the states begin; the offset of its top.
    pub fn push(&self, mec: &Mec, words: &[u32]) -> Result<u64, Lost> {
        let top = self.stack_size.checked_sub(words.len() as u64 * 4);
        let top = top.ok_or(Lost::Area("the control stack is too small"))?;
        let (vmid, stack) = self.stack;
        let space = mec.space_on(self.xcc, vmid);
        space.write_words(stack.wrapping_add(top), words)?;
        Ok(top)
    }

    /// Checks that the control stack holds these words from the offset of its top on.
    pub fn check(&self, mec: &Mec, top: u64, words: &[u32]) -> Result<(), Lost> {
        let (vmid, stack) = self.stack;
        let whose = if vmid == 0 {
            Whose::Driver
        } else {
            Whose::Program
        };
        let changed = || Lost::Stack(whose);
        if self.stack_size.checked_sub(words.len() as u64 * 4) != Some(top) {
            return Err(changed());
        }
        let mut there = vec![0; words.len()];
        let space = mec.space_on(self.xcc, vmid);
        space.read_words(stack.wrapping_add(top), &mut there)?;
        (there == words).then_some(()).ok_or_else(changed)
    }
}
