// SPDX-License-Identifier: GPL-2.0

//! KIQ: the kernel interface queue.
//!
//! Each XCC has one, in the second pipe of the second micro engine. It is set up by hand: the HQD
//! registers are written under GRBM select from the MQD (`gfx_v9_4_3_xcc_kiq_init_register`), and
//! RLC gets to know that this queue schedules others.
//!
//! KIQ reports that it is done by writing a fence to memory after the packets before it.

use crate::{
    device::Handle,
    doorbell,
    glue::ratelimit::ratelimited,
    gmc::{
        Firmware,
        KernelBuf,
        HEAVY, //
    },
    hw::{
        mqd::v9::ComputeMqd,
        pm4::{
            self,
            commands::{
                WriteData,
                DST_MEMORY, //
            },
            kiq_map,
            op,
            InvalidateTlbs,
            MapQueues,
            SetResources,
            UnmapQueues, //
        },
        regs::{
            gc_9_4_3::{
                self as gc,
                CP_HQD_ACTIVE as Active,
                CP_PQ_STATUS as Status,
                CP_PQ_WPTR_POLL_CNTL as Poll,
                RLC_CP_SCHEDULERS as Schedulers, //
            },
            AnyReg,
            Block,
            Value, //
        },
        value::Bounded, //
    },
    mqd::v9 as mqd,
    regs::Regs,
    ring::{
        Format,
        Ring, //
    },
    sched::Parts,
    types::{
        Buffer,
        DoorbellWord,
        GpuVa,
        HqdSlot,
        Pasid, //
    },
    vram::VramRange, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    },
    time::Delta, //
};

/// `amdgpu_gfx_kiq_acquire`: the last ME and pipe that may be used, always queue 0.
const SLOT: HqdSlot = HqdSlot::fixed::<2, 1, 0>();
/// Bytes of the ring, as `amdgpu_gfx_kiq_init_ring` (1,024 words).
const RING_BYTES: usize = 4096;
/// `GFX9_MEC_HPD_SIZE`.
const EOP_BYTES: usize = 4096;
/// TIMEOUT: `MAX_KIQ_REG_WAIT` is 5 s with several tries; a TLB flush takes microseconds.
const TIMEOUT: Delta = Delta::from_secs(5);
/// TIMEOUT: `AMDGPU_MAX_USEC_TIMEOUT`.
const DEQUEUE_TIMEOUT: Delta = Delta::from_millis(100);

/// One XCC's queue.
struct Queue {
    xcc: u8,
    ring: Ring,
    _eop: KernelBuf,
    _mqd: VramRange,
    seq: u32,
}

/// The kernel interface queues of all XCCs.
#[pin_data]
pub(crate) struct Kiq {
    dev: Arc<Handle>,
    #[pin]
    queues: Mutex<KVec<Queue>>,
    /// The cleaner shader, if processes are isolated.
    cleaner: Option<VramRange>,
    /// A failure was logged; one line is enough.
    logged: Atomic<u32>,
    /// It takes no packets any more.
    stuck: Atomic<u32>,
}

impl Kiq {
    /// Starts KIQ on every XCC and lets each run one packet.
    pub(crate) fn start(parts: &Arc<Parts>) -> Result<Arc<Self>> {
        // Here, since a reset of the engines takes them away, and queues start anew after it.
        parts.gfx.set_golden();
        let mut queues = KVec::new();
        for (i, xcc) in (0..).zip(parts.gfx.regs().instances(Block::Gc)) {
            queues.push(Queue::new(parts, xcc, i)?, GFP_KERNEL)?;
        }
        let cleaner = match parts.isolates {
            true => Some(cleaner(parts)?),
            false => None,
        };
        let kiq = Arc::pin_init(
            pin_init!(Self {
                dev: parts.dev.clone(),
                cleaner,
                queues <- new_mutex!(queues, "rkfd KIQ"),
                logged: Atomic::new(0),
                stuck: Atomic::new(0),
            }),
            GFP_KERNEL,
        )?;
        if let Err(error) = kiq.announce() {
            dev_err!(
                parts.dev.device(),
                "KIQ doesn't take packets ({:?})\n",
                error
            );
            kiq.stop(parts);
            return Err(error);
        }
        parts.tlb.set_firmware(Some(kiq.clone()));
        Ok(kiq)
    }

    /// Stops it; its memory is freed when the last reference goes.
    pub(crate) fn stop(&self, parts: &Parts) {
        parts.tlb.set_firmware(None);
        for queue in self.queues.lock().iter() {
            queue.stop(parts);
        }
    }

    /// The engines were reset: gives the queues up without asking them. Who still has a reference finds
    /// none, and so can't ring a doorbell that another queue has by then.
    pub(super) fn abandon(&self) {
        let queues = core::mem::replace(&mut *self.queues.lock(), KVec::new());
        drop(queues);
    }

    /// It is to be reset: who waits for its turn need not wait for its answer as well.
    pub(super) fn give_up(&self) {
        self.stuck.store(1, Relaxed);
    }

    fn is_stuck(&self) -> bool {
        self.stuck.load(Relaxed) != 0
    }

    /// Runs a packet on the queue of an XCC; EIO when it takes none any more.
    fn run(&self, xcc: u8, packet: &[u32]) -> Result {
        let mut queues = self.queues.lock();
        if self.is_stuck() {
            return Err(EIO);
        }
        queues
            .iter_mut()
            .find(|queue| queue.xcc == xcc)
            .ok_or(EINVAL)?
            .run(&[packet])
    }

    /// SET_RESOURCES, the first packet: KIQ schedules nothing by itself, and learns where the cleaner shader is
    /// (`gfx_v9_4_3_kiq_set_resources`).
    fn announce(&self) -> Result {
        let cleaner = self.cleaner.as_ref().map_or(0, |it| it.gpu_addr().get());
        let packet = SetResources::zeroed()
            .with(SetResources::HEADER, pm4::header(op::SET_RESOURCES, 8))
            .with(SetResources::KIQ_CLEANER_ADDR, cleaner >> 8)
            .having(SetResources::QUEUE_TYPE.is::<{ pm4::RESOURCES_KIQ }>());
        for queue in self.queues.lock().iter_mut() {
            queue.run(&[&packet.0])?;
        }
        Ok(())
    }

    /// Maps a kernel queue into a slot of an XCC (`kgd_gfx_v9_hiq_mqd_load`).
    pub(crate) fn map_hiq(
        &self,
        xcc: u8,
        slot: HqdSlot,
        doorbell: DoorbellWord,
        mqd_addr: GpuVa,
        wptr_addr: GpuVa,
    ) -> Result {
        /// `PACKET3_MAP_QUEUES_ENGINE_SEL(1)`, there named "engine_sel: hiq".
        const ENGINE_HIQ: u64 = 1;
        let packet = MapQueues::zeroed()
            .with(MapQueues::HEADER, pm4::header(op::MAP_QUEUES, 7))
            .with(kiq_map::QUEUE, slot.queue())
            .with(kiq_map::PIPE, slot.pipe())
            .try_with(kiq_map::ME, slot.me().get().saturating_sub(1))
            .ok_or(EINVAL)?
            .having(MapQueues::ENGINE_SEL.is::<ENGINE_HIQ>())
            .having(MapQueues::NUM_QUEUES.is::<1>())
            .with(MapQueues::DOORBELL_OFFSET, doorbell.in_register())
            .with(MapQueues::MQD_ADDR, mqd_addr.get())
            .with(MapQueues::WPTR_ADDR, wptr_addr.get());
        self.run(xcc, &packet.0)
    }

    /// Takes a kernel queue off an XCC (`amdgpu_amdkfd_unmap_hiq`).
    pub(crate) fn unmap_hiq(&self, xcc: u8, doorbell: DoorbellWord) -> Result {
        let packet = UnmapQueues::zeroed()
            .with(UnmapQueues::HEADER, pm4::header(op::UNMAP_QUEUES, 6))
            .having(UnmapQueues::ACTION.is::<{ pm4::UNMAP_RESET }>())
            .having(UnmapQueues::QUEUE_SEL.is::<{ pm4::SELECT_DOORBELL }>())
            .having(UnmapQueues::NUM_QUEUES.is::<1>())
            .with(UnmapQueues::DOORBELL_OFFSET0, doorbell.in_register());
        self.run(xcc, &packet.0)
    }
}

impl Firmware for Kiq {
    fn invalidate_tlbs(&self, pasid: Pasid, kind: Bounded<3>) -> Option<Result> {
        let packet = InvalidateTlbs::zeroed()
            .with(InvalidateTlbs::HEADER, pm4::header(op::INVALIDATE_TLBS, 2))
            .having(InvalidateTlbs::DST_SEL.is::<1>())
            .with(InvalidateTlbs::ALL_HUB, true)
            .with(InvalidateTlbs::PASID, pasid.get());
        // On GC 9.4.3, the only one with a KIQ here, the data cache keeps page table entries, and
        // an access meanwhile may bring back what a heavy flush drops: each flush needs a heavy one
        // before it (`amdgpu_gmc_flush_gpu_tlb_pasid`).
        let heavy = packet.with(InvalidateTlbs::FLUSH_TYPE, HEAVY);
        let packet = packet.with(InvalidateTlbs::FLUSH_TYPE, kind);
        let mut queues = self.queues.lock();
        if self.is_stuck() {
            return None;
        }
        let mut each = queues.iter_mut();
        let result = each.try_for_each(|queue| queue.run(&[&heavy.0, &packet.0]));
        match result {
            Ok(()) => self.logged.store(0, Relaxed),
            Err(ENODEV) => {}
            Err(error) => {
                // Before the next one's turn.
                self.give_up();
                if self.logged.xchg(1, Relaxed) == 0 {
                    ratelimited!(
                        dev_err,
                        self.dev.device(),
                        "KIQ doesn't acknowledge TLB flushes ({:?})\n",
                        error
                    );
                }
            }
        }
        Some(result)
    }
}

/// The cleaner shader in memory.
fn cleaner(parts: &Parts) -> Result<VramRange> {
    let code = parts.chip.family.cleaner;
    let bytes = size_of_val(code) as u64;
    let memory = VramRange::new(&parts.vram, bytes)?;
    memory.write_words(0, code)?;
    parts.vram.flush_hdp();
    Ok(memory)
}

impl Queue {
    /// Not inlined: its MQD leaves the stack before packets run.
    #[inline(never)]
    fn new(parts: &Arc<Parts>, xcc: u8, index: u32) -> Result<Self> {
        let bell = index.checked_mul(doorbell::XCC_RANGE * 2);
        let bell = bell.and_then(|words| words.checked_add(doorbell::KIQ.get()));
        let bell = DoorbellWord::new(bell.ok_or(EINVAL)?)?;
        let ring = Ring::new(&parts.gart, &parts.doorbells, Format::PM4, RING_BYTES, bell)?;
        let eop = KernelBuf::new(&parts.gart, EOP_BYTES)?;
        let memory = VramRange::new(&parts.vram, mqd::ALLOCATION.into())?;
        let addr = memory.gpu_addr();
        let left = parts
            .gfx
            .select(xcc, SLOT, |regs| mqd::Left::read(regs, xcc));
        let queue = mqd::KernelQueue {
            mqd_addr: addr,
            ring: &ring,
            eop: Buffer {
                at: eop.gpu_addr(),
                bytes: EOP_BYTES as u32,
            },
        };
        let image = mqd::kiq(&queue, &left);
        memory.write_words(0, &image.0)?;
        memory.write_words(mqd::DYNAMIC_CU_MASK_OFFSET, &[u32::MAX, u32::MAX])?;
        parts.vram.flush_hdp();
        // `gfx_v9_4_3_xcc_kiq_setting`: this register names the queue to RLC.
        parts
            .gfx
            .regs()
            .update_at(xcc, gc::RLC_CP_SCHEDULERS, |old| {
                old.with(Schedulers::scheduler0, SLOT.as_scheduler())
            });
        let queue = Self {
            xcc,
            ring,
            _eop: eop,
            _mqd: memory,
            seq: 0,
        };
        parts
            .gfx
            .select(xcc, SLOT, |regs| load(regs, xcc, &image, index))?;
        Ok(queue)
    }

    /// Runs packets and waits until they are done.
    fn run(&mut self, packets: &[&[u32]]) -> Result {
        self.seq = self.seq.wrapping_add(1).max(1);
        let fence = WriteData::zeroed()
            .with(WriteData::HEADER, pm4::header(op::WRITE_DATA, 5))
            .having(WriteData::DST_SEL.is::<DST_MEMORY>())
            .with(WriteData::WR_CONFIRM, true)
            .with(WriteData::ADDR, self.ring.fence_addr().get());
        let [header, control, low, high] = fence.0;
        let fence = [header, control, low, high, self.seq];
        for packet in packets {
            self.ring.submit(&[packet])?;
        }
        self.ring.submit(&[&fence])?;
        self.ring.wait_fence(self.seq, TIMEOUT)
    }

    /// `gfx_v9_4_3_xcc_q_fini_register`.
    fn stop(&self, parts: &Parts) {
        parts
            .gfx
            .regs()
            .update_at(self.xcc, gc::RLC_CP_SCHEDULERS, |old| {
                old.with(Schedulers::scheduler0, 0)
            });
        parts.gfx.select(self.xcc, SLOT, |regs| {
            let xcc = self.xcc;
            if let Err(error) = dequeue(regs, xcc) {
                if error != ENODEV {
                    dev_err!(
                        parts.dev.device(),
                        "KIQ of XCC {} doesn't stop; forcing it\n",
                        xcc
                    );
                }
                regs.write_at(xcc, gc::CP_HQD_ACTIVE, Value::zeroed());
            }
            /// `CP_HQD_PERSISTENT_STATE_DEFAULT`.
            const PERSISTENT_STATE: u32 = 0x0be0_5301;
            for (reg, value) in [
                (gc::CP_HQD_IQ_TIMER.any(), 0),
                (gc::CP_HQD_IB_CONTROL.any(), 0),
                (gc::CP_HQD_PERSISTENT_STATE.any(), PERSISTENT_STATE),
                (gc::CP_HQD_PQ_DOORBELL_CONTROL.any(), 0x4000_0000),
                (gc::CP_HQD_PQ_DOORBELL_CONTROL.any(), 0),
                (gc::CP_HQD_PQ_RPTR.any(), 0),
                (gc::CP_HQD_PQ_WPTR_HI.any(), 0),
                (gc::CP_HQD_PQ_WPTR_LO.any(), 0),
            ] {
                regs.write_at(xcc, reg, value);
            }
        });
    }
}

/// Asks the selected HQD to stop, and waits.
fn dequeue(regs: &Regs, xcc: u8) -> Result {
    if !regs.read_at(xcc, gc::CP_HQD_ACTIVE).is_set(Active::ACTIVE) {
        return Ok(());
    }
    regs.write_at(xcc, gc::CP_HQD_DEQUEUE_REQUEST, Value::new(1));
    let result = regs.wait_at(xcc, gc::CP_HQD_ACTIVE, DEQUEUE_TIMEOUT, |value| {
        !value.is_set(Active::ACTIVE)
    });
    regs.write_at(xcc, gc::CP_HQD_DEQUEUE_REQUEST, Value::zeroed());
    result.map(|_| ())
}

/// Writes the selected HQD's registers from an MQD, in the order of
/// `gfx_v9_4_3_xcc_kiq_init_register`.
fn load(regs: &Regs, xcc: u8, image: &ComputeMqd, index: u32) -> Result {
    let write = |reg: AnyReg, value: u64| regs.write_at(xcc, reg, value as u32);
    let write_pair = |reg: AnyReg, value: u64| {
        regs.write_at(xcc, reg, value as u32);
        regs.write_at(xcc, reg.at(1, 1), (value >> 32) as u32);
    };
    regs.update_at(xcc, gc::CP_PQ_WPTR_POLL_CNTL, |old| {
        old.with(Poll::EN, false)
    });
    write_pair(
        gc::CP_HQD_EOP_BASE_ADDR.any(),
        image.get(ComputeMqd::CP_HQD_EOP_BASE_ADDR),
    );
    write(
        gc::CP_HQD_EOP_CONTROL.any(),
        image.get(ComputeMqd::CP_HQD_EOP_CONTROL),
    );
    let doorbell_control = image.get(ComputeMqd::CP_HQD_PQ_DOORBELL_CONTROL);
    write(gc::CP_HQD_PQ_DOORBELL_CONTROL.any(), doorbell_control);
    // A queue that firmware or a driver before us left there.
    dequeue(regs, xcc)?;
    write_pair(
        gc::CP_MQD_BASE_ADDR.any(),
        image.get(ComputeMqd::CP_MQD_BASE_ADDR),
    );
    write(
        gc::CP_MQD_CONTROL.any(),
        image.get(ComputeMqd::CP_MQD_CONTROL),
    );
    write_pair(
        gc::CP_HQD_PQ_BASE.any(),
        image.get(ComputeMqd::CP_HQD_PQ_BASE),
    );
    write(
        gc::CP_HQD_PQ_CONTROL.any(),
        image.get(ComputeMqd::CP_HQD_PQ_CONTROL),
    );
    write_pair(
        gc::CP_HQD_PQ_RPTR_REPORT_ADDR.any(),
        image.get(ComputeMqd::CP_HQD_PQ_RPTR_REPORT_ADDR),
    );
    write_pair(
        gc::CP_HQD_PQ_WPTR_POLL_ADDR.any(),
        image.get(ComputeMqd::CP_HQD_PQ_WPTR_POLL_ADDR),
    );
    let base = u64::from(index).saturating_mul(doorbell::XCC_RANGE.into());
    let bytes = |qword: u32| base.saturating_add(qword.into()) << 3;
    write(
        gc::CP_MEC_DOORBELL_RANGE_LOWER.any(),
        bytes(doorbell::KIQ.get() / 2),
    );
    write(
        gc::CP_MEC_DOORBELL_RANGE_UPPER.any(),
        bytes(doorbell::USER_QUEUE_END),
    );
    write(gc::CP_HQD_PQ_DOORBELL_CONTROL.any(), doorbell_control);
    write_pair(gc::CP_HQD_PQ_WPTR_LO.any(), 0);
    // Linux trusts that whoever took a queue off has cleared this one.
    write(gc::CP_HQD_PQ_RPTR.any(), 0);
    write(gc::CP_HQD_VMID.any(), 0);
    write(
        gc::CP_HQD_PERSISTENT_STATE.any(),
        image.get(ComputeMqd::CP_HQD_PERSISTENT_STATE),
    );
    write(gc::CP_HQD_ACTIVE.any(), 1);
    regs.update_at(xcc, gc::CP_PQ_STATUS, |old| {
        old.with(Status::DOORBELL_ENABLE, true)
    });
    Ok(())
}
