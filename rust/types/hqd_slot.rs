// SPDX-License-Identifier: GPL-2.0

//! Places for hardware queues.

use crate::hw::value::Bounded;

/// A place for a hardware queue (HQD), as GRBM_GFX_CNTL selects one. MEs count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HqdSlot {
    me: Bounded<2>,
    pipe: Bounded<2>,
    queue: Bounded<3>,
}

impl HqdSlot {
    /// A place that is known when the module is compiled.
    pub(crate) const fn fixed<const ME: u64, const PIPE: u64, const QUEUE: u64>() -> Self {
        Self {
            me: Bounded::new::<ME>(),
            pipe: Bounded::new::<PIPE>(),
            queue: Bounded::new::<QUEUE>(),
        }
    }

    /// A queue of a pipe of the first micro engine, or `None` where no chip has one.
    pub(crate) fn compute(pipe: u32, queue: u32) -> Option<Self> {
        Some(Self {
            me: Bounded::new::<1>(),
            pipe: Bounded::try_new(pipe.into())?,
            queue: Bounded::try_new(queue.into())?,
        })
    }

    /// A queue of a pipe of a micro engine; `None` for micro engine 0, which isn't one of compute queues.
    pub(crate) fn of(me: Bounded<2>, pipe: Bounded<2>, queue: Bounded<3>) -> Option<Self> {
        (me.get() != 0).then_some(Self { me, pipe, queue })
    }

    /// The micro engine.
    pub(crate) fn me(self) -> Bounded<2> {
        self.me
    }

    /// The pipe of the micro engine.
    pub(crate) fn pipe(self) -> Bounded<2> {
        self.pipe
    }

    /// The queue of the pipe.
    pub(crate) fn queue(self) -> Bounded<3> {
        self.queue
    }

    /// How RLC_CP_SCHEDULERS names the queue there as one that schedules others.
    pub(crate) fn as_scheduler(self) -> u8 {
        let [me, pipe, queue] = [self.me.get(), self.pipe.get(), self.queue.get()];
        // CAST: 2, 2 and 3 bits.
        0x80 | (me << 5 | pipe << 3 | queue) as u8
    }
}
