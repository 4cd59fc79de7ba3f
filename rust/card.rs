// SPDX-License-Identifier: GPL-2.0

//! What a card has and what runs it, as files of the PCI device by amdgpu's names, which rocm-smi and amd-smi read:
//! memory (`mem_info_*`), the mode of its partitions, its serial number, its VBIOS, versions of firmware, and its blocks
//! (`ip_discovery`).
//!
//! Sources: Linux, `amdgpu_vram_mgr.c`, `amdgpu_gtt_mgr.c`, `amdgpu_gfx.c` (`current_compute_partition`), `pm/amdgpu_pm.c`
//! (`unique_id`), `amdgpu_atombios.c` (`vbios_version`, and `vbios_build` where there is one), `amdgpu_ucode.c`
//! (`fw_version`: what isn't known has no file).
//!
//! Lock order: the list's lock is taken with none held.

use crate::{
    glue::{
        attributes::{
            Folder,
            Values, //
        },
        kobject::Text, //
    },
    gpu::Gpu,
    hw::vbios::Image,
    limit::SystemMemory,
    types::GpuId,
    vbios::Vbios, //
};
use core::fmt::Write;
use kernel::{
    new_mutex,
    prelude::*,
    str::CStr,
    sync::{
        Arc,
        Mutex, //
    }, //
};

mod ip_blocks;

use ip_blocks::IpBlocks;

/// What a file shows.
enum What {
    Bytes(fn(&Card) -> u64),
    /// How the chip's dies are put together. The driver takes a chip only where all are in one partition.
    Partition,
    /// Its serial number; nothing where that isn't known.
    Serial,
    /// Who made its memory; no file where nothing tells.
    Vendor,
    /// A text of its VBIOS; no file where there is none.
    Vbios(for<'a> fn(&Image<'a>) -> &'a [u8]),
    /// A firmware's version, 0 where it isn't known.
    Version(fn(&Gpu) -> u32),
}

struct File {
    name: &'static CStr,
    what: What,
}

impl File {
    const fn new(name: &'static CStr, what: What) -> Self {
        Self { name, what }
    }
}

/// Files of the PCI device.
static OWN: [File; 11] = [
    File::new(
        c"mem_info_vram_total",
        What::Bytes(|card| card.gpu.chip().vram_size),
    ),
    File::new(
        c"mem_info_vram_used",
        What::Bytes(|card| card.gpu.vram_used()),
    ),
    File::new(
        c"mem_info_vis_vram_total",
        What::Bytes(|card| card.gpu.chip().visible_vram_size),
    ),
    // The CPU sees all of VRAM.
    File::new(
        c"mem_info_vis_vram_used",
        What::Bytes(|card| card.gpu.vram_used()),
    ),
    File::new(
        c"mem_info_gtt_total",
        What::Bytes(|card| card.memory.limit()),
    ),
    File::new(c"mem_info_gtt_used", What::Bytes(|card| card.memory.used())),
    File::new(c"mem_info_vram_vendor", What::Vendor),
    File::new(c"current_compute_partition", What::Partition),
    File::new(c"unique_id", What::Serial),
    File::new(c"vbios_version", What::Vbios(|image| image.part_number())),
    File::new(c"vbios_build", What::Vbios(|image| image.build())),
];

/// Files of `fw_version`, numbered behind the others.
static VERSIONS: [File; 3] = [
    File::new(
        c"mec_fw_version",
        What::Version(|gpu| gpu.chip().mec_fw_version),
    ),
    File::new(
        c"sdma_fw_version",
        What::Version(|gpu| gpu.chip().sdma_fw_version),
    ),
    File::new(c"smc_fw_version", What::Version(Gpu::smu_version)),
];

/// A maker of memory, by AMD's number for it (`amdgpu_vram_mgr.c`; numbers: `include/atombios.h`).
fn vendor(number: u32) -> &'static str {
    match number {
        0x1 => "samsung",
        0x2 => "infineon",
        0x3 => "elpida",
        0x4 => "etron",
        0x5 => "nanya",
        0x6 => "hynix",
        0x7 => "mosel",
        0x8 => "winbond",
        0x9 => "esmt",
        0xf => "micron",
        _ => "unknown",
    }
}

/// A GPU, and the memory that it shares with the others.
struct Card {
    gpu: Arc<Gpu>,
    memory: Arc<SystemMemory>,
}

impl Card {
    fn has(&self, what: &What) -> bool {
        match what {
            What::Bytes(_) | What::Serial => true,
            What::Partition => self.gpu.chip().family.has_partitions,
            What::Vendor => self.gpu.chip().vram.vendor != 0,
            What::Vbios(of) => !self.vbios(*of).is_empty(),
            What::Version(of) => of(&self.gpu) != 0,
        }
    }

    fn vbios(&self, of: for<'a> fn(&Image<'a>) -> &'a [u8]) -> &[u8] {
        let image = self.gpu.vbios().and_then(Vbios::image);
        image.map_or(&[], |image| of(&image))
    }

    /// The files of a list that there are, with their numbers.
    fn names(&self, files: &'static [File], first: usize) -> Result<KVec<(usize, &'static CStr)>> {
        let mut names = KVec::with_capacity(files.len(), GFP_KERNEL)?;
        for (number, file) in (first..).zip(files) {
            if self.has(&file.what) {
                names.push((number, file.name), GFP_KERNEL)?;
            }
        }
        Ok(names)
    }
}

impl Values for Card {
    fn show(&self, file: usize, out: &mut Text<'_>) -> Result {
        let file = Iterator::chain(OWN.iter(), &VERSIONS)
            .nth(file)
            .ok_or(EINVAL)?;
        let written = match file.what {
            What::Bytes(of) => writeln!(out, "{}", of(self)),
            What::Partition if self.gpu.is_resetting() => return Err(EPERM),
            What::Partition => writeln!(out, "SPX"),
            What::Serial => match self.gpu.unique_id() {
                0 => Ok(()),
                serial => writeln!(out, "{serial:016x}"),
            },
            What::Vendor => writeln!(out, "{}", vendor(self.gpu.chip().vram.vendor)),
            What::Vbios(of) => {
                out.bytes(self.vbios(of))?;
                writeln!(out)
            }
            What::Version(of) => writeln!(out, "{:#010x}", of(&self.gpu)),
        };
        written.map_err(|_| EINVAL)
    }
}

/// A GPU's own files, its folder `fw_version`, and those of its blocks.
struct Folders {
    id: GpuId,
    _blocks: Option<IpBlocks>,
    _own: Folder<Card>,
    _versions: Folder<Card>,
}

/// The files of all GPUs.
#[pin_data]
pub(crate) struct Cards {
    memory: Arc<SystemMemory>,
    #[pin]
    list: Mutex<KVec<Folders>>,
}

impl Cards {
    /// Those of none.
    pub(crate) fn new(memory: &Arc<SystemMemory>) -> impl PinInit<Self> {
        let memory = memory.clone();
        pin_init!(Self {
            memory,
            list <- new_mutex!(KVec::new(), "rkfd cards"),
        })
    }

    /// Makes the files of a GPU.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV.
    pub(crate) fn add(&self, gpu: &Arc<Gpu>) -> Result {
        let folder = |name, files: &'static [File], first: usize| {
            let card = Card {
                gpu: gpu.clone(),
                memory: self.memory.clone(),
            };
            let names = card.names(files, first)?;
            gpu.while_bound(|device| Folder::new(device, name, &names, card))
        };
        let folders = Folders {
            id: gpu.id(),
            _blocks: IpBlocks::new(gpu)?,
            _own: folder(None, &OWN, 0)?,
            _versions: folder(Some(c"fw_version"), &VERSIONS, OWN.len())?,
        };
        Ok(self.list.lock().push(folders, GFP_KERNEL)?)
    }

    /// Removes those of a GPU, and waits for their readers.
    pub(crate) fn remove(&self, gpu: &Gpu) {
        let mut list = self.list.lock();
        let Some(at) = list.iter().position(|folders| folders.id == gpu.id()) else {
            return;
        };
        let folders = list.remove(at);
        drop(list);
        drop(folders);
    }
}
