// SPDX-License-Identifier: GPL-2.0

//! A queue as it is, for people to look at: its MQDs as they are in memory, and what it is made of.

use super::{
    Format,
    HwQueue,
    Inner,
    QueueState, //
};
use crate::{
    hw::mqd::v9::SdmaMqd as Mqd,
    mqd,
    types::{
        DoorbellWord,
        GpuVa,
        RingParams,
        SdmaPlace, //
    }, //
};

/// What a queue is made of, and where it stands.
pub(crate) struct Shown {
    pub(crate) format: Format,
    pub(crate) state: QueueState,
    pub(crate) ring: RingParams,
    /// Where its pointers are in its process' memory.
    pub(crate) read: GpuVa,
    pub(crate) write: GpuVa,
    pub(crate) doorbell: DoorbellWord,
    pub(crate) sdma: Option<SdmaPlace>,
}

impl Shown {
    fn of(inner: &Inner) -> Self {
        let spec = &inner.spec;
        Self {
            format: spec.format,
            state: inner.state,
            ring: spec.ring,
            read: spec.rptr,
            write: spec.wptr,
            doorbell: spec.doorbell,
            sdma: spec.sdma,
        }
    }
}

impl HwQueue {
    /// What kind of packets it takes.
    pub(crate) fn format(&self) -> Format {
        self.with_spec(|spec| spec.format)
    }

    /// What it is made of; `None` while somebody changes it.
    pub(crate) fn try_show(&self) -> Option<Shown> {
        let inner = self.inner.try_lock()?;
        Some(Shown::of(&inner))
    }

    /// What it is made of.
    pub(crate) fn show(&self) -> Shown {
        Shown::of(&self.inner.lock())
    }

    /// For how long a copy queue was at work when its engine let it go, as its MQD has it: in an engine's units, 0
    /// before that. `None` where MQDs don't have it, or the device is gone.
    pub(crate) fn kept_count(&self) -> Option<u64> {
        let mut words = self.mqds().next()?;
        let low = words.nth(Mqd::SDMAX_RLCX_UTILIZATION.word())?;
        Some(u64::from(words.next()?) << 32 | u64::from(low))
    }

    /// Its MQDs: that of each XCC, or the one of a copy engine. None of their words when the device is gone.
    pub(crate) fn mqds(&self) -> impl Iterator<Item = impl Iterator<Item = u32> + '_> + '_ {
        let words = mqd::words_of(self.format());
        (0..u64::from(self.copies)).map(move |copy| {
            let at = copy.saturating_mul(self.stride);
            let places = (at..).step_by(4).take(words);
            places.map_while(|at| self.mqd.read32(at).ok())
        })
    }
}
