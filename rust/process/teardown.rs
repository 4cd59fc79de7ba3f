// SPDX-License-Identifier: GPL-2.0

//! The end of a process.
//!
//! When the address space goes, the queues are taken off the hardware, and only with its
//! acknowledgement the memory that they use is freed; a queue whose acknowledgement doesn't come
//! keeps what it needs until the reset that stops it (the scheduler holds those references). Then
//! VMs and buffer objects go, then events. What is left is a shell for whoever still refers to it.

use super::{
    for_each,
    Doorbells,
    Process,
    State, //
};
use crate::{
    queue,
    smi, //
};
use kernel::{
    alloc::KVec,
    sync::Arc, //
};

impl Process {
    /// Gives up everything. Later calls do nothing.
    pub(super) fn end(&self) {
        self.forget();
        {
            let mut state = self.state.lock();
            if core::mem::replace(&mut state.gone, true) {
                return;
            }
            self.stop_queues(&mut state);
            self.release_devices(&mut state);
        }
        self.free_all();
        for device in self.devices() {
            *device.doorbells.lock() = Doorbells::Gone;
        }
        self.events.clear();
    }

    fn stop_queues(&self, state: &mut State) {
        while let Some((_, queue)) = state.queues.pop() {
            let Some(device) = self.devices.get(queue.device()) else {
                continue;
            };
            let Some(device_state) = state.devices.get_mut(queue.device()) else {
                continue;
            };
            // When it fails the scheduler keeps the queue, and what it uses, until the reset.
            let _ = queue::stop(queue, &device.gpu, device_state, &mut state.hung);
        }
    }

    fn release_devices(&self, state: &mut State) {
        for (device, device_state) in self.devices.iter().zip(state.devices.iter_mut()) {
            device_state.queue_count = 0;
            device_state.drop_sched_if_idle(&device.gpu);
        }
        // Hung queues no longer keep the program's mappings; the memory itself stays.
        state.hung = KVec::new();
        for (device, device_state) in self.devices.iter().zip(state.devices.iter_mut()) {
            device_state.unmap_all();
            if let Some(bound) = device_state.bound.take() {
                self.unregister_pasid(bound.vm.pasid());
                smi::process(&device.gpu, &self.who, false);
            }
        }
    }

    /// Frees buffer objects, one at a time: none is dropped with the process' state.
    fn free_all(&self) {
        for index in 0..self.devices.len() {
            let next = || Some(self.state.lock().devices.get_mut(index)?.handles.pop()?.1);
            while let Some(handle) = next() {
                drop(handle);
            }
        }
    }

    /// One of the process' devices went.
    pub(crate) fn device_lost(&self, gpu: &crate::gpu::Gpu) {
        for device in self
            .devices()
            .iter()
            .filter(|device| device.gpu.id() == gpu.id())
        {
            *device.doorbells.lock() = Doorbells::Gone;
            self.events.device_lost();
        }
    }
}

/// Ends every process that is left: those that closed their files but live on. Called when the
/// module goes, with the devices still there.
pub(crate) fn end_all() {
    for_each(|process: &Arc<Process>| {
        process.end();
        if let Some(watch) = process.watch.as_ref() {
            watch.cancel();
        }
    });
}
