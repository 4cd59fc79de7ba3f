// SPDX-License-Identifier: GPL-2.0

//! Taking a GPU's address space for a process (ACQUIRE_VM), and giving it up.

use crate::{
    mmap::VmFile,
    process::{
        Bound,
        DeviceState,
        Process,
        ProcessDevice, //
    },
    trap::TrapPages,
    types::GpuId, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Takes the address space of a render node's file, with what the file's own requests have mapped in it.
///
/// # Errors
///
/// EINVAL when there is no such GPU, the file is of another GPU, or its address space is some
/// other process'; EBUSY when another file's was taken before; ENOMEM.
pub(crate) fn acquire(process: &Arc<Process>, gpu_id: GpuId, file: &Arc<VmFile>) -> Result {
    process.with_device(gpu_id, |device, state| {
        if let Some(bound) = &state.bound {
            return if Arc::ptr_eq(&bound.file, file) {
                Ok(())
            } else {
                Err(EBUSY)
            };
        }
        if !Arc::ptr_eq(file.gpu(), &device.gpu) {
            return Err(EINVAL);
        }
        let claim = file.claim()?;
        let shared = process.shared();
        let vm = claim.vm()?;
        let pasid = vm.enlist(&shared.pasids)?;
        let trap = TrapPages::new(&device.gpu, &vm)?;
        if process.debugging.is_on() {
            trap.set_debugged(true)?;
        }
        process.processes().register_pasid(process, pasid)?;
        claim.keep();
        file.set_pasid(pasid);
        state.config.tba = trap.code();
        state.config.tma = trap.memory();
        state.usage.set_pasid(pasid.get());
        state.bound = Some(Bound {
            file: file.clone(),
            vm,
            trap,
        });
        shared.clients.process(&device.gpu, &process.who, true);
        Ok(())
    })
}

/// Gives the address space up. Nothing may be mapped in it, and no queue use it.
pub(crate) fn release(process: &Process, device: &ProcessDevice, state: &mut DeviceState) {
    if let Some(bound) = state.bound.take() {
        if let Some(pasid) = bound.vm.pasid() {
            process.processes().unregister_pasid(pasid);
        }
        let clients = &process.shared().clients;
        clients.process(&device.gpu, &process.who, false);
    }
}
