// SPDX-License-Identifier: GPL-2.0

//! The topology in sysfs, below the `kfd` device: which processors and GPUs there are, what they
//! have, and how they are linked. Programs read it before anything else.
//!
//! Node 0 is the machine's processors and memory, the others are the GPUs in the order they came.
//! The nodes are made anew whenever a GPU comes or goes, and `generation_id` grows.
//!
//! Names, order and values are upstream's (Linux, `amdkfd/kfd_topology.c`, `kfd_crat.c`), but for
//! capabilities: only those that work are listed.
//!
//! Lock order: the tree's mutex is a leaf.

use crate::{
    glue::{
        chrdev::Node,
        kobject::{
            Dir,
            Empty,
            File,
            Show,
            Text, //
        }, //
    },
    gpu::Gpu, //
};
use core::fmt::Write;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

mod caches;
mod links;
mod node;
mod permitted;

pub(crate) use node::{
    array_count,
    capability,
    debug_prop,
    CAPABILITY2, //
};

/// A GPU, and the minor of its render node.
pub(crate) struct Member {
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) minor: u32,
}

/// `/sys/devices/virtual/kfd/kfd/topology`.
struct Tree {
    // Children first: they are removed before what they are in.
    nodes: KVec<node::NodeDir>,
    gpus: KVec<Member>,
    generation: Arc<Generation>,
    nodes_dir: Dir,
    _root: Dir,
}

/// Grows with every change.
struct Generation(Atomic<i32>);

/// The files of the root.
struct Root(Arc<Generation>);

static ROOT_FILES: [File; 2] = [File::new(c"generation_id"), File::new(c"system_properties")];

impl Show for Root {
    fn files() -> &'static [File] {
        &ROOT_FILES
    }

    fn show(&self, file: usize, out: &mut Text<'_>) -> Result {
        match file {
            0 => writeln!(out, "{}", self.0 .0.load(Relaxed)).map_err(|_| EINVAL),
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
#[pin_data]
pub(crate) struct Topology {
    #[pin]
    tree: Mutex<Tree>,
}

impl Topology {
    /// Makes it, below the device.
    pub(crate) fn new(kfd: &Node) -> Result<impl PinInit<Self>> {
        let generation = Arc::new(Generation(Atomic::new(0)), GFP_KERNEL)?;
        let root = Dir::of_node(kfd, c"topology", Root(generation.clone()))?;
        let nodes_dir = root.subdir(c"nodes", Empty)?;
        let mut tree = Tree {
            nodes: KVec::new(),
            gpus: KVec::new(),
            generation,
            nodes_dir,
            _root: root,
        };
        tree.rebuild()?;
        Ok(pin_init!(Self { tree <- new_mutex!(tree, "rkfd topology") }))
    }

    /// Adds the node of a GPU.
    pub(crate) fn add(&self, gpu: &Arc<Gpu>, minor: u32) -> Result {
        let mut tree = self.tree.lock();
        let gpu = gpu.clone();
        tree.gpus.push(Member { gpu, minor }, GFP_KERNEL)?;
        tree.rebuild().inspect_err(|_| {
            tree.gpus.pop();
            // What was there before can be had again, unless memory is short; then no node is left.
            let _ = tree.rebuild();
        })
    }

    /// Removes the node of a GPU.
    pub(crate) fn remove(&self, gpu: &Gpu) {
        let mut tree = self.tree.lock();
        tree.gpus.retain(|member| member.gpu.id() != gpu.id());
        if let Err(e) = tree.rebuild() {
            pr_err!("cannot rebuild the topology: {e:?}\n");
        }
    }
}

impl Tree {
    fn rebuild(&mut self) -> Result {
        self.nodes.clear();
        let cpu = node::NodeDir::cpu(&self.nodes_dir, &self.gpus)?;
        self.nodes.push(cpu, GFP_KERNEL)?;
        for (index, member) in self.gpus.iter().enumerate() {
            let number = u32::try_from(index.saturating_add(1)).map_err(|_| EINVAL)?;
            let first_simd = links::first_simd_id(&self.gpus, index);
            let node = node::NodeDir::gpu(&self.nodes_dir, member, number, first_simd)?;
            self.nodes.push(node, GFP_KERNEL)?;
        }
        self.generation.0.fetch_add(1, Relaxed);
        Ok(())
    }
}
