// SPDX-License-Identifier: GPL-2.0

//! What a debugger has of a process: the exceptions that it wants to hear of, those that were raised, and
//! the file by which it is woken.
//!
//! Exceptions are bits ([`exception_mask`](crate::uapi::debug::exception_mask)). Those of the process and of
//! its GPUs are here, those of a queue with the queue. They are noted while a debugger is attached.
//!
//! Lock order: process state -> session -> the works' mutex. Under the session's mutex nobody waits.
//!
//! Source: Linux, `kfd_dbg_ev_raise` and `debug_event_write_work_handler` of `amdkfd/kfd_debug.c`.

use super::{
    bell::Bell,
    user::Works,
    Process, //
};
use crate::uapi::event::MemoryExceptionData;
use kernel::{
    new_condvar,
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        CondVar,
        Mutex, //
    }, //
};

/// Exceptions of one of the process' GPUs.
#[derive(Clone, Copy, Default)]
pub(crate) struct DeviceExceptions {
    pub(crate) raised: u64,
    /// The first page fault that the debugger hasn't dismissed.
    pub(crate) fault: Option<MemoryExceptionData>,
}

/// An attached debugger.
pub(crate) struct Session {
    /// Who it is, unless the process debugs itself.
    debugger: Option<Arc<Process>>,
    /// The exceptions that it hears of.
    pub(crate) enabled: u64,
    /// Bits of SET_FLAGS.
    pub(crate) flags: u32,
    /// Exceptions of the process.
    pub(crate) raised: u64,
    /// For each of the process' devices.
    pub(crate) devices: KVec<DeviceExceptions>,
    /// Times that it let the runtime go on, which nobody used yet.
    acknowledged: u32,
    bell: Arc<Bell>,
}

impl Session {
    /// Everything is had before anything changes.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(crate) fn new(
        debugger: Option<Arc<Process>>,
        enabled: u64,
        devices: usize,
        bell: Arc<Bell>,
    ) -> Result<Self> {
        Ok(Self {
            debugger,
            enabled,
            flags: 0,
            raised: 0,
            devices: KVec::from_elem(DeviceExceptions::default(), devices, GFP_KERNEL_ACCOUNT)?,
            acknowledged: 0,
            bell,
        })
    }

    /// Wakes the debugger if it wants to hear of these exceptions. Returns whether it does.
    pub(crate) fn tell(&self, works: &Works, exceptions: u64) -> bool {
        let wanted = self.enabled & exceptions != 0;
        if wanted {
            works.ring(self.bell.clone());
        }
        wanted
    }
}

/// Who debugs a process, if anybody does.
#[pin_data]
pub(crate) struct Debugging {
    #[pin]
    session: Mutex<Option<Session>>,
    /// The debugger let something go on, or left.
    #[pin]
    moved: CondVar,
    /// The process has been a debugger.
    has_debugged: Atomic<u32>,
}

impl Debugging {
    pub(super) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            session <- new_mutex!(None, "rkfd debugger"),
            moved <- new_condvar!("rkfd debugger moved"),
            has_debugged: Atomic::new(0),
        })
    }

    /// Whether a debugger is attached.
    pub(crate) fn is_on(&self) -> bool {
        self.session.lock().is_some()
    }

    /// Whether this process is the debugger that is attached.
    pub(crate) fn is_by(&self, debugger: &Process) -> bool {
        let session = self.session.lock();
        let attached = session
            .as_ref()
            .and_then(|session| session.debugger.as_ref());
        attached.is_some_and(|attached| core::ptr::eq(&**attached, debugger))
    }

    /// Runs `f` with the session.
    ///
    /// # Errors
    ///
    /// EINVAL when there is none, and what `f` returns.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Session) -> Result<R>) -> Result<R> {
        let mut session = self.session.lock();
        f((*session).as_mut().ok_or(EINVAL)?)
    }

    /// Attaches a debugger. To be called with the process' state.
    pub(crate) fn begin(&self, session: Session) {
        if let Some(debugger) = &session.debugger {
            debugger.debugging.has_debugged.store(1, Relaxed);
        }
        let old = self.session.lock().replace(session);
        drop(old);
    }

    /// Detaches it. Whoever waits for it goes on. What is returned is to be dropped without a lock: it may
    /// hold the last reference to a process.
    pub(crate) fn end(&self) -> Option<Session> {
        let session = self.session.lock().take();
        self.moved.notify_all();
        session
    }

    /// Whether the process may have sessions with others, which end with it.
    pub(crate) fn may_debug(&self) -> bool {
        self.has_debugged.load(Relaxed) != 0
    }

    /// Whoever waits for the debugger is to look again.
    pub(crate) fn wake(&self) {
        // Whoever has looked and found nothing waits by now.
        drop(self.session.lock());
        self.moved.notify_all();
    }

    /// Lets the runtime go on.
    pub(crate) fn acknowledge(&self) {
        if let Some(session) = &mut *self.session.lock() {
            session.acknowledged = session.acknowledged.saturating_add(1);
        }
        self.moved.notify_all();
    }

    /// Waits until the debugger lets the runtime go on, or leaves.
    ///
    /// # Errors
    ///
    /// EINTR.
    pub(crate) fn wait_acknowledged(&self) -> Result {
        let done = |session: &mut Session| {
            let one = session.acknowledged.checked_sub(1);
            session.acknowledged = one.unwrap_or(0);
            one.is_some()
        };
        match self.wait(done) {
            Err(ERESTARTSYS) => Err(EINTR),
            other => other,
        }
    }

    /// Waits until `done`, which is asked again whenever the debugger does something, or it leaves.
    ///
    /// # Errors
    ///
    /// ERESTARTSYS when a signal comes.
    pub(crate) fn wait(&self, mut done: impl FnMut(&mut Session) -> bool) -> Result {
        let mut session = self.session.lock();
        while (*session).as_mut().is_some_and(|session| !done(session)) {
            if self.moved.wait_interruptible(&mut session) {
                return Err(ERESTARTSYS);
            }
        }
        Ok(())
    }
}

impl Process {
    /// Raises exceptions of the process. Returns whether a debugger wants them.
    pub(crate) fn raise(&self, exceptions: u64) -> bool {
        let raised = self.debugging.with(|session| {
            session.raised |= exceptions;
            Ok(session.tell(&self.shared().works, exceptions))
        });
        raised.unwrap_or(false)
    }

    /// Raises exceptions of the device with this index, with what is known about a page fault. Returns whether
    /// a debugger wants them.
    pub(crate) fn raise_of_device(
        &self,
        index: usize,
        exceptions: u64,
        fault: Option<MemoryExceptionData>,
    ) -> bool {
        let raised = self.debugging.with(|session| {
            let device = session.devices.get_mut(index).ok_or(EINVAL)?;
            device.raised |= exceptions;
            device.fault = device.fault.or(fault);
            Ok(session.tell(&self.shared().works, exceptions))
        });
        raised.unwrap_or(false)
    }

    /// Tells the debugger of exceptions of a queue. Returns whether it wants them; `None` without one.
    pub(crate) fn tell_of_queue(&self, exceptions: u64) -> Option<bool> {
        let told = self
            .debugging
            .with(|session| Ok(session.tell(&self.shared().works, exceptions)));
        told.ok()
    }
}
