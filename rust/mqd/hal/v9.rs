// SPDX-License-Identifier: GPL-2.0

//! MQDs of gfx942. Sources: Linux, `kfd_mqd_manager_v9.c` for user queues and HIQ,
//! `gfx_v9_4_3_xcc_mqd_init` for KIQ.
//!
//! A user queue has one MQD for each XCC, in VRAM, each followed by its control stack: so
//! [`stride`] apart. XCC 0 reports the read pointer for all.

use super::SavedWords;
use crate::{
    hw::{
        mqd::{
            v9::{
                ComputeMqd as M,
                SdmaMqd as S, //
            },
            Common, //
        },
        regs::{
            gc_9_4_3::{
                self as gc,
                CP_HQD_EOP_CONTROL as Eop,
                CP_HQD_IB_CONTROL as Ib,
                CP_HQD_PERSISTENT_STATE as State,
                CP_HQD_PQ_CONTROL as Pq,
                CP_HQD_PQ_DOORBELL_CONTROL as Bell,
                CP_HQD_PQ_RPTR as Rptr,
                CP_HQD_QUANTUM as Quantum,
                CP_MQD_CONTROL as Control, //
            },
            sdma_4_4_2::{
                SDMA_RLC0_DOORBELL_OFFSET as Offset,
                SDMA_RLC0_RB_CNTL as Rb, //
            },
            Value, //
        }, //
    },
    mqd::{
        common::{
            self,
            Controls,
            Places, //
        },
        eop_control,
        sdma_image,
        words,
        words_log2,
        Image,
        UserQueue,
        ALL, //
    },
    regs::Regs,
    ring::Ring,
    types::{
        Buffer,
        DoorbellWord,
        Format,
        GpuVa, //
    }, //
};
use kernel::prelude::*;

/// Bytes of an MQD with what follows it (`struct v9_mqd_allocation`), a page.
pub(crate) const ALLOCATION: u32 = 4096;
/// Byte offset of the words with the dynamic CU and RB masks there.
pub(crate) const DYNAMIC_CU_MASK_OFFSET: u64 = 2048 + 8;

/// The HQD registers that KIQ's MQD keeps: what firmware left there, but for some fields.
pub(crate) struct Left {
    eop_control: Value<Eop>,
    doorbell_control: Value<Bell>,
    mqd_control: Value<Control>,
    pq_control: Value<Pq>,
    rptr: Value<Rptr>,
    persistent_state: Value<State>,
    ib_control: Value<Ib>,
    quantum: Value<Quantum>,
}

impl Left {
    /// Reads them from the selected HQD.
    pub(crate) fn read(regs: &Regs, xcc: u8) -> Self {
        Self {
            eop_control: regs.read_at(xcc, gc::CP_HQD_EOP_CONTROL),
            doorbell_control: regs.read_at(xcc, gc::CP_HQD_PQ_DOORBELL_CONTROL),
            mqd_control: regs.read_at(xcc, gc::CP_MQD_CONTROL),
            pq_control: regs.read_at(xcc, gc::CP_HQD_PQ_CONTROL),
            rptr: regs.read_at(xcc, gc::CP_HQD_PQ_RPTR),
            persistent_state: regs.read_at(xcc, gc::CP_HQD_PERSISTENT_STATE),
            ib_control: regs.read_at(xcc, gc::CP_HQD_IB_CONTROL),
            quantum: regs.read_at(xcc, gc::CP_HQD_QUANTUM),
        }
    }
}

/// What a kernel queue's MQD is made of.
pub(crate) struct KernelQueue<'a> {
    pub(crate) mqd_addr: GpuVa,
    pub(crate) ring: &'a Ring,
    pub(crate) eop: Buffer,
}

/// KIQ's MQD.
pub(crate) fn kiq(queue: &KernelQueue<'_>, left: &Left) -> M {
    let ring = queue.ring;
    let eop = left
        .eop_control
        .with(Eop::EOP_SIZE, words_log2(queue.eop.bytes.into()));
    let bell = left
        .doorbell_control
        .with(Bell::DOORBELL_OFFSET, ring.doorbell().in_register())
        .with(Bell::DOORBELL_EN, true)
        .with(Bell::DOORBELL_SOURCE, false)
        .with(Bell::DOORBELL_HIT, false);
    let pq = left
        .pq_control
        .with(Pq::QUEUE_SIZE, words_log2(ring.bytes() as u64))
        // Linux shifts the value out of the field.
        .having(Pq::RPTR_BLOCK_SIZE.is::<0>())
        .with(Pq::UNORD_DISPATCH, false)
        .with(Pq::ROQ_PQ_IB_FLIP, false)
        .with(Pq::PRIV_STATE, true)
        .with(Pq::KMD_QUEUE, true);
    let control = left.mqd_control.having(Control::VMID.is::<0>());
    let state = left
        .persistent_state
        .having(State::PRELOAD_SIZE.is::<0x53>());
    let ib = left.ib_control.having(Ib::MIN_IB_AVAIL_SIZE.is::<3>());
    let at = Places {
        mqd: queue.mqd_addr,
        ring: ring.ring_addr(),
        rptr: ring.rptr_addr(),
        wptr: ring.wptr_addr(),
        eop: queue.eop.at,
    };
    let controls = Controls {
        persistent_state: state.bits(),
        pq: pq.bits(),
        doorbell: bell.bits(),
        mqd: control.bits(),
        ib: ib.bits(),
        eop: eop.bits(),
    };
    let mut image = Common::zeroed();
    common::compute(&mut image, &at, &controls);
    let mut image = M(image.0);
    image.set(M::COMPUTE_MISC_RESERVED, 3);
    image.set(
        M::DYNAMIC_CU_MASK_ADDR,
        queue.mqd_addr.byte(DYNAMIC_CU_MASK_OFFSET).get(),
    );
    image.set(M::CP_HQD_PQ_RPTR, left.rptr.bits());
    image.set(M::CP_HQD_QUANTUM, quantum(left.quantum).bits());
    image.set(M::CP_HQD_ACTIVE, 1);
    image
}

/// The shortest time slice.
fn quantum(old: Value<Quantum>) -> Value<Quantum> {
    old.with(Quantum::QUANTUM_EN, true)
        .with(Quantum::QUANTUM_SCALE, true)
        .having(Quantum::QUANTUM_DURATION.is::<1>())
}

/// Words of user queues and HIQ (`init_mqd` and `update_mqd`), which the caller changes.
struct Scheduled {
    persistent_state: Value<State>,
    pq: Value<Pq>,
    doorbell: Value<Bell>,
}

impl Scheduled {
    fn new(ring_bytes: u64, doorbell: DoorbellWord) -> Self {
        Self {
            persistent_state: Value::zeroed()
                .with(State::PRELOAD_REQ, true)
                .having(State::PRELOAD_SIZE.is::<0x53>()),
            pq: Value::zeroed()
                .with(Pq::UNORD_DISPATCH, true)
                .having(Pq::RPTR_BLOCK_SIZE.is::<5>())
                .with(Pq::QUEUE_SIZE, words_log2(ring_bytes)),
            doorbell: Value::zeroed().with(Bell::DOORBELL_OFFSET, doorbell.in_register()),
        }
    }

    fn controls(&self, eop: Buffer) -> Controls {
        let ib = Value::<Ib>::zeroed()
            .with(Ib::IB_EXE_DISABLE, true)
            .having(Ib::MIN_IB_AVAIL_SIZE.is::<3>());
        Controls {
            persistent_state: self.persistent_state.bits(),
            pq: self.pq.bits(),
            doorbell: self.doorbell.bits(),
            mqd: Value::<Control>::zeroed()
                .with(Control::PRIV_STATE, true)
                .bits(),
            ib: ib.bits(),
            eop: eop_control(eop.bytes),
        }
    }
}

/// The words of further shader engines. In queues of gfx942's users these words have other meanings, too;
/// see [`build`].
fn further_engines(image: &mut M) {
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE4, ALL);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE5, ALL);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE6, ALL);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE7, ALL);
}

/// HIQ's MQD of the XCC with that index (`init_mqd_hiq_v9_4_3`).
pub(crate) fn hiq(queue: &KernelQueue<'_>, xcc_index: u32) -> M {
    let ring = queue.ring;
    let at = Places {
        mqd: queue.mqd_addr,
        ring: ring.ring_addr(),
        rptr: ring.rptr_addr(),
        wptr: ring.wptr_addr(),
        eop: queue.eop.at,
    };
    let mut words = Scheduled::new(ring.bytes() as u64, ring.doorbell());
    words.pq = words
        .pq
        .with(Pq::NO_UPDATE_RPTR, xcc_index != 0)
        .with(Pq::PRIV_STATE, true)
        .with(Pq::KMD_QUEUE, true);
    let mut image = Common::zeroed();
    common::compute(&mut image, &at, &words.controls(queue.eop));
    common::scheduled(&mut image, quantum(Value::zeroed()).bits());
    let mut image = M(image.0);
    further_engines(&mut image);
    image.set(M::CP_MQD_STRIDE_SIZE, ALLOCATION);
    image
}

/// Bytes from one XCC's MQD of a user queue to the next's: the MQD's page, then its control
/// stack (`mqd_stride_v9`).
fn stride(ctl_stack_size: u32) -> Result<u32> {
    ctl_stack_size
        .checked_next_multiple_of(4096)
        .and_then(|size| size.checked_add(4096))
        .ok_or(EINVAL)
}

/// MQDs of user queues.
pub(crate) struct Hal;

impl super::Hal for Hal {
    fn stride(&self, ctl_stack_size: u32) -> Result<u64> {
        stride(ctl_stack_size).map(u64::from)
    }

    fn build(&self, queue: &UserQueue<'_>, image: &mut Image) -> Result {
        match queue.spec.format {
            Format::Aql | Format::Pm4 => build(queue, image),
            Format::Sdma => {
                sdma_image(&sdma(queue)?.0, image);
                Ok(())
            }
        }
    }

    fn saved(&self) -> SavedWords {
        common::saved(Some(ALLOCATION.into()))
    }

    /// The words that `update_mqd_v9_4_3` and `update_mqd_sdma` write.
    fn updated(&self, format: Format) -> [&'static [(usize, u8)]; 2] {
        const SDMA: &[(usize, u8)] = words!(S:
            SDMAX_RLCX_RB_RPTR_ADDR_LO,
            SDMAX_RLCX_RB_RPTR_ADDR_HI,
            SDMAX_RLCX_DOORBELL_OFFSET,
        );
        const COMPUTE: &[(usize, u8)] = words!(M: PM4_TARGET_XCC_IN_XCP);
        match format {
            Format::Aql | Format::Pm4 => [common::UPDATED, COMPUTE],
            Format::Sdma => [common::UPDATED_SDMA, SDMA],
        }
    }
}

/// A copy queue's MQD (`update_mqd_sdma`). Its write pointer comes with MAP_QUEUES.
fn sdma(queue: &UserQueue<'_>) -> Result<S> {
    /// `SDMA_RLC_DUMMY_DEFAULT`.
    const DUMMY: u32 = 0xf;
    /// `SDMA0_GFX_IB_CNTL__SWITCH_INSIDE_IB_MASK`.
    const SWITCH_INSIDE_IB: u32 = 1 << 8;
    let rptr = queue.spec.rptr;
    let size = u64::from(words_log2(queue.spec.ring.size.bytes())).saturating_add(1);
    let control = Value::<Rb>::zeroed()
        .try_with(Rb::RB_SIZE, size)
        .ok_or(EINVAL)?
        .with(Rb::RPTR_WRITEBACK_ENABLE, true)
        .having(Rb::RPTR_WRITEBACK_TIMER.is::<6>());
    let doorbell = queue.spec.doorbell.in_register();
    let doorbell = Value::<Offset>::zeroed().with(Offset::OFFSET, doorbell);
    let mut image = S(common::sdma(queue, control.bits())?.0);
    image.set(S::SDMAX_RLCX_RB_RPTR_ADDR_LO, rptr.low());
    image.set(S::SDMAX_RLCX_RB_RPTR_ADDR_HI, rptr.high());
    image.set(S::SDMAX_RLCX_DOORBELL_OFFSET, doorbell.bits());
    image.set(S::SDMAX_RLCX_IB_CNTL, SWITCH_INSIDE_IB);
    image.set(S::SDMAX_RLCX_DUMMY_REG, DUMMY);
    Ok(image)
}

/// A user queue's MQD for one XCC (`init_mqd_v9_4_3`).
fn build(queue: &UserQueue<'_>, to: &mut Image) -> Result {
    const TRAP_PRESENT: u32 = 1 << 6;
    let spec = queue.spec;
    let aql = spec.format == Format::Aql;
    let mut words = Scheduled::new(spec.ring.size.bytes(), spec.doorbell);
    words.persistent_state = words
        .persistent_state
        .with(State::QSWITCH_MODE, !spec.save.at.is_null());
    if aql {
        words.pq = words
            .pq
            // XCC 0 reports the read pointer for all.
            .with(Pq::NO_UPDATE_RPTR, queue.xcc_index != 0)
            .having(Pq::SLOT_BASED_WPTR.is::<2>())
            .with(Pq::QUEUE_FULL_EN, true)
            .with(Pq::WPP_CLAMP_EN, true);
        words.doorbell = words.doorbell.with(Bell::DOORBELL_BIF_DROP, true);
    }
    let slice = quantum(Value::zeroed()).bits();
    let mut image = Common::zeroed();
    common::user(&mut image, queue, &words.controls(spec.eop), slice)?;
    let mut image = M(image.0);
    further_engines(&mut image);
    image.set(M::CP_MQD_STRIDE_SIZE, stride(spec.save.stack_bytes)?);
    if queue.trap {
        image.set(M::COMPUTE_PGM_RSRC2, TRAP_PRESENT);
    }
    if aql {
        image.set(M::CP_HQD_AQL_CONTROL, 1);
        image.set(M::COMPUTE_TG_CHUNK_SIZE, 1);
        let logical = queue.logical_xcc.checked_rem(queue.chip.num_xcc);
        image.set(M::COMPUTE_CURRENT_LOGIC_XCC_ID, logical.unwrap_or(0));
    } else {
        // Of one XCC: these two of the words of further engines are 0.
        image.set(M::COMPUTE_CURRENT_LOGIC_XCC_ID, 0);
        image.set(M::COMPUTE_TG_CHUNK_SIZE, 0);
        image.set(M::PM4_TARGET_XCC_IN_XCP, spec.ring.pm4_target_xcc.into());
    }
    *to = image.0;
    Ok(())
}
