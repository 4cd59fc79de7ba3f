// SPDX-License-Identifier: GPL-2.0

//! `ip_discovery/` of the PCI device: what the GPU lists of itself, as folders `die/DIE/ID/INSTANCE`, in which each kind
//! of block has its hardware id for a name, and where Linux has a name for it a link of that name.
//!
//! Source: Linux, `amdgpu_discovery.c` (`amdgpu_discovery_sysfs_recurse`). There `harvest` is 0 of every block since the
//! folders are made before it is known; here it is 1 of compute dies that are fused off.

use crate::{
    discovery::Entry,
    glue::kobject::{
        Dir,
        Empty,
        File,
        Show,
        Text, //
    },
    gpu::Gpu,
    hw::discovery::names,
    types::IpVersion, //
};
use core::fmt::Write;
use kernel::{
    prelude::*,
    str::CString, //
};

/// A die.
struct Listed {
    blocks: u16,
}

static LISTED_FILES: [File; 1] = [File::new(c"num_ips")];

impl Show for Listed {
    fn files() -> &'static [File] {
        &LISTED_FILES
    }

    fn show(&self, _file: usize, out: &mut Text<'_>) -> Result {
        writeln!(out, "{}", self.blocks).map_err(|_| EINVAL)
    }
}

/// An instance of a kind of block.
struct Instance {
    hw_id: u16,
    number: u8,
    version: IpVersion,
    is_fused_off: bool,
    bases: KVec<u32>,
}

static INSTANCE_FILES: [File; 8] = [
    File::new(c"hw_id"),
    File::new(c"num_instance"),
    File::new(c"major"),
    File::new(c"minor"),
    File::new(c"revision"),
    File::new(c"harvest"),
    File::new(c"num_base_addresses"),
    File::new(c"base_addr"),
];

impl Show for Instance {
    fn files() -> &'static [File] {
        &INSTANCE_FILES
    }

    fn show(&self, file: usize, out: &mut Text<'_>) -> Result {
        let written = match file {
            0 => writeln!(out, "{}", self.hw_id),
            1 => writeln!(out, "{}", self.number),
            2 => writeln!(out, "{}", self.version.major),
            3 => writeln!(out, "{}", self.version.minor),
            4 => writeln!(out, "{}", self.version.revision),
            5 => writeln!(out, "{:#03X}", u8::from(self.is_fused_off)),
            6 => writeln!(out, "{}", self.bases.len()),
            _ => self
                .bases
                .iter()
                .try_for_each(|base| writeln!(out, "0x{base:08X}")),
        };
        written.map_err(|_| EINVAL)
    }
}

/// A folder of one kind of block. Here and below children come first, as they are removed first.
struct Kind {
    hw_id: u16,
    instances: KVec<(u8, Dir)>,
    folder: Dir,
}

struct Die {
    number: u16,
    kinds: KVec<Kind>,
    folder: Dir,
}

/// The folders of a GPU; removed when dropped, which must be before it is unbound.
pub(super) struct IpBlocks {
    dies: KVec<Die>,
    all: Dir,
    _top: Dir,
}

impl IpBlocks {
    /// Makes them. `None` where another driver's are still there: amdgpu leaves its own until it is unloaded.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV.
    pub(super) fn new(gpu: &Gpu) -> Result<Option<Self>> {
        let top = gpu.while_bound(|device| Dir::of_device(device, c"ip_discovery", Empty));
        let top = match top {
            Err(EEXIST) => return Ok(None),
            top => top?,
        };
        let mut blocks = Self {
            dies: KVec::new(),
            all: top.subdir(c"die", Empty)?,
            _top: top,
        };
        let discovery = gpu.discovery();
        discovery.each(|entry| blocks.add(entry, discovery.is_fused_off(entry)))?;
        Ok(Some(blocks))
    }

    fn add(&mut self, entry: &Entry<'_>, is_fused_off: bool) -> Result {
        let last = self.dies.last().map(|die| die.number);
        if last != Some(entry.die) {
            let listed = Listed {
                blocks: entry.siblings,
            };
            let folder = self.all.subdir(&numbered(entry.die)?, listed)?;
            let die = Die {
                number: entry.die,
                kinds: KVec::new(),
                folder,
            };
            self.dies.push(die, GFP_KERNEL)?;
        }
        let die = self.dies.last_mut().ok_or(EINVAL)?;
        die.kind(entry.hw_id)?.add(entry, is_fused_off)
    }
}

impl Die {
    /// The folder of a kind, made when it isn't there.
    fn kind(&mut self, hw_id: u16) -> Result<&mut Kind> {
        let at = match self.kinds.iter().position(|kind| kind.hw_id == hw_id) {
            Some(at) => at,
            None => {
                let folder = self.folder.subdir(&numbered(hw_id)?, Empty)?;
                if let Some(name) = names::name(hw_id) {
                    let name = CString::try_from_fmt(fmt!("{name}"))?;
                    self.folder.link(&name, &folder)?;
                }
                let kind = Kind {
                    hw_id,
                    instances: KVec::new(),
                    folder,
                };
                self.kinds.push(kind, GFP_KERNEL)?;
                self.kinds.len().saturating_sub(1)
            }
        };
        self.kinds.get_mut(at).ok_or(EINVAL)
    }
}

impl Kind {
    /// Adds an instance; the first of its number counts.
    fn add(&mut self, entry: &Entry<'_>, is_fused_off: bool) -> Result {
        let number = entry.instance;
        if self.instances.iter().any(|&(other, _)| other == number) {
            return Ok(());
        }
        let mut bases = KVec::new();
        for base in entry.bases() {
            bases.push(base, GFP_KERNEL)?;
        }
        let instance = Instance {
            hw_id: entry.hw_id,
            number,
            version: entry.version,
            is_fused_off,
            bases,
        };
        let folder = self.folder.subdir(&numbered(number.into())?, instance)?;
        Ok(self.instances.push((number, folder), GFP_KERNEL)?)
    }
}

fn numbered(number: u16) -> Result<CString> {
    CString::try_from_fmt(fmt!("{number}"))
}
