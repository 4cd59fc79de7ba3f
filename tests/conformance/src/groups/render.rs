// SPDX-License-Identifier: MIT OR Apache-2.0
//! The render node: where buffers are mapped, and the one request of DRM that clients need. Paths
//! are those of `drivers/gpu/drm`.

use super::*;
use crate::fixture::{Bo, GTT, VRAM};
use crate::row::{row, Answer, Row};
use rkfd_uapi::drm::{DrmVersion, TYPE, VERSION};
use rkfd_uapi::ioctl::{ioc, READ_WRITE};

const RW: i32 = libc::PROT_READ | libc::PROT_WRITE;
const S: i32 = libc::MAP_SHARED;

fn map(c: &Ctx, offset: u64, len: usize, flags: i32) -> Answer {
    Ok(errno(
        sys::Map::file(c.render()?, offset, len, RW, flags).map(|_| ()),
    ))
}

/// Maps the whole of a new buffer.
fn mapped(c: &mut Ctx, size: u64, flags: u32) -> Result<(Bo, sys::Map), String> {
    let bo = c.bo(size, flags)?;
    let map = sys::Map::file(c.render()?, bo.offset, size as usize, RW, S);
    Ok((
        bo,
        map.map_err(|e| format!("mmap: {}", rkfd_bare::errno::name(e)))?,
    ))
}

/// The largest word of a new buffer, after another process has filled one of the same kind and ended.
fn after_another(c: &mut Ctx, flags: u32) -> Answer {
    const BYTES: usize = 65536;
    let words = || (0..BYTES).step_by(512);
    let filled = other_process(c, |o| match mapped(o, BYTES as u64, flags) {
        Ok((_, m)) => {
            words().for_each(|i| m.write(i, 0x5ec4e7));
            0
        }
        Err(_) => 1,
    });
    if filled != 0 {
        return Err("the other process has no buffer".into());
    }
    let (_, m) = mapped(c, BYTES as u64, flags)?;
    Ok(Got::Value(words().map(|i| m.read(i)).max().unwrap_or(1)))
}

fn version(
    c: &mut Ctx,
    change: impl FnOnce(&mut DrmVersion),
) -> Result<(i32, DrmVersion, String), String> {
    let mut name = [0u8; 16];
    let mut args = DrmVersion {
        name: sys::address(&mut name),
        name_len: 16,
        ..Default::default()
    };
    change(&mut args);
    let e = sys::ioctl(c.render()?, VERSION.command(), sys::address(&mut args));
    let text = String::from_utf8_lossy(&name)
        .trim_end_matches('\0')
        .to_owned();
    Ok((e, args, text))
}

fn number(c: &mut Ctx, kind: u8, number: u8) -> Answer {
    let mut buffer = [0u8; 256];
    Ok(Got::Errno(sys::ioctl(
        c.render()?,
        ioc(READ_WRITE, kind, number, 64),
        sys::address(&mut buffer),
    )))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const M: &str = "mmap buffer";
    const V: &str = "DRM_IOCTL_VERSION";
    vec![
        row(M, "GTT", OK, "drm_gem.c:1386", |c| { let b = c.bo(8192, GTT)?; map(c, b.offset, 8192, S) }),
        row(M, "VRAM", OK, "drm_gem.c:1386", |c| { let b = c.bo(8192, VRAM | rkfd_uapi::memory::ALLOC_PUBLIC)?; map(c, b.offset, 8192, S) }),
        row(M, "a part of it", OK, "drm_gem.c:1381", |c| { let b = c.bo(8192, GTT)?; map(c, b.offset, 4096, S) }),
        row(M, "more than there is", EINVAL, "drm_gem.c:1381", |c| { let b = c.bo(8192, GTT)?; map(c, b.offset, 12288, S) }),
        row(M, "from its second page", EINVAL, "drm_gem.c:1381", |c| { let b = c.bo(8192, GTT)?; map(c, b.offset + 4096, 4096, S) }),
        row(M, "offset 0", EINVAL, "drm_gem.c:1381", |c| map(c, 0, 4096, S)),
        row(M, "an offset that nothing has", EINVAL, "drm_gem.c:1381", |c| { let b = c.bo(8192, GTT)?; map(c, b.offset + (1 << 30), 4096, S) }),
        row(M, "a private mapping", EINVAL, "ttm/ttm_bo_vm.c:491", |c| { let b = c.bo(8192, GTT)?; map(c, b.offset, 8192, libc::MAP_PRIVATE) }),
        row(M, "a private mapping without access, as debuggers make it", OK, "amd/amdgpu/amdgpu_gem.c:382", |c| { let b = c.bo(8192, VRAM)?; Ok(errno(sys::Map::file(c.render()?, b.offset, 8192, libc::PROT_NONE, libc::MAP_PRIVATE).map(|_| ()))) }),
        row(M, "user memory", EPERM, "amd/amdgpu/amdgpu_gem.c:372", |c| {
            let m = guarded_page()?;
            let mut args = c.alloc_args(4096, rkfd_uapi::memory::ALLOC_USERPTR | rkfd_uapi::memory::ALLOC_WRITABLE);
            args.mmap_offset = m.address;
            let b = c.bo_from(args)?;
            map(c, b.offset, 4096, S)
        }),
        row(M, "by another file of the node", EACCES, "drm_gem.c: drm_gem_object_lookup_at_offset", |c| {
            let b = c.bo(8192, GTT)?;
            let other = sys::open(&c.node.render).map_err(|e| e.to_string())?;
            Ok(errno(sys::Map::file(&other, b.offset, 8192, RW, S).map(|_| ())))
        }),
        row(M, "when it is not mapped to the GPU", OK, "drm_gem.c:1386", |c| { let b = c.unmapped_bo(8192, GTT)?; map(c, b.offset, 8192, S) }),
        row(M, "when it is freed", EINVAL, "drm_gem.c:1381", |c| { let b = c.unmapped_bo(8192, GTT)?; c.free(b.handle); map(c, b.offset, 8192, S) }),
        row(M, "memory that is mapped twice: half of the size", OK, "amd/amdgpu/amdgpu_amdkfd_gpuvm.c:1795", |c| { let b = c.bo(8192, GTT | rkfd_uapi::memory::ALLOC_AQL_QUEUE_MEM)?; map(c, b.offset, 4096, S) }),
        row(M, "memory that is mapped twice: the whole size", EINVAL, "drm_gem.c:1381", |c| { let b = c.bo(8192, GTT | rkfd_uapi::memory::ALLOC_AQL_QUEUE_MEM)?; map(c, b.offset, 8192, S) }),
        row(M, "new GTT reads as zero", is(0), "ttm/ttm_tt.c (TTM_TT_FLAG_ZERO_ALLOC)", |c| { let (_, m) = mapped(c, 65536, GTT)?; Ok(Got::Value((0..65536).step_by(8).map(|i| m.read(i)).max().unwrap_or(1))) }),
        row(M, "new VRAM reads as zero", is(0), "amd/amdgpu/amdgpu_amdkfd_gpuvm.c:1739", |c| { let (_, m) = mapped(c, 65536, VRAM | rkfd_uapi::memory::ALLOC_PUBLIC)?; Ok(Got::Value((0..65536).step_by(512).map(|i| m.read(i)).max().unwrap_or(1))) }),
        row(M, "VRAM that another process had reads as zero", is(0), "amd/amdgpu/amdgpu_amdkfd_gpuvm.c:1738", |c| after_another(c, VRAM | rkfd_uapi::memory::ALLOC_PUBLIC)),
        row(M, "GTT that another process had reads as zero", is(0), "ttm/ttm_tt.c (TTM_TT_FLAG_ZERO_ALLOC)", |c| after_another(c, GTT)),
        row(M, "what is written is read", is(0x1234_5678), "drm_gem.c:1386", |c| { let (_, m) = mapped(c, 8192, GTT)?; m.write(4096, 0x1234_5678); Ok(Got::Value(m.read(4096))) }),
        row(M, "two mappings are the same memory", is(77), "drm_gem.c:1386", |c| { let (b, m) = mapped(c, 8192, GTT)?; let n = sys::Map::file(c.render()?, b.offset, 8192, RW, S).map_err(|e| e.to_string())?; m.write(8, 77); Ok(Got::Value(n.read(8))) }),
        row(V, "errno", OK, "drm_ioctl.c:559", |c| Ok(Got::Errno(version(c, |_| {})?.0))),
        row(V, "major", is(3), "amd/amdgpu/amdgpu_drv.c (KMS_DRIVER_MAJOR)", |c| Ok(Got::Value(version(c, |_| {})?.1.version_major as u64))),
        row(V, "name", YES, "amd/amdgpu/amdgpu_drv.c (DRIVER_NAME)", |c| Ok(holds(version(c, |_| {})?.2 == "amdgpu"))),
        row(V, "room for 3 letters: 3 letters", YES, "drm_ioctl.c:515", |c| Ok(holds(version(c, |a| a.name_len = 3)?.2 == "amd"))),
        row(V, "room for 3 letters: the whole length", is(6), "drm_ioctl.c:520", |c| Ok(Got::Value(version(c, |a| a.name_len = 3)?.1.name_len))),
        row(V, "no room", OK, "drm_ioctl.c:523", |c| Ok(Got::Errno(version(c, |a| { a.name = 0; a.name_len = 0 })?.0))),
        row(V, "a name that can't be written", EFAULT, "drm_ioctl.c:525", |c| Ok(Got::Errno(version(c, |a| a.name = 0x10)?.0))),
        row(V, "address 0", EFAULT, "drm_ioctl.c:907", |c| Ok(Got::Errno(sys::ioctl(c.render()?, VERSION.command(), 0)))),
        row("ioctl of the render node", "type K", ENOTTY, "drm_ioctl.c:853", |c| number(c, b'K', 1)),
        row("ioctl of the render node", "number 0xff", EINVAL, "drm_ioctl.c:868", |c| number(c, TYPE, 0xff)),
        row("ioctl of the render node", "number 0x9f", EINVAL, "drm_ioctl.c:862", |c| number(c, TYPE, 0x9f)),
    ]
}
