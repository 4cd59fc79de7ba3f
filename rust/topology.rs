// SPDX-License-Identifier: GPL-2.0

//! The topology in sysfs, below the `kfd` device: which processors and GPUs there are, what they
//! have, and how they are linked. Programs read it before anything else.
//!
//! Node 0 is the machine's processors and memory, the others are the GPUs in the order they came.
//! The nodes are made anew whenever a GPU comes or goes, and `generation_id` grows.
//!
//! Names, order and values are upstream's (Linux, `amdkfd/kfd_topology.c`, `kfd_crat.c`), but for
//! capabilities: only those are told that work.
//!
//! Lock order: topology is a leaf but for the render nodes.

use crate::{
    glue::{
        chrdev::Node,
        kobject::{
            Dir,
            Empty,
            File,
            Show,
            Text, //
        },
    },
    gpu::Gpu,
};
use core::fmt::Write;
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
    },
};

mod caches;
mod links;
mod node;

/// `/sys/devices/virtual/kfd/kfd/topology`.
struct Topology {
    // Children first: they are removed before what they are in.
    nodes: KVec<node::NodeDir>,
    gpus: KVec<Arc<Gpu>>,
    nodes_dir: Dir,
    _root: Dir,
}

kernel::sync::global_lock! {
    // SAFETY: Initialised in `init`, which the module calls first.
    unsafe(uninit) static TOPOLOGY: Mutex<Option<Topology>> = None;
}

/// Grows with every change.
static GENERATION: Atomic<i32> = Atomic::new(0);
/// Nodes there are, the processors' included.
static NODES: Atomic<i32> = Atomic::new(0);

/// To be called once, by the module's init.
pub(crate) fn init() {
    // SAFETY: Called once.
    unsafe { TOPOLOGY.init() };
}

/// How many nodes there are.
pub(crate) fn nodes() -> usize {
    usize::try_from(NODES.load(Relaxed)).unwrap_or(0)
}

/// The files of the root.
struct Root;

static ROOT_FILES: [File; 2] = [File::new(c"generation_id"), File::new(c"system_properties")];

impl Show for Root {
    fn files() -> &'static [File] {
        &ROOT_FILES
    }

    fn show(&self, file: usize, out: &mut Text<'_>) -> Result {
        match file {
            0 => writeln!(out, "{}", GENERATION.load(Relaxed)).map_err(|_| EINVAL),
            _ => {
                for name in ["platform_oem", "platform_id", "platform_rev"] {
                    out.property(name, 0);
                }
                Ok(())
            }
        }
    }
}

/// The tree in sysfs; removed when dropped.
pub(crate) struct TopologyTree;

impl TopologyTree {
    /// Makes it, below the device.
    pub(crate) fn new(kfd: &Node) -> Result<Self> {
        let root = Dir::of_node(kfd, c"topology", Root)?;
        let nodes_dir = root.subdir(c"nodes", Empty)?;
        let mut topology = Topology {
            nodes: KVec::new(),
            gpus: KVec::new(),
            nodes_dir,
            _root: root,
        };
        topology.rebuild()?;
        *TOPOLOGY.lock() = Some(topology);
        Ok(Self)
    }
}

impl Drop for TopologyTree {
    fn drop(&mut self) {
        let topology = TOPOLOGY.lock().take();
        drop(topology);
    }
}

impl Topology {
    fn rebuild(&mut self) -> Result {
        self.nodes.clear();
        let cpu = node::NodeDir::cpu(&self.nodes_dir, &self.gpus)?;
        self.nodes.push(cpu, GFP_KERNEL)?;
        for (index, gpu) in self.gpus.iter().enumerate() {
            let number = u32::try_from(index + 1).map_err(|_| EINVAL)?;
            let first_simd = links::first_simd_id(&self.gpus, index);
            let node = node::NodeDir::gpu(&self.nodes_dir, gpu, number, first_simd)?;
            self.nodes.push(node, GFP_KERNEL)?;
        }
        NODES.store(i32::try_from(self.nodes.len()).unwrap_or(i32::MAX), Relaxed);
        GENERATION.fetch_add(1, Relaxed);
        Ok(())
    }
}

/// A GPU came.
pub(crate) fn add(gpu: &Arc<Gpu>) -> Result {
    let mut guard = TOPOLOGY.lock();
    let topology = guard.as_mut().ok_or(ENODEV)?;
    topology.gpus.push(gpu.clone(), GFP_KERNEL)?;
    topology.rebuild().inspect_err(|_| {
        topology.gpus.pop();
        // What was there before can be had again, unless memory is short; then no node is left.
        let _ = topology.rebuild();
    })
}

/// A GPU went.
pub(crate) fn remove(gpu: &Gpu) {
    let mut guard = TOPOLOGY.lock();
    if let Some(topology) = guard.as_mut() {
        topology.gpus.retain(|g| g.id() != gpu.id());
        if let Err(e) = topology.rebuild() {
            pr_err!("cannot rebuild the topology: {e:?}\n");
        }
    }
}
