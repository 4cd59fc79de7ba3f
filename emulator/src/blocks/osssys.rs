// SPDX-License-Identifier: MIT OR Apache-2.0

//! Registers of the interrupt handler; what it does is in [`crate::blocks::ih`].
//!
//! Sources: Linux, `amdgpu/vega20_ih.c` (4.4.2), `amdgpu/ih_v7_0.c` (7.0). Rings 0 and 1 are modelled, and in 7.0 which
//! clients' interrupts go to ring 1; in 4.4.2 faults that are retried do, of which there are none here. The
//! registers of the retry filter (CAM) are storage. Those of storms and floods only have to be set.
//!
//! The overflow of a ring of 4.4.2 stays while the ring is off, whatever is stored to its write pointer, and is cleared by
//! WPTR_OVERFLOW_CLEAR's change from 0 to 1 while the ring is on and has overflows: so Linux clears it when it turns a ring
//! on (`vega20_ih_toggle_ring_interrupts`). Entries of 4.4.2 have a time with RB_GPU_TS_ENABLE, which is set there, too.
//!
//! A driver that was there before leaves its routes: a warm device starts with them.

use super::ih::{Interrupts, Which};
use super::store::Store;
use crate::device::Env;
use crate::device::{IpBlock, Refused};
// The fields used here are the same in both versions.
use rkfd_hw::regs::osssys_4_4_2::{IH_RB_CNTL, IH_RB_WPTR};
use rkfd_hw::regs::Value;
use rkfd_hw::regs::{osssys_7_0_0, RegInfo};
use std::sync::Arc;

const STORED: &[&str] = &[
    "IH_DOORBELL_RETRY_CAM",
    "IH_RETRY_INT_CAM_CNTL",
    "IH_STORM_CLIENT_LIST_CNTL",
    "IH_INT_FLOOD_CNTL",
    "IH_CLK_CTRL",
    "IH_LIMIT_INT_RATE_CNTL",
    "IH_CNTL2",
    "IH_MSI_STORM_CTRL",
    "IH_RING1_CLIENT_CFG_INDEX",
];

/// Fields of IH_RB_CNTL that are not modelled.
const NOT_MODELLED: &[&str] = &[
    "FULL_DRAIN_CLEAR",
    "PAGE_RB_CLEAR",
    "RB_USED_INT_THRESHOLD",
    "MC_SWAP",
];

/// The block.
pub struct Osssys {
    env: Arc<dyn Env>,
    interrupts: Arc<Interrupts>,
    store: Store,
    /// The first route to ring 1 of a warm device.
    left: u32,
    /// Whether page faults may come as a storm of messages, and what tells of ring 1 may be old, as in 7.0.
    has_storms: bool,
}

impl Osssys {
    /// Start-up state; `left` is the route to ring 1 that another driver has left on a warm device
    /// (`IH_RING1_CLIENT_CFG_DATA` 0).
    pub fn new(
        env: Arc<dyn Env>,
        interrupts: Arc<Interrupts>,
        left: u32,
        has_storms: bool,
    ) -> Self {
        let block = Self {
            env,
            interrupts,
            store: Store::zeroed(STORED),
            left,
            has_storms,
        };
        block.start();
        block
    }

    fn start(&self) {
        let first = match self.env.start().cold {
            true => 0,
            false => self.left,
        };
        self.interrupts.start_routes(first);
        // 4.4.2 has no choice.
        self.interrupts.tell_present(!self.has_storms);
        self.interrupts.always_tell_time(self.has_storms);
        if self.env.start().used {
            self.interrupts.leave_rings(!self.has_storms);
        }
    }

    /// Which ring's register it is, and the register's name with ring 0.
    fn ring(name: &str) -> (Which, &str) {
        match name.strip_suffix("_RING1") {
            Some(name) => (Which::One, name),
            None => (Which::Zero, name),
        }
    }

    /// Which route `IH_RING1_CLIENT_CFG_DATA` is.
    fn route(&self) -> usize {
        self.store.get("IH_RING1_CLIENT_CFG_INDEX").unwrap_or(0) as usize
    }

    /// A register of the VMID tables: VMID, and whether it is the multimedia hub's.
    fn table(name: &str) -> Option<(u8, bool)> {
        let rest = name.strip_prefix("IH_VMID_")?;
        let (number, mm) = match rest.strip_suffix("_LUT_MM") {
            Some(number) => (number, true),
            None => (rest.strip_suffix("_LUT")?, false),
        };
        Some((number.parse().ok()?, mm))
    }

    /// That page faults in a row don't make a storm of messages (7.0): its driver sets these before it lets interrupts
    /// through (`ih_v7_0_irq_init`).
    fn is_throttled(&self) -> Result<(), Refused> {
        use osssys_7_0_0::{
            IH_INT_FLOOD_CNTL as Flood, IH_MSI_STORM_CTRL as Storm,
            IH_STORM_CLIENT_LIST_CNTL as Clients,
        };
        let get = |name| self.store.get(name).unwrap_or(0);
        let missing = if !self.has_storms {
            None
        } else if Value::<Storm>::new(get("IH_MSI_STORM_CTRL")).get(Storm::DELAY) == 0 {
            Some("IH_MSI_STORM_CTRL.DELAY is 0")
        } else if !Value::<Flood>::new(get("IH_INT_FLOOD_CNTL")).is_set(Flood::FLOOD_CNTL_ENABLE) {
            Some("IH_INT_FLOOD_CNTL.FLOOD_CNTL_ENABLE is 0")
        } else if !Value::<Clients>::new(get("IH_STORM_CLIENT_LIST_CNTL"))
            .is_set(Clients::CLIENT18_IS_STORM_CLIENT)
        {
            Some("IH_STORM_CLIENT_LIST_CNTL.CLIENT18_IS_STORM_CLIENT is 0")
        } else {
            None
        };
        missing.map_or(Ok(()), |what| {
            Err(Refused::Undefined(format!(
                "interrupts are enabled while {what}: page faults would come as a storm"
            )))
        })
    }

    fn write_cntl(&self, which: Which, reg: &RegInfo, value: u32) -> Result<(), Refused> {
        let mut ring = self.interrupts.ring(which);
        // Linux sets the write-back of ring 1, which has none, as well.
        let mut rest = match which {
            Which::Zero => [value],
            Which::One => [value & !IH_RB_CNTL::WPTR_WRITEBACK_ENABLE.mask()],
        };
        let known = reg.fields.iter();
        known
            .filter(|field| !NOT_MODELLED.contains(&field.name))
            .for_each(|field| field.clear(&mut rest));
        let [rest] = rest;
        if rest != 0 {
            return Err(Refused::Undefined(format!(
                "bits {rest:#x} are reserved or not modelled"
            )));
        }
        let begins = Value::new(value & !ring.cntl).is_set(IH_RB_CNTL::RB_ENABLE);
        // The overflow is cleared by the bit's change from 0 to 1.
        let changes = Value::new(value & !ring.cntl).is_set(IH_RB_CNTL::WPTR_OVERFLOW_CLEAR);
        ring.cntl = value;
        let overflows =
            ring.has(IH_RB_CNTL::RB_ENABLE) && ring.has(IH_RB_CNTL::WPTR_OVERFLOW_ENABLE);
        let cleared = changes && (self.has_storms || overflows);
        if cleared {
            ring.wptr = Value::new(ring.wptr)
                .with(IH_RB_WPTR::RB_OVERFLOW, false)
                .bits();
        }
        let enabled = Value::new(value).get(IH_RB_CNTL::RB_ENABLE) != 0;
        if enabled && which == Which::Zero && Value::new(value).get(IH_RB_CNTL::ENABLE_INTR) != 0 {
            self.is_throttled()?;
        }
        if begins && ring.has_entries() {
            return Err(Refused::Undefined(
                "the ring is turned on with pointers between which nothing was stored".into(),
            ));
        }
        if enabled && ring.size().is_none() {
            return Err(Refused::Undefined(
                "ring enabled with a size that it can't have".into(),
            ));
        }
        Ok(())
    }
}

impl IpBlock for Osssys {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        let name = reg.reg.name;
        if let Some((vmid, mm)) = Self::table(name) {
            return Ok(self.env.pasids().of_interrupt(vmid, mm).into());
        }
        if name == "IH_RING1_CLIENT_CFG_DATA" {
            return Ok(self.interrupts.route(self.route()));
        }
        self.interrupts.poll();
        let (which, name) = Self::ring(name);
        let ring = self.interrupts.ring(which);
        Ok(match name {
            "IH_RB_CNTL" => ring.cntl,
            "IH_RB_BASE" => ring.base,
            "IH_RB_BASE_HI" => ring.base_hi,
            "IH_RB_RPTR" => ring.rptr,
            "IH_RB_WPTR" => ring.wptr,
            "IH_RB_WPTR_ADDR_LO" => ring.wptr_addr[0],
            "IH_RB_WPTR_ADDR_HI" => ring.wptr_addr[1],
            "IH_DOORBELL_RPTR" => ring.doorbell,
            "IH_CHICKEN" => self.interrupts.chicken(),
            // Idle, and never flooded.
            "IH_STATUS" | "IH_INT_FLOOD_STATUS" => 0,
            _ => return self.store.read(reg),
        })
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        let name = reg.reg.name;
        if let Some((vmid, mm)) = Self::table(name) {
            if value > 0xffff {
                return Err(Refused::Undefined("a PASID has 16 bits".into()));
            }
            self.env.pasids().set_of_interrupt(vmid, mm, value);
            return Ok(());
        }
        let interrupts = &self.interrupts;
        let (which, name) = Self::ring(name);
        match name {
            "IH_RB_CNTL" => return self.write_cntl(which, reg, value),
            "IH_RB_BASE" => interrupts.ring(which).base = value,
            "IH_RB_BASE_HI" if value <= 0xff => interrupts.ring(which).base_hi = value,
            "IH_RB_RPTR" => interrupts.set_rptr(which, value),
            "IH_RB_WPTR" if value % 32 == 0 => {
                let mut ring = interrupts.ring(which);
                let stays = !self.has_storms && !ring.has(IH_RB_CNTL::RB_ENABLE);
                let kept = u32::from(stays) & ring.wptr;
                ring.wptr = value | kept;
            }
            "IH_RB_WPTR_ADDR_LO" if value % 4 == 0 => interrupts.ring(which).wptr_addr[0] = value,
            "IH_RB_WPTR_ADDR_HI" if value <= 0xffff => interrupts.ring(which).wptr_addr[1] = value,
            "IH_RB_BASE_HI" | "IH_RB_WPTR" | "IH_RB_WPTR_ADDR_LO" | "IH_RB_WPTR_ADDR_HI" => {
                return Err(Refused::Undefined("reserved bits".into()));
            }
            "IH_DOORBELL_RPTR" => interrupts.set_doorbell(which, value),
            "IH_CHICKEN" => interrupts.set_chicken(value),
            "IH_CNTL2" => {
                let fresh = Value::<osssys_7_0_0::IH_CNTL2>::new(value)
                    .is_set(osssys_7_0_0::IH_CNTL2::SELF_IV_FORCE_WPTR_UPDATE_ENABLE);
                interrupts.tell_present(fresh);
                return self.store.write(reg, value);
            }
            "IH_RING1_CLIENT_CFG_INDEX" | "IH_RING1_CLIENT_CFG_DATA"
                if value & !reg.known_bits() != 0 =>
            {
                return Err(Refused::Undefined("reserved bits".into()));
            }
            "IH_RING1_CLIENT_CFG_DATA" => interrupts.set_route(self.route(), value),
            "IH_STATUS" | "IH_INT_FLOOD_STATUS" => return Err(Refused::ReadOnly),
            _ => return self.store.write(reg, value),
        }
        Ok(())
    }

    fn reset(&self) {
        self.store.reset();
        self.interrupts.reset();
        self.start();
    }
}
