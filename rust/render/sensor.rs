// SPDX-License-Identifier: GPL-2.0

//! What INFO tells of the management unit's measurements (`AMDGPU_INFO_SENSOR`).

use crate::{
    gpu::Gpu,
    uapi::amdgpu as abi, //
};
use kernel::prelude::*;

/// Answers [`abi::INFO_SENSOR`]: MHz, thousandths of a degree, percent, watts, millivolts.
///
/// # Errors
///
/// ENOENT when the driver doesn't ask the unit; EINVAL for a kind that isn't known, that the unit doesn't measure, or
/// when it doesn't answer. The clocks of stable states aren't known here.
pub(super) fn read(gpu: &Gpu, kind: u32) -> Result<u32> {
    let kinds = gpu.kinds().ok_or(ENOENT)?;
    let now = gpu.measure().map_err(|_| EINVAL)?;
    match kind {
        abi::INFO_SENSOR_GFX_SCLK => Ok(now.gfx),
        abi::INFO_SENSOR_GFX_MCLK => Ok(now.memory),
        abi::INFO_SENSOR_GPU_TEMP => now.edge.ok_or(EINVAL),
        abi::INFO_SENSOR_GPU_LOAD => Ok(now.busy),
        // Of a unit without an average it is what is taken now.
        abi::INFO_SENSOR_GPU_AVG_POWER => Ok(now.power / 1000),
        abi::INFO_SENSOR_GPU_INPUT_POWER if !kinds.is_average => Ok(now.power / 1000),
        abi::INFO_SENSOR_VDDGFX => now.voltage.ok_or(EINVAL),
        _ => Err(EINVAL),
    }
}
