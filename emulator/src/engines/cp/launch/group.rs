// SPDX-License-Identifier: MIT OR Apache-2.0

//! A workgroup of waves of either size. The kernel chooses the size on a chip that has both.

use super::window::Window;
use rkfd_isa::{ComputeUnit, Dispatch, Kernel, LaunchError, Outcome, Run, Scratch, Workgroup};

/// A workgroup.
pub(crate) enum Group {
    Wave32(Workgroup<32>),
    Wave64(Workgroup<64>),
}

impl Group {
    /// Sets up workgroup `id` of a dispatch.
    ///
    /// # Errors
    /// It can't be launched.
    pub fn launch(
        cu: &mut ComputeUnit,
        kernel: &Kernel,
        dispatch: &Dispatch,
        id: [u32; 3],
        scratch: Scratch,
        preloaded: &[u32],
    ) -> Result<Self, LaunchError> {
        Ok(match kernel.lanes {
            32 => Self::Wave32(Workgroup::launch(
                cu, kernel, dispatch, id, scratch, preloaded,
            )?),
            _ => Self::Wave64(Workgroup::launch(
                cu, kernel, dispatch, id, scratch, preloaded,
            )?),
        })
    }

    /// Its state as words.
    pub fn save(&self) -> Vec<u32> {
        match self {
            Self::Wave32(group) => group.save(),
            Self::Wave64(group) => group.save(),
        }
    }

    /// A workgroup of words that [`Group::save`] gave, of a process that is called `vmid` now;
    /// `None` when they are not such words.
    pub fn restore(words: &[u32], vmid: u8) -> Option<Self> {
        match words.first()? {
            32 => Workgroup::restore(words, vmid).map(Self::Wave32),
            64 => Workgroup::restore(words, vmid).map(Self::Wave64),
            _ => None,
        }
    }

    /// Whether a halted wave holds it.
    pub fn is_halted(&self) -> bool {
        match self {
            Self::Wave32(group) => group.is_halted(),
            Self::Wave64(group) => group.is_halted(),
        }
    }

    /// Runs it for a budget of instructions.
    pub fn run(&mut self, cu: &mut ComputeUnit, window: &mut Window<'_>, budget: u64) -> Outcome {
        match self {
            Self::Wave32(group) => group.run(cu, window, budget),
            Self::Wave64(group) => group.run(cu, window, budget),
        }
    }
}
