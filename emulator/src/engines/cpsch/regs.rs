// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command processor's registers, as the transport's thread reads and writes them.
//!
//! GRBM_GFX_CNTL selects the bank: micro engine, pipe and queue for HQD registers, the VMID for
//! SH_MEM_*. An access only changes stored state; what it starts is handed to the firmware's
//! thread as an [`Order`].
//!
//! Sources: Linux, `amdgpu/gfx_v9_4_3.c` (what is accessed, and how), `gc_9_0_default.h` (values
//! after a reset; gfx942's own are not public).
//!
//! Not enforced but for the KIQ's: CP_MEC_DOORBELL_RANGE. Linux sets its upper end to the last doorbell of the
//! kernel's page, and rings user queues far beyond (`gfx_v9_4_3_xcc_kiq_init_register`); its use
//! is waking a power-gated core (`gfx_v9_0_kiq_init_register`).

use super::ports::Ports;
use crate::blocks::store::Store;
use crate::device::facts::Facts;
use crate::device::Refused;
use crate::engines::clocks::Gates;
use crate::engines::cp::front::generation::GFX9_4_3;
use crate::engines::cp::front::hqd::{Image, Queue, Role};
use crate::engines::cp::front::left::leave_queue;
use crate::engines::cp::front::registers::{chosen_wave, watched, Vmid};
use crate::engines::cp::front::slot::{Slot, SLOTS};
use crate::engines::cp::front::waves::count::Count;
use crate::engines::settling::Settling;
use rkfd_hw::regs::Value;
use rkfd_hw::regs::{gc_9_4_3 as gc, RegInfo};
use rkfd_hw::value::Bounded;
use std::time::Duration;

mod hqd;
mod reset;

use hqd::hqd_word;
use reset::HALTED;

/// Something that a register access asks of the firmware's thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// CP_HQD_ACTIVE was set: connect this queue, which its registers had then.
    Connect(Slot, Box<Queue>, Role, Box<Image>),
    /// CP_HQD_ACTIVE was cleared, or the pipe was reset: drop the queue as it is.
    Drop(Slot),
    /// CP_HQD_DEQUEUE_REQUEST: 1 drains, 2 resets, 3 saves the waves.
    Dequeue(Slot, u32),
    /// SPI_COMPUTE_QUEUE_RESET: end the queue's waves and complete its dequeue.
    Kill(Slot),
}

/// Registers that are stored and read back: what they do is not visible to compute queues, or is
/// read from here by the firmware.
const STORED: &[(&str, u32)] = &[
    ("CPC_PSP_DEBUG", 0),
    ("CP_CPC_DEBUG", 0),
    ("CP_CPC_IC_BASE_CNTL", 0),
    ("CP_CPC_MGCG_SYNC_CNTL", 0),
    ("CP_EOPQ_WAIT_TIME", 0x52c),
    ("CP_HYP_XCP_CTL", 0),
    ("CP_INT_CNTL_RING0", 0),
    ("CP_IQ_WAIT_TIME1", 0x4040_4040),
    ("CP_IQ_WAIT_TIME2", 0x4040_4040),
    ("CP_MEC_DOORBELL_RANGE_LOWER", 0),
    ("CP_MEC_DOORBELL_RANGE_UPPER", 0),
    ("CP_MEM_SLP_CNTL", 0x0002_0200),
    ("CP_PQ_STATUS", 0),
    ("CP_PQ_WPTR_POLL_CNTL", 1),
    ("CP_PSP_XCP_CTL", 0),
    ("CP_RB_WPTR_POLL_CNTL", 0x0040_0100),
    ("DB_DEBUG2", 0),
    ("GB_ADDR_CONFIG", 0),
    ("GC_USER_SHADER_ARRAY_CONFIG", 0),
    ("GRBM_CNTL", 0),
    ("GRBM_GFX_INDEX", 0xe000_0000),
    ("RLC_CGCG_CGLS_CTRL", 0x0001_003c),
    ("RLC_CGTT_MGCG_OVERRIDE", 0xffff_ffff),
    ("RLC_CNTL", 1),
    ("RLC_CP_SCHEDULERS", 0x5850_4840),
    ("RLC_MEM_SLP_CNTL", 0x0002_0200),
    ("RLC_SPM_MC_CNTL", 0),
    ("RLC_SRM_CNTL", 2),
    ("RLC_STAT", 0),
    ("SPI_WCL_PIPE_PERCENT_CS0", 0x7f),
    ("SPI_WCL_PIPE_PERCENT_CS1", 0x7f),
    ("SPI_WCL_PIPE_PERCENT_CS2", 0x7f),
    ("SPI_WCL_PIPE_PERCENT_CS3", 0x7f),
    ("SPI_WCL_PIPE_PERCENT_GFX", 0x07ff_ffff),
    ("SQ_CONFIG", 0x0118_0000),
    ("SQ_CONFIG1", 0),
    ("SQ_IND_INDEX", 0),
    ("SQ_TIMEOUT_CONFIG", 0),
    ("TCP_UTCL1_CNTL1", 0x0080_0400),
    ("TCP_UTCL1_CNTL2", 0),
    ("TCP_WATCH0_ADDR_H", 0),
    ("TCP_WATCH0_ADDR_L", 0),
    ("TCP_WATCH1_ADDR_H", 0),
    ("TCP_WATCH1_ADDR_L", 0),
    ("TCP_WATCH2_ADDR_H", 0),
    ("TCP_WATCH2_ADDR_L", 0),
    ("TCP_WATCH3_ADDR_H", 0),
    ("TCP_WATCH3_ADDR_L", 0),
];

/// What SQ_IND_INDEX may have: not vector registers lane by lane, nor one register after the other.
const PLAIN_INDEX: u32 = gc::SQ_IND_INDEX::WAVE_ID.mask()
    | gc::SQ_IND_INDEX::SIMD_ID.mask()
    | gc::SQ_IND_INDEX::FORCE_READ.mask()
    | gc::SQ_IND_INDEX::INDEX.mask();

/// The registers.
pub struct Regs {
    facts: Facts,
    xcc: u8,
    stored: Store,
    select: u32,
    mec_cntl: u32,
    /// The micro engines have not been reset, with their instruction cache, since power-on.
    is_mec_stale: bool,
    /// Their reset, and that of the command processor.
    mec_settling: Settling,
    reset_settling: Settling,
    /// GRBM_SOFT_RESET: what is held in reset.
    soft_reset: u32,
    safe_mode: u32,
    captured: u64,
    int_cntl: [[u32; 4]; 2],
    hqd: Vec<Image>,
    vmid: [Vmid; 16],
    scratch: [u32; 8],
    ports: Ports,
    /// Whether any queue works.
    pub busy: bool,
    /// What the firmware's thread has yet to do.
    pub orders: Vec<Order>,
}

fn undefined<T>(what: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Undefined(what.into()))
}

impl Regs {
    /// An XCC's registers after a reset, with all XCCs in one partition. Its firmware runs, or, where
    /// it is cold, the micro engines are halted.
    pub fn new(facts: &Facts, xcc: u8, cold: bool) -> Self {
        use gc::CP_HYP_XCP_CTL as partition;
        let place =
            Value::zeroed().with(partition::VIRTUAL_XCC_ID, Bounded::low_bits_of(xcc.into()));
        let place = place
            .with(
                partition::NUM_XCC_IN_XCP,
                Bounded::low_bits_of(facts.xccs.into()),
            )
            .bits();
        let start = |&(name, value): &(&'static str, u32)| {
            let value = match name {
                "CP_HYP_XCP_CTL" => place,
                _ => value,
            };
            (name, facts.start_up(name).unwrap_or(value))
        };
        let gds = gc::TABLE
            .regs
            .iter()
            .filter(|r| r.reg.name.starts_with("GDS_"))
            .map(|r| (r.reg.name, 0));
        let stored: Vec<_> = STORED.iter().map(start).chain(gds).collect();
        Self {
            facts: *facts,
            xcc,
            stored: Store::new(&stored),
            select: 0,
            mec_cntl: if cold { HALTED } else { 0 },
            is_mec_stale: cold,
            mec_settling: Settling::default(),
            reset_settling: Settling::default(),
            soft_reset: 0,
            safe_mode: 0,
            captured: 0,
            int_cntl: [[0; 4]; 2],
            hqd: vec![GFX9_4_3.mqd.start_up(); SLOTS],
            vmid: [Vmid::default(); 16],
            scratch: [0; 8],
            ports: Ports::default(),
            busy: false,
            orders: Vec::new(),
        }
    }

    /// Another driver's queues were on the HQDs, and its KIQ still is: it went without a word. Doorbells wake the core
    /// as it had it, and its write pointers are polled.
    pub fn leave_queues(&mut self) {
        self.hqd.iter_mut().for_each(leave_queue);
        // `amdgpu_gfx_kiq_acquire`: the last micro engine and pipe.
        if let Some(kiq) = GFX9_4_3.slots.find(2, 1, 0) {
            self.set_active(kiq.on(self.xcc), true);
        }
        let nowhere = gc::CP_MEC_DOORBELL_RANGE_LOWER.any();
        let polled = gc::CP_PQ_WPTR_POLL_CNTL::EN.mask();
        for (name, value) in [
            (nowhere.name, u32::MAX & !3),
            ("CP_PQ_WPTR_POLL_CNTL", polled),
        ] {
            // They are stored ones.
            let _ = self.stored.put(name, value);
        }
    }

    /// Reads a register.
    ///
    /// # Errors
    /// The access is refused.
    pub fn read(&self, reg: &RegInfo) -> Result<u32, Refused> {
        if let Some(word) = hqd_word(reg) {
            return Ok(self.selected().map_or(0, |slot| self.hqd_word(slot, word)));
        }
        if let Some(n) = number(reg, "SCRATCH_REG") {
            return Ok(self.scratch.get(n).copied().unwrap_or(0));
        }
        if let Some(value) = self.ports.read(reg) {
            return Ok(value);
        }
        let vmid = self.vmid(Value::new(self.select).get(gc::GRBM_GFX_CNTL::VMID) as u8);
        Ok(match reg.reg.name {
            "GRBM_GFX_CNTL" => self.select,
            "CP_MEC_CNTL" => self.mec_cntl,
            "RLC_SAFE_MODE" => self.safe_mode,
            "SH_MEM_BASES" => vmid.sh_mem_bases,
            "SH_MEM_CONFIG" => vmid.sh_mem_config,
            "SPI_GDBG_PER_VMID_CNTL" => vmid.spi_gdbg,
            "TCP_WATCH0_CNTL" => vmid.watch[0],
            "RLC_GPU_CLOCK_COUNT_LSB" => self.captured as u32,
            "RLC_GPU_CLOCK_COUNT_MSB" => (self.captured >> 32) as u32,
            "CC_GC_SHADER_ARRAY_CONFIG" => self.fused(),
            "GRBM_STATUS" if self.busy => {
                gc::GRBM_STATUS::CP_BUSY.mask() | gc::GRBM_STATUS::SPI_BUSY.mask()
            }
            "CP_STAT" | "CP_CPC_STATUS" | "CP_CPF_STATUS" if self.busy => 1 << 31,
            "GRBM_STATUS" | "GRBM_STATUS2" | "CP_STAT" | "CP_CPC_STATUS" | "CP_CPF_STATUS" => 0,
            "GRBM_SOFT_RESET" => self.soft_reset,
            "RLC_GPM_STAT" | "CPC_INT_STATUS" | "SPI_COMPUTE_QUEUE_RESET" => 0,
            "RLC_SERDES_CU_MASTER_BUSY" | "RLC_SERDES_NONCU_MASTER_BUSY" => 0,
            "CP_PQ_WPTR_POLL_CNTL1" | "RLC_CAPTURE_GPU_CLOCK_COUNT" => 0,
            _ => match self.interrupts_of(reg) {
                Some((me, pipe)) => self.int_cntl(me, pipe),
                None => return self.stored.read(reg),
            },
        })
    }

    /// Writes a register; `now` is the time of the device's clock.
    ///
    /// # Errors
    /// The access is refused.
    pub fn write(
        &mut self,
        reg: &RegInfo,
        value: u32,
        now: impl FnOnce() -> u64,
    ) -> Result<(), Refused> {
        if let Some(word) = hqd_word(reg) {
            return match self.selected() {
                Some(slot) => self.write_hqd(slot, word, value),
                None => undefined("GRBM_GFX_CNTL selects no compute queue"),
            };
        }
        if let Some(scratch) = number(reg, "SCRATCH_REG").and_then(|n| self.scratch.get_mut(n)) {
            *scratch = value;
            return Ok(());
        }
        let vmid = Value::new(self.select).get(gc::GRBM_GFX_CNTL::VMID) as usize;
        let reserved = value & !reg.known_bits() != 0;
        match reg.reg.name {
            "GRBM_GFX_CNTL" if reserved => return undefined("reserved bits"),
            "GRBM_GFX_CNTL" => self.select = value,
            "CP_MEC_CNTL" => return self.write_mec_cntl(value),
            // The request is done at once: CMD reads back clear.
            "RLC_SAFE_MODE" => self.safe_mode = value & !gc::RLC_SAFE_MODE::CMD.mask(),
            "SH_MEM_CONFIG" if reserved => return undefined("reserved bits"),
            "SH_MEM_BASES" | "SH_MEM_CONFIG" | "SPI_GDBG_PER_VMID_CNTL" => {
                let bank = self.vmid.get_mut(vmid).ok_or(Refused::NotModelled)?;
                match reg.reg.name {
                    "SH_MEM_BASES" => bank.sh_mem_bases = value,
                    "SH_MEM_CONFIG" => bank.sh_mem_config = value,
                    _ => bank.spi_gdbg = value,
                }
            }
            "RLC_CAPTURE_GPU_CLOCK_COUNT" => self.captured = now(),
            "SPI_COMPUTE_QUEUE_RESET" => match self.selected() {
                Some(slot) if value == 1 => self.orders.push(Order::Kill(slot)),
                Some(_) if value == 0 => {}
                _ => return undefined("no compute queue is selected, or the value is not 1"),
            },
            "TCP_WATCH0_CNTL" => return undefined("firmware sets it with the process"),
            "SQ_IND_DATA" => return undefined("what waves are is not modelled to be set"),
            "SQ_IND_INDEX" if value & PLAIN_INDEX != value => {
                return undefined("only a wave's registers, one at a time, are modelled");
            }
            "CP_PQ_WPTR_POLL_CNTL1" if value == 0 => {}
            "CP_PQ_WPTR_POLL_CNTL1" => {
                return undefined("polling of the write pointer is not modelled")
            }
            "CP_PQ_WPTR_POLL_CNTL" if Value::new(value).get(gc::CP_PQ_WPTR_POLL_CNTL::EN) == 1 => {
                return undefined("polling of the write pointer is not modelled");
            }
            "GRBM_SOFT_RESET" if value == 0 && !self.reset_settling.is_done() => {
                return undefined("a reset is over before it has taken effect");
            }
            "GRBM_SOFT_RESET" if value == 0 => self.soft_reset = 0,
            "GRBM_SOFT_RESET" => return undefined("a packet resets what executes it"),
            "CPC_INT_STATUS" => return undefined("only a packet raises interrupts"),
            "GRBM_STATUS"
            | "GRBM_STATUS2"
            | "CP_STAT"
            | "CP_CPC_STATUS"
            | "CP_CPF_STATUS"
            | "RLC_GPM_STAT"
            | "CC_GC_SHADER_ARRAY_CONFIG"
            | "RLC_GPU_CLOCK_COUNT_LSB"
            | "RLC_GPU_CLOCK_COUNT_MSB" => {
                return Err(Refused::ReadOnly);
            }
            _ => match self.interrupts_of(reg) {
                Some((me, pipe)) => {
                    let cell = self
                        .int_cntl
                        .get_mut(me as usize - 1)
                        .and_then(|me| me.get_mut(pipe as usize));
                    *cell.ok_or(Refused::NotModelled)? = value;
                }
                None => {
                    self.gates().may_write(reg.reg.name, value)?;
                    self.may_sleep(reg.reg.name, value)?;
                    return self.stored.write(reg, value);
                }
            },
        }
        Ok(())
    }

    /// The coarse gates "should be enabled after" the others.
    fn gates(&self) -> Gates {
        Gates {
            safe_mode: self.safe_mode,
            overrides: self.stored.get("RLC_CGTT_MGCG_OVERRIDE").unwrap_or(0),
            in_order: true,
        }
    }

    /// That the command processor says when it is idle before the coarse gates are on, which close then
    /// (`gfx_v9_4_3_xcc_enable_gui_idle_interrupt`).
    fn may_sleep(&self, name: &str, value: u32) -> Result<(), Refused> {
        use gc::{CP_INT_CNTL_RING0 as idle, RLC_CGCG_CGLS_CTRL as coarse};
        let told = idle::CNTX_BUSY_INT_ENABLE.mask()
            | idle::CNTX_EMPTY_INT_ENABLE.mask()
            | idle::CMP_BUSY_INT_ENABLE.mask();
        let tells = self.stored.get("CP_INT_CNTL_RING0").unwrap_or(0) & told == told;
        let gates = name == "RLC_CGCG_CGLS_CTRL" && Value::new(value).is_set(coarse::CGCG_EN);
        match gates && !tells {
            true => undefined(
                "the coarse gates are on, and CP_INT_CNTL_RING0 doesn't tell them when it is idle",
            ),
            false => Ok(()),
        }
    }

    /// Whether waves whose process has retries off check XNACK all the same (`SQ_CONFIG1`).
    pub fn checks_xnack(&self) -> bool {
        let config = Value::new(self.stored.get("SQ_CONFIG1").unwrap_or(0));
        config.get(gc::SQ_CONFIG1::DISABLE_XNACK_CHECK_IN_RETRY_DISABLE) == 0
    }

    /// Which pipe's interrupts a register enables: CPC_INT_CNTL is the selected pipe's.
    fn interrupts_of(&self, reg: &RegInfo) -> Option<(u32, u32)> {
        if reg.reg.name == "CPC_INT_CNTL" {
            let slot = GFX9_4_3.slots.find(
                Value::new(self.select).get(gc::GRBM_GFX_CNTL::MEID),
                Value::new(self.select).get(gc::GRBM_GFX_CNTL::PIPEID),
                0,
            )?;
            return Some((slot.me(), slot.pipe()));
        }
        let pipe = reg
            .reg
            .name
            .strip_prefix("CP_ME1_PIPE")?
            .strip_suffix("_INT_CNTL")?
            .parse()
            .ok()?;
        Some((1, pipe))
    }

    /// CC_GC_SHADER_ARRAY_CONFIG of the selected shader engine.
    fn fused(&self) -> u32 {
        let index =
            Value::<gc::GRBM_GFX_INDEX>::new(self.stored.get("GRBM_GFX_INDEX").unwrap_or(0));
        let engine = index.get(gc::GRBM_GFX_INDEX::SE_INDEX) as usize;
        let fused = self.facts.gc.inactive_cus;
        let mask = fused.get(engine).or(fused.first());
        Value::zeroed()
            .with(
                gc::CC_GC_SHADER_ARRAY_CONFIG::INACTIVE_CUS,
                mask.copied().unwrap_or(0) as u16,
            )
            .bits()
    }

    /// What a register counts of waves in flight, if it is one of those.
    pub(crate) fn count_of(&self, reg: &RegInfo) -> Option<Count> {
        let active = |slot| self.image(slot).get(Image::CP_HQD_ACTIVE) & 1 == 1;
        Count::of(reg, GFX9_4_3.slots, self.select, active)
    }

    /// GRBM_GFX_INDEX and SQ_IND_INDEX, which choose a wave's register.
    pub fn chosen_wave(&self) -> [u32; 2] {
        chosen_wave(&self.stored)
    }

    /// The ports for firmware.
    pub(super) fn ports(&mut self) -> &mut Ports {
        &mut self.ports
    }

    /// Whether doorbells reach the command processor.
    pub fn doorbells_on(&self) -> bool {
        Value::new(self.stored.get("CP_PQ_STATUS").unwrap_or(0))
            .get(gc::CP_PQ_STATUS::DOORBELL_ENABLE)
            == 1
    }

    /// CP_IQ_WAIT_TIME2.SCH_WAVE, in units of 1,000 cycles (of 1 GHz); 0 stands for ever (Linux,
    /// `amdkfd/kfd_packet_manager_v9.c`, `pm_config_dequeue_wait_counts_v9`).
    pub fn grace(&self) -> Option<Duration> {
        let times =
            Value::<gc::CP_IQ_WAIT_TIME2>::new(self.stored.get("CP_IQ_WAIT_TIME2").unwrap_or(0));
        match times.get(gc::CP_IQ_WAIT_TIME2::SCH_WAVE) {
            0 => None,
            count => Some(Duration::from_micros(count.into())),
        }
    }

    /// CP_IQ_WAIT_TIME2.QUE_SLEEP.
    pub fn que_sleep(&self) -> u32 {
        let times = self.stored.get("CP_IQ_WAIT_TIME2").unwrap_or(0);
        Value::<gc::CP_IQ_WAIT_TIME2>::new(times).get(gc::CP_IQ_WAIT_TIME2::QUE_SLEEP)
    }

    /// CPC_INT_CNTL of a pipe.
    pub fn int_cntl(&self, me: u32, pipe: u32) -> u32 {
        let me = (me as usize)
            .checked_sub(1)
            .and_then(|me| self.int_cntl.get(me));
        me.and_then(|me| me.get(pipe as usize))
            .copied()
            .unwrap_or(0)
    }

    /// A VMID's bank.
    pub fn vmid(&self, vmid: u8) -> Vmid {
        self.vmid
            .get(usize::from(vmid))
            .copied()
            .unwrap_or_default()
    }

    /// TCP_WATCH0_ADDR to 3.
    pub fn watched(&self) -> [u64; 4] {
        watched(&self.stored)
    }

    /// Sets a VMID's bank.
    pub fn set_vmid(&mut self, vmid: u8, bank: Vmid) {
        if let Some(cell) = self.vmid.get_mut(usize::from(vmid)) {
            *cell = bank;
        }
    }
}

/// The number at the end of a register's name.
fn number(reg: &RegInfo, prefix: &str) -> Option<usize> {
    reg.reg.name.strip_prefix(prefix)?.parse().ok()
}
