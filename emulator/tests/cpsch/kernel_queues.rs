// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rig's KIQ and HIQ: how Linux starts them, and what it sends by them.

use crate::packets::{base_mqd, run_list, unmap};
use crate::rig::{KernelQueue, Rig, HIQ, KIQ};
use rkfd_emulator::memory::PAGE;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pm4::*;
use rkfd_hw::regs::{gc_9_4_3 as gc, Value};

impl Rig {
    /// A kernel queue's MQD: `init_mqd` and `init_mqd_hiq`.
    pub fn kernel_mqd(&self, q: &KernelQueue) -> Mqd {
        let mut m = base_mqd(q.mqd);
        m.set(
            Mqd::CP_HQD_PQ_CONTROL,
            0xc000_0000 | (1 << 28) | (5 << 8) | (q.words.ilog2() - 1),
        );
        m.set(Mqd::CP_HQD_PQ_BASE, q.ring >> 8);
        m.set(Mqd::CP_HQD_PQ_RPTR_REPORT_ADDR, q.rptr);
        m.set(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR, q.wptr);
        m.set(Mqd::CP_HQD_PQ_DOORBELL_CONTROL, q.bell << 2);
        m
    }

    /// Starts every XCC's KIQ.
    pub fn start_kiq(&self) {
        self.on_each_xcc(|xcc| self.start_kiq_of(self.kiq_of(xcc)));
    }

    pub fn kiq_of(&self, xcc: u8) -> &KernelQueue {
        match xcc {
            0 => &self.kiq,
            _ => &self.kiqs[usize::from(xcc) - 1],
        }
    }

    /// As `gfx_v9_4_3_xcc_kiq_setting` and `_kiq_init_register` do.
    fn start_kiq_of(&self, kiq: &KernelQueue) {
        let (me, pipe, queue) = KIQ;
        self.write(gc::CP_MEC_CNTL, 0);
        let [addresses, caches] = self.golden.get();
        self.write(gc::GB_ADDR_CONFIG, addresses);
        self.write(gc::TCP_UTCL1_CNTL2, caches);
        let schedulers = self.read(gc::RLC_CP_SCHEDULERS) & !0xff;
        self.write(
            gc::RLC_CP_SCHEDULERS,
            schedulers | (me << 5) | (pipe << 3) | queue | 0x80,
        );
        let mut m = self.kernel_mqd(kiq);
        m.set(Mqd::CP_HQD_ACTIVE, 1);
        let bell = m.get(Mqd::CP_HQD_PQ_DOORBELL_CONTROL) as u32 | (1 << 30);
        m.set(Mqd::CP_HQD_PQ_DOORBELL_CONTROL, bell);
        m.set(Mqd::CP_HQD_EOP_CONTROL, 9);
        self.select(KIQ);
        m.set(Mqd::CP_MQD_CONTROL, self.read(gc::CP_MQD_CONTROL));
        let state = self.read(gc::CP_HQD_PERSISTENT_STATE);
        m.set(Mqd::CP_HQD_PERSISTENT_STATE, state);
        self.put_words(kiq.mqd, &m.0);
        self.write(
            gc::CP_PQ_WPTR_POLL_CNTL,
            self.read(gc::CP_PQ_WPTR_POLL_CNTL) & !(1 << 31),
        );
        assert_eq!(self.read(gc::CP_HQD_ACTIVE) & 1, 0);
        let word = |at: usize, n: usize| m.0[at + n];
        for (reg, value) in [
            (gc::CP_HQD_EOP_CONTROL.any(), 9),
            (
                gc::CP_MQD_BASE_ADDR.any(),
                word(Mqd::CP_MQD_BASE_ADDR.word(), 0),
            ),
            (
                gc::CP_MQD_BASE_ADDR_HI.any(),
                word(Mqd::CP_MQD_BASE_ADDR.word(), 1),
            ),
            (gc::CP_MQD_CONTROL.any(), self.read(gc::CP_MQD_CONTROL)),
            (
                gc::CP_HQD_PQ_BASE.any(),
                word(Mqd::CP_HQD_PQ_BASE.word(), 0),
            ),
            (
                gc::CP_HQD_PQ_BASE_HI.any(),
                word(Mqd::CP_HQD_PQ_BASE.word(), 1),
            ),
            (
                gc::CP_HQD_PQ_CONTROL.any(),
                word(Mqd::CP_HQD_PQ_CONTROL.word(), 0),
            ),
            (
                gc::CP_HQD_PQ_RPTR_REPORT_ADDR.any(),
                word(Mqd::CP_HQD_PQ_RPTR_REPORT_ADDR.word(), 0),
            ),
            (
                gc::CP_HQD_PQ_RPTR_REPORT_ADDR_HI.any(),
                word(Mqd::CP_HQD_PQ_RPTR_REPORT_ADDR.word(), 1),
            ),
            (
                gc::CP_HQD_PQ_WPTR_POLL_ADDR.any(),
                word(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR.word(), 0),
            ),
            (
                gc::CP_HQD_PQ_WPTR_POLL_ADDR_HI.any(),
                word(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR.word(), 1),
            ),
            (gc::CP_MEC_DOORBELL_RANGE_LOWER.any(), kiq.bell << 2),
            (
                gc::CP_MEC_DOORBELL_RANGE_UPPER.any(),
                (kiq.bell << 2) + 0xf8,
            ),
            (gc::CP_HQD_PQ_DOORBELL_CONTROL.any(), bell),
            (gc::CP_HQD_PQ_WPTR_LO.any(), 0),
            (gc::CP_HQD_PQ_WPTR_HI.any(), 0),
            (gc::CP_HQD_VMID.any(), 0),
            // The reset value with PRELOAD_SIZE, as Linux reads, changes and writes it.
            (
                gc::CP_HQD_PERSISTENT_STATE.any(),
                self.read(gc::CP_HQD_PERSISTENT_STATE),
            ),
            (gc::CP_HQD_ACTIVE.any(), 1),
        ] {
            self.write(reg, value);
        }
        self.write(gc::CP_PQ_STATUS, self.read(gc::CP_PQ_STATUS) | 2);
        self.select((0, 0, 0));
    }

    /// Starts the HIQ on every XCC.
    pub fn start_hiq(&self) {
        self.on_each_xcc(|xcc| self.start_hiq_of(xcc));
    }

    /// `init_mqd_hiq_v9_4_3`, `kgd_gfx_v9_hiq_mqd_load`, and interrupts of all pipes
    /// (`kgd_gfx_v9_init_interrupts`).
    pub fn start_hiq_of(&self, xcc: u8) {
        self.submit_hiq_of(xcc);
        self.wait("the HIQ is active", || self.is_active(HIQ));
    }

    /// Has the KIQ of the XCC that is selected map its HIQ, and does not wait for it.
    pub fn submit_hiq_of(&self, xcc: u8) {
        let mqd = self.hiq.mqd + PAGE * u64::from(xcc);
        let mut m = self.kernel_mqd(&self.hiq);
        m.set(Mqd::CP_MQD_BASE_ADDR, mqd);
        m.set(Mqd::CP_MQD_STRIDE_SIZE, PAGE as u32);
        if xcc > 0 {
            let control = Value::<gc::CP_HQD_PQ_CONTROL>::new(m.get(Mqd::CP_HQD_PQ_CONTROL) as u32);
            let muted = control
                .with(gc::CP_HQD_PQ_CONTROL::NO_UPDATE_RPTR, true)
                .bits();
            m.set(Mqd::CP_HQD_PQ_CONTROL, muted);
        }
        self.put_words(mqd, &m.0);
        for pipe in 0..4 {
            self.select((1, pipe, 0));
            self.write(gc::CPC_INT_CNTL, (1 << 26) | (1 << 24));
        }
        self.select((0, 0, 0));
        self.submit(self.kiq_of(xcc), &kiq_resources());
        self.submit(self.kiq_of(xcc), &self.map_hiq_at(mqd));
    }

    pub fn map_hiq(&self) -> [u32; 7] {
        self.map_hiq_at(self.hiq.mqd)
    }

    fn map_hiq_at(&self, mqd: u64) -> [u32; 7] {
        self.map_queue(mqd, HIQ, 1)
    }

    /// Maps a compute queue of the kernel's driver with the HIQ's ring, in the HIQ's place
    /// (`gfx_v9_4_3_kiq_map_queues`).
    pub fn start_compute(&self, slot: (u32, u32, u32)) {
        let m = self.kernel_mqd(&self.hiq);
        self.put_words(self.hiq.mqd, &m.0);
        self.kiq(&kiq_resources());
        self.kiq(&self.map_queue(self.hiq.mqd, slot, 0));
        self.wait("the queue is active", || self.is_active(slot));
    }

    fn map_queue(&self, mqd: u64, (me, pipe, queue): (u32, u32, u32), engine: u32) -> [u32; 7] {
        let q = &self.hiq;
        let select = (1 << 29) | (engine << 26) | ((me - 1) << 18) | (pipe << 16) | (queue << 13);
        let [mqd, wptr] = [mqd, q.wptr].map(|a| [a as u32, (a >> 32) as u32]);
        [
            header(op::MAP_QUEUES, 7),
            select,
            q.bell << 2,
            mqd[0],
            mqd[1],
            wptr[0],
            wptr[1],
        ]
    }

    pub fn is_active(&self, slot: (u32, u32, u32)) -> bool {
        self.select(slot);
        let active = self.read(gc::CP_HQD_ACTIVE) & 1 == 1;
        self.select((0, 0, 0));
        active
    }

    pub fn kiq(&self, words: &[u32]) {
        self.submit(&self.kiq, words);
    }

    pub fn hiq(&self, words: &[u32]) {
        self.submit(&self.hiq, words);
    }

    /// Writes words into a kernel queue's ring and rings, as `amdgpu_ring_commit` does.
    pub fn submit(&self, q: &KernelQueue, words: &[u32]) {
        for (i, &word) in words.iter().enumerate() {
            let at = (q.written.get() + i as u64) % q.words;
            self.put_words(q.ring + at * 4, &[word]);
        }
        q.written.set(q.written.get() + words.len() as u64);
        self.set_u64(q.wptr, q.written.get());
        self.ring_bell(q.bell, q.written.get());
    }

    /// Rings without a pointer in memory that has come so far.
    pub fn ring_early(&self, q: &KernelQueue, words: u64) {
        self.ring_bell(q.bell, q.written.get() + words);
    }

    /// QUERY_STATUS on the HIQ and the wait for its fence.
    pub fn fence(&self) {
        let value = self.send_fence();
        self.wait("the fence", || self.u64(self.fence) == value);
    }

    pub fn send_fence(&self) -> u64 {
        self.fences.set(self.fences.get() + 1);
        let query = QueryStatus::zeroed()
            .with(QueryStatus::HEADER, header(op::QUERY_STATUS, 7))
            .having(QueryStatus::COMMAND.is::<QUERY_FENCE_AFTER_ACK>())
            .with(QueryStatus::ADDR, self.fence)
            .with(QueryStatus::DATA, self.fences.get());
        self.hiq(&query.0);
        self.fences.get()
    }

    /// UNMAP_QUEUES of all queues but static ones.
    pub fn unmap(&self) {
        self.hiq(&unmap(SELECT_ALL_NON_STATIC, UNMAP_PREEMPT, 0));
    }

    /// A run list from packets, run by the HIQ.
    pub fn run_list(&self, packets: &[u32], processes: u64) {
        let ib = self.alloc(packets.len() as u64 * 4);
        self.put_words(ib, packets);
        self.hiq(&run_list(ib, packets.len(), processes).0);
    }

    /// Runs a list that goes back to its start at its end, as more queues than fit need.
    pub fn run_chained_list(&self, packets: &[u32], processes: u64) {
        let words = packets.len() + 4;
        let ib = self.alloc(words as u64 * 4);
        let run = run_list(ib, words, processes);
        let chain = run
            .with(RunList::CHAIN, true)
            .with(RunList::CHAINED_RUNLIST_IDLE_DISABLE, true);
        self.put_words(ib, &[packets, &chain.0].concat());
        self.hiq(&run.0);
    }
}

/// SET_RESOURCES of a KIQ, for the first eight queues (`gfx_v9_4_3_kiq_set_resources`).
pub fn kiq_resources() -> [u32; 8] {
    [header(op::SET_RESOURCES, 8), 0, 0xff, 0, 0, 0, 0, 0]
}
