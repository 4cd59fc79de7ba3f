// SPDX-License-Identifier: GPL-2.0

//! GEM objects of a program's own memory (GEM_USERPTR).
//!
//! When the program's memory changes, *stop* takes the pages from every address space that the object is mapped in,
//! after the queues of the process that has it, if one has, were evicted. *restore* pins what is there then, maps it, and
//! lets the queues run again. The mappings stay in between: what was mapped can't be mapped over.
//!
//! Upstream looks the pages up at each submission of work. There is none here: without USERPTR_VALIDATE they are looked
//! up when the object is mapped. What isn't there then, or can't be written, is mapped without memory, as upstream.
//!
//! Whoever sees a change first, *stop* or who pins the pages, takes the old ones away, always after the queues. Turns
//! keep queues from being let run in between.
//!
//! Lock order: a file's address space -> pages of an object -> vm; an object's turn -> its pages, process states. Pages
//! are pinned and let go without any of these.
//!
//! Source: Linux, `amdgpu_gem_userptr_ioctl`, `amdgpu_ttm_tt_get_user_pages`, `amdgpu_hmm_invalidate_gfx`.

use super::restore::{
    self,
    RETRY, //
};
use crate::{
    bo::{
        user::Mapped,
        Bo, //
    },
    glue::user_pages,
    gpu::Gpu,
    process::{
        user::{
            queue_stop,
            Owner,
            Status,
            UserMemory,
            UserRange,
            Works,
            RESTORE,
            STOP, //
        },
        Process,
        Processes, //
    },
    vm::Vm, //
};
use kernel::{
    impl_has_work,
    mm::{
        Mm,
        MmWithUser,
        MmWithUserAsync, //
    },
    new_mutex,
    new_work,
    prelude::*,
    sync::{
        aref::ARef,
        Arc,
        Mutex, //
    },
    time::{
        delay::fsleep,
        Delta, //
    },
    workqueue::{
        Work,
        WorkItem, //
    }, //
};

/// What GEM_USERPTR asks for.
pub(crate) struct UserRequest {
    pub(crate) address: u64,
    /// Bytes, whole pages.
    pub(crate) size: u64,
    /// Whether the GPU may write it.
    pub(crate) writable: bool,
    /// Whether it has to be one mapping of anonymous memory.
    pub(crate) anonymous: bool,
}

struct Inner {
    /// Until the object goes.
    range: Option<Arc<UserRange<UserBuffer>>>,
    /// Where it was mapped.
    vms: KVVec<Arc<Vm>>,
    /// Whose queues are evicted until the memory is there again.
    paused: KVVec<Arc<Process>>,
    /// Pages that were taken from the GPU, to be let go by who holds no lock and keeps nobody waiting.
    taken: Option<Mapped>,
}

impl Inner {
    /// Whether the memory changed.
    ///
    /// Nobody holds the range longer than the lock for this: if it went with such a reference in *stop*, that would wait
    /// for changes which wait for the next run.
    fn is_stale(&self) -> bool {
        self.range.as_ref().is_some_and(|range| range.is_stale())
    }
}

/// The pages of an object.
#[pin_data]
pub(crate) struct UserBuffer {
    bo: Arc<Bo>,
    gpu: Arc<Gpu>,
    processes: Arc<Processes>,
    mm: ARef<Mm>,
    address: usize,
    size: usize,
    writable: bool,
    anonymous: bool,
    #[pin]
    user: UserMemory,
    #[pin]
    stop: Work<UserBuffer, STOP>,
    #[pin]
    restore: Work<UserBuffer, RESTORE>,
    /// Held while queues are evicted and pages are taken, and while queues are let run again.
    #[pin]
    turn: Mutex<()>,
    #[pin]
    inner: Mutex<Inner>,
}

impl_has_work! {
    impl HasWork<Self, 1> for UserBuffer { self.stop }
    impl HasWork<Self, 2> for UserBuffer { self.restore }
}

impl Owner for UserBuffer {
    fn user(&self) -> &UserMemory {
        &self.user
    }

    fn works(&self) -> &Works {
        &self.processes.shared().works
    }

    fn queue_stop(self: &Arc<Self>) -> bool {
        queue_stop(self)
    }
}

impl WorkItem<STOP> for UserBuffer {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        let round = this.user.asked();
        // What the hardware doesn't let go is kept.
        let _ = this.take_stale();
        this.user.finished(round);
        this.works().restore(this.clone());
    }
}

impl WorkItem<RESTORE> for UserBuffer {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        // As upstream's of KFD: changes come in bursts.
        fsleep(Delta::from_millis(1));
        this.let_go();
        match this.fill() {
            Err(error) if !restore::is_final(error) => {
                fsleep(RETRY);
                this.works().restore(this.clone());
            }
            _ => this.resume(),
        }
    }
}

/// The pages of an object, no longer watched when it is dropped.
pub(crate) struct UserHandle(Arc<UserBuffer>);

impl UserHandle {
    /// Watches a range of the caller's memory, of which nothing is pinned yet.
    ///
    /// # Errors
    ///
    /// EINVAL for no size, EOVERFLOW when the range isn't one, ENOMEM, ENODEV.
    pub(super) fn new(
        gpu: &Arc<Gpu>,
        processes: &Arc<Processes>,
        mm: &MmWithUser,
        bo: &Arc<Bo>,
        request: &UserRequest,
    ) -> Result<Self> {
        let (address, size) = (
            usize::try_from(request.address)?,
            usize::try_from(request.size)?,
        );
        let plain: &Mm = mm;
        let inner = Inner {
            range: None,
            vms: KVVec::new(),
            paused: KVVec::new(),
            taken: None,
        };
        let buffer = Arc::pin_init(
            pin_init!(UserBuffer {
                bo: bo.clone(),
                gpu: gpu.clone(),
                processes: processes.clone(),
                mm: plain.into(),
                address,
                size,
                writable: request.writable,
                anonymous: request.anonymous,
                user <- UserMemory::new(),
                stop <- new_work!("rkfd GEM user stop"),
                restore <- new_work!("rkfd GEM user restore"),
                turn <- new_mutex!((), "rkfd GEM user turn"),
                inner <- new_mutex!(inner, "rkfd GEM user pages"),
            }),
            GFP_KERNEL_ACCOUNT,
        )?;
        let range = UserRange::watch(&buffer, mm, address, size, request.writable)?;
        let range = Arc::new(range, GFP_KERNEL_ACCOUNT)?;
        buffer.inner.lock().range = Some(range);
        Ok(Self(buffer))
    }

    /// Whether the GPU may write it.
    pub(crate) fn is_writable(&self) -> bool {
        self.0.writable
    }

    /// Whether it is the caller's memory.
    pub(crate) fn is_own(&self) -> bool {
        let task = kernel::current!();
        task.mm()
            .is_some_and(|mm| core::ptr::eq(mm.as_raw(), self.0.mm.as_raw()))
    }

    /// Pins the pages, unless it has them.
    ///
    /// # Errors
    ///
    /// As `amdgpu_ttm_tt_get_user_pages`: ESRCH when the program is gone, EFAULT where nothing is mapped, EPERM where
    /// it can't be written or isn't as it was asked to be; ENOMEM.
    pub(crate) fn fill(&self) -> Result {
        let filled = self.0.fill();
        match self.0.is_stale() {
            // What could be had but not be mapped is tried again.
            true => self.0.works().restore(self.0.clone()),
            // *restore* may have run before this evicted queues.
            false => self.0.resume(),
        }
        filled
    }

    /// From now on it may be mapped in an address space.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(super) fn add(&self, vm: &Arc<Vm>) -> Result {
        let mut inner = self.0.inner.lock();
        if !inner.vms.iter().any(|known| Arc::ptr_eq(known, vm)) {
            inner.vms.push(vm.clone(), GFP_KERNEL_ACCOUNT)?;
        }
        // Evicting queues is not to fail for want of memory.
        let more = inner.vms.len().saturating_sub(inner.paused.len());
        inner.paused.reserve(more, GFP_KERNEL_ACCOUNT)?;
        Ok(())
    }
}

impl Drop for UserHandle {
    fn drop(&mut self) {
        // Not under the lock: it waits for changes under way, and they for *stop*.
        let range = self.0.inner.lock().range.take();
        drop(range);
    }
}

impl UserBuffer {
    fn is_stale(&self) -> bool {
        self.inner.lock().is_stale()
    }

    /// Takes pages that changed from the GPU, after the queues.
    ///
    /// # Errors
    ///
    /// Those of [`take_away`](Self::take_away).
    fn take_stale(&self) -> Result {
        if !self.is_stale() {
            return Ok(());
        }
        let _turn = self.turn.lock();
        self.pause();
        let mut inner = self.inner.lock();
        match inner.is_stale() {
            true => self.take_away(&mut inner),
            false => Ok(()),
        }
    }

    /// Takes the pages from the GPU, if there are any.
    ///
    /// # Errors
    ///
    /// ETIME when the GPU doesn't acknowledge: they stay the object's for good.
    fn take_away(&self, inner: &mut Inner) -> Result {
        // First from the object, so that nobody maps them anew.
        let mut pages = None;
        self.bo.swap_user(&mut pages);
        if pages.is_none() {
            return Ok(());
        }
        let mut result = Ok(());
        for vm in &inner.vms {
            result = result.and(vm.withdraw(&self.bo));
        }
        if result.is_err() {
            self.bo.swap_user(&mut pages);
            if let Some(range) = &inner.range {
                range.keep();
            }
            return result;
        }
        // Whoever gave it these pages let those go that were taken before.
        inner.taken = pages;
        Ok(())
    }

    /// Lets the pages go that were taken from the GPU. May wait for the program.
    fn let_go(&self) {
        let taken = self.inner.lock().taken.take();
        drop(taken);
    }

    /// Pins what the program has there, and maps it where the object is mapped.
    fn fill(&self) -> Result {
        let mm = self.mm.mmget_not_zero().ok_or(ESRCH)?;
        // If it is the last user, the end of the process runs elsewhere.
        let mm: ARef<MmWithUserAsync> = MmWithUser::into_mmput_async(mm);
        loop {
            let range = self.inner.lock().range.clone().ok_or(ENODEV)?;
            if range.is_valid() {
                return Ok(());
            }
            if range.is_kept() {
                return Err(ENODEV);
            }
            let since = range.begin();
            // It may have changed since *stop* ran last.
            self.take_stale()?;
            let (mut pages, found) = match self.pin(&range, &mm) {
                Ok(pages) => (Some(pages), Ok(())),
                Err(error) if restore::is_final(error) => (None, Err(error)),
                Err(error) => return Err(error),
            };
            let status = match found {
                Ok(()) => Status::Valid,
                Err(_) => Status::Missing,
            };
            // Declared first, so that they are let go without the lock.
            let _taken;
            let mut inner = self.inner.lock();
            if range.is_valid() {
                // Somebody else was faster.
                return Ok(());
            }
            _taken = inner.taken.take();
            if !range.settle(since, status) {
                continue;
            }
            self.bo.swap_user(&mut pages);
            let mapped = inner.vms.iter().try_for_each(|vm| vm.renew(&self.bo));
            if let Err(error) = mapped {
                self.take_away(&mut inner)?;
                range.settle(since, Status::Stale);
                return Err(error);
            }
            return found;
        }
    }

    fn pin(&self, range: &UserRange<Self>, mm: &MmWithUser) -> Result<Mapped> {
        if self.anonymous {
            user_pages::check_anonymous(mm, self.address, self.size)?;
        }
        range.pin(mm, &self.gpu, &self.bo)
    }

    /// Evicts the queues in address spaces that it is mapped in. The caller has the turn.
    fn pause(&self) {
        let mut next = 0;
        loop {
            let vm = self.inner.lock().vms.get(next).cloned();
            let Some(vm) = vm else { return };
            next = next.saturating_add(1);
            let pasid = vm.pasid();
            let Some(process) = pasid.and_then(|pasid| self.processes.by_pasid(pasid)) else {
                continue;
            };
            // Nobody else adds any without the turn, so that there is room for it afterwards.
            let mut inner = self.inner.lock();
            let known = inner
                .paused
                .iter()
                .any(|other| Arc::ptr_eq(other, &process));
            if known || inner.paused.reserve(1, GFP_KERNEL_ACCOUNT).is_err() {
                continue;
            }
            drop(inner);
            let paused = process.with_device(self.gpu.id(), |device, state| {
                if restore::wait_for(state, &device.gpu) {
                    let clients = &process.shared().clients;
                    clients.evicted(&device.gpu, &process.who);
                }
                Ok(())
            });
            if paused.is_ok() {
                let _ = self.inner.lock().paused.push_within_capacity(process);
            }
        }
    }

    /// Lets the queues run again, unless the memory changed again.
    fn resume(&self) {
        let _turn = self.turn.lock();
        loop {
            let process = {
                let mut inner = self.inner.lock();
                if inner.is_stale() {
                    return;
                }
                inner.paused.pop()
            };
            let Some(process) = process else { return };
            // A process that ended has no queues.
            let _ = process.with_device(self.gpu.id(), |device, state| {
                if restore::waited(state, &device.gpu) {
                    let clients = &process.shared().clients;
                    clients.restored(&device.gpu, &process.who, false);
                }
                Ok(())
            });
        }
    }
}
