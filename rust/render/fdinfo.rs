// SPDX-License-Identifier: GPL-2.0

//! What a file of the DRM device has, in `/proc/PID/fdinfo/FD`.
//!
//! Objects count under where they were asked to be, and as resident where they are: those that the file has GEM
//! handles to, once for each, and those that its process has mapped by /dev/kfd. What is both counts twice; page tables
//! don't count. No engine works for the kernel's rings, so there are no `drm-engine-` lines, as upstream for engines that
//! a file never used.
//!
//! Nothing is waited for: the file's list is looked at one handle at a time.
//!
//! Source: Linux, `amdgpu_fdinfo.c`, `amdgpu_vm_update_stats_locked`, `amdgpu_bo_mem_stats_placement`.

use super::Render;
use crate::{
    bo::Placement,
    glue::drm::{
        MemoryStats,
        Opened,
        Printer, //
    },
    memory::Object,
    mmap::FileMemory,
    uapi::gem as abi, //
};
use kernel::prelude::*;

/// Kinds of memory that there are on other GPUs, or that only the kernel has here.
const NONE: [&CStr; 5] = [c"gds", c"gws", c"oa", c"doorbell", c"mmioremap"];

/// The kinds of memory that objects are in.
#[derive(Default)]
struct Kinds {
    cpu: MemoryStats,
    gtt: MemoryStats,
    vram: MemoryStats,
    /// Bytes that were to be in VRAM alone, and are elsewhere.
    evicted_vram: u64,
}

impl Kinds {
    /// The kind of the highest of these domains.
    fn of(&mut self, domains: u64) -> &mut MemoryStats {
        let has = |domain: u32| domains & u64::from(domain) != 0;
        if has(abi::DOMAIN_VRAM) {
            &mut self.vram
        } else if has(abi::DOMAIN_GTT) {
            &mut self.gtt
        } else {
            &mut self.cpu
        }
    }

    /// An object that the file has a handle to.
    fn add(&mut self, object: &Object, shared: bool) {
        let (bo, created) = (object.memory().bo(), object.created());
        let size = bo.size();
        let asked = self.of(created.domains);
        let total = match shared {
            true => &mut asked.shared,
            false => &mut asked.private,
        };
        *total = total.saturating_add(size);

        let system = created.domains & !u64::from(abi::DOMAIN_VRAM);
        let lies = match bo.placement() {
            Some(Placement::Vram) => abi::DOMAIN_VRAM,
            // What had no room in VRAM is where the GPU reaches it.
            _ if system != u64::from(abi::DOMAIN_CPU) && created.domains != 0 => abi::DOMAIN_GTT,
            _ => abi::DOMAIN_CPU,
        };
        let here = self.of(lies.into());
        here.resident = here.resident.saturating_add(size);
        if created.flags & abi::CREATE_DISCARDABLE != 0 {
            here.purgeable = here.purgeable.saturating_add(size);
        }
        let elsewhere = lies != abi::DOMAIN_VRAM && created.domains & u64::from(lies) == 0;
        if elsewhere && created.domains & u64::from(abi::DOMAIN_VRAM) != 0 {
            self.evicted_vram = self.evicted_vram.saturating_add(size);
        }
    }

    /// What the file's process has mapped.
    fn add_mapped(&mut self, memory: &FileMemory) {
        for (vram, stats) in [(false, &mut self.gtt), (true, &mut self.vram)] {
            let bytes = memory.bytes(vram);
            stats.private = stats.private.saturating_add(bytes.private);
            stats.shared = stats.shared.saturating_add(bytes.shared);
            let all = bytes.private.saturating_add(bytes.shared);
            stats.resident = stats.resident.saturating_add(all);
        }
    }
}

/// Prints what the file has.
pub(super) fn show(file: Opened<'_, Render>, printer: &Printer<'_>) {
    let mut kinds = Kinds::default();
    file.each_object(|_, object, shared| kinds.add(object, shared));
    let opened = file.file();
    kinds.add_mapped(opened.memory());

    printer.number(c"pasid:", opened.pasid().into());
    printer.memory(c"cpu", &kinds.cpu);
    printer.memory(c"gtt", &kinds.gtt);
    printer.memory(c"vram", &kinds.vram);
    for kind in NONE {
        printer.memory(kind, &MemoryStats::default());
    }
    // Older keys of amdgpu's, and those that are its own.
    printer.kib(c"drm-memory-vram:", kinds.vram.resident);
    printer.kib(c"drm-memory-gtt: ", kinds.gtt.resident);
    printer.kib(c"drm-memory-cpu: ", kinds.cpu.resident);
    printer.kib(c"amd-evicted-vram:", kinds.evicted_vram);
    let total = |stats: &MemoryStats| stats.private.saturating_add(stats.shared);
    printer.kib(c"amd-requested-vram:", total(&kinds.vram));
    printer.kib(c"amd-requested-gtt:", total(&kinds.gtt));
}
