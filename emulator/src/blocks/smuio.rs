// SPDX-License-Identifier: MIT OR Apache-2.0

//! System management I/O: what the package is, the ROM word by word, and the clock. A chip has those
//! registers that its table has.
//!
//! Sources: Linux, `amdgpu/smuio_v13_0_3.c`, `amdgpu/smuio_v14_0_2.c`; the ROM,
//! `amdgpu_soc15_read_bios_from_rom`.

use crate::device::{Env, IpBlock, Refused};
use rkfd_hw::regs::smuio_13_0_3::SMUIO_MCM_CONFIG as Config;
use rkfd_hw::regs::{RegInfo, Value};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// `PKG_TYPE` of an accelerator module; the others are a card (0) and a processor with graphics (2)
/// (`smuio_v13_0_3_get_pkg_type`).
const ACCELERATOR_MODULE: u64 = 1;

/// The block. Its die is the first one of the first socket.
pub struct Smuio {
    env: Arc<dyn Env>,
    /// The ROM's words.
    rom: Vec<u32>,
    /// ROM_INDEX: the byte that ROM_DATA shows next.
    at: AtomicU32,
}

impl Smuio {
    /// With a ROM.
    pub fn new(env: Arc<dyn Env>, rom: &[u8]) -> Self {
        let words = rom.chunks_exact(4).map(|bytes| {
            let all = bytes.iter().rev();
            all.fold(0, |word, &byte| (word << 8) | u32::from(byte))
        });
        Self {
            env,
            rom: words.collect(),
            at: AtomicU32::new(0),
        }
    }
}

impl IpBlock for Smuio {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        Ok(match reg.reg.name {
            "SMUIO_MCM_CONFIG" => Value::zeroed()
                .having(Config::PKG_TYPE.is::<ACCELERATOR_MODULE>())
                .bits(),
            "ROM_INDEX" => self.at.load(Ordering::Relaxed),
            "ROM_DATA" => {
                let at = self.at.fetch_add(4, Ordering::Relaxed) / 4;
                self.rom.get(at as usize).copied().unwrap_or(u32::MAX)
            }
            "GOLDEN_TSC_COUNT_LOWER" => self.env.clock().now() as u32,
            "GOLDEN_TSC_COUNT_UPPER" => (self.env.clock().now() >> 32) as u32,
            _ => return Err(Refused::NotModelled),
        })
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        match reg.reg.name {
            "ROM_INDEX" => {
                self.at.store(value, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(Refused::ReadOnly),
        }
    }

    fn reset(&self) {
        self.at.store(0, Ordering::Relaxed);
    }
}
