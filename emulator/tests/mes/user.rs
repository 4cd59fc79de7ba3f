// SPDX-License-Identifier: MIT OR Apache-2.0

//! User queues on MES: dispatches, turns, what frames do to queues while kernels run.

use crate::process::{Memory, Process, Queue};
use crate::rig::*;
use rkfd_emulator::device::Device;
use rkfd_emulator::inject::Fault;
use rkfd_hw::aql::KernelDispatch;
use rkfd_hw::mes::v12::{AddQueue, Reset, SetHwResources1};
use rkfd_hw::mes::{header, op};
use rkfd_hw::mqd::v12::ComputeMqd as Mqd;
use rkfd_hw::regs::gc_12_0_0::CP_HQD_PERSISTENT_STATE as STATE;
use rkfd_hw::regs::osssys_7_0_0::IH_RB_CNTL;
use std::rc::Rc;
use std::time::{Duration, Instant};

const IH: u64 = 0x30_0000;
/// HQDs that the rig's resources have: queues 2 and 3 of two pipes.
const HQDS: [(u32, u32); 4] = [(0, 2), (0, 3), (1, 2), (1, 3)];

fn start() -> (Rig, Rc<Memory>) {
    start_with(&[])
}

fn start_with(faults: &[Fault]) -> (Rig, Rc<Memory>) {
    let rig = Rig::started(faults);
    let mut ring = rig.guest.device.soc.interrupts.ring();
    ring.base = (mc(IH) >> 8) as u32;
    ring.base_hi = (mc(IH) >> 40) as u32;
    let fields = [
        (IH_RB_CNTL::RB_ENABLE, 1),
        (IH_RB_CNTL::RB_SIZE, 10),
        (IH_RB_CNTL::MC_SPACE, 4),
    ];
    let cntl = fields.into_iter().fold(0, |v, (bits, to)| bits.set(v, to));
    ring.cntl = cntl;
    drop(ring);
    // `init_interrupts_v12`: time stamps and bad opcodes.
    for pipe in 0..2 {
        rig.gc("GRBM_GFX_CNTL", (1 << 2) | pipe);
        rig.gc("CPC_INT_CNTL", (1 << 26) | (1 << 24));
    }
    // `gfx_v12_0_init_compute_vmid`, and the ranges of the contexts.
    for vmid in 8..16 {
        rig.gc("GRBM_GFX_CNTL", vmid << 4);
        rig.gc("SH_MEM_BASES", (2 << 16) | 1);
    }
    rig.gc("GRBM_GFX_CNTL", 0);
    let hub = rkfd_emulator::memory::Hub::Gfx;
    let mut hub = rig.guest.device.soc.memory.hub(hub).registers();
    for vmid in 8..16 {
        hub.end[vmid] = [u32::MAX, 0xf];
    }
    drop(hub);
    // `mes_v12_0_enable_unmapped_doorbell_handling`.
    rig.gc("CP_UNMAPPED_DOORBELL", 0xd00 | 1);
    let memory = Memory::new(&rig);
    (rig, memory)
}

impl Rig {
    fn add(&mut self, q: &Queue) {
        assert_eq!(self.submit(0, &q.add().0, 38), 1, "{:?}", self.lines());
    }

    fn remove(&mut self, q: &Queue, flags: u32) -> u64 {
        let gang = mc(q.gang);
        let fields = [
            (1, q.bell),
            (2, gang as u32),
            (3, (gang >> 32) as u32),
            (4, flags),
            (15, 1),
        ];
        self.submit(0, &frame(op::REMOVE_QUEUE, &fields), 6)
    }

    fn is_active(&self, (pipe, queue): (u32, u32)) -> bool {
        self.gc("GRBM_GFX_CNTL", (1 << 2) | pipe | (queue << 8));
        let active = self.read("CP_HQD_ACTIVE") & 1 == 1;
        self.gc("GRBM_GFX_CNTL", 0);
        active
    }

    fn lines(&self) -> Vec<String> {
        self.guest.violations()
    }

    fn clean(&self) {
        assert_eq!(self.lines(), [""; 0]);
    }
}

/// The interrupt at a place of the ring: client, source, ring id, VMID, PASID, data.
fn interrupt(memory: &Memory, n: u64) -> (u8, u8, u8, u8, u16, [u32; 4]) {
    let device: &Device = &memory.device;
    memory.wait("an interrupt", || {
        u64::from(device.soc.interrupts.ring().wptr) >= (n + 1) * 32
    });
    let w = memory.words(IH + n * 32, 8);
    let byte = |shift: u32| (w[0] >> shift) as u8;
    let data = [w[4], w[5], w[6], w[7]];
    assert_eq!(w[3] >> 16, 0, "node 0");
    let vmid = byte(24) & 0xf;
    (byte(0), byte(8), byte(16), vmid, w[3] as u16, data)
}

#[test]
fn vadd_from_the_doorbell_to_the_event() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 64);
    let signal = p.signal(42);
    let (packet, sums, expected) = p.vadd(100_000, 1, signal);
    rig.add(&q);
    assert!(rig.is_active(HQDS[0]));
    q.push(packet.0);
    p.wait(signal);
    assert!(p.words(sums, 100_000) == expected, "all sums are the CPU's");
    memory.wait("the read index", || p.u64(q.read_index()) == 1);
    assert_eq!(p.words(q.ring, 1)[0] as u16, 1, "the slot is free again");
    memory.wait("the mailbox", || p.u64(signal + 2048) == 42);
    // GRBM_CP, end of pipe; pipe 0, me 1, queue 2; the first VMID of the mask.
    let entry = (0x14, 181, 0x24, 8, 0x8001, [42, 0, 0, 0]);
    assert_eq!(interrupt(&memory, 0), entry);
    assert_eq!(rig.remove(&q, 0), 1);
    assert!(!rig.is_active(HQDS[0]));
    assert_eq!(q.image().get(Mqd::CP_MQD_READINDEX), 1);
    rig.clean();
}

#[test]
fn processes_have_their_own_memory() {
    let (mut rig, memory) = start();
    let all: Vec<_> = (0..2u16)
        .map(|n| {
            let p = Process::new(&memory, 0x8001 + n);
            let q = Queue::new(&p, 0x1000 + 0x800 * u32::from(n), 16);
            rig.add(&q);
            (p, q)
        })
        .collect();
    let jobs: Vec<_> = all
        .iter()
        .map(|(p, q)| {
            let signal = p.signal(0);
            let (packet, sums, expected) = p.vadd(5000, u32::from(p.pasid), signal);
            q.push(packet.0);
            (p, signal, sums, expected)
        })
        .collect();
    // Their addresses are the same; so must not be what lies there.
    assert_eq!(jobs[0].2, jobs[1].2);
    assert_ne!(jobs[0].3, jobs[1].3);
    for (p, signal, sums, expected) in jobs {
        p.wait(signal);
        assert_eq!(p.words(sums, 5000), expected);
    }
    rig.clean();
}

/// Many queues, each rung again and again, in rounds that end before the next begins.
fn many(processes: u16, queues: u32, hears: bool) {
    let (mut rig, memory) = start();
    if !hears {
        rig.gc("CP_UNMAPPED_DOORBELL", 0xd00);
    }
    let mut all = Vec::new();
    for n in 0..processes {
        let p = Process::new(&memory, 0x8001 + n);
        for k in 0..queues {
            let bell = 0x1000 + 0x800 * u32::from(n) + 2 * k;
            let q = Queue::new(&p, bell, 16);
            rig.add(&q);
            all.push((p.clone(), q));
        }
    }
    for round in 0..3 {
        let mut jobs = Vec::new();
        for (n, (p, q)) in all.iter().enumerate() {
            let signal = p.signal(0);
            let (packet, sums, expected) = p.vadd(256, round * 100 + n as u32, signal);
            q.push(packet.0);
            jobs.push((p.clone(), signal, sums, expected));
        }
        for (p, signal, sums, expected) in jobs {
            p.wait(signal);
            assert_eq!(p.words(sums, 256), expected);
        }
    }
    for (_, q) in &all {
        assert_eq!(rig.remove(q, 0), 1);
    }
    assert!(HQDS.iter().all(|hqd| !rig.is_active(*hqd)));
    rig.clean();
}

#[test]
fn more_queues_than_hqds_take_turns() {
    many(1, 12, true);
}

#[test]
fn more_processes_than_vmids_take_turns() {
    many(10, 1, true);
}

#[test]
fn without_unmapped_doorbells_queues_are_looked_at_in_turn() {
    many(2, 4, false);
}

#[test]
fn endless_kernels_share_the_hqds() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let all: Vec<_> = (0..6).map(|n| Queue::new(&p, 0x1000 + 2 * n, 16)).collect();
    let mut spins = Vec::new();
    for q in &all {
        rig.add(q);
        let signal = p.signal(0);
        let (packet, flag) = p.spin(signal);
        q.push(packet.0);
        spins.push((signal, flag));
    }
    // The last ones end although nobody before them does.
    for &(signal, flag) in spins.iter().rev() {
        memory.set_u64(p.at(flag), 1);
        p.wait(signal);
    }
    rig.clean();
}

#[test]
fn a_higher_level_does_not_wait_for_quanta() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let long = |q: &Queue| q.add().with(AddQueue::GANG_QUANTUM, 10_000_000_000);
    let mut spins = Vec::new();
    let busy: Vec<_> = (0..4).map(|n| Queue::new(&p, 0x1000 + 2 * n, 16)).collect();
    for q in &busy {
        assert_eq!(rig.submit(0, &long(q).0, 38), 1);
        let signal = p.signal(0);
        let (packet, flag) = p.spin(signal);
        q.push(packet.0);
        spins.push((signal, flag));
    }
    let q = Queue::new(&p, 0x1100, 16);
    let high = long(&q).with(AddQueue::GANG_GLOBAL_PRIORITY_LEVEL, 3);
    assert_eq!(rig.submit(0, &high.0, 38), 1);
    let signal = p.signal(0);
    let (packet, sums, expected) = p.vadd(300, 5, signal);
    q.push(packet.0);
    p.wait(signal);
    assert_eq!(p.words(sums, 300), expected);
    for (signal, flag) in spins {
        memory.set_u64(p.at(flag), 1);
        p.wait(signal);
    }
    rig.clean();
}

#[test]
fn a_removed_queue_goes_on_in_its_kernel_when_it_is_added_again() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    let signal = p.signal(0);
    let (packet, flag) = p.spin(signal);
    rig.add(&q);
    q.push(packet.0);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(rig.remove(&q, 0), 1);
    assert!(!rig.is_active(HQDS[0]));
    let state = q.image().get(Mqd::CP_HQD_PERSISTENT_STATE) as u32;
    assert_eq!(STATE::RELAUNCH_WAVES.get(state), 1);
    memory.set_u64(p.at(flag), 1);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(p.value(signal), 1, "it stands still");
    // Another process in between may get its VMID.
    let other = Process::new(&memory, 0x8002);
    let second = Queue::new(&other, 0x1800, 16);
    rig.add(&second);
    rig.add(&q);
    p.wait(signal);
    assert_eq!(rig.remove(&q, 0), 1);
    assert_eq!(rig.remove(&second, 0), 1);
    rig.clean();
}

#[test]
fn a_gang_is_suspended_and_resumed() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let (q, other) = (Queue::new(&p, 0x1000, 16), Queue::new(&p, 0x1002, 16));
    rig.add(&q);
    rig.add(&other);
    let signal = p.signal(0);
    let (packet, flag) = p.spin(signal);
    q.push(packet.0);
    std::thread::sleep(Duration::from_millis(20));
    let (gang, fence) = (mc(q.gang), mc(BUFFER));
    rig.set(BUFFER, 0);
    let suspend = frame(
        op::SUSPEND,
        &[
            (2, gang as u32),
            (3, (gang >> 32) as u32),
            (4, fence as u32),
            (5, (fence >> 32) as u32),
            (6, 7),
        ],
    );
    assert_eq!(rig.submit(0, &suspend, 8), 1);
    assert_eq!(rig.value(BUFFER), 7);
    assert!(!rig.is_active(HQDS[0]) && rig.is_active(HQDS[1]));
    memory.set_u64(p.at(flag), 1);
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(p.value(signal), 1, "it stands still");
    // The other gang runs.
    let done = p.signal(0);
    let (packet, sums, expected) = p.vadd(300, 2, done);
    other.push(packet.0);
    p.wait(done);
    assert_eq!(p.words(sums, 300), expected);
    let resume = frame(op::RESUME, &[(2, gang as u32), (3, (gang >> 32) as u32)]);
    assert_eq!(rig.submit(0, &resume, 4), 1);
    p.wait(signal);
    rig.clean();
}

/// A rig whose MES waits 300 ms for a queue, and a queue that never leaves by itself.
fn hung() -> (Rig, Rc<Memory>, Rc<Process>, Queue, Queue) {
    let (mut rig, memory) = start();
    let mut patience = SetHwResources1::zeroed().with(SetHwResources1::MES_KIQ_UNMAP_TIMEOUT, 3);
    patience.0[0] = header(op::SET_HW_RSRC_1);
    assert_eq!(rig.submit(0, &patience.0, 2), 1);
    let p = Process::new(&memory, 0x8001);
    let (q, other) = (Queue::new(&p, 0x1000, 16), Queue::new(&p, 0x1002, 16));
    q.cannot_save();
    rig.add(&other);
    rig.add(&q);
    let (packet, _) = p.spin(p.signal(0));
    q.push(packet.0);
    std::thread::sleep(Duration::from_millis(20));
    // Unmap timed out: the failure is the hardware's, and no mistake of the driver.
    let asked = Instant::now();
    assert_eq!(rig.remove(&q, 0), error(7, op::REMOVE_QUEUE, 0, 2));
    assert!(asked.elapsed() >= Duration::from_millis(300));
    let all = frame(op::SUSPEND, &[(1, 1)]);
    assert_eq!(rig.submit(0, &all, 8), error(7, op::SUSPEND, 0, 2));
    assert!(!rig.is_active(HQDS[0]) && rig.is_active(HQDS[1]));
    rig.clean();
    (rig, memory, p, q, other)
}

/// hang_detect_only, as `mes_v12_0_detect_and_reset_hung_queues`.
fn detect(field: rkfd_hw::layout::Field<Reset>) -> Reset {
    let mut frame = Reset::zeroed()
        .with(field, 1)
        .with(Reset::QUEUE_TYPE, 1)
        .with(Reset::DOORBELL_OFFSET_ADDR, mc(BUFFER));
    frame.0[0] = header(op::RESET);
    frame
}

fn resume_all(rig: &mut Rig, p: &Process, other: &Queue) {
    assert_eq!(rig.submit(0, &frame(op::RESUME, &[(1, 1)]), 4), 1);
    let done = p.signal(0);
    let (packet, sums, expected) = p.vadd(300, 2, done);
    other.push(packet.0);
    p.wait(done);
    assert_eq!(p.words(sums, 300), expected);
    rig.clean();
}

#[test]
fn a_hung_queue_is_found_and_reset_by_mes() {
    let (mut rig, memory, p, q, other) = hung();
    for at in (0..64).step_by(8) {
        rig.set(BUFFER + at, u64::MAX);
    }
    assert_eq!(rig.submit(0, &detect(Reset::HANG_DETECT_ONLY).0, 28), 1);
    // One doorbell; at the place of four HQDs, which the masks name: compute, pipe 0, queue 3.
    let mut expected = vec![u32::MAX; 8];
    expected[0] = q.bell;
    expected[4] = 1 | (3 << 7);
    assert_eq!(memory.words(BUFFER, 8), expected);
    assert!(rig.is_active(HQDS[1]));
    let reset = frame(op::RESET, &[(1, 1), (4, q.bell), (8, 1)]);
    assert_eq!(rig.submit(0, &reset, 28), 1);
    assert!(!rig.is_active(HQDS[1]));
    // remove_queue_after_reset.
    assert_eq!(rig.remove(&q, 1 << 4), 1);
    resume_all(&mut rig, &p, &other);
    assert_eq!(rig.remove(&q, 0), error(4, op::REMOVE_QUEUE, 0, 1));
}

#[test]
fn a_hung_queue_is_reset_in_one_go() {
    let (mut rig, memory, p, q, other) = hung();
    rig.set(BUFFER, u64::MAX);
    let frame = detect(Reset::HANG_DETECT_THEN_RESET);
    assert_eq!(rig.submit(0, &frame.0, 28), 1);
    assert_eq!(memory.words(BUFFER, 2), [q.bell, u32::MAX]);
    assert!(!rig.is_active(HQDS[1]));
    assert_eq!(rig.remove(&q, 1 << 4), 1);
    resume_all(&mut rig, &p, &other);
}

#[test]
fn a_hung_queue_is_reset_by_registers() {
    let (mut rig, _memory, p, q, other) = hung();
    // `mes_v12_0_reset_queue_mmio`.
    let (pipe, queue) = HQDS[1];
    rig.gc("GRBM_GFX_CNTL", (1 << 2) | pipe | (queue << 8));
    rig.gc("CP_HQD_DEQUEUE_REQUEST", 2);
    rig.gc("SPI_COMPUTE_QUEUE_RESET", 1);
    let until = Instant::now() + Duration::from_secs(20);
    while rig.read("CP_HQD_ACTIVE") & 1 == 1 {
        assert!(Instant::now() < until);
    }
    rig.gc("GRBM_GFX_CNTL", 0);
    assert_eq!(rig.remove(&q, 1 << 4), 1);
    resume_all(&mut rig, &p, &other);
}

#[test]
fn a_queue_that_was_not_reset_is_not_forgotten() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    assert_eq!(rig.remove(&q, 1 << 4), error(3, op::REMOVE_QUEUE, 0, 1));
    rig.guest.expect_violation("the queue was not reset");
}

#[test]
fn a_reset_without_a_hang_finds_none_and_queues_go_on() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    let signal = p.signal(0);
    let (packet, flag) = p.spin(signal);
    q.push(packet.0);
    std::thread::sleep(Duration::from_millis(20));
    rig.set(BUFFER, u64::MAX);
    let frame = detect(Reset::HANG_DETECT_THEN_RESET);
    assert_eq!(rig.submit(0, &frame.0, 28), 1);
    assert_eq!(rig.value(BUFFER), u64::MAX);
    memory.set_u64(p.at(flag), 1);
    p.wait(signal);
    rig.clean();
}

#[test]
fn an_injected_hang_ends_with_a_reset() {
    let (mut rig, memory) = start_with(&[Fault::MesHangQueue]);
    let p = Process::new(&memory, 0x8001);
    let (q, other) = (Queue::new(&p, 0x1000, 16), Queue::new(&p, 0x1002, 16));
    rig.add(&q);
    rig.add(&other);
    assert_eq!(rig.remove(&q, 0), error(7, op::REMOVE_QUEUE, 0, 2));
    rig.set(BUFFER, u64::MAX);
    assert_eq!(rig.submit(0, &detect(Reset::HANG_DETECT_ONLY).0, 28), 1);
    assert_eq!(memory.words(BUFFER, 2), [q.bell, u32::MAX]);
    let reset = frame(op::RESET, &[(1, 1), (4, q.bell), (8, 1)]);
    assert_eq!(rig.submit(0, &reset, 28), 1);
    assert_eq!(rig.remove(&q, 1 << 4), 1);
    // The one after it leaves.
    resume_all(&mut rig, &p, &other);
    assert_eq!(rig.remove(&other, 0), 1);
    rig.add(&q);
    assert_eq!(rig.remove(&q, 0), 1);
}

#[test]
fn a_process_is_flushed_after_its_last_queue() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    // process_ctx_flush.
    let at = mc(p.context);
    let fields = [(1, 5), (6, at as u32), (7, (at >> 32) as u32), (8, 1 << 31)];
    let flush = frame(op::MISC, &fields);
    assert_eq!(rig.submit(0, &flush, 2), error(3, op::MISC, 5, 1));
    rig.guest.expect_violation("the process has queues");
    assert_eq!(rig.remove(&q, 0), 1);
    assert_eq!(rig.submit(0, &flush, 2), 1);
}

#[test]
fn a_bad_packet_stops_its_queue_with_an_interrupt() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let q = Queue::new(&p, 0x1006, 16);
    rig.add(&q);
    let (packet, ..) = p.vadd(256, 1, 0);
    q.push(packet.with(KernelDispatch::SETUP, 0).0);
    // Exception code 16 (dimensions) and the doorbell's number in its slice.
    let entry = (0x14, 183, 0x24, 8, 0x8001, [(16 << 10) | 3, 0, 0, 0]);
    assert_eq!(interrupt(&memory, 0), entry);
    assert_eq!(rig.remove(&q, 0), 1);
}

#[test]
fn what_add_queue_must_not_say() {
    use AddQueue as A;
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    let second = Queue::new(&p, 0x1002, 16);
    let good = second.add();
    let other = Process::new(&memory, 0x8002);
    // VMID 0 has nothing there.
    let nowhere = 0x100_0000;
    for (frame, code, what) in [
        (
            good.with(A::QUEUE_TYPE, 0),
            5,
            "neither computes nor copies",
        ),
        (
            good.with(A::EXCLUSIVELY_SCHEDULED, 1),
            5,
            "exclusively_scheduled",
        ),
        (good.with(A::QUEUE_TYPE, 2), 5, "copies by AQL"),
        (good.with(A::PROCESS_ID, 0), 2, "process id 0"),
        (
            good.with(A::PAGE_TABLE_BASE_ADDR, p.root),
            2,
            "base is not valid",
        ),
        (good.with(A::PROCESS_VA_END, 0), 2, "process_va_start"),
        (
            good.with(A::VM_CONTEXT_CNTL, 0),
            2,
            "does not enable the context",
        ),
        (good.with(A::GANG_GLOBAL_PRIORITY_LEVEL, 5), 2, "beyond 4"),
        (
            good.with(A::PROCESS_CONTEXT_ADDR, nowhere),
            6,
            "process_context_addr",
        ),
        (
            good.with(A::PROCESS_CONTEXT_ADDR, 0),
            2,
            "process_context_addr is 0",
        ),
        (
            good.with(A::GANG_CONTEXT_ADDR, nowhere),
            6,
            "gang_context_addr",
        ),
        (
            good.with(A::GANG_CONTEXT_ADDR, mc(p.context)),
            2,
            "that of a process",
        ),
        (
            good.with(A::PROCESS_CONTEXT_ADDR, mc(other.context)),
            2,
            "the process has another context",
        ),
        (
            good.with(A::PROCESS_ID, 0x8002),
            2,
            "that of another process",
        ),
        (good.with(A::MQD_ADDR, nowhere), 6, "the MQD"),
        (
            good.with(A::MQD_ADDR, mc(q.mqd)),
            2,
            "the MQD is that of another",
        ),
        (
            good.with(A::DOORBELL_OFFSET, q.bell.into()),
            2,
            "the doorbell is that",
        ),
        (
            good.with(A::DOORBELL_OFFSET, 0x1004),
            2,
            "but 0x1002 in the MQD",
        ),
        (good.with(A::KFD_QUEUE_SIZE, 16), 2, "kfd_queue_size"),
        (good.with(A::WPTR_ADDR, nowhere + 0x38), 6, "wptr_addr"),
        (
            good.with(A::WPTR_ADDR, mc(p.at(second.page))),
            2,
            "in its page",
        ),
    ] {
        let category = if code == 5 { 2 } else { 1 };
        let status = rig.submit(0, &frame.0, 38);
        assert_eq!(status, error(code, op::ADD_QUEUE, 0, category), "{what}");
        rig.guest.expect_violation(what);
    }
    // An MQD that `kfd_mqd_manager_v12.c` would not write.
    let fresh = second.fresh();
    for (mqd, what) in [
        (fresh.with(Mqd::HEADER, 0), "header"),
        (
            fresh.with(Mqd::CP_HQD_VMID, 8),
            "which the scheduler chooses",
        ),
        (fresh.with(Mqd::COMPUTE_VMID, 8), "COMPUTE_VMID is set"),
        (
            fresh.with(Mqd::CP_HQD_PERSISTENT_STATE, 1 | (0x53 << 8)),
            "PRELOAD_SIZE is not 0x55",
        ),
        (fresh.with(Mqd::CP_HQD_EOP_CONTROL, 0xb), "above 0xa"),
    ] {
        second.set_mqd(&mqd);
        let status = rig.submit(0, &good.0, 38);
        assert_eq!(status, error(2, op::ADD_QUEUE, 0, 1), "{what}");
        rig.guest.expect_violation(what);
    }
    // None of it has changed anything: the good frame is good, but not twice.
    second.set_mqd(&fresh);
    assert_eq!(rig.submit(0, &good.0, 38), 1);
    assert_eq!(rig.submit(0, &good.0, 38), error(2, op::ADD_QUEUE, 0, 1));
    assert_eq!(rig.submit(1, &good.0, 38), error(2, op::ADD_QUEUE, 0, 1));
}

#[test]
fn commands_in_an_aql_packet_are_gfx12_s() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 64);
    rig.add(&q);
    // ROCr's packet (`AqlQueue::ExecutePM4`).
    let push = |commands: &[u32]| {
        let at = p.new_words(commands);
        let mut packet = [0; 16];
        packet[0] = 1 << 16;
        packet[1] = 0xc002_3f00;
        packet[2] = at as u32;
        packet[3] = (at >> 32) as u32;
        packet[4] = commands.len() as u32 | (1 << 23);
        packet[5] = 10;
        q.push(packet);
    };
    // `GpuAgent::InvalidateCodeCaches`: GLI, GLK, GLV, GL1 and GL2.
    let gcr = 1 | (1 << 7) | (1 << 8) | (1 << 9) | (1 << 14);
    push(&[0xc006_5800, 0, u32::MAX, 0xff, 0, 0, 0, gcr]);
    memory.wait("the read index", || p.u64(q.read_index()) == 1);
    // `gfx_v12_0_ring_emit_fence`: 64 bits, with an interrupt.
    let at = p.alloc(4096);
    let (low, high) = (at as u32, (at >> 32) as u32);
    let event = 0x14 | (5 << 8) | (1 << 21) | (1 << 22) | (3 << 25);
    let select = (2 << 29) | (2 << 24);
    push(&[0xc006_4900, event, select, low, high, 7, 8, 21]);
    memory.wait("the fence", || p.u64(at) == 0x8_0000_0007);
    let entry = (0x14, 181, 0x24, 8, 0x8001, [21, 0, 0, 0]);
    assert_eq!(interrupt(&memory, 0), entry);
    rig.clean();
    // The packet of gfx9.
    push(&[0xc005_5800, 1 << 29, u32::MAX, 0xff, 0, 0, 0]);
    memory.wait("a violation", || {
        rig.lines()
            .iter()
            .any(|line| line.contains("ACQUIRE_MEM of 7 words"))
    });
    assert_eq!(interrupt(&memory, 1).1, 183, "CP_BAD_OPCODE");
}
