// SPDX-License-Identifier: GPL-2.0

//! Processes that have the compute units one at a time, with registers and LDS cleared in between.
//!
//! Without it a wave begins with what waves before left there, another process' too: hardware clears nothing. amdgpu's
//! parameter has the same name and values (`amdgpu_device_check_arguments`). Of these 2 and 3 concern command submission,
//! which this driver doesn't have, so that they are the same as 0 here (`pm_map_process_aldebaran`, `mes_v12_0_set_hw_resources`).

use crate::{
    chip::ChipInfo,
    glue::linux, //
};
use kernel::{
    device::Device,
    prelude::*, //
};

/// `AMDGPU_ENFORCE_ISOLATION_ENABLE`.
const ENABLE: i32 = 1;

/// Whether processes are isolated on a GPU.
pub(crate) fn is_on(dev: &Device, chip: &ChipInfo) -> bool {
    if linux::parameter(crate::module_parameters::enforce_isolation.value()) != ENABLE {
        return false;
    }
    let (has, needs) = (chip.mec_fw_version, chip.family.mec_that_cleans);
    // 0: another driver has loaded it, and nothing tells its version.
    if has != 0 && has < needs {
        dev_warn!(
            dev,
            "processes are not isolated: firmware of the MEC is version {}, and clears registers from version {} on\n",
            has,
            needs
        );
        return false;
    }
    dev_info!(
        dev,
        "processes are isolated: one runs at a time, and registers and LDS are cleared before it\n"
    );
    true
}
