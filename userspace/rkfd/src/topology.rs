// SPDX-License-Identifier: MIT OR Apache-2.0

//! The topology that the driver publishes in sysfs: which nodes there are and what they are.
//!
//! Every node is a folder of files of `key value` lines. Keys that are missing read as 0, as older
//! drivers lack some; what can't be done without is an error where it is needed.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Where the driver publishes it.
pub const ROOT: &str = "/sys/devices/virtual/kfd/kfd/topology";

/// Largest number of nodes looked at.
const MAX_NODES: usize = 1024;

/// A kind of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Heap {
    /// System memory.
    System,
    /// Device memory that the CPU can map.
    Visible,
    /// Device memory that only the GPU sees.
    Private,
    /// Memory of a compute unit's work-groups.
    Lds,
    /// Memory of work-items.
    Scratch,
    /// Another kind, by the driver's number.
    Other(u64),
}

impl Heap {
    /// The kind of a driver's number (`HSA_MEM_HEAP_TYPE_`).
    fn of_number(number: u64) -> Self {
        match number {
            0 => Self::System,
            1 => Self::Visible,
            2 => Self::Private,
            4 => Self::Lds,
            5 => Self::Scratch,
            other => Self::Other(other),
        }
    }
}

/// A bank of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MemoryBank {
    /// Its kind.
    pub heap: Heap,
    /// Bytes.
    pub size: u64,
}

/// A node of the topology: a CPU or a GPU, and what the driver publishes of it.
///
/// ```no_run
/// for node in rkfd::Gpu::nodes()? {
///     println!("{}: {} compute units, {} bytes", node.name, node.compute_units(), node.vram_size());
/// }
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Node {
    /// Its number, which is also its folder's name.
    pub index: usize,
    /// The GPU's id, 0 for a CPU.
    pub gpu_id: u32,
    /// A name, which may be empty.
    pub name: String,
    /// Its memory.
    pub memory: Vec<MemoryBank>,
    path: PathBuf,
    properties: HashMap<String, u64>,
}

/// `key value` lines. Lines that aren't of that form are passed over.
fn parse_properties(text: &str) -> HashMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let (key, value) = line.split_once(' ')?;
            Some((key.to_owned(), value.trim().parse().ok()?))
        })
        .collect()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| Error::Topology {
        path: path.to_path_buf(),
        what: e.to_string(),
    })
}

impl Node {
    fn load(root: &Path, index: usize) -> Result<Option<Self>> {
        let path = root.join("nodes").join(index.to_string());
        if !path.is_dir() {
            return Ok(None);
        }
        let file = path.join("gpu_id");
        let text = read(&file)?;
        let gpu_id = text.trim().parse().map_err(|_| Error::Topology {
            path: file,
            what: format!("not a number: {:?}", text.trim()),
        })?;
        let properties = parse_properties(&read(&path.join("properties"))?);
        let banks = properties
            .get("mem_banks_count")
            .copied()
            .unwrap_or(0)
            .min(64);
        let memory = (0..banks)
            .filter_map(|bank| {
                let file = path
                    .join("mem_banks")
                    .join(bank.to_string())
                    .join("properties");
                let bank = parse_properties(&fs::read_to_string(file).ok()?);
                Some(MemoryBank {
                    heap: Heap::of_number(*bank.get("heap_type")?),
                    size: *bank.get("size_in_bytes")?,
                })
            })
            .collect();
        let name = fs::read_to_string(path.join("name"))
            .unwrap_or_default()
            .trim()
            .to_owned();
        Ok(Some(Self {
            index,
            gpu_id,
            name,
            memory,
            path,
            properties,
        }))
    }

    /// A node as a driver would publish it, for tests.
    #[cfg(any(test, feature = "fake"))]
    pub(crate) fn of_properties(properties: &[(&str, u64)]) -> Self {
        let properties = properties.iter();
        Self {
            index: 1,
            gpu_id: 0x1234,
            name: "test".into(),
            memory: vec![MemoryBank {
                heap: Heap::Visible,
                size: 1 << 30,
            }],
            path: PathBuf::from("nodes/1"),
            properties: properties.map(|(k, v)| ((*k).to_owned(), *v)).collect(),
        }
    }

    /// Whether it is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.gpu_id != 0
    }

    /// A property, 0 when the driver does not have it.
    pub fn property(&self, key: &str) -> u64 {
        self.properties.get(key).copied().unwrap_or(0)
    }

    /// A property that must not be missing or 0.
    ///
    /// # Errors
    ///
    /// [`Error::Topology`] when it is.
    pub fn required(&self, key: &str) -> Result<u64> {
        match self.property(key) {
            0 => Err(Error::Topology {
                path: self.path.join("properties"),
                what: format!("`{key}` is missing or 0; the driver is too old or not a KFD"),
            }),
            value => Ok(value),
        }
    }

    /// The GPU's instruction set: 90402 is gfx942.
    pub fn gfx_target_version(&self) -> u32 {
        self.property("gfx_target_version") as u32
    }

    /// Compute dies that work as one GPU, at least 1.
    pub fn xccs(&self) -> u32 {
        (self.property("num_xcc") as u32).max(1)
    }

    /// Compute units, over all dies.
    pub fn compute_units(&self) -> u32 {
        (self.property("simd_count") / self.property("simd_per_cu").max(1)) as u32
    }

    /// Bytes of LDS of a compute unit.
    pub fn lds_size(&self) -> u32 {
        match self.property("lds_size_in_kb") {
            0 => 64 << 10,
            kib => (kib.min(1 << 20) << 10) as u32,
        }
    }

    /// Bytes of device memory.
    pub fn vram_size(&self) -> u64 {
        let vram = self
            .memory
            .iter()
            .filter(|bank| matches!(bank.heap, Heap::Visible | Heap::Private));
        vram.fold(0u64, |sum, bank| sum.saturating_add(bank.size))
    }

    /// Whether the CPU can map the device memory.
    pub fn large_bar(&self) -> bool {
        self.memory.iter().any(|bank| bank.heap == Heap::Visible)
    }

    /// The render node's file.
    ///
    /// # Errors
    ///
    /// [`Error::Topology`] when the driver publishes none.
    pub fn render_node(&self) -> Result<PathBuf> {
        let minor = self.required("drm_render_minor")?;
        Ok(PathBuf::from(format!("/dev/dri/renderD{minor}")))
    }
}

/// Reads all nodes below `root`, in order.
///
/// # Errors
///
/// [`Error::Topology`] when there are none, or a node can't be read.
pub fn nodes(root: &Path) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    while nodes.len() < MAX_NODES {
        match Node::load(root, nodes.len())? {
            Some(node) => nodes.push(node),
            None => break,
        }
    }
    if nodes.is_empty() {
        return Err(Error::Topology {
            path: root.to_path_buf(),
            what: "no nodes: no KFD driver is loaded".into(),
        });
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn nodes_are_read_in_order_with_their_memory() {
        let dir = tree(&[
            ("nodes/0/gpu_id", "0\n"),
            ("nodes/0/properties", "cpu_cores_count 2\n"),
            ("nodes/1/gpu_id", "51966\n"),
            ("nodes/1/name", "ip discovery\n"),
            (
                "nodes/1/properties",
                "simd_count 320\nsimd_per_cu 4\nmem_banks_count 1\nodd\nx y\n",
            ),
            (
                "nodes/1/mem_banks/0/properties",
                "heap_type 1\nsize_in_bytes 1073741824\n",
            ),
        ]);
        let nodes = nodes(dir.path()).unwrap();
        assert_eq!(nodes.len(), 2);
        assert!(!nodes[0].is_gpu() && nodes[1].is_gpu());
        assert_eq!(nodes[1].gpu_id, 51966);
        assert_eq!(nodes[1].compute_units(), 80);
        assert_eq!(nodes[1].vram_size(), 1 << 30);
        assert!(nodes[1].large_bar());
        let missing = nodes[1].render_node().unwrap_err().to_string();
        assert!(missing.contains("drm_render_minor"), "{missing}");
    }

    #[test]
    fn a_missing_tree_and_a_damaged_id_are_errors() {
        let dir = tree(&[]);
        assert!(matches!(nodes(dir.path()), Err(Error::Topology { .. })));
        let dir = tree(&[("nodes/0/gpu_id", "x"), ("nodes/0/properties", "")]);
        assert!(matches!(nodes(dir.path()), Err(Error::Topology { .. })));
    }
}
