// SPDX-License-Identifier: GPL-2.0

//! User queues: what CREATE_QUEUE makes and what may become of it.
//!
//! The life of a queue is [`QueueState`](crate::sched::QueueState): Created, Mapped, Disabled,
//! Evicted, Hung, Gone. The scheduler makes its transitions, under its lock; this room asks for
//! them ([`create`], [`update`], [`stop`]) and keeps what the queue uses
//! ([`Pin`](crate::process::Pin)) in step: pins go when the queue is Gone, and stay with it when it is Hung,
//! until the GPU was reset.
//!
//! Source: Linux, `amdkfd/kfd_process_queue_manager.c`, `kfd_queue.c`. Called with the process'
//! state. Lock order: process -> scheduler.

use crate::{
    counts::Thing,
    gpu::Gpu,
    process::{
        DeviceState,
        Process,
        ProcessDevice,
        QueueFacts,
        State,
        UserQueue, //
    },
    sched::{
        HwQueue,
        QueueHold,
        QueueSpec,
        QueueState,
        QueueUpdate,
        SavedArea, //
    },
    sdma::{
        self,
        Wanted, //
    },
    types::{
        GpuId,
        QueueId,
        RingParams, //
    },
    uapi::debug, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

mod buffers;
mod params;

pub(crate) use params::{
    ring_params,
    Kind,
    QueueParams, //
};

/// Queues of a process on all devices (`KFD_MAX_NUM_OF_QUEUES_PER_PROCESS`).
const MAX_PER_PROCESS: u32 = 1024;

/// What CREATE_QUEUE gives back.
pub(crate) struct CreatedQueue {
    pub(crate) id: QueueId,
    /// Byte of the doorbell in the process' slice.
    pub(crate) doorbell: u64,
}

/// Makes a queue. `params` are checked, what they point at isn't.
///
/// # Errors
///
/// In this order: ESRCH before ACQUIRE_VM; EINVAL without such an SDMA engine; ENOMEM without
/// doorbells; EINVAL when a buffer isn't mapped as it must be; ENOSPC with too many queues on the
/// device, ENOMEM in the process; ENOMEM without a free SDMA queue, EBUSY without a free doorbell,
/// and the scheduler's errors.
pub(crate) fn create(
    process: &Process,
    gpu_id: GpuId,
    params: &QueueParams,
) -> Result<CreatedQueue> {
    let index = process.device_index(gpu_id)?;
    let device = process.devices().get(index).ok_or(EINVAL)?;
    process.with(|state| {
        let device_state = state.devices.get_mut(index).ok_or(EINVAL)?;
        device_state.bound().map_err(|_| ESRCH)?;
        if let Kind::Sdma(Wanted::Engine(engine)) = params.kind {
            if engine >= device.gpu.chip().sdma_counts.engines() {
                return Err(EINVAL);
            }
        }
        let slice = device.slice()?;
        let buffers = buffers::acquire(device_state, device.gpu.chip(), params)?;
        if device_state.queue_count >= device.gpu.chip().family.max_queues_per_process {
            return Err(ENOSPC);
        }
        if state.queues.len() >= MAX_PER_PROCESS as usize {
            return Err(ENOMEM);
        }
        let (doorbell, slot) = match params.kind {
            Kind::Sdma(wanted) => {
                let slot = sdma::Slot::take(device.gpu.sdma_queues(), wanted)?;
                (slice.of_engine(slot.doorbell()?), Some(slot))
            }
            Kind::ComputePm4 | Kind::ComputeAql => (slice.alloc()?, None),
        };
        let number = doorbell.index();
        let hold = QueueHold {
            doorbell,
            sdma: slot,
            pins: buffers.bos()?,
        };
        let spec = spec(params, &hold, device.gpu.counters().are_taken())?;
        // All that can fail comes before the hardware has the queue.
        let facts = facts(device, params)?;
        let hw = create_on(device, device_state, spec, hold)?;
        let queue = UserQueue {
            hw,
            device: index,
            metadata_size: params.metadata_size,
            ring: params.ring,
            doorbell: number,
            save: params.save,
            gws: false,
            folder: None,
            facts,
            errors: 0,
            raised: debug::exception_mask(debug::EC_QUEUE_NEW),
            leaving: false,
            buffers,
            _count: process.shared().counts.count(Thing::Queue),
        };
        let id = insert(state, device, queue)?;
        if let Some(queue) = state.queues.get_mut(id.get()) {
            queue.folder = process.show_queue(id, &queue.facts);
        }
        let _ = process.tell_of_queue(debug::exception_mask(debug::EC_QUEUE_NEW));
        Ok(CreatedQueue {
            id,
            doorbell: number.byte(),
        })
    })
}

fn spec(params: &QueueParams, hold: &QueueHold, counted: bool) -> Result<QueueSpec> {
    Ok(QueueSpec {
        format: params.kind.format(),
        ring: params.ring,
        rptr: params.rptr,
        wptr: params.wptr,
        eop: params.eop,
        save: params.save,
        gws: false,
        counted,
        doorbell: hold.doorbell.word()?,
        doorbell_index: hold.doorbell.index(),
        sdma: hold.sdma.as_ref().map(sdma::Slot::place),
    })
}

/// What sysfs shows of a queue.
fn facts(device: &ProcessDevice, params: &QueueParams) -> Result<Arc<QueueFacts>> {
    // `enum kfd_queue_type`.
    let kind = match params.kind {
        Kind::ComputePm4 | Kind::ComputeAql => 0,
        Kind::Sdma(Wanted::Bus) => 1,
        Kind::Sdma(Wanted::Link) => 3,
        Kind::Sdma(Wanted::Engine(_)) => 4,
    };
    let facts = QueueFacts {
        gpu: device.gpu.id(),
        kind,
        size: Atomic::new(params.ring.size.bytes()),
    };
    Ok(Arc::new(facts, GFP_KERNEL_ACCOUNT)?)
}

fn create_on(
    device: &ProcessDevice,
    state: &mut DeviceState,
    spec: QueueSpec,
    hold: QueueHold,
) -> Result<Arc<HwQueue>> {
    let result = state
        .sched(device)
        .and_then(|sched| device.gpu.scheduler().create(&sched, spec, hold));
    match &result {
        Ok(_) => state.queue_count = state.queue_count.saturating_add(1),
        Err(_) => state.drop_sched_if_idle(&device.gpu),
    }
    result
}

fn insert(state: &mut State, device: &ProcessDevice, queue: UserQueue) -> Result<QueueId> {
    // Room is made first, so that a queue that exists always has a number.
    let index = queue.device;
    let mut queue = Some(queue);
    let slot = state.queues.insert_with(MAX_PER_PROCESS, || queue.take());
    match slot {
        Ok(id) => Ok(QueueId::new(id)),
        Err(_) => {
            if let (Some(queue), Some(device_state)) = (queue, state.devices.get_mut(index)) {
                let _ = stop(queue, &device.gpu, device_state, &mut state.hung);
                device_state.drop_sched_if_idle(&device.gpu);
            }
            Err(ENOMEM)
        }
    }
}

/// Destroys a queue (DESTROY_QUEUE).
///
/// # Errors
///
/// EINVAL when there is none; EBUSY while another thread destroys it; ERESTARTSYS when a signal ends the wait for
/// the debugger that has suspended it; ETIME or EIO when the hardware didn't let go: the queue is gone for
/// the program all the same.
pub(crate) fn destroy(process: &Process, id: QueueId) -> Result {
    let suspended = process.with(|state| {
        let queue = state.queues.get_mut(id.get()).ok_or(EINVAL)?;
        if queue.leaving {
            return Err(EBUSY);
        }
        queue.leaving = queue.hw.is_suspended() && process.debugging.is_on();
        Ok(queue.leaving.then(|| queue.hw.clone()))
    })?;
    if let Some(hw) = suspended {
        let resumed = process.debugging.wait(|_| !hw.is_suspended());
        if let Err(error) = resumed {
            process.with(|state| {
                let queue = state.queues.get_mut(id.get()).ok_or(EINVAL)?;
                queue.leaving = false;
                Ok(())
            })?;
            return Err(error);
        }
    }
    process.with(|state| {
        let queue = state.queues.remove(id.get()).ok_or(EINVAL)?;
        let device = process.devices().get(queue.device).ok_or(EINVAL)?;
        let device_state = state.devices.get_mut(queue.device).ok_or(EINVAL)?;
        let index = queue.device;
        let result = stop(queue, &device.gpu, device_state, &mut state.hung);
        device_state.drop_sched_if_idle(&device.gpu);
        let deleted = debug::exception_mask(debug::EC_DEVICE_QUEUE_DELETE);
        process.raise_of_device(index, deleted, None);
        result
    })
}

/// Takes a queue off the hardware for good. With the proof its buffers are free again; without,
/// it goes to the hung ones.
pub(crate) fn stop(
    mut queue: UserQueue,
    gpu: &Gpu,
    state: &mut DeviceState,
    hung: &mut KVec<UserQueue>,
) -> Result {
    // Its number is free again.
    drop(queue.folder.take());
    if let Some(count) = state.count_of_copies(gpu, &queue) {
        state.usage.keep_copied(count);
    }
    state.queue_count = state.queue_count.saturating_sub(1);
    if queue.gws {
        state.gws = false;
    }
    match gpu.scheduler().unmap(&queue.hw) {
        Ok(proof) => {
            drop(queue);
            drop(proof);
            Ok(())
        }
        Err(e) => {
            // One that is off goes, though others couldn't be put on again.
            if gpu.alive().is_ok() && queue.hw.state() != QueueState::Gone {
                state.has_reset_queue = true;
                state.is_held = true;
                // Without room for it only the pins go: the scheduler keeps the memory.
                let _ = hung.push(queue, GFP_KERNEL_ACCOUNT);
            }
            Err(e)
        }
    }
}

/// Changes ring, share, priority and the XCC of PM4 packets (UPDATE_QUEUE). A ring of 0 or a share
/// of 0 disables it.
///
/// # Errors
///
/// EFAULT when there is no such queue or the new ring isn't mapped as a whole; EACCES when a queue
/// of the process was reset; the scheduler's errors.
pub(crate) fn update(process: &Process, id: QueueId, ring: &RingParams) -> Result {
    process.with(|state| {
        let queue = state.queues.get_mut(id.get()).ok_or(EFAULT)?;
        let device = process.devices().get(queue.device).ok_or(ENODEV)?;
        let device_state = state.devices.get(queue.device).ok_or(ENODEV)?;
        if !ring.address.is_null() {
            let size = ring
                .size
                .bytes()
                .checked_add(queue.metadata_size)
                .ok_or(EFAULT)?;
            let pin = device_state
                .pin_exact(ring.address, size)
                .map_err(|_| EFAULT)?;
            queue.buffers.ring = pin;
        }
        queue.ring = *ring;
        queue.facts.size.store(ring.size.bytes(), Relaxed);
        submit(queue, device, device_state, None)
    })
}

/// Chooses the compute units of a queue (SET_CU_MASK).
///
/// # Errors
///
/// EFAULT when there is no such queue; as [`update`].
pub(crate) fn set_cu_mask(process: &Process, id: QueueId, mask: KVec<u32>) -> Result {
    process.with(|state| {
        let queue = state.queues.get_mut(id.get()).ok_or(EFAULT)?;
        let device = process.devices().get(queue.device).ok_or(ENODEV)?;
        let device_state = state.devices.get(queue.device).ok_or(ENODEV)?;
        submit(queue, device, device_state, Some(mask))
    })
}

/// Gives a queue the global wave sync resources, or takes them from the queue that has them
/// (ALLOC_QUEUE_GWS, `pqm_set_gws`). `first` becomes the number of the first one, which is 0 even
/// when they are not to be had.
///
/// # Errors
///
/// EINVAL when there is no such queue, ENODEV when the GPU has none of them; EBUSY when a queue of
/// the process has them already, EINVAL when there are none to take away; as [`update`].
pub(crate) fn set_gws(process: &Process, id: QueueId, on: bool, first: &mut u32) -> Result {
    process.with(|state| {
        let index = state.queues.get(id.get()).ok_or(EINVAL)?.device;
        let device = process.devices().get(index).ok_or(ENODEV)?;
        let device_state = state.devices.get_mut(index).ok_or(ENODEV)?;
        if device.gpu.chip().family.gws == 0 {
            return Err(ENODEV);
        }
        *first = 0;
        match (on, device_state.gws) {
            (true, true) => return Err(EBUSY),
            (false, false) => return Err(EINVAL),
            _ => {}
        }
        // Any queue may be named to take them away.
        let (_, queue) = state
            .queues
            .iter_mut()
            .find(|(other, queue)| match on {
                true => *other == id.get(),
                false => queue.device == index && queue.gws,
            })
            .ok_or(EINVAL)?;
        device_state.gws = on;
        queue.gws = on;
        submit(queue, device, device_state, None)
    })
}

/// What the firmware saved of a queue (GET_QUEUE_WAVE_STATE), for each XCC.
///
/// # Errors
///
/// EFAULT when there is no such queue; EINVAL for one that runs, and for one of a copy engine.
pub(crate) fn saved_waves(process: &Process, id: QueueId) -> Result<KVec<SavedArea>> {
    process.with(|state| state.queues.get(id.get()).ok_or(EFAULT)?.hw.saved_waves())
}

/// Gives a queue to the scheduler as it now is.
fn submit(
    queue: &UserQueue,
    device: &ProcessDevice,
    state: &DeviceState,
    cu_mask: Option<KVec<u32>>,
) -> Result {
    if state.lost_a_queue() || matches!(queue.hw.state(), QueueState::Hung) {
        return Err(EACCES);
    }
    let change = QueueUpdate {
        ring: queue.ring,
        gws: queue.gws,
        cu_mask,
        pins: Some(queue.buffers.bos()?),
    };
    device.gpu.scheduler().update(&queue.hw, change)
}
