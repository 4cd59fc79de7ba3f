// SPDX-License-Identifier: GPL-2.0

//! PROFILER: who has a GPU's performance counters.

use super::gpu_id;
use crate::{
    glue::{
        linux::{
            EALREADY,
            EOPNOTSUPP, //
        },
        user, //
    },
    process::Process,
    profiler::{
        self,
        Profiling, //
    },
    uapi::smi as abi, //
};
use kernel::prelude::*;

/// `kfd_ioctl_profiler`.
///
/// # Errors
///
/// EINVAL for an unknown operation or GPU; those of [`set_counters`]; EOPNOTSUPP for PTL_CONTROL: no firmware that
/// the driver knows limits itself for a program that measures.
pub(super) fn profiler(process: &Process, args: &mut abi::ProfilerArgs) -> Result {
    let [gpu, lock, enable] = args.data;
    match args.op {
        abi::PROFILER_VERSION => {
            if let Some(version) = args.data.first_mut() {
                *version = abi::PROFILER_VERSION_NUM;
            }
            Ok(())
        }
        abi::PROFILER_PMC => set_counters(process, gpu, lock, enable == 1),
        abi::PROFILER_PTL_CONTROL => {
            process.device_index(gpu_id(gpu)?)?;
            Err(EOPNOTSUPP)
        }
        _ => Err(EINVAL),
    }
}

/// Takes a GPU's counters for a process (`lock` 1) or gives them up (0), and has all queues counted or not.
///
/// # Errors
///
/// EPERM without CAP_PERFMON; EINVAL for an unknown GPU, another `lock`, or what isn't to be given up; EALREADY when the
/// process has them, EBUSY when another one does.
fn set_counters(process: &Process, gpu: u32, lock: u32, enable: bool) -> Result {
    if !user::may_profile() {
        return Err(EPERM);
    }
    let index = process.device_index(gpu_id(gpu)?)?;
    let gpu = &process.devices().get(index).ok_or(EINVAL)?.gpu;
    process.with(|state| {
        let profiling = &mut state.devices.get_mut(index).ok_or(EINVAL)?.profiling;
        match (lock, &profiling) {
            (1, None) => *profiling = Some(Profiling::new(gpu)?),
            (1, Some(_)) => return Err(EALREADY),
            (0, Some(_)) => *profiling = None,
            _ => return Err(EINVAL),
        }
        profiler::count(gpu, enable);
        Ok(())
    })
}
