// SPDX-License-Identifier: MIT OR Apache-2.0

//! A workgroup of waves of either size. The kernel chooses the size on a chip that has both.

use super::saved::SavedGroup;
use super::window::Window;
use rkfd_isa::{ComputeUnit, Dispatch, Kernel, LaunchError, Outcome};
use rkfd_isa::{Relaunch, Run, Scratch, Target, Workgroup};

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

    /// The workgroup again, of waves that load themselves; `None` when it can't be launched.
    pub fn relaunch(cu: &mut ComputeUnit, lanes: u32, saved: &Relaunch) -> Option<Self> {
        match lanes {
            32 => Workgroup::relaunch(cu, saved).map(Self::Wave32),
            _ => Workgroup::relaunch(cu, saved).map(Self::Wave64),
        }
    }

    /// Its number in its grid.
    pub fn id(&self) -> [u32; 3] {
        match self {
            Self::Wave32(group) => group.id(),
            Self::Wave64(group) => group.id(),
        }
    }

    /// Its waves, those that have ended, too.
    pub fn waves(&self) -> u32 {
        let count = match self {
            Self::Wave32(group) => group.waves().len(),
            Self::Wave64(group) => group.waves().len(),
        };
        count as u32
    }

    /// The numbers of its waves. One that was saved has none any more of those that had ended before.
    pub fn numbers(&self) -> Vec<u32> {
        match self {
            Self::Wave32(group) => group.waves().iter().map(|wave| wave.index).collect(),
            Self::Wave64(group) => group.waves().iter().map(|wave| wave.index).collect(),
        }
    }

    /// Bytes that its waves take when they are saved now.
    pub fn bytes_to_save(&self, target: &Target) -> u64 {
        match self {
            Self::Wave32(group) => group.bytes_to_save(target),
            Self::Wave64(group) => group.bytes_to_save(target),
        }
    }

    /// Asks its waves to have themselves saved, from an address on; where the last one ends. `None` if they have
    /// no trap handler.
    pub fn ask_to_save(&mut self, target: &Target, from: u64) -> Option<u64> {
        match self {
            Self::Wave32(group) => group.ask_to_save(target, from),
            Self::Wave64(group) => group.ask_to_save(target, from),
        }
    }

    /// Whether waves of it are being saved or loaded.
    pub fn is_moving(&self) -> bool {
        match self {
            Self::Wave32(group) => group.is_moving(),
            Self::Wave64(group) => group.is_moving(),
        }
    }

    /// What was saved of it, which had this place in scratch memory; `None` if nothing was.
    pub fn saved(&self, place: u32) -> Option<SavedGroup> {
        let (waves, id, lds) = match self {
            Self::Wave32(group) => (group.saved(), group.id(), group.lds().len()),
            Self::Wave64(group) => (group.saved(), group.id(), group.lds().len()),
        };
        let lds = lds as u32;
        (!waves.is_empty()).then_some(SavedGroup {
            place,
            id,
            lds,
            waves,
        })
    }

    /// It has ended: what its waves had stays behind in the compute unit.
    pub fn retire(self, cu: &mut ComputeUnit) {
        match self {
            Self::Wave32(group) => group.retire(cu),
            Self::Wave64(group) => group.retire(cu),
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
