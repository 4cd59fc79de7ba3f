// SPDX-License-Identifier: GPL-2.0

//! The driver's own queue of a copy engine: its ring, and how far the engine got.
//!
//! Whoever submits gets a [`Ticket`], waits with no lock held ([`Copier::wait`]), and shares the ring
//! fairly by what it submits at once. An engine that gets no further for [`PATIENCE`] is reset
//! (`hung.rs`): what was submitted is lost then, and may be submitted again. If the reset fails, memory that
//! was submitted is kept until the GPU was stopped.
//!
//! Source: Linux, `sdma_v4_4_2.c` and `sdma_v7_0.c`, where the queue is `adev->sdma.instance[i].ring`.
//!
//! Lock order: the lock of the state is a leaf but for that of what is kept. It is held while packets are written and while
//! the queue is turned on, never while the engine works.

use super::{
    Counts,
    Hal, //
};
use crate::{
    device::Handle,
    doorbell::{
        Doorbells,
        SDMA_FIRST, //
    },
    glue::{
        linux::ETIME,
        user as caller,
        workqueue::WorkQueue, //
    },
    gmc::{
        Gart,
        KernelBuf, //
    },
    hangs::Hangs,
    kept::Kept,
    regs::Regs,
    ring::{
        Format,
        Poll,
        Ring, //
    },
    smu::Smu,
    types::{
        DoorbellWord,
        SdmaPlace, //
    },
    vram::Vram, //
};
use kernel::{
    fmt,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    },
    time::Delta, //
};

/// The engine whose queue it is.
pub(super) const ENGINE: u32 = 0;
/// Its doorbell: the first that is routed to the engine, in the kernel's page
/// (`adev->doorbell_index.sdma_engine[0] << 1`).
const DOORBELL: DoorbellWord = DoorbellWord::fixed::<{ SDMA_FIRST as u64 * 2 }>();
/// Bytes of the ring: room for more than a hundred programs at once.
const RING_BYTES: usize = 4096;
/// How long the engine may take for one submission. The largest takes hardware milliseconds.
const PATIENCE: Delta = Delta::from_secs(10);

/// The ring while the engine takes packets from it.
pub(super) struct Line {
    ring: Ring,
    /// The fence of the last submission.
    last: u32,
    /// Memory of a job that is done, for the next one.
    spare: Option<KernelBuf>,
}

impl Line {
    fn new(ring: Ring) -> Self {
        Self {
            ring,
            last: 0,
            spare: None,
        }
    }

    /// Submits a packet, or none, and a fence, in the given life of the queue.
    ///
    /// # Errors
    ///
    /// As of [`Ring::submit`].
    fn submit(&mut self, hal: &dyn Hal, life: u64, packet: &[u32]) -> Result<Ticket> {
        let next = self.last.wrapping_add(1);
        let fence = hal.fence(self.ring.fence_addr(), next);
        match packet {
            [] => self.ring.submit(&[&fence])?,
            packet => self.ring.submit(&[packet, &fence])?,
        }
        self.last = next;
        Ok(Ticket { life, fence: next })
    }
}

/// The queue's state.
enum Queue {
    Off,
    /// The engine is being reset: whoever submits waits.
    Paused,
    On(Line),
    /// The engine gets no further, and is going to be reset: whoever submits waits.
    Hung(Line),
    /// The engine can't be reset, and may still use the ring.
    Lost(Line),
}

struct State {
    queue: Queue,
    /// How often it was turned on.
    life: u64,
    /// What goes on after the programs that it was for. There while the queue is on.
    late: Option<Arc<WorkQueue>>,
}

/// A submission.
#[derive(Clone, Copy)]
pub(super) struct Ticket {
    life: u64,
    fence: u32,
}

impl Ticket {
    /// The value that the ring's fence gets.
    pub(super) fn fence(self) -> u32 {
        self.fence
    }
}

/// What became of a submission.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It is done.
    Done,
    /// It is not; this is the fence of what is.
    Since(u32),
    /// It was not when the queue was turned off or given up.
    Lost,
}

/// Whether a wait ends when the caller is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Killable {
    Yes,
    No,
}

impl Killable {
    /// EINTR when the wait is to end.
    fn look(self) -> Result {
        match self {
            Self::Yes if caller::is_killed() => Err(EINTR),
            _ => Ok(()),
        }
    }
}

/// What a wait that came to its end reports to programs.
fn reported(error: Error) -> Error {
    if error == ETIME {
        EIO
    } else {
        error
    }
}

/// What a copier is made of.
pub(crate) struct Parts {
    pub(crate) dev: Arc<Handle>,
    pub(crate) regs: Arc<Regs>,
    pub(crate) vram: Arc<Vram>,
    pub(crate) gart: Arc<Gart>,
    pub(crate) doorbells: Arc<Doorbells>,
    pub(crate) kept: Arc<Kept>,
    pub(crate) hangs: Arc<Hangs>,
    pub(crate) smu: Arc<Smu>,
    pub(crate) hal: &'static dyn Hal,
}

/// The queue.
#[pin_data]
pub(crate) struct Copier {
    pub(super) parts: Parts,
    /// Memory of submissions that nobody waits for any more, until the engine was reset.
    held: Arc<Kept>,
    #[pin]
    state: Mutex<State>,
}

impl Copier {
    /// As of [`Hal::counts`].
    pub(crate) fn counts(&self, mec: u32) -> Counts {
        self.parts.hal.counts(mec)
    }

    /// As of [`Hal::count`].
    pub(crate) fn count(&self, place: SdmaPlace) -> Option<u64> {
        self.parts.hal.count(&self.parts.regs, place)
    }

    /// Reads the registers of a queue of an engine, for people to look at: calls `show` for each run of them, with
    /// the address of its first in bytes, and their values. There are none while the whole device is being reset.
    ///
    /// # Errors
    ///
    /// As of `show`.
    pub(crate) fn read_queue(
        &self,
        place: SdmaPlace,
        mut show: impl FnMut(u32, &mut dyn Iterator<Item = u32>) -> fmt::Result,
    ) -> fmt::Result {
        let Parts { hal, regs, .. } = &self.parts;
        let Some(_here) = regs.here_with_graphics() else {
            return Ok(());
        };
        for (first, count) in hal.shown() {
            let Some(first) = hal.word(regs, *first, place) else {
                continue;
            };
            let words = first..first.saturating_add(*count);
            show(
                first.wrapping_mul(4),
                &mut words.map(|word| regs.read_word(word)),
            )?;
        }
        Ok(())
    }

    /// A queue that is off.
    pub(crate) fn new(parts: Parts) -> Result<Arc<Self>> {
        let state = State {
            queue: Queue::Off,
            life: 0,
            late: None,
        };
        let held = Kept::new(parts.dev.device())?;
        Arc::pin_init(
            pin_init!(Self { parts, held, state <- new_mutex!(state, "rkfd copier") }),
            GFP_KERNEL,
        )
    }

    /// The management unit by which engines are reset.
    pub(crate) fn smu(&self) -> &Smu {
        &self.parts.smu
    }

    /// Turns it on, with an empty ring, and sees that the engine answers (`amdgpu_ring_test_helper`).
    /// Also after an engine was reset: [`stop`](Self::stop) comes before.
    ///
    /// # Errors
    ///
    /// EIO when it doesn't, ENODEV when the device is gone, ENOMEM.
    pub(crate) fn start(&self) -> Result {
        let parts = &self.parts;
        let ring = Ring::new(
            &parts.gart,
            &parts.doorbells,
            Format::SDMA,
            RING_BYTES,
            DOORBELL,
        )?;
        let late = Arc::new(WorkQueue::new_ordered(c"rkfd-copier")?, GFP_KERNEL)?;
        let mut state = self.state.lock();
        parts.hal.start_queue(&parts.regs, ENGINE, &ring);
        let mut line = Line::new(ring);
        state.life = state.life.wrapping_add(1);
        // Before anybody else submits what may hang.
        let ticket = line.submit(parts.hal, state.life, &[]);
        let old = core::mem::replace(&mut state.queue, Queue::On(line));
        state.late = Some(late);
        drop(state);
        // What was submitted in an earlier life the engine doesn't touch any more, and nobody keeps more of it.
        self.held.release();
        // Not under the lock: its memory is unmapped, and that flushes.
        drop(old);
        let answer = ticket.and_then(|ticket| self.look_out(ticket, Killable::No));
        answer.inspect_err(|_| {
            dev_err!(
                parts.dev.device(),
                "copy engine {} doesn't answer\n",
                ENGINE
            );
            self.stop();
        })
    }

    /// Turns it off. What was submitted and isn't done is lost.
    pub(crate) fn stop(&self) {
        self.turn_off(Queue::Off);
    }

    /// As [`Self::stop`], before all engines are reset: whoever submits waits until [`Self::start`], or until
    /// [`Self::stop`] if that can't be.
    pub(super) fn suspend(&self) {
        self.turn_off(Queue::Paused);
    }

    fn turn_off(&self, next: Queue) {
        let parts = &self.parts;
        let mut state = self.state.lock();
        let old = core::mem::replace(&mut state.queue, next);
        let late = state.late.take();
        drop(state);
        let idle = parts.hal.stop_queue(&parts.regs, ENGINE);
        // What waits finds that it is lost.
        drop(late);
        match (old, idle) {
            (Queue::On(line) | Queue::Hung(line) | Queue::Lost(line), Err(error))
                if error != ENODEV =>
            {
                dev_err!(parts.dev.device(), "copy engine {} doesn't stop\n", ENGINE);
                parts.kept.keep(line.ring);
                self.held.hand_to(&parts.kept);
            }
            _ => self.held.release(),
        }
    }

    /// Before the engine is reset: what was submitted is lost, and whoever submits now waits until
    /// [`start`](Self::start). The ring, unless the queue was off; it stays off then.
    pub(super) fn pause(&self) -> Option<Line> {
        let mut state = self.state.lock();
        let late = state.late.take();
        let old = core::mem::replace(&mut state.queue, Queue::Paused);
        let line = match old {
            Queue::On(line) | Queue::Hung(line) | Queue::Lost(line) => Some(line),
            Queue::Off | Queue::Paused => {
                state.queue = Queue::Off;
                None
            }
        };
        drop(state);
        // What waits finds that it is lost.
        drop(late);
        line
    }

    /// The engine of a queue that was paused can't be reset, and may still use the ring.
    pub(super) fn lose(&self, line: Line) {
        self.state.lock().queue = Queue::Lost(line);
    }

    /// Whether a submission is lost because the engine was reset meanwhile, or is being reset: it may be made
    /// again.
    pub(super) fn was_reset(&self, ticket: Ticket) -> bool {
        let state = self.state.lock();
        match &state.queue {
            Queue::On(_) => state.life != ticket.life,
            Queue::Paused | Queue::Hung(_) => true,
            Queue::Off | Queue::Lost(_) => false,
        }
    }

    /// Gives memory back that a submission names or, if the engine may still touch it, keeps it until the engine was
    /// reset: the submission isn't done, and the engine was not reset since.
    pub(super) fn keep<T: Send + Sync + 'static>(&self, ticket: Ticket, memory: T) {
        if self.progress(ticket) == Progress::Done {
            return;
        }
        let state = self.state.lock();
        if state.life == ticket.life {
            // Under the lock, so that it isn't too late for whoever begins the next life.
            self.held.keep(memory);
        } else {
            // Not under the lock: it is freed.
            drop(state);
        }
    }

    /// Whether the engine gets no further and is going to be reset.
    pub(super) fn is_hung(&self) -> bool {
        matches!(self.state.lock().queue, Queue::Hung(_))
    }

    /// Submits a packet, or none, and a fence.
    ///
    /// # Errors
    ///
    /// EIO when the engine was given up, ENODEV when the device is gone, EINTR when the caller is killed
    /// while the ring is full.
    pub(super) fn submit(&self, packet: &[u32], killable: Killable) -> Result<Ticket> {
        let mut poll = Poll::new(&self.parts.dev, PATIENCE);
        loop {
            match self.try_submit(packet) {
                Err(error) if error == ENOMEM || error == EBUSY => {}
                result => return result,
            }
            killable.look()?;
            poll.pause().map_err(reported)?;
        }
    }

    fn try_submit(&self, packet: &[u32]) -> Result<Ticket> {
        let mut state = self.state.lock();
        let life = state.life;
        let line = match &mut state.queue {
            Queue::On(line) => line,
            Queue::Paused | Queue::Hung(_) => return Err(EBUSY),
            Queue::Off | Queue::Lost(_) => {
                drop(state);
                self.parts.dev.alive()?;
                return Err(EIO);
            }
        };
        line.submit(self.parts.hal, life, packet)
    }

    /// What became of a submission.
    pub(super) fn progress(&self, ticket: Ticket) -> Progress {
        let state = self.state.lock();
        match &state.queue {
            Queue::On(line) if state.life == ticket.life => match line.ring.fence() {
                // CAST: Fences go round; those of a ring are less than half of them apart.
                Ok(fence) if fence.wrapping_sub(ticket.fence) as i32 >= 0 => Progress::Done,
                Ok(fence) => Progress::Since(fence),
                Err(_) => Progress::Lost,
            },
            _ => Progress::Lost,
        }
    }

    /// Waits for a submission.
    ///
    /// # Errors
    ///
    /// EINTR when the caller is killed, if the wait is to end then; EIO when the engine gets no
    /// further, which is reported, or the queue was turned off or reset; ENODEV when the device is gone.
    pub(super) fn wait(&self, ticket: Ticket, killable: Killable) -> Result {
        let result = self.look_out(ticket, killable);
        if matches!(result, Err(error) if error == ETIME) {
            self.give_up(ticket);
        }
        result.map_err(reported)
    }

    /// As [`Self::wait`], but nothing is done about an engine that gets no further (ETIME).
    fn look_out(&self, ticket: Ticket, killable: Killable) -> Result {
        let dev = &*self.parts.dev;
        let mut poll = Poll::new(dev, PATIENCE);
        let mut seen = None;
        loop {
            let now = self.progress(ticket);
            match now {
                Progress::Done => return Ok(()),
                Progress::Lost => {
                    dev.alive()?;
                    return Err(EIO);
                }
                // Others' work counts as progress: it is before this one's.
                now if seen != Some(now) => (seen, poll) = (Some(now), Poll::new(dev, PATIENCE)),
                _ => {}
            }
            killable.look()?;
            poll.pause()?;
        }
    }

    /// The engine gets no further: nothing more is submitted until it was reset.
    fn give_up(&self, ticket: Ticket) {
        let mut state = self.state.lock();
        if state.life != ticket.life {
            return;
        }
        let (queue, news) = match core::mem::replace(&mut state.queue, Queue::Off) {
            Queue::On(line) => (Queue::Hung(line), true),
            other => (other, false),
        };
        state.queue = queue;
        drop(state);
        if news {
            dev_err!(
                self.parts.dev.device(),
                "copy engine {} gets no further with the driver's own packets; resetting it\n",
                ENGINE
            );
            self.parts.hangs.report_copier();
        }
    }

    /// Memory of a job that is done, if there is some.
    pub(super) fn take_spare(&self) -> Option<KernelBuf> {
        match &mut self.state.lock().queue {
            Queue::On(line) => line.spare.take(),
            Queue::Off | Queue::Paused | Queue::Hung(_) | Queue::Lost(_) => None,
        }
    }

    /// Keeps the memory of a submission that is done for the next one. It goes with the ring: an engine that
    /// starts anew has new memory.
    pub(super) fn give_spare(&self, ticket: Ticket, memory: KernelBuf) {
        let mut state = self.state.lock();
        let same = state.life == ticket.life;
        let left = match &mut state.queue {
            Queue::On(line) if same => line.spare.replace(memory),
            _ => Some(memory),
        };
        drop(state);
        // Not under the lock: its memory is unmapped, and that flushes.
        drop(left);
    }

    /// What runs things after the programs that they were for; none while the queue is off.
    pub(super) fn late(&self) -> Option<Arc<WorkQueue>> {
        self.state.lock().late.clone()
    }
}
