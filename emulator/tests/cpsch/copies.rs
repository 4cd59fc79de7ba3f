// SPDX-License-Identifier: MIT OR Apache-2.0

//! Copy queues in run lists: mapped beside compute queues, taken off with them, in turns.

use crate::packets::unmap;
use crate::queues::{list, Process, Queue};
use crate::rig::Rig;
use rkfd_hw::mqd::v9::SdmaMqd as Mqd;
use rkfd_hw::pm4::*;
use std::cell::Cell;

const RING: u64 = 4096;
/// Engines of the tests' queues, and the first doorbell of each.
const BELLS: [u32; 2] = [0x200, 0x218];

/// A copy queue of a process, as KFD makes it.
struct Copies<'a> {
    process: &'a Process<'a>,
    engine: u32,
    mqd: u64,
    ring: u64,
    bell: u32,
    written: Cell<u64>,
}

impl<'a> Copies<'a> {
    fn new(process: &'a Process<'a>, engine: u32, queue: u32, slice: u32) -> Self {
        let rig = process.rig;
        // Page 0 of the ring's memory is the ring, the next one has the pointers.
        let ring = process.alloc(RING + 4096);
        let bell = slice * 2048 + BELLS[engine as usize] + (queue & 1) * 1024 + (queue >> 1) * 2;
        let q = Self {
            process,
            engine,
            mqd: rig.alloc(4096),
            ring,
            bell,
            written: Cell::new(0),
        };
        let mut m = Mqd::zeroed().with(Mqd::SDMAX_RLCX_RB_BASE, ring >> 8);
        for (field, value) in [
            (Mqd::SDMAX_RLCX_RB_CNTL, (10 << 1) | (1 << 12) | (6 << 16)),
            (Mqd::SDMAX_RLCX_RB_RPTR_ADDR_LO, q.rptr() as u32),
            (Mqd::SDMAX_RLCX_RB_RPTR_ADDR_HI, (q.rptr() >> 32) as u32),
            (Mqd::SDMAX_RLCX_DOORBELL_OFFSET, bell << 2),
            (Mqd::SDMAX_RLCX_DUMMY_REG, 0xf),
            (Mqd::SDMAX_RLCX_IB_CNTL, 0x100),
            (Mqd::SDMA_ENGINE_ID, engine),
            (Mqd::SDMA_QUEUE_ID, queue),
        ] {
            m.set(field, value);
        }
        rig.put_words(q.mqd, &m.0);
        q
    }

    fn rptr(&self) -> u64 {
        self.ring + RING + 0x10
    }

    fn wptr(&self) -> u64 {
        self.ring + RING + 0x08
    }

    /// MAP_QUEUES (`pm_map_queues_v9`, SDMA before 5.2).
    fn map(&self) -> Vec<u32> {
        let (extended, select) = match self.engine {
            0 | 1 => (0, self.engine + 2),
            n => (1, n),
        };
        let p = MapQueues::zeroed()
            .with(MapQueues::HEADER, header(op::MAP_QUEUES, 7))
            .having(MapQueues::QUEUE_SEL.is::<1>())
            .try_with(MapQueues::EXTENDED_ENGINE_SEL, extended)
            .unwrap()
            .try_with(MapQueues::ENGINE_SEL, select.into())
            .unwrap()
            .having(MapQueues::NUM_QUEUES.is::<1>())
            .try_with(MapQueues::DOORBELL_OFFSET, self.bell.into())
            .unwrap()
            .with(MapQueues::MQD_ADDR, self.mqd)
            .with(MapQueues::WPTR_ADDR, self.wptr());
        p.0.to_vec()
    }

    fn submit(&self, words: &[u32]) {
        let rig = self.process.rig;
        for word in words {
            let at = self.written.replace(self.written.get() + 4) % RING;
            rig.put_words(self.process.at(self.ring + at), &[*word]);
        }
        rig.set_u64(self.process.at(self.wptr()), self.written.get());
        rig.ring_bell(self.bell, self.written.get());
    }

    /// Waits until a word is `value`, for ever, then writes another one.
    fn poll(&self, at: u64, value: u32, then: u64) {
        let [low, high] = [at as u32, (at >> 32) as u32];
        self.submit(&[
            8 | (1 << 31) | (3 << 28),
            low,
            high,
            value,
            u32::MAX,
            4 | (0xfff << 16),
        ]);
        self.fence(then, value);
    }

    fn fence(&self, at: u64, value: u32) {
        self.submit(&[5, at as u32, (at >> 32) as u32, value]);
    }

    fn is_done(&self) -> bool {
        self.process.u64(self.rptr()) == self.written.get()
    }

    /// The read pointer that its MQD has.
    fn saved_rptr(&self) -> u64 {
        let words = self.process.rig.words(self.mqd, 128);
        Mqd::SDMAX_RLCX_RB_RPTR.get(&words)
    }
}

/// A rig whose doorbells reach the first two engines.
fn rig() -> Rig {
    route(Rig::new())
}

fn route(rig: Rig) -> Rig {
    for (engine, first) in [0x200, 0x214].into_iter().enumerate() {
        rig.device.soc.doorbells.route_sdma(engine, first, 20);
    }
    rig
}

#[test]
fn a_run_list_maps_copy_queues_beside_others() {
    let rig = rig();
    let p = Process::saving(&rig, 0x8001);
    let compute = Queue::new(&p, 0x800, 16);
    let copies: Vec<_> = [(0, 0), (0, 1), (1, 0)]
        .map(|(engine, queue)| Copies::new(&p, engine, queue, 1))
        .into();
    let out = p.alloc(4096);
    // Rung before it is mapped: found in memory.
    copies[0].fence(out, 11);
    let mut words = list(&[(&p, &[&compute])]);
    copies.iter().for_each(|q| words.extend(q.map()));
    rig.run_list(&words, 15);
    rig.fence();
    copies[1].fence(out + 8, 12);
    copies[2].fence(out + 16, 13);
    rig.wait("the copies", || copies.iter().all(Copies::is_done));
    assert_eq!(p.words(out, 5), [11, 0, 12, 0, 13]);
    // All queues leave by the UNMAP_QUEUES that Linux sends.
    rig.unmap();
    rig.fence();
    assert_eq!(copies[1].saved_rptr(), 16);
    let soc = &rig.device.soc;
    assert_eq!(soc.pasids.vmids_of(0x8001), 0);
    rig.clean();
}

#[test]
fn a_preempted_copy_queue_goes_on_by_the_next_list() {
    let rig = rig();
    let p = Process::saving(&rig, 0x8001);
    let q = Copies::new(&p, 1, 2, 1);
    let (flag, out) = (p.alloc(4096), p.alloc(4096));
    let words = [p.map(1), q.map()].concat();
    rig.run_list(&words, 15);
    q.poll(flag, 1, out);
    rig.fence();
    // It waits; the unmap does not wait for it.
    for select in [SELECT_ALL_NON_STATIC, SELECT_ALL, SELECT_PASID] {
        let pasid = if select == SELECT_PASID { 0x8001 } else { 0 };
        rig.hiq(&unmap(select, UNMAP_PREEMPT, pasid));
        rig.fence();
        assert_eq!(q.saved_rptr(), 0);
        assert_eq!(p.words(out, 1), [0]);
        rig.run_list(&words, 15);
        rig.fence();
    }
    rig.put_words(p.at(flag), &[1]);
    rig.wait("the copy queue", || q.is_done());
    assert_eq!(p.words(out, 1), [1]);
    rig.hiq(&unmap(SELECT_ALL, UNMAP_RESET, 0));
    rig.fence();
    rig.clean();
}

#[test]
fn processes_with_copy_queues_take_turns_for_a_vmid() {
    let rig = route(Rig::with(&[], 0x8, 0xffff_ffff));
    let processes = [0x8001, 0x8002, 0x8003].map(|pasid| Process::saving(&rig, pasid));
    let queues: Vec<_> = processes
        .iter()
        .enumerate()
        .map(|(n, p)| Copies::new(p, 0, n as u32, n as u32 + 1))
        .collect();
    let outs: Vec<u64> = processes.iter().map(|p| p.alloc(4096)).collect();
    let mut words = Vec::new();
    for (p, q) in processes.iter().zip(&queues) {
        words.extend([p.map(1), q.map()].concat());
    }
    rig.run_chained_list(&words, 15);
    rig.fence();
    // The first one waits for ever, and others get on.
    queues[0].poll(outs[0], 5, outs[0] + 8);
    for round in 1..4 {
        for n in 1..3 {
            queues[n].fence(outs[n], round);
        }
        let done = || (1..3).all(|n| queues[n].is_done());
        rig.wait("the others", done);
        assert!((1..3).all(|n| processes[n].words(outs[n], 1) == [round]));
    }
    rig.put_words(processes[0].at(outs[0]), &[5]);
    rig.wait("the first", || queues[0].is_done());
    rig.unmap();
    rig.fence();
    rig.clean();
}

#[test]
fn a_write_pointer_in_memory_is_the_programs() {
    let rig = rig();
    let p = Process::saving(&rig, 0x8001);
    let (bad, good) = (Copies::new(&p, 0, 1, 1), Copies::new(&p, 1, 2, 1));
    let out = p.alloc(4096);
    for (at, wptr) in [(out, RING + 4), (out + 8, 6)] {
        rig.set_u64(p.at(bad.wptr()), wptr);
        rig.run_list(&[p.map(1), bad.map(), good.map()].concat(), 15);
        rig.fence();
        rig.faulted("SDMA: a write pointer in memory is inside a word, or more than a ring ahead");
        // Both queues are there, and work.
        good.fence(at, 5);
        bad.fence(at + 4, 6);
        rig.wait("the copies", || good.is_done() && bad.is_done());
        assert_eq!(p.words(at, 2), [5, 6]);
        rig.unmap();
        rig.fence();
    }
    // Its read pointer's address is the program's, too, and this queue can't be mapped.
    let mut image = rig.words(bad.mqd, 128);
    image[Mqd::SDMAX_RLCX_RB_RPTR_ADDR_LO.word()] += 4;
    rig.put_words(bad.mqd, &image);
    rig.run_list(&[p.map(1), bad.map(), good.map()].concat(), 15);
    rig.fence();
    rig.faulted("MAP_QUEUES: SDMA queue: RB_RPTR_ADDR is not a multiple of 8");
    good.fence(out, 7);
    rig.wait("the other", || good.is_done());
    rig.driver_is_right();
}

#[test]
fn copy_queues_that_do_not_fit_are_not_mapped() {
    type Spoil = fn(&mut Vec<u32>);
    let cases: [(&str, Spoil); 5] = [
        ("an SDMA queue of a process without SDMA_ENABLE", |w| {
            w[13] &= !(1 << 7)
        }),
        ("MAP_QUEUES: no such engine", |w| w[22] |= 3 << 2),
        ("SDMA queue: the engine is not that of the MQD", |w| {
            w[22] ^= 1 << 26
        }),
        ("SDMA queue: doorbell 0x", |w| w[23] += 8),
        ("MQD or doorbell is that of a mapped SDMA queue", |w| {
            w.extend(w[21..].to_vec())
        }),
    ];
    for (what, spoil) in cases {
        let rig = rig();
        let p = Process::saving(&rig, 0x8001);
        let q = Copies::new(&p, 0, 1, 1);
        let mut words = [p.map(1), q.map()].concat();
        spoil(&mut words);
        rig.run_list(&words, 15);
        rig.violated(what);
        rig.fence();
    }
}
