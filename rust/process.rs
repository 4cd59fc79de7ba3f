// SPDX-License-Identifier: GPL-2.0

//! Processes: one for each address space that opened `/dev/kfd`.
//!
//! A [`Process`] is found by its address space, so that a second open gives the same one. Open
//! files and lookups hold counted references; what it owns (queues, VMs, buffer objects) it gives
//! up when the address space goes (`teardown`), whoever still holds a reference: a forked child that
//! inherited the file keeps an empty shell, and its calls fail with EBADF.
//!
//! This room keeps things; what is done with them is in the rooms above it: `queue`, `memory`,
//! `teardown`.
//!
//! Lock order: where processes are shown -> the folder in sysfs; process state -> (vm -> scheduler -> ring), events,
//! doorbells, mmap objects, the folder in sysfs, the debugger. Nothing copies from or to user memory under a process'
//! state, and mapping and faulting, which come with the mmap lock held, don't take it.

use crate::{
    counts::{
        Count,
        Thing,
        Usage, //
    },
    doorbell::Slice,
    event::Events,
    glue::{
        mmu_notifier::Watch,
        task,
        user as caller, //
    },
    gpu::Gpu,
    ids::IdTable,
    smi::Who,
    types::{
        GpuId,
        VmFault, //
    },
    uapi::debug::RuntimeInfo, //
};
use kernel::{
    current,
    mm::Mm,
    new_mutex,
    new_work,
    prelude::*,
    sync::{
        aref::ARef,
        Arc,
        Mutex,
        SetOnce, //
    },
    task::Task,
    workqueue::Work, //
};

mod bell;
mod buffer;
pub(crate) mod debugger;
mod device;
mod exception;
mod folder;
mod queue;
mod registry;
pub(crate) mod user;

pub(crate) use bell::Bell;
pub(crate) use buffer::{
    Handle,
    Mem,
    Memory,
    Pin, //
};
use debugger::Debugging;
pub(crate) use device::{
    Bound,
    DeviceState, //
};
pub(crate) use folder::{
    Places,
    QueueFacts, //
};
pub(crate) use queue::{
    Buffers,
    UserQueue, //
};
pub(crate) use registry::{
    Processes,
    Shared, //
};
use user::UserMemory;

/// A process' part of a GPU: what never changes, and the doorbells, which a page fault needs.
#[pin_data]
pub(crate) struct ProcessDevice {
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) usage: Arc<Usage>,
    /// Held while a doorbell or MMIO page is inserted into a page table.
    #[pin]
    pub(crate) doorbells: Mutex<Doorbells>,
    /// Its page faults. Held for a look only.
    #[pin]
    faults: Mutex<Faults>,
}

/// A process' page faults on a GPU.
#[derive(Default)]
struct Faults {
    /// The first, for which its queues were evicted.
    first: Option<VmFault>,
    /// The last of which the hub told something.
    told: Option<VmFault>,
}

/// A process' doorbells on a GPU.
pub(crate) enum Doorbells {
    /// None was needed yet.
    Unused,
    Slice(Arc<Slice>),
    /// The device or the process went: no page of it may be mapped any more.
    Gone,
}

impl ProcessDevice {
    /// The process' first page fault on the GPU.
    pub(crate) fn first_fault(&self) -> Option<VmFault> {
        self.faults.lock().first
    }

    /// The last page fault of which the hub told something.
    pub(crate) fn told_fault(&self) -> Option<VmFault> {
        self.faults.lock().told
    }

    /// Notes what the hub told of a page fault, if it did (`amdgpu_vm_update_fault_cache`).
    pub(crate) fn note_told(&self, fault: &VmFault) {
        if fault.hub.is_some() {
            self.faults.lock().told = Some(*fault);
        }
    }

    /// Notes a page fault, for the first of which the process stays evicted. Comes before the scheduler is asked for that,
    /// so that queues which are made meanwhile are evicted one way or the other.
    pub(crate) fn note_fault(&self, fault: &VmFault) {
        let mut faults = self.faults.lock();
        if faults.first.is_none() {
            faults.first = Some(*fault);
            self.usage.evict();
        }
    }

    /// The doorbell slice; allotted the first time.
    pub(crate) fn slice(&self) -> Result<Arc<Slice>> {
        let mut doorbells = self.doorbells.lock();
        match &*doorbells {
            Doorbells::Slice(slice) => Ok(slice.clone()),
            Doorbells::Gone => Err(ENODEV),
            Doorbells::Unused => {
                let slice = self.gpu.doorbell_slice()?;
                *doorbells = Doorbells::Slice(slice.clone());
                Ok(slice)
            }
        }
    }
}

/// What changes in a process.
pub(crate) struct State {
    /// The address space went; nothing may be made any more.
    pub(crate) gone: bool,
    /// For each of the process' devices, in the same order.
    pub(crate) devices: KVec<DeviceState>,
    /// By queue id.
    pub(crate) queues: IdTable<UserQueue>,
    /// Destroyed, but the hardware never acknowledged it: kept until the GPU was reset, or the end.
    pub(crate) hung: KVec<UserQueue>,
    /// What the program has declared about its runtime.
    pub(crate) runtime: RuntimeInfo,
    /// A signal ended its wait for the debugger, and it is to ask again.
    pub(crate) runtime_retries: bool,
}

/// A process.
#[pin_data]
pub(crate) struct Process {
    processes: Arc<Processes>,
    lead: ARef<Task>,
    /// Address of the `mm_struct`: a key, never followed.
    mm: usize,
    /// The address space, which may be gone.
    mm_ref: ARef<Mm>,
    devices: KVec<Arc<ProcessDevice>>,
    #[pin]
    state: Mutex<State>,
    #[pin]
    pub(crate) events: Events,
    #[pin]
    pub(crate) user: UserMemory,
    #[pin]
    pub(crate) debugging: Debugging,
    #[pin]
    user_stop: Work<Process, { user::STOP }>,
    #[pin]
    user_restore: Work<Process, { user::RESTORE }>,
    /// Its folder in sysfs, which refers to it.
    #[pin]
    folder: Mutex<Option<folder::Folder>>,
    watch: SetOnce<Watch<Process>>,
    /// How events name it.
    pub(crate) who: Who,
    _count: Count,
}

impl Process {
    /// A process of a task's address space with these GPUs. Nobody knows it yet.
    ///
    /// # Errors
    ///
    /// ESRCH when the task has ended; ENOMEM.
    fn new(
        processes: &Arc<Processes>,
        task: &Task,
        mm: &Mm,
        gpus: KVec<Arc<Gpu>>,
    ) -> Result<Arc<Self>> {
        let lead = task::leader(task)?;
        let mut devices = KVec::with_capacity(gpus.len(), GFP_KERNEL_ACCOUNT)?;
        let mut states = KVec::with_capacity(gpus.len(), GFP_KERNEL_ACCOUNT)?;
        for gpu in gpus {
            let usage = Usage::new()?;
            states.push(DeviceState::new(&gpu, &usage), GFP_KERNEL_ACCOUNT)?;
            let device = Arc::pin_init(
                pin_init!(ProcessDevice {
                    gpu,
                    usage,
                    doorbells <- new_mutex!(Doorbells::Unused, "rkfd doorbells"),
                    faults <- new_mutex!(Faults::default(), "rkfd faults"),
                }),
                GFP_KERNEL_ACCOUNT,
            )?;
            devices.push(device, GFP_KERNEL_ACCOUNT)?;
        }
        let mm_ref: ARef<Mm> = mm.into();
        let who = Who {
            tgid: task::tgid(task),
            pid: task::own_tgid(task),
            name: task::name(task),
        };
        let counts = &processes.shared().counts;
        Arc::pin_init(
            pin_init!(Self {
                processes: processes.clone(),
                lead,
                mm: mm_ref.as_raw() as usize,
                mm_ref,
                devices,
                state <- new_mutex!(State {
                    gone: false,
                    devices: states,
                    queues: IdTable::new(0),
                    hung: KVec::new(),
                    runtime: RuntimeInfo::default(),
                    runtime_retries: false,
                }, "rkfd process"),
                events <- Events::new(counts.clone()),
                user <- UserMemory::new(),
                debugging <- Debugging::new(),
                user_stop <- new_work!("rkfd user stop"),
                user_restore <- new_work!("rkfd user restore"),
                folder <- new_mutex!(None, "rkfd process folder"),
                watch: SetOnce::new(),
                who,
                _count: counts.count(Thing::Process),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Whether the caller belongs to this process; a forked child doesn't.
    pub(crate) fn is_current(&self) -> bool {
        *current!().group_leader() == *self.lead
    }

    /// Whether the caller traces this process, as checkpointing tools do.
    pub(crate) fn is_traced(&self) -> bool {
        caller::traces(&self.lead)
    }

    /// All processes.
    pub(crate) fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }

    /// What it shares with others.
    pub(crate) fn shared(&self) -> &Shared {
        self.processes.shared()
    }

    /// Its address space, which may be gone.
    pub(crate) fn mm(&self) -> &Mm {
        &self.mm_ref
    }

    /// Its devices. Those of GPUs that came later aren't among them.
    pub(crate) fn devices(&self) -> &[Arc<ProcessDevice>] {
        &self.devices
    }

    /// Index of the device with this GPU id.
    ///
    /// # Errors
    ///
    /// EINVAL when there is none.
    pub(crate) fn device_index(&self, gpu_id: GpuId) -> Result<usize> {
        self.devices
            .iter()
            .position(|device| device.gpu.id() == gpu_id)
            .ok_or(EINVAL)
    }

    /// The device with this GPU id.
    pub(crate) fn device(&self, gpu_id: GpuId) -> Result<&Arc<ProcessDevice>> {
        self.devices.get(self.device_index(gpu_id)?).ok_or(EINVAL)
    }

    /// Fails with ENODEV when none of the GPUs is left, as far as is known. A process that its cgroup permitted
    /// none has lost none.
    pub(crate) fn check_open(&self) -> Result {
        let mut gpus = self.devices.iter().map(|device| &device.gpu);
        match self.devices.is_empty() || gpus.any(|gpu| gpu.check_open().is_ok()) {
            true => Ok(()),
            false => Err(ENODEV),
        }
    }

    /// Runs `f` with the state.
    ///
    /// # Errors
    ///
    /// EBADF when the address space is gone, and what `f` returns.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut State) -> Result<R>) -> Result<R> {
        let mut state = self.state.lock();
        if state.gone {
            return Err(EBADF);
        }
        f(&mut state)
    }

    /// Runs `f` with the state, unless somebody else has it: who does may wait for the hardware.
    pub(crate) fn try_with<R>(&self, f: impl FnOnce(&State) -> R) -> Option<R> {
        Some(f(&*self.state.try_lock()?))
    }

    /// Runs `f` with the state of the device that has this GPU id.
    ///
    /// # Errors
    ///
    /// EINVAL when there is none, and those of [`with`](Self::with).
    pub(crate) fn with_device<R>(
        &self,
        gpu_id: GpuId,
        f: impl FnOnce(&ProcessDevice, &mut DeviceState) -> Result<R>,
    ) -> Result<R> {
        let index = self.device_index(gpu_id)?;
        let device = self.devices.get(index).ok_or(EINVAL)?;
        self.with(|state| f(device, state.devices.get_mut(index).ok_or(EINVAL)?))
    }
}

impl Process {
    /// Marks the process as gone, and runs `f` with its state: the first time only.
    pub(crate) fn leave(&self, f: impl FnOnce(&mut State)) -> bool {
        let mut state = self.state.lock();
        if core::mem::replace(&mut state.gone, true) {
            return false;
        }
        f(&mut state);
        true
    }

    /// Takes the next buffer object of a process that is gone, to be dropped without its state.
    pub(crate) fn take_buffer(&self, device: usize) -> Option<Handle> {
        let mut state = self.state.lock();
        Some(state.devices.get_mut(device)?.handles.pop()?.1)
    }

    /// The GPU was reset: queues of it that had hung are off, and their memory may be unmapped again.
    pub(crate) fn release_hung(&self, gpu: &Gpu) {
        let Ok(index) = self.device_index(gpu.id()) else {
            return;
        };
        // A process that ended has given them up.
        let _ = self.with(|state| {
            let stays =
                |queue: &mut UserQueue| queue.device != index || !queue.hw.process().is_lost();
            state.hung.retain(stays);
            Ok(())
        });
    }

    /// Its device on this GPU went: no page of it may be mapped any more, and waiting makes no sense.
    pub(crate) fn device_lost(&self, gpu: &Gpu) {
        let devices = self.devices.iter();
        for device in devices.filter(|device| device.gpu.id() == gpu.id()) {
            *device.doorbells.lock() = Doorbells::Gone;
            self.events.device_lost();
        }
    }

    /// The address space need not be watched any more.
    pub(crate) fn unwatch(&self) {
        if let Some(watch) = self.watch.as_ref() {
            watch.cancel();
        }
    }
}
