// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a queue runs by: its MQD or HQD registers, checked word by word.
//!
//! The HQD registers are handled as the words of an MQD that they are loaded from, since the
//! firmware copies them there and back ([`FIRST_HQD_WORD`]). What all generations have at the same
//! place is read here; the rest is in their descriptions ([`super::generation`]), with the sources.

use super::fixed;
use super::generation::Format;
use crate::memory::Space;
use crate::report::Wrong;
use rkfd_hw::mqd::{COMPUTE_HEADER, FIRST_HQD_WORD, HQD_WORDS};
use rkfd_hw::regs::gc_9_4_3 as gc;
use rkfd_hw::regs::Value;

/// The words of an MQD, or of the HQD registers.
pub use rkfd_hw::mqd::Common as Image;
use Image as Mqd;

/// Who a queue is for: decides what its image must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The kernel interface queue, set up by registers.
    Kiq,
    /// The HSA interface queue, mapped by the KIQ.
    Hiq,
    /// A kernel's compute ring, mapped by the KIQ.
    Kernel,
    /// A process's queue, mapped by a run list.
    User,
}

/// A checked queue. Pointers count words of 32 bits since the queue was made; a slot of an AQL
/// queue is 16 of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queue {
    /// Address of the MQD in VMID 0.
    pub mqd: u64,
    /// Address of the ring in the queue's VMID.
    pub ring: u64,
    /// Size of the ring in words, a power of 2.
    pub size: u64,
    /// Read pointer.
    pub rptr: u64,
    /// Write pointer.
    pub wptr: u64,
    /// Where the read pointer lies in memory, or 0.
    pub report: u64,
    /// This XCC reports the read pointer there.
    pub reports: bool,
    /// Where the write pointer lies when the queue is connected, or 0.
    pub poll: u64,
    /// Doorbell: index of its low word on the BAR.
    pub doorbell: u32,
    /// Takes AQL packets, else PM4.
    pub aql: bool,
    /// Its waves can be saved in the middle of a kernel.
    pub cwsr: bool,
    /// CP_HQD_PIPE_PRIORITY: 2 is high, 0 low.
    pub priority: u32,
}

/// Words that hold an address as the program gave it (`kfd_queue_buffer_get` looks at its page only).
const PROGRAMS: [usize; 3] = [
    Mqd::CP_HQD_PQ_RPTR_REPORT_ADDR.word(),
    Mqd::CP_HQD_PQ_WPTR_POLL_ADDR.word(),
    Mqd::CP_HQD_CTX_SAVE_BASE_ADDR.word(),
];

/// Words of a ring slot of an AQL queue.
pub const AQL_WORDS: u64 = 16;

/// Checks the MQD in memory of a queue that registers connect. It has to be there, too: the queue's state goes there
/// when the queue is taken off (`gfx_v9_4_3_xcc_kiq_init_queue`, `mes_v12_0_queue_init`). And the registers are written
/// from it, so that those in `format.by_registers` have the same.
///
/// # Errors
/// What is wrong with it.
pub fn check_beside_registers(
    format: &Format,
    space: Space<'_>,
    registers: &Image,
) -> Result<(), String> {
    let at = registers.get(Mqd::CP_MQD_BASE_ADDR);
    let mut mqd = Image::zeroed();
    let read = space.read_words(at, &mut mqd.0);
    read.map_err(|fault| format!("the MQD of a queue that registers connect: {fault}"))?;
    if mqd.0[0] != COMPUTE_HEADER || mqd.get(Mqd::CP_MQD_BASE_ADDR) != at {
        return Err(format!(
            "the MQD at {at:#x} of a queue that registers connect has another header, or another address"
        ));
    }
    let mut words = format.by_registers.iter().copied();
    let differs = words.find(|&word| registers.0.get(word) != mqd.0.get(word));
    differs.map_or(Ok(()), |word| {
        Err(format!(
            "a queue that registers connect has {:#x} in {}, and {:#x} in its MQD",
            registers.0.get(word).copied().unwrap_or(0),
            format.word_name(word),
            mqd.0.get(word).copied().unwrap_or(0)
        ))
    })
}

impl Queue {
    /// Checks a whole MQD that lies at `at`.
    ///
    /// # Errors
    /// What is wrong with it. Some of its words are a program's own values, which the driver copies as
    /// they are (Linux, `kfd_ioctl_create_queue`, `kfd_ioctl_set_cu_mask`): what is wrong with those is
    /// that program's doing.
    pub fn from_mqd(format: &Format, mqd: &Image, at: u64, role: Role) -> Result<Self, Wrong> {
        if mqd.0[0] != COMPUTE_HEADER {
            return Err(format!("header {:#x}, not {COMPUTE_HEADER:#x}", mqd.0[0]).into());
        }
        if let Some(word) = (format.reserved_word)(mqd) {
            return Err(format!("reserved word {word} is set").into());
        }
        if mqd.get(Mqd::CP_MQD_BASE_ADDR) != at {
            return Err("CP_MQD_BASE_ADDR is not its own address".into());
        }
        let cus = [
            Mqd::COMPUTE_STATIC_THREAD_MGMT_SE0,
            Mqd::COMPUTE_STATIC_THREAD_MGMT_SE1,
            Mqd::COMPUTE_STATIC_THREAD_MGMT_SE2,
            Mqd::COMPUTE_STATIC_THREAD_MGMT_SE3,
        ];
        if cus.iter().all(|&se| mqd.get(se) == 0) {
            // A mask of the program's.
            return Err(Wrong::of_program(
                "COMPUTE_STATIC_THREAD_MGMT allows no compute unit",
            ));
        }
        // A kernel's queue has no mask (`gfx_v9_4_3_xcc_mqd_init`, `init_mqd` for the HIQ).
        if role != Role::User && cus.iter().any(|&se| mqd.get(se) != u64::from(u32::MAX)) {
            return Err("COMPUTE_STATIC_THREAD_MGMT of a kernel's queue is not all ones".into());
        }
        let queue = Self::from_hqd(format, mqd, role)?;
        // The registers of shaders are a PM4 queue's own.
        if queue.aql || role != Role::User {
            if let Some(name) = format.filled(mqd) {
                return Err(format!("{name} is set, which the packet processor fills").into());
            }
            // COMPUTE_PGM_RSRC2: only TRAP_PRESENT is the driver's.
            if mqd.get(Mqd::COMPUTE_PGM_RSRC2) & !(1 << 6) != 0 {
                return Err("COMPUTE_PGM_RSRC2 has more than TRAP_PRESENT".into());
            }
        }
        (format.check)(mqd, role == Role::User, queue.aql)?;
        if matches!(role, Role::User | Role::Hiq) {
            fixed::check(mqd, queue.aql)?;
        }
        Ok(queue)
    }

    /// Checks the HQD registers' words of an image.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn from_hqd(format: &Format, image: &Image, role: Role) -> Result<Self, Wrong> {
        let registers = image.0.iter().enumerate().skip(FIRST_HQD_WORD);
        for (i, &word) in registers.take(HQD_WORDS) {
            let mask = (format.mask)(i);
            if word & !mask != 0 {
                let name = format.word_name(i);
                let what = format!(
                    "{name} has bits {:#x} that the register lacks",
                    word & !mask
                );
                return Err(match role == Role::User && PROGRAMS.contains(&i) {
                    true => Wrong::of_program(what),
                    false => what.into(),
                });
            }
        }
        let err = |what: &str| Err(Wrong::from(what));
        let its = |what: &str| match role {
            Role::User => Err(Wrong::of_program(what)),
            _ => Err(what.into()),
        };
        let control = image.get(Mqd::CP_HQD_PQ_CONTROL) as u32;
        let bell = Value::<db>::new(image.get(Mqd::CP_HQD_PQ_DOORBELL_CONTROL) as u32);
        use gc::{
            CP_HQD_PERSISTENT_STATE as state, CP_HQD_PQ_CONTROL as pq,
            CP_HQD_PQ_DOORBELL_CONTROL as db,
        };
        if image.get(Mqd::CP_HQD_VMID) != 0 {
            return err("CP_HQD_VMID is set, which the scheduler chooses");
        }
        if Value::new(image.get(Mqd::CP_HQD_PERSISTENT_STATE) as u32).get(state::PRELOAD_SIZE)
            != format.preload
        {
            return Err(format!(
                "CP_HQD_PERSISTENT_STATE.PRELOAD_SIZE is not {:#x}, the size of the image",
                format.preload
            )
            .into());
        }
        if Value::new(image.get(Mqd::CP_HQD_EOP_CONTROL) as u32)
            .get(gc::CP_HQD_EOP_CONTROL::EOP_SIZE)
            > 0xa
        {
            return err(
                "CP_HQD_EOP_CONTROL.EOP_SIZE is above 0xa, which the hardware does not clamp",
            );
        }
        if image.get(Mqd::CP_HQD_DEQUEUE_REQUEST) != 0 {
            return err("CP_HQD_DEQUEUE_REQUEST is set");
        }
        if Value::new(image.get(Mqd::CP_MQD_CONTROL) as u32).get(gc::CP_MQD_CONTROL::VMID) != 0 {
            return err("CP_MQD_CONTROL.VMID is not 0");
        }
        for (bits, name) in format.clear {
            if control & bits != 0 {
                return Err(format!("CP_HQD_PQ_CONTROL.{name} is not modelled").into());
            }
        }
        let log2 = Value::new(control).get(pq::QUEUE_SIZE);
        if !(3..=28).contains(&log2) {
            return Err(format!(
                "CP_HQD_PQ_CONTROL.QUEUE_SIZE {log2}: no ring of 2^{} words",
                log2 + 1
            )
            .into());
        }
        let size = 2u64 << log2;
        let ring = image.get(Mqd::CP_HQD_PQ_BASE) << 8;
        if ring == 0 {
            return err("CP_HQD_PQ_BASE is 0");
        }
        let doorbell = bell.get(db::DOORBELL_OFFSET);
        if doorbell % 2 != 0 {
            return Err(format!("doorbell {doorbell:#x} is not on a 64-bit boundary").into());
        }
        if bell.get(db::DOORBELL_MODE) != 0 {
            return err("CP_HQD_PQ_DOORBELL_CONTROL.DOORBELL_MODE is for virtual functions");
        }
        let aql = match (
            image.get(Mqd::CP_HQD_AQL_CONTROL),
            format.slot_based_wptr.get(control),
        ) {
            (0, 0) => false,
            (1, 2) => true,
            (a, s) => {
                return Err(format!(
                    "CP_HQD_AQL_CONTROL {a:#x} with SLOT_BASED_WPTR {s}: neither AQL nor PM4"
                )
                .into())
            }
        };
        let privileged = Value::new(control).get(pq::PRIV_STATE) == 1
            && Value::new(control).get(pq::KMD_QUEUE) == 1;
        if privileged != (role != Role::User) {
            return err("CP_HQD_PQ_CONTROL.PRIV_STATE and KMD_QUEUE do not fit who maps the queue");
        }
        if aql {
            if role != Role::User {
                return err("a kernel's queue takes AQL");
            }
            for (bits, name) in format.aql {
                if control & bits == 0 {
                    return Err(format!("CP_HQD_PQ_CONTROL.{name} of an AQL queue is 0").into());
                }
            }
            // Without an end-of-pipe buffer (base and size 0) the chip signals the ends of
            // dispatches without that ring, as ROCm has it on gfx942; one without a place is an
            // error. The ring itself is the chip's alone, so it is not modelled.
            let eop = Value::new(image.get(Mqd::CP_HQD_EOP_CONTROL) as u32)
                .get(gc::CP_HQD_EOP_CONTROL::EOP_SIZE);
            if (image.get(Mqd::CP_HQD_EOP_BASE_ADDR) == 0) != (eop == 0) {
                return its(
                    "CP_HQD_EOP_CONTROL.EOP_SIZE and CP_HQD_EOP_BASE_ADDR: one without the other",
                );
            }
        }
        let report = image.get(Mqd::CP_HQD_PQ_RPTR_REPORT_ADDR);
        if aql && report == 0 {
            return its("an AQL queue has no CP_HQD_PQ_RPTR_REPORT_ADDR");
        }
        if aql && report % 8 != 0 {
            return its("CP_HQD_PQ_RPTR_REPORT_ADDR of an AQL queue is not a multiple of 8");
        }
        let cwsr = Value::new(image.get(Mqd::CP_HQD_PERSISTENT_STATE) as u32)
            .get(state::QSWITCH_MODE)
            == 1;
        if cwsr {
            Self::check_save_area(image)?;
        } else if image.get(Mqd::CP_HQD_CTX_SAVE_BASE_ADDR) != 0 {
            return err("a context save area without CP_HQD_PERSISTENT_STATE.QSWITCH_MODE");
        }
        let muted = Value::new(control).get(pq::NO_UPDATE_RPTR) == 1 && (!aql || format.mutes_aql);
        // The read pointer's register has the ring's bits only (`kgd_gfx_v9_hqd_load`).
        let (wptr, rptr) = (
            image.get(Mqd::CP_HQD_PQ_WPTR),
            image.get(Mqd::CP_HQD_PQ_RPTR),
        );
        let behind = wptr.wrapping_sub(rptr) & (size - 1);
        if wptr >> 60 != 0 {
            return err("CP_HQD_PQ_WPTR is beyond what a queue can reach");
        }
        if aql && (wptr | rptr) % AQL_WORDS != 0 {
            return err("CP_HQD_PQ_RPTR or CP_HQD_PQ_WPTR of an AQL queue is inside a packet");
        }
        if rptr >= size || behind > wptr {
            // The ring of a program's queue may be replaced by a smaller one (UPDATE_QUEUE).
            return its("CP_HQD_PQ_RPTR is beyond the ring, or ahead of CP_HQD_PQ_WPTR");
        }
        Ok(Self {
            mqd: image.get(Mqd::CP_MQD_BASE_ADDR),
            ring,
            size,
            rptr: wptr - behind,
            wptr,
            report,
            reports: !muted && report != 0,
            poll: image.get(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR),
            doorbell,
            aql,
            cwsr,
            priority: image.get(Mqd::CP_HQD_PIPE_PRIORITY) as u32 & 3,
        })
    }

    /// Checks the context save area of a queue with QSWITCH_MODE.
    fn check_save_area(image: &Mqd) -> Result<(), String> {
        let stack = image.get(Mqd::CP_HQD_CNTL_STACK_SIZE);
        if image.get(Mqd::CP_HQD_CTX_SAVE_BASE_ADDR) == 0
            || image.get(Mqd::CP_HQD_CTX_SAVE_SIZE) == 0
            || stack == 0
        {
            return Err("CP_HQD_PERSISTENT_STATE.QSWITCH_MODE without a context save area".into());
        }
        let offset = image.get(Mqd::CP_HQD_CNTL_STACK_OFFSET);
        if offset > stack {
            return Err("CP_HQD_CNTL_STACK_OFFSET is beyond CP_HQD_CNTL_STACK_SIZE".into());
        }
        // The stack grows down.
        if offset == 0 {
            return Err("CP_HQD_CNTL_STACK_OFFSET is 0: the control stack has no room".into());
        }
        let state = image.get(Mqd::CP_HQD_WG_STATE_OFFSET);
        if state < stack || state > image.get(Mqd::CP_HQD_CTX_SAVE_SIZE) {
            return Err("CP_HQD_WG_STATE_OFFSET is outside the context save area".into());
        }
        Ok(())
    }

    /// Words in the ring slot or packet unit: what the write pointer in memory and the doorbell
    /// count in.
    pub fn unit(&self) -> u64 {
        if self.aql {
            AQL_WORDS
        } else {
            1
        }
    }

    /// Address of the word that `pointer` counts to.
    pub fn at(&self, pointer: u64) -> u64 {
        self.ring.wrapping_add((pointer & (self.size - 1)) * 4)
    }

    /// Moves the write pointer to a value, in units, from a doorbell or from memory. Returns `false`,
    /// and changes nothing, if that is more than a ring ahead of the read pointer. It never moves back:
    /// with several producers a smaller AQL packet index may arrive later.
    pub fn advance(&mut self, units: u64) -> bool {
        let Some(to) = units.checked_mul(self.unit()) else {
            return false;
        };
        if to.wrapping_sub(self.rptr) > self.size && to > self.rptr {
            return false;
        }
        self.wptr = self.wptr.max(to);
        true
    }

    /// Writes the pointers into an image. A full ring is written as one that lacks a packet, since
    /// the register has the same value for full and empty; connecting reads the write pointer from memory.
    pub fn save_pointers(&self, image: &mut Mqd) {
        // A ring has at most 2^29 words.
        image.set(Mqd::CP_HQD_PQ_RPTR, (self.rptr & (self.size - 1)) as u32);
        image.set(
            Mqd::CP_HQD_PQ_WPTR,
            self.wptr.min(self.rptr + self.size - self.unit()),
        );
    }
}
