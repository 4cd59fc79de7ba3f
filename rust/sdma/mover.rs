// SPDX-License-Identifier: GPL-2.0

//! Copying an object between VRAM and system memory, by the copy engine (`amdgpu_ttm_copy_mem_to_mem`).
//!
//! System memory is copied a window at a time, which is mapped in the GART for it (`amdgpu_ttm_map_buffer`).

use super::{
    copier::Killable,
    running::Running,
    Copier, //
};
use crate::{
    bo::{
        home::Home,
        Bo,
        Placement,
        Segment, //
    },
    glue::user as caller,
    gmc::Window,
    hw::value::Bounded,
    types::{
        GpuVa,
        VramOffset, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Pages of a window.
const WINDOW: u64 = 4096;
const PAGE: u64 = 4096;
/// How often a window is copied anew because the engine was reset meanwhile.
const AGAIN: u32 = 3;

/// What the engine works on: where to, where from, and the window.
struct Moving {
    to: Home,
    window: Option<Window>,
    from: Arc<Bo>,
}

/// A part of either home: a place in address space 0, and bytes.
type Part = (GpuVa, u64);

impl Copier {
    /// Copies an object that may be moved to another home, which is of the other kind. The caller sees that nobody
    /// writes to it.
    ///
    /// # Errors
    ///
    /// EINTR when the caller is killed, EIO when the engine doesn't answer, ENODEV when the device is gone, ENOMEM.
    pub(crate) fn copy_home(self: &Arc<Self>, from: &Arc<Bo>, to: Home) -> Result<Home> {
        // Stores of processors that are still on their way come before.
        self.parts.vram.flush_hdp();
        let moving = Moving {
            to,
            window: None,
            from: from.clone(),
        };
        let mut work = Running::new(self, moving);
        let mut done = 0;
        while done < from.size() {
            let bytes = (WINDOW * PAGE).min(from.size().saturating_sub(done));
            let mut resets = 0u32;
            loop {
                if caller::is_killed() {
                    return Err(EINTR);
                }
                match work.copy(done, bytes) {
                    Err(error)
                        if error == EIO
                            && resets < AGAIN
                            && work.ticket.is_some_and(|ticket| self.was_reset(ticket)) =>
                    {
                        resets = resets.saturating_add(1);
                    }
                    result => break result?,
                }
            }
            done = done.saturating_add(bytes);
        }
        Ok(work.memory.take().ok_or(EINVAL)?.to)
    }
}

impl Running<Moving> {
    /// Copies a part of the object, no larger than a window.
    fn copy(&mut self, offset: u64, bytes: u64) -> Result {
        let copier = self.copier.clone();
        let memory = self.memory.as_mut().ok_or(EINVAL)?;
        let mut bus = KVec::with_capacity((bytes / PAGE) as usize, GFP_KERNEL)?;
        let mut vram: KVec<Part> = KVec::new();
        let layout = copier.parts.vram.layout();
        let mut sort = |segment: Segment| {
            if segment.placement == Placement::Vram {
                let at = layout.vram_addr(VramOffset::new(segment.addr));
                return Ok(vram.push((at, segment.len), GFP_KERNEL)?);
            }
            for page in (0..segment.len).step_by(PAGE as usize) {
                bus.push(segment.addr.wrapping_add(page), GFP_KERNEL)?;
            }
            Ok(())
        };
        memory
            .from
            .with_home(|home| home.segments(offset, bytes, &mut sort))?;
        let from_vram = memory.from.placement() == Some(Placement::Vram);
        memory.to.segments(offset, bytes, &mut sort)?;
        let window = match memory.window.take() {
            // One that has as many pages is used again.
            Some(mut window) if window.is_as_long_as(&bus) => {
                window.map(&bus)?;
                window
            }
            _ => Window::new(&copier.parts.gart, &bus)?,
        };
        let mut system = window.addr();
        memory.window = Some(window);
        for (at, len) in vram {
            let less_one = len
                .checked_sub(1)
                .and_then(Bounded::try_new)
                .ok_or(EINVAL)?;
            let (from, to) = match from_vram {
                true => (at, system),
                false => (system, at),
            };
            let packet = copier.parts.hal.copy(from, to, less_one);
            self.ticket = Some(copier.submit(&packet, Killable::No)?);
            system = system.checked_add(len).ok_or(EINVAL)?;
        }
        let ticket = self.ticket.ok_or(EINVAL)?;
        copier.wait(ticket, Killable::No)
    }
}
