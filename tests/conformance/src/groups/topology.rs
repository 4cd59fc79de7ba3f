// SPDX-License-Identifier: MIT OR Apache-2.0
//! The topology in sysfs: which files there are, what they contain and in which order. Expectations
//! come from Linux's tables, and from the files that sysfs has for the PCI device and the machine.

use super::*;
use crate::row::{row, Answer, Row};
use rkfd_bare::node::{properties, NODES};
use rkfd_uapi::topology::{CAP_DEBUG_FIRMWARE, CAP_SVM_API, CAP_TRAP_DEBUG_SUPPORT};

/// `node_show`: the properties of every node, and those that follow for a GPU.
const NODE: &str = "cpu_cores_count simd_count mem_banks_count caches_count io_links_count \
    p2p_links_count cpu_core_id_base simd_id_base max_waves_per_simd lds_size_in_kb gds_size_in_kb \
    num_gws wave_front_size array_count simd_arrays_per_engine cu_per_simd_array simd_per_cu \
    max_slots_scratch_cu gfx_target_version vendor_id device_id location_id domain \
    drm_render_minor hive_id num_sdma_engines num_sdma_xgmi_engines num_sdma_queues_per_engine \
    num_cp_queues cwsr_size ctl_stack_size";
const GPU: &str = "max_engine_clk_fcompute local_mem_size fw_version capability capability2 \
    debug_prop sdma_fw_version unique_id num_xcc";
const LAST: &str = "max_engine_clk_ccompute";
/// `mem_show`, `kfd_cache_show`, `iolink_show`.
const MEMORY: &str = "heap_type size_in_bytes flags width mem_clk_max";
const CACHE: &str = "processor_id_low level size cache_line_size cache_lines_per_tag association \
    latency type sibling_map";
const LINK: &str = "type version_major version_minor node_from node_to weight min_latency \
    max_latency min_bandwidth max_bandwidth recommended_transfer_size \
    recommended_sdma_engine_id_mask flags";
const SYSTEM: &str = "platform_oem platform_id platform_rev";
/// CRAT_CACHE_FLAGS: data or instructions, and of SIMDs.
const DATA: u64 = 1 | 8;
const CODE: u64 = 2 | 8;

fn text(path: &str) -> Result<String, String> {
    let path = format!("{NODES}/{path}");
    std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))
}

/// The file's lines begin with these words, and there are no others.
fn names(path: &str, wanted: &[&str]) -> Answer {
    let text = text(path)?;
    let got = text.lines().filter_map(|line| line.split(' ').next());
    let wanted = wanted.iter().flat_map(|list| list.split_whitespace());
    Ok(holds(got.eq(wanted)))
}

/// A number from a file of a node.
fn number(file: &str, key: &str) -> Result<u64, String> {
    let all = properties(&format!("{NODES}/{file}"))?;
    all.get(key).copied().ok_or(format!("{file}: no {key}"))
}

/// A property of node 1, the GPU.
fn gpu(key: &str) -> Result<u64, String> {
    number("1/properties", key)
}

fn value(file: &str, key: &str) -> Answer {
    Ok(Got::Value(number(file, key)?))
}

/// Compares a property of the GPU with the number in a file of the PCI device at the node's slot.
fn as_pci(c: &Ctx, key: &str, file: &str) -> Answer {
    let path = format!("/sys/bus/pci/devices/{}/{file}", c.node.slot);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    let digits = text.trim().trim_start_matches("0x");
    let want = u64::from_str_radix(digits, 16).map_err(|e| format!("{path}: {e}"))?;
    Ok(Got::Pair(gpu(key)?, want))
}

/// Compares a count with the number of a folder's entries.
fn counted(node: u32, key: &str, folder: &str) -> Answer {
    let path = format!("{NODES}/{node}/{folder}");
    let entries = std::fs::read_dir(&path).map_err(|e| format!("{path}: {e}"))?;
    let count = number(&format!("{node}/properties"), key)?;
    Ok(Got::Pair(count, entries.count() as u64))
}

/// How many of the GPU's caches are of this level and type, and the sum of their sizes.
fn caches(level: u64, kind: u64) -> Result<(u64, u64), String> {
    let (mut count, mut size) = (0, 0);
    for index in 0..gpu("caches_count")? {
        let file = format!("1/caches/{index}/properties");
        if number(&file, "level")? == level && number(&file, "type")? == kind {
            count += 1;
            size += number(&file, "size")?;
        }
    }
    Ok((count, size))
}

/// The sibling maps of all caches.
fn sibling_maps() -> Result<Vec<String>, String> {
    let map = |index| {
        let text = text(&format!("1/caches/{index}/properties"))?;
        let map = text
            .lines()
            .find_map(|line| line.strip_prefix("sibling_map "));
        Ok(map.unwrap_or_default().to_owned())
    };
    (0..gpu("caches_count")?).map(map).collect()
}

/// How many different processors have a vector cache, which no other shares.
fn vector_processors() -> Result<u64, String> {
    let mut all = std::collections::HashSet::new();
    for (index, map) in sibling_maps()?.iter().enumerate() {
        let file = format!("1/caches/{index}/properties");
        if number(&file, "level")? == 1
            && number(&file, "type")? == DATA
            && map.matches('1').count() == 1
        {
            all.insert(number(&file, "processor_id_low")?);
        }
    }
    Ok(all.len() as u64)
}

/// One of two values, chosen by the generation.
fn by_chip(c: &Ctx, got: u64, gfx942: u64, gfx1201: u64) -> Answer {
    let want = if c.node.gfx942() { gfx942 } else { gfx1201 };
    Ok(Got::Pair(got, want))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const T: &str = "topology";
    const C: &str = "topology: processors";
    const G: &str = "topology: GPU";
    const L: &str = "topology: links";
    const A: &str = "topology: caches";
    vec![
        row(T, "generation_id is a number, and stays", YES, "kfd_topology.c: sysprops_show", |_| { let a = text("../generation_id")?; Ok(holds(a.trim().parse::<u32>().is_ok() && a == text("../generation_id")?)) }).open(),
        row(T, "system_properties: names", YES, "kfd_topology.c: sysprops_show", |_| names("../system_properties", &[SYSTEM])).open(),
        row(T, "nodes: processors and the GPU", is(2), "kfd_topology.c: kfd_build_sysfs_node_tree", |c| Ok(Got::Value(c.node.nodes.into()))).open(),
        row(T, "/sys/class/kfd/kfd is the same folder", YES, "kfd_chardev.c: kfd_chardev_init", |_| { let same = |p: &str| std::fs::canonicalize(p).ok(); Ok(holds(same("/sys/class/kfd/kfd/topology/nodes") == same(NODES) && same(NODES).is_some())) }).open(),
        row(C, "properties: names", YES, "kfd_topology.c: node_show", |_| names("0/properties", &[NODE, LAST])).open(),
        row(C, "gpu_id", YES, "kfd_topology.c: node_show", |_| Ok(holds(text("0/gpu_id")? == "0\n"))).open(),
        row(C, "cpu_cores_count is how many there are", Want::Computed, "kfd_crat.c: kfd_fill_cu_for_cpu", |_| Ok(Got::Pair(number("0/properties", "cpu_cores_count")?, std::thread::available_parallelism().map_err(|e| e.to_string())?.get() as u64))).open(),
        row(C, "simd_count", is(0), "kfd_topology.c: node_show", |_| value("0/properties", "simd_count")).open(),
        row(C, "mem_banks_count", Want::Computed, "kfd_crat.c: kfd_parse_subtype_mem", |_| counted(0, "mem_banks_count", "mem_banks")).open(),
        row(C, "io_links_count", Want::Computed, "kfd_crat.c: kfd_parse_subtype_iolink", |_| counted(0, "io_links_count", "io_links")).open(),
        row(C, "memory: names", YES, "kfd_topology.c: mem_show", |_| names("0/mem_banks/0/properties", &[MEMORY])).open(),
        row(C, "memory: system", is(0), "kfd_crat.h: HSA_MEM_HEAP_TYPE_SYSTEM", |_| value("0/mem_banks/0/properties", "heap_type")).open(),
        row(C, "memory: size is the machine's", Want::Computed, "kfd_crat.c: kfd_fill_mem_info_for_cpu", |_| {
            let text = std::fs::read_to_string("/proc/meminfo").map_err(|e| e.to_string())?;
            let kib: u64 = text.split_whitespace().nth(1).and_then(|n| n.parse().ok()).ok_or("no MemTotal")?;
            Ok(Got::Pair(number("0/mem_banks/0/properties", "size_in_bytes")?, kib << 10))
        }).open(),
        row(G, "properties: names", YES, "kfd_topology.c: node_show", |_| names("1/properties", &[NODE, GPU, LAST])).open(),
        row(G, "name", YES, "../amdgpu/amdgpu_device.c: amdgpu_asic_name", |_| Ok(holds(text("1/name")? == "ip discovery\n"))).open(),
        row(G, "gfx_target_version", Want::Computed, "kfd_device.c: kgd2kfd_probe", |c| by_chip(c, gpu("gfx_target_version")?, 90_402, 120_001)).open(),
        row(G, "vendor_id is PCI's", Want::Computed, "kfd_topology.c: kfd_topology_add_device", |c| as_pci(c, "vendor_id", "vendor")).open(),
        row(G, "device_id is PCI's", Want::Computed, "kfd_topology.c: kfd_topology_add_device", |c| as_pci(c, "device_id", "device")).open(),
        row(G, "drm_render_minor is that of a render node", YES, "kfd_topology.c: kfd_topology_add_device", |_| { let minor = gpu("drm_render_minor")?; Ok(holds((128..256).contains(&minor) && std::path::Path::new(&format!("/dev/dri/renderD{minor}")).exists())) }).open(),
        row(G, "simd_per_cu", Want::Computed, "../amdgpu/gfx_v9_4_3.c, gfx_v12_0.c: NUM_SIMD_PER_CU", |c| by_chip(c, gpu("simd_per_cu")?, 4, 2)).open(),
        row(G, "compute units that are on fit into the arrays", YES, "kfd_crat.c: kfd_create_vcrat_image_gpu", |c| Ok(holds(c.node.compute_units > 0 && c.node.compute_units <= gpu("array_count")? * gpu("cu_per_simd_array")?))).open(),
        row(G, "wave_front_size", Want::Computed, "kfd_crat.c: kfd_create_vcrat_image_gpu", |c| by_chip(c, gpu("wave_front_size")?, 64, 32)).open(),
        row(G, "lds_size_in_kb", is(64), "kfd_crat.c: kfd_create_vcrat_image_gpu", |_| value("1/properties", "lds_size_in_kb")).open(),
        row(G, "num_gws", is(64), "kfd_device.c: kfd_gws_init", |_| value("1/properties", "num_gws")).open(),
        row(G, "mem_banks_count", Want::Computed, "kfd_crat.c: kfd_parse_subtype_mem", |_| counted(1, "mem_banks_count", "mem_banks")).open(),
        row(G, "caches_count", Want::Computed, "kfd_topology.c: kfd_fill_cache_non_crat_info", |_| counted(1, "caches_count", "caches")).open(),
        row(G, "io_links_count", Want::Computed, "kfd_crat.c: kfd_parse_subtype_iolink", |_| counted(1, "io_links_count", "io_links")).open(),
        row(G, "p2p_links_count", Want::Computed, "kfd_topology.c: kfd_dev_create_p2p_links", |_| counted(1, "p2p_links_count", "p2p_links")).open(),
        row(G, "capability: doorbells of 64 bits", is(2), "kfd_topology.c: kfd_topology_set_capabilities", |_| Ok(Got::Value((gpu("capability")? >> 12) & 3))).open(),
        row(G, "capability: revision of the chip", Want::Computed, "kfd_topology.c: kfd_topology_add_device", |_| Ok(Got::Pair((gpu("capability")? >> 22) & 0xf, 1))).open(),
        row(G, "capability: error correction of SRAM, which every MI300 has", Want::Computed, "kfd_topology.c: kfd_topology_add_device", |c| by_chip(c, (gpu("capability")? >> 26) & 1, 1, 0)).open(),
        row(G, "capability: firmware by which a runtime hears of exceptions", YES, "kfd_topology.c: kfd_topology_set_dbg_firmware_support", |_| Ok(holds(gpu("capability")? & u64::from(CAP_DEBUG_FIRMWARE) != 0))).open(),
        row(G, "capability: debuggers attach", YES, "kfd_topology.c: kfd_topology_set_capabilities", |_| Ok(holds(gpu("capability")? & u64::from(CAP_TRAP_DEBUG_SUPPORT) != 0))).open(),
        row(G, "capability: no SVM, which is refused", is(0), "kfd_topology.h: HSA_CAP_", |_| Ok(Got::Value(gpu("capability")? & u64::from(CAP_SVM_API)))).open(),
        row(G, "memory: names", YES, "kfd_topology.c: mem_show", |_| names("1/mem_banks/0/properties", &[MEMORY])).open(),
        row(G, "memory: public, as BAR 0 shows all of it", is(1), "kfd_crat.c: kfd_create_vcrat_image_gpu", |_| value("1/mem_banks/0/properties", "heap_type")).open(),
        row(G, "memory: size fills BAR 0, a power of two", Want::Computed, "kfd_crat.c: kfd_create_vcrat_image_gpu", |c| {
            let path = format!("/sys/bus/pci/devices/{}/resource0", c.node.slot);
            let bar = std::fs::metadata(&path).map_err(|e| format!("{path}: {e}"))?.len();
            Ok(Got::Pair(number("1/mem_banks/0/properties", "size_in_bytes")?.next_power_of_two(), bar))
        }).open(),
        row(L, "names", YES, "kfd_topology.c: iolink_show", |_| names("1/io_links/0/properties", &[LINK])).open(),
        row(L, "from the GPU to the processors", YES, "kfd_crat.c: kfd_fill_gpu_direct_io_link_to_cpu", |_| Ok(holds(number("1/io_links/0/properties", "node_from")? == 1 && number("1/io_links/0/properties", "node_to")? == 0))).open(),
        row(L, "back, as BAR 0 shows all of VRAM", YES, "kfd_crat.c: kfd_parse_subtype_iolink", |_| Ok(holds(number("0/io_links/0/properties", "node_from")? == 0 && number("0/io_links/0/properties", "node_to")? == 1))).open(),
        row(L, "PCI Express", is(2), "kfd_crat.h: CRAT_IOLINK_TYPE_PCIEXPRESS", |_| value("1/io_links/0/properties", "type")).open(),
        row(L, "weight", is(20), "kfd_crat.h: KFD_CRAT_IO_LINK_WEIGHT", |_| value("1/io_links/0/properties", "weight")).open(),
        row(L, "the engines that should copy are all of those for the bus", Want::Computed, "kfd_topology.c: kfd_set_recommended_sdma_engines", |c| Ok(Got::Pair(number("1/io_links/0/properties", "recommended_sdma_engine_id_mask")?, (1 << c.node.sdma_engines) - 1))).open(),
        row(A, "names", YES, "kfd_topology.c: kfd_cache_show", |_| names("1/caches/0/properties", &[CACHE])).open(),
        row(A, "a vector cache for each compute unit that is on", Want::Computed, "kfd_topology.c: fill_in_l1_pcache", |c| Ok(Got::Pair(caches(1, DATA)?.0.wrapping_sub(caches(1, CODE)?.0), c.node.compute_units))).open(),
        row(A, "an instruction cache for two compute units, those of an array", Want::Computed, "kfd_topology.c: fill_in_l1_pcache", |c| {
            // Each pair has one of which a unit is on. The XCCs have the same ones.
            let pairs = |array: &u32| (0..16).filter(|n| (array >> (2 * n)) & 3 != 0).count() as u64;
            Ok(Got::Pair(caches(1, CODE)?.0, super::drm::cu_bitmap(c)?.iter().map(pairs).sum::<u64>() * c.node.xccs))
        }),
        row(A, "sibling_map: bits with commas between", YES, "kfd_topology.c: kfd_cache_show", |_| Ok(holds(sibling_maps()?.iter().all(|map| !map.is_empty() && map.split(',').all(|bit| ["0", "1"].contains(&bit)))))).open(),
        row(A, "sibling_map: a vector cache has the one at its beginning", YES, "kfd_topology.c: fill_in_l1_pcache", |_| { let map = text("1/caches/0/properties")?; let map = map.lines().find_map(|line| line.strip_prefix("sibling_map ")).unwrap_or_default().to_owned(); Ok(holds(map.starts_with("1,0,") && map.matches('1').count() == 1)) }).open(),
        row(A, "processor_id_low: each vector cache has its own", Want::Computed, "kfd_topology.c: fill_in_l1_pcache", |c| Ok(Got::Pair(vector_processors()?, c.node.compute_units))).open(),
        row(A, "one of level 2", is(1), "kfd_topology.c: fill_in_l2_l3_pcache", |_| Ok(Got::Value(caches(2, DATA)?.0))).open(),
        row(A, "lines of the vector cache", is(128), "kfd_crat.c: kfd_fill_gpu_cache_info_from_gfx_config", |_| value("1/caches/0/properties", "cache_line_size")).open(),
    ]
}
