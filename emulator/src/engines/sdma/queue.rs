// SPDX-License-Identifier: MIT OR Apache-2.0

//! A queue of an engine: loaded from an MQD and saved to it, or set up by registers.
//!
//! Sources: Linux, `amdkfd/kfd_mqd_manager_v9.c` and `_v12.c` (`update_mqd_sdma`),
//! `amdgpu/amdgpu_amdkfd_arcturus.c` (`kgd_arcturus_hqd_sdma_load`, which does by registers what a
//! scheduler's firmware does: pointers are bytes since the queue was made, 64 bits wide).

use super::generation::{Generation, TICK};
use super::packet::Packet;
use super::{Mapping, Slot, State, Stop, View, MQD_WORDS, QUEUES};
use crate::device::Env;
use crate::memory::{Hub, VmFault, PAGE};
use crate::report::Wrong;
use crate::rules::Holds;
use rkfd_hw::regs::sdma_4_4_2::{SDMA_RLC0_DOORBELL_OFFSET as BELL, SDMA_RLC0_RB_CNTL as RB};
use rkfd_hw::regs::Value;

/// IB_CNTL: IB_ENABLE and SWITCH_INSIDE_IB, in both generations.
const IB_CNTL: u32 = 1 | (1 << 8);
/// DOORBELL: ENABLE.
pub(super) const DOORBELL_ENABLE: u32 = 1 << 28;
/// DOORBELL: ENABLE and CAPTURED.
const DOORBELL: u32 = DOORBELL_ENABLE | (1 << 30);
/// RB_AQL_CNTL: AQL_ENABLE.
const AQL_ENABLE: u32 = 1;

/// An indirect buffer in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Ib {
    pub base: u64,
    /// Size and place in words.
    pub words: u64,
    pub at: u64,
}

/// A loaded queue. Pointers count bytes since it was made.
#[derive(Clone)]
pub(super) struct Queue {
    pub slot: Slot,
    /// Which of those that were at its place one after the other.
    pub serial: u64,
    /// Where it came from and goes to; the kernel's has none.
    pub mqd: Option<u64>,
    pub image: Box<[u32; MQD_WORDS]>,
    pub vmid: u8,
    pub pasid: u16,
    /// Address of the ring, and its size in bytes, a power of two.
    pub ring: u64,
    pub size: u64,
    pub rptr: u64,
    pub wptr: u64,
    /// Where the read pointer is reported, or 0.
    pub report: u64,
    pub doorbell: u32,
    pub ib: Option<Ib>,
    /// For how long the engine was at work on its packets, in ns, since it was made.
    pub worked: u64,
}

impl Queue {
    /// Reads and checks an MQD, and the write pointer where it lies. What stands there is the
    /// program's: a value that no queue can have is recorded, and leaves the MQD's.
    ///
    /// # Errors
    /// What is wrong; faults were reported besides.
    pub fn load(env: &dyn Env, generation: &Generation, m: &Mapping) -> Result<Self, Wrong> {
        let mut image = Box::new([0; MQD_WORDS]);
        if m.mqd % 4 != 0 {
            return Err(format!("MQD address {:#x} is misaligned", m.mqd).into());
        }
        env.memory()
            .space(Hub::Gfx(0), 0)
            .read_words(m.mqd, &mut *image)
            .map_err(|fault| refused(env, fault))?;
        let queue = Self::from_image(generation, m, image, generation.rb_cntl)?;
        for &(name, word, bits, value) in generation.fixed {
            let got = queue.image.get(word).copied().unwrap_or(0) & bits;
            if got != value {
                return Err(format!("{name} has {got:#x}, not {value:#x}").into());
            }
        }
        let no_time = |(word, bits): (usize, u32)| queue.image.get(word).unwrap_or(&0) & bits == 0;
        if generation.mqd.quantum.is_some_and(no_time) {
            return Err("SCHED_CNTL gives the queue no time on its engine".into());
        }
        if usize::from(queue.slot.queue) >= QUEUES {
            return Err(format!("an engine has no queue {}", queue.slot.queue).into());
        }
        let mut queue = queue.with_doorbell_of(env)?;
        queue.mqd = Some(m.mqd);
        if !queue.look_for_wptr(env, generation, m)? {
            env.report().fault(format_args!(
                "SDMA: a write pointer in memory is inside a word, or more than a ring ahead"
            ));
        }
        Ok(queue)
    }

    /// # Errors
    /// Its doorbell is beyond the BAR.
    pub fn with_doorbell_of(self, env: &dyn Env) -> Result<Self, Wrong> {
        if self.doorbell >= env.doorbells().words() {
            return Err(format!("doorbell {:#x} is beyond the BAR", self.doorbell).into());
        }
        Ok(self)
    }

    /// Takes the write pointer from memory, where what was rung before is. Returns `false` if it is no
    /// pointer into the ring, and leaves the one that the queue has.
    ///
    /// # Errors
    /// It can't be read; a fault was reported besides.
    pub fn look_for_wptr(
        &mut self,
        env: &dyn Env,
        generation: &Generation,
        m: &Mapping,
    ) -> Result<bool, Wrong> {
        if m.wptr == 0 {
            return Err("no address of a write pointer".into());
        }
        if m.wptr % 8 != 0 {
            return Err(Wrong::of_program("a misaligned write pointer"));
        }
        let space = (env.memory()).space((generation.hub)(self.slot.engine), m.wptr_vmid);
        let wptr = space
            .load_u64(m.wptr)
            .map_err(|fault| refused(env, fault))?;
        Ok(self.advance(wptr))
    }

    /// Checks the words of an MQD, of which RB_CNTL `may` have some bits.
    ///
    /// # Errors
    /// What is wrong.
    pub fn from_image(
        generation: &Generation,
        m: &Mapping,
        image: Box<[u32; MQD_WORDS]>,
        may: u32,
    ) -> Result<Self, Wrong> {
        let at = generation.mqd;
        let word = |n: usize| image.get(n).copied().unwrap_or(0);
        let wide = |low: usize, high: usize| u64::from(word(low)) | (u64::from(word(high)) << 32);
        let err = |what: &str| Err(Wrong::from(what));
        // What a program may have asked for by CREATE_QUEUE or UPDATE_QUEUE.
        let its = |what: &str| Err(Wrong::of_program(what));
        if let Some(word) = (generation.reserved)(*image) {
            return Err(format!("reserved word {word} is set").into());
        }
        let control = word(at.rb_cntl);
        if control & !may != 0 {
            return Err(format!(
                "RB_CNTL has bits {:#x}: a VMID, byte swaps, or privilege and polling, which are not a \
                 process's",
                control & !may
            )
            .into());
        }
        for (name, value, may) in [
            ("IB_CNTL", word(at.ib_cntl), IB_CNTL),
            ("DOORBELL", word(at.doorbell), DOORBELL),
            (
                "DOORBELL_OFFSET",
                word(at.doorbell_offset),
                BELL::OFFSET.mask(),
            ),
        ] {
            if value & !may != 0 {
                return Err(format!("{name} has bits {:#x}", value & !may).into());
            }
        }
        if word(at.aql_cntl) & AQL_ENABLE != 0 {
            return err("AQL mode is not modelled");
        }
        // The size is in words; Linux makes none below 1 KiB.
        let log2 = Value::new(control).get(RB::RB_SIZE);
        if !(8..=29).contains(&log2) {
            return Err(format!("RB_SIZE {log2}: no ring of 2^{log2} words").into());
        }
        let ring = wide(at.rb_base, at.rb_base + 1) << 8;
        if ring == 0 {
            return err("RB_BASE is 0");
        }
        let doorbell = Value::new(word(at.doorbell_offset)).get(BELL::OFFSET);
        if doorbell % 2 != 0 {
            return Err(format!("doorbell {doorbell:#x} is not on a 64-bit boundary").into());
        }
        if doorbell != m.doorbell {
            return Err(format!("doorbell {:#x}, but {doorbell:#x} in the MQD", m.doorbell).into());
        }
        let report = wide(at.rptr_addr.0, at.rptr_addr.1);
        if report % 8 != 0 {
            return its("RB_RPTR_ADDR is not a multiple of 8");
        }
        if let Some((low, high)) = at.poll_addr {
            // The same place by two address spaces is at the same place of its page.
            let apart = wide(low, high) ^ m.wptr;
            if apart % PAGE != 0 || (m.wptr_vmid == m.vmid && apart != 0) {
                return err("RB_WPTR_POLL_ADDR is not the write pointer's address");
            }
        }
        let (engine, queue) = (word(at.engine), word(at.queue));
        if m.engine.is_some_and(|named| u32::from(named) != engine) {
            return Err(format!("the engine is not that of the MQD, {engine}").into());
        }
        let (rptr, wptr) = (wide(at.rptr, at.rptr + 1), wide(at.wptr, at.wptr + 1));
        let size = 4u64 << log2;
        if (rptr | wptr) % 4 != 0 || rptr > wptr || wptr - rptr > size || wptr >> 60 != 0 {
            return its("RB_RPTR and RB_WPTR are not pointers into one ring");
        }
        let (words, place) = (u64::from(word(at.ib_size)), u64::from(word(at.ib_rptr)) / 4);
        let base = wide(at.ib_base, at.ib_base + 1);
        if place > words || (words != 0 && base % 32 != 0) {
            return err("IB_RPTR is beyond IB_SIZE, or IB_BASE is misaligned");
        }
        Ok(Self {
            slot: Slot {
                engine: u8::try_from(engine).unwrap_or(u8::MAX),
                queue: u8::try_from(queue).unwrap_or(u8::MAX),
            },
            serial: 0,
            mqd: None,
            vmid: m.vmid,
            pasid: m.pasid,
            ring,
            size,
            rptr,
            wptr,
            report: match Value::new(control).get(RB::RPTR_WRITEBACK_ENABLE) {
                0 => 0,
                _ => report,
            },
            doorbell,
            worked: at
                .utilization
                .map_or(0, |low| wide(low, low + 1).saturating_mul(TICK)),
            ib: (place < words).then_some(Ib {
                base,
                words,
                at: place,
            }),
            image,
        })
    }

    /// Moves the write pointer to a value from a doorbell or from memory. Returns `false`, and changes
    /// nothing, if that is inside a word or more than a ring ahead. It never moves back.
    pub fn advance(&mut self, to: u64) -> bool {
        if to % 4 != 0 || to > self.rptr.saturating_add(self.size) {
            return false;
        }
        self.wptr = self.wptr.max(to);
        true
    }

    /// Whether a packet waits.
    pub fn has_work(&self) -> bool {
        self.ib.is_some() || self.rptr < self.wptr
    }

    /// Address of the ring's word that a pointer counts to.
    pub fn at(&self, pointer: u64) -> u64 {
        self.ring.wrapping_add(pointer & (self.size - 1))
    }

    /// Writes what goes on later into the image; the words that changed, as runs.
    pub fn save(&mut self, generation: &Generation) -> Vec<(usize, Vec<u32>)> {
        let at = generation.mqd;
        let halves = |value: u64| vec![value as u32, (value >> 32) as u32];
        let ib = self.ib.unwrap_or_default();
        let mut runs = vec![
            (at.rptr, halves(self.rptr)),
            (at.wptr, halves(self.wptr)),
            (at.ib_rptr, vec![(ib.at * 4) as u32]),
            (at.ib_base, halves(ib.base)),
            (at.ib_size, vec![ib.words as u32]),
        ];
        let worked = at
            .utilization
            .map(|word| (word, halves(self.worked / TICK)));
        runs.extend(worked);
        for (first, words) in &runs {
            for (to, from) in self.image.iter_mut().skip(*first).zip(words) {
                *to = *from;
            }
        }
        runs
    }

    /// Whether it is the kernel's.
    pub fn is_kernels(&self) -> bool {
        self.mqd.is_none()
    }

    /// What traces and reports call it.
    pub fn name(&self) -> String {
        match self.is_kernels() {
            true => format!("sdma{} kernel", self.slot.engine),
            false => self.slot.to_string(),
        }
    }

    /// What others see of it.
    pub fn view(&self) -> View {
        View {
            serial: self.serial,
            mqd: self.mqd,
            doorbell: self.doorbell,
            state: State {
                busy: self.has_work(),
                worked: false,
            },
            image: self.image.clone(),
        }
    }
}

/// Reports a fault; in the kernel's address space it is the driver's doing.
fn refused(env: &dyn Env, fault: VmFault) -> Wrong {
    env.vm_fault(&fault);
    match fault.vmid {
        0 => fault.to_string().into(),
        _ => Wrong::of_program(fault.to_string()),
    }
}

/// A queue that the thread owns.
pub(super) struct Loaded {
    pub q: Queue,
    /// How often the packet in progress was tried (POLL_REGMEM).
    pub tried: u64,
    /// The packet in progress, which doesn't end, by the rules: its words, and what they are. The engine has it, and
    /// doesn't look at the ring again.
    pub hung: Option<(Vec<u32>, Packet)>,
    /// The doorbell's value when it was last looked at.
    pub rung: u64,
    /// It halted at the packet that its read pointer names.
    pub halted: bool,
    pub stop: Option<Stop>,
    pub worked: bool,
    /// What the rules decided about its packets.
    pub holds: Holds,
}
