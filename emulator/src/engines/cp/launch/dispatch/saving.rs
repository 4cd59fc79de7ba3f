// SPDX-License-Identifier: MIT OR Apache-2.0

//! A dispatch that is taken off and comes back: its workgroups' waves save themselves by their trap handler, and
//! load themselves later.

use super::{Counts, Dispatch, Go, Progress};
use crate::engines::cp::front::relaunch::{Shape, Slot};
use crate::engines::cp::launch::group::Group;
use crate::engines::cp::launch::saved::SavedGroup;
use rkfd_isa::{stored_bytes, ComputeUnit, Relaunch, Scratch};
use std::sync::atomic::Ordering;
use std::sync::PoisonError;

/// More waves or instructions than a dispatch executes in years: the sum of all XCCs' counts can be no overflow.
const MOST: u64 = 1 << 56;

/// The save area has no room for a workgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoRoom;

impl Dispatch {
    /// Whether workgroups have begun and not ended.
    pub(crate) fn has_begun(&self) -> bool {
        self.lock().resident > 0
    }

    /// Whether all that have begun were saved.
    pub(crate) fn is_saved(&self) -> bool {
        let inner = self.lock();
        inner.saved.len() == inner.resident as usize
    }

    /// Whether it stands still but for workgroups that have been asked to save themselves.
    pub(crate) fn is_saving(&self) -> bool {
        self.is(Go::Save)
    }

    /// Whether waves of it are being saved or loaded, or still have to be loaded.
    pub(crate) fn is_moving(&self) -> bool {
        let inner = self.lock();
        !inner.coming.is_empty() || inner.waiting.iter().any(|(group, _)| group.is_moving())
    }

    /// Asks all that have begun to save themselves, from an address on and not beyond `end`; where the last one
    /// ends. Those without a trap handler go on instead. No worker is on it.
    pub(crate) fn ask_to_save(&self, from: u64, end: u64) -> Result<u64, NoRoom> {
        let inner = &mut *self.lock();
        inner.waiting.extend(inner.halted.drain(..));
        let mut at = from;
        for (group, _) in &mut inner.waiting {
            let after = at.checked_add(group.bytes_to_save(self.target));
            if after.is_none_or(|after| after > end) {
                return Err(NoRoom);
            }
            at = group.ask_to_save(self.target, at).unwrap_or(at);
        }
        self.set(Go::Save);
        Ok(at)
    }

    /// How far it got, and its workgroups that were saved, in the order of their places in memory. No worker is
    /// on it.
    pub(crate) fn save(&self) -> (Progress, Vec<SavedGroup>) {
        let inner = self.lock();
        let counts = inner.counts;
        let progress = Progress([
            self.next.load(Ordering::Acquire),
            self.finished.load(Ordering::Acquire),
            counts.workgroups,
            counts.waves,
            counts.instructions,
            self.started,
        ]);
        let mut groups = inner.saved.clone();
        groups.sort_by_key(|group| group.waves.last().map(|wave| wave.place));
        (progress, groups)
    }

    /// Puts a new one where another one got; `None` when that is not possible.
    pub(crate) fn restore(
        &mut self,
        progress: &Progress,
        mut groups: Vec<SavedGroup>,
    ) -> Option<()> {
        let [next, finished, workgroups, waves, instructions, started] = progress.0;
        let resident = u32::try_from(groups.len()).ok()?;
        if next > self.total || finished.checked_add(resident.into()) != Some(next) {
            return None;
        }
        if workgroups != finished || waves > MOST || instructions > MOST {
            return None;
        }
        for _ in 1..resident {
            if !self.room.take(self.words) {
                return None;
            }
        }
        for group in &mut groups {
            self.accept(group)?;
        }
        *self.next.get_mut() = next;
        *self.finished.get_mut() = finished;
        self.started = started;
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        for group in &groups {
            let at = inner.free.iter().position(|free| *free == group.place)?;
            inner.free.remove(at);
        }
        inner.resident = resident;
        inner.counts = Counts {
            workgroups,
            waves,
            instructions,
        };
        inner.coming = groups.into();
        Some(())
    }

    /// Whether a workgroup that was saved is one of this dispatch's, and gives it its scratch.
    fn accept(&self, group: &mut SavedGroup) -> Option<()> {
        let registers = self.kernel.vgprs.max(1);
        let lds = self.params.group_segment_size;
        let numbers = group.waves.iter().map(|wave| wave.index);
        let fits = self.params.handler.entry != 0
            && group.lds == lds.next_multiple_of(self.target.lds_granule)
            // So no wave is there twice, nor more of them than a work-group has.
            && numbers.clone().zip(numbers.skip(1)).all(|(one, next)| one < next)
            && group.waves.iter().all(|wave| {
                wave.index < self.waves_per_group
                    && wave.registers == registers
                    && wave.acc_base <= registers
            });
        let scratch = self.scratch_of(group.place);
        for wave in &mut group.waves {
            let before = u64::from(wave.index).wrapping_mul(scratch.wave_size);
            wave.scratch = (scratch.base.wrapping_add(before), scratch.wave_size);
        }
        fits.then_some(())
    }

    /// The scratch memory of the workgroup that has a place there.
    pub(super) fn scratch_of(&self, place: u32) -> Scratch {
        let stride = u64::from(self.waves_per_group) * self.scratch.wave_size;
        Scratch {
            base: (self.scratch.base).wrapping_add(u64::from(place).wrapping_mul(stride)),
            wave_size: self.scratch.wave_size,
        }
    }

    /// Launches a workgroup again that was saved.
    pub(super) fn relaunch(
        &self,
        cu: &mut ComputeUnit,
        saved: &SavedGroup,
    ) -> Option<(Group, u32)> {
        let again = Relaunch {
            id: saved.id,
            vmid: self.params.vmid,
            lds: saved.lds,
            handler: self.params.handler,
            doorbell: self.params.doorbell,
            apertures: self.params.apertures,
            waves: saved.waves.clone(),
        };
        Some((Group::relaunch(cu, self.kernel.lanes, &again)?, saved.place))
    }

    /// Where in memory a workgroup that was saved ends.
    pub(crate) fn end_of(&self, group: &SavedGroup) -> u64 {
        let mut lds = Some(group.lds.into());
        let ends = group.waves.iter().map(|wave| {
            let (lanes, registers) = (self.kernel.lanes.into(), wave.registers.into());
            let bytes = stored_bytes(self.target, lanes, registers, lds.take());
            wave.place.wrapping_add(bytes)
        });
        ends.max().unwrap_or(0)
    }

    /// What the control stack has of the workgroups that are to be launched again.
    pub(crate) fn described_all(&self) -> Vec<(Shape, Vec<Option<Slot>>)> {
        let inner = self.lock();
        inner.coming.iter().map(|g| self.described(g)).collect()
    }

    /// What the control stack has of a workgroup that was saved.
    pub(crate) fn described(&self, group: &SavedGroup) -> (Shape, Vec<Option<Slot>>) {
        let first = group.waves.first();
        let shape = Shape {
            lanes: self.kernel.lanes as usize,
            registers: first.map_or(0, |wave| wave.registers.into()),
            acc_base: first.map_or(0, |wave| wave.acc_base.into()),
            lds: group.lds,
        };
        let each = (self.scratch.waves / self.engines).max(1);
        let slot = |index: u32| {
            let number = group
                .place
                .wrapping_mul(self.waves_per_group)
                .wrapping_add(index);
            let has_any = self.params.private_segment_size > 0;
            has_any.then_some((number / each, number % each))
        };
        (shape, group.waves.iter().map(|w| slot(w.index)).collect())
    }
}
