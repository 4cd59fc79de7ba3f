// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sizes of the area that waves are saved to when their queue is preempted (CWSR).
//!
//! The driver computes the same sizes and refuses a queue whose control stack differs or whose
//! area is smaller. It publishes two of them; where it does not, all are computed here.
//!
//! Source: Linux 7.3, `kfd_queue.c`, `kfd_queue_ctx_save_restore_size` and
//! `kfd_queue_acquire_buffers`.

use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::memory::{flags, Bo};
use crate::sys::map::PAGE;
use crate::topology::Node;

/// Bytes at the start of each die's area, before the control stack.
const HEADER: u64 = 40;

/// The sizes for a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SaveArea {
    /// Bytes of one die's control stack.
    pub(crate) control_stack: u32,
    /// Bytes of one die's area: control stack and waves.
    pub(crate) size: u32,
    /// Bytes that a debugger has for one die.
    pub(crate) debug: u32,
    /// Bytes for all dies: what must be mapped.
    pub(crate) total: usize,
}

fn vgpr_bytes(gfx: u32) -> u64 {
    match gfx {
        90402 | 90010 | 90008 | 90500 | 120500 | 120501 => 0x80000,
        110000 | 110001 | 110501 | 120000 | 120001 => 0x60000,
        _ => 0x40000,
    }
}

impl SaveArea {
    /// The sizes for a node.
    pub(crate) fn of(node: &Node) -> Result<Self> {
        let gfx = node.required("gfx_target_version")? as u32;
        let xccs = u64::from(node.xccs());
        let cus = node.required("simd_count")? / node.required("simd_per_cu")? / xccs;
        let waves = if gfx < 100100 {
            // `array_count` counts all dies in sysfs, one die in the driver's formula.
            let arrays = node.property("array_count") / xccs;
            let engines = arrays / node.property("simd_arrays_per_engine").max(1);
            (cus * 40).min(engines.max(1) * 512)
        } else if gfx < 120500 {
            cus * 32
        } else {
            cus * 64
        };

        let new = matches!(gfx, 120500 | 120501);
        let sgpr = if new { 0x8000 } else { 0x4000 };
        let hwreg = if new { 0x8000 } else { 0x1000 };
        let lds = if new || gfx == 90500 {
            u64::from(node.lds_size())
        } else {
            0x10000
        };
        let data = align(cus * (vgpr_bytes(gfx) + sgpr + lds + hwreg));

        let per_wave = if gfx >= 100100 { 12 } else { 8 };
        let mut stack = align(HEADER + waves * per_wave + 8);
        if gfx / 10000 == 10 {
            stack = stack.min(0x7000);
        }
        let debug = (waves * 32).next_multiple_of(64);

        let published = |key, computed| match node.property(key) {
            0 => computed,
            value => value,
        };
        let stack = published("ctl_stack_size", stack);
        let size = published("cwsr_size", align(stack + data));
        let total = align((size + debug) * xccs);
        Ok(Self {
            control_stack: stack as u32,
            size: size as u32,
            debug: debug as u32,
            total: total as usize,
        })
    }
}

impl SaveArea {
    /// Allocates the area: in device memory, if that is wanted and there is room.
    pub(crate) fn allocate(&self, gpu: &Gpu, in_vram: bool) -> Result<Bo> {
        let (link, node) = (gpu.link(), gpu.node());
        let in_vram = in_vram && node.large_bar();
        let save = match in_vram.then(|| Bo::new(link, self.total, flags::VRAM)) {
            Some(Ok(bo)) => bo,
            _ => Bo::new(link, self.total, flags::GTT)?,
        };
        self.write_headers(&save, node.xccs())?;
        Ok(save)
    }

    /// Writes the headers, in which a debugger finds its part of the area.
    fn write_headers(&self, bo: &Bo, xccs: u32) -> Result<()> {
        for xcc in 0..xccs {
            let base = xcc as usize * self.size as usize;
            let debug_offset = (xccs - xcc) * self.size + xcc * self.debug;
            let mut header = [0; HEADER as usize];
            let fields = [(16, debug_offset), (20, self.debug)];
            for (offset, value) in fields {
                header[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
            }
            bo.host()?
                .write(base, &header)
                .ok_or(Error::NotHostVisible)?;
        }
        Ok(())
    }
}

fn align(bytes: u64) -> u64 {
    bytes.next_multiple_of(PAGE as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gfx942_with_four_dies() {
        // 80 CUs on 4 dies, 4 engines of one array on each: 20 CUs, 800 waves a die.
        let node = Node::of_properties(&[
            ("gfx_target_version", 90402),
            ("simd_count", 320),
            ("simd_per_cu", 4),
            ("num_xcc", 4),
            ("array_count", 16),
            ("simd_arrays_per_engine", 1),
        ]);
        let area = SaveArea::of(&node).unwrap();
        assert_eq!(area.control_stack, 0x2000); // 40 + 800*8 + 8 = 6448
        assert_eq!(area.size, 0x2000 + 20 * 0x95000);
        assert_eq!(area.debug, 800 * 32);
        let total = (u64::from(area.size + area.debug) * 4).next_multiple_of(4096);
        assert_eq!(area.total as u64, total);
    }

    #[test]
    fn published_sizes_win() {
        let node = Node::of_properties(&[
            ("gfx_target_version", 120001),
            ("simd_count", 128),
            ("simd_per_cu", 2),
            ("ctl_stack_size", 0x7000),
            ("cwsr_size", 0x1d4a000),
        ]);
        let area = SaveArea::of(&node).unwrap();
        assert_eq!((area.control_stack, area.size), (0x7000, 0x1d4a000));
        assert_eq!(area.debug, 64 * 32 * 32);
    }

    #[test]
    fn a_node_without_compute_units_is_an_error() {
        assert!(SaveArea::of(&Node::of_properties(&[("gfx_target_version", 90402)])).is_err());
    }
}
