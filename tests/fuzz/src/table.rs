// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests with their structures, from the tables of `uapi/`.

/// Numbers of requests of /dev/kfd, from 1; those of the render node are counted behind them.
const KFD: usize = 0x29;
/// Slots of all requests: a byte numbers those of the render node. Slot 0 is for what isn't a request.
pub const SLOTS: usize = KFD + 0x100;

use rkfd_uapi::abi::{FieldInfo, StructInfo};
use rkfd_uapi::ioctl::{self, IoctlInfo, IOCTLS};
use rkfd_uapi::{amdgpu, drm, gem, syncobj, STRUCTS};

/// A request and its argument's fields.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Name, number, command.
    pub info: &'static IoctlInfo,
    /// Fields of the argument; none for a request without one.
    pub fields: &'static [FieldInfo],
    /// Bytes of the argument.
    pub size: usize,
    /// Whose it is.
    pub node: Node,
}

/// The file to which a request goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// /dev/kfd.
    Kfd,
    /// The render node.
    Render,
}

impl Entry {
    fn new(node: Node, info: &'static IoctlInfo) -> Self {
        let argument = structure(info.argument);
        Self {
            info,
            fields: argument.map_or(&[], |a| a.fields),
            size: argument.map_or(0, |a| a.size),
            node,
        }
    }

    /// The number by which it is counted.
    pub fn slot(&self) -> usize {
        let number = usize::from(self.info.number);
        match self.node {
            Node::Kfd => number,
            Node::Render => KFD + number,
        }
    }

    /// The type byte of its command.
    pub fn kind(&self) -> u8 {
        match self.node {
            Node::Kfd => ioctl::TYPE,
            Node::Render => drm::TYPE,
        }
    }

    /// Whether it is about synchronisation objects.
    pub fn is_of_syncobj(&self) -> bool {
        self.info.argument.starts_with("Syncobj")
    }
}

fn structure(path: &str) -> Option<&'static StructInfo> {
    let name = path.rsplit("::").next()?;
    STRUCTS
        .iter()
        .flat_map(|file| file.iter())
        .find(|info| info.name == name)
}

/// All requests of /dev/kfd, by number.
pub fn kfd() -> Vec<Entry> {
    IOCTLS
        .iter()
        .map(|info| Entry::new(Node::Kfd, info))
        .collect()
}

/// All requests: those of /dev/kfd, then those of the render node.
pub fn all() -> Vec<Entry> {
    let render = [&amdgpu::INFO.info, &drm::VERSION.info, &drm::GET_CAP.info];
    let render = render.into_iter().chain(gem::ALL.iter().copied());
    let render = render.chain(syncobj::ALL.iter().copied());
    let mut all = kfd();
    all.extend(render.map(|info| Entry::new(Node::Render, info)));
    all
}

#[cfg(test)]
mod tests {
    use super::{Node, SLOTS};
    use rkfd_uapi::ioctl;

    #[test]
    fn requests_of_kfd_come_first_and_each_has_a_slot_of_its_own() {
        let all = super::all();
        for (number, entry) in (1..).zip(super::kfd()) {
            assert_eq!(entry.slot(), number);
            assert_eq!(
                (all[number - 1].slot(), all[number - 1].node),
                (number, Node::Kfd)
            );
        }
        let mut slots: Vec<usize> = all.iter().map(|entry| entry.slot()).collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), all.len());
        assert!(slots.iter().all(|slot| (1..SLOTS).contains(slot)));
    }

    #[test]
    fn every_request_with_an_argument_has_its_structure() {
        for request in super::all() {
            assert_eq!(
                ioctl::ioc_size(request.info.command),
                request.size,
                "{}",
                request.info.name
            );
        }
    }
}
