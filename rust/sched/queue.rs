// SPDX-License-Identifier: GPL-2.0

//! A queue on a scheduler: its MQDs, everything the hardware touches for it, and its life.

use super::{
    Contexts,
    Format,
    Parts,
    QueueHold,
    QueueSpec,
    QueueUpdate,
    SchedProcess, //
};
use crate::{
    glue::trace,
    mqd::{
        self,
        UserQueue, //
    },
    types::{
        DoorbellWord,
        GpuVa, //
    },
    vram::VramRange, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

mod shown;
mod waves;

pub(crate) use shown::Shown;
pub(crate) use waves::SavedArea;

/// A queue's life.
///
/// ```text
/// Created -> Mapped <-> Disabled    Mapped <-> Evicted
///    any -> Gone (acknowledged)     any -> Hung (not acknowledged) -> Gone (GPU stopped)
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QueueState {
    /// Made, never run.
    Created,
    /// On the run list.
    Mapped,
    /// Off, because its ring or its share is empty, or a debugger has suspended it.
    Disabled,
    /// Off, because its process is evicted.
    Evicted,
    /// The hardware didn't let go of it.
    Hung,
    /// Off for good.
    Gone,
}

impl QueueState {
    /// Every state.
    pub(crate) const ALL: [Self; 6] = [
        Self::Created,
        Self::Mapped,
        Self::Disabled,
        Self::Evicted,
        Self::Hung,
        Self::Gone,
    ];

    /// Its name, for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Mapped => "mapped",
            Self::Disabled => "disabled",
            Self::Evicted => "evicted",
            Self::Hung => "hung",
            Self::Gone => "gone",
        }
    }

    /// The next state, or EINVAL when there is no such transition.
    fn to(self, next: Self) -> Result<Self> {
        use QueueState::{
            Created,
            Disabled,
            Evicted,
            Gone,
            Hung,
            Mapped, //
        };
        match (self, next) {
            (Gone, _) | (_, Created) | (Hung, Mapped | Disabled | Evicted) => Err(EINVAL),
            (Created | Mapped | Disabled | Evicted | Hung, next) => Ok(next),
        }
    }
}

/// The parts of a queue that can change. Guarded by its own lock, taken under the scheduler's.
struct Inner {
    spec: QueueSpec,
    state: QueueState,
    cu_mask: Option<KVec<u32>>,
    hold: QueueHold,
}

/// A queue on a scheduler.
#[pin_data]
pub(crate) struct HwQueue {
    parts: Arc<Parts>,
    process: Arc<SchedProcess>,
    mqd: VramRange,
    stride: u64,
    /// MQDs: one for each XCC, or one for a copy engine.
    copies: u32,
    /// It is a copy engine's.
    copies_memory: bool,
    /// Which XCC counts as the first for this queue.
    first_xcc: u32,
    contexts: Option<Contexts>,
    /// A debugger has taken it off. Changed with the scheduler's lock.
    suspended: Atomic<u32>,
    #[pin]
    inner: Mutex<Inner>,
}

impl HwQueue {
    /// Allocates the MQDs. [`HwQueue::write_mqd`] fills them.
    pub(super) fn new(
        parts: &Arc<Parts>,
        process: &Arc<SchedProcess>,
        spec: QueueSpec,
        hold: QueueHold,
        first_xcc: u32,
        contexts: Option<Contexts>,
    ) -> Result<Arc<Self>> {
        let stride = parts.mqd.stride(spec.save.stack_bytes)?;
        let copies = match spec.format {
            Format::Aql | Format::Pm4 => parts.chip.num_xcc,
            Format::Sdma => 1,
        };
        let bytes = stride.checked_mul(copies.into()).ok_or(EINVAL)?;
        let mqd = VramRange::new(&parts.vram, bytes)?;
        let copies_memory = spec.format == Format::Sdma;
        let (parts, process) = (parts.clone(), process.clone());
        let inner = Inner {
            spec,
            state: QueueState::Created,
            cu_mask: None,
            hold,
        };
        let queue = Arc::pin_init(
            pin_init!(Self {
                parts,
                process,
                mqd,
                stride,
                copies,
                copies_memory,
                first_xcc,
                contexts,
                suspended: Atomic::new(0),
                inner <- new_mutex!(inner, "rkfd queue"),
            }),
            GFP_KERNEL_ACCOUNT,
        )?;
        queue.trace_state(&queue.inner.lock());
        Ok(queue)
    }

    /// Where it stands.
    pub(crate) fn state(&self) -> QueueState {
        self.inner.lock().state
    }

    /// Whose it is.
    pub(crate) fn process(&self) -> &Arc<SchedProcess> {
        &self.process
    }

    pub(super) fn enter(&self, next: QueueState) -> Result {
        let mut inner = self.inner.lock();
        inner.state = inner.state.to(next)?;
        self.trace_state(&inner);
        Ok(())
    }

    /// Enters the state that it has once a list was handed over with all that want to run, unless it ended.
    ///
    /// # Errors
    ///
    /// As of [`enter`](Self::enter).
    pub(super) fn settle(&self, evicted: bool) -> Result {
        let mut inner = self.inner.lock();
        let next = match self.wants(&inner) {
            _ if matches!(inner.state, QueueState::Hung | QueueState::Gone) => return Ok(()),
            false => QueueState::Disabled,
            true if evicted => QueueState::Evicted,
            true => QueueState::Mapped,
        };
        if inner.state != next {
            inner.state = inner.state.to(next)?;
            self.trace_state(&inner);
        }
        Ok(())
    }

    fn trace_state(&self, inner: &Inner) {
        let (pasid, doorbell) = (self.process.pasid().get(), inner.spec.doorbell.get());
        trace::queue_enters(
            pasid.into(),
            doorbell,
            self.mqd_addr().get(),
            inner.state as u32,
        );
    }

    /// Whether it should run when its process may.
    pub(super) fn wants_to_run(&self) -> bool {
        self.wants(&self.inner.lock())
    }

    fn wants(&self, inner: &Inner) -> bool {
        let can = !matches!(inner.state, QueueState::Hung | QueueState::Gone);
        can && !self.is_suspended() && inner.spec.ring.is_active()
    }

    /// Whether a debugger has taken it off.
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspended.load(Relaxed) != 0
    }

    /// Notes whether a debugger has taken it off. Returns whether that is new.
    pub(super) fn set_suspended(&self, suspended: bool) -> bool {
        let before = self.is_suspended();
        self.suspended.store(suspended.into(), Relaxed);
        before != suspended
    }

    /// Whether it is a copy engine's.
    pub(super) fn is_copying(&self) -> bool {
        self.copies_memory
    }

    /// Its doorbell.
    pub(super) fn doorbell(&self) -> DoorbellWord {
        self.inner.lock().spec.doorbell
    }

    /// What the firmware keeps of it, with schedulers that need that.
    pub(super) fn contexts(&self) -> Option<&Contexts> {
        self.contexts.as_ref()
    }

    /// Runs `f` on what it is made of.
    pub(super) fn with_spec<R>(&self, f: impl FnOnce(&QueueSpec) -> R) -> R {
        f(&self.inner.lock().spec)
    }

    /// Address of the first XCC's MQD, in address space 0.
    pub(crate) fn mqd_addr(&self) -> GpuVa {
        self.mqd.gpu_addr()
    }

    /// Changes what it is made of. The caller has taken it off the hardware.
    pub(super) fn change(&self, update: QueueUpdate) {
        let mut inner = self.inner.lock();
        inner.spec.ring = update.ring;
        inner.spec.gws = update.gws;
        if let Some(pins) = update.pins {
            inner.hold.pins = pins;
        }
        if let Some(mask) = update.cu_mask {
            inner.cu_mask = Some(mask);
        }
    }

    /// Writes the MQDs. Those of a queue that has run hold its saved state, so only what an update may
    /// change is written, unless `fresh` is set: then there is no such state.
    pub(super) fn write_mqd(&self, trap: bool, fresh: bool) -> Result {
        let mut image = [0; 512];
        let inner = self.inner.lock();
        for xcc_index in 0..self.copies {
            let offset = self.stride.checked_mul(xcc_index.into()).ok_or(EINVAL)?;
            let queue = UserQueue {
                spec: &inner.spec,
                chip: &self.parts.chip,
                mqd_addr: self.mqd_addr().byte(offset),
                xcc_index,
                logical_xcc: self.first_xcc.wrapping_add(xcc_index),
                trap,
                atomics: self.parts.atomics,
                cu_mask: inner
                    .cu_mask
                    .as_ref()
                    .map(|bits| self.cu_mask(bits, xcc_index)),
            };
            self.parts.mqd.build(&queue, &mut image)?;
            if fresh {
                self.mqd.write_words(offset, &image)?;
            } else {
                self.write_updated(offset, inner.spec.format, &image)?;
            }
        }
        self.parts.vram.flush_hdp();
        let (pasid, doorbell) = (self.process.pasid().get(), inner.spec.doorbell.get());
        trace::mqd_written(pasid.into(), doorbell, self.mqd_addr().get(), fresh);
        Ok(())
    }

    /// Whether it is of compute units.
    pub(super) fn computes(&self) -> bool {
        !self.copies_memory
    }

    /// Has what it does counted, or not. It is of compute units, and the caller has taken it off the hardware.
    pub(super) fn count_events(&self, on: bool) -> Result {
        for xcc in 0..u64::from(self.copies) {
            let word = (mqd::COUNTED as u64).checked_mul(4).ok_or(EINVAL)?;
            let at = self.stride.checked_mul(xcc).ok_or(EINVAL)?;
            let at = at.checked_add(word).ok_or(EINVAL)?;
            self.mqd.write_words(at, &[u32::from(on)])?;
        }
        self.parts.vram.flush_hdp();
        Ok(())
    }

    /// Writes what an update may change.
    fn write_updated(&self, offset: u64, format: Format, image: &mqd::Image) -> Result {
        for &(first, width) in self.parts.mqd.updated(format).into_iter().flatten() {
            let words = image
                .get(first..)
                .and_then(|rest| rest.get(..usize::from(width).div_ceil(32)))
                .ok_or(EINVAL)?;
            let at = (first as u64).checked_mul(4);
            let at = at.and_then(|at| at.checked_add(offset)).ok_or(EINVAL)?;
            self.mqd.write_words(at, words)?;
        }
        Ok(())
    }

    /// Spreads a user program's bits over XCCs, engines, arrays and units
    /// (`mqd_symmetrically_map_cu_mask`).
    fn cu_mask(&self, bits: &[u32], xcc_index: u32) -> [u32; 4] {
        let chip = &self.parts.chip;
        let engines = chip.engines_per_xcc().min(4);
        let arrays = chip.shader_arrays_per_engine.min(2);
        let count = (bits.len() as u32).saturating_mul(32).min(chip.cu_count);
        let mut masks = [0u32; 4];
        let mut bit = xcc_index;
        let together = chip.family.cus_per_mask.clamp(1, 16);
        let enable = !(u32::MAX << together);
        for unit in (0..16).step_by(together as usize) {
            for array in 0..arrays {
                for engine in 0..engines {
                    let active = chip
                        .cu_bitmap
                        .get(engine as usize)
                        .and_then(|arrays| arrays.get(array as usize))
                        .map_or(0, |bitmap| bitmap.count_ones());
                    if active <= unit {
                        continue;
                    }
                    if bit >= count {
                        return masks;
                    }
                    let set = bits
                        .get(bit as usize / 32)
                        .is_some_and(|w| w >> (bit % 32) & enable != 0);
                    if let (true, Some(mask)) = (set, masks.get_mut(engine as usize)) {
                        *mask |= enable << (unit | array << 4);
                    }
                    bit = bit.saturating_add(chip.num_xcc.saturating_mul(together));
                }
            }
        }
        masks
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
