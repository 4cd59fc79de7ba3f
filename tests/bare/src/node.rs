// SPDX-License-Identifier: MIT OR Apache-2.0
//! The GPU's properties, read from the topology.

use std::collections::HashMap;
use std::fs;

/// Where the topology shows its nodes.
pub const NODES: &str = "/sys/devices/virtual/kfd/kfd/topology/nodes";

/// The first GPU of the topology.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its id.
    pub gpu: u32,
    /// Its render node.
    pub render: String,
    /// Number of nodes, CPUs included.
    pub nodes: u32,
    /// Whether the CPU can map all VRAM.
    pub large_bar: bool,
    /// Size of one XCC's control stack.
    pub ctl_stack: u32,
    /// Size of one XCC's save area.
    pub cwsr: u32,
    /// Size of all XCCs' save areas, with the debugger's part.
    pub cwsr_total: u64,
    /// `capability`, the `HSA_CAP_` bits.
    pub capability: u64,
    /// Queues that a process may have on it.
    pub max_queues: u32,
    /// Its instruction set, as the topology numbers it.
    pub gfx: u64,
    /// Number of XCCs.
    pub xccs: u64,
    /// Number of active compute units.
    pub compute_units: u64,
    /// Lanes of a wave.
    pub wave_size: u64,
    /// Its slot, as PCI writes it: `0000:00:05.0`.
    pub slot: String,
    /// Global wave sync resources.
    pub gws: u32,
    /// Copy engines for the bus.
    pub sdma_engines: u32,
    /// Copy engines for links.
    pub sdma_link_engines: u32,
    /// Queues of each copy engine.
    pub sdma_queues: u32,
}

/// The numbers in a file of lines `NAME NUMBER`.
pub fn properties(path: &str) -> Result<HashMap<String, u64>, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let pair = |line: &str| {
        let (key, value) = line.split_once(' ')?;
        Some((key.to_owned(), value.trim().parse().ok()?))
    };
    Ok(text.lines().filter_map(pair).collect())
}

impl Node {
    /// Whether the GPU is a gfx942 or a gfx950.
    pub fn gfx942(&self) -> bool {
        matches!(self.gfx, 90_402 | 90_500)
    }

    /// Reads the topology.
    pub fn find() -> Result<Self, String> {
        let names = fs::read_dir(NODES).map_err(|e| format!("{NODES}: {e}"))?;
        let nodes = names.count() as u32;
        for index in 0..nodes {
            let dir = format!("{NODES}/{index}");
            let id = fs::read_to_string(format!("{dir}/gpu_id")).unwrap_or_default();
            let gpu: u32 = id.trim().parse().unwrap_or(0);
            if gpu != 0 {
                return Self::read(&dir, gpu, nodes);
            }
        }
        Err(format!("{NODES}: no GPU"))
    }

    fn read(dir: &str, gpu: u32, nodes: u32) -> Result<Self, String> {
        let all = properties(&format!("{dir}/properties"))?;
        let p = |key: &str| all.get(key).copied().unwrap_or(0);
        let gfx = p("gfx_target_version");
        let xccs = p("num_xcc").max(1);
        // The debugger's part is not published: `kfd_queue_ctx_save_restore_size`.
        let cus = p("simd_count") / p("simd_per_cu").max(1) / xccs;
        let waves = if gfx < 100_100 {
            let engines = p("array_count") / xccs / p("simd_arrays_per_engine").max(1);
            (cus * 40).min(engines.max(1) * 512)
        } else {
            cus * 32
        };
        let debug = (waves * 32).next_multiple_of(64);
        let large_bar = (0..p("mem_banks_count")).all(|bank| {
            properties(&format!("{dir}/mem_banks/{bank}/properties"))
                .is_ok_and(|bank| bank.get("heap_type") != Some(&2))
        });
        Ok(Self {
            gpu,
            render: format!("/dev/dri/renderD{}", p("drm_render_minor")),
            nodes,
            large_bar,
            ctl_stack: p("ctl_stack_size") as u32,
            cwsr: p("cwsr_size") as u32,
            capability: p("capability"),
            cwsr_total: ((p("cwsr_size") + debug) * xccs).next_multiple_of(4096),
            // gfx942 and gfx950 have 255, every other 127 (kfd_process_queue_manager.c:340-349).
            max_queues: if matches!(gfx, 90_402 | 90_500) {
                255
            } else {
                127
            },
            gfx,
            xccs,
            compute_units: p("simd_count") / p("simd_per_cu").max(1),
            wave_size: p("wave_front_size"),
            slot: format!(
                "{:04x}:{:02x}:{:02x}.{}",
                p("domain"),
                p("location_id") >> 8,
                (p("location_id") >> 3) & 0x1f,
                p("location_id") & 7
            ),
            gws: p("num_gws") as u32,
            sdma_engines: p("num_sdma_engines") as u32,
            sdma_link_engines: p("num_sdma_xgmi_engines") as u32,
            sdma_queues: p("num_sdma_queues_per_engine") as u32,
        })
    }
}
