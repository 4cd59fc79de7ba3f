// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a file of the render node has, in `/proc/PID/fdinfo`. Paths are those of `drivers/gpu/drm`.

use super::*;
use crate::fixture::{GTT, VRAM};
use crate::row::{row, Answer, Row};
use rkfd_uapi::gem::*;
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::memory::ExportDmabufArgs;
use std::os::fd::{AsRawFd, OwnedFd};

const SIZE: u64 = 3 << 20;

/// The file's lines.
fn lines(fd: &OwnedFd) -> Result<Vec<String>, String> {
    let path = format!("/proc/self/fdinfo/{}", fd.as_raw_fd());
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// What stands behind a key.
fn text(fd: &OwnedFd, key: &str) -> Result<String, String> {
    let lines = lines(fd)?;
    let found = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name == key).then(|| value.trim().to_owned())
    });
    found.ok_or_else(|| format!("no {key} in {lines:?}"))
}

/// The number behind a key, in bytes.
fn bytes_of(fd: &OwnedFd, key: &str) -> Result<u64, String> {
    let text = text(fd, key)?;
    let (number, unit) = match text.split_once(' ') {
        None => (text.as_str(), 1),
        Some((number, "KiB")) => (number, 1 << 10),
        Some((number, "MiB")) => (number, 1 << 20),
        Some(_) => return Err(format!("{key}: {text}")),
    };
    let number: u64 = number.parse().map_err(|e| format!("{key}: {text}: {e}"))?;
    Ok(number * unit)
}

/// By how much a number grows by what `f` does.
fn growth(
    c: &mut Ctx,
    key: &str,
    f: impl FnOnce(&mut Ctx) -> Result<(), String>,
) -> Result<Got, String> {
    let before = bytes_of(c.render()?, key)?;
    f(c)?;
    Ok(Got::Value(bytes_of(c.render()?, key)?.wrapping_sub(before)))
}

/// Makes a buffer; returns its handle.
fn made(c: &Ctx, domains: u32, domain_flags: u64) -> Result<u32, String> {
    let mut args = GemCreate {
        bo_size: SIZE,
        alignment: 4096,
        domains: domains.into(),
        domain_flags,
    };
    let errno = sys::ioctl(c.render()?, GEM_CREATE.command(), sys::address(&mut args));
    crate::fixture::must("GEM_CREATE", errno)?;
    Ok(args.handle())
}

/// KFD is asked for more VRAM than there is.
fn too_much(c: &mut Ctx) -> Result<(), String> {
    let mut args = c.alloc_args(c.available() + (64 << 20), VRAM);
    match c.raw(&requests::ALLOC_MEMORY_OF_GPU, &mut args) {
        libc::ENOMEM => Ok(()),
        errno => Err(format!("ALLOC_MEMORY_OF_GPU: errno {errno}")),
    }
}

fn closed(c: &Ctx, handle: u32) -> Result<(), String> {
    let mut args = GemClose { handle, pad: 0 };
    let errno = sys::ioctl(c.render()?, GEM_CLOSE.command(), sys::address(&mut args));
    crate::fixture::must("GEM_CLOSE", errno)
}

fn exported(c: &Ctx, handle: u32) -> Result<OwnedFd, String> {
    let mut args = PrimeHandle {
        handle,
        flags: libc::O_CLOEXEC as u32,
        fd: -1,
    };
    let command = PRIME_HANDLE_TO_FD.command();
    let errno = sys::ioctl(c.render()?, command, sys::address(&mut args));
    crate::fixture::must("PRIME_HANDLE_TO_FD", errno)?;
    Ok(sys::own(args.fd as u32))
}

fn exported_by_kfd(c: &Ctx, handle: u64) -> Result<OwnedFd, String> {
    let mut args = ExportDmabufArgs {
        handle,
        flags: libc::O_CLOEXEC as u32,
        ..Default::default()
    };
    let errno = c.raw(&requests::EXPORT_DMABUF, &mut args);
    crate::fixture::must("EXPORT_DMABUF", errno)?;
    Ok(sys::own(args.dmabuf_fd))
}

/// By how much a number grows while a new buffer is made.
fn of_new(c: &mut Ctx, key: &str, domains: u32, flags: u64) -> Answer {
    growth(c, key, |c| made(c, domains, flags).map(|_| ()))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const F: &str = "fdinfo of the render node";
    const CORE: &str = "drm_file.c: drm_show_fdinfo";
    const SHOW: &str = "amd/amdgpu/amdgpu_fdinfo.c: amdgpu_show_fdinfo";
    const STATS: &str = "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_update_stats_locked";
    const SHARED: &str = "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_update_shared";
    /// The kinds of memory that amdgpu lists.
    const KINDS: [&str; 8] = ["cpu", "gtt", "vram", "gds", "gws", "oa", "doorbell", "mmioremap"];
    vec![
        row(F, "drm-driver", YES, CORE, |c| Ok(holds(text(c.render()?, "drm-driver")? == "amdgpu"))),
        row(F, "drm-pdev is the topology's slot", YES, CORE, |c| Ok(holds(text(c.render()?, "drm-pdev")? == c.node.slot))),
        row(F, "how many of the four keys of eight kinds are missing", is(0), SHOW, |c| {
                let fd = c.render()?;
            let keys = ["total", "shared", "resident", "purgeable"].into_iter().flat_map(|what| KINDS.map(|kind| format!("drm-{what}-{kind}")));
            Ok(Got::Value(keys.filter(|key| bytes_of(fd, key).is_err()).count() as u64))
        }),
        row(F, "how many keys with `active` there are", is(0), SHOW, |c| Ok(Got::Value(lines(c.render()?)?.iter().filter(|line| line.starts_with("drm-active-")).count() as u64))),
        row(F, "how many engines it has used", is(0), SHOW, |c| Ok(Got::Value(lines(c.render()?)?.iter().filter(|line| line.starts_with("drm-engine-")).count() as u64))),
        row(F, "pasid: as KFD's debugfs names its address space", YES, SHOW, |c| {
            let path = format!("/sys/kernel/debug/kfd/proc/{}/pasid_{}", sys::pid(), c.gpu);
            let want = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
            Ok(holds(text(c.render()?, "pasid")? == want.trim() && want.trim() != "0"))
        }),
        row(F, "drm-total-gtt, of a new buffer in GTT", is(SIZE), STATS, |c| of_new(c, "drm-total-gtt", DOMAIN_GTT, 0)),
        row(F, "drm-resident-gtt, of a new buffer in GTT", is(SIZE), STATS, |c| of_new(c, "drm-resident-gtt", DOMAIN_GTT, 0)),
        row(F, "drm-memory-gtt, of a new buffer in GTT", is(SIZE), SHOW, |c| of_new(c, "drm-memory-gtt", DOMAIN_GTT, 0)),
        row(F, "amd-requested-gtt, of a new buffer in GTT", is(SIZE), SHOW, |c| of_new(c, "amd-requested-gtt", DOMAIN_GTT, 0)),
        row(F, "drm-total-vram, of a new buffer in GTT", is(0), STATS, |c| of_new(c, "drm-total-vram", DOMAIN_GTT, 0)),
        row(F, "drm-total-vram, of a new buffer in VRAM", is(SIZE), STATS, |c| of_new(c, "drm-total-vram", DOMAIN_VRAM, 0)),
        row(F, "drm-resident-vram, of a new buffer in VRAM", is(SIZE), STATS, |c| of_new(c, "drm-resident-vram", DOMAIN_VRAM, 0)),
        row(F, "drm-memory-vram, of a new buffer in VRAM", is(SIZE), SHOW, |c| of_new(c, "drm-memory-vram", DOMAIN_VRAM, 0)),
        row(F, "amd-requested-vram, of a new buffer in VRAM", is(SIZE), SHOW, |c| of_new(c, "amd-requested-vram", DOMAIN_VRAM, 0)),
        row(F, "drm-resident-vram, of a new buffer, after KFD was asked for more than there is", is(SIZE), "amd/amdgpu/amdgpu_amdkfd_gpuvm.c: amdgpu_amdkfd_reserve_mem_limit", |c| growth(c, "drm-resident-vram", |c| { made(c, DOMAIN_VRAM, 0)?; too_much(c) })),
        row(F, "amd-evicted-vram, of a new buffer in VRAM", is(0), STATS, |c| of_new(c, "amd-evicted-vram", DOMAIN_VRAM, 0)),
        row(F, "drm-total-cpu, of a new buffer in CPU", is(SIZE), "amd/amdgpu/amdgpu_object.c: amdgpu_bo_mem_stats_placement", |c| of_new(c, "drm-total-cpu", DOMAIN_CPU, 0)),
        row(F, "drm-total-vram, of a new buffer in VRAM or GTT", is(SIZE), "amd/amdgpu/amdgpu_object.c: amdgpu_bo_mem_stats_placement", |c| of_new(c, "drm-total-vram", DOMAIN_VRAM | DOMAIN_GTT, 0)),
        row(F, "drm-purgeable-vram, of one that may be thrown away", is(SIZE), STATS, |c| of_new(c, "drm-purgeable-vram", DOMAIN_VRAM, CREATE_DISCARDABLE)),
        row(F, "drm-purgeable-vram, of another", is(0), STATS, |c| of_new(c, "drm-purgeable-vram", DOMAIN_VRAM, 0)),
        row(F, "drm-total-gtt, of a buffer whose handle is closed", is(0), "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_object_close", |c| growth(c, "drm-total-gtt", |c| { let handle = made(c, DOMAIN_GTT, 0)?; closed(c, handle) })),
        row(F, "drm-shared-gtt, of a new buffer", is(0), SHARED, |c| of_new(c, "drm-shared-gtt", DOMAIN_GTT, 0)),
        row(F, "drm-shared-gtt, of one that went out as a DMA-buf", is(SIZE), SHARED, |c| { let handle = made(c, DOMAIN_GTT, 0)?; growth(c, "drm-shared-gtt", |c| exported(c, handle).map(std::mem::forget)) }),
        row(F, "drm-total-gtt, of the same", is(0), SHARED, |c| { let handle = made(c, DOMAIN_GTT, 0)?; growth(c, "drm-total-gtt", |c| exported(c, handle).map(std::mem::forget)) }),
        row(F, "drm-total-gtt, of another file's buffer", is(0), STATS, |c| {
            let other = sys::open(&c.node.render).map_err(|e| e.to_string())?;
            let before = bytes_of(&other, "drm-total-gtt")?;
            made(c, DOMAIN_GTT, 0)?;
            Ok(Got::Value(bytes_of(&other, "drm-total-gtt")?.wrapping_sub(before)))
        }),
        row(F, "drm-total-gtt, of a buffer that KFD has mapped", is(SIZE), STATS, |c| growth(c, "drm-total-gtt", |c| c.bo(SIZE, GTT).map(|_| ()))),
        row(F, "drm-resident-gtt, of a buffer that KFD has mapped", is(SIZE), STATS, |c| growth(c, "drm-resident-gtt", |c| c.bo(SIZE, GTT).map(|_| ()))),
        row(F, "drm-total-gtt, of one that KFD has not mapped yet", is(0), "amd/amdgpu/amdgpu_amdkfd_gpuvm.c: kfd_mem_attach", |c| growth(c, "drm-total-gtt", |c| c.unmapped_bo(SIZE, GTT).map(|_| ()))),
        row(F, "drm-total-gtt, of one that KFD has unmapped", is(SIZE), "amd/amdgpu/amdgpu_amdkfd_gpuvm.c: unmap_bo_from_gpuvm", |c| growth(c, "drm-total-gtt", |c| { let bo = c.bo(SIZE, GTT)?; crate::fixture::must("UNMAP_MEMORY_FROM_GPU", c.unmap(bo.handle)) })),
        row(F, "drm-total-gtt, of one that KFD has freed", is(0), "amd/amdgpu/amdgpu_amdkfd_gpuvm.c: kfd_mem_detach", |c| growth(c, "drm-total-gtt", |c| { let bo = c.bo(SIZE, GTT)?; crate::fixture::must("UNMAP_MEMORY_FROM_GPU", c.unmap(bo.handle))?; crate::fixture::must("FREE_MEMORY_OF_GPU", c.free(bo.handle)) })),
        row(F, "drm-shared-gtt, of KFD's that went out as a DMA-buf", is(SIZE), SHARED, |c| { let bo = c.bo(SIZE, GTT)?; growth(c, "drm-shared-gtt", |c| exported_by_kfd(c, bo.handle).map(std::mem::forget)) }),
    ]
}
