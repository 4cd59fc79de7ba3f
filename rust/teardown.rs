// SPDX-License-Identifier: GPL-2.0

//! The end of a process.
//!
//! When the address space goes, the queues are taken off the hardware, and only with its
//! acknowledgement the memory that they use is freed; a queue whose acknowledgement doesn't come
//! keeps what it needs until the reset that stops it (the scheduler holds those references). Then
//! VMs and buffer objects go, then events. What is left is a shell for whoever still refers to it.
//!
//! This room is above `queue` and `memory`, which undo what they did; `process` watches the address
//! space and reaches it by its trait [`MmWatcher`].

use crate::{
    debug,
    glue::mmu_notifier::MmWatcher,
    memory,
    process::{
        Doorbells,
        Process,
        Processes,
        State, //
    },
    queue, //
};
use kernel::{
    alloc::KVec,
    sync::Arc, //
};

impl MmWatcher for Process {
    fn released(self: Arc<Self>) {
        end(&self);
    }
}

/// Gives up everything that a process has. Later calls do nothing.
fn end(process: &Process) {
    process.processes().forget(process);
    let first = process.leave(|state| {
        stop_queues(process, state);
        release_devices(process, state);
    });
    if !first {
        return;
    }
    // Whoever waited for its debugger finds it gone.
    let session = process.debugging.end();
    drop(session);
    debug::ended(process);
    process.hide();
    for (index, device) in process.devices().iter().enumerate() {
        // One at a time: none is dropped with the process' state.
        while let Some(handle) = process.take_buffer(index) {
            drop(handle);
        }
        *device.doorbells.lock() = Doorbells::Gone;
    }
    process.events.clear();
}

fn stop_queues(process: &Process, state: &mut State) {
    while let Some((_, queue)) = state.queues.pop() {
        let Some(device) = process.devices().get(queue.device) else {
            continue;
        };
        let Some(device_state) = state.devices.get_mut(queue.device) else {
            continue;
        };
        // When it fails the scheduler keeps the queue, and what it uses, until the reset.
        let _ = queue::stop(queue, &device.gpu, device_state, &mut state.hung);
    }
}

fn release_devices(process: &Process, state: &mut State) {
    for (device, device_state) in process.devices().iter().zip(state.devices.iter_mut()) {
        device_state.queue_count = 0;
        device_state.drop_sched(&device.gpu);
    }
    // Hung queues no longer keep the program's mappings; the memory itself stays.
    state.hung = KVec::new();
    for (device, device_state) in process.devices().iter().zip(state.devices.iter_mut()) {
        memory::unmap_all(device_state);
        memory::release(process, device, device_state);
    }
}

/// Ends every process that is left: those that closed their files but live on. Called when the
/// module goes, with the devices still there.
pub(crate) fn end_all(processes: &Processes) {
    processes.for_each(|process| {
        end(process);
        process.unwatch();
    });
}
