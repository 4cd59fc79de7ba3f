// SPDX-License-Identifier: MIT OR Apache-2.0

//! The vfio-user server: regions, interrupts, DMA ranges, reset.
//!
//! | region | content | how |
//! |---|---|---|
//! | BAR0 | VRAM | memory file, mapped by the guest; what lies beyond VRAM is trapped |
//! | BAR2 | doorbells | memory file, mapped by the guest |
//! | BAR5 | registers | trapped |
//! | 6 | expansion ROM | trapped |
//! | 7 | configuration space | trapped |
//!
//! QEMU holds its big lock during a trapped access, so everything here answers at once. The crate
//! would answer an error with a malformed reply, so nothing here returns one: an access that is
//! not defined is recorded, reads give all ones. A region's memory file is only announced together
//! with an explicit area to map, so both BARs have one.

pub mod config;
pub mod control;

use crate::blocks::vbios;
use crate::chip::device::Device;
use crate::memory::host::Mapping;
use crate::trace::Value;
use config::{Config, Effect};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use vfio_bindings::bindings::vfio::{
    vfio_region_info, vfio_region_sparse_mmap_area, VFIO_IRQ_INFO_EVENTFD,
    VFIO_IRQ_SET_DATA_EVENTFD, VFIO_PCI_BAR0_REGION_INDEX, VFIO_PCI_BAR2_REGION_INDEX,
    VFIO_PCI_BAR5_REGION_INDEX, VFIO_PCI_CONFIG_REGION_INDEX, VFIO_PCI_MSI_IRQ_INDEX,
    VFIO_PCI_NUM_IRQS, VFIO_PCI_NUM_REGIONS, VFIO_PCI_ROM_REGION_INDEX, VFIO_REGION_INFO_FLAG_MMAP,
    VFIO_REGION_INFO_FLAG_READ, VFIO_REGION_INFO_FLAG_WRITE,
};
use vfio_user::{
    DmaMapFlags, DmaUnmapFlags, Error, IrqInfo, Server, ServerBackend, ServerRegion, SparseArea,
};

const BAR0: u32 = VFIO_PCI_BAR0_REGION_INDEX;
const BAR2: u32 = VFIO_PCI_BAR2_REGION_INDEX;
const BAR5: u32 = VFIO_PCI_BAR5_REGION_INDEX;
const ROM: u32 = VFIO_PCI_ROM_REGION_INDEX;
const CONFIG: u32 = VFIO_PCI_CONFIG_REGION_INDEX;

/// The device's end of the connection.
pub struct Transport {
    device: Arc<Device>,
    config: Config,
    /// The expansion ROM.
    rom: Vec<u8>,
}

/// Size of BAR0: VRAM, rounded up to a power of two.
pub fn vram_bar(vram_size: u64) -> u64 {
    vram_size.checked_next_power_of_two().unwrap_or(1 << 63)
}

impl Transport {
    /// The end of a device.
    pub fn new(device: Arc<Device>) -> Self {
        let config = Config::new(device.soc.chip, vram_bar(device.soc.memory.vram.size()));
        device.soc.memory.bus.set_master(false);
        Self {
            config: config.with_rom(vbios::SIZE as u32),
            rom: device.soc.chip.rom(),
            device,
        }
    }

    /// A server that listens at a path.
    ///
    /// # Errors
    /// The path is taken or can't be made.
    pub fn listen(&self, path: &Path) -> Result<Server, Error> {
        let irqs = (0..VFIO_PCI_NUM_IRQS)
            .map(|index| IrqInfo {
                index,
                flags: VFIO_IRQ_INFO_EVENTFD,
                count: u32::from(index == VFIO_PCI_MSI_IRQ_INDEX),
            })
            .collect();
        Server::new(path, true, irqs, self.regions())
    }

    fn regions(&self) -> Vec<ServerRegion> {
        let soc = &self.device.soc;
        let vram = soc.memory.vram;
        (0..VFIO_PCI_NUM_REGIONS)
            .map(|index| match index {
                BAR0 => region(index, vram_bar(vram.size()), Some(vram)),
                BAR2 => region(index, soc.chip.doorbell_size, Some(soc.doorbells.file())),
                BAR5 => region(index, soc.chip.mmio_size, None),
                ROM => region(index, self.rom.len() as u64, None),
                CONFIG => region(index, config::SIZE as u64, None),
                _ => region(index, 0, None),
            })
            .collect()
    }

    /// Records an access that is not defined, and says what a read gives. In the page of HDP flushes
    /// it is a program's: the words there read as 0.
    fn undefined(&self, what: &str, region: u32, offset: u64, len: usize) -> u8 {
        let report = &self.device.soc.report;
        if region == BAR5 && self.device.is_programs(offset) {
            report.fault(format_args!(
                "{what} of {len} bytes in the page of HDP flushes, whose registers have 4"
            ));
            return 0;
        }
        report.violation(format_args!(
            "{what} of {len} bytes at {offset:#x} of region {region}"
        ));
        0xff
    }

    /// The memory behind a trapped access to a mapped BAR.
    fn memory(&self, region: u32) -> Option<Mapping> {
        match region {
            BAR0 => Some(self.device.soc.memory.vram),
            BAR2 => Some(self.device.soc.doorbells.file()),
            _ => None,
        }
    }

    fn read(&self, region: u32, offset: u64, data: &mut [u8]) -> bool {
        match region {
            CONFIG => {
                self.config.read(offset, data);
                true
            }
            ROM => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let bytes = self
                    .rom
                    .get(start..)
                    .and_then(|rest| rest.get(..data.len()));
                bytes.inspect(|bytes| data.copy_from_slice(bytes)).is_some()
            }
            BAR5 => match <&mut [u8; 4]>::try_from(data) {
                Ok(word) if offset % 4 == 0 => {
                    *word = self.device.read(offset).to_le_bytes();
                    true
                }
                _ => false,
            },
            _ => {
                let part = self.memory(region).and_then(|m| m.part(offset, data.len()));
                part.is_some_and(|part| part.read(0, data))
            }
        }
    }

    fn write(&mut self, region: u32, offset: u64, data: &[u8]) -> bool {
        match region {
            CONFIG => {
                match self.config.write(offset, data) {
                    Effect::Reset => self.reset_device("flr"),
                    Effect::Master(on) => self.device.soc.set_master(on),
                    Effect::None => {}
                }
                self.device.soc.memory.bus.set_own(self.config.bars());
                true
            }
            BAR5 => match <[u8; 4]>::try_from(data) {
                Ok(word) if offset % 4 == 0 => {
                    self.device.write(offset, u32::from_le_bytes(word));
                    true
                }
                _ => false,
            },
            _ => {
                let part = self.memory(region).and_then(|m| m.part(offset, data.len()));
                part.is_some_and(|part| part.write(0, data))
            }
        }
    }

    fn reset_device(&mut self, why: &str) {
        self.device
            .soc
            .trace
            .event("bus_reset", &[("why", Value::Text(why))]);
        self.config.reset();
        self.device.soc.memory.bus.set_master(false);
        self.device.reset_function();
    }
}

impl ServerBackend for Transport {
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> io::Result<()> {
        if !self.read(region, offset, data) {
            data.fill(self.undefined("read", region, offset, data.len()));
        }
        Ok(())
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> io::Result<()> {
        if !self.write(region, offset, data) {
            self.undefined("write", region, offset, data.len());
        }
        Ok(())
    }

    fn dma_map(
        &mut self,
        _: DmaMapFlags,
        offset: u64,
        address: u64,
        size: u64,
        file: Option<File>,
    ) -> io::Result<()> {
        self.device.soc.memory.bus.map(address, size, offset, file);
        Ok(())
    }

    fn dma_unmap(&mut self, flags: DmaUnmapFlags, address: u64, size: u64) -> io::Result<()> {
        if flags.contains(DmaUnmapFlags::UNMAP_ALL) {
            self.device.soc.memory.bus.clear();
        } else {
            self.device.soc.memory.bus.unmap(address, size);
        }
        Ok(())
    }

    fn reset(&mut self) -> io::Result<()> {
        self.reset_device("vfio-user");
        Ok(())
    }

    fn set_irqs(
        &mut self,
        index: u32,
        flags: u32,
        start: u32,
        count: u32,
        mut fds: Vec<File>,
    ) -> io::Result<()> {
        if index == VFIO_PCI_MSI_IRQ_INDEX && start == 0 {
            // One vector: an event connects it; no event, or no vector, disconnects it.
            let event = (flags & VFIO_IRQ_SET_DATA_EVENTFD != 0 && count == 1)
                .then(|| fds.pop())
                .flatten();
            self.device
                .soc
                .trace
                .event("msi_enable", &[("on", Value::Num(event.is_some().into()))]);
            self.device.soc.interrupts.set_msi(event);
        }
        Ok(())
    }
}

/// A region's description; with a memory file, all of it can be mapped.
fn region(index: u32, size: u64, file: Option<Mapping>) -> ServerRegion {
    let rights = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
    let file = file.and_then(|m| Some((m.fd()?.as_raw_fd(), m.size())));
    ServerRegion {
        region_info: vfio_region_info {
            argsz: size_of::<vfio_region_info>() as u32,
            flags: match (size, file) {
                (0, _) => 0,
                (_, None) => rights,
                (_, Some(_)) => rights | VFIO_REGION_INFO_FLAG_MMAP,
            },
            index,
            cap_offset: 0,
            size,
            offset: 0,
        },
        sparse_areas: file
            .map(|(_, size)| SparseArea {
                area: vfio_region_sparse_mmap_area { offset: 0, size },
            })
            .into_iter()
            .collect(),
        mmap_fd: file.map(|(fd, _)| fd),
    }
}
