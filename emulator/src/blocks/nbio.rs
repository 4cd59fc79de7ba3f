// SPDX-License-Identifier: MIT OR Apache-2.0

//! North-bridge I/O (NBIO 7.9, NBIF 6.3.1): memory size, straps, doorbell aperture and routing, HDP
//! remap.
//!
//! Sources: Linux, `amdgpu/nbio_v7_9.c`, `amdgpu/nbif_v6_3_1.c`.
//!
//! A doorbell reaches a client other than the command processor if it lies in that client's range
//! and the port to it is enabled (`S2A_DOORBELL_ENTRY_n_CTRL`). In NBIO 7.9 the range is in a
//! register of its own (`DOORBELL0_CTRL_ENTRY_n`), in NBIF 6.3.1 in the port's. The port names the client by number
//! and address (AWID, AWADDR); with others the doorbell goes elsewhere. Which are the
//! interrupt handler's and the SDMA engines', depends on the chip ([`Route`]). The command processor
//! gets the others, once the ways to the graphics core are open ([`Wiring::graphics`]).
//!
//! What the device itself stores to its doorbells never gets to the bus, if the driver has said where they lie there
//! (`DOORBELL_SELFRING_GPA_APER_*`).

use super::store::Store;
use crate::device::Env;
use crate::device::{IpBlock, Refused};
use crate::memory::PAGE;
use rkfd_hw::regs::nbio_7_9_0 as nbio;
use rkfd_hw::regs::Value;
use rkfd_hw::regs::{RegInfo, Table};
use rkfd_hw::value::Bounded;
use std::sync::Arc;

/// Registers that are storage.
const STORED: &[&str] = &[
    "BIF_BX0_BACO_CNTL",
    "BIF_BX0_BIF_FB_EN",
    "BIF_BX0_INTERRUPT_CNTL",
    "BIF_BX0_INTERRUPT_CNTL2",
    "BIF_BX0_BIF_DOORBELL_INT_CNTL",
    "BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL",
    "BIF_BX0_REMAP_HDP_REG_FLUSH_CNTL",
    "BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_BASE_HIGH",
    "BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_BASE_LOW",
    "BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_CNTL",
    "BIFC_DOORBELL_ACCESS_EN_PF",
    "BIFC_GFX_INT_MONITOR_MASK",
    "RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN",
    "RCC_DEV0_EPF2_STRAP2",
    "XCC_DOORBELL_FENCE",
];

/// Families of registers that are storage, and how many of each there are.
const STORED_FAMILIES: &[(&str, &str)] = &[
    ("DOORBELL0_CTRL_ENTRY_", ""),
    ("S2A_DOORBELL_ENTRY_", "_CTRL"),
    ("GDC_S2A0_S2A_DOORBELL_ENTRY_", "_CTRL"),
    ("BIF_BX0_BIOS_SCRATCH_", ""),
    ("BIF_BX0_DRIVER_SCRATCH_", ""),
];

/// Registers that the chip sets.
const READ_ONLY: &[&str] = &[
    "RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE",
    "RCC_STRAP0_RCC_DEV0_EPF0_STRAP0",
    "RCC_DEV0_EPF0_RCC_IOV_FUNC_IDENTIFIER",
    "BIF_BX_PF0_PARTITION_COMPUTE_STATUS",
    "BIF_BX_PF0_PARTITION_MEM_CAP",
    "BIF_BX_PF0_PARTITION_MEM_STATUS",
    "BIF_BX_PF0_GPU_HDP_FLUSH_DONE",
    "REGS_ROM_OFFSET_CTRL",
];

/// Partition mode: SPX, all of what there is in one partition (`AMDGPU_SPX_PARTITION_MODE`).
const SPX: u64 = 0;
/// One memory partition (`NPS1` is bit 0).
const NPS1: u8 = 1;

/// `BIOS_SCRATCH_7`: the chip's own firmware, or the host's, has initialized it
/// (`ATOM_S7_ASIC_INIT_COMPLETE_MASK` in `include/atombios.h`).
const INITIALIZED: (&str, u32) = ("BIF_BX0_BIOS_SCRATCH_7", 1 << 9);

/// `BIOS_SCRATCH_4`, bits 3:0: who made the memory (`amdgpu/amdgpu_atomfirmware.c`).
const VENDOR: &str = "BIF_BX0_BIOS_SCRATCH_4";

/// How doorbells get to a client other than the command processor: by registers of NBIO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// The range is in one register, the port that must be open in another.
    RangeAndPort {
        /// `DOORBELL0_CTRL_ENTRY_n`.
        range: &'static str,
        /// `S2A_DOORBELL_ENTRY_n_CTRL`.
        port: &'static str,
        /// The base die that the port is on.
        die: u8,
        /// The client's number, by which the port knows its range, too.
        id: u8,
        /// The client's address.
        address: u8,
    },
    /// The port's register holds the range, too.
    Port {
        /// `GDC_S2A0_S2A_DOORBELL_ENTRY_n_CTRL`.
        port: &'static str,
        /// The client's number.
        id: u8,
        /// The client's address.
        address: u8,
    },
}

/// What a chip's north bridge differs in.
pub struct Wiring {
    /// Its registers.
    pub tables: Vec<&'static Table>,
    /// Silicon revision.
    pub rev_id: u32,
    /// Who made its memory.
    pub vram_vendor: u8,
    /// The page of the register BAR in which no register lies, where flushes of HDP may appear.
    pub hole: u64,
    /// What must be in which registers before the aperture is enabled.
    pub before_doorbells: Vec<(&'static str, u32)>,
    /// The same on base dies but the first.
    pub before_on_further: Option<(&'static str, u32)>,
    /// Base dies.
    pub dies: u8,
    /// Which bits of which registers let doorbells through to the graphics core.
    pub graphics: &'static [(&'static str, u32)],
    /// How doorbells get to the interrupt handler.
    pub ih_route: Route,
    /// How doorbells get to each SDMA engine.
    pub sdma_routes: &'static [Route],
}

/// The block.
pub struct Nbio {
    env: Arc<dyn Env>,
    wiring: Wiring,
    store: Store,
    /// The registers of base dies but the first.
    further: Vec<Store>,
}

/// The part of it on a base die but the first: ports of doorbells, and what keeps them from clients of the first.
pub struct Further {
    /// All of it.
    nbio: Arc<Nbio>,
    /// Which of them: the second is 0.
    index: usize,
}

impl Further {
    /// Each of those that there are.
    pub fn all(nbio: &Arc<Nbio>) -> Vec<Self> {
        let of = |index| Self {
            nbio: nbio.clone(),
            index,
        };
        (0..nbio.further.len()).map(of).collect()
    }

    fn store(&self) -> Result<&Store, Refused> {
        (self.nbio.further.get(self.index)).ok_or(Refused::NotModelled)
    }
}

impl IpBlock for Further {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        self.store()?.read(reg)
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        self.store()?.write(reg, value)?;
        self.nbio.route();
        Ok(())
    }

    /// With the first one.
    fn reset(&self) {}
}

/// Registers that base dies but the first have of their own.
const OF_FURTHER: [&str; 5] = [
    "XCC_DOORBELL_FENCE",
    "S2A_DOORBELL_ENTRY_1_CTRL",
    "S2A_DOORBELL_ENTRY_2_CTRL",
    "S2A_DOORBELL_ENTRY_5_CTRL",
    "S2A_DOORBELL_ENTRY_6_CTRL",
];

impl Nbio {
    /// Start-up state.
    pub fn new(env: Arc<dyn Env>, wiring: Wiring) -> Self {
        let mut registers: Vec<(&'static str, u32)> =
            STORED.iter().map(|name| (*name, 0)).collect();
        for reg in wiring.tables.iter().flat_map(|table| table.regs) {
            let name = reg.reg.name;
            if STORED_FAMILIES
                .iter()
                .any(|(start, end)| name.starts_with(start) && name.ends_with(end))
            {
                let value = match name {
                    VENDOR => wiring.vram_vendor.into(),
                    name if name == INITIALIZED.0 => INITIALIZED.1,
                    _ => 0,
                };
                registers.push((name, value));
            }
        }
        let further = (1..wiring.dies).map(|_| Store::zeroed(&OF_FURTHER));
        let block = Self {
            env,
            store: Store::new(&registers),
            further: further.collect(),
            wiring,
        };
        block.start();
        block
    }

    /// Another driver's ring of interrupts was in memory that is not cached.
    fn start(&self) {
        if self.env.start().used {
            use nbio::BIF_BX0_INTERRUPT_CNTL as Cntl;
            let left = Value::<Cntl>::zeroed().with(Cntl::IH_REQ_NONSNOOP_EN, true);
            self.store.set("BIF_BX0_INTERRUPT_CNTL", left.bits());
        }
        self.snoop();
    }

    /// Tells the bus whether the interrupt handler's writes snoop.
    fn snoop(&self) {
        use nbio::BIF_BX0_INTERRUPT_CNTL as Cntl;
        let cntl = self.store.get("BIF_BX0_INTERRUPT_CNTL").unwrap_or(0);
        let off = Value::<Cntl>::new(cntl).is_set(Cntl::IH_REQ_NONSNOOP_EN);
        self.env.memory().bus.set_interrupts_snoop(!off);
    }

    /// Whether a byte offset of BAR5 is one of the two words that the driver chose for HDP
    /// flushes.
    pub fn is_hdp_flush(&self, offset: u64) -> bool {
        self.hdp_flushes().any(|at| at == offset)
    }

    /// Whether a byte offset of BAR5 is in the page of such a word. Programs may map that page
    /// (`KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP`), so accesses to it are theirs.
    pub fn is_hdp_page(&self, offset: u64) -> bool {
        self.hdp_flushes().any(|at| at / PAGE == offset / PAGE)
    }

    /// Whether a byte offset of BAR5 is in the page where flushes may appear, and none has been shown there yet, or none
    /// again after a reset. Nothing answers there. Whoever flushes can't know of a reset: programs keep the page mapped.
    pub fn is_empty_hole(&self, offset: u64) -> bool {
        offset / PAGE == self.wiring.hole / PAGE && self.hdp_flushes().next().is_none()
    }

    fn hdp_flushes(&self) -> impl Iterator<Item = u64> + '_ {
        let names = [
            "BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL",
            "BIF_BX0_REMAP_HDP_REG_FLUSH_CNTL",
        ];
        let chosen = names.into_iter().filter_map(|name| self.store.get(name));
        chosen.filter(|at| *at != 0).map(u64::from)
    }

    /// Sets in the doorbell BAR which of its words reach the interrupt handler and the SDMA engines.
    fn route(&self) {
        let set = |&(name, bits): &(&str, u32)| {
            let value = self.store.get(name).unwrap_or(0);
            value & bits == bits
        };
        let open = self.wiring.graphics.iter().all(set);
        self.env.doorbells().route_graphics(open);
        let (first, size) = self.range(self.wiring.ih_route);
        self.env.doorbells().route_ih(first, size);
        for (engine, &route) in self.wiring.sdma_routes.iter().enumerate() {
            let (first, size) = self.range(route);
            self.env.doorbells().route_sdma(engine, first, size);
        }
    }

    /// Sets from which address on the device takes its own accesses for those to its doorbells. All of them, whatever the
    /// aperture's size (Linux sets 0).
    fn self_ring(&self) {
        use nbio::BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_CNTL as Cntl;
        let get = |name| u64::from(self.store.get(name).unwrap_or(0));
        let cntl = Value::<Cntl>::new(get("BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_CNTL") as u32);
        let high = get("BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_BASE_HIGH");
        let first = (high << 32) | get("BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_BASE_LOW");
        let on = cntl.is_set(Cntl::DOORBELL_SELFRING_GPA_APER_EN);
        let aperture = on.then(|| (first, self.env.doorbells().file()));
        self.env.memory().bus.set_self_ring(aperture);
    }

    /// The first word that a port lets through, and how many.
    fn range(&self, route: Route) -> (u32, u32) {
        use nbio::DOORBELL0_CTRL_ENTRY_0 as Entry;
        // The same fields in all generations.
        use nbio::S2A_DOORBELL_ENTRY_1_CTRL as Port;
        let get = |name| self.store.get(name).unwrap_or(0);
        // Whoever else is at the port gets what is meant for the client.
        let leads_to = |port, id: u8, address: u8| {
            let port = Value::<Port>::new(port);
            let to = port.get(Port::S2A_DOORBELL_PORT1_AWADDR_31_28_VALUE);
            port.get(Port::S2A_DOORBELL_PORT1_AWID) == u32::from(id) && to == u32::from(address)
        };
        let (port, range, right) = match route {
            Route::RangeAndPort {
                range,
                port,
                die,
                id,
                address,
            } => {
                let entry = Value::<Entry>::new(get(range));
                let first = entry.get(Entry::BIF_DOORBELL0_RANGE_OFFSET_ENTRY);
                let size = entry.get(Entry::BIF_DOORBELL0_RANGE_SIZE_ENTRY);
                let of_die = match die {
                    0 => Some(&self.store),
                    die => self.further.get(usize::from(die) - 1),
                };
                let port = of_die.and_then(|store| store.get(port)).unwrap_or(0);
                let offset = Value::new(port).get(Port::S2A_DOORBELL_PORT1_RANGE_OFFSET);
                let right = leads_to(port, id, address) && offset == u32::from(id);
                (port, (first, size), right)
            }
            Route::Port { port, id, address } => {
                let entry = get(port);
                let first = Value::new(entry).get(Port::S2A_DOORBELL_PORT1_RANGE_OFFSET);
                let size = Value::new(entry).get(Port::S2A_DOORBELL_PORT1_RANGE_SIZE);
                (entry, (first, size), leads_to(entry, id, address))
            }
        };
        let open = right
            && Value::new(port).get(Port::S2A_DOORBELL_PORT1_ENABLE) != 0
            && Value::new(port).get(Port::S2A_DOORBELL_PORT1_RANGE_SIZE) != 0;
        if open {
            range
        } else {
            (0, 0)
        }
    }

    /// Whether a register decides where doorbells go.
    fn routes(&self, name: &str) -> bool {
        let wiring = &self.wiring;
        if wiring
            .graphics
            .iter()
            .any(|(register, _)| *register == name)
        {
            return true;
        }
        let mut all = std::iter::once(&wiring.ih_route).chain(wiring.sdma_routes);
        all.any(|route| match *route {
            Route::RangeAndPort { range, port, .. } => name == range || name == port,
            Route::Port { port, .. } => name == port,
        })
    }
}

impl IpBlock for Nbio {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        Ok(match reg.reg.name {
            "RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE" => (self.env.memory().vram.size() >> 20) as u32,
            "RCC_STRAP0_RCC_DEV0_EPF0_STRAP0" => Value::zeroed()
                .with(
                    nbio::RCC_STRAP0_RCC_DEV0_EPF0_STRAP0::STRAP_ATI_REV_ID_DEV0_F0,
                    Bounded::low_bits_of(self.wiring.rev_id.into()),
                )
                .bits(),
            // No virtual function.
            "RCC_DEV0_EPF0_RCC_IOV_FUNC_IDENTIFIER" => 0,
            "BIF_BX_PF0_PARTITION_COMPUTE_STATUS" => Value::zeroed()
                .having(nbio::BIF_BX_PF0_PARTITION_COMPUTE_STATUS::PARTITION_MODE.is::<SPX>())
                .bits(),
            "BIF_BX_PF0_PARTITION_MEM_STATUS" => Value::zeroed()
                .with(nbio::BIF_BX_PF0_PARTITION_MEM_STATUS::NPS_MODE, NPS1)
                .bits(),
            "BIF_BX_PF0_PARTITION_MEM_CAP" => NPS1.into(),
            // The image is at the ROM's beginning.
            "REGS_ROM_OFFSET_CTRL" => 0,
            // A flush is done when it is asked for.
            "BIF_BX_PF0_GPU_HDP_FLUSH_DONE" => u32::MAX,
            "BIF_BX_PF0_GPU_HDP_FLUSH_REQ" | "BIF_BX_PF0_HDP_MEM_COHERENCY_FLUSH_CNTL" => 0,
            _ => return self.store.read(reg),
        })
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        let name = reg.reg.name;
        if READ_ONLY.contains(&name) {
            return Err(Refused::ReadOnly);
        }
        if matches!(
            name,
            "BIF_BX_PF0_GPU_HDP_FLUSH_REQ" | "BIF_BX_PF0_HDP_MEM_COHERENCY_FLUSH_CNTL"
        ) {
            self.env.memory().flush_hdp();
            return Ok(());
        }
        let remap = name.starts_with("BIF_BX0_REMAP_HDP_");
        if remap && (value % 4 != 0 || u64::from(value) / PAGE != self.wiring.hole / PAGE) {
            return Err(Refused::Undefined(
                "no word of the register BAR's hole".into(),
            ));
        }
        if name == "RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN" && value > 1 {
            return Err(Refused::Undefined("reserved bits".into()));
        }
        if name == "RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN" && value == 1 {
            let mut wanted = self.wiring.before_doorbells.iter();
            let missing = wanted.find(|(name, value)| self.store.get(name) != Some(*value));
            if let Some((name, value)) = missing {
                let what = format!("the aperture is enabled before {name} has {value:#x}");
                return Err(Refused::Undefined(what));
            }
            if let Some((name, value)) = self.wiring.before_on_further {
                let mut dies = (1..).zip(&self.further);
                if let Some((die, _)) = dies.find(|(_, die)| die.get(name) != Some(value)) {
                    let what = format!(
                        "the aperture is enabled before {name} of base die {die} has {value:#x}"
                    );
                    return Err(Refused::Undefined(what));
                }
            }
        }
        if name == "BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_CNTL" {
            use nbio::BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_CNTL as Cntl;
            let cntl = Value::<Cntl>::new(value);
            let on = cntl.is_set(Cntl::DOORBELL_SELFRING_GPA_APER_EN);
            if on && !cntl.is_set(Cntl::DOORBELL_SELFRING_GPA_APER_MODE) {
                let what = "the aperture of the GPU's own doorbells is on in mode 0, which is not modelled";
                return Err(Refused::Undefined(what.into()));
            }
        }
        if name == "BIF_BX0_INTERRUPT_CNTL" && self.store.get("BIF_BX0_INTERRUPT_CNTL2") == Some(0)
        {
            let what = "INTERRUPT_CNTL2 has no page for the interrupts' dummy reads";
            return Err(Refused::Undefined(what.into()));
        }
        self.store.write(reg, value)?;
        match name {
            "RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN" => self.env.doorbells().enable(value != 0),
            "BIF_BX0_INTERRUPT_CNTL" => self.snoop(),
            _ if name.starts_with("BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_") => self.self_ring(),
            _ if self.routes(name) => self.route(),
            _ => {}
        }
        Ok(())
    }

    fn reset(&self) {
        self.store.reset();
        self.further.iter().for_each(Store::reset);
        self.start();
        self.route();
        self.self_ring();
    }
}
