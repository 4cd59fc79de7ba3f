// SPDX-License-Identifier: GPL-2.0

//! MQDs of gfx12. Sources: Linux, `kfd_mqd_manager_v12.c` for user queues, `mes_v12_0_mqd_init`
//! for those of the scheduler's own rings.

use super::SavedWords;
use crate::{
    hw::{
        mqd::{
            v12::{
                ComputeMqd as M,
                SdmaMqd as S, //
            },
            Common, //
        },
        regs::{
            gc_12_0_0::{
                CP_HQD_AQL_CONTROL as Aql,
                CP_HQD_EOP_CONTROL as Eop,
                CP_HQD_IB_CONTROL as Ib,
                CP_HQD_PERSISTENT_STATE as State,
                CP_HQD_PQ_CONTROL as Pq,
                CP_HQD_PQ_DOORBELL_CONTROL as Bell,
                CP_HQD_QUANTUM as Quantum,
                CP_MQD_CONTROL as Control,
                SDMA0_QUEUE0_DOORBELL_OFFSET as Offset,
                SDMA0_QUEUE0_RB_CNTL as Rb, //
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
    types::{
        DoorbellWord,
        Format,
        GpuVa, //
    }, //
};
use kernel::prelude::*;

/// Bytes of an MQD in memory (`AMDGPU_MQD_SIZE_ALIGN`).
pub(crate) const ALLOCATION: u64 = 4096;

/// A ring of the scheduler.
pub(crate) struct KernelRing {
    pub(crate) mqd_addr: GpuVa,
    pub(crate) ring: GpuVa,
    pub(crate) bytes: u32,
    pub(crate) rptr: GpuVa,
    pub(crate) wptr: GpuVa,
    pub(crate) eop: GpuVa,
    pub(crate) eop_bytes: u32,
    pub(crate) doorbell: DoorbellWord,
}

impl KernelRing {
    /// Its MQD (`mes_v12_0_mqd_init`).
    pub(crate) fn build(&self) -> M {
        /// `regCP_HQD_EOP_CONTROL_DEFAULT` and so on, of `mes_v12_0.c`.
        const EOP_CONTROL: u32 = 6;
        const MQD_CONTROL: u32 = 0x100;
        const PQ_CONTROL: u32 = 0x0030_8509;
        const PERSISTENT_STATE: u32 = 0x0be0_5501;
        const IB_CONTROL: u32 = 0x0030_0000;
        let eop =
            Value::<Eop>::new(EOP_CONTROL).with(Eop::EOP_SIZE, words_log2(self.eop_bytes.into()));
        let pq = Value::<Pq>::new(PQ_CONTROL)
            .with(Pq::QUEUE_SIZE, words_log2(self.bytes.into()))
            // Linux shifts the value out of the field.
            .having(Pq::RPTR_BLOCK_SIZE.is::<0>())
            .with(Pq::UNORD_DISPATCH, true)
            .with(Pq::TUNNEL_DISPATCH, false)
            .with(Pq::PRIV_STATE, true)
            .with(Pq::KMD_QUEUE, true)
            .with(Pq::NO_UPDATE_RPTR, true);
        let bell = Value::<Bell>::zeroed()
            .with(Bell::DOORBELL_OFFSET, self.doorbell.in_register())
            .with(Bell::DOORBELL_EN, true);
        let control = Value::<Control>::new(MQD_CONTROL).having(Control::VMID.is::<0>());
        let state = Value::<State>::new(PERSISTENT_STATE).having(State::PRELOAD_SIZE.is::<0x55>());
        let at = Places {
            mqd: self.mqd_addr,
            ring: self.ring,
            rptr: self.rptr,
            wptr: self.wptr,
            eop: self.eop,
        };
        let controls = Controls {
            persistent_state: state.bits(),
            pq: pq.bits(),
            doorbell: bell.bits(),
            mqd: control.bits(),
            ib: IB_CONTROL,
            eop: eop.bits(),
        };
        let mut image = Common::zeroed();
        common::compute(&mut image, &at, &controls);
        let mut image = M(image.0);
        image.set(M::COMPUTE_MISC_RESERVED, 7);
        image.set(M::CP_HQD_ACTIVE, 1);
        /// CP_HQD_GFX_CONTROL.DB_UPDATED_MSG_EN: doorbells of queues that aren't mapped are reported.
        const GFX_CONTROL_WORD: usize = 184;
        if let Some(word) = image.0.get_mut(GFX_CONTROL_WORD) {
            *word = 1 << 15;
        }
        image
    }
}

/// MQDs of user queues.
pub(crate) struct Hal;

impl super::Hal for Hal {
    fn stride(&self, _: u32) -> Result<u64> {
        // One XCC; the control stack lies in the area for saving waves.
        Ok(ALLOCATION)
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
        // The control stack is in the area.
        common::saved(None)
    }

    /// The words that `update_mqd` and `update_mqd_sdma` of v12 write.
    fn updated(&self, format: Format) -> [&'static [(usize, u8)]; 2] {
        const SDMA: &[(usize, u8)] = words!(S:
            SDMAX_RLCX_RB_RPTR_ADDR,
            SDMAX_RLCX_RB_WPTR_POLL_ADDR,
            SDMAX_RLCX_DOORBELL_OFFSET,
        );
        const COMPUTE: &[(usize, u8)] = words!(M: CP_HQD_QUEUE_PRIORITY);
        match format {
            Format::Aql | Format::Pm4 => [common::UPDATED, COMPUTE],
            Format::Sdma => [common::UPDATED_SDMA, SDMA],
        }
    }
}

/// A copy queue's MQD (`update_mqd_sdma`).
fn sdma(queue: &UserQueue<'_>) -> Result<S> {
    /// `SDMA_RLC_DUMMY_DEFAULT`.
    const DUMMY: u32 = 0xf;
    /// `SDMA0_QUEUE0_IB_CNTL__SWITCH_INSIDE_IB_MASK`.
    const SWITCH_INSIDE_IB: u32 = 1 << 8;
    /// `amdgpu_sdma_phase_quantum` in CONTEXT_QUANTUM of SDMA0_QUEUE0_SCHEDULE_CNTL.
    const QUANTUM: u32 = 32 << 8;
    let size = u64::from(words_log2(queue.spec.ring.size.bytes())).saturating_add(1);
    let control = Value::<Rb>::zeroed()
        .try_with(Rb::RB_SIZE, size)
        .ok_or(EINVAL)?
        .with(Rb::RPTR_WRITEBACK_ENABLE, true)
        .having(Rb::RPTR_WRITEBACK_TIMER.is::<6>())
        .with(Rb::MCU_WPTR_POLL_ENABLE, true);
    let doorbell = queue.spec.doorbell.in_register();
    let doorbell = Value::<Offset>::zeroed().with(Offset::OFFSET, doorbell);
    let mut image = S(common::sdma(queue, control.bits())?.0);
    image.set(S::SDMAX_RLCX_RB_RPTR_ADDR, queue.spec.rptr.get());
    image.set(S::SDMAX_RLCX_RB_WPTR_POLL_ADDR, queue.spec.wptr.get());
    image.set(S::SDMAX_RLCX_DOORBELL_OFFSET, doorbell.bits());
    image.set(S::SDMAX_RLCX_IB_CNTL, SWITCH_INSIDE_IB);
    image.set(S::SDMAX_RLCX_SCHED_CNTL, QUANTUM);
    image.set(S::SDMAX_RLCX_DUMMY_REG, DUMMY);
    Ok(image)
}

/// `init_mqd`, `update_mqd` and `set_priority`.
fn build(queue: &UserQueue<'_>, to: &mut Image) -> Result {
    let spec = queue.spec;
    let aql = spec.format == Format::Aql;
    let pq = Value::<Pq>::zeroed()
        .having(Pq::RPTR_BLOCK_SIZE.is::<5>())
        .with(Pq::UNORD_DISPATCH, true)
        .with(Pq::QUEUE_SIZE, words_log2(spec.ring.size.bytes()))
        .with(Pq::NO_UPDATE_RPTR, aql)
        .with(Pq::QUEUE_FULL_EN, aql);
    let pq = if aql {
        pq.having(Pq::SLOT_BASED_WPTR.is::<2>())
    } else {
        pq
    };
    let bell = Value::<Bell>::zeroed()
        .with(Bell::DOORBELL_OFFSET, spec.doorbell.in_register())
        .with(Bell::DOORBELL_BIF_DROP, aql);
    let state = Value::<State>::zeroed()
        .with(State::PRELOAD_REQ, true)
        .having(State::PRELOAD_SIZE.is::<0x55>())
        .with(State::QSWITCH_MODE, !spec.save.at.is_null());
    let control = Value::<Control>::zeroed().with(Control::PRIV_STATE, true);
    let quantum = Value::<Quantum>::zeroed()
        .with(Quantum::QUANTUM_EN, true)
        .with(Quantum::QUANTUM_SCALE, true)
        .having(Quantum::QUANTUM_DURATION.is::<1>());
    let ib = Value::<Ib>::zeroed().having(Ib::MIN_IB_AVAIL_SIZE.is::<3>());
    let packets = Value::<Aql>::zeroed().with(Aql::CONTROL0, aql.into());
    let controls = Controls {
        persistent_state: state.bits(),
        pq: pq.bits(),
        doorbell: bell.bits(),
        mqd: control.bits(),
        ib: ib.bits(),
        eop: eop_control(spec.eop.bytes),
    };
    let mut image = Common::zeroed();
    common::user(&mut image, queue, &controls, quantum.bits())?;
    let mut image = M(image.0);
    // Whether atomic operations reach memory.
    let status = image.get(M::CP_HQD_HQ_STATUS0) as u32 | u32::from(queue.atomics) << 29;
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE4, ALL);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE5, ALL);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE6, ALL);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE7, ALL);
    image.set(M::CP_HQD_HQ_STATUS0, status);
    image.set(M::CP_HQD_AQL_CONTROL, packets.bits());
    *to = image.0;
    Ok(())
}
