// SPDX-License-Identifier: MIT OR Apache-2.0

//! Errors of packets and waves, which interrupts report, and what waves need from their queue.

use crate::process::{Memory, Process, Queue};
use crate::queues::{interrupt, start};
use crate::rig::Rig;
use rkfd_emulator_testkit::code;
use rkfd_emulator_testkit::packets::dispatch;
use rkfd_hw::aql::KernelDispatch;
use rkfd_hw::mes::v12::AddQueue;

#[test]
fn a_bad_packet_stops_its_queue_with_an_interrupt() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1006, 16);
    rig.add(&q);
    let (packet, ..) = p.vadd(256, 1, 0);
    q.push(packet.with(KernelDispatch::SETUP, 0).0);
    // Exception code 16 (dimensions) and the doorbell's number in its slice.
    let entry = (0x14, 183, 0x24, 8, 0x8001, [(16 << 10) | 3, 0, 0, 0]);
    assert_eq!(interrupt(&memory, 0), entry);
    assert_eq!(rig.remove(&q, 0), 1);
}

/// KFD gives a process its first-level handler wherever its queues have save areas (`kfd_process_device_init_cwsr_dgpu`).
#[test]
fn a_save_area_without_a_trap_handler_is_noticed() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    rig.guest
        .expect_violation("has a context save area, and its process no trap handler");
    assert_eq!(rig.remove(&q, 0), 1);
}

#[test]
fn an_illegal_instruction_stops_its_queue_with_an_interrupt() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let (q, other) = (Queue::new(&p, 0x1000, 16), Queue::new(&p, 0x1002, 16));
    rig.add(&q);
    rig.add(&other);
    let signal = p.signal(0);
    let reached = p.new_words(&[0]);
    let args = p.arguments(&code::pointers(&[reached]), 32, 32);
    let kernel = p.load("illegal", "illegal.kd");
    q.push(dispatch(kernel, args, 32, 32, signal).0);
    // SE0SH, SQ message; the queue's ring and VMID. `SQ_INTERRUPT_WORD_ERROR_CTXID`: type 1 (illegal
    // instruction) in bits 24:21 of the first word, encoding 2 (error) in bits 7:6 of the second.
    let (client, source, _, vmid, pasid, data) = interrupt(&memory, 0);
    assert_eq!((client, source, vmid, pasid), (0x0a, 239, 8, 0x8001));
    assert_eq!(((data[0] >> 21) & 0xf, (data[1] >> 6) & 3), (1, 2));
    assert_eq!((p.value(signal), p.words(reached, 1)[0]), (1, 0));
    // Another queue goes on, and the stopped one is given back.
    other.add_vectors();
    assert_eq!(rig.remove(&q, 0), 1);
}

/// A program's trap handler, assembled by llvm-mc: it stores TTMP0 and TTMP1, EXCP_FLAG_PRIV and the doorbell in its
/// memory, whose address is in TTMP14 and TTMP15, sends a message, and halts the wave.
const HANDLER: [u32; 17] = [
    0xbeef_4c80, // s_sendmsg_rtn_b32 ttmp3, sendmsg(MSG_RTN_GET_DOORBELL)
    0xbfc7_0000, // s_wait_kmcnt 0
    0xb8ee_f811, // s_getreg_b32 ttmp2, hwreg(HW_REG_EXCP_FLAG_PRIV)
    0xbefe_0181, // s_mov_b64 exec, 1
    0x7e00_026c,
    0x7e02_026d, // v_mov_b32 v0, ttmp0; v1, ttmp1
    0x7e04_026e,
    0x7e06_026f, // v_mov_b32 v2, ttmp2; v3, ttmp3
    0x7e08_0280, // v_mov_b32 v4, 0
    0xee07_407a,
    0x000c_0000,
    0x0000_0004, // global_store_b128 v4, v[0:3], ttmp[14:15] scope:SCOPE_SYS
    0xbefd_00ff,
    0x0005_4321, // s_mov_b32 m0, 0x54321
    0xbfb6_0001, // s_sendmsg sendmsg(MSG_INTERRUPT)
    0xbf82_0001, // s_sethalt 1
    0xbe80_4a6c, // s_rfe_b64 ttmp[0:1]
];

/// The handler's four words, from the address on that is returned, of waves of the queue.
fn add_with_handler(rig: &mut Rig, p: &Process, q: &Queue) -> u64 {
    let stored = p.new_words(&[0; 4]);
    // The registers have bits 47:8 of both addresses, and the frame has more.
    let above = |address: u64| address | (0x55 << 48);
    p.set_handler(p.new_words(&HANDLER), stored);
    let (code, memory_of_it) = p.handler.get();
    let frame = q.add().with(AddQueue::TRAP_HANDLER_ADDR, above(code));
    let frame = frame.with(AddQueue::TMA_ADDR, above(memory_of_it));
    assert_eq!(rig.submit(0, &frame.0, 38), 1);
    stored
}

#[test]
fn a_trap_handler_hears_of_an_illegal_instruction_and_halts_the_wave() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let (q, other) = (Queue::new(&p, 0x1004, 16), Queue::new(&p, 0x1002, 16));
    // The process has none when it makes its first queue.
    rig.add(&other);
    let stored = add_with_handler(&mut rig, &p, &q);
    let signal = p.signal(0);
    let reached = p.new_words(&[0]);
    let args = p.arguments(&code::pointers(&[reached]), 32, 32);
    let kernel = p.load("illegal", "illegal.kd");
    q.push(dispatch(kernel, args, 32, 32, signal).0);
    // The error's own interrupt; and the message, encoding 1 with PRIV.
    let (.., data) = interrupt(&memory, 0);
    assert_eq!(((data[0] >> 21) & 0xf, (data[1] >> 6) & 3), (1, 2));
    let (client, source, _, vmid, pasid, data) = interrupt(&memory, 1);
    assert_eq!((client, source, vmid, pasid), (0x0a, 239, 8, 0x8001));
    assert_eq!(data[..2], [0x54321 | (1 << 26), 1 << 6]);
    let [low, high, flags, bell] = p.words(stored, 4)[..] else {
        panic!("four words")
    };
    let pc = u64::from(low) | (u64::from(high) << 32);
    assert_eq!((flags, bell), (0x40, 0x802));
    assert_eq!(
        p.words(pc, 1),
        [0xbfff_0000],
        "the instruction that is none"
    );
    assert_eq!((p.value(signal), p.words(reached, 1)[0]), (1, 0));
    // Another queue goes on, and the halted wave leaves.
    other.add_vectors();
    assert_eq!(rig.remove(&q, 0), 1);
}

const NOWHERE: u64 = 0x1234_5000_0000;

/// A wave of the queue stores there: its process has a page fault.
fn store_to_nowhere(memory: &Memory, p: &Process, q: &Queue) {
    let args = p.arguments(&code::pointers(&[NOWHERE]), 32, 32);
    // Its only store goes to the address in its argument; the instruction before it does no harm here.
    let kernel = p.load("loops", "churn.kd");
    q.push(dispatch(kernel, args, 32, 32, p.signal(0)).0);
    // GFX, UTCL2 fault; the page's number in the first words, and that it was a store to no page.
    let (client, source, ring, vmid, pasid, data) = interrupt(memory, 0);
    assert_eq!((client, source, vmid, pasid), (0x0a, 0, 8, 0x8001));
    let page = u64::from(data[0]) | (u64::from(data[1] & 0xf) << 32);
    assert_eq!((page, ring & 0x28), (NOWHERE >> 12, 0x28));
}

#[test]
fn a_store_to_nowhere_is_a_page_fault_of_its_process() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    store_to_nowhere(&memory, &p, &q);
    assert_eq!(rig.remove(&q, 0), 1);
}

/// `SQ_INTERRUPT_WORD_ERROR_CTXID`: type 2, a memory violation; EXCP_FLAG_PRIV.MEM_VIOL is bit 4, XNACK_ERROR bit 12.
#[test]
fn a_trap_handler_hears_of_a_store_to_nowhere_as_well() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    let stored = add_with_handler(&mut rig, &p, &q);
    store_to_nowhere(&memory, &p, &q);
    let (client, source, _, vmid, _, data) = interrupt(&memory, 1);
    assert_eq!((client, source, vmid), (0x0a, 239, 8));
    assert_eq!(((data[0] >> 21) & 0xf, (data[1] >> 6) & 3), (2, 2));
    // The handler's message.
    let (.., data) = interrupt(&memory, 2);
    assert_eq!(data[..2], [0x54321 | (1 << 26), 1 << 6]);
    assert_eq!(p.words(stored, 4)[2], 0x1010);
    // The halted wave leaves.
    assert_eq!(rig.remove(&q, 0), 1);
}

/// 64 words of every work-item's own, in scratch.
fn scratch(target: &str, lanes: u64) {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    let kernel = p.load_for("x_stack", "privarr.kd", target);
    // private_segment_fixed_size.
    let private = p.words(kernel + 4, 1)[0];
    assert!(private >= 256, "the kernel keeps its array in scratch");
    let n = 512u32;
    let values: Vec<u32> = (0..n).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let (input, output) = (p.new_words(&values), p.alloc(4096));
    let mut explicit = code::pointers(&[input, output]);
    explicit.extend(n.to_le_bytes());
    let args = p.arguments(&explicit, n, 64);
    // COMPUTE_TMPRING_SIZE of gfx12: WAVES of each of four engines in bits 11:0, WAVESIZE in units of
    // 256 bytes from bit 12 on.
    let units = (u64::from(private) * lanes).div_ceil(256);
    let area = p.alloc(units * 256 * 8);
    p.put(q.page + 0x8c, &((2 | (units << 12)) as u32).to_le_bytes());
    p.put(q.page + 0xa0, &area.to_le_bytes());
    let signal = p.signal(0);
    let packet = dispatch(kernel, args, n, 64, signal);
    q.push(packet.with(KernelDispatch::PRIVATE_SEGMENT_SIZE, private).0);
    p.wait(signal);
    let expected = (0..n).map(|i| {
        let mut a: Vec<u32> = (0..64).map(|k: usize| values[k].wrapping_mul(i)).collect();
        (0..64u32).fold(0u32, |sum, k| {
            let place = ((sum ^ k) & 63) as usize;
            let sum = sum.wrapping_add(a[place]);
            a[place] = sum;
            sum
        })
    });
    assert!(p.words(output, n as usize).into_iter().eq(expected));
    rig.clean();
}

#[test]
fn scratch_comes_from_amd_queue_t() {
    scratch("gfx1201", 32);
}

#[test]
fn waves_of_64_lanes_have_scratch_too() {
    scratch("gfx1201+wave64", 64);
}

#[test]
fn waves_of_64_lanes_add() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    let signal = p.signal(0);
    let kernel = p.load_for("vadd", "vadd.kd", "gfx1201+wave64");
    // ENABLE_WAVEFRONT_SIZE32 of kernel_code_properties.
    assert_eq!(
        (p.words(kernel + 56, 1)[0] >> 10) & 1,
        0,
        "it is compiled for 64"
    );
    let (packet, sums, expected) = p.vadd(1000, 3, signal);
    q.push(packet.with(KernelDispatch::KERNEL_OBJECT, kernel).0);
    p.wait(signal);
    assert_eq!(p.words(sums, 1000), expected);
    rig.clean();
}
