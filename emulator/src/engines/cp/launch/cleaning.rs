// SPDX-License-Identifier: MIT OR Apache-2.0

//! Registers and LDS of compute units are cleared before another process has them, where the driver asks for that.
//!
//! Sources: Linux, `amdkfd/kfd_packet_manager_v9.c` (`exec_cleaner_shader` of MAP_PROCESS) and
//! `amdgpu/gfx_v9_4_3.c` (`gfx_v9_4_3_kiq_set_resources`); of gfx12, `limit_single_process` in
//! `amdgpu/mes_v12_0.c`, for which the firmware has its own.
//!
//! A worker does it when it takes the first dispatch afterwards: nothing can see what is there until then. The shader's page
//! is read at once, as the memory may be another's by then.

use crate::device::Env;
use crate::memory::{Space, VmFault, PAGE};
use rkfd_isa::{Access, ComputeUnit, HostPage, Reason};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How a compute unit is cleared.
#[derive(Clone)]
pub(crate) enum Cleaning {
    /// By firmware, without a shader of the driver's.
    Firmware,
    /// By a shader of the driver's.
    Shader(Arc<Shader>),
}

/// A cleaner shader.
pub(crate) struct Shader {
    env: Arc<dyn Env>,
    entry: u64,
    /// The page that it lies in.
    page: Arc<[AtomicU64]>,
}

impl Shader {
    /// The shader at an address of an address space.
    ///
    /// # Errors
    /// Its page can't be read.
    pub(crate) fn read(env: &Arc<dyn Env>, space: &Space<'_>, entry: u64) -> Result<Self, VmFault> {
        let mut bytes = vec![0; PAGE as usize];
        space.read(entry / PAGE * PAGE, &mut bytes)?;
        let words = bytes.chunks_exact(8);
        let words = words.map(|b| u64::from_ne_bytes(b.try_into().unwrap_or_default()));
        Ok(Self {
            env: env.clone(),
            entry,
            page: words.map(AtomicU64::new).collect(),
        })
    }
}

/// What the shader's waves reach: its page, and no other memory.
struct Alone<'a> {
    shader: &'a Shader,
    /// No two cleanings, and no dispatch, have translations in common.
    epoch: u64,
}

impl rkfd_isa::Env for Alone<'_> {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn translate(&mut self, _tag: u8, va: u64, access: Access) -> Result<HostPage, Reason> {
        match access == Access::Execute && va / PAGE == self.shader.entry / PAGE {
            true => HostPage::of(&self.shader.page, 0).ok_or(Reason::NoMemory),
            false => Err(Reason::NotPresent),
        }
    }

    fn clock(&mut self) -> u64 {
        self.shader.env.clock().now()
    }

    fn interrupt(&mut self, _message: u16, _m0: u32, _privileged: bool) {}
}

/// The last cleaning of each XCC.
pub(super) struct Cleanings {
    last: AtomicU64,
    xccs: Box<[Mutex<Numbered>]>,
}

/// A cleaning, and its number.
type Numbered = (u64, Option<Cleaning>);

impl Cleanings {
    pub(super) fn new(xccs: usize) -> Self {
        Self {
            last: AtomicU64::new(0),
            xccs: (0..xccs).map(|_| Mutex::default()).collect(),
        }
    }

    /// Compute units of an XCC are cleared before they run anything more.
    pub(super) fn add(&self, xcc: u8, cleaning: Cleaning) {
        let Some(place) = self.xccs.get(usize::from(xcc)) else {
            return;
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        *place = (self.last.load(Ordering::Acquire) + 1, Some(cleaning));
        self.last.store(place.0, Ordering::Release);
    }

    /// Clears a compute unit, unless that was done. `done` is the number of the last cleaning that it has seen.
    pub(super) fn follow(&self, done: &mut u64, xcc: u8, unit: &mut ComputeUnit) {
        let last = self.last.load(Ordering::Acquire);
        let Some(place) = self.xccs.get(usize::from(xcc)).filter(|_| last != *done) else {
            return;
        };
        let before = std::mem::replace(done, last);
        let (number, cleaning) = {
            let place = place.lock().unwrap_or_else(PoisonError::into_inner);
            (place.0, place.1.clone())
        };
        match cleaning.filter(|_| number > before) {
            None => {}
            Some(Cleaning::Firmware) => unit.clear(),
            Some(Cleaning::Shader(shader)) => {
                let mut alone = Alone {
                    shader: &shader,
                    epoch: u64::MAX - number,
                };
                if let Err(why) = unit.clean(&mut alone, shader.entry) {
                    shader.env.report().violation(format_args!("{why}"));
                }
            }
        }
    }
}
