// SPDX-License-Identifier: MIT OR Apache-2.0

//! The registers of gfx1201's graphics core apart from its VM hub, as the transport's thread reads
//! and writes them.
//!
//! GRBM_GFX_CNTL selects the bank: micro engine, pipe and queue for HQD registers and for those of
//! a pipe of MES, the VMID for SH_MEM_*. An access only changes stored state; what it starts is
//! handed to the firmware's thread as an [`Order`].
//!
//! Sources: Linux, `amdgpu/mes_v12_0.c`, `amdgpu/gfx_v12_0.c`, `amdgpu/soc24.c`.

use super::programs::{engine_of, Programs};
use super::ring::Ring;
use super::slot::{Bank, Pipe, BANKS, PIPES};
use crate::blocks::store::Store;
use crate::device::facts::{Facts, GcShape};
use crate::device::start::Start;
use crate::device::Refused;
use crate::engines::clocks::Gates;
use crate::engines::cp::front::generation::GFX12;
use crate::engines::cp::front::hqd::Image as Mqd;
use crate::engines::cp::front::left::leave_queue;
use crate::engines::cp::front::registers::{chosen_wave, reaches_all, watched, Vmid};
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::front::waves::count::Count;
use crate::engines::settling::Settling;
use rkfd_hw::mqd::{FIRST_HQD_WORD, HQD_WORDS};
use rkfd_hw::regs::Value;
use rkfd_hw::regs::{gc_12_0_0 as gc, RegInfo};

mod fused;
mod micro;
mod names;

use names::{READ_ONLY, STORED};

/// The firmware's version as CP_MES_GP3_LO shows it: interface 0x14, in the low bits a revision, usually this one.
const INTERFACE: u32 = 0x14 << 12;
const REVISION: u32 = super::frame::DETECTS_HUNG;

/// Something that a register access asks of the firmware's thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// CP_HQD_ACTIVE of a pipe's queue was set: connect this ring, which its registers had then.
    Connect(Pipe, Box<Ring>, Box<Mqd>),
    /// It was cleared, or the pipe was reset: drop the queue as it is. A ring of MES also when it
    /// is dequeued.
    Drop(Bank),
    /// CP_HQD_DEQUEUE_REQUEST of a compute queue: 1 drains, 2 resets, 3 saves the waves.
    Dequeue(Slot, u32),
    /// SPI_COMPUTE_QUEUE_RESET: end the queue's waves and complete its dequeue.
    Kill(Slot),
}

/// What SQ_IND_INDEX may have: not vector registers lane by lane, nor one register after the other.
const PLAIN_INDEX: u32 = gc::SQ_IND_INDEX::WAVE_ID.mask() | gc::SQ_IND_INDEX::INDEX.mask();

/// What a store to GRBM_SOFT_RESET resets.
pub struct Resets {
    /// The command processor, with MES and all waves.
    pub cp: bool,
    /// Each of the copy engines.
    pub sdma: [bool; 2],
}

/// A pipe's own registers.
#[derive(Clone, Copy, Default, Debug)]
struct PipeRegs {
    /// CP_MES_MSCRATCH_LO and _HI.
    mscratch: [u32; 2],
}

/// The registers.
pub struct Regs {
    stored: Store,
    /// All engines have their firmware, as of the last access.
    pub loaded: bool,
    /// Where engines begin.
    programs: Programs,
    shape: GcShape,
    select: u32,
    mes_cntl: u32,
    me_cntl: u32,
    mec_cntl: u32,
    /// A halt of the compute micro engine, and a reset of the command processor or of copy engines.
    mec_settling: Settling,
    reset_settling: Settling,
    /// GRBM_SOFT_RESET: what is held in reset.
    soft_reset: u32,
    /// CP_ME1_PIPEn_INT_CNTL, of which CPC_INT_CNTL is the selected pipe's.
    int_cntl: [u32; 2],
    safe_mode: u32,
    captured: u64,
    /// The firmware's revision.
    pub revision: u32,
    pipes: [PipeRegs; PIPES],
    hqd: Vec<Mqd>,
    vmid: [Vmid; 16],
    /// Whether a frame is being carried out.
    pub busy: bool,
    /// What the firmware's thread has yet to do.
    pub orders: Vec<Order>,
}

fn undefined<T>(what: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Undefined(what.into()))
}

impl Regs {
    /// The registers after a reset. All engines are halted, as from power-on and as a driver leaves them
    /// (`gfx_v12_0_hw_fini`). From a cold start only what firmware was handed out to them has programs.
    pub fn new(facts: &Facts, loaded: bool, from: Start) -> Self {
        use gc::{CP_MEC_RS64_CNTL as mec, CP_ME_CNTL as me};
        let start =
            |&(name, value): &(&'static str, u32)| (name, facts.start_up(name).unwrap_or(value));
        Self {
            stored: Store::new(&STORED.iter().map(start).collect::<Vec<_>>()),
            loaded,
            programs: Programs::new(!from.cold),
            shape: facts.gc,
            select: 0,
            mes_cntl: gc::CP_MES_CNTL::MES_HALT.mask(),
            // As a driver leaves them (`gfx_v12_0_hw_fini`), and as they come from power-on.
            me_cntl: me::PFP_HALT.mask() | me::ME_HALT.mask(),
            mec_cntl: mec::MEC_HALT.mask(),
            mec_settling: Settling::default(),
            reset_settling: Settling::default(),
            soft_reset: 0,
            int_cntl: [0; 2],
            safe_mode: 0,
            captured: 0,
            revision: from.mes_revision.unwrap_or(REVISION),
            pipes: Default::default(),
            hqd: vec![Mqd::zeroed(); BANKS],
            vmid: Default::default(),
            busy: false,
            orders: Vec::new(),
        }
    }

    /// Another driver's queues were on the HQDs. It has halted the engines, with their pipes in reset
    /// (`mes_v12_0_enable`, `gfx_v12_0_cp_compute_enable`), and other doorbells were the compute engine's.
    pub fn leave_queues(&mut self) {
        use gc::{CP_MEC_RS64_CNTL as mec, CP_MES_CNTL as mes};
        self.hqd.iter_mut().for_each(leave_queue);
        self.mes_cntl |= mes::MES_INVALIDATE_ICACHE.mask()
            | mes::MES_PIPE0_RESET.mask()
            | mes::MES_PIPE1_RESET.mask();
        self.mec_cntl |= mec::MEC_INVALIDATE_ICACHE.mask()
            | mec::MEC_PIPE0_RESET.mask()
            | mec::MEC_PIPE1_RESET.mask()
            | mec::MEC_PIPE2_RESET.mask()
            | mec::MEC_PIPE3_RESET.mask();
        // It is a stored one.
        let _ = self.stored.put("CP_MEC_DOORBELL_RANGE_LOWER", 0x0fff_fffc);
    }

    /// Reads a register.
    ///
    /// # Errors
    /// The access is refused.
    pub fn read(&mut self, reg: &RegInfo) -> Result<u32, Refused> {
        if engine_of(reg).is_some() {
            let word = self.programs.read(reg, self.select);
            return word.ok_or_else(no_pipe);
        }
        if let Some(word) = hqd_word(reg) {
            let bank = Bank::selected(self.select);
            return Ok(bank.map_or(0, |bank| self.image(bank).0.get(word).copied().unwrap_or(0)));
        }
        let pipe = Pipe::selected(self.select);
        let of_pipe = |f: fn(&PipeRegs) -> u32| {
            let regs = pipe.and_then(|pipe| self.pipes.get(pipe.index()));
            regs.map(f).ok_or_else(no_pipe)
        };
        let vmid = self.vmid.get(self.selected_vmid()).copied();
        let vmid = vmid.unwrap_or_default();
        Ok(match reg.reg.name {
            "GRBM_GFX_CNTL" => self.select,
            "CP_MES_CNTL" => self.mes_cntl,
            "CP_MES_MSCRATCH_LO" => return of_pipe(|p| p.mscratch[0]),
            "CP_MES_MSCRATCH_HI" => return of_pipe(|p| p.mscratch[1]),
            "CP_MES_GP3_LO" => match pipe {
                Some(pipe) if self.runs(pipe) => INTERFACE | self.revision,
                Some(_) => 0,
                None => return Err(no_pipe()),
            },
            "CP_MES_GP3_HI" => 0,
            "RLC_SAFE_MODE" => self.safe_mode,
            "RLC_CNTL" => self.rlc_runs().into(),
            "SH_MEM_BASES" => vmid.sh_mem_bases,
            "SH_MEM_CONFIG" => vmid.sh_mem_config,
            "SPI_GDBG_PER_VMID_CNTL" => vmid.spi_gdbg,
            "TCP_WATCH0_CNTL" => vmid.watch[0],
            "RLC_GPU_CLOCK_COUNT_LSB" => self.captured as u32,
            "RLC_GPU_CLOCK_COUNT_MSB" => (self.captured >> 32) as u32,
            "RLC_CAPTURE_GPU_CLOCK_COUNT" => 0,
            "RLC_RLCS_BOOTLOAD_STATUS" => Value::zeroed()
                .with(gc::RLC_RLCS_BOOTLOAD_STATUS::BOOTLOAD_COMPLETE, self.loaded)
                .bits(),
            "GRBM_STATUS" if self.busy => gc::GRBM_STATUS::GUI_ACTIVE.mask(),
            "CC_GC_SHADER_ARRAY_CONFIG" => {
                fused::processors(&self.shape, self.stored.get("GRBM_GFX_INDEX").unwrap_or(0))
            }
            // No array is fused off as a whole; a queue's reset is done at once.
            "GRBM_STATUS" | "CP_STAT" => 0,
            "CC_RB_BACKEND_DISABLE" | "GRBM_CC_GC_SA_UNIT_DISABLE" => 0,
            "CP_ME_CNTL" => self.me_cntl,
            "SPI_COMPUTE_QUEUE_RESET" => 0,
            "CP_MEC_RS64_CNTL" => self.mec_cntl,
            "GRBM_SOFT_RESET" => self.soft_reset,
            _ => match self.interrupts_of(reg) {
                Some(pipe) => self.int_cntl.get(pipe).copied().unwrap_or(0),
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
        let name = reg.reg.name;
        if READ_ONLY.contains(&name) {
            return Err(Refused::ReadOnly);
        }
        let known = reg.known_bits();
        if !reg.fields.is_empty() && value & !known != 0 {
            return undefined(format!(
                "bits {:#x}, which the register lacks",
                value & !known
            ));
        }
        if engine_of(reg).is_some() {
            let written = self.programs.write(reg, self.select, value);
            return written.ok_or_else(no_pipe);
        }
        if let Some(word) = hqd_word(reg) {
            return match Bank::selected(self.select) {
                Some(bank) => self.write_hqd(bank, word, value),
                None => undefined("GRBM_GFX_CNTL selects no compute queue"),
            };
        }
        let rlc_runs = self.rlc_runs();
        let vmid = self.selected_vmid();
        let bank = self.vmid.get_mut(vmid).ok_or(Refused::NotModelled)?;
        match name {
            "GRBM_GFX_CNTL" => self.select = value,
            "CP_MES_CNTL" => return self.write_mes_cntl(value),
            "CP_MES_MSCRATCH_LO" => self.pipe_regs()?.mscratch[0] = value,
            "CP_MES_MSCRATCH_HI" => self.pipe_regs()?.mscratch[1] = value,
            "RLC_SAFE_MODE" if !rlc_runs => {
                return undefined("no run list controller runs that could answer");
            }
            // The request is done at once: CMD reads back clear.
            "RLC_SAFE_MODE" => self.safe_mode = value & !gc::RLC_SAFE_MODE::CMD.mask(),
            "SH_MEM_BASES" => bank.sh_mem_bases = value,
            "SH_MEM_CONFIG" => bank.sh_mem_config = value,
            "SPI_GDBG_PER_VMID_CNTL" => bank.spi_gdbg = value,
            "RLC_CAPTURE_GPU_CLOCK_COUNT" => self.captured = now(),
            "TCP_WATCH0_CNTL" => return undefined("firmware sets it with the process"),
            "SQ_IND_DATA" => return undefined("what waves are is not modelled to be set"),
            "SQ_IND_INDEX" if value & PLAIN_INDEX != value => {
                return undefined("only a wave's registers, one at a time, are modelled");
            }
            "CP_ME_CNTL" => return self.write_me_cntl(value),
            "CP_MEC_RS64_CNTL" => return self.write_mec_cntl(value),
            "GRBM_SOFT_RESET" if value & self.soft_reset == value => self.soft_reset = value,
            "GRBM_SOFT_RESET" => return undefined("a frame resets what carries it out"),
            "SPI_COMPUTE_QUEUE_RESET" => match Bank::selected(self.select) {
                Some(Bank::Compute(slot)) if value == 1 => self.orders.push(Order::Kill(slot)),
                Some(Bank::Compute(_)) if value == 0 => {}
                _ => return undefined("no compute queue is selected, or the value is not 1"),
            },
            _ => match self.interrupts_of(reg) {
                Some(pipe) => {
                    let place = self.int_cntl.get_mut(pipe);
                    *place.ok_or(Refused::NotModelled)? = value;
                }
                None => {
                    let gates = Gates {
                        safe_mode: self.safe_mode,
                        overrides: self.stored.get("RLC_CGTT_MGCG_OVERRIDE").unwrap_or(0),
                        in_order: false,
                    };
                    gates.may_write(name, value)?;
                    return self.stored.write(reg, value);
                }
            },
        }
        Ok(())
    }

    /// What a store to GRBM_SOFT_RESET puts into reset that wasn't: the command processor with MES and
    /// all shaders, and copy engines.
    ///
    /// # Errors
    /// Other blocks, and the command processor without the waves that it launched, are not modelled.
    pub fn resets(&self, value: u32) -> Result<Resets, Refused> {
        use gc::GRBM_SOFT_RESET as reset;
        let all = [
            reset::SOFT_RESET_CP,
            reset::SOFT_RESET_GFX,
            reset::SOFT_RESET_CPF,
            reset::SOFT_RESET_CPC,
            reset::SOFT_RESET_CPG,
        ];
        let cp = all.iter().fold(0, |bits, part| bits | part.mask());
        let sdma = [reset::SOFT_RESET_SDMA0, reset::SOFT_RESET_SDMA1].map(|field| field.mask());
        if value & !(cp | sdma[0] | sdma[1]) != 0 || ![0, cp].contains(&(value & cp)) {
            return undefined("only a reset of all of CP with GFX, and of SDMA, is modelled");
        }
        let new = value & !self.soft_reset;
        let slots = GFX12.slots.all();
        let mut busy = slots.filter(|slot| self.is_active(Bank::Compute(*slot)));
        if new & cp != 0 && busy.any(|slot| !self.is_halted(slot)) {
            return undefined("the command processor is reset while its micro engine runs queues");
        }
        if new & cp != 0 && !self.mec_settling.is_done() {
            return undefined("the command processor is reset before a halt has taken effect");
        }
        if self.soft_reset & !value != 0 && !self.reset_settling.is_done() {
            return undefined("a reset is over before it has taken effect");
        }
        Ok(Resets {
            cp: new & cp != 0,
            sdma: sdma.map(|mask| new & mask != 0),
        })
    }

    /// What GRBM_SOFT_RESET holds in reset.
    pub fn hold(&mut self, value: u32) {
        if value & !self.soft_reset != 0 {
            self.reset_settling.begin();
        }
        self.soft_reset = value;
    }

    /// The command processor's registers lose their values; what halts the micro engines stays.
    pub fn lose_cp(&mut self, facts: &Facts) {
        for (name, start) in STORED.iter().filter(|(name, _)| name.starts_with("CP_")) {
            let start = facts.start_up(name).unwrap_or(*start);
            // It is one of the stored ones.
            let _ = self.stored.put(name, start);
        }
        self.hqd = vec![Mqd::zeroed(); BANKS];
        self.vmid = Default::default();
        self.int_cntl = [0; 2];
        self.orders.clear();
    }

    fn pipe_regs(&mut self) -> Result<&mut PipeRegs, Refused> {
        let pipe = Pipe::selected(self.select).ok_or_else(no_pipe)?;
        self.pipes.get_mut(pipe.index()).ok_or_else(no_pipe)
    }

    /// Which pipe's interrupts a register enables.
    fn interrupts_of(&self, reg: &RegInfo) -> Option<usize> {
        match reg.reg.name {
            "CP_ME1_PIPE0_INT_CNTL" => Some(0),
            "CP_ME1_PIPE1_INT_CNTL" => Some(1),
            "CPC_INT_CNTL" => {
                let me = Value::new(self.select).get(gc::GRBM_GFX_CNTL::MEID);
                let pipe = Value::new(self.select).get(gc::GRBM_GFX_CNTL::PIPEID);
                GFX12
                    .slots
                    .find(me, pipe, 0)
                    .map(|slot| slot.pipe() as usize)
            }
            _ => None,
        }
    }

    fn write_hqd(&mut self, bank: Bank, word: usize, value: u32) -> Result<(), Refused> {
        if self.soft_reset & gc::GRBM_SOFT_RESET::SOFT_RESET_CP.mask() != 0 {
            return undefined("the command processor is held in reset");
        }
        let active = self.is_active(bank);
        let is = |at: usize| at == word;
        if is(Mqd::CP_HQD_ACTIVE.word()) {
            match (bank, active, value & 1 == 1) {
                (_, true, false) => self.orders.push(Order::Drop(bank)),
                (Bank::Mes(pipe), false, true) => {
                    if !self.runs(pipe) {
                        return undefined("CP_MES_CNTL does not run the queue's pipe");
                    }
                    let scheduler = self.stored.get("RLC_CP_SCHEDULERS").unwrap_or(0) & 0xff;
                    if scheduler != pipe.scheduler() {
                        return undefined("RLC_CP_SCHEDULERS does not name the queue");
                    }
                    let ring = Ring::from_hqd(self.image(bank)).map_err(Refused::Undefined)?;
                    self.is_set_up()?;
                    let image = Box::new(*self.image(bank));
                    self.orders
                        .push(Order::Connect(pipe, Box::new(ring), image));
                }
                (Bank::Compute(_), false, true) => {
                    return undefined("a compute queue that registers connect is not modelled")
                }
                _ => {}
            }
        } else if is(Mqd::CP_HQD_DEQUEUE_REQUEST.word()) && active {
            match (
                bank,
                Value::new(value).get(gc::CP_HQD_DEQUEUE_REQUEST::DEQUEUE_REQ),
            ) {
                (_, 0) => {}
                (Bank::Mes(_), 1..=3) => self.orders.push(Order::Drop(bank)),
                (Bank::Compute(slot), request @ 1..=3) => {
                    self.orders.push(Order::Dequeue(slot, request));
                }
                (_, request) => return undefined(format!("dequeue request {request}")),
            }
        } else if active && !is(Mqd::CP_HQD_PQ_DOORBELL_CONTROL.word()) {
            return undefined("the queue is active");
        }
        if let Some(cell) = self.image_mut(bank).0.get_mut(word) {
            *cell = value;
        }
        Ok(())
    }

    /// That the command processor goes on after a page fault (`gfxhub_v12_0_set_fault_enable_default`) and knows which
    /// doorbells are its own (`gfx_v12_0_cp_set_doorbell_range`).
    fn is_set_up(&self) -> Result<(), Refused> {
        let get = |name| self.stored.get(name).unwrap_or(0);
        let debug = Value::<gc::CP_DEBUG>::new(get("CP_DEBUG"));
        if !debug.is_set(gc::CP_DEBUG::CPG_UTCL1_ERROR_HALT_DISABLE) {
            return undefined("CP_DEBUG lets a page fault halt the command processor");
        }
        if get("CP_MEC_DOORBELL_RANGE_LOWER") >= get("CP_MEC_DOORBELL_RANGE_UPPER") {
            return undefined("CP_MEC_DOORBELL_RANGE has no doorbell");
        }
        reaches_all(&self.stored)
    }

    /// What a register counts of waves in flight, if it is one of those.
    pub(crate) fn count_of(&self, reg: &RegInfo) -> Option<Count> {
        let active = |slot| self.image(Bank::Compute(slot)).get(Mqd::CP_HQD_ACTIVE) & 1 == 1;
        Count::of(reg, GFX12.slots, self.select, active)
    }

    /// GRBM_GFX_INDEX and SQ_IND_INDEX, which choose a wave's register.
    pub fn chosen_wave(&self) -> [u32; 2] {
        chosen_wave(&self.stored)
    }

    fn selected_vmid(&self) -> usize {
        Value::new(self.select).get(gc::GRBM_GFX_CNTL::VMID) as usize
    }

    /// Whether the run list controller runs: it has its firmware, and nobody has stopped it.
    fn rlc_runs(&self) -> bool {
        let control = self.stored.get("RLC_CNTL").unwrap_or(0);
        self.loaded && control & gc::RLC_CNTL::RLC_ENABLE_F32.mask() != 0
    }

    /// Whether the firmware runs on a pipe: it is loaded, not halted, and the pipe is active and
    /// not in reset.
    pub fn runs(&self, pipe: Pipe) -> bool {
        self.loaded && is_run(Value::new(self.mes_cntl), pipe)
    }

    /// Whether the compute micro engine is halted, or its pipe of a queue isn't active or is in reset.
    pub fn is_halted(&self, slot: Slot) -> bool {
        use gc::CP_MEC_RS64_CNTL as mec;
        let active = u32::from(mec::MEC_PIPE0_ACTIVE.bit()) + slot.pipe();
        let reset = u32::from(mec::MEC_PIPE0_RESET.bit()) + slot.pipe();
        Value::<mec>::new(self.mec_cntl).get(mec::MEC_HALT) == 1
            || (self.mec_cntl >> active) & 1 == 0
            || (self.mec_cntl >> reset) & 1 == 1
    }

    /// CPC_INT_CNTL of a compute pipe.
    pub fn int_cntl(&self, pipe: u32) -> u32 {
        self.int_cntl.get(pipe as usize).copied().unwrap_or(0)
    }

    /// Whether the scheduler gets doorbells of queues that have no HQD.
    pub fn hears_unmapped(&self) -> bool {
        let register = Value::<gc::CP_UNMAPPED_DOORBELL>::new(
            self.stored.get("CP_UNMAPPED_DOORBELL").unwrap_or(0),
        );
        register.get(gc::CP_UNMAPPED_DOORBELL::ENABLE) == 1
    }

    /// That doorbells of queues without an HQD are told of as a mode of `unmapped_doorbell_handling` has it. Linux's is
    /// 2, with 8 KiB of doorbells for each process, and with messages of them to the scheduler's queue.
    ///
    /// # Errors
    /// They are not.
    pub fn tells_unmapped(&self, mode: u64) -> Result<(), &'static str> {
        use gc::{CP_HQD_GFX_CONTROL as messages, CP_UNMAPPED_DOORBELL as unmapped};
        const SLICE_BIT: u32 = 13;
        let get = |name| self.stored.get(name).unwrap_or(0);
        let register = Value::<unmapped>::new(get("CP_UNMAPPED_DOORBELL"));
        let tells =
            Value::<messages>::new(get("CP_HQD_GFX_CONTROL")).is_set(messages::DB_UPDATED_MSG_EN);
        match mode {
            0 if register.is_set(unmapped::ENABLE) => Err(
                "CP_UNMAPPED_DOORBELL tells of doorbells that unmapped_doorbell_handling ignores",
            ),
            2 if !register.is_set(unmapped::ENABLE) => {
                Err("CP_UNMAPPED_DOORBELL is not enabled for unmapped_doorbell_handling 2")
            }
            2 if register.get(unmapped::PROC_LSB) != SLICE_BIT => {
                Err("CP_UNMAPPED_DOORBELL.PROC_LSB is not 13: a process' doorbells are 8 KiB")
            }
            2 if !tells => Err("CP_HQD_GFX_CONTROL lacks DB_UPDATED_MSG_EN"),
            _ => Ok(()),
        }
    }

    /// The doorbell of a level, if it is enabled.
    pub fn aggregated(&self, level: usize) -> Option<u32> {
        const NAMES: [&str; 5] = [
            "CP_MES_DOORBELL_CONTROL1",
            "CP_MES_DOORBELL_CONTROL2",
            "CP_MES_DOORBELL_CONTROL3",
            "CP_MES_DOORBELL_CONTROL4",
            "CP_MES_DOORBELL_CONTROL5",
        ];
        use gc::CP_MES_DOORBELL_CONTROL1 as bell;
        let register = Value::<bell>::new(NAMES.get(level).and_then(|name| self.stored.get(name))?);
        (register.get(bell::DOORBELL_EN) == 1).then(|| register.get(bell::DOORBELL_OFFSET))
    }

    /// A VMID's bank.
    pub fn vmid(&self, vmid: u8) -> Vmid {
        let bank = self.vmid.get(usize::from(vmid));
        bank.copied().unwrap_or_default()
    }

    /// TCP_WATCH0_ADDR to 3.
    pub fn watched(&self) -> [u64; 4] {
        watched(&self.stored)
    }

    /// Sets a VMID's bank.
    pub fn set_vmid(&mut self, vmid: u8, bank: Vmid) {
        if let Some(place) = self.vmid.get_mut(usize::from(vmid)) {
            *place = bank;
        }
    }

    /// An HQD's registers.
    pub fn image(&self, bank: Bank) -> &Mqd {
        // There is one image for each bank.
        &self.hqd[bank.index()]
    }

    /// An HQD's registers, to change: what the firmware does.
    pub fn image_mut(&mut self, bank: Bank) -> &mut Mqd {
        &mut self.hqd[bank.index()]
    }

    /// CP_HQD_ACTIVE.
    pub fn is_active(&self, bank: Bank) -> bool {
        self.image(bank).get(Mqd::CP_HQD_ACTIVE) & 1 == 1
    }

    /// Sets CP_HQD_ACTIVE; a queue that goes has no dequeue request any more.
    pub fn set_active(&mut self, bank: Bank, on: bool) {
        let image = self.image_mut(bank);
        image.set(Mqd::CP_HQD_ACTIVE, on.into());
        if !on {
            image.set(Mqd::CP_HQD_DEQUEUE_REQUEST, 0);
        }
    }
}

/// Whether CP_MES_CNTL lets a pipe run.
fn is_run(cntl: Value<gc::CP_MES_CNTL>, pipe: Pipe) -> bool {
    use gc::CP_MES_CNTL as mes;
    let (active, reset) = match pipe {
        Pipe::Scheduler => (mes::MES_PIPE0_ACTIVE, mes::MES_PIPE0_RESET),
        Pipe::Kernel => (mes::MES_PIPE1_ACTIVE, mes::MES_PIPE1_RESET),
    };
    !cntl.is_set(mes::MES_HALT) && cntl.is_set(active) && !cntl.is_set(reset)
}

fn no_pipe() -> Refused {
    Refused::Undefined("GRBM_GFX_CNTL selects no pipe of the engine".into())
}

/// The word of an MQD that a register is loaded from: those from CP_MQD_BASE_ADDR on, in order.
fn hqd_word(reg: &RegInfo) -> Option<usize> {
    let first = gc::CP_MQD_BASE_ADDR.any();
    let n = reg.reg.offset.checked_sub(first.offset)? as usize;
    (reg.reg.segment == first.segment && n < HQD_WORDS).then_some(FIRST_HQD_WORD + n)
}
