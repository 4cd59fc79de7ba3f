// SPDX-License-Identifier: GPL-2.0

//! GEM objects that give their VRAM to programs of KFD's, and lie in system memory from then on.
//!
//! As upstream, programs of KFD's share what VRAM there is, and objects that were made by GEM_CREATE don't count: when
//! VRAM is short, the oldest of these are moved (`amdgpu_amdkfd_reserve_mem_limit`, `ttm_bo_evict_first`). Queues that can
//! reach an object are evicted meanwhile, and programs that touch it wait until it is there again. It comes back when it
//! is mapped to the GPU and there is room, or when KFD imports it, which has room made for it and keeps it in VRAM.
//!
//! Lock order: an object's lock -> process state, vm, home, mmap objects. Nobody waits for it with the lock of a file's address space or
//! a process' state.
//!
//! Source: Linux, `amdgpu_ttm.c` (`amdgpu_bo_move`), `kfd_process.c` (`kfd_process_evict_queues`).

use super::{
    restore,
    spaces::Known, //
};
use crate::{
    bo::{
        home::{
            Home,
            System, //
        },
        yielding::{
            Place,
            Yields, //
        },
        Bo,
        Placement, //
    },
    gpu::Gpu,
    limit::{
        Pages,
        Share,
        SystemMemory,
        VramShare, //
    },
    mmap::MappedPages,
    process::{
        Process,
        Processes, //
    },
    types::Pasid,
    vm::Vm,
    vram::Uncleared, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex,
        SetOnce, //
    }, //
};

/// Takes VRAM for a program of KFD's: others' objects give way where there is too little.
///
/// # Errors
///
/// ENOMEM when there is not so much; EINTR when the caller is killed meanwhile.
pub(super) fn take(gpu: &Gpu, size: u64) -> Result<Uncleared> {
    let memory = gpu.memory();
    let mut behind = None;
    loop {
        match Uncleared::take(&memory.vram, size) {
            Err(error) if error == ENOMEM => {}
            taken => return taken,
        }
        let (place, oldest) = memory.yielding.next(behind).ok_or(ENOMEM)?;
        behind = Some(place);
        match oldest.give_way() {
            Err(error) if error == EINTR => return Err(error),
            // Whatever became of it: there is more room, or another one is asked.
            _ => {}
        }
    }
}

struct Inner {
    /// What it takes of the limits, where it lies now.
    share: Option<Share>,
    /// Where it may be mapped.
    vms: Known<Vm>,
    /// KFD has it: it stays where it is.
    stays: bool,
}

/// An object that may be moved.
#[pin_data]
pub(crate) struct Movable {
    bo: Arc<Bo>,
    gpu: Arc<Gpu>,
    processes: Arc<Processes>,
    /// The pages that programs have of it.
    pages: SetOnce<MappedPages>,
    #[pin]
    inner: Mutex<Inner>,
}

/// An object that may be moved, until it is dropped.
pub(crate) struct MovableHandle {
    movable: Arc<Movable>,
    place: Place,
}

impl MovableHandle {
    /// Of an object in VRAM, which nobody has mapped yet.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(super) fn new(gpu: &Arc<Gpu>, processes: &Arc<Processes>, bo: &Arc<Bo>) -> Result<Self> {
        let inner = Inner {
            share: Some(VramShare::new(gpu, bo.size()).into()),
            vms: Known::new(),
            stays: false,
        };
        let movable = Arc::pin_init(
            pin_init!(Movable {
                bo: bo.clone(),
                gpu: gpu.clone(),
                processes: processes.clone(),
                pages: SetOnce::new(),
                inner <- new_mutex!(inner, "rkfd movable object"),
            }),
            GFP_KERNEL_ACCOUNT,
        )?;
        let yielding = &gpu.memory().yielding;
        // Before anybody can ask it to give way.
        yielding.enter(bo.size());
        match yielding.add(movable.clone()) {
            Ok(place) => Ok(Self { movable, place }),
            Err(error) => {
                yielding.leave(bo.size());
                Err(error)
            }
        }
    }

    /// What holds its part of the limits, as long as anybody has the memory.
    pub(super) fn keeper(&self) -> Arc<dyn Yields> {
        self.movable.clone()
    }

    /// Programs have these pages of it.
    pub(super) fn set_pages(&self, pages: MappedPages) {
        self.movable.pages.populate(pages);
    }

    /// A request begins to map it in an address space. It comes back to VRAM if there is room and KFD doesn't have it.
    /// Waits while it is moved: the lock of the file's address space isn't held. Unless this fails,
    /// [`end`](Self::end) has to follow.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(super) fn begin(&self, vm: &Arc<Vm>) -> Result {
        let mut inner = self.movable.inner.lock();
        inner.vms.begin(vm)?;
        // KFD maps what it has to where it lay then.
        if !inner.stays && self.movable.bo.placement() != Some(Placement::Vram) {
            let memory = self.movable.gpu.memory();
            // Where there is no room it stays where it is.
            if let Ok(vram) = Uncleared::take(&memory.vram, self.movable.bo.size()) {
                let _ = self.movable.come_back(&mut inner, vram);
            }
        }
        Ok(())
    }

    /// Such a request came to its end. It keeps the address space no longer if the file has no handle any more.
    pub(super) fn end(&self, vm: &Arc<Vm>, has_handle: impl FnOnce() -> bool) {
        let removed = self.movable.inner.lock().vms.end(vm, has_handle);
        // Not under the lock: its tables go.
        drop(removed);
    }

    /// It isn't mapped in an address space any more, and keeps that no longer; unless the file has a handle again, or
    /// a request is under way.
    pub(super) fn remove(&self, vm: &Arc<Vm>, has_handle: impl FnOnce() -> bool) {
        let removed = self.movable.inner.lock().vms.remove(vm, has_handle);
        drop(removed);
    }

    /// KFD takes it: it comes to VRAM if room can be made, and stays where it is then.
    ///
    /// # Errors
    ///
    /// EINTR when the caller is killed meanwhile.
    pub(super) fn stay(&self) -> Result {
        let movable = &self.movable;
        let is_away = || movable.bo.placement() != Some(Placement::Vram);
        // Not under its lock: others that give way take theirs.
        let vram = match is_away() {
            true => take(&movable.gpu, movable.bo.size()),
            false => Err(ENOMEM),
        };
        let mut inner = movable.inner.lock();
        if inner.stays {
            return Ok(());
        }
        let came = vram.and_then(|vram| match is_away() {
            true => movable.come_back(&mut inner, vram),
            false => Ok(()),
        });
        if came == Err(EINTR) {
            return Err(EINTR);
        }
        inner.stays = true;
        if movable.bo.placement() == Some(Placement::Vram) {
            movable.gpu.memory().yielding.leave(movable.bo.size());
        }
        Ok(())
    }
}

impl Drop for MovableHandle {
    fn drop(&mut self) {
        let Self { movable, place } = self;
        let yielding = &movable.gpu.memory().yielding;
        yielding.remove(*place);
        // Whoever moves it is waited for.
        let mut inner = movable.inner.lock();
        if !inner.stays && movable.bo.placement() == Some(Placement::Vram) {
            yielding.leave(movable.bo.size());
        }
        inner.stays = true;
        let vms = core::mem::replace(&mut inner.vms, Known::new());
        drop(inner);
        drop(vms);
    }
}

impl Yields for Movable {
    fn give_way(&self) -> Result {
        let mut inner = self.inner.lock();
        if inner.stays || self.bo.placement() != Some(Placement::Vram) {
            return Err(EBUSY);
        }
        let size = self.bo.size();
        let system: &Arc<SystemMemory> = &self.processes.shared().memory;
        let share = system.take(size, Pages::Own)?;
        let to = Home::System(System::new(self.gpu.memory(), size)?);
        self.relocate(&mut inner, to, share.into())?;
        self.gpu.memory().yielding.went(size);
        Ok(())
    }
}

impl Movable {
    /// Moves it to VRAM.
    fn come_back(&self, inner: &mut Inner, vram: Uncleared) -> Result {
        let size = self.bo.size();
        let share = VramShare::new(&self.gpu, size).into();
        // All of it is overwritten before anybody sees it.
        let to = Home::Vram(vram.into_overwritten());
        self.relocate(inner, to, share)?;
        // Upstream forgets it, too (`amdgpu_bo_move`).
        self.bo.set_touched(false);
        self.gpu.memory().yielding.came(size);
        Ok(())
    }

    /// Moves it to another home. On an error it stays where it is.
    ///
    /// # Errors
    ///
    /// EBUSY when it isn't known whose queues can reach it; those of copying, and of mapping it anew.
    fn relocate(&self, inner: &mut Inner, to: Home, share: Share) -> Result {
        let reached = Reached::pause(&self.gpu, &self.processes, &inner.vms)?;
        self.bo.set_leaving(true);
        if let Some(pages) = self.pages.as_ref() {
            pages.revoke();
        }
        let moved = self.gpu.copier().copy_home(&self.bo, to);
        let moved = moved.and_then(|mut home| {
            self.bo.exchange(&mut home);
            match self.rehome(&reached) {
                // Nobody has the old one any more.
                Ok(()) => Ok(()),
                Err(error) => {
                    self.bo.exchange(&mut home);
                    if self.rehome_back(&reached).is_err() {
                        // The GPU may still reach it.
                        self.gpu.keep(home);
                    }
                    Err(error)
                }
            }
        });
        self.bo.set_leaving(false);
        drop(reached);
        moved?;
        inner.share = Some(share);
        Ok(())
    }

    /// Has it mapped where it lies now.
    fn rehome(&self, reached: &Reached<'_>) -> Result {
        let mut all = reached.vms.iter().zip(&reached.pasids);
        all.try_for_each(|(vm, pasid)| vm.rehome(&self.bo, *pasid))
    }

    /// Has it mapped where it lay before, everywhere, whoever took an address space meanwhile. It was mapped there, so
    /// that there is room for the entries.
    ///
    /// # Errors
    ///
    /// ETIME when the GPU doesn't acknowledge.
    fn rehome_back(&self, reached: &Reached<'_>) -> Result {
        let mut result = Ok(());
        for vm in reached.vms.iter() {
            let mut back = vm.rehome(&self.bo, vm.pasid());
            if back == Err(EBUSY) {
                // It got its number just now, and keeps that.
                back = vm.rehome(&self.bo, vm.pasid());
            }
            result = result.and(back);
        }
        result
    }
}

/// The address spaces in which an object is. Queues in them are evicted until this is dropped.
struct Reached<'a> {
    gpu: &'a Gpu,
    vms: &'a Known<Vm>,
    /// The number of each.
    pasids: KVVec<Option<Pasid>>,
    paused: KVVec<Arc<Process>>,
}

impl<'a> Reached<'a> {
    /// Evicts the queues.
    ///
    /// # Errors
    ///
    /// EBUSY when a process is about to take one of them, or left it; ENOMEM.
    fn pause(gpu: &'a Gpu, processes: &Processes, vms: &'a Known<Vm>) -> Result<Self> {
        let mut reached = Self {
            gpu,
            vms,
            pasids: KVVec::with_capacity(vms.len(), GFP_KERNEL)?,
            paused: KVVec::with_capacity(vms.len(), GFP_KERNEL)?,
        };
        for vm in vms.iter() {
            let pasid = vm.pasid();
            reached.pasids.push(pasid, GFP_KERNEL)?;
            // Without a number it has no queues.
            let Some(pasid) = pasid else { continue };
            let process = processes.by_pasid(pasid).ok_or(EBUSY)?;
            process.with_device(gpu.id(), |device, state| {
                if restore::wait_for(state, &device.gpu) {
                    process
                        .shared()
                        .clients
                        .displaced(&device.gpu, &process.who);
                }
                Ok(())
            })?;
            // There is room for it.
            let _ = reached.paused.push_within_capacity(process);
        }
        Ok(reached)
    }
}

impl Drop for Reached<'_> {
    fn drop(&mut self) {
        for process in &self.paused {
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
