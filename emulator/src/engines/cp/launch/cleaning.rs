// SPDX-License-Identifier: MIT OR Apache-2.0

//! Registers and LDS of compute units are cleared before another process has them, where the driver asks for that.
//!
//! Sources: Linux, `amdkfd/kfd_packet_manager_v9.c` (`exec_cleaner_shader` of MAP_PROCESS) and
//! `amdgpu/gfx_v9_4_3.c` (`gfx_v9_4_3_kiq_set_resources`); of gfx12, `limit_single_process` in
//! `amdgpu/mes_v12_0.c`, for which the firmware has its own.
//!
//! A worker does it when it takes the first dispatch afterwards: nothing can see what is there until then.

use super::window::Window;
use crate::device::Env;
use crate::memory::Hub;
use rkfd_isa::{ComputeUnit, Watches};
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How a compute unit is cleared.
#[derive(Clone)]
pub(crate) enum Cleaning {
    /// By firmware, without a shader of the driver's.
    Firmware,
    /// By the shader at this address of VMID 0.
    Shader(Arc<dyn Env>, u64),
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
            Some(Cleaning::Shader(env, entry)) => {
                let mut window = Window {
                    env: &*env,
                    hub: Hub::Gfx(xcc),
                    vmid: &AtomicU8::new(0),
                    gws: None,
                    watches: Watches::default(),
                    fault: None,
                    notices: Vec::new(),
                };
                if let Err(why) = unit.clean(&mut window, entry) {
                    env.report().violation(format_args!("{why}"));
                }
            }
        }
    }
}
