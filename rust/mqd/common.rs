// SPDX-License-Identifier: GPL-2.0

//! What MQDs of all versions have in common: these words are at the same places, and what differs
//! are the bits of some of them, which the caller passes.

use super::{
    hal::SavedWords,
    pipe_priority,
    words,
    UserQueue,
    ALL, //
};
use crate::{
    hw::mqd::{
        Common as M,
        CommonSdma as S,
        COMPUTE_HEADER, //
    },
    types::GpuVa, //
};
use kernel::prelude::*;

/// `CP_HQD_HQ_STATUS0`: CP sets up DISPATCH_PTR, for debuggers.
const DISPATCH_PTR: u32 = 1 << 14;

/// Where things of a compute queue are.
pub(super) struct Places {
    pub(super) mqd: GpuVa,
    pub(super) ring: GpuVa,
    pub(super) rptr: GpuVa,
    pub(super) wptr: GpuVa,
    pub(super) eop: GpuVa,
}

/// Values of a compute queue's registers.
pub(super) struct Controls {
    pub(super) persistent_state: u32,
    pub(super) pq: u32,
    pub(super) doorbell: u32,
    pub(super) mqd: u32,
    pub(super) ib: u32,
    pub(super) eop: u32,
}

/// The words that every compute queue's MQD has, the driver's own queues' too.
pub(super) fn compute(image: &mut M, at: &Places, controls: &Controls) {
    image.set(M::HEADER, COMPUTE_HEADER);
    image.set(M::COMPUTE_PIPELINESTAT_ENABLE, 1);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE0, ALL);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE1, ALL);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE2, ALL);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE3, ALL);
    image.set(M::CP_MQD_BASE_ADDR, at.mqd.get());
    image.set(M::CP_MQD_CONTROL, controls.mqd);
    image.set(M::CP_HQD_PERSISTENT_STATE, controls.persistent_state);
    image.set(M::CP_HQD_PQ_BASE, at.ring.get() >> 8);
    image.set(M::CP_HQD_PQ_RPTR_REPORT_ADDR, at.rptr.get());
    image.set(M::CP_HQD_PQ_WPTR_POLL_ADDR, at.wptr.get());
    image.set(M::CP_HQD_PQ_DOORBELL_CONTROL, controls.doorbell);
    image.set(M::CP_HQD_PQ_CONTROL, controls.pq);
    image.set(M::CP_HQD_IB_CONTROL, controls.ib);
    image.set(M::CP_HQD_EOP_BASE_ADDR, at.eop.get() >> 8);
    image.set(M::CP_HQD_EOP_CONTROL, controls.eop);
}

/// What `init_mqd` of both versions adds, for users' queues and HIQ.
pub(super) fn scheduled(image: &mut M, quantum: u32) {
    image.set(M::CP_HQD_QUANTUM, quantum);
    image.set(M::CP_HQD_HQ_STATUS0, DISPATCH_PTR);
}

/// What `init_mqd`, `update_mqd` and `set_priority` of both versions add for a user's queue. `controls`
/// and `quantum` are the version's.
pub(super) fn user(
    image: &mut M,
    queue: &UserQueue<'_>,
    controls: &Controls,
    quantum: u32,
) -> Result {
    let spec = queue.spec;
    let at = Places {
        mqd: queue.mqd_addr,
        ring: spec.ring.address,
        rptr: spec.rptr,
        wptr: spec.wptr,
        eop: spec.eop.at,
    };
    let [se0, se1, se2, se3] = queue.cu_mask.unwrap_or([ALL; 4]);
    compute(image, &at, controls);
    scheduled(image, quantum);
    image.set(M::COMPUTE_PERFCOUNT_ENABLE, u32::from(spec.counted));
    image.set(M::CP_HQD_PIPE_PRIORITY, pipe_priority(spec.ring.priority));
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE0, se0);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE1, se1);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE2, se2);
    image.set(M::COMPUTE_STATIC_THREAD_MGMT_SE3, se3);
    let save = &spec.save;
    if save.at.is_null() {
        return Ok(());
    }
    // Each XCC has its own.
    let area = u64::from(queue.xcc_index).checked_mul(save.bytes.into());
    let area = area
        .and_then(|area| save.at.checked_add(area))
        .ok_or(EINVAL)?;
    image.set(M::CP_HQD_CTX_SAVE_BASE_ADDR, area.get());
    image.set(M::CP_HQD_CTX_SAVE_SIZE, save.bytes);
    image.set(M::CP_HQD_CNTL_STACK_SIZE, save.stack_bytes);
    image.set(M::CP_HQD_CNTL_STACK_OFFSET, save.stack_bytes);
    image.set(M::CP_HQD_WG_STATE_OFFSET, save.stack_bytes);
    Ok(())
}

/// A copy queue's; `control` is its SDMA_RB_CNTL.
pub(super) fn sdma(queue: &UserQueue<'_>, control: u32) -> Result<S> {
    let place = queue.spec.sdma.ok_or(EINVAL)?;
    let mut image = S::zeroed();
    image.set(S::SDMAX_RLCX_RB_CNTL, control);
    image.set(S::SDMAX_RLCX_RB_BASE, queue.spec.ring.address.get() >> 8);
    image.set(S::SDMA_ENGINE_ID, place.engine);
    image.set(S::SDMA_QUEUE_ID, place.queue);
    Ok(image)
}

/// Where the firmware notes how much it saved; `stack_at` is as in [`SavedWords`].
pub(super) fn saved(stack_at: Option<u64>) -> SavedWords {
    SavedWords {
        stack_size: M::CP_HQD_CNTL_STACK_SIZE.word(),
        stack_offset: M::CP_HQD_CNTL_STACK_OFFSET.word(),
        waves_end: M::CP_HQD_WG_STATE_OFFSET.word(),
        stack_at,
    }
}

/// The word by which a compute queue's waves are counted.
pub(crate) const COUNTED: usize = M::COMPUTE_PERFCOUNT_ENABLE.word();

/// What `update_mqd` of both versions writes of a compute queue's.
pub(super) const UPDATED: &[(usize, u8)] = words!(M:
    COMPUTE_STATIC_THREAD_MGMT_SE0,
    COMPUTE_STATIC_THREAD_MGMT_SE1,
    COMPUTE_STATIC_THREAD_MGMT_SE2,
    COMPUTE_STATIC_THREAD_MGMT_SE3,
    CP_HQD_PIPE_PRIORITY,
    CP_HQD_PQ_BASE,
    CP_HQD_PQ_RPTR_REPORT_ADDR,
    CP_HQD_PQ_WPTR_POLL_ADDR,
    CP_HQD_PQ_DOORBELL_CONTROL,
    CP_HQD_PQ_CONTROL,
    CP_HQD_IB_CONTROL,
    CP_HQD_IQ_TIMER,
    CP_HQD_VMID,
    CP_HQD_EOP_BASE_ADDR,
    CP_HQD_EOP_CONTROL,
    CP_HQD_CTX_SAVE_CONTROL,
);

/// What `update_mqd_sdma` of both versions writes at the same places.
pub(super) const UPDATED_SDMA: &[(usize, u8)] = words!(S:
    SDMAX_RLCX_RB_CNTL,
    SDMAX_RLCX_RB_BASE,
);
