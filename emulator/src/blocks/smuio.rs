// SPDX-License-Identifier: MIT OR Apache-2.0

//! System management I/O: what the package is. Nothing of it can be written, or changes.
//!
//! Source: Linux, `amdgpu/smuio_v13_0_3.c`.

use crate::device::{IpBlock, Refused};
use rkfd_hw::regs::smuio_13_0_3::SMUIO_MCM_CONFIG as Config;
use rkfd_hw::regs::{RegInfo, Value};

/// `PKG_TYPE` of an accelerator module; the others are a card (0) and a processor with graphics (2)
/// (`smuio_v13_0_3_get_pkg_type`).
const ACCELERATOR_MODULE: u64 = 1;

/// The block. Its die is the first one of the first socket.
pub struct Smuio;

impl IpBlock for Smuio {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        match reg.reg.name {
            "SMUIO_MCM_CONFIG" => Ok(Value::zeroed()
                .having(Config::PKG_TYPE.is::<ACCELERATOR_MODULE>())
                .bits()),
            _ => Err(Refused::NotModelled),
        }
    }

    fn write(&self, _: &'static RegInfo, _: u32) -> Result<(), Refused> {
        Err(Refused::ReadOnly)
    }

    fn reset(&self) {}
}
