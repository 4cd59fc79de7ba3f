// SPDX-License-Identifier: MIT OR Apache-2.0

//! The end of work as a future.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::reactor::Key;
use super::Signal;
use crate::error::{Error, Result};

/// The end of work on a GPU, to be awaited on any executor. Made by `Submission::done` and
/// `Copying::done`; dropping it changes nothing for the work.
///
/// One thread of the library sleeps for all futures of a process, in one request to the driver
/// (`WAIT_EVENTS`) that names the events of all of them. It starts with the first future that has
/// to wait, and stands still while there is none. A future that has to wait when the thread sleeps
/// costs one more request, which wakes the thread to look at the longer list.
///
/// Work that was asked to complete without an interrupt (`Dispatch::polled`) wakes nobody: its
/// future asks to be polled again at once.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Done<'a> {
    signal: Option<&'a Signal>,
    stopped: Option<&'a Signal>,
    key: Option<Key>,
}

impl<'a> Done<'a> {
    /// The end of what `signal` reports, which is done already without one. `stopped` gets an error
    /// code when the queue stops.
    pub(crate) fn new(signal: Option<&'a Signal>, stopped: Option<&'a Signal>) -> Self {
        Self {
            signal,
            stopped,
            key: None,
        }
    }

    fn look(&self, signal: &Signal) -> Option<Result<()>> {
        if signal.value() <= 0 {
            return Some(Ok(()));
        }
        match self.stopped.map_or(0, Signal::value) {
            0 => None,
            code => Some(Err(Error::QueueStopped { code })),
        }
    }
}

impl Future for Done<'_> {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(signal) = self.signal else {
            return Poll::Ready(Ok(()));
        };
        if let Some(result) = self.look(signal) {
            return Poll::Ready(result);
        }
        let Some(event) = &signal.event else {
            context.waker().wake_by_ref();
            return Poll::Pending;
        };
        let reactor = &event.events.reactor;
        let ids = std::iter::once(event.id).chain(self.stopped.and_then(Signal::event_id));
        let watched = (&signal.piece, self.stopped.map(|stopped| &stopped.piece));
        let waker = context.waker().clone();
        let faults = event.events.faults();
        match reactor.register(&mut self.key, ids.collect(), watched, faults, waker) {
            Err(error) => Poll::Ready(Err(error)),
            // It may have ended since it was looked at.
            Ok(()) => self.look(signal).map_or(Poll::Pending, Poll::Ready),
        }
    }
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        let event = self.signal.and_then(|signal| signal.event.as_ref());
        if let (Some(event), Some(key)) = (event, self.key.take()) {
            event.events.reactor.forget(key);
        }
    }
}
