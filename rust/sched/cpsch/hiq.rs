// SPDX-License-Identifier: GPL-2.0

//! HIQ: the HSA interface queue, where run lists go.
//!
//! One ring, with an MQD for each XCC in system memory, a page apart. KIQ maps it into the first
//! pipe of the second micro engine. The order of packets is upstream's: SET_RESOURCES, wait
//! times, then for each change UNMAP_QUEUES, QUERY_STATUS and RUN_LIST.

use crate::{
    doorbell,
    gmc::KernelBuf,
    hw::{
        mqd::v9::ComputeMqd,
        pm4::{
            self,
            commands::{
                WriteData,
                SEL_REGISTER, //
            },
            op,
            QueryStatus,
            SetResources,
            UnmapQueues, //
        },
        regs::{
            gc_9_4_3::{
                self as gc,
                CP_IQ_WAIT_TIME2 as Wait, //
            },
            Block,
            Value, //
        }, //
    },
    mqd::v9 as mqd,
    ring::{
        Format,
        Ring, //
    },
    sched::Parts,
    types::{
        Buffer,
        HqdSlot, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    time::Delta, //
};

use super::{
    hqds,
    kiq::Kiq,
    runlist::List, //
};

/// `KFD_CIK_HIQ_PIPE` (4) and `KFD_CIK_HIQ_QUEUE`: pipes count over micro engines.
pub(super) const SLOT: HqdSlot = HqdSlot::fixed::<2, 0, 0>();
/// `KFD_KERNEL_QUEUE_SIZE`.
const RING_BYTES: usize = 2048;
/// Words of an MQD's memory.
const MQD_WORDS: usize = mqd::ALLOCATION as usize / 4;
const EOP_BYTES: usize = 4096;
/// TIMEOUT: `queue_preemption_timeout_ms`.
const TIMEOUT: Delta = Delta::from_millis(9000);
/// `KFD_UNMAP_LATENCY_MS` / 100.
const UNMAP_LATENCY: u64 = 40;
/// `KFD_FENCE_INIT` and `KFD_FENCE_COMPLETED`.
const FENCE_INIT: u32 = 10;
const FENCE_DONE: u32 = 100;

/// The first word of an XCC's MQD.
fn mqd_word(xcc: usize) -> Result<usize> {
    xcc.checked_mul(MQD_WORDS).ok_or(EINVAL)
}

/// The queue, running.
pub(super) struct Hiq {
    parts: Arc<Parts>,
    kiq: Arc<Kiq>,
    ring: Ring,
    _eop: KernelBuf,
    mqd: KernelBuf,
    /// On how many XCCs, from the first on, it may be mapped.
    xccs: usize,
    /// The list that runs. Its memory is kept until it was taken off.
    list: Option<List>,
    /// The memory of a list that was taken off, for the next one.
    spare: Option<KernelBuf>,
    /// It was given a packet that isn't one, for a test.
    spoilt: bool,
    /// How long the firmware waits, unless somebody wants something else.
    wait_times: Value<Wait>,
}

impl Hiq {
    /// The engines are to be reset: nobody waits for KIQ any more.
    pub(super) fn give_up(&self) {
        self.kiq.give_up();
    }

    /// Starts KIQ, maps the queue and passes the firmware the resources that it may use.
    pub(super) fn start(parts: &Arc<Parts>) -> Result<Self> {
        let kiq = Kiq::start(parts)?;
        Self::map(parts, &kiq).inspect_err(|_| kiq.stop(parts))
    }

    fn map(parts: &Arc<Parts>, kiq: &Arc<Kiq>) -> Result<Self> {
        let ring = Ring::new(
            &parts.gart,
            &parts.doorbells,
            Format::PM4,
            RING_BYTES,
            doorbell::HIQ,
        )?;
        let eop = KernelBuf::new(&parts.gart, EOP_BYTES)?;
        let xccs = parts.chip.num_xcc as usize;
        let mqd = KernelBuf::new(
            &parts.gart,
            xccs.checked_mul(mqd::ALLOCATION as usize).ok_or(EINVAL)?,
        )?;
        let mut hiq = Self {
            parts: parts.clone(),
            kiq: kiq.clone(),
            ring,
            _eop: eop,
            mqd,
            xccs: 0,
            list: None,
            spare: None,
            spoilt: false,
            wait_times: Value::zeroed(),
        };
        if let Err(error) = hiq.map_everywhere().and_then(|()| hiq.configure()) {
            hiq.end(parts);
            return Err(error);
        }
        Ok(hiq)
    }

    /// Maps it on each XCC. Not inlined: its MQD leaves the stack with it.
    #[inline(never)]
    fn map_everywhere(&mut self) -> Result {
        let parts = self.parts.clone();
        for (i, xcc) in (0..).zip(parts.gfx.regs().instances(Block::Gc)) {
            let queue = mqd::KernelQueue {
                mqd_addr: self
                    .mqd
                    .gpu_addr()
                    .byte(u64::from(i).saturating_mul(mqd::ALLOCATION.into())),
                ring: &self.ring,
                eop: Buffer {
                    at: self._eop.gpu_addr(),
                    bytes: EOP_BYTES as u32,
                },
            };
            let image = mqd::hiq(&queue, i);
            self.mqd.write_slice(mqd_word(i as usize)?, &image.0)?;
            let (mqd_addr, wptr) = (queue.mqd_addr, self.ring.wptr_addr());
            // Also if KIQ doesn't answer.
            self.xccs = self.xccs.saturating_add(1);
            let kiq = &self.kiq;
            kiq.map_hiq(xcc, SLOT, doorbell::HIQ, mqd_addr, wptr)?;
        }
        Ok(())
    }

    /// `set_sched_resources` and `KFD_DEQUEUE_WAIT_INIT`.
    fn configure(&mut self) -> Result {
        let family = self.parts.chip.family;
        let queues = self.parts.chip.cp_queues();
        let gfx = &self.parts.gfx;
        let chained = gfx.chain_xnack(self.parts.chip.mec_fw_version);
        let resources = SetResources::zeroed()
            .with(SetResources::HEADER, pm4::header(op::SET_RESOURCES, 8))
            .having(SetResources::QUEUE_TYPE.is::<{ pm4::RESOURCES_HIQ }>())
            .with(SetResources::VMID_MASK, family.vmids.mask())
            .having(SetResources::UNMAP_LATENCY.is::<UNMAP_LATENCY>())
            .with(
                SetResources::QUEUE_MASK,
                !u64::MAX.checked_shl(queues.max(1)).unwrap_or(0),
            )
            .with(SetResources::GWS_MASK, u64::MAX)
            .with(SetResources::ENB_XNACK_RETRY_DISABLE_CHECK, chained);
        let wait = self.parts.gfx.regs().read(gc::CP_IQ_WAIT_TIME2);
        self.wait_times = wait.having(Wait::QUE_SLEEP.is::<1>());
        let write = self.set_wait_times(self.wait_times)?;
        self.ring.submit(&[&resources.0, &write])
    }

    /// The packet that sets how long the firmware waits when it takes queues off.
    fn set_wait_times(&self, times: Value<Wait>) -> Result<[u32; 5]> {
        let word = self.parts.gfx.regs().word(gc::CP_IQ_WAIT_TIME2, 0);
        let write = WriteData::zeroed()
            .with(WriteData::HEADER, pm4::header(op::WRITE_DATA, 5))
            .having(WriteData::DST_SEL.is::<SEL_REGISTER>())
            .with(WriteData::ADDR, word.ok_or(ENODEV)?.into());
        let [header, control, low, high] = write.0;
        Ok([header, control, low, high, times.bits()])
    }

    /// Sets for how many thousands of cycles waves may go on before they are saved, or what that was at first
    /// (`pm_config_dequeue_wait_counts_v9`). 0 would let them go on until they end, and everybody wait, so that it
    /// counts as 1, as for firmware that can't do that.
    pub(super) fn set_grace(&mut self, grace: Option<u32>) -> Result {
        let times = match grace {
            // As upstream, what the field has no room for is dropped.
            Some(grace) => {
                // CAST: The field's bits.
                let grace = grace as u8;
                self.wait_times.with(Wait::SCH_WAVE, grace.max(1))
            }
            None => self.wait_times,
        };
        let write = self.set_wait_times(times)?;
        self.ring.submit(&[&write])
    }

    /// Submits packets, then QUERY_STATUS, and waits for its fence.
    fn query(&mut self, packets: &[&[u32]]) -> Result {
        let status = QueryStatus::zeroed()
            .with(QueryStatus::HEADER, pm4::header(op::QUERY_STATUS, 7))
            .having(QueryStatus::COMMAND.is::<{ pm4::QUERY_FENCE_AFTER_ACK }>())
            .with(QueryStatus::ADDR, self.ring.fence_addr().get())
            .with(QueryStatus::DATA, u64::from(FENCE_DONE));
        self.ring.submit(packets)?;
        self.ring.set_fence(FENCE_INIT)?;
        self.ring.submit(&[&status.0])?;
        self.ring.wait_fence(FENCE_DONE, TIMEOUT)
    }

    /// Takes all queues off. Whether one didn't let go.
    ///
    /// # Errors
    ///
    /// ETIME when the firmware doesn't answer, ENODEV when the device is gone.
    pub(super) fn unmap(&mut self) -> Result<bool> {
        if self.list.is_none() && !self.spoilt {
            return Ok(false);
        }
        let unmap = UnmapQueues::zeroed()
            .with(UnmapQueues::HEADER, pm4::header(op::UNMAP_QUEUES, 6))
            .having(UnmapQueues::ACTION.is::<{ pm4::UNMAP_PREEMPT }>())
            .having(UnmapQueues::QUEUE_SEL.is::<{ pm4::SELECT_ALL_NON_STATIC }>());
        self.query(&[&unmap.0])?;
        // All that it listed is off: the firmware doesn't read it any more.
        if let Some(list) = self.list.take() {
            self.spare = Some(list.into_buf());
        }
        self.preemption_failed()
    }

    /// Submits what is no packet, at which the firmware stops (`pm_debugfs_hang_hws`). From then on queues are asked to
    /// leave even if none runs, which the firmware doesn't answer.
    pub(super) fn spoil(&mut self) -> Result {
        const NO_PACKET: [u32; 7] = [0x5555_5555; 7];
        self.ring.submit(&[&NO_PACKET])?;
        self.spoilt = true;
        Ok(())
    }

    /// The firmware notes doorbells of queues that didn't let go (`check_preemption_failed_v9_4_3`).
    fn preemption_failed(&mut self) -> Result<bool> {
        let word = ComputeMqd::QUEUE_DOORBELL_ID0.word();
        let mut failed = false;
        for xcc in 0..self.parts.chip.num_xcc as usize {
            let at = mqd_word(xcc)?.checked_add(word).ok_or(EINVAL)?;
            if self.mqd.read(at)? != 0 {
                self.mqd.write(at, 0)?;
                failed = true;
            }
        }
        Ok(failed)
    }

    /// Runs a list.
    pub(super) fn run(&mut self, list: List) -> Result {
        self.ring.submit(&[&list.packet()?.0])?;
        self.list = Some(list);
        Ok(())
    }

    /// Memory for the next list, if there is some.
    pub(super) fn spare(&mut self) -> &mut Option<KernelBuf> {
        &mut self.spare
    }

    /// The list that runs.
    pub(super) fn list(&self) -> Option<&List> {
        self.list.as_ref()
    }

    /// Takes the queue off and stops KIQ. What runs is reset with it. Returns whether it is off.
    pub(super) fn stop(self, parts: &Parts) -> bool {
        let kiq = self.kiq.clone();
        let is_off = self.end(parts);
        kiq.stop(parts);
        hqds::give_back(parts);
        is_off
    }

    /// Takes the queue off while KIQ runs, and its memory from the GART, or keeps that if the hardware may still have it.
    /// Returns whether it is off.
    fn end(self, parts: &Parts) -> bool {
        let is_off = self.unmap_queue(parts);
        if !is_off {
            parts.kept.keep(self);
        }
        is_off
    }

    /// The engines were reset: gives everything up without asking them.
    pub(super) fn abandon(self) {
        self.kiq.abandon();
    }

    /// Takes it off each XCC. Returns whether it is off all of them; a device that is gone has none.
    fn unmap_queue(&self, parts: &Parts) -> bool {
        let mut is_off = true;
        let xccs = parts.gfx.regs().instances(Block::Gc);
        for xcc in xccs.take(self.xccs) {
            if let Err(error) = self.kiq.unmap_hiq(xcc, doorbell::HIQ) {
                if error != ENODEV {
                    is_off = false;
                    dev_err!(
                        parts.dev.device(),
                        "HIQ of XCC {} doesn't stop ({:?})\n",
                        xcc,
                        error
                    );
                }
            }
        }
        is_off
    }
}
